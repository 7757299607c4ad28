"""Renders saved benchmark results: tables of ratios, bar charts and losses.

    python bench/report.py RESULT.json... [--page docs/benchmark.md] [--readme README.md] [--print]

--page writes the page and its charts (SVG, in the directory named like the page without ".md", which this script owns);
--readme replaces the text between the two markers in the README; --print shows the tables in the terminal. The output is
deterministic. Several result files, such as those of `make bench` and `make bench-sql`, make one page; later files add
jobs or replace them.

Every ratio is a peer's figure divided by colkit's in the same job, so below 1 the peer is better. The tables divide by the
first contestant, colkit with default settings. The lists of losses and the README compare like with like: a memory-mapped
file with our memory-mapped file, CSV to Parquet with our CSV to Parquet, and otherwise with the default settings; if
another setting of ours does better, the list adds its ratio.
"""
import argparse
import html
import json
import math
import os
import sys
from collections import namedtuple

BEGIN, END = "<!-- benchmark: begin (make bench-report) -->", "<!-- benchmark: end -->"
MARGIN = 0.95  # a difference below 5% is not a loss
WIDTH = 110    # of the terminal

Metric = namedtuple("Metric", "key title noun show absolute")
Section = namedtuple("Section", "key title says metrics charts")
Chart = namedtuple("Chart", "file title metric jobs")
Table = namedtuple("Table", "title head rows")
Loss = namedtuple("Loss", "job metric name ratio best")


# ---------------------------------------------------------------------- figures as text

def ratio_text(x):
    """Two significant digits: 0.058, 0.82, 5.5, 140."""
    if x <= 0:
        return "0"
    x = float(f"{x:.1e}")
    return f"{x:.{max(0, 1 - math.floor(math.log10(x)))}f}"


def seconds_text(s):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if s >= size or unit == "µs":
            return f"{s / size:.3g} {unit}" if s / size < 999.5 else f"{s / size:.0f} {unit}"


def bytes_text(n):
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1)):
        if n >= size or unit == "B":
            return f"{n / size:.3g} {unit}" if n / size < 999.5 else f"{n / size:.0f} {unit}"


def rate_text(seconds_per_mb):
    return f"{1 / seconds_per_mb:.0f} MB/s"


TIME = Metric("wall", "Time", "time", seconds_text, False)
CPU = Metric("cpu", "CPU time, all threads", "CPU time", seconds_text, False)
SIZE = Metric("size", "File size", "file size", bytes_text, False)
PEAK = Metric("peak", "Peak memory in MiB", "peak memory", bytes_text, True)
DISK = Metric("disk", "Bytes read from disk", "bytes read", bytes_text, True)
RATE = Metric("rate", "Throughput relative to the bare library = 1 (higher is better)", "time", rate_text, False)

SECTIONS = [
    Section("write", "Write", "Arrow batches in memory to a closed file.", [TIME, CPU, SIZE, PEAK],
            [Chart("write-time", "Write time", TIME, None), Chart("write-size", "File size", SIZE, None)]),
    Section("scan", "Scan", "Every value is decoded into an Arrow array.", [TIME, CPU, PEAK],
            [Chart("scan", "Scan time", TIME, ["scan"]),
             Chart("scan-2-columns", "Scan time, 2 columns", TIME, ["scan of 2 columns"])]),
    Section("take", "Random access", "Rows at random positions of a file that is already open.", [TIME, PEAK],
            [Chart("take-1000", "Time to take 1,000 rows", TIME, ["take 1000"])]),
    Section("open", "Open and read", "Opening the file included; also one column of a very wide table.", [TIME, PEAK],
            [Chart("open-wide", "Time to open and read one of many columns", TIME,
                   ["open, 1 of 1000 columns", "open, 1 of 10000 columns"])]),
    Section("cold", "Cold reads", "The file is evicted from the page cache before every run; opening is included.", [DISK, TIME],
            [Chart("cold-bytes", "Bytes read from disk", DISK, ["take 1000", "filter, sorted"])]),
    Section("filter", "Filter", "A selective predicate on a sorted column and on an unsorted one.", [TIME, CPU, PEAK],
            [Chart("filter", "Filter time", TIME, None)]),
    Section("csv", "CSV conversion", "A CSV file converted to each format, with types inferred by the tool.",
            [TIME, CPU, SIZE, PEAK], [Chart("csv", "CSV conversion time", TIME, None)]),
    Section("pack", "Pack text", "Whole text files, restorable byte for byte (Parquet keeps the values only).",
            [SIZE, TIME, CPU, PEAK],
            [Chart("pack-size", "Packed size", SIZE, None), Chart("pack-time", "Pack time", TIME, None)]),
    Section("unpack", "Unpack text", "The packed files restored.", [TIME, CPU, PEAK],
            [Chart("unpack-time", "Unpack time", TIME, None)]),
    Section("query", "Query packed text", "A selective predicate on a packed file, without unpacking it first.",
            [TIME, DISK, PEAK], [Chart("query", "Query time on packed text", TIME, None)]),
    Section("bare", "zlib formats and the bare library", "The upper bound is the library that inflates or deflates the same "
            "blocks and does nothing else.", [RATE], []),
    Section("sql", "SQL", "The TPC-H queries.", [TIME, PEAK], [Chart("sql", "TPC-H time", TIME, ["all queries"])]),
]

# The tables of the summary: the peers that get a column, and the rows: title, section, job and table (None: the mean over
# all of them), metric.
SUMMARY_TABLES = [
    (["lance", "vortex", "parquet", "duckdb", "polars", "pandas"], [
        ("take 1,000 rows of lineitem", "take", "take 1000", "lineitem", TIME),
        ("take 1,000 of 100,000 vectors", "take", "take 1000", "vectors", TIME),
        ("open lineitem, take 1 row", "open", "open, take 1", "lineitem", TIME),
        ("open, read 1 of 10,000 columns", "open", "open, 1 of 10000 columns", None, TIME),
        ("scan lineitem", "scan", "scan", "lineitem", TIME),
        ("scan 2 columns of lineitem", "scan", "scan of 2 columns", "lineitem", TIME),
        ("filter lineitem on a sorted column", "filter", "filter, sorted", "lineitem", TIME),
        ("filter lineitem on an unsorted column", "filter", "filter, unsorted", "lineitem", TIME),
        ("take 100 rows of lineitem, bytes read cold", "cold", "take 100", "lineitem", DISK),
        ("write five tables, CPU time", "write", None, None, CPU),
        ("write five tables, file size", "write", None, None, SIZE),
    ]),
    (["xz -6", "zstd -19", "at1"], [
        ("pack text, size", "pack", None, None, SIZE),
        ("pack text, CPU time", "pack", None, None, CPU),
        ("unpack text, time", "unpack", None, None, TIME),
    ]),
]
SUMMARY_CHART = ["take 1,000 rows of lineitem", "take 1,000 of 100,000 vectors", "scan lineitem", "write five tables, file size", "pack text, size"]
# The rows of the README's table, with its own titles.
README_ROWS = {
    "take 1,000 rows of lineitem": "random access: 1,000 rows",
    "scan lineitem": "full scan",
    "filter lineitem on a sorted column": "filter on a sorted column",
    "filter lineitem on an unsorted column": "filter on an unsorted column",
    "write five tables, file size": "file size (mean of five tables)",
}
# Arrow IPC decodes nothing: it is the lower bound, not a competitor.
FLOOR = "arrow ipc"


# ---------------------------------------------------------------------- results

def load(paths):
    """The files, and one list of all jobs."""
    files, jobs = [], {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        found["file"] = f"bench/results/{os.path.basename(path)}"
        files.append(found)
        for job in found.get("jobs", []):
            jobs[job.get("section"), job.get("table", ""), job.get("job", "")] = job
    return files, list(jobs.values()) + all_queries([j for (section, *_), j in jobs.items() if section == "sql"])


def all_queries(queries):
    """A job of all SQL queries: the sum for every contestant that answers all of them."""
    names = [r["contestant"] for r in queries[0]["results"]] if len(queries) > 1 else []
    sums = [{"contestant": n, "wall": sum(value(q, n, TIME) for q in queries)}
            for n in names if all(value(q, n, TIME) is not None for q in queries)]
    return [{"section": "sql", "table": queries[0].get("table", ""), "job": "all queries", "results": sums}] if sums else []


def is_ours(name):
    return name == "colkit" or name.startswith(("colkit ", "colkit,"))


def value(job, name, metric):
    """The figure, lower is better, or None."""
    for result in job.get("results", []):
        if result["contestant"] == name:
            x = result.get(metric.key)
            if isinstance(x, (int, float)) and x >= 0 and (x > 0 or metric is DISK):
                return 1 / x if metric is RATE else x
    return None


def names_in(jobs, metric=None):
    """Contestants in the order of their first appearance; with a metric, those that have it somewhere."""
    names = dict.fromkeys(r["contestant"] for j in jobs for r in j.get("results", []))
    return [n for n in names if metric is None or any(value(j, n, metric) is not None for j in jobs)]


def base(job, metric):
    """colkit with default settings: the first of ours."""
    return next((n for n in names_in([job], metric) if is_ours(n)), None)


def over(job, name, other, metric):
    """The figure of one contestant over that of another, or None."""
    a, b = value(job, name, metric), other and value(job, other, metric)
    return a / b if a is not None and b else None


def alike(job, name, metric):
    """Ours that do the same as `name`: mapped or not, and into the same format."""
    mine = [n for n in names_in([job], metric) if is_ours(n)]
    mapped = [n for n in mine if n.endswith("mapped") == name.endswith("mapped")]
    formats = [n for n in mapped if n.partition(" to ")[2] == name.partition(" to ")[2]]
    return formats or mapped or mine


def fair(job, name, metric):
    """A peer's ratio to the first of ours that does the same."""
    same = alike(job, name, metric)
    return over(job, name, same[0], metric) if same else None


def mean(ratios):
    """Geometric, of ratios that may be missing."""
    logs = [math.log(max(r, 1e-6)) for r in ratios if r is not None]
    return math.exp(sum(logs) / len(logs)) if logs else None


def label(job):
    """The job's title in a table row: the table alone if the section implies the rest."""
    table, what = job.get("table", ""), job.get("job", "")
    if what.lower() in ("write", "csv", "pack", "unpack", ""):
        return table
    return what if not table or table.startswith("wide") or job["section"] == "sql" else f"{table}, {what}"


def spoken(job):
    """The same in a sentence."""
    table, what = job.get("table", ""), job.get("job", "") or job["section"]
    if not table or table.startswith("wide"):
        return what
    return f"{what}, of {table}" if "," in what else f"{what} of {table}"


def losses(jobs, metrics):
    """Every cell in which a peer is better than colkit, with the ratio to our best setting if that is another one."""
    found = []
    for job in jobs:
        for metric in metrics:
            for name in names_in([job], metric):
                ratio = None if is_ours(name) else fair(job, name, metric)
                if ratio is None or ratio >= MARGIN:
                    continue
                same = alike(job, name, metric)
                best = min(same, key=lambda n: value(job, n, metric))
                better = over(job, best, same[0], metric) < MARGIN
                text = f"{ratio_text(over(job, name, best, metric))} of `{best}`" if better else None
                found.append(Loss(job, metric, name, ratio, text))
    return found


# ---------------------------------------------------------------------- tables

def cell(job, name, metric):
    own, x = base(job, metric), value(job, name, metric)
    if x is None:
        return ""
    if metric is PEAK:
        return f"{x / 2**20:.0f}"
    if metric.absolute or name == own:
        return metric.show(x)
    ratio = over(job, name, own, metric)
    return "" if ratio is None else ratio_text(ratio)


def by_job(jobs, metric):
    """Jobs down, contestants across."""
    names = names_in(jobs, metric)
    rows = [[label(j)] + [cell(j, n, metric) for n in names] for j in jobs if names_in([j], metric)]
    title = metric.title + ("" if metric.absolute or metric is RATE else ", colkit = 1")
    return Table(title, [""] + names, rows)


def by_contestant(job, metrics):
    """Contestants down, figures across: for a job with very many contestants."""
    shown = [m for m in metrics if names_in([job], m)]
    head = [""] + [m.title for m in shown]
    title = f"{label(job)}, {base(job, shown[0]) if shown else 'colkit'} = 1"
    return Table(title, head, [[n] + [cell(job, n, m) for m in shown] for n in names_in([job])])


def tables_of(section, jobs):
    if section.key == "csv":
        return [by_contestant(j, section.metrics) for j in jobs if names_in([j])]
    return [t for t in (by_job(jobs, m) for m in section.metrics if names_in(jobs, m)) if t.rows]


def of_xz(jobs):
    """Our packed size relative to xz -6."""
    parts = [(label(j), over(j, base(j, SIZE), n, SIZE)) for j in jobs for n in names_in([j]) if n.startswith("xz -6") and base(j, SIZE)]
    return ", ".join(f"{name} {ratio_text(r)}" for name, r in parts if r is not None)


def markdown(table):
    escape = lambda text: text.replace("|", "\\|")
    lines = [table.head, ["---"] + ["--:"] * (len(table.head) - 1)] + table.rows
    return "\n".join("| " + " | ".join(map(escape, line)) + " |" for line in lines)


def terminal(table):
    """Aligned columns; those that do not fit follow below."""
    lines = [table.head] + table.rows
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.head))]
    blocks, used = [[]], WIDTH
    for i in range(1, len(widths)):
        if used + widths[i] + 2 > WIDTH and (blocks[-1] or i == 1):
            blocks.append([])
            used = widths[0]
        blocks[-1].append(i)
        used += widths[i] + 2
    text = ["\n".join((line[0].ljust(widths[0]) + "".join("  " + line[i].rjust(widths[i]) for i in block)).rstrip()
                      for line in lines) for block in blocks if block]
    return f"{table.title}\n" + "\n\n".join(text)


# ---------------------------------------------------------------------- charts

STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #24292f } .title { font-size: 15px; font-weight: 600 } .group { font-weight: 600 }
.note, .tick { fill: #59636e } .grid { stroke: #d1d9e0 } .one { stroke: #0f8b8d } .peer { fill: #9aa4ae } .ours { fill: #0f8b8d }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note, .tick { fill: #9198a1 } .grid { stroke: #3d444d }
.one { stroke: #35b8ba } .peer { fill: #656c76 } .ours { fill: #35b8ba } }
</style>"""


def axis(values):
    """From a ratio to its share of the width, the ticks, and whether the scale is logarithmic."""
    small, large = max(min(values), 1e-4), max(max(values), 1.0)
    if large / small <= 20:
        step = next(s for s in (0.1, 0.2, 0.25, 0.5, 1, 2, 5) if large / s <= 8)
        return (lambda x: x / large), [i * step for i in range(int(large / step + 1e-9) + 1)], False
    # The axis starts a little below the shortest bar so that it stays visible.
    low, high = math.floor(math.log10(small * 0.7)), math.log10(large)
    return (lambda x: max(0.0, (math.log10(max(x, 1e-4)) - low) / (high - low))), [10.0**i for i in range(low, int(high) + 1)], True


def svg(title, groups, says="colkit = 1, shorter is better", left=190, wide=440):
    """Horizontal bars. Groups are a heading and bars of name and ratio, where colkit is 1."""
    bar = 20
    place, ticks, log = axis([1.0] + [r for _, bars in groups for _, r in bars])
    out, y = [], 34
    body_top = y + 14
    for heading, bars in groups:
        y += 24 if heading else 10
        out.append(f'<text class="group" x="8" y="{y}">{html.escape(heading)}</text>')
        y += 6
        for name, ratio in bars:
            length = max(1.0, place(ratio) * wide)
            out.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(name)}</text>'
                       f'<rect class="{"ours" if is_ours(name) else "peer"}" x="{left}" y="{y + 3}" width="{length:.1f}" height="14" rx="2"/>'
                       f'<text x="{left + length + 6:.1f}" y="{y + 14}">{ratio_text(ratio)}</text>')
            y += bar
    grid = []
    for tick in ticks:
        x = left + place(tick) * wide
        kind = "one" if abs(tick - 1) < 1e-9 else "grid"
        grid.append(f'<line class="{kind}" x1="{x:.1f}" y1="{body_top}" x2="{x:.1f}" y2="{y + 4}"/>'
                    f'<text class="tick" x="{x:.1f}" y="{y + 18}" text-anchor="middle">{tick:g}</text>')
    note = says + ("; logarithmic scale" if log else "")
    total = left + wide + 60
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {y + 28}" width="{total}" height="{y + 28}" role="img">',
        f"<title>{html.escape(title)}</title>", STYLE,
        f'<text class="title" x="8" y="22">{html.escape(title)}</text>'
        f'<text class="note" x="{total - 8}" y="22" text-anchor="end">{note}</text>', *grid, *out, "</svg>"]) + "\n"


def groups_of(chart, jobs):
    """The bars of a chart: a group for each job, or one of means where the jobs are many."""
    metric = chart.metric
    jobs = [j for j in jobs if (chart.jobs is None or j.get("job") in chart.jobs) and base(j, metric)]
    ratios = lambda j: {n: r for n in names_in([j], metric) if (r := over(j, n, base(j, metric), metric)) is not None}
    each = [(j, ratios(j)) for j in jobs]
    if len(jobs) > 4:
        names = names_in(jobs, metric)
        each_mean = {n: mean(found.get(n) for _, found in each) for n in names}
        partly = {n: sum(n in found for _, found in each) for n in names}
        named = {n if partly[n] == len(each) else f"{n} ({partly[n]} of {len(each)})": r for n, r in each_mean.items() if r is not None}
        groups = [(f"geometric mean of {len(each)}", named)]
    else:
        groups = [(f"{label(j)}: colkit {metric.show(value(j, base(j, metric), metric))}", found) for j, found in each]
    return [(heading, sorted(bars.items(), key=lambda b: (b[1], b[0]))) for heading, bars in groups if len(bars) > 1]


# ---------------------------------------------------------------------- the page

METHOD = """## Method

- Rust crates run in one process with colkit and take turns. Python packages run in a worker process, in the same turns;
  interpreter start-up and imports are not counted.
- The results of the first turn are compared. A contestant with a different result is dropped and listed below.
- The order of the contestants is reversed after every turn. A figure is the minimum of the first turn and {rounds} more; a contestant
  that has used up a few seconds takes no more turns. CPU time covers all threads. Only colkit syncs the file to disk when it writes, and that time
  is included. Peak memory is that of a process that runs only this job with this contestant, including its libraries and,
  for Python, the interpreter.
- Files are in the page cache unless the section states otherwise.
- Ratios are comparable only within a row: each cell is the contestant's figure divided by colkit's, so below 1 the contestant
  is better. The colkit column shows the absolute figure. An empty cell means that the contestant does not support
  the job or was not run. The charts show the same ratios; means are geometric.
- Each section ends with the losses: for every contestant that beats colkit by more than 5%, the worst ratio per figure and the number of jobs,
  comparing like with like: memory-mapped with memory-mapped files, and CSV conversion to the same format where colkit writes it.
"""


def about(files):
    lines = []
    for f in files:
        machine = f.get("machine", {})
        memory = machine.get("memory_bytes")
        hardware = [machine.get("cpu"), machine.get("cores") and f"{machine['cores']} cores",
                    memory and f"{memory / 2**30:.0f} GiB", machine.get("system")]
        if "made" not in f:
            lines.append(f"- `{f['file']}`: date, commit and machine were not recorded")
            continue
        lines.append(f"- `{f['file']}`: {f['made']}, commit {f.get('commit', 'unknown')}, "
                     f"{f.get('seconds', 0):.0f} seconds on {', '.join(filter(None, hardware)) or 'an unknown machine'}")
    versions = {k: v for f in files for k, v in f.get("versions", {}).items()}
    lines.append("- Versions: " + (", ".join(f"{k} {v}" for k, v in versions.items()) or "not recorded"))
    return lines


def data_table(files):
    tables = {k: v for f in files for k, v in f.get("tables", {}).items()}
    count = lambda t, key: f"{t[key]:,}" if key in t else ""
    rows = [[k, count(t, "rows"), count(t, "columns"), bytes_text(t["bytes"]) if "bytes" in t else ""] for k, t in tables.items()]
    return Table("Data", ["", "rows", "columns", "in memory, or as text"], rows)


def losing(found):
    """One line per peer: for each metric the worst loss with its job, and the number of jobs. The tables have every figure."""
    lines = {}
    for loss in found:
        lines.setdefault(loss.name, {}).setdefault(loss.metric, []).append(loss)
    return [f"- {name}: " + ", ".join(map(worst_of, metrics.values())) for name, metrics in lines.items()] or ["None."]


def worst_of(losses):
    """The worst of a peer's wins in one figure: `time 0.72 (flights; 3 jobs)`."""
    worst = min(losses, key=lambda loss: loss.ratio)
    more = f"; {len(losses)} jobs" if len(losses) > 1 else ""
    best = f", {worst.best}" if worst.best else ""
    return f"{worst.metric.noun} {ratio_text(worst.ratio)} ({spoken(worst.job)}{more}{best})"


def page(files, jobs, charts_at):
    """The text of the page, and the charts by file name."""
    sources = ", ".join(f"`{f['file']}`" for f in files)
    rounds = "/".join(sorted({str(f["rounds"]) for f in files if "rounds" in f})) or "several"
    digest, charts = summary(jobs, charts_at)
    out = ["# Benchmark", "", "colkit and other tools on the same jobs and data. [Performance](performance.md) explains the figures.",
           "", *digest, "## Environment", "", "`make bench` repeats all of it; `make bench-quick` uses small data and takes less than five "
           f"minutes; `bench/data.py` makes the data; `make bench-report` generates this page from {sources}.", "", *about(files), "", METHOD.format(rounds=rounds)]
    data = data_table(files)
    if data.rows:
        out += ["## Data", "", markdown(data), ""]
    left_out = [s for f in files for s in f.get("left_out", [])]
    if left_out:
        out += ["Left out:", "", *(f"- {s}" for s in left_out), ""]
    for section, mine in sections(jobs):
        out += [f"## {section.title}", "", section.says, ""]
        for chart in section.charts:
            groups = groups_of(chart, mine)
            if groups:
                charts[chart.file + ".svg"] = svg(chart.title, groups)
                out += [f"![{chart.title}, relative to colkit]({charts_at}/{chart.file}.svg)", ""]
        for table in tables_of(section, mine):
            out += [f"{table.title}:", "", markdown(table), ""]
        if section.key == "pack" and of_xz(mine):
            out += [f"Packed size relative to xz -6: {of_xz(mine)}.", ""]
        out += ["Losses:", "", *losing(losses(mine, section.metrics)), ""]
    return "\n".join(out).rstrip() + "\n", charts


def sections(jobs):
    for section in SECTIONS:
        mine = [j for j in jobs if j.get("section") == section.key]
        if any(names_in(mine, m) for m in section.metrics):
            yield section, mine


def print_all(files, jobs):
    print("\n".join(about(files)))
    for section, mine in sections(jobs):
        print(f"\n=== {section.title}\n{section.says}")
        for table in tables_of(section, mine):
            print("\n" + terminal(table))
        print("\nLosses:", *losing(losses(mine, section.metrics)), sep="\n")
    for sentence in (s for f in files for s in f.get("left_out", [])):
        print("left out:", sentence)


# ---------------------------------------------------------------------- the summary and the README

def headlines(jobs):
    """For each summary table its peers, and its rows: title, our figure or 1 for a mean, the peers' ratios by name."""
    for peers, rows in SUMMARY_TABLES:
        lines = []
        for what, section, job, table, metric in rows:
            mine = [j for j in jobs if j.get("section") == section and j.get("job") == (job or j.get("job"))
                    and j.get("table") == (table or j.get("table")) and base(j, metric)]
            if mine:
                own = metric.show(value(mine[0], base(mine[0], metric), metric)) if len(mine) == 1 else "1"
                lines.append((what, own, {n: mean(fair(j, n, metric) for j in mine) for n in peers if n in names_in(mine, metric)}))
        if lines:
            yield peers, lines


def worst_losses(jobs):
    """The worst loss of each section in time, size and bytes read."""
    for section, mine in sections(jobs):
        found = [x for x in losses(mine, section.metrics) if not x.name.startswith(FLOOR)]
        for metric in (TIME, SIZE, DISK, RATE):
            cells = sorted((x for x in found if x.metric is metric), key=lambda x: x.ratio)
            if cells:
                worst, more = cells[0], f"; {len(cells)} losses" if len(cells) > 1 else ""
                yield f"- {section.title}: {worst.name}, {ratio_text(worst.ratio)}x the {metric.noun} ({spoken(worst.job)}{more})"


def headline_table(peers, lines):
    rows = [[title, own] + [ratio_text(r[n]) if r.get(n) else "" for n in peers] for title, own, r in lines]
    return markdown(Table("", ["job", "colkit"] + peers, rows))


def summary(jobs, charts_at):
    """The lines of the page's summary, and its chart by file name. Empty if none of its jobs were run."""
    text, bars = [], []
    for peers, lines in headlines(jobs):
        text += [headline_table(peers, lines), ""]
        bars += [(title, [("colkit", 1.0)] + [(n, r[n]) for n in peers if r.get(n)]) for title, _, r in lines if title in SUMMARY_CHART]
    if not text:
        return [], {}
    lost = list(worst_losses(jobs))
    lines = [f"![Time and size relative to colkit]({charts_at}/overview.svg)", "",
             "Each cell is a tool's figure divided by colkit's: above 1, the tool is slower, larger or reads more. A 1 in the colkit "
             "column marks a geometric mean over several files.", "", *text,
             "## Losses", "", "The worst loss of each kind:" if lost else "colkit loses nowhere in this result.", "", *lost, ""]
    return lines, {"overview.svg": svg("Time and size relative to colkit", bars)}


def readme(files, jobs, page_at):
    """The text between the markers."""
    peers, lines = next(headlines(jobs), ([], []))
    rows = [(README_ROWS[title], own, ratios) for title, own, ratios in lines if title in README_ROWS]
    if not rows:
        sys.exit(f"{', '.join(f['file'] for f in files)}: none of the jobs that the README shows")
    machine = files[0].get("machine", {})
    where = ", ".join(filter(None, [machine.get("cpu"), machine.get("cores") and f"{machine['cores']} cores"])) or "an unknown machine"
    return "\n".join([
        headline_table(peers, rows), "",
        "Each cell is a tool's time or size divided by colkit's: above 1, the tool is slower or larger. The data is TPC-H `lineitem`, in the "
        f"page cache, on {where} ({files[0].get('made', 'no date')[:10]}). [All results, losses and the method]({page_at})."])


def between_markers(path, text):
    with open(path, encoding="utf-8") as file:
        old = file.read()
    begin, end = old.find(BEGIN), old.find(END)
    if begin < 0 or end < begin:
        sys.exit(f"{path}: needs the two markers, in this order, each on a line of its own:\n{BEGIN}\n{END}")
    save(path, f"{old[:begin + len(BEGIN)]}\n{text}\n{old[end:]}")


def save(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".part", "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    os.replace(path + ".part", path)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("results", nargs="+")
    arguments.add_argument("--page", help="the Markdown page; its charts go into the directory of the same name")
    arguments.add_argument("--readme", help="a file with the two markers")
    arguments.add_argument("--print", action="store_true", dest="printing", help="tables for the terminal")
    options = arguments.parse_args()
    files, jobs = load(options.results)
    page_at = options.page or os.path.join(os.path.dirname(options.readme or ""), "docs/benchmark.md")
    folder, charts = os.path.splitext(page_at)[0], {}
    if options.page:
        text, charts = page(files, jobs, os.path.basename(folder))
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.endswith(".svg") and name not in charts:
                os.remove(os.path.join(folder, name))
        save(options.page, text)
    if options.readme:
        here = os.path.dirname(os.path.abspath(options.readme))
        between_markers(options.readme, readme(files, jobs, os.path.relpath(page_at, here)))
    for name, picture in charts.items():
        save(os.path.join(folder, name), picture)
    if options.printing or not (options.page or options.readme):
        print_all(files, jobs)


if __name__ == "__main__":
    main()
