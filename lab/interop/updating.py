"""Changes arrays, in turns with `ArrayUpdate`. After each step, both sides read the data, which is compared.

    updating.py FOLDER COUNT SEED

Prints a JSON object per line, and waits for a line after each. `{"path", "changes"}` has the changes that the other side makes in one
commit.
"""

import random
import sys
from pathlib import Path

import blosc2
import numpy as np

import arrays
from shared import resized, say

FILTERS = [[], [blosc2.Filter.SHUFFLE], [blosc2.Filter.BITSHUFFLE]]
DTYPES = ["u1", "<i2", ">i4", "<f4", "<f8", "|S5", "<c16"]


def items(rng, shape, dtype):
    numbers = np.random.default_rng(rng.getrandbits(32)).integers(0, rng.choice([2, 200]), shape)
    return numbers.astype(dtype)


def region(rng, shape):
    starts = [rng.randint(0, length) for length in shape]
    return [(start, rng.randint(start, length)) for start, length in zip(starts, shape)]


def change(rng, model, vlmeta):
    """Makes a random change to the model, and returns it as an object for the other side."""
    kind = rng.choice(["write", "write", "append", "resize", "set", "remove"])
    if kind == "write":
        ranges = region(rng, model.shape)
        part = tuple(slice(*bounds) for bounds in ranges)
        new = items(rng, [stop - start for start, stop in ranges], model.dtype)
        model[part] = new
        return {"write": ranges, "items": new.tobytes().hex()}, model
    if kind == "append":
        axis = rng.randrange(model.ndim)
        shape = list(model.shape)
        shape[axis] = rng.randint(1, 5)
        new = items(rng, shape, model.dtype)
        if not new.size:
            return {"remove": "none"}, model
        return {"append": axis, "items": new.tobytes().hex()}, np.concatenate([model, new], axis).astype(model.dtype)
    if kind == "resize":
        shape = [max(length + rng.randint(-5, 5), 1) for length in model.shape]
        return {"resize": shape}, resized(model, shape)
    name = rng.choice("abc")
    if kind == "set":
        vlmeta[name] = rng.randint(0, 1000)
        return {"set": name, "value": vlmeta[name]}, model
    vlmeta.pop(name, None)
    return {"remove": name}, model


def change_here(rng, path, model, vlmeta):
    """A random change by python-blosc2."""
    array = blosc2.open(path, mode="a")
    kind = rng.choice(["write", "resize", "set"])
    if kind == "write":
        ranges = region(rng, model.shape)
        part = tuple(slice(*bounds) for bounds in ranges)
        if all(start < stop for start, stop in ranges):
            model[part] = items(rng, [stop - start for start, stop in ranges], model.dtype)
            array[part] = np.ascontiguousarray(model[part])
    elif kind == "resize":
        # If an array has shrunk and grows again, python-blosc2 shows the old items in the new part. So all items are
        # written after a resize.
        shape = [length + rng.randint(0, 5) for length in model.shape]
        model = resized(model, shape)
        array.resize(tuple(shape))
        array[...] = model
    else:
        vlmeta["p"] = rng.randint(0, 1000)
        array.schunk.vlmeta["p"] = vlmeta["p"]
    return model


def agree(path, model, vlmeta, what):
    array = blosc2.open(path, mode="r")
    assert array.shape == model.shape, (what, array.shape, model.shape)
    assert np.array_equal(array[()], model), what
    assert {name: array.schunk.vlmeta[name] for name in array.schunk.vlmeta.getall()} == vlmeta, what


def main(folder, count, seed):
    for number in range(count):
        rng = random.Random(seed + number)
        path, dtype = str(folder / f"{number}.b2nd"), np.dtype(rng.choice(DTYPES))
        shape = [rng.randint(1, 12) for _ in range(rng.randint(1, 3))]
        chunks = [rng.randint(1, 8) for _ in shape]
        blocks = [rng.randint(1, chunk) for chunk in chunks]
        cparams = {"codec": rng.choice(arrays.CODECS), "filters": rng.choice(FILTERS), "nthreads": 1}
        model, vlmeta = items(rng, shape, dtype), {}
        blosc2.asarray(model, chunks=chunks, blocks=blocks, urlpath=path, contiguous=number % 3 > 0, cparams=cparams)
        for step in range(rng.randint(2, 10)):
            what = f"array {number} of seed {seed}, step {step}"
            if rng.random() < 0.3:
                model = change_here(rng, path, model, vlmeta)
            else:
                changes = []
                for _ in range(rng.randint(1, 4)):
                    made, model = change(rng, model, vlmeta)
                    changes.append(made)
                say({"path": path, "changes": changes})
            agree(path, model, vlmeta, what)
            say({"path": path, "items": model.tobytes().hex(), "shape": model.shape})


main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
