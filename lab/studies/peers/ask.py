"""The answer of python-blosc2 about a frame.

`opens` is the type of the object that `blosc2.open` returns, or the name of its exception. `blosc2.open` refuses, for example, objects
that would run code or open another file. So the values of the frame come from its super-chunk, which can be opened for every frame.
"""

import contextlib
import tempfile
import zipfile
from pathlib import Path

import blosc2
import numpy as np

MAGIC = b"b2frame\0"
# The maximum number of bytes to read from one frame.
MOST = 1 << 30


def places(path):
    """Yields the frames in a file, then those in the data of a store. A frame is the name of a member, and the place for `answer`."""
    in_file = list(whole(path))
    yield from in_file
    for _, offset in in_file:
        yield from embedded(path, offset)


def embedded(path, offset):
    """Yields the frames in the data of a store: the key, and the place. The place is the offset of the store, and a range of its data."""
    # A directory is a sparse frame and not a store, so its data has no frames.
    if Path(path).is_dir():
        return
    with open(path, "rb") as file:
        file.seek(offset)
        start = file.read(1 << 12)
        if not any(name in start for name in (b"b2embed", b"b2dict", b"b2tree")):
            return
    try:
        store = blosc2.blosc2_ext.open(path, "r", offset)
    except RuntimeError:  # A compressed member of a zip file.
        return
    schunk = store.schunk if isinstance(store, blosc2.NDArray) else store
    if "estore_metadata" in schunk.vlmeta:
        for key, place in schunk.vlmeta["estore_metadata"]["embed_map"].items():
            if "offset" in place:
                yield key, (offset, place["offset"], place["length"])


def whole(path):
    """Yields the frames in a file: the member, and the offset. Includes compressed members, which python-blosc2 refuses."""
    if not path.endswith(".b2z"):
        yield None, 0
        return
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for member in archive.infolist():
            with archive.open(member) as content:
                is_frame = content.read(10)[2:] == MAGIC
            if is_frame:
                # A local header has 30 bytes, a name and extra fields. The lengths of these two are at byte 26.
                file.seek(member.header_offset + 26)
                lengths = file.read(4)
                offset = member.header_offset + 30 + int.from_bytes(lengths[:2], "little")
                yield member.filename, offset + int.from_bytes(lengths[2:], "little")


def opens_as(path, offset=0):
    try:
        return type(blosc2.open(path, mode="r", offset=offset)).__name__
    except Exception as error:
        return type(error).__name__


def says(path, offset=0, read=False):
    opened = blosc2.blosc2_ext.open(path, "r", offset)
    is_array = isinstance(opened, blosc2.NDArray)
    schunk = opened.schunk if is_array else opened
    cparams = schunk.cparams
    said = {
        "container": "cframe" if schunk.contiguous else "sframe",
        "is_array": is_array,
        "typesize": schunk.typesize,
        "stored_nbytes": schunk.nbytes,
        "cbytes": schunk.cbytes,
        "nchunks": schunk.nchunks,
        "codec": name_of(cparams.codec, "codec"),
        "clevel": cparams.clevel,
        "filters": [name_of(filter, "filter") for filter in cparams.filters if int_of(filter) != 0],
        "metalayers": sorted(schunk.meta),
        "vlmetalayers": sorted(schunk.vlmeta),
    }
    if is_array:
        said |= {
            "shape": opened.shape,
            "chunks": opened.chunks,
            "blocks": opened.blocks,
            "ndim": opened.ndim,
            "nbytes": int(np.prod(opened.shape, dtype=object)) * opened.dtype.itemsize,
            "dtype": text_of(opened.dtype),
        }
    if read:
        read_all(opened)
    return said


def text_of(dtype):
    """The text that python-blosc2 writes for a dtype. NumPy's short form (`dtype.str`) does not show fields and subarrays."""
    return str(dtype) if dtype.names or dtype.subdtype else dtype.str


def int_of(number):
    return getattr(number, "value", number)


def name_of(number, kind):
    """The name of a codec or a filter, or its number if it has no name."""
    return number.name.lower() if hasattr(number, "name") else f"{kind} {number}"


def read_all(opened):
    """Reads all items, or all chunks, up to the memory limit."""
    if isinstance(opened, blosc2.NDArray):
        if opened.schunk.nbytes <= MOST:
            opened[...]
        return
    for number in range(min(opened.nchunks, MOST // max(opened.chunksize, 1))):
        opened.decompress_chunk(number)


@contextlib.contextmanager
def in_file(path, place):
    """The path and offset of the frame at a place. A frame in the data of a store is first written to a temporary file."""
    if isinstance(place, int):
        yield path, place
        return
    offset, start, length = place
    store = blosc2.blosc2_ext.open(path, "r", offset)
    with tempfile.TemporaryDirectory() as folder:
        frame = Path(folder, "frame")
        frame.write_bytes(bytes(store[start : start + length]))
        yield str(frame), 0


def answer(path, place, read):
    """The answer of python-blosc2 about a frame, or its refusal. If `read` is true, python-blosc2 also reads the data."""
    with in_file(path, place) as (path, offset):
        return answer_at(path, offset, read)


def answer_at(path, offset, read):
    said = {"opens": opens_as(path, offset)}
    try:
        said["frame"] = says(path, offset, read)
    except Exception as error:
        said["refused"] = f"{type(error).__name__}: {error}".replace(path, "FRAME")
    return said
