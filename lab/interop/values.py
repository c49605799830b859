"""Compares the items that `b2nd cat` reads with those of python-blosc2 and NumPy, on random arrays of all dtypes.

    values.py [COUNT] [SEED]

For each array, it compares:

- the outputs of `b2nd cat`: `--npy` for the whole array, for a random slice and for slices with steps; the text; and `--json`
- the outputs of `b2nd convert`: a NumPy file, an array made from that file, and a repacked array
- the items that `b2nd diff --data` finds to differ in a changed copy
- the output of `b2nd info --stats`
"""

import io
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import blosc2
import numpy as np

import arrays

warnings.simplefilter("ignore")
B2ND = os.environ["B2ND"]
# The number of slices with steps that are tried for each array.
STEPPED = 12


def run(*arguments, command="cat"):
    return subprocess.run([B2ND, command, *map(str, arguments)], capture_output=True)


def parameters(rng, dtype):
    """Random options of `b2nd convert`."""
    options = ["--codec", rng.choice(["zstd", "lz4", "blosclz", "zlib"]), "--level", rng.randrange(10), "-j", rng.randint(1, 3)]
    # python-blosc2 cannot open a frame with this filter and items of 128 bytes or more, not even a frame that it wrote.
    bytedelta = ["shuffle,bytedelta"] if dtype.itemsize < 128 else []
    filters = rng.choice(["", "none", "shuffle", "bitshuffle", "delta,shuffle", *bytedelta])
    return options + (["--filters", filters] if filters else []) + rng.choice([[], ["--sparse"]])


def convert(*arguments):
    result = run(*arguments, command="convert")
    assert result.returncode == 0, (arguments, result.stderr.decode())


def cut(rng, shape, most=1):
    """A random slice with steps up to `most`, as an index of NumPy and as a text."""
    index, texts = [], []
    for length in shape:
        form = rng.randrange(5)
        if form == 0 and length:
            number = rng.randrange(-length, length)
            index.append(number)
            texts.append(str(number))
            continue
        bounds = [None if rng.random() < 0.3 else rng.randint(-length - 1, length + 1) for _ in range(2)]
        step = [rng.randint(1, most)] if most > 1 else []
        index.append(slice(*bounds, *step))
        texts.append(":".join("" if bound is None else str(bound) for bound in bounds + step))
    return tuple(index), ",".join(texts)


def raw(array):
    """The bytes of an array without the padding of structs. NumPy does not copy padding, so it cannot be compared."""
    if array.dtype.names:
        return b"".join(raw(array[name]) for name in array.dtype.names)
    return array.tobytes()


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and raw(a) == raw(b)


def loaded(result, what):
    assert result.returncode == 0 and result.stdout, (what, result.stderr.decode())
    return np.load(io.BytesIO(result.stdout))


def plain(value):
    """An item as in the JSON of the command."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return text_of_bytes(value) if isinstance(value, bytes) else value


def text_of_bytes(value):
    """An item of dtype S as in the JSON of the command."""
    try:
        text = value.decode()
        if "\\x" not in text:
            return text
    except UnicodeDecodeError:
        pass
    return value.replace(b"\\", b"\\\\").decode(errors="backslashreplace")


def alike(text, array):
    """Whether a text means the same as NumPy's text of an array. It can differ in digits, because NumPy adds needless digits to short
    floats with exponents. Texts with quotes or escapes are not compared, because ours are quoted in another way."""
    # For an array without dimensions, NumPy prints a text as it is, with no quotes and no escapes. The command does so
    # too, but replaces control characters, to protect a terminal.
    expected = str(array) if array.shape else str(array).replace("\n", "\ufffd")
    if text == expected + "\n" or array.dtype.kind in "SU" and ("\\" in text or '"' in text):
        return True
    # NumPy 2 prints a single item of type bytes with its type.
    if array.dtype.kind == "S" and not array.shape:
        return f"np.bytes_({text.strip()})" == str(array)
    # The command prints a single duration without its unit.
    if array.dtype.kind == "m" and not array.shape:
        return int(text) == array.astype("i8")
    if array.dtype.str[1:] not in ("f2", "f4", "c8"):
        return False
    if not array.shape:
        number = complex(text) if array.dtype.kind == "c" else float(text)
        return np.array_equal(np.array(number, dtype=array.dtype), array, equal_nan=True)
    numbers = (re.findall(r"[+-]?(?:inf|nan|[\d.]*\d[\d.]*(?:e[+-]\d+)?)", text) for text in (text, str(array)))
    found, wanted = (np.array(list(map(float, part)), dtype=array.real.dtype) for part in numbers)
    # A number that the command prints can differ from NumPy's by one in the eighth decimal, because NumPy rounds the
    # exact value, and the command rounds the shortest digits of the number. So the numbers are compared as floats, with
    # a tolerance.
    return len(found) == len(wanted) and np.allclose(found, wanted, rtol=0, atol=2e-8, equal_nan=True)


def compare(path, expected, rng, counts, folder):
    name = f"{path}: {expected.dtype} {expected.shape}"
    assert same(loaded(run("--npy", path), name), expected), name
    index, text = cut(rng, expected.shape)
    counts["slices"] += 1
    part = expected[index] if index else expected
    part = np.asarray(part, dtype=expected.dtype) if not isinstance(part, np.ndarray) else part
    assert same(loaded(run("--npy", "--slice", text, path), name), np.ascontiguousarray(part).reshape(part.shape)), (name, text)
    for _ in range(STEPPED):
        counts["with steps"] += 1
        stepped, steps = cut(rng, expected.shape, rng.choice([2, 5, 100]))
        other = np.asarray(expected[stepped], dtype=expected.dtype) if stepped else expected
        assert same(loaded(run("--npy", "--slice", steps, path), name), np.ascontiguousarray(other).reshape(other.shape)), (name, steps)
    file = folder / "items.npy"
    convert("--slice", text, path, file)
    assert same(np.load(file), part), (name, text, "file")
    assert run(path, file, command="convert").returncode == 1
    fortran = folder / "fortran.npy"
    np.save(fortran, np.array(part, order="F"))
    for source, options in ((file, []), (fortran, []), (path, ["--slice", text])):
        new = folder / "new.b2nd"
        options = [*options, *parameters(rng, part.dtype)]
        convert(*options, source, new)
        assert same(loaded(run("--npy", new), name), part), (name, options, source)
        # If a frame has the delta filter, python-blosc2 reads parts of its chunks wrongly, so its items are not
        # compared.
        if "delta,shuffle" not in options:
            assert same(np.asarray(blosc2.open(str(new), mode="r")[()]).reshape(part.shape), part), (name, options, source, "python-blosc2")
            counts["converted"] += 1
        shutil.rmtree(new) if new.is_dir() else new.unlink()
    file.unlink()
    fortran.unlink()
    if expected.dtype.names or expected.dtype.kind == "V" and not expected.shape:
        return
    for array, options in ((expected, []), (part, ["--slice", text]), (other, ["--slice", steps])):
        counts["texts"] += 1
        found = run(*options, path).stdout.decode()
        lines = found.splitlines(), str(array).split("\n")
        assert alike(found, array), f"{name} {options}: {next((pair for pair in zip(*lines) if pair[0] != pair[1]), lines)}"
    if expected.size < 500:
        counts["full texts"] += 1
        with np.printoptions(threshold=sys.maxsize):
            assert alike(run("--full", path).stdout.decode(), expected), name
    if expected.dtype.kind in "?biufcSU":
        counts["JSON"] += 1
        found = json.loads(run("--json", "--slice", text, path).stdout)
        assert found["schema"] == 1 and found["shape"] == list(part.shape) and np.dtype(found["dtype"]) == part.dtype, found
        values = np.asarray(part).tolist()
        assert found["values"] == plain(values), (name, text, found["values"], values)


def are_different(a, b, tolerance):
    """Whether each item differs. NaN is equal to NaN, and NaT to NaT."""
    if a.dtype.names:
        fields = (are_different(a[name], b[name], tolerance) for name in a.dtype.names)
        return np.any([field.any(axis=tuple(range(a.ndim, field.ndim))) for field in fields], axis=0)
    if a.dtype.kind == "c":
        return are_different(a.real, b.real, tolerance) | are_different(a.imag, b.imag, tolerance)
    if a.dtype.kind == "V":
        width = a.dtype.itemsize
        rows = (np.frombuffer(array.tobytes(), "u1").reshape(*array.shape, width) for array in (a, b))
        return np.any(next(rows) != next(rows), axis=-1)
    if a.dtype.kind in "biuf":
        tolerance = 0 if a.dtype.kind == "b" else tolerance
        exact = (array.astype("f8") if a.dtype.kind == "f" else array.astype(int if a.dtype.kind == "b" else object) for array in (a, b))
        with np.errstate(invalid="ignore"):
            is_near = np.abs(next(exact) - next(exact)) <= tolerance
        return ~((a == b) | is_near.astype(bool) | (a != a) & (b != b))
    return (a != b) & ~((a != a) & (b != b))


def compare_changed(path, expected, rng, counts, folder):
    """Compares the result of `b2nd diff` on a copy with other items, chunks and byte order."""
    other = expected.copy()
    new = arrays.different(rng, expected.size, expected.dtype).reshape(expected.shape)
    chosen = np.random.default_rng(rng.getrandbits(32)).random(expected.shape) < rng.choice([0, 0.01, 0.5])
    other[chosen] = new[chosen]
    is_swapped = expected.dtype.names is None and rng.random() < 0.3
    other = other.astype(other.dtype.newbyteorder()) if is_swapped else other
    file, array = folder / "other.npy", folder / "other.b2nd"
    np.save(file, other)
    chunks = [rng.randint(1, max(length, 1)) for length in expected.shape]
    convert(*(["--chunks", ",".join(map(str, chunks))] if chunks else []), file, array)
    tolerance = rng.choice([0, 0, 0.5, 3])
    result = run("--data", "--json", "--tolerance", tolerance, path, array, command="diff")
    mask = are_different(expected, other, tolerance)
    found = [line for line in json.loads(result.stdout)["differences"] if line["field"] == "data"]
    name = f"{path}: {expected.dtype} {expected.shape}, tolerance {tolerance}, {result.stderr.decode()}"
    assert len(found) == int(mask.any()), (name, mask.sum(), result.stdout)
    for difference in found:
        index = [int(number) for number in np.unravel_index(np.argmax(mask), mask.shape)]
        assert (difference["different"], difference["index"]) == (mask.sum(), index), (name, mask.sum(), index, difference)
    counts["compared"] += 1
    file.unlink()
    array.unlink()


def compare_stats(path, expected, counts):
    stats = json.loads(run("--stats", "--json", path, command="info").stdout).get("stats")
    kind = expected.dtype.kind
    if kind not in "biufcmMSU" or expected.dtype.str[1:] in ("f16", "c32"):
        assert stats is None, (path, expected.dtype, stats)
        return
    counts["stats"] += 1
    name = (path, expected.dtype, expected.shape, stats)
    if kind in "SU":
        lengths = np.char.str_len(expected)
        assert stats.get("lengths") == ([lengths.min(), lengths.max()] if lengths.size else None), name
        assert stats["zeros"] == (lengths == 0).sum(), name
        return
    is_nan = np.isnat(expected) if kind in "mM" else np.isnan(expected)
    finite = expected[~is_nan] if kind in "mM" else expected[np.isfinite(expected)]
    zeros = expected.astype("i8") == 0 if kind in "mM" else expected == 0
    wanted = [is_nan.sum(), 0 if kind in "mM" else np.isinf(expected).sum(), zeros.sum()]
    assert [stats["nan"], stats["infinite"], stats["zeros"]] == wanted, (name, wanted)
    first = [int(number) for number in np.unravel_index(np.argmax(is_nan), is_nan.shape)] if is_nan.any() else None
    assert stats["first_nan"] == first, (name, first)
    if kind != "c" and kind not in "mM":
        ends = [None, None] if finite.size == 0 else [finite.min(), finite.max()]
        found = [None if stats[name] is None else np.array(stats[name]).astype(expected.dtype) for name in ("min", "max")]
        assert found == ends, (name, ends)
    if kind == "M" or finite.size == 0:
        assert stats["mean"] is None and stats["std"] is None, name
        return
    numbers = finite.astype("i8").astype("f8") if kind == "m" else finite.astype("c16" if kind == "c" else "f8")
    with np.errstate(all="ignore"):
        mean, std = numbers.mean(), numbers.std()
        scale = np.abs(numbers).max()
    found = complex(*map(float, stats["mean"])) if kind == "c" else float(stats["mean"])
    # NumPy's own sums overflow or lose digits if the numbers are large.
    if np.isfinite(std):
        assert abs(found - mean) <= 1e-9 * scale and abs(float(stats["std"]) - std) <= 1e-9 * scale, (name, mean, std)


def random_arrays(count, seed):
    rng = random.Random(seed)
    counts = {"arrays": 0, "slices": 0, "with steps": 0, "texts": 0, "full texts": 0, "JSON": 0, "converted": 0, "compared": 0, "stats": 0, "not written": 0}
    with tempfile.TemporaryDirectory() as name:
        for number in range(count):
            path = os.path.join(name, f"{number}.b2nd")
            dtype = arrays.dtype_of(rng)
            try:
                array, expected = arrays.write(path, rng, dtype)
                if expected is None:
                    expected = np.asarray(blosc2.open(path, mode="r")[()])
            except arrays.FAILURES as error:
                counts["not written"] += 1
                if "-v" in sys.argv:
                    print(dtype, error)
                continue
            counts["arrays"] += 1
            expected = expected.reshape(array.shape)
            compare(path, expected, rng, counts, Path(name))
            compare_stats(path, expected, counts)
            compare_changed(path, expected, rng, counts, Path(name))
    return counts


if __name__ == "__main__":
    count, seed = [int(argument) for argument in sys.argv[1:3]] + [300, 1][len(sys.argv) - 1 :]
    print(f"seed {seed}:", random_arrays(count, seed))
