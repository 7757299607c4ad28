/** The line at the bottom: what the last answer read. */
import { button, fill, h } from "./dom";
import { bytes, percent, plural } from "./format";
import type { Traffic } from "./reader/contract";
import type { Session } from "./session";

/** `this answer read 1.2 % of the file, 4 requests, 12.3 KiB` */
export function cost({ requests, bytes: read, cached }: Traffic, size: number): string {
  const atHand = cached > 0 ? `${bytes(cached)} were at hand` : "";
  if (read === 0) return `nothing had to be read${atHand && `, ${atHand}`}`;
  return `this answer read ${percent(read, size)} of the file, ${plural(requests, "request")}, ${bytes(read)}${atHand && `; ${atHand}`}`;
}

function answerText(session: Session): string {
  const { last } = session;
  return last && session.state === "open" ? `${last.what}: ${cost(last.traffic, session.reader.inspection.bytes)}` : "";
}

/** Follows the session in front. */
export class StatusBar {
  readonly element = h("footer", { class: "status" });
  private readonly answer = h("span", { class: "answer" });
  private readonly total = h("span", { class: "quiet total" });
  private session?: Session;
  private readonly update = (): void => this.draw();

  constructor(showOnMap: () => void) {
    const onMap = button("Show on the map", showOnMap, { class: "link" });
    this.element.append(this.answer, onMap, this.total);
    this.follow(undefined);
  }

  follow(session: Session | undefined): void {
    this.session?.removeEventListener("read", this.update);
    this.session = session;
    session?.addEventListener("read", this.update);
    this.draw();
  }

  private draw(): void {
    const session = this.session?.state === "open" ? this.session : undefined;
    this.element.classList.toggle("idle", !session);
    fill(this.answer, session ? answerText(session) : "");
    this.answer.title = this.answer.textContent ?? "";
    fill(this.total, session ? `${bytes(session.total.bytes)} of ${bytes(session.reader.inspection.bytes)} read in all` : "");
  }
}
