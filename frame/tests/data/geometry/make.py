"""Writes the files beside it: arrays with their items as NumPy holds them.

Requires blosc2 == 4.14.1 (C-Blosc2 3.3.5), numpy == 2.4.6. Run it in this directory.
"""

from pathlib import Path

import blosc2
import numpy as np

assert blosc2.__version__ == "4.14.1" and np.__version__ == "2.4.6"
HERE = Path(__file__).parent
STRUCT = np.dtype([("id", "<i4"), ("name", "S3"), ("xy", "<f4", (2,))])

# name: shape, chunks, blocks, dtype, codec
ARRAYS = {
    "d0_f8": ((), (), (), "<f8", "ZSTD"),
    "d1_i2_three_levels": ((17,), (7,), (3,), "<i2", "ZSTD"),
    "d1_u1_long_chunk": ((4,), (9,), (4,), "|u1", "LZ4"),
    "d1_S5_one_item_chunks": ((5,), (1,), (1,), "|S5", "ZSTD"),
    "d2_i4_big_endian": ((7, 5), (4, 3), (3, 2), ">i4", "LZ4"),
    "d2_u2_one_chunk": ((10, 9), (10, 9), (4, 4), "<u2", "BLOSCLZ"),
    "d2_c16_even": ((6, 4), (3, 2), (3, 1), "<c16", "ZSTD"),
    "d2_bool_wide": ((2, 33), (5, 16), (2, 5), "|b1", "ZSTD"),
    "d3_f4_awkward": ((5, 7, 6), (3, 4, 5), (2, 3, 2), "<f4", "ZSTD"),
    "d3_struct": ((3, 4, 3), (2, 3, 2), (2, 2, 1), STRUCT, "LZ4"),
    "d3_i8_empty": ((3, 0, 4), (3, 2, 2), (2, 1, 2), "<i8", "ZSTD"),
    "d4_U2": ((3, 4, 5, 3), (2, 3, 2, 2), (2, 2, 1, 2), "<U2", "ZSTD"),
    "d4_M8_ones": ((1, 9, 1, 4), (1, 4, 1, 3), (1, 3, 1, 2), "<M8[ns]", "ZSTD"),
    "d5_u2_awkward": ((3, 2, 4, 3, 5), (2, 2, 3, 2, 4), (1, 2, 2, 1, 3), "<u2", "ZSTD"),
    "d5_i1_long_chunk": ((2, 3, 2, 3, 2), (3, 2, 4, 2, 5), (2, 2, 3, 1, 2), "|i1", "BLOSCLZ"),
    "d6_u2_awkward": ((2, 3, 2, 3, 2, 3), (2, 2, 1, 3, 2, 2), (1, 2, 1, 2, 2, 1), "<u2", "ZSTD"),
}


def items(n, dtype):
    """`n` items, all different as far as the dtype allows."""
    dtype = np.dtype(dtype)
    numbers = np.arange(1, n + 1)
    if dtype.names:
        out = np.zeros(n, dtype)
        out["id"], out["name"] = numbers, numbers.astype("S3")
        out["xy"] = numbers[:, None] + [0.25, 0.5]
        return out
    if dtype.kind == "b":
        return np.random.default_rng(1).integers(0, 2, n).astype(bool)
    if dtype.kind == "U":
        return np.array([chr(0x3B1 + i % 24) + chr(0x4E00 + i) for i in range(n)], dtype)
    if dtype.kind == "c":
        return (numbers + 1j * numbers[::-1]).astype(dtype)
    return numbers.astype(dtype)


def arrays():
    for name, (shape, chunks, blocks, dtype, codec) in ARRAYS.items():
        array = items(int(np.prod(shape, dtype=int)), dtype).reshape(shape)
        cparams = {"codec": blosc2.Codec[codec], "clevel": 5, "nthreads": 1}
        path = HERE / f"{name}.b2nd"
        blosc2.asarray(array, chunks=chunks, blocks=blocks, cparams=cparams, urlpath=str(path), mode="w")
        stored = blosc2.open(str(path))
        assert (stored.shape, stored.chunks, stored.blocks) == (shape, chunks, blocks), name
        (HERE / f"{name}.items").write_bytes(array.tobytes())


arrays()
