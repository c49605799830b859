"""Writes the files beside it: what C-Blosc2 answers about shapes.

Requires blosc2 == 4.14.1 (C-Blosc2 3.3.5), numpy == 2.4.6.
"""

import json
import random
import struct
from pathlib import Path

import blosc2
import numpy as np

assert blosc2.__version__ == "4.14.1" and np.__version__ == "2.4.6"
HERE = Path(__file__).parent


def vector(ndim, marker, code, numbers):
    return bytes([0x90 + ndim]) + b"".join(marker + struct.pack(code, number) for number in numbers)


def vectors(shape, chunks, blocks):
    n = len(shape)
    return vector(n, b"\xd3", ">q", shape) + vector(n, b"\xd2", ">i", chunks) + vector(n, b"\xd2", ">i", blocks)


def opens(shape, chunks, blocks):
    """Whether C-Blosc2 opens an array with these shapes in its metalayer."""
    ones = (1,) * len(shape)
    frame = blosc2.zeros(ones, dtype="u1", chunks=ones, blocks=ones).to_cframe()
    before = vectors(ones, ones, ones)
    assert frame.count(before) == 1 or not shape
    try:
        blosc2.ndarray_from_cframe(frame.replace(before, vectors(shape, chunks, blocks)))
    except RuntimeError:
        return False
    return True


SHAPES = [0, 0, 1, 2, 3, 5, 7, 1000, 2**16, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 2, 2**63 - 1, -1, -(2**63)]
PARTS = [0, 0, 1, 1, 2, 3, 5, 7, 1000, 46340, 46341, 2**16, 2**16 + 1, 2**30, 2**31 - 2, 2**31 - 1, -1, -(2**31)]


# Edge cases: shapes for which the draft specification and C-Blosc2 disagree, and similar shapes.
BORDERS = [
    ((), (), ()),
    ((0,), (5,), (0,)),
    ((0,), (0,), (1,)),
    ((0,), (0,), (2**31 - 1,)),
    ((3, 0), (0, 0), (0, 0)),
    ((3, 0), (0, 2), (1, 1)),
    ((3, 0), (3, 0), (3, 0)),
    ((2**40, 2**40, 0), (1, 1, 1), (1, 1, 1)),
    ((0, 2**40, 2**40), (1, 1, 1), (1, 1, 1)),
    ((0, 0, 0), (2**16, 2**16, 0), (1, 1, 0)),
    ((0, 0, 0), (0, 2**16, 2**16), (0, 1, 1)),
    ((0, 0, 0), (0, 0, 0), (2**16, 2**16, 0)),
    ((0, 0, 0), (0, 0, 0), (0, 2**16, 2**16)),
    ((2**62, 1, 0), (1, 4, 1), (1, 1, 1)),
    ((0, 2**62, 1), (1, 1, 4), (1, 1, 1)),
    ((2**63 - 1, 0), (2, 0), (1, 0)),
    ((0, 2**63 - 1), (0, 2), (0, 1)),
    ((2**62, 1), (1, 4), (1, 1)),
    ((2**62, 1), (1, 1), (1, 4)),
    ((2**63 - 1,), (2**31 - 1,), (1,)),
    ((2**63 - 2,), (7,), (1,)),
    ((2**63 - 8,), (7,), (1,)),
    ((2, 2), (2**31 - 1, 1), (1, 2**31 - 1)),
]


def verdicts():
    """Yields [shape, chunkshape, blockshape, whether C-Blosc2 opens it]. C-Blosc2 opens half of the random arrays."""
    for border in BORDERS:
        yield [*border, opens(*border)]
    rng = random.Random(335)
    seen, wanted = set(BORDERS), {True: 100, False: 100}
    while any(wanted.values()):
        # C-Blosc2 refuses most arrays that have a negative or huge number. So for about half of the arrays that are
        # drawn, `cut` is 4 or 8, and all numbers are small.
        n, cut = rng.choice([1, 1, 2, 2, 3, 4]), rng.choice([4, 8, 14, 18])
        shape, chunks, blocks = (tuple(rng.choice(pool[:cut]) for _ in range(n)) for pool in (SHAPES, PARTS, PARTS))
        if (shape, chunks, blocks) in seen:
            continue
        seen.add((shape, chunks, blocks))
        opened = opens(shape, chunks, blocks)
        if wanted[opened]:
            wanted[opened] -= 1
            yield [shape, chunks, blocks, opened]


def resizes():
    """Yields [shape, chunkshape, blockshape, new shape, for each new chunk its old number or null]."""
    rng = random.Random(4141)
    for n in [1, 2, 3, 4] * 20:
        sizes = [0] + 4 * list(range(1, 12 - 2 * n))
        shape, new = ([rng.choice(sizes) for _ in range(n)] for _ in range(2))
        chunks = [rng.randint(1, 3) for _ in range(n)]
        blocks = [rng.randint(1, chunk) for chunk in chunks]
        array = blosc2.zeros(shape, dtype="i4", chunks=chunks, blocks=blocks)
        for number in range(array.schunk.nchunks):
            padded = np.full(array.schunk.chunkshape, number + 1, "i4")
            array.schunk.update_data(number, padded, copy=True)
        array.resize(new)
        after = []
        for number in range(array.schunk.nchunks):
            data = np.frombuffer(array.schunk.decompress_chunk(number), "i4")
            assert data.min() == data.max()
            after.append(int(data[0]) - 1 if data[0] else None)
        yield [shape, chunks, blocks, new, after]


def write(name, rows):
    (HERE / name).write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


write("opens.json", verdicts())
write("resizes.json", resizes())
