/** Numbers as people read them. */

const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `1234567` as `1,234,567`. */
export function count(value: number): string {
  return COUNT.format(value);
}

/** `1 row`, `2 rows`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A size with three digits, in the units of the command: `958 B`, `158 KiB`, `1.20 GiB`. */
export function bytes(value: number): string {
  if (value < 1024) return `${count(value)} B`;
  let unit = 0;
  let scaled = value;
  while (scaled >= 999.5 && unit < 5) {
    scaled /= 1024;
    unit++;
  }
  const digits = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
  return `${scaled.toFixed(digits)} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

/** A part of a whole: `0 %`, `0.03 %`, `1.2 %`, `45 %`. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const value = (100 * part) / whole;
  if (value < 0.01) return "under 0.01 %";
  if (value >= 100) return "100 %";
  if (value > 99.9) return "over 99.9 %";
  return `${value < 0.1 ? value.toFixed(2) : value < 10 || value > 99 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/** A number with at most `digits` significant digits. */
export function rounded(value: number, digits = 6): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return count(value);
  if (Math.abs(value) >= 10 ** digits && Math.abs(value) < 1e15) return count(value);
  const text = value.toPrecision(digits);
  return text.includes("e") ? text : String(Number(text));
}

/** An offset in a file: decimal, and hexadecimal as other tools show it. */
export function offset(value: number): string {
  return `${count(value)} (0x${value.toString(16)})`;
}
