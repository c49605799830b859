"""Kills resizes of python-blosc2 half-way, and prints as JSON what python-blosc2 then makes of the files.

    kill.py FOLDER HOW_MANY

    whole    it opens, and has either the old shape or the new one, with the right data
    refused  it does not open, or cannot be read
    wrong    it opens, with data that is neither
"""

import json
import os
import random
import signal
import sys
import time

import blosc2
import numpy as np

blosc2.set_nthreads(1)

# From shape to shape, in chunks of 20 x 20: rows and columns more, rows and columns less, and both.
RESIZES = [
    ((400, 60), (800, 60)),
    ((60, 400), (60, 800)),
    ((400, 200), (200, 200)),
    ((200, 400), (200, 200)),
    ((300, 300), (380, 380)),
    ((380, 380), (300, 300)),
]


def values(shape):
    """No item is 0, so that the items that a resize adds can be recognized."""
    return np.arange(1, shape[0] * shape[1] + 1, dtype="<i4").reshape(shape)


def resized(old, new):
    result = np.zeros(new, old.dtype)
    common = tuple(slice(min(a, b)) for a, b in zip(old.shape, new))
    result[common] = old[common]
    return result


def write(path, before, contiguous):
    blosc2.asarray(values(before), chunks=(20, 20), blocks=(10, 10), urlpath=path, contiguous=contiguous)


def resize(path, after):
    blosc2.open(path, mode="a").resize(after)


def kill(path, after, delay):
    """Resizes in another process, and kills it after the given delay."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"!")
        resize(path, after)
        os._exit(0)
    os.read(reader, 1)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)


def verdict(path, before, after):
    old = values(before)
    try:
        seen = blosc2.open(path, mode="r")[...]
    except Exception:
        return "refused"
    return "whole" if any(np.array_equal(seen, right) for right in (old, resized(old, after))) else "wrong"


def main(folder, how_many):
    random.seed(os.environ.get("B2ND_SEED"))
    seen = []
    for number in range(how_many):
        before, after = RESIZES[number % len(RESIZES)]
        contiguous = number // len(RESIZES) % 2 == 0
        path = os.path.join(folder, f"{number:03}.b2nd")
        write(path + ".timed.b2nd", before, contiguous)
        start = time.perf_counter()
        resize(path + ".timed.b2nd", after)
        duration = time.perf_counter() - start
        blosc2.remove_urlpath(path + ".timed.b2nd")

        write(path, before, contiguous)
        kill(path, after, random.uniform(0, duration))
        seen.append({"path": path, "verdict": verdict(path, before, after)})
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
