"""Writes random arrays and super-chunks, and prints the values of python-blosc2's iterchunks_info for their chunks.

    chunks.py FOLDER COUNT SEED

Prints a JSON object per line. It has the path, the kind, lengths and place of each chunk, and the numbers of the chunks that cannot be
read. If a sparse frame can be read, the script also makes a copy without one of the chunk files. `without` has the path of the copy, and
the numbers of its chunks that cannot be read.
"""

import json
import os
import random
import shutil
import struct
import sys
from pathlib import Path

import blosc2
import numpy as np

import arrays

KINDS = {
    blosc2.SpecialValue.NOT_SPECIAL: "stored",
    blosc2.SpecialValue.ZERO: "zeros",
    blosc2.SpecialValue.NAN: "nan",
    blosc2.SpecialValue.VALUE: "value",
    blosc2.SpecialValue.UNINIT: "uninitialized",
}
INTEGER = np.dtype("<i4")


def array(path, rng, contiguous):
    dtype = rng.choice([np.dtype("<f8"), arrays.dtype_of(rng), arrays.dtype_of(rng)])
    result, _ = arrays.write(path, rng, dtype, contiguous, [*arrays.KINDS, "uninit", "nans", "nans"])
    for _ in range(rng.randrange(4) if result.size else 0):
        index = tuple(slice(start := rng.randrange(items), rng.randint(start + 1, items)) for items in result.shape)
        shape = [part.stop - part.start for part in index]
        result[index] = arrays.items(rng, shape, result.dtype).reshape(shape)
    if rng.random() < 0.2:
        # The new shape has more chunks, fewer chunks, or none.
        result.resize([rng.randrange(items + 2 * chunk) for items, chunk in zip(result.shape, result.chunks)])


def super_chunk(path, rng, contiguous):
    size = rng.choice([100, 4000, 40000])
    schunk = blosc2.SChunk(chunksize=4 * size, contiguous=contiguous, urlpath=path, cparams={"typesize": 4, **arrays.cparams(rng, INTEGER)})
    for _ in range(rng.randrange(20)):
        where = rng.randrange(schunk.nchunks) if schunk.nchunks else None
        operation = rng.choice(["append", "append", "insert", "update", "delete"])
        data = arrays.items(rng, [size], INTEGER)
        if operation == "append" or where is None:
            schunk.append_data(data)
        elif operation == "insert":
            schunk.insert_data(where, data, True)
        elif operation == "update":
            schunk.update_data(where, data, True)
        else:
            schunk.delete_chunk(where)


def many(path, rng, contiguous):
    schunk = blosc2.SChunk(chunksize=16, contiguous=True, urlpath=path, cparams={"typesize": 4})
    # There are at most 20,000 chunks, because Python takes a long time for each chunk. The index of 20,000 chunks is
    # already read in several pieces.
    schunk.fill_special(4 * rng.choice([1000, 1500, 2000, 20000]), rng.choice([blosc2.SpecialValue.ZERO, blosc2.SpecialValue.UNINIT]))
    for _ in range(rng.randrange(40)):
        schunk.update_data(rng.randrange(schunk.nchunks), arrays.items(rng, [4], INTEGER), True)


def any_length(path, rng, contiguous):
    schunk = blosc2.SChunk(chunksize=-1, contiguous=contiguous, urlpath=path, cparams={"typesize": 1, **arrays.cparams(rng, INTEGER)})
    for _ in range(rng.randint(2, 12)):
        schunk.append_data(rng.choice([rng.randbytes, lambda n: b"ab" * n])(rng.randint(10, 9000)))


def told(path):
    # The variable `opened` keeps the array alive, because the super-chunk of an array cannot be used after the array is
    # freed.
    opened = blosc2.open(path, mode="r")
    schunk = getattr(opened, "schunk", opened)
    for info in schunk.iterchunks_info():
        lazy = info.lazychunk
        nbytes, blocksize, cbytes = struct.unpack("<iii", lazy[4:16])
        chunk = {"kind": KINDS[info.special], "nbytes": nbytes}
        if chunk["kind"] in ("stored", "value"):
            chunk["cbytes"] = cbytes
        if chunk["kind"] == "stored":
            blocks = blocksize if lazy[30] & 1 else -(-nbytes // blocksize)
            number, offset = struct.unpack("<iq", lazy[-12 - 4 * blocks :][:12])
            chunk["place"] = number if os.path.isdir(path) else offset
        yield chunk


def unread(path):
    """The numbers of the chunks that python-blosc2 cannot decompress, or "all" if it cannot open the frame."""
    try:
        opened = blosc2.open(path, mode="r")
    except RuntimeError:
        yield "all"
        return
    schunk = getattr(opened, "schunk", opened)
    for number in range(schunk.nchunks):
        try:
            schunk.decompress_chunk(number)
        except RuntimeError:
            yield number


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    made = 0
    for number in range(2 * count):
        path = os.path.join(folder, f"{number}.b2nd")
        contiguous = rng.random() < 0.7
        make = rng.choice([array, array, array, super_chunk, super_chunk, any_length, many])
        try:
            make(path, rng, contiguous)
        except arrays.FAILURES as error:
            print(f"{number} of seed {seed}: {error}", file=sys.stderr)
            continue
        line = {"path": path, "chunks": list(told(path)), "unread": list(unread(path))}
        if not (contiguous or line["unread"]) and (files := sorted(Path(path).glob("*.chunk"))):
            copy = os.path.join(folder, f"{number} without.b2nd")
            shutil.copytree(path, copy, ignore=shutil.ignore_patterns(rng.choice(files).name))
            line["without"] = {"path": copy, "unread": list(unread(copy))}
        print(json.dumps(line))
        made += 1
        if made == count:
            break


main()
