/** The line at the bottom: what the last answer read. */
import { button, fill, h } from "./dom";
import { bytes, percent, plural } from "./format";
import { covered, type Session } from "./session";

/** `This answer read 1.2 % of the file: 4 requests, 12.3 KiB` */
export function answerText(session: Session): string {
  const last = session.last;
  if (!last || session.state !== "open") return "";
  if (last.traffic.bytes === 0) return `${last.what}: nothing had to be read`;
  const size = session.reader.inspection.bytes;
  const share = percent(covered(last.traffic.ranges), size);
  return `${last.what}: this answer read ${share} of the file, ${plural(last.traffic.requests, "request")}, ${bytes(last.traffic.bytes)}`;
}

/** Follows the session in front. */
export class StatusBar {
  readonly element = h("footer", { class: "status" });
  private readonly answer = h("span", { class: "answer", role: "status" });
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
