"""Damages every byte of the headers of frames, and compares the answers of python-blosc2 and `b2nd check`.

Each byte gets all 255 other values; --quick makes only some hundred of these changes. python-blosc2 opens each damaged frame,
and reads all data and metadata if it can.
"""

import collections
import dataclasses
import random
from pathlib import Path

import blosc2
import numpy as np

from shared import CRASH, HANG, SECONDS, table
from study import IS_QUICK, Frame, b2nd, change, damage, examples, grouped, report, scratch

SAMPLE = 250
LEAST_SEEN = 0.998

# The results of python-blosc2, the worst result first. `b2nd check` should report the damage for the first five
# results.
RESULTS = [
    CRASH,
    HANG,
    "error",
    "no array",
    "other shape, chunks or blocks",
    "other dtype",
    "error while reading",
    "other data",
    "other metadata",
    "same",
]
ERROR, NO_ARRAY, GRID, DTYPE, NO_DATA, DATA, METADATA, SAME = RESULTS[2:]
WANTED = RESULTS[:5]


# The files. No item is 0, so that lost data can be recognized.


def items(shape, dtype="<i4"):
    return (1 + np.arange(np.prod(shape))).astype(dtype).reshape(shape)


def write(path, array, chunks, blocks, contiguous=True, **more):
    cparams = {"nthreads": 1, "typesize": array.dtype.itemsize}
    return blosc2.asarray(array, chunks=chunks, blocks=blocks, urlpath=path, contiguous=contiguous, cparams=cparams, **more)


def struct(path):
    array = np.zeros(90, [("id", "<i8"), ("at", "<f4", (2,)), ("name", "S7")])
    array["id"], array["at"], array["name"] = items(90), 0.5, b"b2nd"
    write(path, array, (40,), (10,))


def vlmetalayers(path):
    array = write(path, items((7, 90), "<f8"), (4, 30), (2, 10), meta={"vendor": {"serial": 7, "tags": ["a", "b"]}})
    array.schunk.vlmeta["unit"], array.schunk.vlmeta["notes"] = "kelvin", ["one", "two"] * 40


def empty(path):
    blosc2.empty((0, 90), dtype="<i4", chunks=(4, 30), blocks=(2, 10), urlpath=path, cparams={"nthreads": 1})


KINDS = {
    "plain": lambda path: write(path, items((7, 90)), (4, 30), (2, 10)),
    "struct": struct,
    "8 dimensions": lambda path: write(path, items((3, 4, 2, 1) * 2, "<i2"), (2, 2, 2, 1) * 2, (1, 2, 1, 1) * 2),
    "16 dimensions": lambda path: write(path, items((3, 2, 1, 1) * 4, "<f4"), (2, 2, 1, 1) * 4, (1, 2, 1, 1) * 4),
    "sparse": lambda path: write(path, items((7, 90)), (4, 30), (2, 10), contiguous=False),
    "vlmetalayers": vlmetalayers,
    "empty": empty,
}


class HeaderFrame(Frame):
    """A frame, with the field of each byte of its header, and the values that python-blosc2 shows."""

    def __init__(self, folder, name):
        super().__init__(folder, name, KINDS[name])
        if self.path.is_dir():
            self.file = self.path / "chunks.b2frame"
        assert self.healthy == ([("warning", "high-rank")] if name == "16 dimensions" else []), f"{name}: {self.healthy}"
        self.bytes = self.file.read_bytes()
        self.header_len = int.from_bytes(self.bytes[11:15])
        self.expected = dict(differences(self.path))
        assert self.expected[NO_ARRAY] and DATA in self.expected and isinstance(self.expected[METADATA], list), name
        self.fields = fields(self.path, self.header_len)


def fields(path, header_len):
    """The field of each byte of the header."""
    [dump] = b2nd("dump", "--json", path)
    owners, part, names = [], "header", []
    for row in dump["values"]:
        name, kind, length = row["field"], row["type"], len(row["hex"]) // 2
        if name in ("metalayers", "content"):
            part = "metalayers"
        if name == "name":
            names.append(row["value"])
        single = name.split("[")[0] if part != "header" else name
        value = {"": "dtype", "dtype": "length of the dtype"}.get(single, single)
        has_marker = kind and (length > 1 or kind not in ("fixint", "bool"))
        of_row = [f"{part}: {value}"] * length
        if has_marker:
            of_row[0] = f"{part}: markers"
        owners += [f"{part}: content"] * length if part == "other metalayer" else of_row
        if name == "content":
            part = "b2nd" if names.pop(0) == "b2nd" else "other metalayer"
    assert len(owners) == header_len, path
    return owners


# The answers of python-blosc2.


def differences(path):
    """Yields the parts of an array that python-blosc2 shows, with their values. The caller stops at the first part that differs."""
    array = blosc2.open(str(path), mode="r")
    is_array = isinstance(array, blosc2.NDArray)
    yield NO_ARRAY, is_array
    if not is_array:
        return
    yield GRID, (array.shape, array.chunks, array.blocks)
    yield DTYPE, str(array.dtype)
    try:
        data = array[...].tobytes()
    except Exception:
        yield NO_DATA, True
    else:
        yield DATA, data
    yield METADATA, metadata(array.schunk)


def metadata(schunk):
    try:
        cparams = {name: str(value) for name, value in dataclasses.asdict(schunk.cparams).items()}
        meta = {name: schunk.meta[name] for name in schunk.meta if name != "b2nd"}
        return [schunk.typesize, schunk.nbytes, schunk.cbytes, cparams, meta, dict(schunk.vlmeta.getall())]
    except Exception as error:
        return type(error).__name__


def verdict(frame, path):
    """Returns the first difference, which is also the worst. If the shapes differ, also returns the shapes that python-blosc2 shows."""
    try:
        for part, seen in differences(path):
            if seen != frame.expected.get(part):
                return part, seen if part == GRID else None
    except Exception:
        return ERROR, None
    return SAME, None


# The report.

SAME_GRID = "a shape or chunk shape in the same grid"
EMPTY = "an array without items"


def why(frame, result, grid):
    """The reason why `b2nd check` cannot find the damage: the file is still consistent. None if the damage should be found."""
    if result not in WANTED:
        return None
    if frame.name == "empty":
        return EMPTY
    return SAME_GRID if result == GRID and structure(grid) == structure(frame.expected[GRID]) else None


def structure(grid):
    """The numbers that determine the structure of a file: the chunks along each dimension, their padded size, and the blocks."""
    shape, chunks, blocks = grid
    if len(shape) != len(chunks) or 0 in (*chunks, *blocks):
        return grid
    nblocks = rounded_up(chunks, blocks)
    return rounded_up(shape, chunks), [count * size for count, size in zip(nblocks, blocks)], list(blocks)


def rounded_up(items, sizes):
    return [-(-count // size) for count, size in zip(items, sizes)]


INTRODUCTION = """\
# What damage to the header of a frame does, and who sees it

Written by `lab/run headers`. Each byte of the headers of {files} files is set to {values}, one at a time: {count} changes. After
each, python-blosc2 opens the file, and reads all data and metadata if it finds the same array. "No array" means an error, another
object, a crash, or no answer within {seconds} seconds; "grid" is shape, chunks and blocks; "other data" includes an error while reading.
"Seen" means that `b2nd check` reports an error or a warning, without reading chunks.

"""

NO_TRACE = {
    SAME_GRID: "The number of chunks along each dimension and their padded size are the same.",
    EMPTY: "There are no chunks to count, and only the product of the chunk shape is stored a second time.",
}


def is_wanted(case):
    return case["python"] in WANTED


def is_missed(case):
    return is_wanted(case) and not case[""] and not case["why"]


def seen_of(of, *results):
    of = [case for case in of if case["python"] in results]
    return f"{sum(bool(case['']) for case in of)} of {len(of)}"


def row(name, of):
    counts = collections.Counter(case["python"] for case in of)
    wanted = [case for case in of if is_wanted(case)]
    seen = sum(bool(case[""]) for case in wanted)
    hidden = sum(bool(not case[""] and case["why"]) for case in wanted)
    none = sum(counts[result] for result in (CRASH, HANG, ERROR, NO_ARRAY))
    rest = [seen_of(of, DTYPE), seen_of(of, NO_DATA, DATA), seen_of(of, METADATA)]
    return name, len(of), none, counts[GRID], seen, hidden, *rest


COLUMNS = " | ".join(
    f"{name}:" for name in "changes|no array|other grid|of both, seen|no trace|other dtype, seen|other data, seen|other metadata, seen".split("|")
)


def by(what, groups):
    return table(f"{what} | {COLUMNS}", (row(name, of) for name, of in groups.items()))


def is_unseen(case):
    return case["python"] != SAME and not case[""]


def page(cases, files):
    wanted = [case for case in cases if is_wanted(case)]
    seen = sum(bool(case[""]) for case in wanted)
    hidden = collections.Counter(case["why"] for case in wanted if not case[""] and case["why"])
    missed = [case for case in wanted if is_missed(case)]
    values = "some other values" if IS_QUICK else "all 255 other values"
    text = INTRODUCTION.format(files=files, values=values, count=len(cases), seconds=SECONDS)
    text += f"After {len(wanted)} of the changes python-blosc2 shows no array or another grid. `check` sees {seen} of them, and misses {len(missed)}.\n"
    text += f"The other {hidden.total()} leave no trace in the structure of the file:\n\n"
    text += table("what | changes: | why", ((what, hidden[what], reason) for what, reason in NO_TRACE.items()))
    text += "\nThe dtype is not stored a second time either, only the size of its items.\n\n"
    text += by("file", grouped(cases, lambda case: case["frame"]))
    fields = grouped(cases, lambda case: case["field"])
    partly = {name: of for name, of in fields.items() if any(map(is_unseen, of))}
    text += f"\nIn {len(fields) - len(partly)} of {len(fields)} fields, `check` sees each change that affects python-blosc2. The others:\n\n"
    text += by("field", partly) + "\n"
    if missed:
        text += "`check` misses " + examples(missed, lambda case: f"{case['frame']}, {change(case)}", "; …") + ".\n\n"
    crashes = collections.Counter(case["python"] for case in wanted)
    return text + f"python-blosc2 crashed {crashes[CRASH]} times, and gave no answer {crashes[HANG]} times.\n"


def main():
    with scratch() as folder:
        frames = {name: HeaderFrame(folder, name) for name in KINDS}
        changes = [
            (frame, at, value) for frame in frames.values() for at in range(frame.header_len) for value in range(256) if value != frame.bytes[at]
        ]
        if IS_QUICK:
            order = {name: number for number, name in enumerate(KINDS)}
            changes = random.Random(1).sample(changes, SAMPLE)
            changes.sort(key=lambda change: (order[change[0].name], *change[1:]))
        jobs = [(place, [value for *_, value in of]) for place, of in grouped(changes, lambda change: change[:2]).items()]
        cases = damage(jobs, verdict, [""], folder)
    for case in cases:
        # The result of python-blosc2 is a list: the worst difference and, if the shapes differ, the grid. After a crash
        # or a hang, the result is only a text.
        seen, frame = case["python"], frames[case["frame"]]
        case["python"], grid = seen if isinstance(seen, list) else (seen, None)
        case |= {"field": frame.fields[case["at"]], "why": why(frame, case["python"], grid)}
    missed, wanted = (sum(map(which, cases)) for which in (is_missed, is_wanted))
    fault = f"{missed} of {wanted} changes are not seen, more than {1 - LEAST_SEEN:.1%}" if missed > (1 - LEAST_SEEN) * wanted else None
    figure = f"{len(cases)} changes; of {wanted} that show no array or another grid, {missed} are missed without a reason"
    report("headers", page(cases, len(frames)), figure, fault)


if __name__ == "__main__":
    main()
