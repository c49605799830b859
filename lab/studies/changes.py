"""Runs every command that changes or writes a file on a copy of every array in a folder.

    lab/run changes              the arrays in frame/tests/data
    lab/run changes FOLDER       the arrays in this folder

A command either refuses the array, and leaves every byte of it, or it succeeds. Then `b2nd check --data --strict` must find nothing
that it did not find before, and python-blosc2 must read the expected items. Where python-blosc2 cannot open the old array, `b2nd cat`
reads both.
"""

import collections
import concurrent.futures
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import blosc2
import numpy as np

from shared import answers, table
from study import B2ND, ROOT, b2nd, reported, scratch

# Arrays with more bytes of items than this are left out.
MOST = 1 << 24


def of_python(path):
    """The items of an array in a file, as python-blosc2 reads them, in hexadecimal; None if it does not."""
    try:
        array = blosc2.open(str(path), mode="r")
        return [list(array.shape), array[...].tobytes().hex()] if isinstance(array, blosc2.NDArray) else None
    except Exception:
        return None


def of_command(path):
    run = subprocess.run([B2ND, "cat", "--npy", path], capture_output=True)
    if run.returncode:
        return None
    array = np.load(io.BytesIO(run.stdout))
    return [list(array.shape), array.tobytes().hex()]


def items(path, reader):
    """The shape and the bytes of all items."""
    found = answers(of_python, [path])[0] if reader == "python" else of_command(path)
    return (found[0], bytes.fromhex(found[1])) if isinstance(found, list) else found


def content(path):
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {file: file.read_bytes() for file in files if file.is_file()}


class Array:
    """A copy of an array, and what is known of it."""

    def __init__(self, source, folder):
        self.source, self.folder = source, folder
        self.path = Path(folder, f"a{source.suffix}")
        self.reset()
        self.record = b2nd("info", "--json", self.path)[0]
        self.reader, self.items = "python", None
        if self.record["nbytes"] is None or self.record["nbytes"] > MOST:
            return
        self.findings = collections.Counter(reported([self.path], "--data")[0])
        self.items = items(self.path, "python")
        kinds = {chunk.get("kind") for chunk in b2nd("chunks", "--json", self.path)}
        # python-blosc2 reads other bytes each time if they were never written.
        if self.items is None or isinstance(self.items, str) or "uninitialized" in kinds:
            self.reader, self.items = "command", items(self.path, "command")

    def reset(self):
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        (shutil.copytree if self.source.is_dir() else shutil.copyfile)(self.source, self.path)

    def new_shape(self):
        """Another shape with the same grid of chunks."""
        for axis, (length, chunk) in enumerate(zip(self.record["shape"], self.record["chunks"] or [])):
            if chunk > 1 and length > 1:
                longer = length + 1 if length % chunk else length - 1
                return [longer if at == axis else length for at, length in enumerate(self.record["shape"])]
        return self.record["shape"]

    def new_dtype(self):
        """Another dtype with items of the same size, and a name of the same length."""
        others = {"<i4": "<u4", "<f4": "<i4", "<u2": "<i2", "<i2": "<u2", "<f8": "<i8", "<i8": "<f8", "|u1": "|i1", "|i1": "|u1"}
        others |= {"<u4": "<i4", "<u8": "<i8", "<f2": "<i2"}
        return others.get(self.record["dtype"], self.record["dtype"] or "uint8")

    def more(self):
        """A NumPy file with the items of the last index along dimension 0."""
        file = self.folder / "more.npy"
        run = subprocess.run([B2ND, "cat", "--npy", "--slice", "-1", self.path], capture_output=True)
        file.write_bytes(run.stdout)
        return file


# What a command does to the items: whether the found shape and bytes are right.
def is_same(array, found):
    return found == array.items


def is_resized(array, found):
    """The items that are in both shapes are the same. Others can be anything."""
    (shape, data), (old, before) = found, array.items
    size = len(before) // int(np.prod(old))
    common = tuple(slice(min(lengths)) for lengths in zip(shape, old))
    part, found = (np.frombuffer(items, f"V{size}").reshape(of)[common] for items, of in ((before, old), (data, shape)))
    return part.tobytes() == found.tobytes()


def is_longer(array, found):
    (shape, data), (old, before) = found, array.items
    return shape == [old[0] + 1, *old[1:]] and data == before + last(old, before)


def last(shape, data):
    """The items of the last index along dimension 0."""
    return data[-(len(data) // shape[0]) :] if shape and shape[0] else data


COMMANDS = {
    "set --shape": (lambda a: ["set", a.path, "--shape", ",".join(map(str, a.new_shape()))], None, is_resized),
    "set --dtype": (lambda a: ["set", a.path, "--dtype", a.new_dtype()], None, is_same),
    "set --vlmeta": (lambda a: ["set", a.path, "--vlmeta", "b2nd_test=[1,2,3]"], None, is_same),
    "set --remove-vlmeta": (lambda a: ["set", a.path, "--remove-vlmeta", "b2nd_test"], None, is_same),
    "convert --append": (lambda a: ["convert", "--append", "0", a.more(), a.path], None, is_longer),
    "rewrite in place": (lambda a: ["rewrite", a.path, a.path], None, is_same),
    "rewrite --sparse": (lambda a: ["rewrite", "--sparse", a.path, a.folder / "new.b2nd"], "new.b2nd", is_same),
    "rewrite --contiguous": (lambda a: ["rewrite", "--contiguous", a.path, a.folder / "new.b2nd"], "new.b2nd", is_same),
    "salvage": (lambda a: ["salvage", a.path, a.folder / "new.b2nd"], "new.b2nd", is_same),
    "convert": (lambda a: ["convert", a.path, a.folder / "new.b2nd"], "new.b2nd", is_same),
}


def changes(source):
    """The result of each command for an array: `changed`, `refused: CODE`, or what is wrong."""
    results = {}
    with scratch() as folder:
        array = Array(source, Path(folder))
        if array.items is None or isinstance(array.items, str):
            return {}
        for name, (words, new, is_right) in COMMANDS.items():
            if 0 in (array.record["shape"] or [0]) and name in ("set --shape", "convert --append"):
                continue
            # The vlmetalayer that is removed is the one that the command before has set.
            if name != "set --remove-vlmeta":
                array.reset()
            before = content(array.path)
            run = subprocess.run([B2ND, *words(array)], capture_output=True, text=True)
            path = array.folder / new if new else array.path
            if run.returncode not in (0, 1):
                results[name] = f"status {run.returncode}: {run.stderr}"
            elif run.returncode:
                is_left = content(array.path) == before and (not new or not path.exists())
                results[name] = "refused: " + run.stderr.strip() if is_left else f"failed, and left another file: {run.stderr}"
            else:
                results[name] = judge(array, name, path, is_right, before if new else None)
    return results


def judge(array, name, path, is_right, before):
    if before and content(array.path) != before:
        return "the old array has changed"
    found = items(path, array.reader)
    if found is None or isinstance(found, str):
        return f"{array.reader} cannot read the new array ({found})"
    more = collections.Counter(reported([path], "--data")[0]) - array.findings
    if not any(last(*found)):
        # These warn of zeros at the end, which could be real data.
        more = {finding: count for finding, count in more.items() if finding[1] not in ("no-data", "never-written")}
    if more:
        return f"check finds {dict(more)}"
    if not is_right(array, found):
        return f"other items: shape {found[0]} instead of {array.items[0]}"
    return "changed"


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    folder = Path(words[0]) if words else ROOT / "frame/tests/data"
    listed = [line for line in b2nd("ls", "--json", folder) if "shape" in line and "error" not in line]
    paths = sorted({Path(line["path"]) for line in listed if not line.get("member") and line.get("offset", 0) in (0, None)})
    paths = [path for path in paths if path.is_dir() or path.read_bytes()[:2] != b"PK"]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(paths, pool.map(changes, paths)))
    counts = {name: collections.Counter() for name in COMMANDS}
    refusals, faults = collections.Counter(), []
    for path, of_path in results.items():
        for name, result in of_path.items():
            kind = "changed" if result == "changed" else "refused" if result.startswith("refused: ") else "wrong"
            counts[name][kind] += 1
            if kind == "wrong":
                faults.append(f"{path}: {name}: {result}")
            elif kind == "refused":
                refusals[f"{name}: {result.split(': ', 3)[-1].splitlines()[-1]}"] += 1
    print(f"{len(paths)} arrays, {sum(map(bool, results.values()))} of which can be read\n")
    print(table("command | changed: | refused: | wrong:", [[name, *(found[kind] for kind in ("changed", "refused", "wrong"))] for name, found in counts.items()]))
    for text, count in sorted(refusals.items()):
        print(f"{count} x {text}")
    if not sum(count["changed"] for count in counts.values()):
        sys.exit("no array was changed")
    if faults:
        sys.exit("\n".join(["", *faults]))


main()
