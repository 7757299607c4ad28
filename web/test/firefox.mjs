// Firefox, without packages for it: its own protocol (WebDriver BiDi) over a WebSocket.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts Firefox. `evaluate` runs an expression in the page that `open` went to, and waits for what it promises. */
export async function start(program) {
  const profile = await mkdtemp(join(tmpdir(), "explorer-firefox-"));
  const process = spawn(program, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const gone = new Promise((resolve) => process.once("exit", resolve));
  const address = await new Promise((resolve, reject) => {
    let said = "";
    process.stderr.on("data", (text) => {
      said += text;
      const found = /WebDriver BiDi listening on (ws:\S+)/.exec(said);
      if (found) resolve(found[1]);
    });
    gone.then(() => reject(new Error(`Firefox ended: ${said}`)));
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("Firefox does not answer"));
  });
  const waiting = new Map();
  socket.onmessage = ({ data }) => {
    const { id, result, error, message } = JSON.parse(data);
    const { resolve, reject } = waiting.get(id) ?? {};
    if (error) reject?.(new Error(`${error}: ${message}`));
    else resolve?.(result);
  };
  let last = 0;
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });

  await ask("session.new", { capabilities: {} });
  const { context } = await ask("browsingContext.create", { type: "tab" });
  return {
    open: (url) => ask("browsingContext.navigate", { context, url, wait: "complete" }),
    async evaluate(expression) {
      const found = await ask("script.evaluate", { expression, target: { context }, awaitPromise: true });
      if (found.type !== "success") throw new Error(found.exceptionDetails.text);
      return found.result.value;
    },
    press: (key) =>
      ask("input.performActions", {
        context,
        actions: [{ type: "key", id: "keyboard", actions: [{ type: "keyDown", value: key }, { type: "keyUp", value: key }] }],
      }),
    async close() {
      await ask("browser.close", {}).catch(() => process.kill());
      await gone;
      await rm(profile, { recursive: true, force: true });
    },
  };
}
