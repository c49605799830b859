"""Makes arrays and a table with indexes. The other side changes or copies them. Then each indexed query must find what a scan finds.

    indexed.py FOLDER

Prints a JSON object per line, and waits for a line after each: `{"run": [...]}` with the arguments of `b2nd`, `{"path", "changes"}` with
changes in one commit, or `{"damage": path}` for a chunk that is destroyed.
"""

import json
import subprocess
import sys
from dataclasses import make_dataclass
from pathlib import Path

import blosc2
import numpy as np

from shared import say

COUNT, CHUNK, BLOCK = 4000, 500, 50
KINDS = [blosc2.IndexKind.SUMMARY, blosc2.IndexKind.PARTIAL, blosc2.IndexKind.FULL]


def indexed(path, kind, contiguous=True):
    """An array of random order in each block. Different blocks have different values, so that a summary of them is of use."""
    blocks = np.random.default_rng(0).permuted(np.arange(COUNT).reshape(-1, BLOCK), axis=1)
    values = np.random.default_rng(1).permutation(blocks).ravel() / COUNT
    array = blosc2.asarray(values, urlpath=path, mode="w", chunks=(CHUNK,), blocks=(BLOCK,), contiguous=contiguous)
    array.create_index(kind=kind)


def sixes(count):
    return np.full(count, 0.6).tobytes().hex()


def change(folder, kind, contiguous):
    """Changes an array in each way. Yields the name of the array, and what is expected of its index: `used`, `stale` or `absent`."""
    name = f"{kind.name.lower()}_{'file' if contiguous else 'folder'}"

    def new(case):
        path = str(folder / f"{name}_{case}.b2nd")
        indexed(path, kind, contiguous)
        return path, path.replace(".b2nd", "_copy.b2nd")

    path, _ = new("untouched")
    yield path, "used"
    path, _ = new("vlmeta")
    say({"run": ["set", path, "--vlmeta", "unit=1"]})
    yield path, "used"
    path, _ = new("rewritten")
    say({"run": ["rewrite", path, path]})
    yield path, "used"
    path, _ = new("written")
    say({"path": path, "changes": [{"write": [[100, 3100]], "items": sixes(3000)}]})
    yield path, "stale"
    path, _ = new("appended")
    say({"path": path, "changes": [{"append": 0, "items": sixes(700)}]})
    yield path, "stale"
    path, copy = new("appended_by_the_command")
    blosc2.asarray(np.full(700, 0.6), urlpath=copy)
    say({"run": ["convert", "--append", "0", copy, path]})
    yield path, "stale"
    path, _ = new("resized_and_back")
    say({"path": path, "changes": [{"resize": [COUNT // 2]}]})
    say({"path": path, "changes": [{"resize": [COUNT]}]})
    yield path, "stale"
    path, _ = new("another_dtype")
    say({"run": ["set", path, "--dtype", "<i8"]})
    yield path, "stale"
    path, _ = new("rewritten_as_another_dtype")
    say({"run": ["rewrite", path, path, "--dtype", "<u8"]})
    yield path, "stale"
    path, copy = new("copied_as_another_dtype")
    say({"run": ["rewrite", path, copy, "--dtype", "<i8"]})
    yield copy, "absent"
    # When python-blosc2 extends an array, it does not change the files of the index, but writes further files.
    path, _ = new("another_shape_and_back")
    say({"run": ["set", path, "--shape", str(COUNT - 1)]})
    say({"run": ["set", path, "--shape", str(COUNT)]})
    yield path, "stale"
    path, copy = new("fewer_bits")
    say({"run": ["convert", "--filters", "trunc_prec:4,shuffle", path, copy]})
    yield copy, "absent"
    path, copy = new("other_blocks")
    say({"run": ["convert", "--blocks", str(2 * BLOCK), path, copy]})
    yield copy, "absent"
    path, copy = new("other_items")
    say({"run": ["convert", "--slice", f"1:{COUNT}", path, copy]})
    yield copy, "absent"
    path, copy = new("copied_and_built_again")
    say({"run": ["convert", "--codec", "lz4", path, copy]})
    array = blosc2.open(path, mode="a")
    array[:] = array[:][::-1].copy()
    array.rebuild_index()
    yield copy, "absent"
    yield path, "used"
    path, copy = new("salvaged")
    say({"run": ["salvage", path, copy]})
    yield copy, "used"
    path, copy = new("salvaged_in_part")
    say({"damage": path})
    say({"run": ["salvage", path, copy]})
    yield copy, "absent"


def index_of(array):
    """The state of the only index of an array in python-blosc2."""
    return ["stale" if index.stale else "valid" for index in array.indexes] or ["absent"]


def bounds(ordered):
    """Bounds of queries, each between two items: python-blosc2 compares large integers as floats, so an item itself could count or
    not."""
    starts = np.linspace(1, len(ordered) - 20, 4).astype(int)
    halves = ordered // 2 if ordered.dtype.kind in "iu" else ordered / 2
    between = halves[:-1] + halves[1:]
    # The bounds are numbers of Python, because python-blosc2 uses no index if they are numbers of NumPy.
    return {(between[start - 1].item(), between[start + 18].item()) for start in starts}


def queried(array, name):
    """Asserts that queries find what a scan finds, and returns whether all of them use an index."""
    ordered, used = np.sort(array[:]), []
    for low, high in bounds(ordered):
        within = ((array >= low) & (array <= high)).where(array)
        used.append(within.explain()["will_use_index"])
        found, right = np.sort(within.compute()[:]), ordered[(ordered >= low) & (ordered <= high)]
        assert np.array_equal(found, right), (name, len(found), len(right))
    return all(used)


def query(cases):
    """Runs in a process of its own, because python-blosc2 keeps the indexes of each path in memory."""
    for path, expected in cases:
        array, name = blosc2.open(path, mode="a"), Path(path).name
        assert index_of(array) == ["valid" if expected == "used" else expected], (name, index_of(array))
        # python-blosc2 opens an array with mmap for a query, and so fails if the frame is sparse.
        if Path(path).is_file():
            assert queried(array, name) == (expected == "used"), name
            if expected == "stale":
                # The descriptor is still complete, so python-blosc2 can build the index again.
                array.rebuild_index()
                assert index_of(array) == ["valid"] and queried(array, name), name


def make_table(path):
    table = blosc2.CTable(make_dataclass("Row", [("x", float, blosc2.field(blosc2.float64()))]), urlpath=path, mode="w")
    table.extend([(number,) for number in np.arange(COUNT)[::-1] / COUNT])
    table.create_index("x")
    table.close()


def main(folder):
    cases = [case for kind in KINDS for case in change(folder, kind, True)]
    cases += change(folder, blosc2.IndexKind.BUCKET, False)
    # A column of a table is not changed, because its index is in another frame.
    make_table(str(folder / "table.b2d"))
    column = folder / "table.b2d" / "_cols" / "x.b2nd"
    before = column.read_bytes()
    say({"refused": ["set", str(column), "--dtype", "<i8"]})
    say({"refused": ["rewrite", str(column), str(column), "--dtype", "<i8"]})
    say({"refused": ["convert", "--append", "0", str(folder / "full_file_untouched.b2nd"), str(column)]})
    assert column.read_bytes() == before
    table = blosc2.open(str(folder / "table.b2d"), mode="r")
    assert len(table.where(table.x < 0.01)) == COUNT // 100
    subprocess.run([sys.executable, __file__, "query"], input=json.dumps(cases), text=True, check=True)
    say({"compared": len(cases)})


if sys.argv[1] == "query":
    query(json.load(sys.stdin))
else:
    main(Path(sys.argv[1]))
