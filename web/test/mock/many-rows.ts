/** A reader of a table that exists only in numbers: fifty million rows of thirty columns. It counts what it is asked. */
import type * as c from "../../src/reader/contract";

const ROWS = 50_000_000;
const nothing: c.Traffic = { requests: 0, bytes: 0, cached: 0, ranges: [] };
const asked = { calls: 0, cells: 0, most: 0 };
Object.assign(globalThis, { asked });

function cell(row: number, column: number): string {
  return column % 3 === 0 ? String(row) : column % 3 === 1 ? JSON.stringify(`text ${row}.${column}`) : String(row / 8 + column);
}

const refuse = (): never => {
  throw new Error("not for this test");
};

export const open: c.Open = async (source) => {
  const columns = Array.from({ length: 30 }, (_, i) => ({
    name: `c${i}`,
    type: i % 3 === 0 ? "int64" : i % 3 === 1 ? "string" : "float64",
    nullable: false,
  }));
  const inspection: c.Inspection = { file: source.name, format: "numbers", properties: {}, bytes: 1, rows: ROWS, columns };
  const reader: c.Reader = {
    inspection,
    opening: nothing,
    layout: async () => ({ value: inspection, traffic: nothing }),
    rows: async ({ columns: wanted = [], start, count }) => {
      const numbers = Array.from({ length: Math.min(count, ROWS - start) }, (_, i) => start + i);
      asked.calls++;
      asked.cells += numbers.length * wanted.length;
      asked.most = Math.max(asked.most, numbers.length);
      const cells = numbers.map((row) => wanted.map((column) => cell(row, Number(column))));
      await new Promise((done) => setTimeout(done, 5));
      return { value: { columns: wanted.map(String), numbers, cells }, traffic: nothing };
    },
    find: refuse,
    count: refuse,
    check: refuse,
    statistics: async () => ({ value: [], traffic: nothing }),
    verify: refuse,
    bytes: refuse,
    export: refuse,
    diff: refuse,
    close: () => {},
  };
  return reader;
};
