/** The condition box: completes names, shows what is wrong where it is. */
import { fill, freshId, h } from "../dom";
import { sentence } from "../problem";
import type { Session } from "../session";
import { afterQuiet } from "../work";
import { proposals, splitAt, type Proposal } from "./completion";
import { shortened, wrongPlace } from "./wrong-place";

export class ConditionBox {
  private readonly listId = freshId("proposals");
  private readonly errorId = freshId("condition-error");
  readonly input = h("input", {
    type: "text",
    class: "condition-input",
    placeholder: 'Condition, such as price >= 10 and sym = "BTC"',
    "aria-label": "Condition",
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": this.listId,
    "aria-describedby": this.errorId,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
  });
  private readonly mark = h("div", { class: "condition-mark", "aria-hidden": "true" });
  private readonly list = h("ul", {
    class: "proposals",
    role: "listbox",
    id: this.listId,
    "aria-label": "Proposals",
    hidden: true,
  });
  /** The line that says what is wrong. */
  readonly error = h("p", { class: "condition-error", id: this.errorId, role: "status" });
  readonly element: HTMLElement;
  private shown: Proposal[] = [];
  private chosen = -1;
  /** Checks what was typed, unless a word is not finished that could be completed. */
  private readonly checkSoon = afterQuiet(250, () => {
    const { word } = splitAt(this.input.value, this.input.selectionStart ?? 0);
    if (this.shown.length === 0 || word === "") void this.check();
  });

  constructor(
    private readonly session: Session,
    private readonly apply: (where: string) => void,
  ) {
    this.element = h("div", { class: "condition" }, this.mark, this.input, this.list);
    this.input.addEventListener("input", () => {
      this.propose();
      this.clearError();
      this.checkSoon();
    });
    this.input.addEventListener("scroll", () => {
      this.mark.scrollLeft = this.input.scrollLeft;
    });
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("focus", () => this.propose());
    this.input.addEventListener("blur", () => this.close());
  }

  get value(): string {
    return this.input.value.trim();
  }

  set value(text: string) {
    this.input.value = text;
    this.clearError();
  }

  /** Applies the condition if it can be asked. */
  async submit(): Promise<void> {
    this.shown = [];
    this.draw();
    if (await this.check()) this.apply(this.value);
  }

  /** Shows a message, and marks what it is about. */
  fail(message: string, at?: number): void {
    const text = this.input.value;
    fill(this.error, sentence(shortened(message, text)));
    this.error.title = message;
    this.input.setAttribute("aria-invalid", "true");
    const place = wrongPlace(text, message, at);
    if (!place) return;
    fill(this.mark, text.slice(0, place.start), h("mark", {}, text.slice(place.start, place.end) || "\u00a0"));
    this.mark.scrollLeft = this.input.scrollLeft;
  }

  private clearError(): void {
    fill(this.error);
    fill(this.mark);
    this.input.removeAttribute("aria-invalid");
  }

  /** Whether the condition can be asked; if not, that is shown, unless it was changed meanwhile. */
  private async check(): Promise<boolean> {
    const text = this.input.value;
    if (text.trim() === "") return true;
    const wrong = await this.session.reader.check(text);
    if (text !== this.input.value) return false;
    if (wrong) this.fail(wrong.message, wrong.at);
    return !wrong;
  }

  private propose(): void {
    this.shown = proposals(this.input.value, this.input.selectionStart ?? 0, this.session.reader.inspection.columns);
    this.chosen = -1;
    const { before } = splitAt(this.input.value, this.input.selectionStart ?? 0);
    this.list.style.setProperty("--before", String(before.length));
    this.draw();
  }

  private close(): void {
    this.shown = [];
    this.draw();
    this.checkSoon();
  }

  private draw(): void {
    this.list.hidden = this.shown.length === 0;
    this.input.setAttribute("aria-expanded", String(this.shown.length > 0));
    fill(
      this.list,
      ...this.shown.map((proposal, i) => {
        const item = h(
          "li",
          { role: "option", id: `${this.listId}-${i}`, "aria-selected": String(i === this.chosen) },
          h("span", {}, proposal.label),
          h("span", { class: "quiet" }, proposal.note),
        );
        item.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          this.take(proposal);
        });
        return item;
      }),
    );
    if (this.chosen >= 0) this.input.setAttribute("aria-activedescendant", `${this.listId}-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  private take(proposal: Proposal): void {
    const cursor = this.input.selectionStart ?? 0;
    const { before } = splitAt(this.input.value, cursor);
    const rest = this.input.value.slice(cursor);
    this.input.value = before + proposal.text + rest.replace(/^ /, "");
    const at = before.length + proposal.text.length;
    this.input.setSelectionRange(at, at);
    this.clearError();
    this.propose();
    this.checkSoon();
  }

  private key(event: KeyboardEvent): void {
    const open = this.shown.length > 0;
    const chosen = this.shown[this.chosen];
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const by = event.key === "ArrowDown" ? 1 : -1;
      const { length } = this.shown;
      this.chosen = this.chosen < 0 && by < 0 ? length - 1 : (this.chosen + by + length) % length;
      this.draw();
    } else if (open && event.key === "Tab" && !event.shiftKey && this.input.value !== "") {
      this.take(chosen ?? this.shown[0]!);
    } else if (event.key === "Enter") {
      if (chosen) this.take(chosen);
      else void this.submit();
    } else if (event.key === "Escape") {
      if (open) this.close();
      else this.input.blur();
    } else {
      return;
    }
    event.preventDefault();
  }
}
