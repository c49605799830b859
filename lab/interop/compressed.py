"""Decompresses chunks with C-Blosc2.

Reads cases from standard input. A case is a line of JSON, the data, and the chunk. The line has the lengths `data` and `chunk`. It also
has `truncated`: the name and parameter of a filter that truncates the data, and the item size; or null. Exits with 1 at the first chunk
that C-Blosc2 decompresses to other data.

`compressed.py blocksizes` reads compression parameters, and the block size that this project chooses for them. It exits with 1 at the
first block size that differs from that of C-Blosc2.
"""

import json
import sys

import blosc2


def truncated(data, name, meta, typesize):
    # The filter clears bits in whole items only. The bytes after the last whole item stay as they are.
    whole = len(data) - len(data) % typesize
    filters = {"filters": [getattr(blosc2.Filter, name)], "filters_meta": [meta]}
    # C-Blosc2 stores data that it cannot compress, and applies no filter to it. Repeated data can be compressed.
    repeated = bytearray(data[:whole] * 32)
    chunk = blosc2.compress2(repeated, typesize=typesize, blocksize=len(repeated), nthreads=1, clevel=1, **filters)
    return blosc2.decompress2(chunk)[:whole] + data[whole:]


def block_sizes():
    count = 0
    for line in sys.stdin:
        case = json.loads(line)
        options = {"codec": getattr(blosc2.Codec, case["codec"]), "splitmode": getattr(blosc2.SplitMode, case["splitmode"])}
        options |= {"typesize": case["typesize"], "clevel": case["clevel"], "filters": [blosc2.Filter(case["filter"])], "nthreads": 1}
        chunk = blosc2.compress2(bytes(case["nbytes"]), **options)
        if int.from_bytes(chunk[8:12], "little") != case["blocksize"]:
            sys.exit(f"C-Blosc2 chooses {int.from_bytes(chunk[8:12], 'little')}: {line}")
        count += 1
    print(f"C-Blosc2 chooses the same block size for {count} chunks")


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


block_sizes() if sys.argv[1:] == ["blocksizes"] else main()
