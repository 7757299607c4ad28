/** JSON as text, without losing digits: `JSON.parse` would round 9007199254740993. */

export type Json =
  | { kind: "null" | "bool" | "number"; text: string }
  | { kind: "string"; text: string }
  | { kind: "array"; items: Json[] }
  | { kind: "object"; entries: [string, Json][] };

const SCALAR = /[^\s,\]}]+/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;

class Parser {
  private at = 0;
  constructor(private readonly text: string) {}

  document(): Json {
    const value = this.value(0);
    this.skip();
    if (this.at < this.text.length) throw new Error(`unexpected text at ${this.at}`);
    return value;
  }

  private skip(): void {
    while (/\s/.test(this.text[this.at] ?? "")) this.at++;
  }

  private value(depth: number): Json {
    if (depth > 512) throw new Error("nested too deeply");
    this.skip();
    const first = this.text[this.at];
    if (first === '"') return { kind: "string", text: this.string() };
    if (first === "[") return { kind: "array", items: this.list("]", () => this.value(depth + 1)) };
    if (first === "{") return { kind: "object", entries: this.list("}", () => this.entry(depth + 1)) };
    SCALAR.lastIndex = this.at;
    const word = SCALAR.exec(this.text)?.[0];
    if (!word) throw new Error(`expected a value at ${this.at}`);
    this.at += word.length;
    if (word === "null") return { kind: "null", text: word };
    return { kind: word === "true" || word === "false" ? "bool" : "number", text: word };
  }

  private string(): string {
    STRING.lastIndex = this.at;
    const quoted = STRING.exec(this.text)?.[0];
    if (!quoted) throw new Error(`the text at ${this.at} does not end`);
    this.at += quoted.length;
    return JSON.parse(quoted) as string;
  }

  private entry(depth: number): [string, Json] {
    this.skip();
    const key = this.string();
    this.skip();
    this.expect(":");
    return [key, this.value(depth)];
  }

  private list<T>(end: string, item: () => T): T[] {
    const items: T[] = [];
    this.at++;
    this.skip();
    if (this.text[this.at] === end) {
      this.at++;
      return items;
    }
    for (;;) {
      items.push(item());
      this.skip();
      if (this.text[this.at] === end) break;
      this.expect(",");
    }
    this.at++;
    return items;
  }

  private expect(character: string): void {
    if (this.text[this.at] !== character) throw new Error(`expected ${character} at ${this.at}`);
    this.at++;
  }
}

/** The value a JSON text stands for. What is no JSON is taken as plain text. */
export function parseJson(text: string): Json {
  try {
    return new Parser(text).document();
  } catch {
    return { kind: "string", text };
  }
}

/** One line: `{x: 1, y: ["a", null]}`, cut after about `limit` characters. */
export function oneLine(value: Json, limit = 200): string {
  let out = "";
  const write = (text: string): boolean => {
    out += text;
    return out.length <= limit;
  };
  const walk = (node: Json, top: boolean): boolean => {
    switch (node.kind) {
      case "string":
        return write(top ? node.text : JSON.stringify(node.text));
      case "array":
        return write("[") && node.items.every((item, i) => (i === 0 || write(", ")) && walk(item, false)) && write("]");
      case "object":
        return (
          write("{") &&
          node.entries.every(([key, item], i) => (i === 0 || write(", ")) && write(`${key}: `) && walk(item, false)) &&
          write("}")
        );
      default:
        return write(node.text);
    }
  };
  return walk(value, true) ? out : `${out.slice(0, limit)}\u2026`;
}

/** Several lines with two spaces of indent, as JSON again. */
export function pretty(value: Json, indent = ""): string {
  const inner = `${indent}  `;
  switch (value.kind) {
    case "string":
      return JSON.stringify(value.text);
    case "array":
      if (value.items.length === 0) return "[]";
      return `[\n${value.items.map((item) => inner + pretty(item, inner)).join(",\n")}\n${indent}]`;
    case "object":
      if (value.entries.length === 0) return "{}";
      return `{\n${value.entries.map(([key, item]) => `${inner}${JSON.stringify(key)}: ${pretty(item, inner)}`).join(",\n")}\n${indent}}`;
    default:
      return value.text;
  }
}
