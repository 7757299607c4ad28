"""What a cluster costs, and whether the simulation of it tells the truth.

    python bench/cluster.py target/release/colkit target/release/examples/simulate bench/out/cluster [--scale 0.1] [--repeats 3] [--json]

Four queries over TPC-H's lineitem (Lance, on this machine), without a cluster and on `colkit cluster local` with one and two
executors of one core each; best wall times count. The simulation is told what a query, a stage, a task and a file cost, measured by
queries over tiny files, and how fast a core gets through a query: its processor time outside of any cluster, with as many processes
at once as there will be executors. It is never told a time that it is to predict.

Contestants take turns. Use a machine that does nothing else, or many turns: load is printed.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TINY_FILES = 1000
FEW, MANY = 200, 1000
NUMBERS = "SELECT sum(l_orderkey), sum(l_partkey), sum(l_suppkey), max(l_extendedprice), min(l_tax) FROM lineitem"
TEXTS = "SELECT count(*), max(l_shipinstruct) FROM lineitem WHERE l_comment LIKE '%express%'"


def queries():
    tpch = {f"q{n}": (ROOT / "tests" / "tpch" / f"q{n:02}.sql").read_text() for n in (1, 6)}
    return {**tpch, "scan of numbers": NUMBERS, "scan of texts": TEXTS}


def make_data(colkit, folder, scale):
    folder.mkdir(parents=True, exist_ok=True)
    lineitem = folder / f"lineitem-{scale}.lance"
    if not lineitem.exists():
        generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([generator, "parquet", "-s", scale, "--tables", "lineitem", "--output-dir", folder], check=True, capture_output=True)
        subprocess.run([colkit, "convert", folder / "lineitem.parquet", lineitem, "--drop-metadata", "--quiet"], check=True)
    tiny = folder / "tiny"
    tiny.mkdir(exist_ok=True)
    for number in range(TINY_FILES):
        (tiny / f"part-{number:04}.csv").write_text(f"k\n{number}\n")
    return lineitem, tiny


class Local:
    """`colkit cluster local`."""

    def __init__(self, colkit, executors, folder):
        words = [colkit, "cluster", "local", "--executors", executors, "--cores", 1, "--json", "--folder", folder]
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["cluster"]

        self.processes = {"scheduler": [], "executor": []}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words, fields = (process / "cmdline").read_text().split("\0"), (process / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid:
                self.processes[words[2]].append(int(process.name))

    def cpu(self, kind):
        """Seconds of processor time so far."""
        fields = [pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split() for process in self.processes[kind]]
        return sum(int(f[11]) + int(f[12]) for f in fields) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


class Bench:
    def __init__(self, args):
        self.colkit, self.simulate = args.colkit.resolve(), args.simulate.resolve()
        self.repeats = args.repeats
        self.lineitem, self.tiny = make_data(self.colkit, args.folder.resolve(), args.scale)

    def run(self, sql, *words, on=None, threads=1):
        """The answer and the wall time."""
        words = [*words, *(["--cluster", on.url] if on else ["--threads", str(threads)])]
        began = time.perf_counter()
        done = subprocess.run([self.colkit, "sql", sql, "--json", *words], capture_output=True, text=True, check=False)
        took = time.perf_counter() - began
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout), took

    def best(self, sql, *words, repeats=None, **where):
        """The answer and the wall time of the quickest run."""
        return min((self.run(sql, *words, **where) for _ in range(repeats or self.repeats)), key=lambda run: run[1])

    def calibrate(self, local):
        """What a query, a stage, a task, a file and so on cost, in milliseconds."""
        repeats = max(self.repeats, 3)
        one = f"SELECT sum(k) FROM '{self.tiny}/part-0000.csv'"
        tiny = f"SELECT sum(k) FROM '{self.tiny}/'"
        partitions = lambda n, sql=tiny: f"SET datafusion.execution.target_partitions = {n}; {sql}"
        # What is opened once stays open.
        self.run(tiny, on=local)

        def cpu(n):
            """The scheduler's and the executor's time for a scan by so many tasks, and what the one that adds up took."""
            before = [local.cpu(kind) for kind in ("scheduler", "executor")]
            stages = self.run(partitions(n), on=local)[0]["cluster"]["stages"]
            time.sleep(0.2)
            after = [local.cpu(kind) for kind in ("scheduler", "executor")]
            return [b - a for a, b in zip(before, after)], stages[-1]["milliseconds"] / 1000

        (base, base_executor), _ = cpu(1)
        (few, few_executor), few_pieces = cpu(FEW)
        (many, many_executor), many_pieces = cpu(MANY)
        # Per task a + b * partitions, and there are as many tasks as partitions.
        few, many = (few - base) / FEW, (many - base) / MANY
        partition = max(many - few, 0) / (MANY - FEW)
        task = few - partition * FEW
        start = (many_executor - few_executor) / (MANY - FEW)
        piece = min(few_pieces / FEW, many_pieces / MANY)
        file = base_executor / TINY_FILES
        nothing = self.best(one, on=local, repeats=3 * repeats)[1]
        pair = f"SELECT sum(k) FROM '{self.tiny}/part-000[01].csv'"
        two_stages = self.best(partitions(2, pair), on=local, repeats=3 * repeats)[1]
        # The scan is two tasks instead of one, and a third adds up.
        stage = max(two_stages - nothing - 2 * (task + start), 0)
        query = max(nothing - task - start - stage, 0)
        costs = {"query": query, "stage": stage, "task": task, "partition": partition, "start": start, "piece": piece, "file": file}
        return {name: 1000 * cost for name, cost in costs.items()}

    def simulated(self, sql, executors, *words):
        """Starts a simulation."""
        sql = sql.replace("FROM lineitem", f"FROM '{self.lineitem}' AS lineitem").strip().rstrip(";")
        words = ["--sql", sql, "--executors", executors, "--cores", 1, "--latency", 0, "--bandwidth", "inf", "--json", *words]
        return subprocess.Popen([self.simulate, *map(str, words)], stdout=subprocess.PIPE, text=True)

    def predict(self, sql, executors, costs):
        """What the simulation says, and the speed of a core when as many are at work: by processor time, as others may wait for it too."""
        speeds = []
        for _ in range(2):
            processes = [self.simulated(sql, 1) for _ in range(executors)]
            reports = [json.loads(process.communicate()[0]) for process in processes]
            speeds.append(min(report["bytes"] / report["measured"]["cpu_seconds"] / 1e6 for report in reports))
        words = [word for name, cost in costs.items() for word in (f"--{name}-ms", cost)]
        report = json.loads(self.simulated(sql, executors, "--decode", max(speeds), *words).communicate()[0])
        return report, max(speeds)

    def measure(self):
        table = ["--table", f"lineitem={self.lineitem}"]
        rows = {name: {"here": {}, "cluster": {}} for name in queries()}
        folder = self.lineitem.parent
        with Local(self.colkit, 1, folder) as one, Local(self.colkit, 2, folder) as two:
            costs = self.calibrate(one)
            contestants = [("here", 1, {"threads": 1}), ("here", 2, {"threads": 2}), ("cluster", 1, {"on": one}), ("cluster", 2, {"on": two})]
            for turn in range(self.repeats):
                for name, sql in queries().items():
                    row, counts = rows[name], set()
                    for what, number, where in contestants if turn % 2 == 0 else reversed(contestants):
                        answer, took = self.run(sql, *table, **where)
                        row[what][number] = min(took, row[what].get(number, took))
                        counts.add(answer["row_count"])
                        if where.get("on") is two:
                            row["tasks"] = [stage["tasks"] for stage in answer["cluster"]["stages"]]
                    if len(counts) > 1:
                        raise SystemExit(f"{name}: other rows on the cluster")
        for name, sql in queries().items():
            row = rows[name] = {**rows[name], "predicted": {}, "speed": {}}
            for executors in (1, 2):
                report, row["speed"][executors] = self.predict(sql, executors, costs)
                row["predicted"][executors] = report["rows"][-1]["seconds"]
            row["megabytes"], row["splits"] = report["bytes"] / 1e6, report["splits"]
        return costs, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("colkit", type=pathlib.Path)
    parser.add_argument("simulate", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    before = os.getloadavg()[0]
    costs, rows = Bench(args).measure()
    load = [before, os.getloadavg()[0]]
    if args.json:
        print(json.dumps({"load": load, "milliseconds": costs, "queries": rows}))
        return
    print(f"load {load[0]:.1f} before, {load[1]:.1f} after; milliseconds: " + ", ".join(f"{n} {c:.4g}" for n, c in costs.items()))
    rate = lambda partitions: 1000 / max(costs["task"] + costs["partition"] * partitions, 0.001)
    print("tasks per second of the scheduler: " + ", ".join(f"{rate(p):,.0f} of a stage of {p:,} partitions" for p in (1, 1000, 8000)) + "\n")
    head = ["query", "MB", "splits", "here, 1", "here, 2", "1 executor", "foretold", "ratio", "2 executors", "foretold", "ratio", "overhead"]
    print(f"{head[0]:<16}" + "".join(f"{h:>12}" for h in head[1:]))
    for name, row in rows.items():
        one, two = row["cluster"][1], row["cluster"][2]
        cells = [f"{row['megabytes']:.1f}", row["splits"], *(f"{row['here'][t]:.3f}" for t in (1, 2))]
        for found, foretold in [(one, row["predicted"][1]), (two, row["predicted"][2])]:
            cells += [f"{found:.3f}", f"{foretold:.3f}", f"{foretold / found:.2f}"]
        cells.append(f"{one - row['here'][1]:.3f}")
        print(f"{name:<16}" + "".join(f"{cell:>12}" for cell in cells))
    total = lambda what, n: sum(row[what][n] for row in rows.values())
    for n in (1, 2):
        found, foretold = total("cluster", n), total("predicted", n)
        print(f"total, {n} executors: {found:.3f} s, foretold {foretold:.3f} s ({foretold / found:.2f}); without a cluster, {n} threads: {total('here', n):.3f} s")


if __name__ == "__main__":
    main()
