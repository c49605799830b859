"""Decompresses chunks with C-Blosc2. Reads cases from standard input: a line of JSON with the lengths `data` and `chunk`, and `truncated` (the name and
parameter of a filter that truncates, and the item size) or null; then the data and the chunk. Exits with 1 at the first chunk that holds other data.
"""

import json
import sys

import blosc2


def truncated(data, name, meta, typesize):
    # C-Blosc2 does not keep the bytes after the last whole item.
    whole = len(data) - len(data) % typesize
    filters = {"filters": [getattr(blosc2.Filter, name)], "filters_meta": [meta]}
    # It keeps data as it is that does not compress. Repeated data does.
    repeated = bytearray(data[:whole] * 32)
    chunk = blosc2.compress2(repeated, typesize=typesize, blocksize=len(repeated), nthreads=1, clevel=1, **filters)
    return blosc2.decompress2(chunk)[:whole] + data[whole:]


def main():
    stdin, count = sys.stdin.buffer, 0
    for line in iter(stdin.readline, b""):
        case = json.loads(line)
        data, chunk = stdin.read(case["data"]), stdin.read(case["chunk"])
        expected = truncated(data, *case["truncated"]) if case["truncated"] else data
        for threads in (1, 3):
            try:
                found = blosc2.decompress2(chunk, nthreads=threads)
            except ValueError as error:
                sys.exit(f"{threads} threads, {error}: {line.decode()}")
            if found != expected:
                sys.exit(f"{threads} threads, {len(found)} bytes of other data: {line.decode()}")
        count += 1
    print(f"C-Blosc2 decompresses {count} chunks to the data that was compressed")


main()
