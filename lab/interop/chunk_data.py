"""Writes random chunks of C-Blosc2, and the data that C-Blosc2 decompresses from them.

    chunk_data.py COUNT SEED

For each chunk, prints a line of JSON, then the bytes of the chunk, then the bytes that C-Blosc2 decompresses from it. The line says how the
chunk was made (`how`), the lengths of both byte strings (`chunk`, `data`), and whether C-Blosc2 returns the bytes that were compressed
(`kept`). `data` is null if C-Blosc2 refuses the chunk.
"""

import json
import random
import sys

import blosc
import blosc2
import numpy as np

import arrays

FILTERS = [[], ["SHUFFLE"], ["BITSHUFFLE"], ["DELTA"], ["DELTA", "SHUFFLE"], ["DELTA", "BITSHUFFLE"], ["SHUFFLE", "BYTEDELTA"], ["BITSHUFFLE", "BYTEDELTA"]]
FILTERS += [["SHUFFLE", "SHUFFLE"], ["SHUFFLE", "BITSHUFFLE"], ["BITSHUFFLE", "SHUFFLE"], ["SHUFFLE", "DELTA"], ["DELTA", "SHUFFLE", "BYTEDELTA"]]
LOSSY = {"TRUNC_PREC": ([4, 8], [3, 10, 20]), "INT_TRUNC": ([1, 2, 4, 8], [3, 7])}
SPLITS = list(blosc2.SplitMode)


def typesize_of(rng):
    return rng.choice([1, 2, 3, 4, 8, 16, rng.randint(1, 32), rng.randint(1, 300)])


def data_of(rng, typesize):
    """Returns random bytes, which can be anything from one repeated byte to noise. Sometimes the last item is not whole."""
    length = int(2 ** rng.uniform(0, 17))
    if rng.random() < 0.7:
        length = max(length // typesize, 1) * typesize
    generator = np.random.default_rng(rng.getrandbits(32))
    style = rng.randrange(6)
    if style == 0:
        return bytes([rng.choice([0, 0, 7, 255])]) * length
    if style == 1:
        return generator.bytes(length)
    if style == 2:
        return bytes(generator.choice([0, 0, 0, 1, 5], length).astype("u1"))
    if style == 3:
        item = generator.bytes(rng.randint(1, 40))
        return (item * (length // len(item) + 1))[:length]
    if style == 4 and typesize in (1, 2, 4, 8):
        steps = generator.integers(-3, 6, length // typesize + 1)
        return np.cumsum(steps).astype(f"i{typesize}").tobytes()[:length]
    words = [generator.bytes(rng.randint(1, 20)) for _ in range(20)]
    return b"".join(rng.choices(words, k=length // 4 + 1))[:length].ljust(length, b"-")


def pipeline(rng, typesize):
    if rng.random() < 0.15:
        name = rng.choice(list(LOSSY))
        sizes, metas = LOSSY[name]
        if typesize in sizes:
            return [name, rng.choice(["SHUFFLE", "BITSHUFFLE", "NOFILTER"])], [rng.choice(metas) if typesize > 1 else 3, 0]
    filters = rng.choice(FILTERS)
    # The parameter of shuffle is an item size, and 0 means the typesize of the chunk. bytedelta divides a block into
    # rows of equal length, and its parameter is the number of rows. C-Blosc2 ignores the parameters of bitshuffle
    # and delta.
    rows = min(typesize, 127)
    metas = {"SHUFFLE": rng.choice([0, 0, 0, 2, 3, 8]), "BYTEDELTA": rows}
    return filters, [metas.get(name, rng.choice([0, 0, 3])) for name in filters]


def compressed(rng):
    typesize = typesize_of(rng)
    data = data_of(rng, typesize)
    filters, metas = pipeline(rng, typesize)
    options = {
        "typesize": min(typesize, 255),
        "codec": (codec := rng.choice(arrays.CODECS)),
        "clevel": rng.choice([0, 1, 3, 5, 5, 7, 9]),
        "filters": [getattr(blosc2.Filter, name) for name in filters],
        "filters_meta": metas,
        "splitmode": rng.choice(SPLITS),
        # If the block size is not 0, it can happen that the length of a split block is not a multiple of the type size.
        # Then C-Blosc2 loses the last bytes of the block. A filter that truncates loses bytes too, and the test could
        # not tell the two losses apart. So with such a filter, the block size is 0.
        "blocksize": 0 if LOSSY.keys() & set(filters) else rng.choice([0, 0, 0, typesize * rng.randint(1, 2000), rng.randint(32, 5000)]),
        "use_dict": codec in (blosc2.Codec.ZSTD, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC) and rng.random() < 0.2,
        "nthreads": 1,
    }
    how = {**options, "codec": codec.name, "filters": filters, "splitmode": options["splitmode"].name, "nbytes": len(data)}
    # Compresses a copy of the data, because C-Blosc2 overwrites the data if there are three filters.
    return how, data, blosc2.compress2(bytearray(data), **options)


def special(rng):
    """Returns a chunk that repeats one value, or a chunk that was never written. The value can have more than 255 bytes."""
    kind = rng.choice(["value", "zeros", "nan", "uninit"])
    typesize, count = 8 if kind == "nan" else typesize_of(rng), rng.randint(1, 500)
    value = {"value": random.Random(count).randbytes(typesize), "nan": np.float64("nan").tobytes()}.get(kind, bytes(typesize))
    schunk = blosc2.SChunk(chunksize=typesize * count, cparams={"typesize": typesize, "nthreads": 1})
    special = getattr(blosc2.SpecialValue, {"zeros": "ZERO"}.get(kind, kind.upper()))
    schunk.fill_special(count, special, value if kind == "value" else None)
    data = value * count
    return {"special": kind, "typesize": typesize}, data, schunk.get_chunk(0)


def variable(rng):
    """A chunk with blocks of different sizes, which holds a batch of messages."""
    codec = rng.choice(arrays.CODECS)
    options = {"cparams": {"codec": codec, "clevel": rng.choice([1, 5, 9]), "nthreads": 1}, "items_per_block": rng.randint(1, 50)}
    batches = blosc2.BatchArray(**options)
    batches.append([rng.choice("abc") * rng.randint(0, 300) for _ in range(rng.randint(1, 200))])
    return {"variable": codec.name}, None, batches.schunk.get_chunk(0)


def of_blosc1(rng):
    """A chunk of Blosc 1, with a header of 16 bytes."""
    typesize = rng.choice([1, 2, 3, 4, 8, 16, 255])
    data = data_of(rng, typesize)
    codec, shuffle = rng.choice(["blosclz", "lz4", "lz4hc", "zlib", "zstd"]), rng.choice([blosc.NOSHUFFLE, blosc.SHUFFLE, blosc.BITSHUFFLE])
    blosc.set_nthreads(1)
    blosc.set_blocksize(rng.choice([0, 0, typesize * rng.randint(32, 1000)]))
    chunk = blosc.compress(data, typesize, clevel=rng.choice([0, 1, 5, 9]), shuffle=shuffle, cname=codec)
    return {"blosc1": codec, "typesize": typesize, "shuffle": shuffle}, data, chunk


def main():
    count, seed = map(int, sys.argv[1:])
    rng = random.Random(seed)
    blosc2.set_nthreads(1)
    for _ in range(count):
        make = rng.choices([compressed, special, variable, of_blosc1], [85, 5, 5, 5])[0]
        try:
            how, data, chunk = make(rng)
        except arrays.FAILURES:
            # python-blosc2 cannot write a chunk with these options, so this case is skipped.
            continue
        try:
            decompressed = blosc2.decompress2(chunk)
        except arrays.FAILURES:
            decompressed = None
        is_lossy = bool(LOSSY.keys() & set(how.get("filters", [])))
        kept = data is None or decompressed == data or is_lossy and decompressed is not None
        if how.get("special") == "uninit":
            # C-Blosc2 does not write to the memory for an uninitialized chunk, so the decompressed data is arbitrary
            # and is not compared.
            decompressed = data
        length = None if decompressed is None else len(decompressed)
        print(json.dumps({"how": how, "chunk": len(chunk), "data": length, "kept": kept}), flush=True)
        sys.stdout.buffer.write(chunk + (decompressed or b""))
        sys.stdout.buffer.flush()


main()
