"""Damages every byte of the headers of chunks, and compares the answers of python-blosc2 and `b2nd check`.

The study takes ten chunks of different kinds. Each of the 32 header bytes gets 15 or 16 other values. For each value, python-blosc2 reads the
chunk as a whole, and each of its items, with the file opened anew every time.
"""

import collections
import hashlib
from pathlib import Path

import blosc2
import numpy as np

from shared import CRASH, HANG, table
from study import IS_QUICK, Frame, b2nd, change, damage, examples, grouped, report, scratch

VALUES = [0, 1, 2, 3, 4, 5, 7, 8, 0x10, 0x20, 0x30, 0x40, 0x7F, 0x80, 0xC0, 0xFF]
CHUNK = 1
ITEMS = 24
HEADER = 32

FIELDS = [
    (0, 1, "version"),
    (1, 2, "version of the codec"),
    (2, 3, "flags"),
    (3, 4, "typesize"),
    (4, 8, "nbytes"),
    (8, 12, "blocksize"),
    (12, 16, "cbytes"),
    (16, 22, "filters"),
    (22, 23, "codec"),
    (23, 24, "parameter of the codec"),
    (24, 30, "parameters of the filters"),
    (30, 31, "flags of the blocks"),
    (31, 32, "dictionary, special value"),
]
# The results of a read: the right data, other data, or an error. If the process hangs, that counts as a crash.
EQUAL, OTHER, ERROR = "equal", "other", "error"
RESULTS = [EQUAL, OTHER, ERROR, CRASH]


# Reading.


def read(path, item):
    """An item of the chunk, or the whole chunk, as bytes."""
    opened = blosc2.open(path, mode="r")
    if isinstance(opened, blosc2.NDArray):
        if item is None:
            return opened.schunk.decompress_chunk(CHUNK)
        return opened[CHUNK * ITEMS + item].tobytes()
    if isinstance(opened, blosc2.SChunk):
        return opened.decompress_chunk(CHUNK)
    values = list(opened[CHUNK])
    return repr(values if item is None else values[item]).encode()


def data(path, item):
    """The data of a read, or no data after an error. A damaged chunk can have 2 GiB."""
    try:
        return hashlib.sha256(read(str(path), item)).hexdigest()
    except Exception:
        return None


def verdict(frame, path):
    """The worst result of all reads."""
    seen = [(data(path, item), right) for item, right in frame.expected.items()]
    if any(found not in (None, right) for found, right in seen):
        return OTHER
    return ERROR if any(found is None for found, _ in seen) else EQUAL


# The files.


def array(path, dtype="<i4", blocks=8, contiguous=True, values=None, **cparams):
    values = np.arange(3 * ITEMS) // 3 if values is None else values
    options = {"chunks": (ITEMS,), "blocks": (blocks,), "cparams": {"nthreads": 1, **cparams}}
    blosc2.asarray(values.astype(dtype), urlpath=path, contiguous=contiguous, **options)


def of_any_length(path):
    schunk = blosc2.SChunk(chunksize=-1, urlpath=path, cparams={"typesize": 1, "nthreads": 1})
    for count in 30, 50, 40:
        schunk.append_data(b"abcd" * count)


def of_any_blocks(path):
    batches = blosc2.BatchArray(items_per_block=2, urlpath=path)
    for word in "one", "two", "three":
        batches.append([word * 20, word * 30, word * 40])


C, F, S = blosc2.Codec, blosc2.Filter, blosc2.SplitMode
NO_SPLIT = {"splitmode": S.NEVER_SPLIT}
# With these arguments, the streams of a block are long enough to be compressed. C-Blosc2 never compresses a stream of a
# few bytes.
WIDE = {"dtype": "<c16", "values": np.arange(3 * ITEMS) // 8}
KINDS = {
    "blosclz, shuffle": lambda path: array(path, **WIDE, codec=C.BLOSCLZ, filters=[F.SHUFFLE], **NO_SPLIT),
    "lz4, bitshuffle": lambda path: array(path, **WIDE, codec=C.LZ4, filters=[F.BITSHUFFLE], **NO_SPLIT),
    "lz4hc, trunc_prec, shuffle": lambda path: array(
        path, "<f8", codec=C.LZ4HC, filters=[F.TRUNC_PREC, F.SHUFFLE], filters_meta=[10, 0], blocks=24, **NO_SPLIT
    ),
    "zlib, split, sparse": lambda path: array(path, **WIDE, contiguous=False, codec=C.ZLIB, splitmode=S.ALWAYS_SPLIT),
    "zstd, no filter": lambda path: array(path, **WIDE, codec=C.ZSTD, filters=[], **NO_SPLIT),
    "zstd, dictionary": lambda path: array(
        path, "S400", 2, values=np.array([f"{n % 7} and {n % 5} " * 20 for n in range(3 * ITEMS)], "S400"), codec=C.ZSTD, use_dict=True, **NO_SPLIT
    ),
    "not compressed": lambda path: array(path, clevel=0),
    "one value": lambda path: blosc2.full(3 * ITEMS, 7, dtype="<i4", chunks=(ITEMS,), blocks=(8,), urlpath=path),
    "chunks of any length": of_any_length,
    "blocks of any length": of_any_blocks,
}


class ChunkFrame(Frame):
    """A frame with the place of its chunk, and the data of each read."""

    def __init__(self, folder, name):
        super().__init__(folder, name, KINDS[name])
        assert not self.healthy, f"{name}: {self.healthy}"
        chunk = b2nd("chunks", "--json", self.path)[CHUNK]
        self.file, self.start = Path(chunk["file"]), chunk["offset"]
        opened = blosc2.open(str(self.path), mode="r")
        items = range(ITEMS) if isinstance(opened, blosc2.NDArray) else [] if isinstance(opened, blosc2.SChunk) else [0, 1]
        # Only items that python-blosc2 can read are compared. If a chunk in a file has a dictionary, C-Blosc2 3.3.5 can
        # read the whole chunk, but not one item alone.
        self.expected = {item: right for item in [None, *items] if (right := data(self.path, item))}
        assert None in self.expected, name


def changes(frame, values):
    header = frame.file.read_bytes()[frame.start :][:HEADER]
    for at, old in enumerate(header):
        others = [value for value in values if value != old]
        others += [value for value in (old ^ 1, old ^ 2) if value not in others]
        yield (frame, at), others[: len(values)]


# The report.

INTRODUCTION = """\
# What damage to the header of a chunk does, and who sees it

Written by `lab/run damage`. In {kinds} chunks of different kinds, each of the 32 bytes of the header is set to {values} other
values, one at a time. python-blosc2 then reads the whole chunk and each item, and opens the file anew for each read. "Other", the
worst result, means that at least one read gives other data without an error. `b2nd check --chunks` or `--data` "sees" what it
reports as an error or a warning.

"""

NOT_OF_AN_ARRAY = "only an array needs the same value in all chunks; other frames accept chunks of any origin"
WHY = {
    "version": "3 is valid: a chunk of an alpha version, with one filter fewer",
    "flags": "these bytes decompress in another way as well",
    "dictionary, special value": "bit 3 marks a chunk in memory without its data",
    **dict.fromkeys(["typesize", "blocksize", "nbytes", "filters", "parameters of the filters"], NOT_OF_AN_ARRAY),
}


def rows(cases):
    for start, end, field in [*FIELDS, (0, HEADER, "**all**")]:
        of = [case for case in cases if start <= case["at"] < end]
        counts = collections.Counter(case["python"] for case in of)
        bad = [case for case in of if case["python"] != EQUAL]
        seen = [f"{sum(bool(case[depth]) for case in bad)} of {len(bad)}" for depth in ("--chunks", "--data")]
        needless = sum(bool(case["--data"]) for case in of if case["python"] == EQUAL)
        place = f"{start}" if end == start + 1 else f"{start} to {end - 1}"
        yield place, field, len(of), *(counts[result] for result in RESULTS), *seen, needless


def field_of(case):
    return next(field for start, end, field in FIELDS if start <= case["at"] < end)


def main():
    values, names = (VALUES[::5], list(KINDS)[0:10:3]) if IS_QUICK else (VALUES, list(KINDS))
    with scratch() as folder:
        frames = [ChunkFrame(folder, name) for name in names]
        jobs = [job for frame in frames for job in changes(frame, values)]
        cases = damage(jobs, verdict, ["--chunks", "--data"], folder)
    for case in cases:
        case["python"] = CRASH if case["python"] == HANG else case["python"]
    missed = [case for case in cases if case["python"] != EQUAL and not case["--data"]]
    text = INTRODUCTION.format(kinds=len(names), values=len(values))
    text += table(
        "bytes | field | files: | equal: | other: | error: | crash: | `--chunks` sees of other, error, crash: | `--data` sees: | reported though equal:",
        rows(cases),
    )
    text += "\nWhat `--data` does not see:\n\n"
    text += table(
        "field | chunk | files: | byte: old to new",
        ((*group, len(of), examples(of, change)) for group, of in sorted(grouped(missed, lambda case: (field_of(case), case["frame"])).items())),
    )
    text += "\nBlosc2 has no checksums, and:\n\n"
    for why, of in grouped(missed, lambda case: WHY.get(field_of(case), "no reason is known")).items():
        text += f"- {', '.join(dict.fromkeys(map(field_of, of)))}: {why}.\n"
    unexplained = [case for case in missed if field_of(case) not in WHY]
    fault = f"{len(unexplained)} damages are not seen, and no reason is known" if unexplained else None
    figure = f"{len(cases)} damages, {len(missed)} not seen by `check --data`, {len(unexplained)} of these unexplained"
    report("damage", text, figure, fault, f". The chunks: {'; '.join(names)}")


if __name__ == "__main__":
    main()
