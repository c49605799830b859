"""Writes frames with a lost typesize, and reads them after a rewrite has mended it.

    lost_typesize.py write FOLDER    the frames, of which python-blosc2 reads no item, and their items as NumPy has them
    lost_typesize.py read FOLDER     fails unless all items are read
"""

import sys
from pathlib import Path

import blosc2
import numpy as np

DTYPES = {
    "S256": "S256",
    "U64": "U64",
    "U100": "U100",
    "record": [("id", "<i4"), ("text", "U100"), ("values", "<f8", (9,))],
}


def items(dtype):
    items = np.zeros((7, 11), dtype)
    for index in np.ndindex(items.shape):
        if items.dtype.names:
            items[index] = (index[0] - index[1], f"{index}" * 12, np.arange(9) / 3 + index[0])
        else:
            items[index] = f"{index}" * 10
    # Transposed, and so not contiguous in memory.
    return items.T


def main(what, folder):
    for name, dtype in DTYPES.items():
        path = folder / f"{name}.b2nd"
        expected = items(dtype)
        if what == "write":
            array = blosc2.asarray(expected, chunks=(5, 4), blocks=(2, 3))
            path.write_bytes(array.to_cframe())
            np.save(folder / f"{name}.npy", expected)
            try:
                blosc2.open(str(path))[:]
            except RuntimeError:
                continue
            sys.exit(f"{name}: the items could be read before")
        if not np.array_equal(blosc2.open(str(path))[:], np.load(folder / f"{name}.npy")):
            sys.exit(f"{name}: other items")


main(sys.argv[1], Path(sys.argv[2]))
