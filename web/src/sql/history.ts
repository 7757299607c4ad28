/** Queries that were run, newest first, kept by the browser where it allows that. */

const KEY = "colkit-explorer-queries";
const KEPT = 100;

export function history(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? list.filter((text): text is string => typeof text === "string") : [];
  } catch {
    return [];
  }
}

/** Puts a query at the front. */
export function remember(query: string): void {
  try {
    localStorage.setItem(KEY, JSON.stringify([query, ...history().filter((text) => text !== query)].slice(0, KEPT)));
  } catch {
    // Without storage there is no history; queries run all the same.
  }
}

export function forgetAll(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Nothing was kept.
  }
}
