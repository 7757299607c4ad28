"""The contestants that live in Python: asked one thing per line on standard input (JSON), answering the same way.

Started by the program in bench/peers. A request names a `tool` and a `job`; the answer has the wall and CPU seconds of the job alone
(imports come before), the bytes that came from the disk, and the peak memory of this process. With `keep` the answer to a
question is written to that Arrow file afterwards, to be compared with the others'; with `out` the job is to write that file.
"""
import importlib
import json
import resource
import sys
import time

import pyarrow as pa

BATCH = 100_000
MODULES = {"pylance": "lance.file", "duckdb": "duckdb", "polars": "polars", "pandas": "pandas"}



# ---------------------------------------------------------------------- DuckDB

class DuckDB:
    """One connection, unless the file is to be opened anew."""

    def __init__(self):
        import duckdb
        self.duckdb = duckdb
        self.connection = self.connect()

    def connect(self):
        connection = self.duckdb.connect()
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET enable_external_file_cache = false")
        return connection

    def select(self, request, source, where="", columns="*"):
        names = request.get("columns")
        columns = ", ".join(f'"{n}"' for n in names) if names else columns
        connection = self.connect() if request.get("anew") else self.connection
        return connection.sql(f"SELECT {columns} FROM {source} {where}").to_arrow_table()

    def scan(self, request):
        return self.select(request, f"read_parquet('{request['file']}')")

    def take(self, request):
        rows = ", ".join(map(str, request["rows"]))
        source = f"read_parquet('{request['file']}', file_row_number = true)"
        where = f"WHERE file_row_number IN ({rows}) ORDER BY file_row_number"
        return self.select(request, source, where, "* EXCLUDE (file_row_number)")

    def filter(self, request):
        return self.select(request, f"'{request['file']}'", f"WHERE {request['column']} BETWEEN {request['low']} AND {request['high']}")

    query = filter

    def write(self, table, request):
        self.connection.register("source", table)
        self.connection.execute(f"COPY source TO '{request['out']}' (FORMAT parquet, COMPRESSION zstd)")

    def csv(self, request):
        self.connection.execute(f"COPY (FROM read_csv('{request['file']}')) TO '{request['out']}' (FORMAT parquet, COMPRESSION zstd)")


# ---------------------------------------------------------------------- Polars

class Polars:
    def __init__(self):
        import polars
        self.pl = polars

    def frame(self, request, **options):
        read = self.pl.scan_parquet if request["file"].endswith(".parquet") else self.pl.scan_csv
        return read(request["file"], **options)

    def arrow(self, frame, request):
        if request.get("columns"):
            frame = frame.select(request["columns"])
        return frame.collect()

    def scan(self, request):
        return self.arrow(self.frame(request), request)

    def take(self, request):
        frame = self.frame(request, row_index_name="row number")
        return frame.filter(self.pl.col("row number").is_in(request["rows"])).drop("row number").collect()

    def filter(self, request):
        wanted = self.pl.col(request["column"]).is_between(request["low"], request["high"])
        return self.arrow(self.frame(request).filter(wanted), request)

    query = filter

    def write(self, frame, request):
        frame.write_parquet(request["out"])

    def load(self, table):
        return self.pl.from_arrow(table)

    def csv(self, request):
        self.pl.scan_csv(request["file"]).sink_parquet(request["out"])


# ---------------------------------------------------------------------- pandas

class Pandas:
    def __init__(self):
        import pandas
        self.pd = pandas

    def scan(self, request):
        return self.pd.read_parquet(request["file"], columns=request.get("columns"), dtype_backend="pyarrow")

    def filter(self, request):
        bounds = [(request["column"], ">=", request["low"]), (request["column"], "<=", request["high"])]
        return self.pd.read_parquet(request["file"], columns=request["columns"], filters=bounds, dtype_backend="pyarrow")

    def query(self, request):
        frame = self.pd.read_csv(request["file"])
        return frame[frame[request["column"]].between(request["low"], request["high"])][request["columns"]]

    def write(self, frame, request):
        frame.to_parquet(request["out"])

    def load(self, table):
        return table.to_pandas(types_mapper=self.pd.ArrowDtype)

    def csv(self, request):
        self.pd.read_csv(request["file"]).to_parquet(request["out"])


# ---------------------------------------------------------------------- Lance

class Lance:
    def __init__(self):
        import lance.file
        self.file = lance.file
        self.readers = {}

    def reader(self, request):
        path = request["file"]
        if request.get("anew"):
            return self.file.LanceFileReader(path, columns=request.get("columns"))
        key = (path, tuple(request.get("columns") or ()))
        if key not in self.readers:
            self.readers[key] = self.file.LanceFileReader(path, columns=request.get("columns"))
        return self.readers[key]

    def scan(self, request):
        return self.reader(request).read_all(batch_size=32_768).to_table()

    def take(self, request):
        return self.reader(request).take_rows(request["rows"]).to_table()

    def csv(self, request):
        import pyarrow.csv
        table = pyarrow.csv.read_csv(request["file"])
        with self.file.LanceFileWriter(request["out"], table.schema, version="2.2") as writer:
            for batch in table.to_batches(BATCH):
                writer.write_batch(batch)


# ---------------------------------------------------------------------- the worker

TOOLS = {"duckdb": DuckDB, "polars": Polars, "pandas": Pandas, "pylance": Lance}


def versions(_):
    import importlib.metadata
    return {"versions": {name: importlib.metadata.version(name) for name in ["pylance", "duckdb", "polars", "pandas", "pyarrow"]}
            | {"python": sys.version.split()[0]}}


def status(path, name):
    with open(path) as f:
        return next((int(line.split()[1]) for line in f if line.startswith(name)), 0)


def page_faults():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt


def measured(work):
    disk, faults = status("/proc/self/io", "read_bytes"), page_faults()
    cpu, wall = time.process_time(), time.perf_counter()
    answer = work()
    return answer, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "faults": page_faults() - faults,
                    "disk": status("/proc/self/io", "read_bytes") - disk, "peak": status("/proc/self/status", "VmHWM") * 1024}


def keep(answer, path):
    if type(answer).__module__.startswith("polars"):
        answer = answer.to_arrow()
    elif type(answer).__module__.startswith("pandas"):
        answer = pa.Table.from_pandas(answer, preserve_index=False)
    answer = answer.replace_schema_metadata(None).combine_chunks()
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, answer.schema) as out:
        out.write_table(answer)


class Worker:
    def __init__(self):
        self.tools, self.table = {}, (None, None)

    def loaded(self, tool, name, path):
        """The table in memory, as the tool has tables; only the last one is held."""
        if self.table[0] != (name, path):
            self.table = (None, None)
            with pa.OSFile(path) as file:
                table = pa.ipc.open_file(file).read_all()
            self.table = ((name, path), tool.load(table) if hasattr(tool, "load") else table)
        return self.table[1]

    def answer(self, request):
        if request["job"] == "versions":
            return versions(request)
        name = request["tool"]
        if name not in self.tools:
            importlib.import_module(MODULES[name])
            self.tools[name] = TOOLS[name]()
        tool = self.tools[name]
        work = getattr(tool, request["job"])
        if request["job"] == "write":
            table = self.loaded(tool, name, request["table"])
            _, cost = measured(lambda: work(table, request))
            return cost
        answer, cost = measured(lambda: work(request))
        if "keep" in request:
            keep(answer, request["keep"])
        return cost


def main():
    worker = Worker()
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as why:
            answer = {"error": f"{type(why).__name__}: {why}"[:500]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
