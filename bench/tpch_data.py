"""The eight tables of TPC-H as Parquet (by tpchgen-cli) and as .lance (by colkit), made once.

    python bench/tpch_data.py target/release/colkit bench/out/tpch-1 [SCALE]
"""

import pathlib
import subprocess
import sys

TABLES = ["nation", "region", "part", "supplier", "partsupp", "customer", "orders", "lineitem"]


def main():
    colkit, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    scale = sys.argv[3] if len(sys.argv) > 3 else "1"
    if not (folder / "lineitem.parquet").exists():
        generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([generator, "parquet", "-s", scale, "--output-dir", folder], check=True)
    for table in TABLES:
        target = folder / f"{table}.lance"
        if not target.exists():
            subprocess.run([colkit, "convert", folder / f"{table}.parquet", target, "--drop-metadata"], check=True)


if __name__ == "__main__":
    main()
