"""python-blosc2's side of the writing benchmark: `write.py CHUNKS COUNT TYPESIZE TO`.

CHUNKS has COUNT chunks of the same length. Prints the seconds in which they become a file TO, and those in which they
become a frame in memory that is then written to TO.
"""

import os
import pathlib
import sys
import time

import blosc2


def append(schunk, chunks):
    for number, chunk in enumerate(chunks):
        schunk.insert_chunk(number, chunk)


path, count, chunksize, to = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
ready = pathlib.Path(path).read_bytes()
length = len(ready) // count
chunks = [ready[start : start + length] for start in range(0, len(ready), length)]
options = {"chunksize": chunksize, "cparams": {"typesize": 1, "nthreads": 1}, "dparams": {"nthreads": 1}}

start = time.perf_counter()
append(blosc2.SChunk(contiguous=True, urlpath=to, mode="w", **options), chunks)
by_path = time.perf_counter() - start
assert blosc2.open(to, mode="r").nchunks == count
os.remove(to)

start = time.perf_counter()
in_memory = blosc2.SChunk(contiguous=True, **options)
append(in_memory, chunks)
with open(to, "wb") as file:
    file.write(in_memory.to_cframe())
by_frame = time.perf_counter() - start
assert blosc2.open(to, mode="r").nchunks == count
os.remove(to)
print(by_path, by_frame)
