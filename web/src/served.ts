/** What `colkit view` serves beside the page. */
import { ReaderError, type Problem, type Source } from "./reader/contract";

export interface Served {
  sources: (Source & { bytes: number })[];
  sql: boolean;
  /** Names of the files in SQL. */
  tables: string[];
}

/** How a query is or was run. Bytes are known once it ran. */
export interface Plan {
  plan: string;
  ran?: boolean;
  tables: { name: string; bytes: number | null; total: number }[];
}

const place = (path: string): string => new URL(path, document.baseURI).href;

/** The files of the server, or nothing if the page was not served by the command. */
export async function servedFiles(): Promise<Served | undefined> {
  if (!location.protocol.startsWith("http")) return undefined;
  try {
    const response = await fetch(place("api/files"));
    if (!response.ok) return undefined;
    const answer = (await response.json()) as {
      files: { name: string; url: string; bytes: number }[];
      sql: boolean;
      tables?: string[];
    };
    const sources = answer.files.map(({ name, url, bytes }) => ({ kind: "url" as const, name, url: place(url), bytes }));
    return { sources, sql: answer.sql, tables: answer.tables ?? sources.map(({ name }) => name.replace(/\..*$/, "")) };
  } catch {
    return undefined;
  }
}

async function post(path: string, text: string, signal: AbortSignal | undefined): Promise<Response> {
  const response = await fetch(place(path), { method: "POST", body: text, signal: signal ?? null });
  if (response.ok) return response;
  const answer = await response.text();
  let problem: Problem = { class: "server", code: String(response.status), message: answer || "the server gave no answer" };
  try {
    const parsed = JSON.parse(answer) as { error?: Problem } & Problem;
    problem = parsed.error ?? parsed;
  } catch {
    // The answer was no JSON: its text is the message.
  }
  throw new ReaderError(problem);
}

/** The result of a query, as an Arrow stream. */
export async function query(text: string, signal?: AbortSignal): Promise<Blob> {
  return (await post("api/sql", text, signal)).blob();
}

export async function plan(text: string, signal?: AbortSignal): Promise<Plan> {
  return (await post("api/plan", text, signal)).json() as Promise<Plan>;
}
