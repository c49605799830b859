"""Writes chunks of C-Blosc2 and C-Blosc, one after the other in a file for each test that reads them.

    make.py      with blosc2==4.14.1  blosc==1.11.4  numpy==2.4.6

`frame/tests/data/make` calls it. The tests know the data: `items` and `lines`.
"""

from pathlib import Path

import blosc
import blosc2
import numpy as np

HERE = Path(__file__).parent
CODECS = [blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB, blosc2.Codec.ZSTD]
SPLITS = [blosc2.SplitMode.ALWAYS_SPLIT, blosc2.SplitMode.NEVER_SPLIT]
PIPELINES = [[], ["SHUFFLE"], ["BITSHUFFLE"], ["DELTA"], ["DELTA", "SHUFFLE"], ["DELTA", "BITSHUFFLE"], ["SHUFFLE", "BYTEDELTA"]]
PIPELINES += [["SHUFFLE", "SHUFFLE"], ["SHUFFLE", "BITSHUFFLE", "BYTEDELTA"], ["INT_TRUNC", "SHUFFLE"], ["INT_TRUNC"]]
METAS = {"BYTEDELTA": 4, "INT_TRUNC": 20}

# The lowest 12 bits of each item are 0, so `int_trunc` loses nothing.
items = (np.arange(2003) * 7 % 1000 << 12).astype("<i4")
lines = "".join(f"a line of text, number {number * number}, and another word\n" for number in range(500)).encode()


def write(name, chunks):
    (HERE / f"{name}.chunks").write_bytes(b"".join(chunks))


def chunk(data, typesize, codec, filters, **options):
    names = [getattr(blosc2.Filter, name) for name in filters]
    metas = [METAS.get(name, 0) for name in filters]
    # Compresses a copy, because with three filters C-Blosc2 overwrites the data that it is given.
    return blosc2.compress2(bytearray(data), typesize=typesize, codec=codec, filters=names, filters_meta=metas, nthreads=1, clevel=5, **options)


write("filters", [chunk(items, 4, codec, names, blocksize=2000) for names in PIPELINES for codec in CODECS[3:]])
write("codecs", [chunk(items, 4, codec, ["SHUFFLE"], blocksize=1024, splitmode=split) for codec in CODECS for split in SPLITS])
dictionary = {"use_dict": True, "blocksize": 4096, "splitmode": SPLITS[1]}
write("dictionaries", [chunk(lines, 1, codec, [], **dictionary) for codec in (CODECS[1], CODECS[2], CODECS[4])])
blosc.set_nthreads(1)
blosc.set_blocksize(1600)
shuffles = [(blosc.NOSHUFFLE, 4), (blosc.SHUFFLE, 4), (blosc.SHUFFLE, 1), (blosc.BITSHUFFLE, 4), (blosc.BITSHUFFLE, 16)]
write("blosc1", [blosc.compress(items.tobytes(), size, shuffle=shuffle, cname=codec) for shuffle, size in shuffles for codec in ("blosclz", "lz4", "zlib", "zstd")])
batches = blosc2.BatchArray(cparams={"codec": CODECS[4], "nthreads": 1}, items_per_block=20)
batches.append(lines.decode().splitlines())
write("variable", [batches.schunk.get_chunk(0)])
