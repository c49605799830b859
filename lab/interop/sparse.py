"""Writes sparse frames by random operations, each twice: unchanged, and with one of its chunk files deleted.

    sparse.py FOLDER COUNT

Prints a JSON list of their paths, and whether python-blosc2 reads all chunks.
"""

import json
import os
import random
import shutil
import sys

import blosc2
import numpy as np


def values(rng):
    kinds = [np.zeros(100), np.full(100, 7), np.arange(100), np.array([rng.randrange(9) for _ in range(100)])]
    return rng.choice(kinds).astype("i4")


def super_chunk(path, rng):
    schunk = blosc2.SChunk(chunksize=400, contiguous=False, urlpath=path, cparams={"typesize": 4})
    for _ in range(rng.randint(0, 20)):
        where = rng.randrange(schunk.nchunks) if schunk.nchunks else None
        operation = rng.choice(["append", "append", "insert", "update", "delete"])
        if operation == "append" or where is None:
            schunk.append_data(values(rng))
        elif operation == "insert":
            schunk.insert_data(where, values(rng), True)
        elif operation == "update":
            schunk.update_data(where, values(rng), True)
        else:
            schunk.delete_chunk(where)


def array(path, rng):
    shape = [rng.randint(0, 12) for _ in range(rng.randint(1, 3))]
    make = rng.choice([blosc2.zeros, blosc2.empty, blosc2.ones])
    items = make(shape, dtype="<i4", chunks=[3] * len(shape), blocks=[2] * len(shape), urlpath=path, contiguous=False)
    for _ in range(rng.randint(0, 8)):
        if rng.random() < 0.4:
            items.resize([rng.randint(0, 12) for _ in shape])
        else:
            part = tuple(slice(*sorted((rng.randint(0, n), rng.randint(0, n)))) for n in items.shape)
            items[part] = rng.choice([0, 1, np.arange(items[part].size, dtype="i4").reshape(items[part].shape)])


def reads(path):
    try:
        opened = blosc2.open(path, mode="r")
        schunk = getattr(opened, "schunk", opened)
        for chunk in range(schunk.nchunks):
            schunk.decompress_chunk(chunk)
    except Exception:
        return False
    return True


def main(folder, count):
    rng = random.Random(1)
    paths = []
    for number in range(count):
        path = os.path.join(folder, f"{number}.b2nd")
        rng.choice([super_chunk, array])(path, rng)
        paths.append(path)
        files = sorted(name for name in os.listdir(path) if name.endswith(".chunk"))
        if files:
            copy = os.path.join(folder, f"{number} without.b2nd")
            shutil.copytree(path, copy)
            os.remove(os.path.join(copy, rng.choice(files)))
            paths.append(copy)
    print(json.dumps([{"path": path, "reads": reads(path)} for path in paths]))


main(sys.argv[1], int(sys.argv[2]))
