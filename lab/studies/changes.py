"""Runs every command that changes or writes a file on a copy of every array in a folder.

    lab/run changes              the arrays in frame/tests/data
    lab/run changes FOLDER       the arrays in this folder

A command either refuses the array, and leaves every byte of it, or it succeeds. Then `b2nd check --data --strict` must find nothing
that it did not find before, and python-blosc2 must read the expected items and dtype, and the chunks and blocks that `b2nd info` shows.
`b2nd cat` reads the old array where python-blosc2 cannot, and both where python-blosc2 can read neither, or items were never written.
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
from typing import NamedTuple

import blosc2
import numpy as np

from shared import answers, table
from study import B2ND, ROOT, b2nd, reported, scratch

# Arrays with more bytes of items than this are left out.
MOST = 1 << 24


def padded(array):
    """The array with zeros as the padding of structs, which NumPy does not always copy."""
    if array.dtype.names is None:
        return array
    new = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names:
        new[name] = padded(array[name])
    return new


def of_python(path):
    """An array in a file as python-blosc2 reads it: shape, items in hexadecimal, dtype, chunks and blocks; None if it cannot."""
    try:
        array = blosc2.open(str(path), mode="r")
        if not isinstance(array, blosc2.NDArray):
            return None
        return [list(array.shape), padded(array[...]).tobytes().hex(), str(array.dtype), list(array.chunks), list(array.blocks)]
    except Exception:
        return None


def of_command(path):
    run = subprocess.run([B2ND, "cat", "--npy", path], capture_output=True)
    if run.returncode:
        return None
    array, record = np.load(io.BytesIO(run.stdout)), b2nd("info", "--json", path)[0]
    return [list(array.shape), padded(array).tobytes().hex(), str(array.dtype), record["chunks"], record["blocks"]]


class Content(NamedTuple):
    shape: list
    items: bytes
    dtype: str
    chunks: list
    blocks: list


def content_of(path, reader):
    """The content of an array, None, or how python-blosc2 ended."""
    found = answers(of_python, [path])[0] if reader == "python" else of_command(path)
    return Content(found[0], bytes.fromhex(found[1]), *found[2:]) if isinstance(found, list) else found


def files_of(path):
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {file: file.read_bytes() for file in files if file.is_file()}


class Array:
    """A copy of an array, with its record, its findings and its old content."""

    def __init__(self, source, folder):
        self.source, self.folder = source, folder
        self.path = Path(folder, f"a{source.suffix}")
        self.reset()
        self.record = b2nd("info", "--json", self.path)[0]
        self.old = None
        if self.record["nbytes"] is None or self.record["nbytes"] > MOST:
            return
        self.findings = collections.Counter(reported([self.path], "--data")[0])
        # Items that were never written differ each time python-blosc2 reads them.
        is_written = all(chunk.get("kind") != "uninitialized" for chunk in b2nd("chunks", "--json", self.path))
        self.readers = ["python", "command"] if is_written else ["command"]
        for reader in self.readers:
            self.old = content_of(self.path, reader)
            if isinstance(self.old, Content):
                # If python-blosc2 reads the old array, it must read the new one too.
                self.readers = [reader] if reader == "python" else self.readers
                break

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

    def missing_dtype(self):
        """The option with a dtype for an array of Caterva, which has none."""
        size = self.record["typesize"]
        return ["--dtype", {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8"}.get(size, f"|V{size}")] if self.record["layout"] == "caterva" else []

    def more(self):
        """A NumPy file with the items of the last index along dimension 0."""
        file = self.folder / "more.npy"
        run = subprocess.run([B2ND, "cat", "--npy", "--slice", "-1", self.path], capture_output=True)
        file.write_bytes(run.stdout)
        return file


# For each effect of a command: whether the new content of an array is right.
def is_same(array, new):
    return new[:2] == array.old[:2] and (new.dtype == array.old.dtype or array.missing_dtype())


def is_retyped(array, new):
    dtype = array.new_dtype()
    expected = array.old.dtype if dtype == array.record["dtype"] else str(np.dtype(dtype))
    return new[:2] == array.old[:2] and new.dtype == expected


def is_resized(array, new):
    """The items that are in both shapes are the same. Others can be anything."""
    (shape, data), (old, before) = new[:2], array.old[:2]
    if shape != array.new_shape() or new.dtype != array.old.dtype:
        return False
    size = len(before) // int(np.prod(old))
    common = tuple(slice(min(lengths)) for lengths in zip(shape, old))
    part, found = (np.frombuffer(items, f"V{size}").reshape(of)[common] for items, of in ((before, old), (data, shape)))
    return part.tobytes() == found.tobytes()


def is_longer(array, new):
    (shape, data), (old, before) = new[:2], array.old[:2]
    return new.dtype == array.old.dtype and shape == [old[0] + 1, *old[1:]] and data == before + last(old, before)


def last(shape, data):
    """The items of the last index along dimension 0."""
    return data[-(len(data) // shape[0]) :] if shape and shape[0] else data


COMMANDS = {
    "set --shape": (lambda a: ["set", a.path, "--shape", ",".join(map(str, a.new_shape()))], None, is_resized),
    "set --dtype": (lambda a: ["set", a.path, "--dtype", a.new_dtype()], None, is_retyped),
    "set --vlmeta": (lambda a: ["set", a.path, "--vlmeta", "b2nd_test=[1,2,3]"], None, is_same),
    "set --remove-vlmeta": (lambda a: ["set", a.path, "--remove-vlmeta", "b2nd_test"], None, is_same),
    "convert --append": (lambda a: ["convert", "--append", "0", a.more(), a.path], None, is_longer),
    "rewrite in place": (lambda a: ["rewrite", *a.missing_dtype(), a.path, a.path], None, is_same),
    "rewrite --sparse": (lambda a: ["rewrite", "--sparse", *a.missing_dtype(), a.path, a.folder / "new.b2nd"], "new.b2nd", is_same),
    "rewrite --contiguous": (lambda a: ["rewrite", "--contiguous", *a.missing_dtype(), a.path, a.folder / "new.b2nd"], "new.b2nd", is_same),
    "salvage": (lambda a: ["salvage", a.path, a.folder / "new.b2nd"], "new.b2nd", is_same),
    "convert": (lambda a: ["convert", a.path, a.folder / "new.b2nd"], "new.b2nd", is_same),
}


def changes(source):
    """The result of each command for an array: `changed` with the reader of the new array, `refused: CODE`, or what is wrong."""
    results = {}
    with scratch() as folder:
        array = Array(source, Path(folder))
        if not isinstance(array.old, Content):
            return {}
        for name, (words, new, is_right) in COMMANDS.items():
            if 0 in (array.record["shape"] or [0]) and name in ("set --shape", "convert --append"):
                continue
            # This command removes the vlmetalayer that the command before it has set.
            if name != "set --remove-vlmeta":
                array.reset()
            before = files_of(array.path)
            run = subprocess.run([B2ND, *words(array)], capture_output=True, text=True)
            path = array.folder / new if new else array.path
            if run.returncode not in (0, 1):
                results[name] = f"status {run.returncode}: {run.stderr}"
            elif run.returncode:
                is_left = files_of(array.path) == before and (not new or not path.exists())
                results[name] = "refused: " + run.stderr.strip() if is_left else f"failed, and left another file: {run.stderr}"
            else:
                results[name] = judge(array, path, is_right, before if new else None, run.stdout)
    return results


def judge(array, path, is_right, before, output):
    if before and files_of(array.path) != before:
        return "the old array has changed"
    for reader in array.readers:
        new = content_of(path, reader)
        if isinstance(new, Content):
            break
    else:
        return f"{array.readers[0]} cannot read the new array ({new})"
    record = b2nd("info", "--json", path)[0]
    if [new.chunks, new.blocks] != [record["chunks"], record["blocks"]]:
        return f"{reader} reads chunks {new.chunks} and blocks {new.blocks}"
    more = collections.Counter(reported([path], "--data")[0]) - array.findings
    if not any(last(*new[:2])):
        # These two codes warn of zeros at the end, which could be real data.
        more = {finding: count for finding, count in more.items() if finding[1] not in ("no-data", "never-written")}
    # A salvage records the chunks that it could not verify.
    if "\n  unverified: " in output:
        more.pop(("warning", "salvaged"), None)
    if more:
        return f"check finds {dict(more)}"
    if not is_right(array, new):
        return f"other items: {new.dtype} of shape {new.shape}, before {array.old.dtype} of shape {array.old.shape}"
    return f"changed, {reader}"


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
            kind = "changed" if result.startswith("changed, ") else "refused" if result.startswith("refused: ") else "wrong"
            counts[name][kind] += 1
            counts[name]["python"] += result == "changed, python"
            if kind == "wrong":
                faults.append(f"{path}: {name}: {result}")
            elif kind == "refused":
                refusals[f"{name}: {result.split(': ', 3)[-1].splitlines()[-1]}"] += 1
    print(f"{len(paths)} arrays, {sum(map(bool, results.values()))} of which can be read\n")
    print(table("command | changed: | read by python-blosc2: | refused: | wrong:", [[name, *(found[kind] for kind in ("changed", "python", "refused", "wrong"))] for name, found in counts.items()]))
    for text, count in sorted(refusals.items()):
        print(f"{count} x {text}")
    if not sum(count["changed"] for count in counts.values()):
        sys.exit("no array was changed")
    if faults:
        sys.exit("\n".join(["", *faults]))


main()
