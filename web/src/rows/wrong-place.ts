/** Where in a condition something is wrong. */

export interface Place {
  start: number;
  end: number;
}

/** The place a message is about: what `at` says, the end, or the word it quotes. */
export function wrongPlace(text: string, message: string, at?: number): Place | undefined {
  if (at !== undefined) {
    const start = Math.max(0, Math.min(at, text.length));
    const word = /^([\w.]+|`[^`]*`?|"[^"]*"?|'[^']*'?|[<>=!]+)/.exec(text.slice(start))?.[0];
    return { start, end: start + Math.max(1, word?.length ?? 1) };
  }
  if (/at the end\b/.test(message)) return { start: text.length, end: text.length + 1 };
  const quoted = /"([^"]+)"/.exec(message)?.[1] ?? /compared with (\S+)/.exec(message)?.[1];
  const start = quoted === undefined ? -1 : text.lastIndexOf(quoted);
  return quoted === undefined || start < 0 ? undefined : { start, end: start + quoted.length };
}

/** The message without the condition, which stands above it. */
export function shortened(message: string, text: string): string {
  return message.replace(` of ${JSON.stringify(text)}`, "").replace(` of "${text}"`, "");
}
