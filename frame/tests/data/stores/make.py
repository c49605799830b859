"""Writes a store whose groups have attributes, and a table with deleted rows: python-blosc2 4.14.1."""

from dataclasses import dataclass
from pathlib import Path

import blosc2
import numpy as np

HERE = Path(__file__).parent


@dataclass
class Row:
    number: int = blosc2.field(blosc2.int64())


def attributes(path):
    with blosc2.TreeStore(str(path), mode="w") as tree:
        tree["/img/level0"] = np.arange(6, dtype="u1").reshape(2, 3)
        tree.vlmeta["scale"] = [1, 2, 4]
        tree["/img"].vlmeta["unit"] = "µm"


def deleted_rows(path):
    table = blosc2.CTable(Row, [(number,) for number in range(6)], urlpath=str(path), mode="w")
    table.delete([1, 3])
    table.close()


for name, write in (("attributes.b2z", attributes), ("deleted_rows.b2z", deleted_rows)):
    path = HERE / name
    path.unlink(missing_ok=True)
    write(path)
