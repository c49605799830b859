"""Asks for random arrays as files, and reads and changes each of them with python-blosc2 and C-Blosc2.

    writing.py FOLDER COUNT SEED [FIRST]

Prints a JSON object per line and waits for an empty line after each. An array comes as `{"path": ..., "steps": ...}`,
and the program that reads the line writes the file. Then this script reads the file, changes it and reads it again, and
`{"verified": ...}` lists the checks. A difference ends the script with an exception. The arrays depend only on the seed, so
FIRST can skip those before a failure.
"""

import ast
import ctypes
import itertools
import math
import os
import random
import sys
from pathlib import Path

import blosc2
import ml_dtypes  # noqa: F401, gives NumPy the names of some dtypes
import msgpack
import numpy as np

from shared import say

LIBRARY = ctypes.CDLL(str(Path(blosc2.__file__).parent / "lib/libblosc2.so"))
LIBRARY.blosc2_init()

DTYPES = [
    "|u1", "|i1", "|b1", "<i2", "<u2", "<i4", ">i4", "<i8", "<f2", "<f4", "<f8", "<f16", "<c16", "<c32", "<U1", "<U8", "<U10",
    "|S5", "|S1000", "|V2", "|V4", "|V16", "|V300", "<M8", "<M8[ns]", "<M8[25s]", "<m8[s]", "float8_e4m3fn", "int4",
    "[('f0', 'V7')]", "[('😀', '<i4')]", "[('café', '<i4'), ('日本', '<f8')]", "[(('Title', 'a'), '<i4')]",
    "[('it\\'s \"q\"\\\\', '<i4')]", "[('p', [('x', '<f4'), ('y', '>f4')]), ('t', 'u1', (2, 3))]",
    "[('a', '<i4'), ('b', '<f8'), ('c', 'S3')]", "[('a', 'u1'), ('f1', 'V7'), ('b', '<f8')]",
    "[('a', '<i4'), ('f1', 'V4'), ('b', '<f8'), ('f3', 'V8')]", "[('min', '<f8'), ('max', '<f8'), ('flags', 'u1')]",
    "{'names': ['a', 'b'], 'formats': ['u1', '<f8'], 'offsets': [0, 8], 'itemsize': 16, 'aligned': True}",
    str([(f"field_number_{number:04}", "<f8") for number in range(100)]),
]  # fmt: skip

CODECS = [0, 1, 2, 4, 5]
# Filter 3 (delta) is not used: if C-Blosc2 3.3.5 reads only a part of a chunk and skips the first block, it reads wrong
# items or waits forever.
FILTERS = [[], [1], [2]]
TEXTS = ["", "kelvin", "große Zahl", "名前", "x" * 300]
NANS = {dtype: np.dtype(dtype).type("nan").tobytes() for dtype in ("<f4", "<f8")}


def dtype_of(text):
    return np.dtype(ast.literal_eval(text) if text[0] in "[{" else text)


def covered(dtype):
    """Marks the bytes of an item that belong to a field. NumPy may change the other bytes."""
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return np.tile(covered(inner), math.prod(shape))
    bytes_of = np.zeros(dtype.itemsize, bool)
    if dtype.names is None:
        bytes_of[:] = True
    for name in dtype.names or ():
        inner, offset = dtype.fields[name][:2]
        bytes_of[offset : offset + inner.itemsize] |= covered(inner)
    return bytes_of


def value(rng, depth=0):
    kind = rng.randrange(6 if depth < 2 else 4)
    if kind == 0:
        return rng.choice(TEXTS)
    if kind == 1:
        return rng.choice([0, -1, 127, 128, 2**31, 2**63 - 1, -(2**63)])
    if kind == 2:
        return rng.choice([None, True, False])
    if kind == 3:
        return rng.choice([0.5, -1e300])
    if kind == 4:
        return [value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return {name: value(rng, depth + 1) for name in rng.sample(["a", "b", "naïve", "x" * 40], rng.randrange(4))}


def names(rng, most):
    count = rng.choice([0, 0, 1, 2, rng.randrange(most + 1), most])
    return rng.sample(["n" * 31, "ü" * 15, "b2ndx", *(f"layer{number}" for number in range(20))], count)


class Array:
    """An array in NumPy: its items, and the padding of its chunks.

    Items are stored as bytes, along an additional last dimension. Some shapes have a 0.
    """

    def __init__(self, rng):
        self.rng = rng
        self.dtype_text = rng.choice(DTYPES)
        self.dtype = dtype_of(self.dtype_text)
        self.typesize = self.dtype.itemsize
        self.covered = covered(self.dtype)
        ndim = rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 16])
        longest = {0: 0, 1: 60, 2: 14, 3: 8, 4: 5, 5: 4, 6: 3, 7: 3, 8: 2, 16: 2}[ndim]
        room = 60_000 // self.typesize
        self.chunks, grid = [], []
        for _ in range(ndim):
            self.chunks.append(rng.randint(1, max(1, min(longest, room))))
            room //= 2 * self.chunks[-1]
            grid.append(rng.randint(1, max(1, min(4, room))))
            room //= grid[-1]
        rng.shuffle(order := list(range(ndim)))
        self.chunks = [self.chunks[i] for i in order]
        self.shape = [grid[i] * chunk - rng.randrange(chunk) for i, chunk in zip(order, self.chunks)]
        self.blocks = [rng.randint(1, chunk) for chunk in self.chunks]
        if ndim and rng.random() < 0.05:
            empty = rng.randrange(ndim)
            self.shape[empty] = 0
            if rng.random() < 0.5:
                self.chunks[empty] = self.blocks[empty] = 0
        self.extended = np.zeros((*self.extended_shape(), self.typesize), np.uint8)
        self.known = np.ones(self.extended_shape(), bool)
        inside = self.inside(self.shape)
        self.extended[inside] = self.random_items(self.shape)

    def extended_shape(self):
        return [-(-items // chunk) * chunk if chunk else 0 for items, chunk in zip(self.shape, self.chunks)]

    @staticmethod
    def inside(shape):
        return tuple(slice(0, items) for items in shape)

    def random_items(self, shape, kind=None):
        count = math.prod(shape)
        kind = self.rng.randrange(4) if kind is None else kind
        if kind == 0:
            items = np.zeros((count, self.typesize), np.uint8)
        elif kind == 1:
            items = np.frombuffer(self.rng.randbytes(count * self.typesize), np.uint8).reshape(count, self.typesize)
        else:
            few = np.frombuffer(self.rng.randbytes(7 * self.typesize), np.uint8).reshape(7, self.typesize)
            items = few[np.arange(count) % 7 if kind == 2 else np.sort(np.arange(count) % 7)]
        if self.dtype.kind == "b":
            items = items & 1
        return (items * self.covered).reshape(*shape, self.typesize).astype(np.uint8)

    def numpy(self, items):
        return np.frombuffer(items.tobytes(), self.dtype).reshape(items.shape[:-1])

    def chunk_numbers(self):
        counts = [0 if chunk == 0 else -(-items // chunk) for items, chunk in zip(self.shape, self.chunks)]
        return list(itertools.product(*(range(count) for count in counts)))

    def region(self, coordinate):
        return tuple(slice(at * chunk, (at + 1) * chunk) for at, chunk in zip(coordinate, self.chunks))

    def in_blocks(self, coordinate):
        """A decompressed chunk: block after block, with padding."""
        padded = [-(-chunk // block) * block for chunk, block in zip(self.chunks, self.blocks)]
        items = np.zeros((*padded, self.typesize), np.uint8)
        items[self.inside(self.chunks)] = self.extended[self.region(coordinate)]
        ndim = len(padded)
        split = [part for length, block in zip(padded, self.blocks) for part in (length // block, block)]
        order = [*range(0, 2 * ndim, 2), *range(1, 2 * ndim, 2), 2 * ndim]
        return items.reshape(*split, self.typesize).transpose(order).tobytes()

    def differs(self, read, region):
        """Whether these items differ from the items of a region."""
        items = self.extended[region]
        read = np.frombuffer(np.ascontiguousarray(read).tobytes(), np.uint8).reshape(items.shape)
        return bool((((read != items) & self.covered).any(axis=-1) & self.known[region]).any())

    def random_region(self):
        ends = [sorted((self.rng.randint(0, items), self.rng.randint(0, items))) for items in self.shape]
        return tuple(slice(start, stop) for start, stop in ends)

    # Models of python-blosc2's operations.

    def resize(self, shape):
        self.shape = list(shape)
        old = self.inside(np.minimum(self.extended.shape[:-1], self.extended_shape()))
        extended, known = self.extended[old], self.known[old]
        self.extended = np.zeros((*self.extended_shape(), self.typesize), np.uint8)
        self.known = np.ones(self.extended_shape(), bool)
        self.extended[old], self.known[old] = extended, known

    def set(self, region, items):
        self.extended[region] = items
        self.known[region] = True
        # If a write covers all items of a chunk, C-Blosc2 sets the padding of the chunk to zeros. Otherwise it keeps the
        # padding. This model does not tell the two cases apart: it marks all items outside the shape as unknown.
        visible = self.known[self.inside(self.shape)].copy()
        self.known[...] = False
        self.known[self.inside(self.shape)] = visible


def compression(rng):
    # No dictionary is used: if a chunk in a file has a dictionary, C-Blosc2 3.3.5 can read only the whole chunk, not a
    # part of it, even if C-Blosc2 wrote the file.
    return {
        "codec": rng.choice(CODECS),
        "level": rng.choice([0, 1, 5, 9]),
        "filters": rng.choice(FILTERS),
        "split_mode": rng.randint(1, 4),
        "uses_dictionary": False,
    }


def cparams(asked):
    filters = [0] * (6 - len(asked["filters"])) + asked["filters"]
    return {
        "codec": blosc2.Codec(asked["codec"]),
        "clevel": asked["level"],
        "filters": [blosc2.Filter(number) for number in filters],
        "filters_meta": [0] * 6,
        "splitmode": blosc2.SplitMode(asked["split_mode"]),
        "use_dict": asked["uses_dictionary"],
        "nthreads": 1,
    }


def special(rng, array, coordinate):
    """Makes all items of a chunk equal, or unknown. Returns the step that writes the chunk."""
    kind = rng.choice(["zeros", "uninitialized", "repeat", "repeat", *(["nan"] if array.dtype_text in NANS else [])])
    region = array.region(coordinate)
    item = bytes(array.typesize)
    if kind == "nan":
        item = NANS[array.dtype_text]
    elif kind == "repeat":
        item = array.random_items([1]).tobytes()
    elif kind == "uninitialized":
        array.known[region] = False
    array.extended[region] = np.frombuffer(item, np.uint8)
    return [kind, item.hex()] if kind == "repeat" else ["special", kind]


def chunks_of_python(rng, array, asked):
    """The chunks of a python-blosc2 array with the same items."""
    whole = array.numpy(array.extended)
    result = blosc2.asarray(whole, chunks=array.chunks, blocks=array.blocks, cparams=cparams(asked))
    return [result.schunk.get_chunk(number) for number in range(result.schunk.nchunks)]


def steps(rng, array, asked, source):
    """The steps that write some chunks in any order. The last step fills the other chunks."""
    coordinates = array.chunk_numbers()
    share = rng.choice([0, 0, 0.3, 1])
    given = {n: special(rng, array, at) for n, at in enumerate(coordinates) if rng.random() < share}
    fill = None
    if coordinates and rng.random() < 0.2:
        fill = rng.choice(["zeros", "uninitialized"])
        for number in range(len(coordinates)):
            if given.get(number, [0, 0])[:2] == ["special", fill]:
                del given[number]
                given[number] = None
    existing = chunks_of_python(rng, array, asked) if source == "array" else None
    for number, coordinate in enumerate(coordinates):
        if number in given:
            continue
        kind = rng.choice(["compress2", "stored", "compressed"]) if source == "mixed" else source
        if kind == "array":
            given[number] = ["chunk", existing[number].hex()]
        elif kind == "compress2":
            size = math.prod(array.blocks) * array.typesize
            chunk = blosc2.compress2(array.in_blocks(coordinate), typesize=array.typesize, blocksize=size, **cparams(asked))
            given[number] = ["chunk", chunk.hex()]
        else:
            given[number] = [kind]
    listed = [[number, *how] for number, how in given.items() if how is not None]
    rng.shuffle(listed)
    return listed, fill


def layers(rng, most, wrap):
    """Metalayers by name, as values or as bytes."""
    values = {name: value(rng) for name in names(rng, most)}
    given = []
    for name, content in values.items():
        if rng.random() < 0.5:
            given.append({"name": name, "value": content})
        else:
            given.append({"name": name, "bytes": wrap(msgpack.packb(content)).hex()})
    return values, given


def compressed_value(packed):
    return blosc2.compress2(packed, typesize=1)


def check_reading(array, path, offset):
    opened = blosc2.open(path, mode="r", offset=offset)
    assert isinstance(opened, blosc2.NDArray), type(opened)
    assert list(opened.shape) == array.shape, opened.shape
    assert list(opened.chunks) == array.chunks, opened.chunks
    assert list(opened.blocks) == array.blocks, opened.blocks
    assert opened.dtype == array.dtype, opened.dtype
    assert not array.differs(opened[()], array.inside(array.shape)), "items"
    region = array.random_region()
    assert not array.differs(opened[region], region), f"items {region}"
    return opened


def check_c(array, path, offset):
    """Reads all items with C-Blosc2's own functions."""
    opened = ctypes.c_void_p()
    code = LIBRARY.b2nd_open_offset(path.encode(), ctypes.byref(opened), ctypes.c_int64(offset))
    assert code == 0, f"b2nd_open_offset: {code}"
    ndim = len(array.shape)
    shape, start = (ctypes.c_int64 * 16)(*array.shape), (ctypes.c_int64 * 16)()
    size = math.prod(array.shape) * array.typesize
    items = ctypes.create_string_buffer(max(size, 1))
    if size:
        code = LIBRARY.b2nd_get_slice_cbuffer(opened, start, shape, items, shape, ctypes.c_int64(size))
        assert code == 0, f"b2nd_get_slice_cbuffer: {code} for {ndim} dimensions"
        read = np.frombuffer(items, np.uint8, size)
        assert not array.differs(read, array.inside(array.shape)), "items by C"
    assert LIBRARY.b2nd_free(opened) == 0


def change(rng, array, opened, done):
    """Changes an array with python-blosc2.

    In a sparse frame, no chunk is removed, because the chunks then have fewer bytes: C-Blosc2 3.3.5 does not open a frame with a
    chunk file whose number is larger than the bytes of all chunks, less 32.
    """
    is_sparse = not opened.schunk.contiguous
    kinds = ["set", "vlmetalayer"]
    if 0 not in array.chunks:
        kinds += ["resize", "append"] if len(array.shape) == 1 else ["resize"]
    kind = rng.choice(kinds)
    done.append(kind)
    if kind == "resize":
        shape = [
            rng.choice([items, items if is_sparse else rng.randint(0, items), items + rng.randint(1, 2 * chunk)])
            for items, chunk in zip(array.shape, array.chunks)
        ]
        if math.prod(-(-items // chunk) * chunk for items, chunk in zip(shape, array.chunks)) > 50_000:
            shape = array.shape
        opened.resize(shape)
        array.resize(shape)
    elif kind == "append":
        items = array.random_items([rng.randint(1, 3 * array.chunks[0])])
        opened.append(array.numpy(items))
        start = array.shape[0]
        array.resize([start + len(items)])
        array.set((slice(start, start + len(items)),), items)
    elif kind == "set":
        region = array.random_region()
        items = array.random_items([part.stop - part.start for part in region], 1 if is_sparse else None)
        # The item of an array without dimensions is set only if it is an integer: python-blosc2 converts this item to a
        # Python object, which changes some values.
        if items.size and (array.shape or array.dtype.kind in "iu"):
            opened[region if region else ()] = array.numpy(items)
            array.set(region, items)
    else:
        opened.schunk.vlmeta["later"] = "changed"


def case(rng, path, told):
    """Asks for an array, and checks it. Records the steps in `told`."""
    array = Array(rng)
    asked = compression(rng)
    into = rng.choice(["file", "file", "directory", "directory", "writer", "offset", "vec"])
    source = rng.choice(["array", "compress2", "stored", "compressed", "mixed", "regions", "regions", "regions"])
    regions = None
    if source == "regions":
        # Asks for an array that is written as items, in regions of any shape and order. LZ4HC is not used, because this
        # project cannot write it.
        asked["codec"] = rng.choice([codec for codec in CODECS if codec != 2])
        regions, given, fill = rng.getrandbits(32), [], None
    else:
        given, fill = steps(rng, array, asked, source)
    if into == "vec" and (regions is not None or fill or any(step[1] not in ("chunk", "compressed") for step in given)):
        into = "writer"
    metalayers, given_metalayers = layers(rng, 15, bytes)
    vlmetalayers, given_vlmetalayers = layers(rng, 15, compressed_value)
    ask = {
        "path": path, "into": into, "dtype": array.dtype_text, "typesize": array.typesize,
        "shape": array.shape, "chunkshape": array.chunks, "blockshape": array.blocks, **asked,
        "items": array.extended[array.inside(array.shape)].tobytes().hex(), "steps": given, "fill": fill, "regions": regions,
        "metalayers": given_metalayers, "vlmetalayers": given_vlmetalayers,
    }  # fmt: skip
    told |= {name: ask[name] for name in ("into", "dtype", "shape", "chunkshape", "blockshape", "fill")} | asked
    told |= {"ndim": len(array.shape), "source": source, "kinds": [step[1] for step in given], "done": []}
    say(ask)

    offset = 100 if into == "offset" else 0
    opened = check_reading(array, path, offset)
    assert opened.schunk.contiguous == (into != "directory")
    found = opened.schunk.cparams
    for name, expected in cparams(asked).items():
        assert name == "nthreads" or getattr(found, name) == expected, (name, found, expected)
    assert {name: opened.schunk.meta[name] for name in opened.schunk.meta if name != "b2nd"} == metalayers
    assert opened.schunk.vlmeta.getall() == vlmetalayers
    del opened
    check_c(array, path, offset)

    done = told["done"]
    # python-blosc2 cannot change a frame that begins within a file.
    for _ in range(0 if offset else rng.randrange(4)):
        opened = blosc2.open(path, mode="a")
        change(rng, array, opened, done)
        del opened
        opened = check_reading(array, path, 0)
        assert {name: opened.schunk.meta[name] for name in metalayers} == metalayers
        later = {"later": "changed"} if "vlmetalayer" in done else {}
        assert opened.schunk.vlmeta.getall() == vlmetalayers | later
        del opened
        check_c(array, path, 0)
    say(told | {"verified": path})


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    for number in range(first, first + count):
        told = {}
        try:
            case(random.Random(f"{seed} {number}"), os.path.join(folder, f"{number}.b2nd"), told)
        except Exception:
            print(f"array {number} of seed {seed}: {told}", file=sys.stderr)
            raise


main()
