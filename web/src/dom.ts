/** Making elements. Text goes in as text only: what a file holds can never become markup. */

export type Child = Node | string | number | undefined | null | false;

type Handlers = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export interface Properties {
  class?: string;
  on?: Handlers;
  [attribute: string]: string | number | boolean | undefined | Handlers;
}

/** An element with attributes, handlers and children. An attribute that is `false` or undefined is left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value as Handlers)) {
        element.addEventListener(event, handler as EventListener);
      }
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, ...children);
  return element;
}

export function add(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Puts `children` in place of all that `parent` holds. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, ...children);
}

const ICONS = {
  close: "M4 4l8 8M12 4l-8 8",
  open: "M2 5v8h12V6H8L6.5 4H2z",
  pin: "M6 2h4l-.5 5 2.5 2.5H4L6.5 7zM8 9.5V14",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  copy: "M6 6h7v7H6zM3 10V3h7",
};

/** A line drawing of 16 pixels, hidden from screen readers. */
export function icon(name: keyof typeof ICONS): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button that shows text. */
export function button(label: Child, act: () => void, properties: Properties = {}): HTMLButtonElement {
  return h("button", { type: "button", ...properties, on: { click: act } }, label);
}

/** A button that shows an icon and is named for screen readers and on hover. */
export function iconButton(
  name: keyof typeof ICONS,
  label: string,
  act: () => void,
  properties: Properties = {},
): HTMLButtonElement {
  return button(icon(name), act, { class: "icon-button", "aria-label": label, title: label, ...properties });
}

let ids = 0;

/** A name no other element has. */
export function freshId(stem: string): string {
  return `${stem}-${++ids}`;
}

/** Arrow keys, Home and End move between the tabs of a list; only the chosen one is in the tab order. */
export function moveBetweenTabs(list: HTMLElement, choose: (index: number) => void): void {
  list.addEventListener("keydown", (event) => {
    const tabs = [...list.querySelectorAll<HTMLElement>("[role=tab]")];
    const at = tabs.indexOf(document.activeElement as HTMLElement);
    if (at < 0) return;
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const index = (to + tabs.length) % tabs.length;
    choose(index);
    list.querySelectorAll<HTMLElement>("[role=tab]")[index]?.focus();
  });
}
