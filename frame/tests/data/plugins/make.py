"""Writes a small array for each codec and filter of C-Blosc2's plugins that `b2nd-frame` can undo.

    make.py      with blosc2==4.14.1  numpy==2.4.6

`make` in the folder above calls it.
"""

from pathlib import Path

import blosc2
import numpy as np

HERE = Path(__file__).parent
NOTHING = [blosc2.Filter.NOFILTER]


def write(name, data, **cparams):
    path = HERE / f"{name}.b2nd"
    path.unlink(missing_ok=True)
    cparams["nthreads"] = 1
    blosc2.asarray(data, chunks=(8, 12), blocks=(8, 8), urlpath=str(path), cparams=cparams)


rows, columns = np.mgrid[0:10, 0:12]
numbers = (rows * 100 + columns).astype("<i4")
small = (rows + columns // 4).astype("|u1")

write("bytedelta", numbers, filters=[blosc2.Filter.SHUFFLE, blosc2.Filter.BYTEDELTA], filters_meta=[0, 4])
write("int_trunc", numbers << 16, filters=[blosc2.Filter.INT_TRUNC], filters_meta=[20])
write("ndcell", numbers, filters=[blosc2.Filter.NDCELL], filters_meta=[4])
write("ndmean", numbers.astype("<f4"), filters=[blosc2.Filter.NDMEAN], filters_meta=[4])
write("ndlz", small, codec=blosc2.Codec.NDLZ, codec_meta=4, filters=NOTHING, splitmode=blosc2.SplitMode.NEVER_SPLIT)
