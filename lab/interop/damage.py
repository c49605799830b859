"""Damages every byte of the headers of chunks, and asks python-blosc2 and `b2nd check` what they make of it.

    damage.py B2ND           writes docs/DAMAGE.md, in some minutes
    damage.py B2ND --quick   a tenth of it, for the tests; prints the table only

Of ten chunks of different kinds, each of the 32 header bytes gets 16 other values. For each, python-blosc2 reads the chunk as a
whole, and each of its items, with the file opened anew every time; in another process, as it may crash.
"""

import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import blosc2
import numpy as np

VALUES = [0, 1, 2, 3, 4, 5, 7, 8, 0x10, 0x20, 0x30, 0x40, 0x7F, 0x80, 0xC0, 0xFF]
CHUNK = 1
ITEMS = 24
PATIENCE = 20

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
RESULTS = ["equal", "other", "error", "crash"]


# What reads.


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


def items(path):
    opened = blosc2.open(path, mode="r")
    if isinstance(opened, blosc2.NDArray):
        return [None, *range(ITEMS)]
    return [None] if isinstance(opened, blosc2.SChunk) else [None, 0, 1]


def serve():
    """Answers with the data of each read, or with an error."""
    blosc2.set_nthreads(1)
    for line in sys.stdin:
        path, item = json.loads(line)
        try:
            # A damaged chunk can have 2 GiB.
            answer = hashlib.sha256(read(path, item)).hexdigest()
        except Exception as error:
            answer = {"error": type(error).__name__}
        print(json.dumps(answer), flush=True)


class Reader:
    """Another process that reads, and another one if it crashes."""

    def __init__(self):
        self.process = None

    def ask(self, path, item):
        if self.process is None:
            command = [sys.executable, __file__, "--serve"]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps([path, item]) + "\n")
        self.process.stdin.flush()
        is_ready = select.select([self.process.stdout], [], [], PATIENCE)[0]
        line = self.process.stdout.readline() if is_ready else ""
        if line:
            return json.loads(line)
        self.process.kill()
        self.process.wait()
        self.process = None
        return "crash"

    def result(self, path, expected):
        """The worst that reading gives."""
        worst = 0
        for item, right in expected.items():
            answer = self.ask(path, item)
            if answer == "crash":
                return "crash"
            worst = max(worst, 2 if isinstance(answer, dict) else int(answer != right), key=[0, 2, 1].index)
        return RESULTS[worst]

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


# What is read.


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
# A stream shorter than its data needs blocks of more than a few bytes.
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


class Kind:
    """A file, and where the header of its chunk is."""

    def __init__(self, b2nd, folder, number, name):
        self.name = name
        self.path = folder / f"{number}.b2nd"
        KINDS[name](str(self.path))
        lines = subprocess.run([b2nd, "chunks", "--json", self.path], capture_output=True, text=True, check=True).stdout
        chunk = json.loads(lines.splitlines()[CHUNK])
        self.file, self.offset = Path(chunk["file"]), chunk["offset"]
        self.header = self.file.read_bytes()[self.offset :][:32]
        # C-Blosc2 3.3.5 reads no single item of a chunk with a dictionary in a file.
        self.expected = {item: data for item, data in read_all(self.path).items() if isinstance(data, str)}
        assert None in self.expected, name

    def damage(self, folder, at, value):
        path = folder / f"{self.path.stem}_{at}_{value}.b2nd"
        if self.path.is_dir():
            shutil.copytree(self.path, path)
            file = path / self.file.name
        else:
            file = path
            shutil.copy(self.path, path)
        with open(file, "r+b") as opened:
            opened.seek(self.offset + at)
            opened.write(bytes([value]))
        return path


def read_all(path):
    reader = Reader()
    expected = {item: reader.ask(str(path), item) for item in items(path)}
    reader.close()
    return expected


def said(b2nd, folder, level):
    """The paths of which `b2nd check` reports something."""
    command = [b2nd, "check", "--json", level, folder]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    found = {}
    for line in map(json.loads, lines):
        found[line["path"]] = bool(line.get("findings")) or "error" in line
    return found


def cases(b2nd, folder, values, kinds):
    whole, damaged = folder / "whole", folder / "damaged"
    whole.mkdir()
    damaged.mkdir()
    kinds = [Kind(b2nd, whole, number, name) for number, name in enumerate(KINDS) if number in kinds]
    assert not any(said(b2nd, whole, "--data").values()), "a healthy file"
    all_cases = []
    for kind in kinds:
        for at, old in enumerate(kind.header):
            others = [value for value in values if value != old]
            others += [value for value in (old ^ 1, old ^ 2) if value not in others]
            for value in others[: len(values)]:
                path = kind.damage(damaged, at, value)
                all_cases.append({"kind": kind, "at": at, "old": old, "new": value, "path": str(path)})
    headers, data = said(b2nd, damaged, "--chunks"), said(b2nd, damaged, "--data")
    workers = os.cpu_count()

    def ask(part):
        reader = Reader()
        for case in part:
            case["python"] = reader.result(case["path"], case["kind"].expected)
            case["chunks"], case["data"] = headers[case["path"]], data[case["path"]]
        reader.close()

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(ask, [all_cases[start::workers] for start in range(workers)]))
    return all_cases


# What is told of it.

INTRODUCTION = """\
# What damage to the header of a chunk does, and who sees it

Written by `lab/interop/damage.py`. Of {kinds} chunks of different kinds, each of the 32 bytes of the header gets {values} other
values, one at a time. python-blosc2 then reads the chunk as a whole and item by item, with the file opened anew for each read.
"Other" means that at least one read gives other data and no error: the damage that matters most. `b2nd check --chunks` and
`--data` see what they report, as an error or a warning.

| bytes | field | files | equal | other | error | crash | `--chunks` sees of other, error, crash | `--data` sees | reported though equal |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""

FREE = "Only the chunks of an array all have the same value here; to another frame, chunks of any origin can be appended. Blosc2 has no checksums."
WHY = {
    "version": "3 is valid: a chunk of an alpha version, in which one filter less counts.",
    "flags": "Blosc2 has no checksums, and these bytes decompress in another way as well.",
    "typesize": FREE,
    "blocksize": FREE,
    "nbytes": FREE,
    "filters": FREE,
    "parameters of the filters": FREE,
    "dictionary, special value": "Bit 3 means a chunk in memory of which only the header was read.",
}


def table(all_cases):
    lines = []
    for start, end, field in [*FIELDS, (0, 32, "**all**")]:
        of = [case for case in all_cases if start <= case["at"] < end]
        counts = collections.Counter(case["python"] for case in of)
        bad = [case for case in of if case["python"] != "equal"]
        seen = [sum(case[level] for case in bad) for level in ("chunks", "data")]
        needless = sum(case["data"] for case in of if case["python"] == "equal")
        place = f"{start}" if end == start + 1 else f"{start} to {end - 1}"
        results = " | ".join(str(counts[result]) for result in RESULTS)
        lines.append(f"| {place} | {field} | {len(of)} | {results} | {seen[0]} of {len(bad)} | {seen[1]} of {len(bad)} | {needless} |")
    return "\n".join(lines) + "\n"


def is_missed(case):
    return case["python"] != "equal" and not case["data"]


def field_of(case):
    return next(field for start, end, field in FIELDS if start <= case["at"] < end)


def missed(all_cases):
    groups = collections.defaultdict(list)
    for case in all_cases:
        if is_missed(case):
            groups[field_of(case), case["python"], case["kind"].name].append(case)
    lines = ["| field | python-blosc2 | chunk | files | byte: old to new | why |", "|---|---|---|---:|---|---|"]
    for (field, result, kind), of in sorted(groups.items()):
        examples = ", ".join(f"{case['at']}: {case['old']:02x} to {case['new']:02x}" for case in of[:3])
        examples += ", …" if len(of) > 3 else ""
        lines.append(f"| {field} | {result} | {kind} | {len(of)} | {examples} | {WHY.get(field, '')} |")
    return "\n".join(lines) + "\n"


def main():
    b2nd, is_quick = sys.argv[1], "--quick" in sys.argv
    values, kinds = (VALUES[::5], [0, 4, 6, 9]) if is_quick else (VALUES, range(len(KINDS)))
    with tempfile.TemporaryDirectory() as folder:
        all_cases = cases(b2nd, Path(folder), values, kinds)
    page = INTRODUCTION.format(kinds=len(kinds), values=len(values)) + table(all_cases)
    page += "\nWhat `--data` does not see:\n\n" + missed(all_cases)
    crates = subprocess.run([b2nd, "--version"], capture_output=True, text=True).stdout.strip()
    date = datetime.date.today().isoformat()
    page += f"\n{date}: python-blosc2 {blosc2.__version__}, {crates}. The chunks: {'; '.join(list(KINDS)[kind] for kind in kinds)}.\n"
    print(page)
    unexplained = [case for case in all_cases if is_missed(case) and field_of(case) not in WHY]
    if unexplained:
        sys.exit(f"{len(unexplained)} damages are not seen, of which nothing says why")
    if not is_quick:
        docs = Path(__file__).parents[2] / "docs"
        (docs / "DAMAGE.md").write_text(page)


if sys.argv[1] == "--serve":
    serve()
else:
    main()
