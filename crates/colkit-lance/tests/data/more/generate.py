"""Files that the other folders lack. Each was written by the release in its name.

    python generate.py        # with that release of pylance installed
"""
import glob
import os
import shutil
import tempfile

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

OUT = os.path.dirname(os.path.abspath(__file__))
RELEASE = lance.__version__.replace(".", "_")


def keep(name, source, table):
    shutil.copy(source, os.path.join(OUT, f"{name}_{RELEASE}.lance"))
    with pa.OSFile(os.path.join(OUT, f"{name}_{RELEASE}.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as w:
        w.write_table(table)


with tempfile.TemporaryDirectory() as folder:
    # Blobs described by a packed struct, as the dataset writer of 2.2 stores them: members without field ids.
    blobs = lance.blob_array([b"hello", None, b"x" * 10])
    schema = pa.schema([pa.field("a", pa.int64()), lance.blob_field("b"), pa.field("c", pa.int64())])
    table = pa.table([pa.array([1, 2, 3]), blobs, pa.array([7, 8, 9])], schema=schema)
    data = lance.write_dataset(table, os.path.join(folder, "blobs"), data_storage_version="2.2")
    read = data.to_table()
    # 4.0.0 reads the null as zeros, although it is in the file.
    struct = read.column("b").combine_chunks()
    struct = pa.StructArray.from_arrays(struct.flatten(), fields=list(struct.type), mask=pa.array([False, True, False]))
    read = read.set_column(1, read.schema.field("b"), struct)
    keep("blob_v2", glob.glob(os.path.join(folder, "blobs/data/*.lance"))[0], read)
    if not RELEASE.startswith("4_"):
        # Booleans in full-zip pages become bytes; 4.0.0 cannot write them.
        fields = [pa.field("b", pa.bool_(), metadata={"lance-encoding:structural-encoding": "fullzip"})]
        table = pa.table([pa.array([True, None, False, True] * 50)], schema=pa.schema(fields))
        path = os.path.join(folder, "bools.lance")
        with LanceFileWriter(path, table.schema, version="2.2") as writer:
            writer.write_batch(table.combine_chunks())
        keep("bool_full_zip", path, LanceFileReader(path).read_all().to_table())
