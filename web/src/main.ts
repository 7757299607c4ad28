import { open } from "explorer:reader";

document.body.append(document.createElement("main"));
export { open };
