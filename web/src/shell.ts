/** The frame of the page: tabs of files, views of the file in front, and what is read. */
import { button, fill, freshId, h, iconButton, moveBetweenTabs } from "./dom";
import { FileTab } from "./file-tab";
import { listen, showShortcuts, type Shortcut } from "./keys";
import { chooseFiles, sourceOfUrl, startPage, urlForm } from "./opening";
import { problemCard, problemOf } from "./problem";
import type { Source } from "./reader/contract";
import type { Served } from "./served";
import { Session } from "./session";
import { SqlView } from "./sql/view";
import { StatusBar } from "./status";
import { VIEW_TITLES, VIEWS } from "./view";

/** Served files that get a tab at once; more are listed on the start page. */
const TABS_AT_ONCE = 12;

/** A tab at the top: a file, or SQL. */
type Tab = FileTab | SqlView;

export class Shell {
  readonly element = h("div", { class: "app" });
  private readonly tabs: Tab[] = [];
  private front?: Tab;
  private served?: Served;
  private readonly list = h("div", { class: "files", role: "tablist", "aria-label": "Open files" });
  private readonly main = h("main", { id: freshId("main"), tabindex: "-1" });
  private readonly status = new StatusBar(() => this.file?.show("bytes"));
  private readonly shortcuts: Shortcut[];

  constructor() {
    this.shortcuts = [
      ...VIEWS.map((view, i) => ({
        key: String(i + 1),
        does: `Show ${VIEW_TITLES[view].toLowerCase()}`,
        act: () => this.file?.show(view),
      })),
      { key: "o", does: "Open files", act: () => this.choose() },
      { key: "u", does: "Open an address", act: () => this.askUrl() },
      { key: "/", does: "Rows: write a condition", act: () => this.file?.focusCondition() },
      { key: "g", does: "Rows: go to a row", act: () => this.file?.focusJump() },
      { key: "[", does: "Previous file", act: () => this.step(-1) },
      { key: "]", does: "Next file", act: () => this.step(1) },
      { key: "?", does: "List these shortcuts", act: () => showShortcuts(this.shortcuts) },
    ];
    listen(this.shortcuts);
    moveBetweenTabs(this.list, (index) => this.select(this.tabs[index]));
    const header = h(
      "header",
      { class: "top" },
      h(
        "h1",
        { class: "brand" },
        button("colkit", () => this.select(undefined), { "aria-label": "colkit: start page", title: "Start page" }),
      ),
      this.list,
      h(
        "div",
        { class: "top-buttons" },
        button("Open", () => this.choose(), { title: "Open files (o)" }),
        button("Address", () => this.askUrl(), { title: "Open an address (u)" }),
        button("?", () => showShortcuts(this.shortcuts), {
          "aria-label": "Keyboard shortcuts",
          title: "Keyboard shortcuts (?)",
          class: "wide-only",
        }),
      ),
    );
    const cover = h("div", { class: "drop-cover", "aria-hidden": "true" }, "Drop to open");
    this.element.append(header, this.main, this.status.element, cover);
    this.select(undefined);
  }

  private get file(): FileTab | undefined {
    return this.front instanceof FileTab ? this.front : undefined;
  }

  /** Opens sources in new tabs, with the first of them in front. */
  openAll(sources: Source[]): void {
    const files = sources.map((source) => this.tabOf(source) ?? new FileTab(new Session(source), () => this.sessions()));
    this.tabs.push(...files.filter((file) => !this.tabs.includes(file)));
    if (files[0]) this.select(files[0]);
  }

  /** The tab in which a source is open. */
  private tabOf(source: Source): FileTab | undefined {
    return this.tabs.find((tab): tab is FileTab => tab instanceof FileTab && tab.session.source === source);
  }

  openUrl(address: string): void {
    try {
      this.openAll([sourceOfUrl(address)]);
    } catch (error) {
      fill(this.main, problemCard({ ...problemOf(error), file: address }, "This address cannot be opened"));
    }
  }

  /** Offers the files of the server, and SQL. The first file is opened, unless there are many. */
  serve(served: Served): void {
    this.served = served;
    if (served.sql) this.tabs.push(new SqlView(served));
    if (served.sources.length <= TABS_AT_ONCE) this.openAll(served.sources);
    if (!this.front) this.select(undefined);
  }

  private sessions(): Session[] {
    return this.tabs.flatMap((tab) => (tab instanceof FileTab ? [tab.session] : []));
  }

  private choose(): void {
    chooseFiles((sources) => this.openAll(sources));
  }

  private askUrl(): void {
    const dialog = h("dialog", { "aria-labelledby": "address-title" }, h("h2", { id: "address-title" }, "Open an address"));
    dialog.append(
      urlForm((address) => {
        dialog.close();
        this.openUrl(address);
      }),
      h("p", { class: "quiet" }, "The server must allow this page to read it (CORS) and answer byte ranges."),
      button("Cancel", () => dialog.close()),
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  private step(by: number): void {
    if (this.tabs.length === 0 || !this.front) return;
    const at = this.tabs.indexOf(this.front);
    this.select(this.tabs[(at + by + this.tabs.length) % this.tabs.length]);
  }

  private select(tab: Tab | undefined): void {
    this.front = tab;
    this.drawTabs();
    this.status.follow(this.file?.session);
    if (!tab) {
      document.title = "colkit explorer";
      fill(
        this.main,
        startPage(
          (sources) => this.openAll(sources),
          (address) => this.openUrl(address),
          this.served,
        ),
      );
      return;
    }
    document.title = `${tab.title} \u2013 colkit explorer`;
    fill(this.main, tab.element);
    tab.shown();
  }

  private closeTab(tab: Tab): void {
    const at = this.tabs.indexOf(tab);
    this.tabs.splice(at, 1);
    if (tab instanceof FileTab) tab.session.close();
    this.select(this.front === tab ? (this.tabs[at] ?? this.tabs[at - 1]) : this.front);
    this.list.querySelector<HTMLElement>("[aria-selected=true]")?.focus();
  }

  private drawTabs(): void {
    fill(
      this.list,
      ...this.tabs.map((tab) => {
        const chosen = tab === this.front;
        const label = h(
          "button",
          {
            type: "button",
            role: "tab",
            "data-label": tab.title,
            "aria-selected": String(chosen),
            tabindex: chosen ? 0 : -1,
            title: tab.title,
            on: { click: () => this.select(tab) },
          },
          tab.title,
        );
        const close = iconButton("close", `Close ${tab.title}`, () => this.closeTab(tab), { tabindex: chosen ? 0 : -1 });
        return h(
          "div",
          { class: chosen ? "file-tab chosen" : "file-tab", role: "presentation" },
          label,
          tab instanceof FileTab && close,
        );
      }),
    );
    this.list.querySelector(".chosen")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
