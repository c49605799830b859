"""The files of the listing benchmark: `files.py make FOLDER COUNT`, and python-blosc2's side of it, `files.py shapes
FOLDER`, which prints how many shapes it read and in how many seconds, the list of the files already made."""

import pathlib
import sys
import time

import blosc2
import numpy

SHAPES = [(40,), (12, 9), (5, 6, 7), (2, 3, 4, 5)]
IN_A_FOLDER = 1000


def make(folder, count):
    for index in range(count):
        place = folder / f"{index // IN_A_FOLDER:03}"
        place.mkdir(parents=True, exist_ok=True)
        array = numpy.full(SHAPES[index % len(SHAPES)], index, "int32")
        blosc2.asarray(array, urlpath=str(place / f"{index:06}.b2nd"))


def shapes(folder):
    paths = [str(path) for path in folder.rglob("*.b2nd")]
    start = time.perf_counter()
    read = sum(1 for path in paths if blosc2.open(path).shape)
    print(read, time.perf_counter() - start)


command, folder, *count = sys.argv[1:]
if command == "make":
    make(pathlib.Path(folder), *map(int, count))
else:
    shapes(pathlib.Path(folder))
