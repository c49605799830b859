"""Makes an HDF5 file for the programs in `examples`, and reads what they write.

    examples.py FOLDER

Prints a JSON object per line, and waits for a line after each: `{"hdf5", "chunks"}`, the places of chunks according to h5py; and
`{"write"}`, a file to be written. Each item in it is 0.5 times its number.
"""

import sys
from pathlib import Path

import blosc2
import h5py
import hdf5plugin
import numpy as np

from shared import say


def main(folder):
    path, chunks = folder / "data.h5", []
    with h5py.File(path, "w") as file:
        for name, items in [("plane", np.arange(600, dtype="<i4").reshape(20, 30)), ("line", np.arange(50.0))]:
            dataset = file.create_dataset(name, data=items, chunks=tuple(-(-length // 2) for length in items.shape), compression=hdf5plugin.Blosc2())
            for at in range(dataset.id.get_num_chunks()):
                info = dataset.id.get_chunk_info(at)
                chunks.append({"offset": info.byte_offset, "size": info.size, "shape": dataset.chunks})
    say({"hdf5": str(path), "chunks": chunks})

    path = folder / "written.b2nd"
    say({"write": str(path), "shape": [520, 310]})
    written = blosc2.open(str(path))
    assert written.dtype == np.float64 and written.chunks == (520, 310) and written.blocks == (52, 310), written.info
    assert np.array_equal(written[:], np.arange(520 * 310).reshape(520, 310) / 2)


main(Path(sys.argv[1]))
