"""Writes a store and a table whose objects are elsewhere: in fsspec's file system in memory, so nothing is fetched.

    pip install blosc2==4.14.1 fsspec && python make.py

Each file contains a random number, so its bytes differ in each run.
"""

import os
import tempfile
from dataclasses import dataclass

import blosc2
import fsspec
import numpy as np


@dataclass
class Row:
    number: int = blosc2.field(blosc2.int64())
    half: float = blosc2.field(blosc2.float64())


with tempfile.TemporaryDirectory() as folder:
    table, tree = os.path.join(folder, "table.b2d"), os.path.join(folder, "tree.b2z")
    with blosc2.CTable(Row, urlpath=table, mode="w") as rows:
        rows.extend([(n, n / 2) for n in range(5)])
    with blosc2.TreeStore(tree, mode="w") as store:
        store["/a"] = np.arange(10)
        store["/tab"] = blosc2.open(table)
    with open(tree, "rb") as file:
        fsspec.filesystem("memory").pipe_file("/kinds/tt.b2z", file.read())
    with blosc2.RemoteStore("memory://kinds/tt.b2z", cache_dir=os.path.join(folder, "cache")) as store:
        store.save("store.b2z")
        store["tab"].save("table.b2z")
