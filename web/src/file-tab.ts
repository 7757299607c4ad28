/** One file: its views, or why it cannot be shown. */
import { ByteMapView } from "./bytemap/view";
import { ColumnsView } from "./columns/view";
import { CompareView } from "./compare";
import { button, fill, freshId, h, moveBetweenTabs } from "./dom";
import { bytes, count } from "./format";
import { OverviewView } from "./overview/view";
import { problemCard } from "./problem";
import { RowsView } from "./rows/view";
import type { Session } from "./session";
import { VIEWS, VIEW_TITLES, type Links, type View, type ViewName } from "./view";

export class FileTab implements Links {
  readonly element = h("div", { class: "file" });
  private current: ViewName = "overview";
  private readonly panelId = freshId("panel");
  private readonly nav = h("div", { class: "views", role: "tablist", "aria-label": "Views" });
  private readonly panel = h("div", { class: "panel", role: "tabpanel", id: this.panelId });
  private views: Partial<Record<ViewName, View>> = {};

  constructor(
    readonly session: Session,
    private readonly sessions: () => Session[],
  ) {
    moveBetweenTabs(this.nav, (index) => this.show(VIEWS[index]!));
    session.addEventListener("changed", () => this.draw());
    session.addEventListener("progress", () => {
      const bar = this.element.querySelector<HTMLProgressElement>(".opening progress");
      if (bar) bar.value = session.progress;
    });
    this.draw();
  }

  get title(): string {
    return this.session.name;
  }

  shown(): void {
    void this.session.open();
    if (this.session.state === "open") this.views[this.current]?.shown?.();
  }

  show(name: ViewName): void {
    if (this.session.state !== "open") return;
    this.current = name;
    this.draw();
  }

  showBytes(start: number, end: number): void {
    this.show("bytes");
    (this.views.bytes as ByteMapView).focusOn(start, end);
  }

  showRow(row: number): void {
    this.show("rows");
    (this.views.rows as RowsView).goTo(row);
  }

  showColumn(column: number): void {
    this.show("columns");
    (this.views.columns as ColumnsView).focusOn(column);
  }

  focusCondition(): void {
    this.show("rows");
    (this.views.rows as RowsView | undefined)?.focusCondition();
  }

  focusJump(): void {
    this.show("rows");
    (this.views.rows as RowsView | undefined)?.focusJump();
  }

  private make(name: ViewName): View {
    switch (name) {
      case "overview":
        return new OverviewView(this.session, this);
      case "rows":
        return new RowsView(this.session);
      case "columns":
        return new ColumnsView(this.session);
      case "bytes":
        return new ByteMapView(this.session);
      case "compare":
        return new CompareView(this.session, this.sessions, this);
    }
  }

  private draw(): void {
    const { session } = this;
    if (session.state === "failed" && session.problem) {
      this.views = {};
      const again = button("Try again", () => void session.reopen());
      fill(
        this.element,
        h(
          "div",
          { class: "page-pad" },
          problemCard({ file: session.name, ...session.problem }, "This file cannot be opened", again),
        ),
      );
      return;
    }
    if (session.state !== "open") {
      this.views = {};
      fill(
        this.element,
        h("div", { class: "opening", role: "status" }, h("p", {}, `Opening ${session.name}`), h("progress", { max: 1 })),
      );
      return;
    }
    const tabs = VIEWS.map((name) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          "data-label": VIEW_TITLES[name],
          "aria-selected": String(name === this.current),
          "aria-controls": this.panelId,
          tabindex: name === this.current ? 0 : -1,
          on: { click: () => this.show(name) },
        },
        VIEW_TITLES[name],
      ),
    );
    fill(this.nav, ...tabs);
    const view = (this.views[this.current] ??= this.make(this.current));
    this.panel.setAttribute("aria-label", VIEW_TITLES[this.current]);
    if (this.panel.firstChild !== view.element) fill(this.panel, view.element);
    if (!this.panel.isConnected || this.nav.parentNode !== this.element)
      fill(this.element, this.nav, this.sampleNote(), this.panel);
    if (this.element.isConnected) view.shown?.();
  }

  /** Says that only the start of a long text was read. */
  private sampleNote(): HTMLElement | undefined {
    const { sample, bytes: size, rows } = this.session.reader.inspection;
    if (!sample) return undefined;
    return h(
      "p",
      { class: "note" },
      `Only the first ${bytes(sample.bytes)} of ${bytes(size)} were read, with ${count(rows)} rows. `,
      button("Read the whole file", () => void this.session.reopen(true), { class: "small" }),
    );
  }
}
