// Modules of the page that need no browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encode, load } from "./site.mjs";

test("numbers are written as people read them", async () => {
  const { bytes, percent, count, plural } = await load("format.ts");
  assert.deepEqual([0, 1023, 1024, 161_650, 1 << 30].map(bytes), ["0 B", "1,023 B", "1.00 KiB", "158 KiB", "1.00 GiB"]);
  assert.deepEqual(
    [0, 1, 12, 450, 999.5, 1000].map((part) => percent(part, 1000)),
    ["0 %", "0.1 %", "1.2 %", "45 %", "over 99.9 %", "100 %"],
  );
  assert.equal(percent(1, 1e9), "under 0.01 %");
  assert.equal(count(9_007_199), "9,007,199");
  assert.equal(plural(1, "row"), "1 row");
});

test("JSON keeps every digit", async () => {
  const { parseJson, oneLine, pretty } = await load("json-text.ts");
  const text = '{"id":9007199254740993,"a":[1.50,null,"x\\ny"],"e":{}}';
  assert.equal(oneLine(parseJson(text)), '{id: 9007199254740993, a: [1.50, null, "x\\ny"], e: {}}');
  assert.equal(pretty(parseJson(text)).replace(/\s/g, ""), text.replace(/\s/g, ""));
  assert.deepEqual(parseJson("not json at all"), { kind: "string", text: "not json at all" });
  assert.equal(parseJson("[".repeat(5000)).kind, "string");
  assert.ok(oneLine(parseJson(JSON.stringify(Array(1000).fill(7))), 50).length <= 51);
});

test("values are shown by their type", async () => {
  const { shown, duration, kindOf } = await load("values.ts");
  assert.equal(shown('"2023-11-14T22:13:20Z"', "timestamp[us, UTC]").text, "2023-11-14 22:13:20Z");
  assert.equal(shown('"1970-01-04T00:00:00"', "date64").text, "1970-01-04");
  assert.equal(shown('"68656c6c6f"', "large_binary").text, "68 65 6c 6c 6f");
  assert.equal(shown("9007199254740993", "int64").text, "9007199254740993");
  assert.deepEqual(shown("null", "string"), { text: "null", look: "null" });
  assert.deepEqual(shown('""', "string"), { text: "empty", look: "empty" });
  assert.equal(shown('"null"', "string").look, "text");
  assert.equal(shown('"a\\nb\\u0000"', "string").text, "a\u23ceb\ufffd");
  assert.deepEqual(["PT5S", "PT0.005S", "PT93784.5S", "P1DT2H", "-PT61S", "odd"].map(duration), [
    "5 s",
    "0.005 s",
    "1 d 02:03:04.5",
    "1 d 02:00:00",
    "-00:01:01",
    "odd",
  ]);
  assert.deepEqual(["list<int32>", "struct<x: int32>", "decimal128(9, 2)", "string", "time64[us]"].map(kindOf), [
    "nested",
    "nested",
    "number",
    "text",
    "time",
  ]);
});

test("pieces cover the file, whatever the layout says", async () => {
  const { piecesOf, pieceAt } = await load("bytemap/pieces.ts");
  const region = (start, end, more = {}) => ({ range: { start, end }, kind: "data", name: `${start}`, ...more });
  const layouts = [
    { size: 100, regions: [] },
    { size: 100, regions: [region(10, 20), region(20, 90, { parts: [region(30, 40), region(40, 80)] })] },
    { size: 100, regions: [region(50, 60), region(0, 55)] },
    { size: 0, regions: [] },
  ];
  for (const layout of layouts) {
    const pieces = piecesOf(layout);
    let at = 0;
    for (const piece of pieces) {
      assert.equal(piece.start, at);
      assert.ok(piece.end > piece.start);
      at = piece.end;
    }
    assert.equal(at, layout.size);
    assert.equal(piecesOf(layout, 200).at(-1).end, 200);
    for (let offset = 0; offset < layout.size; offset++) {
      const piece = pieces[pieceAt(pieces, offset)];
      assert.ok(piece.start <= offset && offset < piece.end);
    }
  }
});

test("the areas of a treemap are the sizes", async () => {
  const { squarify } = await load("overview/squarify.ts");
  const sizes = [600, 300, 60, 25, 10, 4, 1];
  const boxes = squarify(sizes, { x: 0, y: 0, w: 500, h: 200 });
  boxes.forEach((box, i) => assert.ok(Math.abs(box.w * box.h - sizes[i] * 100) < 1e-6));
});

test("conditions are completed", async () => {
  const { proposals } = await load("rows/completion.ts");
  const columns = [
    { name: "price", type: "float64" },
    { name: "odd name", type: "string" },
    { name: "maker", type: "bool" },
  ];
  const labels = (text) => proposals(text, text.length, columns).map(({ label }) => label);
  assert.deepEqual(labels("pr"), ["price"]);
  assert.equal(proposals("odd", 3, columns)[0].text, "`odd name` ");
  assert.ok(labels("price ").includes(">="));
  assert.deepEqual(labels("price is n"), []);
  assert.deepEqual(labels("maker = "), ["true", "false"]);
  assert.deepEqual(labels("price > 3 "), ["and", "or"]);
  assert.deepEqual(labels("price > 3 and ma"), ["maker"]);
  assert.deepEqual(labels('sym = "pr'), []);
});

test("what is wrong in a condition is found", async () => {
  const { wrongPlace, shortened } = await load("rows/wrong-place.ts");
  assert.deepEqual(wrongPlace("price >> 3", "expected a number at position 7", 7), { start: 7, end: 8 });
  assert.deepEqual(wrongPlace("price > ", 'expected a number at the end of "price > "'), { start: 8, end: 9 });
  assert.deepEqual(wrongPlace("a = 1 and qantity > 3", 'there is no column "qantity"'), { start: 10, end: 17 });
  assert.deepEqual(wrongPlace("sym > 3", "a column of type Utf8 cannot be compared with 3"), { start: 6, end: 7 });
  assert.equal(wrongPlace("sym > 3", "something else"), undefined);
  assert.equal(shortened('expected ")" at the end of "(a"', "(a"), 'expected ")" at the end');
});

test("the single-file form gives every byte back", async () => {
  const { decode } = await load("embedded.ts");
  const bytes = Uint8Array.from({ length: 4096 }, (_, i) => (i * 7 + (i >> 8)) & 0xff);
  for (const shift of [0, 1, 61, 255]) {
    const text = new TextDecoder("windows-1252").decode(encode(bytes, shift));
    assert.deepEqual(decode(text, shift), bytes);
  }
});
