"""Keeps an array open with python-blosc2, with or without locks, and answers the words on standard input."""

import os
import sys

path, locking = sys.argv[1:]
if locking == "locks":
    os.environ["BLOSC_LOCKING"] = "1"
import blosc2

array = blosc2.open(path, mode="a" if locking == "locks" else "r")
lock = None
for word in sys.stdin:
    match word.strip():
        case "items":
            # Reads the array like a program that does not expect other programs to change the file. If there is an
            # error, sends the error as the answer.
            try:
                answer = array[...].tobytes().hex()
            except Exception as error:
                answer = f"error: {error}".splitlines()[0]
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
