"""Adds the maximum number of vlmetalayers to an array: some cannot be compressed, some can be compressed to a tenth of their size, and
the others are between these two. Prints the values that python-blosc2 reads."""

import json
import random
import sys

import blosc2
import numpy

path, seed = sys.argv[1:]
random.seed(int(seed))


def value(size):
    return random.choice(
        [
            lambda: "".join(random.choice("ab é\0") for _ in range(size)),
            lambda: [random.randrange(-(2**63), 2**64) for _ in range(size)],
            lambda: [round(random.random(), random.randrange(18)) for _ in range(size)],
            lambda: {f"key {index}": random.choice([None, True, "value", [], index]) for index in range(size)},
        ]
    )()


array = blosc2.asarray(numpy.arange(6), urlpath=path, mode="w")
for index in range(16):
    array.schunk.vlmeta[f"layer {index}"] = value(random.choice([0, 1, 5, 30, 300, 20000]))
again = blosc2.open(path, mode="r")
read = again.schunk.vlmeta
print(json.dumps({name: read[name] for name in read.getall()}))
