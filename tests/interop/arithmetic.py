#!/usr/bin/env python3
"""Random integer expressions in SQL, compared with Python's exact integers: arithmetic.py COLKIT [--seed N] [--seconds S]

Every integer type, with values at and near the ends of its range. A result is exact, or an error: never another value. Expressions
are evaluated many at a time over all rows; where a row makes an expression fail, each row is asked for on its own.
"""

import argparse
import csv
import io
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TYPES = {f"{sign}{bits}": (0 if sign == "u" else -(1 << bits - 1), (1 << bits - (sign == "i")) - 1)
         for sign in "iu" for bits in (8, 16, 32, 64)}
ARROW = {name: getattr(pa, ("int" if name[0] == "i" else "uint") + name[1:])() for name in TYPES}
SQL = {"i8": "TINYINT", "i16": "SMALLINT", "i32": "INT", "i64": "BIGINT", "u8": "TINYINT UNSIGNED",
       "u16": "SMALLINT UNSIGNED", "u32": "INT UNSIGNED", "u64": "BIGINT UNSIGNED"}
ROWS = 12
EXPRESSIONS = 25


class Undefined(Exception):
    """There is no exact result: a division by zero, a negative shift, a cast that does not fit."""


def values(generator, low, high):
    near = [low, low + 1, high, high - 1, 0, 1, 2, 10]
    near += [-1, -2] if low < 0 else []
    return [generator.choice(near) if generator.random() < 0.6 else generator.randint(low, high) for _ in range(ROWS)]


def truncated(a, b):
    if b == 0:
        raise Undefined
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def fitted(value, name):
    low, high = TYPES[name]
    if not low <= value <= high:
        raise Undefined
    return value


def shifted(a, b, left):
    if b < 0 or (left and a != 0 and b > 200):
        raise Undefined
    return (a << b if a else 0) if left else a >> min(b, 200)


BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": truncated,
    "%": lambda a, b: a - b * truncated(a, b),
}


def none_if_null(function):
    return lambda *operands: None if None in operands else function(*operands)


def expression(generator, depth):
    """An expression as SQL, and as a function from a row to its value."""
    if depth == 0 or generator.random() < 0.15:
        if generator.random() < 0.75:
            name = generator.choice(list(TYPES))
            return name, lambda row: row[name]
        low, high = TYPES[generator.choice(["i8", "i32", "i64", "u64"])]
        number = generator.choice([low, high, 0, 1, -1, 3, generator.randint(low, high)])
        return (f"({number})" if number < 0 else str(number)), lambda row: number
    kind = generator.random()
    if kind < 0.7:
        sign = generator.choice(list(BINARY))
        (left, l), (right, r) = expression(generator, depth - 1), expression(generator, depth - 1)
        compute = none_if_null(BINARY[sign])
        return f"({left} {sign} {right})", lambda row: compute(l(row), r(row))
    inner, i = expression(generator, depth - 1)
    if kind < 0.78:
        negate = none_if_null(lambda a: -a)
        return f"(-({inner}))", lambda row: negate(i(row))
    if kind < 0.84:
        absolute = none_if_null(abs)
        return f"abs({inner})", lambda row: absolute(i(row))
    if kind < 0.92:
        name = generator.choice(list(TYPES))
        cast = none_if_null(lambda a: fitted(a, name))
        return f"CAST({inner} AS {SQL[name]})", lambda row: cast(i(row))
    # Only columns are shifted: decimals are not.
    name, by = generator.choice(list(TYPES)), generator.randint(0, 70)
    left = generator.random() < 0.5
    shift = none_if_null(lambda a: shifted(a, by, left))
    return f"({name} {'<<' if left else '>>'} {by})", lambda row: shift(row[name])


def exact(value, row):
    try:
        return value(row)
    except Undefined:
        return Undefined


class Tester:
    def __init__(self, colkit, folder, generator):
        self.colkit, self.folder, self.generator = colkit, folder, generator
        self.right = self.refused = self.runs = 0

    def ask(self, query):
        """The rows of a query, or None and what it said."""
        self.runs += 1
        done = subprocess.run([self.colkit, "sql", query, "--as", "csv"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode not in (0, 1, 2):
            sys.exit(f"exit code {done.returncode}: {query}\n{done.stderr}")
        if done.returncode:
            return None, done.stderr
        return list(csv.reader(io.StringIO(done.stdout)))[1:], ""

    def check(self, sql, found, expected, row):
        found = None if found == "" else int(found)
        if expected is Undefined or found != expected:
            sys.exit(f"wrong: {sql} is {found}, not {'defined' if expected is Undefined else expected}, for {row}")
        self.right += 1

    def round(self):
        columns = {name: values(self.generator, *ends) for name, ends in TYPES.items()}
        for cells in columns.values():
            if self.generator.random() < 0.3:
                cells[self.generator.randrange(ROWS)] = None
        table = pa.table({"row": pa.array(range(ROWS), pa.int64()),
                          **{name: pa.array(cells, ARROW[name]) for name, cells in columns.items()}})
        pq.write_table(table, self.folder / "t.parquet")
        rows = [{name: cells[i] for name, cells in columns.items()} for i in range(ROWS)]
        some = [expression(self.generator, self.generator.randint(1, 3)) for _ in range(EXPRESSIONS)]
        self.several(some, rows)
        self.aggregates(columns)
        self.conditions(some[:3], rows)

    def several(self, some, rows):
        """Expressions together; if one of them fails, in halves."""
        query = "SELECT " + ", ".join(f"{sql} AS x{i}" for i, (sql, _) in enumerate(some)) + " FROM 't.parquet' ORDER BY row"
        answer, _ = self.ask(query)
        if answer is not None:
            for row, cells in zip(rows, answer, strict=True):
                for (sql, value), cell in zip(some, cells, strict=True):
                    self.check(sql, cell, exact(value, row), row)
        elif len(some) > 1:
            half = len(some) // 2
            self.several(some[:half], rows)
            self.several(some[half:], rows)
        else:
            self.one(*some[0], rows)

    def one(self, sql, value, rows):
        """An expression that fails for some row, on one row: where nothing fails on the way, often enough, there is a result."""
        i = self.generator.randrange(len(rows))
        answer, _ = self.ask(f"SELECT {sql} AS x FROM 't.parquet' WHERE row = {i}")
        if answer is None:
            self.refused += 1
        else:
            self.check(sql, answer[0][0], exact(value, rows[i]), rows[i])

    def aggregates(self, columns):
        name = self.generator.choice(list(TYPES))
        there = [v for v in columns[name] if v is not None]
        for sql, expected in ((f"sum({name})", sum(there)), (f"sum(DISTINCT {name})", sum(set(there))),
                              (f"sum({name}) FILTER (WHERE {name} > 0)", sum(v for v in there if v > 0) or None)):
            answer, _ = self.ask(f"SELECT {sql} AS x FROM 't.parquet'")
            if answer is None:
                self.refused += 1
            else:
                self.check(sql, answer[0][0], expected, columns[name])

    def conditions(self, some, rows):
        for sql, value in some:
            answer, _ = self.ask(f"SELECT row FROM 't.parquet' WHERE {sql} > 0 ORDER BY row")
            if answer is None:
                self.refused += 1
                continue
            expected = [exact(value, row) for row in rows]
            if Undefined in expected:
                sys.exit(f"wrong: WHERE {sql} > 0 gives rows, and is not defined for all")
            wanted = [str(i) for i, v in enumerate(expected) if v is not None and v > 0]
            if [cells[0] for cells in answer] != wanted:
                sys.exit(f"wrong: WHERE {sql} > 0 gives {answer}, not {wanted}")
            self.right += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("colkit")
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(str(Path(args.colkit).resolve()), Path(folder), random.Random(args.seed))
        while time.monotonic() < end:
            tester.round()
    if tester.right < 100:
        sys.exit(f"only {tester.right} results were compared")
    print(f"arithmetic: {tester.right} exact results, {tester.refused} refused, in {tester.runs} queries (seed {args.seed})")


if __name__ == "__main__":
    main()
