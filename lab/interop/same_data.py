"""Opens changed and rewritten arrays with python-blosc2, and prints as JSON whether their data is right.

The jobs are JSON on standard input: an original file, the changed one, and the expected shape, chunk shape and block
shape of the changed one. The data is right if it equals the data of the original's chunks. The chunks are read here
without the metalayers, and joined by NumPy. For very large arrays, only the first and the last chunks are compared.
"""

import itertools
import json
import sys
from math import ceil, prod
from pathlib import Path

import blosc2
import numpy as np

# Bits of an entry of the chunk index that mark a constant chunk: zeros, NaN, or uninitialized.
ZERO, NAN, UNINIT = 56, 57, 58

# The number of chunks to compare at each end of an array.
AT_EACH_END = 500


class Frame:
    """Reads the chunks of a frame, without its metalayers."""

    def __init__(self, path):
        self.folder = Path(path) if Path(path).is_dir() else None
        self.file = (self.folder / "chunks.b2frame" if self.folder else Path(path)).read_bytes()
        number = lambda at, length: int.from_bytes(self.file[at : at + length], "big")
        self.header_len, nbytes, cbytes, self.typesize = number(11, 4), number(30, 8), number(39, 8), number(48, 4)
        self.chunksize = number(58 if self.file[0] == 0x9E else 53, 4)
        index = decompressed(self.file, self.header_len + (0 if self.folder else cbytes)) if nbytes else b""
        self.offsets = np.frombuffer(index, "<i8")
        assert nbytes == 0 or len(self.offsets) == nbytes // self.chunksize

    def chunk(self, number):
        """Returns the decompressed data of a chunk, or None if the chunk is uninitialized."""
        offset = int(self.offsets[number])
        if offset >= 0:
            if self.folder:
                return decompressed((self.folder / f"{offset:08X}.chunk").read_bytes(), 0)
            return decompressed(self.file, self.header_len + offset)
        if offset >> ZERO & 1:
            return bytes(self.chunksize)
        if offset >> NAN & 1:
            return np.full(self.chunksize // self.typesize, np.nan, f"<f{self.typesize}").tobytes()
        assert offset >> UNINIT & 1, hex(offset)
        return None


def decompressed(file, start):
    length = int.from_bytes(file[start + 12 : start + 16], "little")
    return blosc2.decompress2(file[start : start + length])


def is_same(array, original, shape, chunkshape, blockshape):
    """Whether the items equal those of the original; None if the chunks of the original cannot be decompressed without their array."""
    frame = Frame(original)
    grid = [ceil(s / c) if c else 0 for s, c in zip(shape, chunkshape)]
    per_chunk = [ceil(c / b) if b else 0 for c, b in zip(chunkshape, blockshape)]
    item = np.dtype(f"V{frame.typesize}")
    if len(frame.offsets) != prod(grid):
        return False
    for number in range(prod(grid)):
        if AT_EACH_END <= number < prod(grid) - AT_EACH_END:
            continue
        try:
            chunk = frame.chunk(number)
        except ValueError:
            return None
        if chunk is None:
            continue
        # Joins the blocks, and crops the result to the chunk and the array.
        index = np.unravel_index(number, grid) if grid else ()
        place = tuple(slice(int(i) * c, min((int(i) + 1) * c, s)) for i, c, s in zip(index, chunkshape, shape))
        size = [part.stop - part.start for part in place]
        whole = np.zeros([h * b for h, b in zip(per_chunk, blockshape)], item)
        blocks = np.frombuffer(chunk, item).reshape([prod(per_chunk), *blockshape])
        for n, block in zip(itertools.product(*map(range, per_chunk)), blocks):
            whole[tuple(slice(i * b, (i + 1) * b) for i, b in zip(n, blockshape))] = block
        expected = whole[tuple(map(slice, size))]
        if np.asarray(array[place]).tobytes() != expected.tobytes():
            return False
    return True


def see(job):
    original, changed, *shapes = job["original"], job["changed"], job["shape"], job["chunkshape"], job["blockshape"]
    try:
        array = blosc2.open(changed, mode="r")
        if not isinstance(array, blosc2.NDArray):
            return {"type": type(array).__name__}
        same = is_same(array, original, *shapes)
    except Exception as error:
        return {"refused": str(error), "as_original": refuses(original)}
    dtype = array.dtype
    return {
        "shape": list(array.shape),
        "chunkshape": list(array.chunks),
        "blockshape": list(array.blocks),
        "dtype": str(dtype) if dtype.names or dtype.subdtype else dtype.str,
        "same": same,
    }


def refuses(path):
    """Whether python-blosc2 cannot read the original either, because it has an invalid dtype, or a program instead of data."""
    try:
        array = blosc2.open(path, mode="r")
        array[...] if isinstance(array, blosc2.NDArray) else array.decompress_chunk(0)
    except Exception:
        return True
    return False


print(json.dumps([see(job) for job in json.load(sys.stdin)]))
