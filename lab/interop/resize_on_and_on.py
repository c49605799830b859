"""Resizes an array from shape to shape until standard input ends, and prints a line when it has begun.

    resize_on_and_on.py PATH SHAPES contiguous|sparse
"""

import json
import sys
import threading

import blosc2

path, shapes = sys.argv[1], json.loads(sys.argv[2])
is_over = threading.Event()


def wait():
    sys.stdin.read()
    is_over.set()


array = blosc2.asarray(
    blosc2.ones(shapes[0], dtype="<i4"),
    chunks=(4, 5),
    blocks=(2, 3),
    urlpath=path,
    mode="w",
    contiguous=sys.argv[3] == "contiguous",
)
threading.Thread(target=wait, daemon=True).start()
print("begun", flush=True)
while not is_over.is_set():
    for shape in shapes[1:] + shapes[:1]:
        array.resize(shape)
