"""Writes a small array for each filter of C-Blosc2's plugins that `b2nd-frame` can undo.

    make.py      with blosc2==4.14.1  numpy==2.4.6

`make` in the folder above calls it.
"""

from pathlib import Path

import blosc2
import numpy as np

HERE = Path(__file__).parent


def write(name, data, **cparams):
    path = HERE / f"{name}.b2nd"
    path.unlink(missing_ok=True)
    cparams["nthreads"] = 1
    blosc2.asarray(data, chunks=(8, 12), blocks=(8, 8), urlpath=str(path), cparams=cparams)


rows, columns = np.mgrid[0:10, 0:12]
numbers = (rows * 100 + columns).astype("<i4")

write("bytedelta", numbers, filters=[blosc2.Filter.SHUFFLE, blosc2.Filter.BYTEDELTA], filters_meta=[0, 4])
write("int_trunc", numbers << 16, filters=[blosc2.Filter.INT_TRUNC], filters_meta=[20])
