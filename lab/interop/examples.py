"""Makes arrays and an HDF5 file for the programs in `examples`, and reads what they write.

    examples.py FOLDER COUNT SEED

Prints a JSON object per line: `{"path", "slice", "items"}`, a slice of an array and its bytes as hexadecimal digits;
`{"hdf5", "chunks"}`, where h5py says that chunks are; and `{"write"}`, a file to be written, with 0.5 times the number of
each item. After that it waits for a line, and reads the file.
"""

import json
import random
import sys
from pathlib import Path

import blosc2
import h5py
import hdf5plugin
import numpy as np

DTYPES = ["|u1", "<i2", ">i4", "<i8", "<f4", "<f8", "<c16", "|S5", "|S300", "<U3", [("a", "<i4"), ("b", "<f8"), ("c", "S3")]]
# The codecs that blosc2-pure-rs supports.
CODECS = [blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB, blosc2.Codec.ZSTD]
FILTERS = [[], [blosc2.Filter.SHUFFLE], [blosc2.Filter.BITSHUFFLE]]


def array(rng, path):
    """A random array in a file, some of it with one value."""
    ndim = rng.randrange(5)
    shape = [rng.randint(0 if rng.random() < 0.05 else 1, [0, 2000, 60, 14, 7][ndim]) for _ in range(ndim)]
    chunks = [rng.randint(1, max(1, items)) for items in shape]
    blocks = [rng.randint(1, items) for items in chunks]
    dtype = np.dtype(rng.choice(DTYPES))
    if dtype.kind == "V" or rng.random() < 0.8:
        made = np.frombuffer(rng.randbytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)
        if dtype.kind == "U":
            made = np.array([rng.choice("añ名") * 2 for _ in range(made.size)], dtype).reshape(shape)
    else:
        made = None
    how = {
        "urlpath": str(path), "mode": "w", "chunks": chunks, "blocks": blocks, "contiguous": rng.random() < 0.7,
        "cparams": {"codec": rng.choice(CODECS), "clevel": rng.randrange(10), "filters": rng.choice(FILTERS) or [blosc2.Filter.NOFILTER]},
    }  # fmt: skip
    if made is not None and rng.random() < 0.3 and made.size:
        # Chunks that are never stored between chunks that are.
        array = blosc2.zeros(shape, dtype=dtype, **how)
        box = tuple(slice(0, rng.randint(1, items)) for items in shape)
        array[box] = made[box].copy()
    elif made is not None:
        array = blosc2.asarray(made, **how)
    elif dtype in (np.dtype("<f4"), np.dtype("<f8")):
        array = blosc2.full(shape, np.nan, dtype=dtype, **how)
    else:
        array = blosc2.zeros(shape, dtype=dtype, **how)
    return array


def main():
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rng = random.Random(seed)
    for number in range(count):
        path = folder / f"{number}.b2nd"
        here = array(rng, path)
        cuts = [sorted(rng.choices(range(items + 1), k=2)) for items in here.shape]
        items = here[tuple(slice(*cut) for cut in cuts)]
        print(json.dumps({"path": str(path), "slice": cuts, "items": np.asarray(items, here.dtype).tobytes().hex()}), flush=True)

    path, chunks = folder / "data.h5", []
    with h5py.File(path, "w") as file:
        for name, items in [("plane", np.arange(600, dtype="<i4").reshape(20, 30)), ("line", np.arange(50.0))]:
            dataset = file.create_dataset(name, data=items, chunks=tuple(-(-length // 2) for length in items.shape), compression=hdf5plugin.Blosc2())
            for at in range(dataset.id.get_num_chunks()):
                info = dataset.id.get_chunk_info(at)
                chunks.append({"offset": info.byte_offset, "size": info.size, "shape": dataset.chunks})
    print(json.dumps({"hdf5": str(path), "chunks": chunks}), flush=True)

    path = folder / "written.b2nd"
    print(json.dumps({"write": str(path), "shape": [520, 310]}), flush=True)
    sys.stdin.readline()
    written = blosc2.open(str(path))
    assert written.chunks == (250, 250) and written.blocks == (50, 50), written.info
    assert np.array_equal(written[:], np.arange(520 * 310).reshape(520, 310) / 2)
    assert written.vlmeta["unit"] == "metre"
    print(json.dumps({"verified": True}), flush=True)


main()
