"""Writes random arrays and super-chunks, and prints the values of python-blosc2's iterchunks_info for their chunks.

    chunks.py FOLDER COUNT SEED

Prints a JSON object per line: the path; for each chunk its kind, lengths, and where it is; and the chunks that cannot be read.
"""

import json
import os
import random
import struct
import sys

import blosc2
import numpy as np

KINDS = {
    blosc2.SpecialValue.NOT_SPECIAL: "stored",
    blosc2.SpecialValue.ZERO: "zeros",
    blosc2.SpecialValue.NAN: "nan",
    blosc2.SpecialValue.VALUE: "value",
    blosc2.SpecialValue.UNINIT: "uninitialized",
}
CODECS = [blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB, blosc2.Codec.ZSTD]


def values(rng, count, dtype):
    kind = rng.randrange(4)
    if kind == 0:
        return np.zeros(count, dtype)
    if kind == 1:
        return (np.arange(count) % 1000).astype(dtype)
    if kind == 2:
        return np.frombuffer(rng.randbytes(count * np.dtype(dtype).itemsize), dtype)
    return np.full(count, 7).astype(dtype)


def cparams(rng):
    codec = rng.choice(CODECS)
    filters = rng.choice([[], [blosc2.Filter.SHUFFLE], [blosc2.Filter.BITSHUFFLE], [blosc2.Filter.DELTA, blosc2.Filter.SHUFFLE]])
    return {
        "codec": codec,
        "clevel": rng.choice([0, 1, 5, 9]),
        "filters": filters,
        "filters_meta": [0] * len(filters),
        "use_dict": codec == blosc2.Codec.ZSTD and rng.random() < 0.3,
        "nthreads": rng.choice([1, 2]),
    }


def array(path, rng, contiguous):
    ndim = rng.randint(1, 3)
    chunks = [rng.randint(1, 60) for _ in range(ndim)]
    blocks = [rng.randint(1, chunk) for chunk in chunks]
    shape = [rng.randint(1, 4) * chunk - rng.randrange(chunk) for chunk in chunks]
    dtype = rng.choice(["u1", "<i2", "<i4", "<f8", "<c16", "S5"] if rng.random() < 0.9 else ["S300"])
    options = {"chunks": chunks, "blocks": blocks, "urlpath": path, "contiguous": contiguous, "cparams": cparams(rng)}
    is_text = dtype.startswith("S")
    make = rng.choice(["zeros", "uninit", "full"] if is_text else ["zeros", "uninit", "full", "nans", "asarray", "asarray"])
    if make == "nans" and dtype != "<f8":
        make = "zeros"
    if make == "full":
        result = blosc2.full(shape, b"ab" if is_text else 3, dtype=dtype, **options)
    elif make == "asarray":
        result = blosc2.asarray(values(rng, int(np.prod(shape)), dtype).reshape(shape), **options)
    else:
        result = getattr(blosc2, make)(shape, dtype=dtype, **options)
    for _ in range(rng.randrange(4)):
        index = tuple(slice(start, start + rng.randint(1, 30)) for start in (rng.randrange(n) for n in shape))
        count = int(np.prod([len(range(*part.indices(n))) for part, n in zip(index, shape)]))
        if is_text:
            result[index] = b"xyz"
        else:
            part = values(rng, count, dtype)
            result[index] = part.reshape([len(range(*s.indices(n))) for s, n in zip(index, shape)])
    if rng.random() < 0.2:
        result.resize([n + rng.randrange(2 * chunk) for n, chunk in zip(shape, chunks)])


def super_chunk(path, rng, contiguous):
    size = rng.choice([100, 4000, 40000])
    schunk = blosc2.SChunk(chunksize=4 * size, contiguous=contiguous, urlpath=path, cparams={"typesize": 4, **cparams(rng)})
    for _ in range(rng.randint(1, 20)):
        where = rng.randrange(schunk.nchunks) if schunk.nchunks else None
        operation = rng.choice(["append", "append", "insert", "update", "delete"])
        data = values(rng, size, "<i4")
        if operation == "append" or where is None:
            schunk.append_data(data)
        elif operation == "insert":
            schunk.insert_data(where, data, True)
        elif operation == "update":
            schunk.update_data(where, data, True)
        else:
            schunk.delete_chunk(where)


def many(path, rng, contiguous):
    schunk = blosc2.SChunk(chunksize=16, contiguous=True, urlpath=path, cparams={"typesize": 4})
    # Python takes long for many chunks. The longest index is read in several pieces.
    schunk.fill_special(4 * rng.choice([1000, 1500, 2000, 20000]), rng.choice([blosc2.SpecialValue.ZERO, blosc2.SpecialValue.UNINIT]))
    for _ in range(rng.randrange(40)):
        schunk.update_data(rng.randrange(schunk.nchunks), values(rng, 4, "<i4"), True)


def any_length(path, rng, contiguous):
    schunk = blosc2.SChunk(chunksize=-1, contiguous=contiguous, urlpath=path, cparams={"typesize": 1, **cparams(rng)})
    for _ in range(rng.randint(2, 12)):
        schunk.append_data(rng.choice([rng.randbytes, lambda n: b"ab" * n])(rng.randint(10, 9000)))


def told(path):
    # The super-chunk of an array lives as long as the array.
    opened = blosc2.open(path, mode="r")
    schunk = getattr(opened, "schunk", opened)
    for info in schunk.iterchunks_info():
        lazy = info.lazychunk
        nbytes, blocksize, cbytes = struct.unpack("<iii", lazy[4:16])
        chunk = {"kind": KINDS[info.special], "nbytes": nbytes}
        if chunk["kind"] in ("stored", "value"):
            chunk["cbytes"] = cbytes
        if chunk["kind"] == "stored":
            blocks = blocksize if lazy[30] & 1 else -(-nbytes // blocksize)
            number, offset = struct.unpack("<iq", lazy[-12 - 4 * blocks :][:12])
            chunk["place"] = number if os.path.isdir(path) else offset
        yield chunk


def unread(path):
    """The numbers of the chunks that python-blosc2 cannot decompress."""
    opened = blosc2.open(path, mode="r")
    schunk = getattr(opened, "schunk", opened)
    for number in range(schunk.nchunks):
        try:
            schunk.decompress_chunk(number)
        except RuntimeError:
            yield number


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    made = 0
    for number in range(2 * count):
        path = os.path.join(folder, f"{number}.b2nd")
        contiguous = rng.random() < 0.7
        make = rng.choice([array, array, array, super_chunk, super_chunk, any_length, many])
        try:
            make(path, rng, contiguous)
        except RuntimeError as error:
            # python-blosc2 itself fails at a few of these.
            print(f"{number} of seed {seed}: {error}", file=sys.stderr)
            continue
        print(json.dumps({"path": path, "chunks": list(told(path)), "unread": list(unread(path))}))
        made += 1
        if made == count:
            break


main()
