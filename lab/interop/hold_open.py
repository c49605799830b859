"""Keeps an array open with python-blosc2, with locks, and answers words that come through the standard input."""

import os
import sys

os.environ["BLOSC_LOCKING"] = "1"
import blosc2

array = blosc2.open(sys.argv[1], mode="a")
lock = None
for word in sys.stdin:
    match word.strip():
        case "shape":
            array.refresh()
            answer = list(array.shape)
        case "sum":
            array.refresh()
            answer = int(array[...].sum())
        case "lock":
            lock = array.holding_lock()
            lock.__enter__()
            answer = "locked"
        case "unlock":
            lock.__exit__(None, None, None)
            answer = "unlocked"
    print(answer, flush=True)
