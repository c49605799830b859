"""Writes chunks of C-Blosc2, one after the other in a file for each test that reads them.

    make.py      with blosc2==4.14.1  numpy==2.4.6

`make` in the folder above calls it.
"""

from itertools import product
from pathlib import Path

import blosc2
import numpy as np

HERE = Path(__file__).parent
CODECS = [blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.ZLIB, blosc2.Codec.ZSTD]
SPLITS = [blosc2.SplitMode.ALWAYS_SPLIT, blosc2.SplitMode.NEVER_SPLIT]
# The index entry of a chunk that consists of zeros.
ZEROS = -0x7F << 56


def write(name, chunks):
    (HERE / f"{name}.chunks").write_bytes(b"".join(chunks))


def chunk(data, typesize, codec, **options):
    return blosc2.compress2(data, typesize=typesize, codec=codec, nthreads=1, **{"clevel": 5, "filters": [blosc2.Filter.SHUFFLE], **options})


def offsets(count):
    """Scattered offsets, then zeros."""
    return np.array([number * 7919 % 225 if number < count // 2 else ZEROS for number in range(count)], "<i8")


# Chunk indexes of one block and of many blocks. The blocks of an index are split or not.
write("indexes", [
    chunk(offsets(count), 8, codec, splitmode=split, blocksize=blocksize)
    for count, codec, split, blocksize in product([100, 5000], CODECS, SPLITS, [0, 4096])
])
# For each codec, a chunk whose last block is shorter than its other blocks.
write("short_block", [chunk((np.arange(1000) // 16).astype("u1").tobytes(), 4, codec, blocksize=256) for codec in CODECS])
write("index_of_blocks", [chunk(np.array([number * 64 if number < 4 else ZEROS for number in range(2000)], "<i8"), 8, blosc2.Codec.ZSTD, splitmode=SPLITS[1], blocksize=4096)])
# Chunk indexes of sparse frames. The file numbers are not in the order of the chunks, and chunk 1 is zeros.
numbers = [np.array([ZEROS if number == 1 else count + 1 - number for number in range(count)], "<i8") for count in (1000, 1_000_000)]
write("files_of_chunks", [chunk(index, 8, blosc2.Codec.ZSTD, clevel=9) for index in numbers])
