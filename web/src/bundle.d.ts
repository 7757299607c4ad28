/** The text of a module and all it imports, bundled by build.mjs: `import text from "bundle:./worker.ts"`. */
declare module "bundle:*" {
  const text: string;
  export default text;
}
