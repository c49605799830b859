"""Damages every byte of the headers of frames, and asks python-blosc2 and `b2nd check` what they make of it.

    header.py B2ND           every byte, 255 other values each; writes docs/DAMAGE_HEADER.md, in about half an hour
    header.py B2ND --quick   some thousand of them, by a fixed seed, for the tests; prints the page only

python-blosc2 opens each damaged frame, and reads all data and metadata if it can. It does so in processes of its own, with
limits on time and memory, as it may crash or hang.
"""

import collections
import dataclasses
import datetime
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import blosc2
import numpy as np

from judge import CRASH, HANG, SECONDS, answers, reported

blosc2.set_nthreads(1)

PROCESSES = 2
SAMPLE = 3000
LEAST_SEEN = 0.998

# What python-blosc2 then shows, worst first. Of the first five a report is wanted.
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


# The files. No item is 0, so that lost data is told from data.


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


class Kind:
    """A file, the bytes that are damaged, and what python-blosc2 shows of it."""

    def __init__(self, b2nd, folder, name):
        self.name = name
        self.path = folder / f"{name}.b2nd"
        KINDS[name](str(self.path))
        self.header_file = self.path / "chunks.b2frame" if self.path.is_dir() else self.path
        self.bytes = self.header_file.read_bytes()
        self.header_len = int.from_bytes(self.bytes[11:15])
        self.expected = dict(differences(self.path))
        assert self.expected[NO_ARRAY] and DATA in self.expected and isinstance(self.expected[METADATA], list), name
        self.fields = fields(b2nd, self.path, self.header_len)
        [self.healthy] = reported(b2nd, [self.path], "--data")
        assert self.healthy == ([("warning", "high-rank")] if name == "16 dimensions" else []), f"{name}: {self.healthy}"

    def reported(self, b2nd, paths, *depth):
        """What is reported of damaged files, and not of the healthy one."""
        return [[code for code in codes if code not in self.healthy] for codes in reported(b2nd, paths, *depth)]

    def damage(self, folder, at, value):
        path = folder / f"{value}.b2nd"
        damaged = bytearray(self.bytes)
        damaged[at] = value
        if self.path.is_dir():
            path.mkdir()
            for file in self.path.iterdir():
                if file != self.header_file:
                    os.link(file, path / file.name)
            (path / self.header_file.name).write_bytes(damaged)
        else:
            path.write_bytes(damaged)
        return path


def fields(b2nd, path, header_len):
    """What each byte of the header belongs to."""
    output = subprocess.run([b2nd, "dump", "--json", path], capture_output=True, text=True, check=True).stdout
    owners, part, names = [], "header", []
    for row in json.loads(output)["values"]:
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


# What python-blosc2 makes of a file.


def differences(path):
    """What python-blosc2 shows of an array, part by part; no later part is asked for where an earlier one differs."""
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


def verdict(path, expected):
    """The first and worst difference, and the grid if that is it."""
    try:
        for part, seen in differences(path):
            if seen != expected.get(part):
                return part, seen if part == GRID else None
    except Exception:
        return ERROR, None
    return SAME, None


# What `b2nd check` makes of it.


def cases(job):
    """All that is known of the values of one byte."""
    b2nd, folder, kind, at, values = job
    with tempfile.TemporaryDirectory(dir=folder) as folder:
        paths = [kind.damage(Path(folder), at, value) for value in values]
        seen = answers(lambda path: verdict(path, kind.expected), paths)
        found = []
        for value, path, (result, grid), codes in zip(values, paths, seen, kind.reported(b2nd, paths)):
            found.append({"kind": kind.name, "field": kind.fields[at], "at": at, "old": kind.bytes[at], "new": value})
            found[-1] |= {"python": result, "codes": codes, "path": path, "why": why(kind, result, grid)}
        missed = [case for case in found if case["python"] != SAME and not case["codes"]]
        deep = kind.reported(b2nd, [case["path"] for case in missed], "--data") if missed else []
        for case, codes in zip(missed, deep):
            case["deep"] = codes
        return found


SAME_GRID = "a shape or chunk shape in the same grid"
EMPTY = "an array without items"


def why(kind, result, grid):
    """Why nothing in the structure of the file shows it."""
    if result not in WANTED:
        return None
    if kind.name == "empty":
        return EMPTY
    return SAME_GRID if result == GRID and structure(grid) == structure(kind.expected[GRID]) else None


def structure(grid):
    """What the structure of a file depends on: the chunks along each dimension, their padded size, and the blocks."""
    shape, chunks, blocks = grid
    if len(shape) != len(chunks) or 0 in (*chunks, *blocks):
        return grid
    nblocks = rounded_up(chunks, blocks)
    return rounded_up(shape, chunks), [count * size for count, size in zip(nblocks, blocks)], list(blocks)


def rounded_up(items, sizes):
    return [-(-count // size) for count, size in zip(items, sizes)]



# What is told of it.

INTRODUCTION = """\
# What damage to the header of a frame does, and who sees it

Written by `lab/interop/header.py`. Each byte of the headers of {files} files gets {values}, one at a time: {count} changes. After
each, python-blosc2 opens the file, and reads all data and metadata if it still shows the same array. "No array" means that it
gives an error, opens something else, crashes, or gives no answer within {seconds} seconds; "grid" is shape, chunks and blocks; "data"
means other data, or an error while reading. `b2nd check` sees what it reports as an error or a warning, without reading
chunks.

"""

NO_TRACE = {
    SAME_GRID: "There are as many chunks along each dimension, and each one has the same size with its padding.",
    EMPTY: "There are no chunks to count, and only the product of the chunk shape is stored a second time.",
}


def is_wanted(case):
    return case["python"] in WANTED


def is_missed(case):
    return is_wanted(case) and not case["codes"] and not case["why"]


def row(name, of):
    counts = collections.Counter(case["python"] for case in of)
    wanted = [case for case in of if is_wanted(case)]
    seen = sum(bool(case["codes"]) for case in wanted)
    hidden = sum(bool(not case["codes"] and case["why"]) for case in wanted)
    other = [counts[GRID], sum(counts[result] for result in (CRASH, HANG, ERROR, NO_ARRAY))]
    rest = [seen_of(of, DTYPE), seen_of(of, NO_DATA, DATA), seen_of(of, METADATA), f"{seen_of(of, SAME)}"]
    return f"| {name} | {len(of)} | {other[1]} | {other[0]} | {seen} | {hidden} | {sum(map(is_missed, of))} | {' | '.join(rest)} |"


def seen_of(of, *results):
    of = [case for case in of if case["python"] in results]
    return f"{sum(bool(case['codes']) for case in of)} of {len(of)}"


def table(what, groups):
    head = f"| {what} | changes | no array | other grid | of both, seen | no trace | missed | other dtype, seen | other data, seen | other metadata, seen | same, but reported |"
    return "\n".join([head, "|---" + "|---:" * 10 + "|", *(row(name, of) for name, of in groups.items())]) + "\n"


def grouped(all_cases, key):
    groups = collections.defaultdict(list)
    for case in all_cases:
        groups[key(case)].append(case)
    return groups


def page(all_cases, kinds, values):
    wanted = [case for case in all_cases if is_wanted(case)]
    seen = sum(bool(case["codes"]) for case in wanted)
    hidden = collections.Counter(case["why"] for case in wanted if not case["codes"] and case["why"])
    missed = [case for case in wanted if is_missed(case)]
    text = INTRODUCTION.format(files=len(kinds), values=values, count=len(all_cases), seconds=SECONDS)
    text += f"After {len(wanted)} of the changes python-blosc2 shows no array or another grid. `check` sees {seen} of them. Nothing in the\n"
    text += f"structure of the file shows {hidden.total()}:\n\n| what | changes | why |\n|---|---:|---|\n"
    text += "".join(f"| {what} | {hidden[what]} | {reason} |\n" for what, reason in NO_TRACE.items())
    share = 100 * seen / (seen + len(missed))
    text += f"\nOf the others `check` misses {len(missed)} of {seen + len(missed)}, and sees {share:.3f} %. The text of the dtype has no redundancy either, but for the\n"
    text += "size of its items: what shows another dtype has a column of its own.\n\n"
    text += table("file", grouped(all_cases, lambda case: case["kind"])) + "\n"
    text += table("field", grouped(all_cases, lambda case: case["field"])) + "\n"
    for title, of in [
        ("What `check` misses:", missed),
        ("Other data that `check` does not see:", [case for case in all_cases if case["python"] in (NO_DATA, DATA) and not case["codes"]]),
        ("Other metadata that `check` does not see:", [case for case in all_cases if case["python"] == METADATA and not case["codes"]]),
    ]:
        if of:
            text += f"{title}\n\n" + listed(of) + "\n"
    crashes = collections.Counter(case["python"] for case in wanted)
    text += f"python-blosc2 crashed {crashes[CRASH]} times, and gave no answer {crashes[HANG]} times.\n"
    return text


def listed(of):
    lines = ["| field | python-blosc2 | changes | file, byte: old to new | seen by `check --data` |", "|---|---|---:|---|---:|"]
    for (field, result), group in sorted(grouped(of, lambda case: (case["field"], case["python"])).items()):
        examples = ", ".join(f"{case['kind']}, {case['at']}: {case['old']:02x} to {case['new']:02x}" for case in group[:3])
        examples += "; …" if len(group) > 3 else ""
        lines.append(f"| {field} | {result} | {len(group)} | {examples} | {sum(bool(case['deep']) for case in group)} |")
    return "\n".join(lines) + "\n"


def main():
    b2nd, is_quick = os.path.abspath(sys.argv[1]), "--quick" in sys.argv
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        kinds = [Kind(b2nd, Path(folder), name) for name in KINDS]
        all_changes = [(kind, at, value) for kind in kinds for at in range(kind.header_len) for value in range(256) if value != kind.bytes[at]]
        changes = random.Random(1).sample(all_changes, SAMPLE) if is_quick else all_changes
        jobs = [(b2nd, folder, kind, at, sorted(case[2] for case in of)) for (kind, at), of in grouped(changes, lambda case: case[:2]).items()]
        with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
            all_cases = [case for found in pool.imap(cases, jobs) for case in found]
        order = {name: number for number, name in enumerate(KINDS)}
        all_cases.sort(key=lambda case: (order[case["kind"]], case["at"], case["new"]))
    text = page(all_cases, kinds, "some other values" if is_quick else "all 255 other values")
    version = subprocess.run([b2nd, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    text += f"\n{datetime.date.today().isoformat()}: python-blosc2 {blosc2.__version__}, {version}.\n"
    print(text)
    if not is_quick:
        (Path(__file__).parents[2] / "docs" / "DAMAGE_HEADER.md").write_text(text)
    missed, wanted = (sum(map(which, all_cases)) for which in (is_missed, is_wanted))
    if missed > (1 - LEAST_SEEN) * wanted:
        sys.exit(f"{missed} of {wanted} changes are not seen, more than {1 - LEAST_SEEN:.1%}")


if __name__ == "__main__":
    main()
