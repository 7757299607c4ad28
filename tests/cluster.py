"""A cluster of processes on loopback: a scheduler and three executors, with tables in a loopback S3 store.

    python tests/cluster.py target/debug/colkit target/debug/examples/s3 [--only NAME]

Answers must be those of the same command without a cluster, whatever is killed on the way.
"""

import argparse
import csv
import io
import json
import math
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
QUERIES = HERE / "tpch"
TABLES = ["nation", "region", "part", "supplier", "partsupp", "customer", "orders", "lineitem"]
# What queries 1, 6 and 14 run over besides Lance. .gppcol has no decimals and no dates.
OTHERS = ["at1", "gppcol", "parquet"]
DECIMALS = {"lineitem": ["l_quantity", "l_extendedprice", "l_discount", "l_tax"], "part": ["p_retailprice"]}
SINGLE = {1: ["lineitem"], 6: ["lineitem"], 14: ["lineitem", "part"]}


def free_ports(count):
    """Ports that are free. They are held until all are known, so that no two are the same."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Store:
    """A loopback S3 server of a folder, as a process."""

    def __init__(self, program, folder, log, fail_every=0):
        self.log = log
        self.process = subprocess.Popen([program, folder, log, str(fail_every)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        url = self.process.stdout.readline().strip()
        self.environment = {
            "AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "colkit-test-key", "AWS_SECRET_ACCESS_KEY": "colkit-test-secret",
        }

    def lines(self):
        """All requests so far. The server writes them down a moment later."""
        time.sleep(0.1)
        return self.log.read_text().splitlines() if self.log.exists() else []

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Cluster:
    """A scheduler and executors, as processes."""

    def __init__(self, colkit, store, folder, executors=3, cores=1, timeout=6, tls=None):
        self.colkit, self.folder, self.environment = colkit, folder, {**os.environ, **store.environment}
        self.tls = ["--tls", tls] if tls else []
        folder.mkdir(exist_ok=True)
        ports = free_ports(1 + 2 * executors)
        self.port, self.url = ports[0], f"df://127.0.0.1:{ports[0]}"
        self.logs, self.executors = [], []
        self.scheduler = self.start("scheduler", "--listen", f"127.0.0.1:{self.port}", "--executor-timeout", str(timeout),
                                    "--grace", "5")
        for i in range(executors):
            results, tasks = ports[1 + 2 * i: 3 + 2 * i]
            self.executors.append(self.start(
                "executor", "--scheduler", self.url, "--listen", f"127.0.0.1:{results}", "--tasks-port", str(tasks),
                "--cores", str(cores), "--memory", "1G", "--heartbeat", "1", "--work-dir", str(folder / f"work-{i}")))
        self.wait_for(executors)

    def start(self, *words):
        log = self.folder / f"process-{len(self.logs)}.log"
        self.logs.append(log)
        return subprocess.Popen([self.colkit, "cluster", *words, *self.tls], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=log.open("wb"), env=self.environment)

    def wait_for(self, executors):
        for _ in range(300):
            if len(self.about()["executors"]) == executors:
                return
            time.sleep(0.1)
        raise SystemExit("the executors did not come:\n" + self.told())

    def about(self):
        done = subprocess.run([self.colkit, "cluster", "status", self.url, "--json", *self.tls], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {"executors": []}

    def told(self):
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}" for log in self.logs)

    def close(self):
        for process in [*self.executors, self.scheduler]:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in [*self.executors, self.scheduler]:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.told(), file=sys.stderr)
        self.close()


class Commands:
    """The command, here or on a cluster."""

    def __init__(self, colkit, environment):
        self.colkit, self.environment = colkit, {**os.environ, **environment}

    def run(self, *words, timeout=240):
        return subprocess.run([self.colkit, *map(str, words)], capture_output=True, text=True, env=self.environment,
                              stdin=subprocess.DEVNULL, timeout=timeout)

    def ok(self, *words, **options):
        done = self.run(*words, **options)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, words))}\n{done.stderr}")
        return done

    def rows(self, sql, *words):
        done = self.ok("sql", sql, "--as", "csv", *words)
        return list(csv.reader(io.StringIO(done.stdout)))


def alike(a, b):
    """Whether two answers are the same, up to the order in which floats were added."""
    if len(a) != len(b) or any(len(x) != len(y) for x, y in zip(a, b)):
        return False

    def same(x, y):
        if x == y:
            return True
        try:
            return math.isclose(float(x), float(y), rel_tol=1e-9, abs_tol=1e-12)
        except ValueError:
            return False

    return all(same(x, y) for r, s in zip(a, b) for x, y in zip(r, s))


def check(what, condition, *details):
    if not condition:
        raise AssertionError(what + "".join(f"\n{d}" for d in details))


def query(number, place, files, tables=TABLES):
    """A query of TPC-H over files: its text, and where its tables are."""
    text = (QUERIES / f"q{number:02}.sql").read_text()
    return [text, *(word for table in tables for word in ("--table", f"{table}={place}/{table}.{files}"))]


class Test:
    def __init__(self, args, folder):
        self.colkit, self.s3, self.folder = args.colkit, args.s3, folder
        self.bucket = folder / "store" / "bucket"
        self.bucket.mkdir(parents=True)
        self.store = Store(self.s3, folder / "store", folder / "store.log")
        self.here = Commands(self.colkit, self.store.environment)

    def make_data(self, scale):
        generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([generator, "parquet", "-s", scale, "--output-dir", self.bucket], check=True, capture_output=True)
        for table in TABLES:
            self.here.ok("convert", self.bucket / f"{table}.parquet", self.bucket / f"{table}.lance", "--drop-metadata")
        for table in ["lineitem", "part"]:
            source = self.bucket / f"{table}.parquet"
            casts = ", ".join(f"{c}::float64 as {c}" for c in DECIMALS[table])
            others = ", ".join(DECIMALS[table])
            self.here.ok("convert", source, self.bucket / f"{table}.csv", "--drop-metadata")
            self.here.ok("pack", self.bucket / f"{table}.csv", self.bucket / f"{table}.at1")
            (self.bucket / f"{table}.csv").unlink()
            self.here.ok("convert", source, self.bucket / f"{table}.gppcol", "--drop-metadata", "--types", "lossy",
                         "--nulls", "fill", "--select", f"* except ({others}), {casts}")

    # Each test below has the cluster, and a command that finds the store.

    def tpch(self, cluster):
        for number in range(1, 23):
            expected = self.here.rows(*query(number, self.bucket, "lance"))
            found = self.here.rows(*query(number, "s3://bucket", "lance"), "--cluster", cluster.url)
            check(f"query {number}", alike(expected, found), expected[:5], found[:5])
        for number, needed in SINGLE.items():
            for files in OTHERS:
                expected = self.here.rows(*query(number, self.bucket, files, needed))
                found = self.here.rows(*query(number, "s3://bucket", files, needed), "--cluster", cluster.url)
                check(f"query {number} over {files}", alike(expected, found), expected[:5], found[:5])

    def every_row_once(self, cluster):
        """Files that several tasks share, and several files, of every format."""
        source = self.folder / "numbers.csv"
        with source.open("w") as out:
            out.write("k,word\n")
            out.writelines(f"{k},w{k % 7}\n" for k in range(200_000))
        for extension in ["lance", "at1", "gppcol", "cff", "colfile", "parquet", "arrow", "csv", "ndjson"]:
            folder = self.bucket / f"numbers-{extension}"
            folder.mkdir()
            for part in range(3):
                target = folder / f"part-{part}.{extension}"
                if extension == "at1":
                    self.here.ok("pack", source, target)
                else:
                    self.here.ok("convert", source, target)
            one, all_of_them = f"s3://bucket/{folder.name}/part-0.{extension}", f"s3://bucket/{folder.name}/"
            for place, times in [(one, 1), (all_of_them, 3)]:
                sql = f"SELECT count(k), sum(k), count(DISTINCT word), min(k), max(k) FROM '{place}'"
                expected = [str(200_000 * times), str(19_999_900_000 * times), "7", "0", "199999"]
                for words in [(), ("--cluster", cluster.url)]:
                    found = self.here.rows(sql, *words)[1]
                    check(f"{place} {words}", found == expected, found, expected)
                rows = self.here.rows(f"SELECT k FROM '{place}' WHERE k % 50000 = 7 ORDER BY k", "--cluster", cluster.url)
                check(place, [int(r[0]) for r in rows[1:]] == sorted([7, 50007, 100007, 150007] * times), rows)

    def partitions(self, cluster):
        """Folders whose names are columns, and files with options."""
        for year in [2023, 2024, 2025]:
            folder = self.bucket / "years" / f"year={year}"
            folder.mkdir(parents=True)
            source = self.folder / "year.csv"
            source.write_text("k,v\n" + "".join(f"{k},{year}.{k}\n" for k in range(1000)))
            self.here.ok("convert", source, folder / "part.lance")
        sql = "SELECT year, count(*), sum(k), max(v) FROM 's3://bucket/years/' WHERE year <> '2024' GROUP BY year ORDER BY year"
        check("years", self.here.rows(sql) == self.here.rows(sql, "--cluster", cluster.url))
        (self.bucket / "semicolons.csv").write_text("a;b\n" + "".join(f"{k};{k},5\n" for k in range(1000)))
        for sql, words in [
            ("SELECT sum(a), sum(b) FROM csv('s3://bucket/semicolons.csv', delimiter => ';', decimal => ',')", []),
            ("SELECT sum(a), sum(b) FROM 's3://bucket/semicolons.csv'", ["--delimiter", ";", "--decimal", ","]),
            ("SELECT filename, count(*) FROM csv('s3://bucket/semicol*.csv', filename => true) GROUP BY 1", ["--delimiter", ";"]),
        ]:
            expected, found = self.here.rows(sql, *words), self.here.rows(sql, *words, "--cluster", cluster.url)
            check(sql, expected == found, expected, found)
        # What has no tables, and what is about this session.
        for sql in ["SELECT 1 + 1 AS two", "SHOW TABLES", "SELECT * FROM 's3://bucket/semicolons.csv' WHERE false"]:
            check(sql, self.here.rows(sql) == self.here.rows(sql, "--cluster", cluster.url))

    def bytes_read(self, cluster):
        """Filters and projections arrive: no more is read of files than without a cluster."""
        for sql in [
            "SELECT sum(l_extendedprice) FROM 's3://bucket/lineitem.lance' WHERE l_orderkey < 1000",
            "SELECT count(*), sum(l_discount) FROM 's3://bucket/lineitem.lance' WHERE l_quantity > 49",
            "SELECT sum(l_tax) FROM 's3://bucket/lineitem.parquet' WHERE l_orderkey BETWEEN 5000 AND 6000",
        ]:
            costs, logged = [], []
            for words in [("--threads", "3"), ("--cluster", cluster.url)]:
                before = len(self.store.lines())
                answer = json.loads(self.here.ok("sql", sql, "--json", *words).stdout)
                lines = [line.split() for line in self.store.lines()[before:]]
                logged.append(sum(int(line[4]) for line in lines if line[0] == "GET" and "list-type" not in line[1]))
                costs.append(answer)
            here, there = costs
            check(sql, here["rows"] == there["rows"], here["rows"], there["rows"])
            # What a process has read about pages, it need not read again for the next partition or query, but another process
            # has to.
            check(sql, math.isclose(here["bytes_read"], there["bytes_read"], rel_tol=0.25), here, there)
            check(sql, there["bytes_read"] < 0.3 * (self.bucket / sql.split("bucket/")[1].split("'")[0]).stat().st_size, there)
            stages, executors = there["cluster"]["stages"], there["cluster"]["executors"]
            check(sql, len(stages) >= 1 and all(s["tasks"] >= 1 and s["retried"] == 0 for s in stages), stages)
            check(sql, sum(e["bytes_read"] for e in executors) == there["bytes_read"], executors)
            # What the store says: the rest is footers, which each process reads for itself.
            check(sql, logged[1] >= there["bytes_read"], logged, there["bytes_read"])
            print(f"    read: {here['bytes_read']:,} bytes here, {there['bytes_read']:,} by the cluster; with footers the store sent {logged[0]:,} here and {logged[1]:,} to the cluster")
        told = self.here.ok("sql", sql, "--explain", "--cluster", cluster.url).stderr
        check("explain", "stage 0" in told and "task" in told and "127.0.0.1:" in told, told)

    def conversions(self, cluster):
        folder = self.bucket / "parts"
        folder.mkdir()
        for part in range(8):
            (folder / f"part-{part}.csv").write_text("k,v\n" + "".join(f"{k},x{k}\n" for k in range(part, 20_000, 8)))
        done = self.here.ok("convert", "--cluster", cluster.url, "--json", "s3://bucket/parts/part-*.csv", "s3://bucket/out/{}.lance")
        summary = json.loads(done.stdout)
        check("convert", summary["files"] == 8 and summary["rows"] == 20_000, summary)
        check("convert", sorted(f.name for f in (self.bucket / "out").iterdir()) == [f"part-{i}.lance" for i in range(8)])
        rows = self.here.rows("SELECT count(*), sum(k), count(DISTINCT v) FROM 's3://bucket/out/'", "--cluster", cluster.url)
        check("convert", rows[1] == ["20000", str(sum(range(20_000))), "20000"], rows)
        # What is there stays there, and options are those of the command.
        again = self.here.run("convert", "--cluster", cluster.url, "s3://bucket/parts/part-*.csv", "s3://bucket/out/{}.lance")
        check("convert again", again.returncode == 2 and "already" in again.stderr, again.stderr)
        self.here.ok("convert", "--cluster", cluster.url, "s3://bucket/parts/part-0.csv", "s3://bucket/few/{}.parquet",
                     "--where", "k < 100", "--select", "v as name", "--compression", "snappy")
        check("options", self.here.rows("SELECT count(name) FROM 's3://bucket/few/part-0.parquet'")[1] == ["13"])
        # One that fails leaves no file behind.
        (folder / "bad.csv").write_text('k,v\n1,"x\n')
        bad = self.here.run("convert", "--cluster", cluster.url, "s3://bucket/parts/bad.csv", "s3://bucket/bad/{}.lance")
        check("bad", bad.returncode == 1 and "bad.csv" in bad.stderr, bad.stderr)
        check("bad", not list((self.bucket / "bad").glob("*")) if (self.bucket / "bad").exists() else True)

    def refusals(self, cluster):
        """What must not work, and says why."""
        secret = self.folder / "secret.csv"
        secret.write_text("a\n1\n")
        for words, told in [
            (["sql", f"SELECT * FROM '{secret}'", "--cluster", cluster.url], "not given the folder"),
            (["convert", secret, "s3://bucket/stolen/{}.lance", "--cluster", cluster.url], "not given the folder"),
            (["convert", "s3://bucket/nation.lance", f"{self.folder}/{{}}.csv", "--cluster", cluster.url],
             "not given the folder"),
            (["convert", "s3://bucket/nation.lance", "s3://bucket/all.lance", "--cluster", cluster.url], "{}"),
            (["sql", "SELECT * FROM '-'", "--cluster", cluster.url], "standard input"),
            (["sql", "CREATE TABLE t AS SELECT 1 AS a; SELECT * FROM t", "--cluster", cluster.url], "CREATE TABLE"),
            (["sql", "SELECT 1", "--cluster", "127.0.0.1:1"], "df://"),
            (["sql", "SELECT 1", "--cluster", f"df://127.0.0.1:{free_ports(1)[0]}"], "no scheduler answers"),
            (["sql", "SELECT * FROM 's3://bucket/missing.lance'", "--cluster", cluster.url], "missing.lance"),
            (["sql", "SELECT 1/0 FROM 's3://bucket/nation.lance'", "--cluster", cluster.url], "zero"),
            (["cluster", "scheduler", "--listen", "0.0.0.0:0"], "--allow-network"),
            (["cluster", "executor", "--scheduler", cluster.url, "--listen", "0.0.0.0:1"], "--allow-network"),
        ]:
            done = self.here.run(*words)
            check(f"{words}", done.returncode in (1, 2) and told in done.stderr, done.returncode, done.stderr)
        check("stolen", not (self.bucket / "stolen").exists())
        status = self.here.ok("cluster", "status", cluster.url).stdout
        check("status", status.count("1 core") == 3, status)
        for path, code in [("/healthz", 200), ("/readyz", 200)]:
            with urllib.request.urlopen(f"http://127.0.0.1:{cluster.port}{path}") as answer:
                check(path, answer.status == code)

    def slow_query(self):
        """One that takes a while, with stages that depend on each other."""
        return ("SELECT a.l_suppkey, count(*) AS n, sum(b.l_extendedprice) AS total FROM 's3://bucket/lineitem.lance' a "
                "JOIN 's3://bucket/lineitem.lance' b ON a.l_orderkey = b.l_orderkey GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT 20")

    def lost_executor(self, cluster):
        sql = self.slow_query()
        expected = self.here.rows(sql)
        began = time.time()
        check("before", alike(expected, self.here.rows(sql, "--cluster", cluster.url)))
        whole = time.time() - began
        for share in [0.3, 0.6]:
            victim = cluster.executors.pop()
            killer = threading.Timer(max(0.3, share * whole), victim.kill)
            killer.start()
            done = self.here.run("sql", sql, "--as", "csv", "--cluster", cluster.url)
            killer.join()
            victim.wait()
            if done.returncode == 0:
                rows = list(csv.reader(io.StringIO(done.stdout)))
                check("rows after a loss", alike(expected, rows), expected[:3], rows[:3])
                print(f"    killed after {share:.0%}: the right answer")
            else:
                check("a clear error", done.returncode == 1 and done.stdout == "" and done.stderr.startswith("error"), done.stderr)
                print(f"    killed after {share:.0%}: {done.stderr.strip()[:160]}")
            # Those that are left still answer.
            check("after a loss", alike(expected, self.here.rows(sql, "--cluster", cluster.url)))

    def lost_conversion(self, cluster):
        folder = self.bucket / "many"
        folder.mkdir()
        for part in range(12):
            (folder / f"part-{part:02}.csv").write_text("k,v\n" + "".join(f"{k},x{k}\n" for k in range(part * 30_000, part * 30_000 + 30_000)))
        victim = cluster.executors.pop()
        words = ["convert", "--cluster", cluster.url, "--json", "s3://bucket/many/part-*.csv", "s3://bucket/converted/{}.lance"]
        process = subprocess.Popen([self.colkit, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.here.environment)
        for _ in range(600):
            if (self.bucket / "converted").exists() and any((self.bucket / "converted").glob("*.lance")):
                break
            time.sleep(0.02)
        victim.kill()
        victim.wait()
        out, err = process.communicate(timeout=240)
        there = sorted((self.bucket / "converted").glob("*"))
        for file in there:
            check(f"{file.name} is whole", self.here.run("verify", file).returncode == 0)
        if process.returncode == 0:
            check("all parts", [f.name for f in there] == [f"part-{i:02}.lance" for i in range(12)], there)
            summary = json.loads(out)
            check("rows", summary["rows"] == 360_000 and summary["files"] == 12, summary)
            rows = self.here.rows("SELECT count(*), sum(k), count(DISTINCT k) FROM 's3://bucket/converted/'")
            check("rows", rows[1] == ["360000", str(sum(range(360_000))), "360000"], rows)
            print("    killed in a conversion: all rows once")
        else:
            check("a clear error", '"error"' in err, err)
            print(f"    killed in a conversion: {err.strip()[:160]}")

    def endless(self):
        """A query that takes a minute or more. It can be stopped between two batches of what it reads."""
        few = "(SELECT l_tax FROM 's3://bucket/lineitem.lance' LIMIT 1000)"
        return f"SELECT sum(a.l_tax * b.l_tax) FROM 's3://bucket/lineitem.lance' a CROSS JOIN {few} b"

    def ctrl_c(self, cluster):
        """Ctrl-C ends a query everywhere: those that come next find the executors free."""
        process = subprocess.Popen([self.colkit, "sql", self.endless(), "--cluster", cluster.url], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.here.environment)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        began = time.time()
        check("it was stopped", process.returncode == 130 and out == "", process.returncode, err)
        done = self.here.ok("sql", "SELECT sum(n_nationkey) FROM 's3://bucket/nation.lance'", "--cluster", cluster.url, timeout=120)
        check("the next query", done.stdout.split()[1] == "300", done.stdout)
        print(f"    the next query ended after {time.time() - began:.1f} s")

    def lost_scheduler(self, cluster):
        process = subprocess.Popen([self.colkit, "sql", self.endless(), "--cluster", cluster.url], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.here.environment)
        time.sleep(2)
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        out, err = process.communicate(timeout=60)
        for executor in cluster.executors:
            executor.kill()
        check("the scheduler is gone", process.returncode == 1 and out == "" and "scheduler" in err, process.returncode, out, err)
        print(f"    {err.strip()[:160]}")

    def certificates(self, _):
        """Connections with certificates: those who have none are turned away."""
        if not shutil.which("openssl") and os.environ.get("INSTALL") == "1" and shutil.which("apt-get"):
            subprocess.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends openssl", shell=True,
                           capture_output=True)
        if not shutil.which("openssl"):
            subprocess.run([HERE / "skip.sh", "certificates", "openssl is not installed, or INSTALL=1"], check=True)
            return
        folder = self.folder / "tls"
        folder.mkdir()

        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

        for authority in ["ca", "other"]:
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={authority}",
                    "-keyout", f"{authority}.key", "-out", f"{authority}.crt")
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        for who, authority in [("member", "ca"), ("stranger", "other")]:
            (folder / who).mkdir()
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={who}", "-keyout", f"{who}/key.pem", "-out", f"{who}.csr")
            openssl("x509", "-req", "-in", f"{who}.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial",
                    "-days", "2", "-extfile", "names", "-out", f"{who}/cert.pem")
            (folder / who / "ca.pem").write_bytes((folder / "ca.crt").read_bytes())
        member = str(folder / "member")
        with Cluster(self.colkit, self.store, self.folder / "secret", tls=member) as cluster:
            expected = self.here.rows(*query(5, self.bucket, "lance"))
            words = query(5, "s3://bucket", "lance")
            found = self.here.rows(*words, "--cluster", cluster.url, "--cluster-tls", member)
            check("with certificates", alike(expected, found), expected, found)
            self.here.ok("convert", "--cluster", cluster.url, "--cluster-tls", member, "s3://bucket/nation.lance", "s3://bucket/n/{}.csv")
            for shown in [[], ["--cluster-tls", str(folder / "stranger")]]:
                done = self.here.run("sql", *words, "--cluster", cluster.url, *shown)
                check(f"turned away {shown}", done.returncode == 1 and "no scheduler answers" in done.stderr, done.stderr)

    def stops(self, cluster):
        """Asked to end, an executor lets its task end, and the query does not notice."""
        sql = self.slow_query()
        expected = self.here.rows(sql)
        leaving = cluster.executors.pop()
        threading.Timer(0.5, lambda: leaving.send_signal(signal.SIGTERM)).start()
        check("rows", alike(expected, self.here.rows(sql, "--cluster", cluster.url)))
        check("it ends", leaving.wait(40) == 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("colkit", type=pathlib.Path)
    parser.add_argument("s3", type=pathlib.Path)
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--only", action="append")
    args = parser.parse_args()
    args.colkit, args.s3 = args.colkit.resolve(), args.s3.resolve()
    with tempfile.TemporaryDirectory() as folder:
        test = Test(args, pathlib.Path(folder))
        wanted = lambda name: not args.only or name in args.only
        began = time.time()
        test.make_data(args.scale)
        print(f"data: {time.time() - began:.0f} s", flush=True)

        def run(name, cluster):
            began = time.time()
            getattr(test, name)(cluster)
            print(f"{name}: ok, {time.time() - began:.0f} s", flush=True)

        calm = ["bytes_read", "tpch", "every_row_once", "partitions", "conversions", "refusals"]
        if any(map(wanted, calm)):
            with Cluster(args.colkit, test.store, test.folder / "calm") as cluster:
                for name in filter(wanted, calm):
                    run(name, cluster)
        for name in filter(wanted, ["lost_executor", "lost_conversion", "ctrl_c", "lost_scheduler", "stops"]):
            with Cluster(args.colkit, test.store, test.folder / name) as cluster:
                run(name, cluster)
        if wanted("certificates"):
            run("certificates", None)
        if wanted("failing_store"):
            failing = Store(args.s3, test.folder / "store", test.folder / "failing.log", fail_every=10)
            with Cluster(args.colkit, failing, test.folder / "failing") as cluster:
                began = time.time()
                for number in [1, 3, 14]:
                    expected = test.here.rows(*query(number, test.bucket, "lance"))
                    found = test.here.rows(*query(number, "s3://bucket", "lance"), "--cluster", cluster.url)
                    check(f"query {number}", alike(expected, found), expected[:3], found[:3])
                refused = sum(" 503 " in line for line in failing.lines())
                check("it failed", refused > 0)
                print(f"failing_store: ok, {refused} requests refused, {time.time() - began:.0f} s", flush=True)
            failing.close()
        test.store.close()
    print("cluster: all tests passed")


if __name__ == "__main__":
    main()
