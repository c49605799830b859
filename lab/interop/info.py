"""Prints the lines of python-blosc2's `info` that do not depend on how the file was opened."""

import sys

import blosc2

array = blosc2.open(sys.argv[1], mode="r")
items = dict(array.info_items)
for key in "type", "shape", "chunks", "blocks", "dtype", "nbytes", "cbytes", "cratio":
    print(f"{key:8}: {items[key]}")
