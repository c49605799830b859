"""Damages arrays in every part, salvages them with `b2nd salvage`, and reads the result with python-blosc2.

The damaged files are:

- those of the other studies: each byte of a header or of a chunk header is changed, and writers are killed
- files of arrays with random histories, which are cut, or changed anywhere
- such arrays as members of a zip file, or one after the other in a file
- files that lost their chunk index and some chunks

--quick takes some of each kind, with a fixed seed.
"""

import collections
import io
import itertools
import json
import os
import random
import shutil
import subprocess
import zipfile
from pathlib import Path

import blosc2
import numpy as np

import damage
import headers
import killed
from shared import CRASH, HANG, answers, table
from study import B2ND, IS_QUICK, b2nd, grouped, report, scratch

SEED = os.environ.get("B2ND_SEED", "1")
BATCH = 64

# The results of a salvage. "Unseen" means that a saved chunk has other data than before: the bytes of its data were
# damaged, and a salvage cannot see such damage.
WHOLE, PARTLY, REFUSED, UNVERIFIED, UNSEEN, WRONG, ERROR = RESULTS = [
    "whole",
    "partly",
    "nothing",
    "unverified",
    "unseen",
    "wrong",
    "error",
]
SHOWN = RESULTS[:5]
GOAL_HEADERS = 0.95

# Fields of the array metalayer whose values can change without a contradiction in the file. For example, another shape
# can have the same grid of chunks, and the items of another dtype can have the same size.
BY_ITSELF = ["b2nd: shape", "b2nd: chunkshape", "b2nd: dtype", "b2nd: length of the dtype"]


# The judge.


def salvage(addresses, into, *options):
    """The records of `b2nd salvage --json` for each address."""
    lines = "".join(f"{address}\n" for address in addresses)
    command = [B2ND, "salvage", "--json", "--into", into, "--files-from", "-", *options]
    run = subprocess.run(command, input=lines, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    records = {record["address"]: record for record in map(json.loads, run.stdout.splitlines())}
    return [records[address] for address in addresses]


def outside(record, shape, *keys):
    """Returns a mask of the items that are not in the chunks that a salvage lists."""
    mask = np.ones(shape, bool)
    for key in keys:
        for chunk in record[key]:
            assert chunk["count"] == 1
            mask[tuple(map(slice, chunk["start"], chunk["stop"]))] = False
    return mask


def touched(grid, shape, numbers):
    """The items in these chunks, as a mask."""
    mask = np.zeros(shape, bool)
    counts = [-(-items // size) for items, size in zip(shape, grid)]
    for number in numbers:
        at = np.unravel_index(number, counts) if counts else ()
        mask[tuple(slice(q * size, (q + 1) * size) for q, size in zip(at, grid))] = True
    return mask


def verdict(case):
    """The result of a salvage. Each saved item must equal that of one of the arrays in `right`."""
    record, right, damaged = case["record"], case["right"], case["damaged"]
    if "error" in record:
        return REFUSED
    array = blosc2.open(record["to"], mode="r")
    shape, grid = array.shape, array.chunks
    known = [data for data in right if (data.shape, data.dtype) == (shape, array.dtype)]
    if not known:
        return UNSEEN if case["field"] in BY_ITSELF else WRONG
    try:
        items = array[...]
        dict(array.schunk.vlmeta.getall())
    except Exception:
        return UNVERIFIED if record["unverified"] else ERROR
    different = ~np.any([items == data for data in known], axis=0)
    if not (different & outside(record, shape, "lost")).any():
        return PARTLY if record["lost"] or record["lost_metalayers"] else WHOLE
    if not (different & outside(record, shape, "lost", "unverified")).any():
        return UNVERIFIED
    if case["field"] in BY_ITSELF:
        return UNSEEN
    own = touched(grid, shape, damaged)
    return WRONG if (different & outside(record, shape, "lost") & ~own).any() else UNSEEN


def judged(folder, cases, *options):
    """Salvages each case. Its `write` creates the damaged file."""
    for first in range(0, len(cases), BATCH):
        some = cases[first : first + BATCH]
        source, into = Path(folder, "in"), Path(folder, "out")
        source.mkdir()
        paths = [source / f"{number}.b2nd" for number in range(len(some))]
        for path, case in zip(paths, some):
            case["write"](path)
        addresses = [f"{path}{case.get('inside', '')}" for path, case in zip(paths, some)]
        for case, record in zip(some, salvage(addresses, into, *options)):
            case["record"] = record
        for case, seen in zip(some, answers(verdict_or_error, some)):
            case["result"] = ERROR if seen in (CRASH, HANG) else seen
            record = case["record"]
            case["lost"] = [chunk["first"] for chunk in record.get("lost", [])]
            del case["write"], case["right"]
        shutil.rmtree(source)
        shutil.rmtree(into, ignore_errors=True)
    return cases


def verdict_or_error(case):
    try:
        return verdict(case)
    except Exception:
        return ERROR


# The damaged files.


def copy(content, file, path):
    """Returns a function that writes a damaged copy of a frame. In a sparse frame, the function damages one of the files."""

    def write(to):
        if path.is_dir():
            shutil.copytree(path, to)
            to = to / file.name
        to.write_bytes(content)

    return write


def changed(content, at, value):
    return content[:at] + bytes([value]) + content[at + 1 :]


def data_of(path):
    return blosc2.open(str(path), mode="r")[...]


def byte_cases(frame, name, places, values, damaged):
    """A damaged file for each place and each value. A place is the offset of a byte, and the field that has the byte."""
    right, content = [data_of(frame.path)], frame.file.read_bytes()
    for at, field in places:
        old = content[frame.start + at]
        for value in dict.fromkeys(value for value in values(old) if value != old):
            write = copy(changed(content, frame.start + at, value), frame.file, frame.path)
            yield {"name": name, "field": field, "at": at, "write": write, "right": right, "damaged": damaged}


def header_cases(folder, name, values):
    """Damages each byte of the header."""
    frame = headers.HeaderFrame(folder, name)
    return byte_cases(frame, name, enumerate(frame.fields), values, [])


def chunk_cases(folder, name, values):
    """Damages each byte of the header of chunk 1, and some bytes of its data."""
    frame = damage.ChunkFrame(folder, name)
    length = b2nd("chunks", "--json", frame.path)[damage.CHUNK]["cbytes"]
    of_data = random.sample(range(damage.HEADER, length), min(16, length - damage.HEADER))
    places = [*((at, "header") for at in range(damage.HEADER)), *((at, "data") for at in of_data)]
    return byte_cases(frame, name, places, values, [damage.CHUNK])


def history(path, contiguous):
    """Writes an array with a random history: zeros, repeated values, chunks that are replaced, inserted and appended."""
    ndim = random.randint(1, 3)
    shape = [random.randint(1, 5) * 4 for _ in range(ndim)]
    dtype = random.choice(["<i4", "<f8", "<u2", "|u1"])
    chunks, blocks = [random.choice([4, 8]) for _ in shape], [random.choice([2, 4]) for _ in shape]
    make = lambda shape: np.random.default_rng(random.randrange(1 << 30)).integers(1, 200, shape).astype(dtype)
    cparams = {"nthreads": 1, "clevel": random.choice([0, 1, 5]), "codec": random.choice([blosc2.Codec.LZ4, blosc2.Codec.ZSTD])}
    array = blosc2.asarray(make(shape), chunks=chunks, blocks=blocks, urlpath=str(path), contiguous=contiguous, cparams=cparams)
    for _ in range(random.randint(0, 4)):
        kind = random.choice(["zeros", "repeat", "replace", "grow", "shrink", "vlmeta"])
        box = tuple(slice(start := random.randrange(items), random.randint(start + 1, items)) for items in array.shape)
        if kind == "zeros":
            array[box] = 0
        elif kind == "repeat":
            array[...] = 7
        elif kind == "replace":
            array[box] = make([part.stop - part.start for part in box])
        elif kind == "vlmeta":
            array.schunk.vlmeta[f"note {random.randrange(3)}"] = "x" * random.randrange(200)
        else:
            new, axis = list(array.shape), random.randrange(ndim)
            new[axis] = new[axis] + random.randint(1, 9) if kind == "grow" else random.randint(1, new[axis])
            array.resize(tuple(new))
    return array[...]


def places_of(path):
    """The stored chunks of each file: the number of the chunk, and the start and end of its bytes."""
    places = collections.defaultdict(list)
    for chunk in b2nd("chunks", "--json", path):
        if chunk.get("offset") is not None and chunk.get("cbytes"):
            places[Path(chunk["file"])].append((chunk["chunk"], chunk["offset"], chunk["offset"] + chunk["cbytes"]))
    return places


def random_cases(folder, number):
    """Damaged files of an array with a random history: some bytes are changed, a sector is zeros, or the file is truncated."""
    path = Path(folder, f"history{number}.b2nd")
    right = [history(path, contiguous=number % 4 > 0)]
    places = places_of(path)
    files = [path / "chunks.b2frame", *places] if path.is_dir() else [path]
    for kind in ["byte", "byte", "bytes", "sector", "cut"] * (1 if IS_QUICK else 4):
        file = random.choice(files)
        content = bytearray(file.read_bytes())
        if not content:
            continue
        start = random.randrange(len(content))
        spans = [(start, start + 1)]
        if kind == "bytes":
            spans = [(at, at + 1) for at in random.choices(range(len(content)), k=8)]
        elif kind == "sector":
            start = start // 512 * 512
            spans = [(start, min(start + 512, len(content)))]
        elif kind == "cut":
            spans = [(start, len(content))]
        if kind == "cut":
            del content[start:]
        for start, stop in spans if kind != "cut" else []:
            content[start:stop] = bytes(stop - start) if kind == "sector" else bytes([random.randrange(256)])
        hit = [n for n, a, b in places[file] if any(a < stop and start < b for start, stop in spans)]
        write = copy(bytes(content), file, path)
        yield {"name": f"history {number}", "field": kind, "at": spans[0][0], "write": write, "right": right, "damaged": hit}


NUMBERS = itertools.count()


def several_cases(folder, number):
    """Files with three arrays, one of them damaged. The arrays are members of a zip file, or follow each other."""
    is_zip, frames = number % 2 == 0, []
    for part in range(3):
        path = Path(folder, f"part {part}.b2nd")
        path.unlink(missing_ok=True)
        right = [history(path, True)]
        frames.append((path.read_bytes(), right, places_of(path)[path]))
    for _ in range(20):
        which, first, between = random.randrange(3), next(NUMBERS), random.randbytes(random.randrange(50))
        damaged, right, places = frames[which]
        start = random.randrange(len(damaged))
        stop = start + random.choice([1, 1, 32, 512])
        damaged = bytearray(damaged)
        damaged[start:stop] = random.randbytes(len(damaged[start:stop]))
        contents = [bytes(damaged) if part == which else content for part, (content, _, _) in enumerate(frames)]
        names = [f"several {first} {part}.b2nd" for part in range(3)]
        if is_zip:
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w") as archive:
                for name, content in zip(names, contents):
                    archive.writestr(name, content)
            content, inside = file.getvalue(), f":{names[which]}"
        else:
            content = between + b"".join(contents)
            inside = f"@{len(between) + sum(map(len, contents[:which]))}"
        hit = [n for n, a, b in places if a < stop and start < b]
        field = "member of a zip file" if is_zip else "one of three in a file"
        write = lambda to, content=content: to.write_bytes(content)
        yield {"name": f"several {first}", "field": field, "at": start, "write": write, "right": right, "damaged": hit, "inside": inside}


def hole_cases(folder, number):
    """Files without a chunk index, in which some chunks have lost their headers, or all of their bytes. All chunks were stored uncompressed."""
    path = Path(folder, "hole.b2nd")
    items = np.random.default_rng(number).integers(0, 9, (24, 30)).astype("<i4")
    cparams = {"nthreads": 1, "clevel": random.choice([0, 1, 5])}
    array = blosc2.asarray(items, chunks=(5, 8), blocks=(5, 4), urlpath=str(path), mode="w", cparams=cparams)
    places, content, count = places_of(path)[path], path.read_bytes(), array.schunk.nchunks
    assert len(places) == count
    index = max(stop for _, _, stop in places)
    for _ in range(20):
        damaged = bytearray(content[:index])
        hit = sorted(random.sample(range(count), random.randint(1, 4)))
        for chunk in hit:
            start, stop = next((start, stop) for n, start, stop in places if n == chunk)
            how = random.choice(["length", "header", "all"])
            span = {"length": (start + 12, start + 16), "header": (start, start + 32), "all": (start, stop)}[how]
            damaged[slice(*span)] = bytes(span[1] - span[0])
        write = lambda to, damaged=bytes(damaged): to.write_bytes(damaged)
        whole = [n for n in range(count) if n not in hit]
        yield {"name": "holes", "field": f"{len(hit)} lost", "at": hit[0], "write": write, "right": [items], "damaged": hit, "whole": whole}


def cut_cases(folder, name, step):
    """Files cut at every byte, with an array whose chunks are all stored, in their order."""
    path = Path(folder, f"cut {name}.b2nd")
    path.unlink(missing_ok=True)
    headers.KINDS[name](str(path))
    right, content = [data_of(path)], path.read_bytes()
    places = places_of(path)[path]
    header_len = int.from_bytes(content[11:15])
    for at in range(header_len, len(content), step):
        whole = [number for number, _, stop in places if stop <= at]
        case = {"name": name, "field": "cut", "at": at, "write": copy(content[:at], path, path), "right": right}
        yield case | {"damaged": [number for number, _, stop in places if stop > at], "whole": whole}


def killed_cases(folder, number, name, contiguous):
    """Files that killed writers left. Each saved item may be the old item, the new item, or zero if it was never written."""
    writer = killed.WRITERS[name]
    paths = killed.kills(f"{folder}/killed{number}{contiguous}", name, contiguous)
    known = [data for data, _ in filter(None, (writer.before, writer.after))]
    right = known + [np.zeros(data.shape, data.dtype) for data in known]
    for path in map(Path, paths):
        if path.exists() and not (path.is_dir() and not (path / "chunks.b2frame").exists()):
            write = lambda to, path=path: (shutil.copytree if path.is_dir() else shutil.copy)(path, to)
            yield {"name": name, "field": "sparse" if path.is_dir() else "contiguous", "at": 0, "write": write, "right": right, "damaged": []}


# The report.

INTRODUCTION = """\
# What can be saved of a damaged array

Written by `lab/run salvage`. `b2nd salvage` makes new frames of damaged arrays, and python-blosc2 reads them. Each item outside of the
listed losses is compared:

- **whole**: all items are saved and equal. **partly**: all items are equal, except the listed losses.
- **nothing**: nothing was written; the message says why.
- **unverified**: only items of chunks listed as unverified differ. **unseen**: items of a damaged chunk differ, or the array has another
  dtype or another shape in the same grid, without a trace: Blosc2 has no checksums.
- Any other different item, and an unreadable new frame, counts as wrong and fails the run.

"""

SIZES = ["header_len", "frame_len", "nbytes", "cbytes", "typesize", "blocksize", "chunksize"]


def is_promised(case):
    """Whether the damage is in a marker or a size of the header, so that the metalayer and the index are intact."""
    field = case["field"]
    return field.endswith("markers") or field == "header: magic" or field in [f"header: {size}" for size in SIZES]


def rows(title, cases, group):
    """Yields a row for all cases, a row for each group, and one row for all groups that were saved whole."""
    groups = grouped(cases, group)
    intact = [name for name, of in groups.items() if len(groups) > 3 and all(case["result"] == WHOLE for case in of)]
    others = [case for name in intact for case in groups.pop(name)]
    parts = [(f"**{title}**", cases), *(sorted(groups.items()) if len(groups) > 1 else [])]
    for name, of in [*parts, (f"{len(intact)} others", others)][: None if intact else -1]:
        counts = collections.Counter(case["result"] for case in of)
        yield name, len(of), *(counts[result] for result in SHOWN)


def all_cases(folder):
    """The parts of the study, each with a name, a title, its cases and their grouping."""
    few = lambda old: [old ^ 1] if IS_QUICK else [0, 0xFF, old ^ 1, old ^ 0x80, 0x7F, 0x90]
    field = lambda case: case["field"]
    cases = [case for name in headers.KINDS for case in header_cases(folder, name, few)]
    yield "headers", "a byte of the header", judged(folder, cases), field
    arrays = [name for name in damage.KINDS if "any length" not in name]
    cases = [case for name in arrays for case in chunk_cases(folder, name, few)]
    yield "chunks", "a byte of a chunk", judged(folder, cases), field
    cases = [case for number in range(8 if IS_QUICK else 400) for case in random_cases(folder, number)]
    yield "random", "anywhere, in arrays with random histories", judged(folder, cases), field
    cases = [case for number in range(8 if IS_QUICK else 100) for case in several_cases(folder, number)]
    yield "several", "one of several arrays in a file", judged(folder, cases), field
    cases = [case for number in range(4 if IS_QUICK else 50) for case in hole_cases(folder, number)]
    yield "holes", "1 to 4 lost chunks and a lost index, with `--assume-order`", judged(folder, cases, "--assume-order"), lambda _: ""
    step = 97 if IS_QUICK else 1
    for name, options in ("cuts", []), ("assumed", ["--assume-order"]):
        cases = [case for kind in ("plain", "struct", "vlmetalayers") for case in cut_cases(folder, kind, step)]
        title = ", ".join(["a cut at any byte after the header", *(f"with `{option}`" for option in options)])
        yield name, title, judged(folder, cases, *options), lambda _: ""
    names = list(killed.WRITERS)[:: 4 if IS_QUICK else 1]
    kills = [(number, name, contiguous) for number, name in enumerate(names) for contiguous in (True, False)]
    cases = [case for kill in kills for case in killed_cases(folder, *kill)]
    yield "killed", "a killed writer", judged(folder, cases), lambda case: case["name"]


def main():
    random.seed(SEED)
    parts, lines = {}, []
    with scratch() as folder:
        for name, title, cases, group in all_cases(folder):
            parts[name] = cases
            lines += rows(title, cases, group)
    promised = [case for case in parts["headers"] if is_promised(case)]
    saved = sum(case["result"] == WHOLE for case in promised) / len(promised)
    others = [case for case in parts["chunks"] if set(case["lost"]) - {damage.CHUNK} or case["result"] == REFUSED]
    without_index = parts["assumed"] + parts["holes"]
    missed = [case for case in without_index if set(case["whole"]) & set(case["lost"]) or case["whole"] and case["result"] == REFUSED]
    every = [case for name, cases in parts.items() for case in cases if name != "assumed"]
    wrong = [case for case in every if case["result"] in (WRONG, ERROR)]
    wrong += [case for case in parts["assumed"] if case["result"] == ERROR]
    count = sum(map(len, parts.values()))
    figure = f"{count} damaged files: {saved:.1%} of {len(promised)} damaged sizes and markers saved whole; "
    figure += f"{len(others)} chunk damages cost another chunk; {len(missed)} lost indexes cost a whole chunk; {len(wrong)} wrong or unreadable"
    text = INTRODUCTION + table(f"damage | files: | {' | '.join(f'{result}:' for result in SHOWN)}", lines) + f"\n{figure}.\n"
    for case in [*wrong[:12], *others[:6], *missed[:6]]:
        print({key: value for key, value in case.items() if key != "record"}, case["record"])
    for case in [case for case in promised if case["result"] != WHOLE][:20]:
        print("not whole:", case["name"], case["field"], case["at"], case["result"], case["record"].get("error"), case["record"].get("lost"))
    has_failed = wrong or others or missed or saved < GOAL_HEADERS
    report("salvage", text, figure, "a goal is missed" if has_failed else None, f", seed {SEED}")


if __name__ == "__main__":
    main()
