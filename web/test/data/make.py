"""Writes the files of this folder with python-blosc2 4.14. They are short, also where their arrays are large."""

import gzip
import shutil
import tempfile
import zipfile
from pathlib import Path

import blosc2
import numpy as np

here = Path(__file__).parent


def zeros(name, shape, dtype, **settings):
    return blosc2.zeros(shape, dtype=dtype, urlpath=str(here / name), mode="w", **settings)


# 64 TiB.
zeros("zeros.b2nd", (1 << 22, 1 << 21), "f8")

# Two million rows.
zeros("rows.b2nd", (2_000_000,), [("id", "i8"), ("name", "U8"), ("isTrue", "?")])

# Attributes that would be markup in a page.
markup = zeros("markup.b2nd", (3,), "i4")
markup.schunk.vlmeta["note"] = "<img src=x onerror=alert(1)><b>bold</b>"

# Two images of red, green, blue and opacity, each with a red corner, and attributes with integers beyond 2^53.
colours = np.zeros((2, 40, 60, 4), "u1")
colours[..., 1] = np.arange(60) * 4
colours[..., 2] = np.arange(40)[:, None] * 6
colours[:, :20, :20] = [255, 0, 0, 9]
image = blosc2.asarray(colours, urlpath=str(here / "image.b2nd"), mode="w", chunks=(1, 40, 60, 4), blocks=(1, 20, 30, 4))
image.schunk.vlmeta["time"] = 1_700_000_000_123_456_789
image.schunk.vlmeta["ids"] = [2**64 - 1, -(2**63), 2**53 - 1, {"__proto__": 1.5}]

# A smooth field with more items along x than a picture shows.
wave = np.round(np.sin(np.arange(3000) / 90) * np.cos(np.arange(60)[:, None] / 10) * 20).astype("i1")
blosc2.asarray(wave, urlpath=str(here / "wave.b2nd"), mode="w", chunks=(60, 1000), blocks=(20, 250), cparams={"codec": blosc2.Codec.ZSTD, "clevel": 9})

# A codec that only a plugin decompresses.
smooth = np.sin(np.arange(32 * 32) / 100).reshape(32, 32).astype("f4")
lossy = {"codec": blosc2.Codec.ZFP_RATE, "codec_meta": 37, "filters": [blosc2.Filter.NOFILTER]}
blosc2.asarray(smooth, urlpath=str(here / "zfp.b2nd"), mode="w", cparams=lossy)

# 120 equal chunks of 4 MiB or 1 MiB that are stored without compression. The files here have only the header of one of
# them; the tests insert the chunks.
CHUNKS = 120
for name, length, block in [("long.b2nd", 1 << 22, 1 << 22), ("wide.b2nd", 1 << 20, 1 << 12)]:
    path = here / name
    array = blosc2.empty((CHUNKS, length), dtype="u1", chunks=(1, length), blocks=(1, block), urlpath=str(path), mode="w", cparams={"clevel": 0})
    array[0] = (np.arange(length) % 251).astype("u1")
    chunk = array.schunk.get_chunk(0)
    for number in range(1, CHUNKS):
        array.schunk.update_chunk(number, chunk)
    frame = path.read_bytes()
    start = frame.index(chunk)
    path.write_bytes(frame[: start + 32] + frame[start + CHUNKS * len(chunk) :])

# Items with values that are rare: booleans that are not 0 or 1, float128 in big-endian, and structs with a lot of empty
# lists, with datetimes (one in steps of 25 seconds) and -0.0, with 30 fields, which have 1023 KiB, and
# with a million values each.
blosc2.asarray(np.array([2, 1, 0], "u1").view("?"), urlpath=str(here / "bool.b2nd"), mode="w")
blosc2.asarray(np.arange(3).astype(">f16"), urlpath=str(here / "float128.b2nd"), mode="w")
zeros("lists.b2nd", (3,), np.dtype([("x", "i4"), ("a", "i4", (200_000_000, 0))]))
times = np.array(
    [("2020-01-01", "12020-01-01", "2020-01-01", -0.0), ("1969-12-31T23:59:59", "-0005-01-01", "1969-12-31T23:59:35", 0.1)],
    [("s", "M8[s]"), ("d", "M8[D]"), ("q", "M8[25s]"), ("v", "f4")],
)
blosc2.asarray(times, urlpath=str(here / "times.b2nd"), mode="w")
zeros("fields.b2nd", (8733,), [(f"f{number}", "i4") for number in range(30)])
zeros("images.b2nd", (1000,), np.dtype([("id", "i4"), ("image", "u1", (1000, 1000))]))

# A dimension beyond the numbers of JavaScript, blocks of 256 MiB, and chunks that are a bit longer than their blocks.
zeros("long_dimension.b2nd", (2**54, 0), "u1", chunks=(1000, 1), blocks=(10, 1))
zeros("large_blocks.b2nd", (1000, 1 << 30), "u1", chunks=(1, 1 << 30), blocks=(1, 1 << 28))
zeros("uneven_blocks.b2nd", (8008, 8008), "f8", chunks=(1001, 1001), blocks=(1000, 1000))

# Stores: one with its keys not in alphabetical order; one whose array is in several of its chunks, and one whose chunks
# are stored without compression, so that they are long; and one with an array below 5000 groups.
(here / "order.b2e").unlink(missing_ok=True)
store = blosc2.EmbedStore(urlpath=str(here / "order.b2e"), mode="w")
for key in ["/b", "/a", "/c"]:
    store[key] = np.zeros(1, "u1")
(here / "chunks.b2e").unlink(missing_ok=True)
store = blosc2.EmbedStore(urlpath=str(here / "chunks.b2e"), mode="w", chunksize=1 << 20)
store["/a"] = blosc2.asarray((np.arange(3 << 20) % 251).astype("u1"), chunks=(1 << 18,), blocks=(1 << 18,), cparams={"clevel": 0})
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "long_chunks.b2e"
    store = blosc2.EmbedStore(urlpath=str(path), mode="w", chunksize=1 << 19, cparams=blosc2.CParams(clevel=0))
    store["/a"] = blosc2.asarray((np.arange(1 << 21) % 251).astype("u1"), chunks=(1 << 17,), blocks=(1 << 13,), cparams={"clevel": 0})
    (here / "long_chunks.b2e.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
shutil.copy(here / "../../../frame/tests/data/tree.b2z", here / "deep.b2z")
with zipfile.ZipFile(here / "deep.b2z", "a") as deep:
    deep.write(here / "bool.b2nd", "/".join(["a"] * 5000) + "/x.b2nd")
