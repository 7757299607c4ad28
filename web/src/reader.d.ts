/** The reader that build.mjs chose: `src/reader/index.ts`, or another one with the same contract. */
declare module "explorer:reader" {
  export const open: import("./reader/contract").Open;
}
