import { embedded } from "./embedded";
import { acceptDrops } from "./opening";
import { servedFiles } from "./served";
import { Shell } from "./shell";

const shell = new Shell();
document.body.append(shell.element);
acceptDrops(shell.element, (sources) => shell.openAll(sources));

/** Opens what the page came with: a file inside of it, files of its server, or an address after `#url=`. */
async function begin(): Promise<void> {
  const data = embedded("data");
  if (data) {
    shell.openAll([{ kind: "file", name: data.name, file: new Blob([data.bytes]) }]);
    return;
  }
  const served = await servedFiles();
  if (served) shell.serve(served);
  const address = new URLSearchParams(location.hash.slice(1)).get("url");
  if (address) shell.openUrl(address);
}

void begin();
