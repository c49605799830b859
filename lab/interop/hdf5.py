"""Puts one-chunk frames into HDF5 with h5py, and reads them with hdf5plugin.

    hdf5.py FILE COUNT SEED

Prints a JSON object per line: an array, `{"shape": ..., "items": ...}`. It expects the frame of that array as a line of
hexadecimal digits. If other items are read back, the script fails with an exception.
"""

import random
import sys

import h5py
import hdf5plugin
import numpy as np

from shared import say

DTYPES = ["u1", "<i2", "<i4", "<f8", "<c16", "S5", "S300", [("a", "<i4"), ("b", "<f8"), ("c", "S3")]]


def main():
    path, count, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rng = random.Random(seed)
    expected = {}
    with h5py.File(path, "w") as file:
        for number in range(count):
            dtype = np.dtype(rng.choice(DTYPES))
            chunk = [rng.randint(1, [200, 20, 8, 4, 3, 3, 2][ndim]) for ndim in [rng.randrange(7)] for _ in range(ndim + 1)]
            grid = [rng.randint(1, 2) for _ in chunk]
            # A shape that does not fill all chunks. HDF5 stores whole chunks, but does not read the items outside the
            # shape.
            shape = [max(1, parts * items - rng.randrange(items)) for parts, items in zip(grid, chunk)]
            dataset = file.create_dataset(
                str(number), shape=shape, dtype=dtype, chunks=tuple(chunk), maxshape=(None,) * len(shape), compression=hdf5plugin.Blosc2()
            )  # fmt: skip
            expected[str(number)] = np.zeros(shape, dtype)
            for at in np.ndindex(*(-(-items // length) for items, length in zip(shape, chunk))):
                repeated = rng.choice([1, chunk[-1]])
                raw = rng.randbytes(int(np.prod(chunk)) // repeated * dtype.itemsize) * repeated
                items = np.frombuffer(raw, dtype).reshape(chunk)
                blocks = [rng.randint(1, length) for length in chunk]
                text = dtype.str if dtype.names is None else str(dtype)
                asked = {"shape": chunk, "chunkshape": chunk, "blockshape": blocks, "dtype": text, "typesize": dtype.itemsize}
                asked |= {"items": items.tobytes().hex(), "codec": rng.choice([0, 1, 2, 4, 5]), "is_stored": rng.random() < 0.3}
                asked |= {"level": 5, "split_mode": 3, "filters": [1]}
                frame = bytes.fromhex(say(asked))
                start = [position * length for position, length in zip(at, chunk)]
                dataset.id.write_direct_chunk(tuple(start), frame)
                inside = tuple(slice(first, first + length) for first, length in zip(start, chunk))
                region = expected[str(number)][inside]
                expected[str(number)][inside] = items[tuple(slice(0, length) for length in region.shape)]
    with h5py.File(path, "r") as file:
        for name, items in expected.items():
            assert file[name][()].tobytes() == items.tobytes(), f"dataset {name} of seed {seed}"


main()
