"""Compares the items that `b2nd cat` reads with those of python-blosc2 and NumPy, on random arrays of all dtypes.

    values.py [COUNT] [SEED]
    values.py --files FOLDER

For each array, it compares `--npy` (whole, and a random slice), `-o`, the text, and `--json`. With `--files`, every array below a folder that
python-blosc2 reads.
"""

import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import blosc2
import numpy as np

warnings.simplefilter("ignore")
B2ND = os.environ["B2ND"]
SIMPLE = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
OTHER = ["S1", "S7", "S300", "U1", "U5", "V3", "V16", "M8[D]", "M8[ns]", "M8[25s]", "M8[M]", "M8[W]", "M8[us]", "M8[h]", "m8[s]", "m8[7D]"]
STRUCTS = [
    [("a", "<i4"), ("b", "<f8")],
    [("a", "u1"), ("b", ">f4", (2, 3)), ("c", "S3")],
    [("point", [("x", "<f4"), ("y", "<f4")]), ("name", "U3"), ("ok", "?")],
    {"names": ["a", "b"], "formats": ["<i2", "<i4"], "offsets": [2, 8], "itemsize": 16},
]
CODECS = [blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB, blosc2.Codec.ZSTD]
FILTERS = [[], ["SHUFFLE"], ["BITSHUFFLE"], ["DELTA", "SHUFFLE"], ["DELTA"], ["TRUNC_PREC", "SHUFFLE"]]


def run(*arguments):
    return subprocess.run([B2ND, "cat", *map(str, arguments)], capture_output=True)


def dtype_of(rng):
    if rng.random() < 0.6:
        return np.dtype(rng.choice("<>") + rng.choice(SIMPLE))
    return np.dtype(rng.choice([rng.choice("<>") + rng.choice(OTHER), rng.choice(STRUCTS)]))


def shapes(rng):
    ndim = rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 16])
    most = {0: 1, 1: 3000, 2: 80, 3: 20, 4: 9, 5: 5, 6: 4, 7: 3, 8: 3, 16: 2}[ndim]
    shape = [rng.randint(1, most) for _ in range(ndim)]
    if ndim == 16:
        shape = [rng.choice([1, 1, 1, 2, 3]) for _ in range(ndim)]
        while math.prod(shape) > 5000:
            shape[rng.randrange(ndim)] = 1
    if ndim and rng.random() < 0.04:
        shape[rng.randrange(ndim)] = 0
    chunks = [rng.randint(1, max(length, 1)) for length in shape]
    blocks = [rng.randint(1, chunk) for chunk in chunks]
    return shape, chunks, blocks


def items(rng, shape, dtype):
    count = math.prod(shape)
    generator = np.random.default_rng(rng.getrandbits(32))
    kind, style = dtype.kind, rng.randrange(5)
    if kind in "iu" and style:
        info = np.iinfo(dtype)
        most = rng.choice([2, 100, 10**6, 2**62])
        return generator.integers(max(info.min, -most), min(info.max, most), count, "i8" if kind == "i" else "u8").astype(dtype)
    if kind in "fc" and style:
        scale = rng.choice([1, 1, 1e-3, 1e4, 1e7, 1e-9, 1e30 if dtype.itemsize > 4 else 1e3])
        values = generator.normal(size=count) * scale
        if style == 1:
            values = np.round(values, rng.randrange(4))
        if kind == "c":
            values = values + 1j * generator.normal(size=count) * rng.choice([1, 1e-6, 1e5])
        with np.errstate(all="ignore"):
            values = values.astype(dtype)
        for special in (np.nan, np.inf, -np.inf, 0.0, -0.0):
            if count and rng.random() < 0.15:
                values[rng.randrange(count)] = special
        return values
    if kind == "b" or dtype.kind == "?":
        return generator.integers(0, 2, count).astype(dtype)
    if kind in "Mm":
        most = rng.choice([100, 40_000, 10**9])
        values = generator.integers(-most, most, count).astype(dtype.newbyteorder("=").str.replace(kind, "i", 1)[:3]).view(dtype.newbyteorder("="))
        if count and rng.random() < 0.3:
            values[rng.randrange(count)] = "NaT"
        return values.astype(dtype)
    if kind == "U":
        letters = "ab c'\"\\\n\u00e9\u4e2d\U0001f600"
        size = dtype.itemsize // 4
        return np.array(["".join(rng.choice(letters) for _ in range(rng.randint(0, size))) for _ in range(count)], dtype)
    # Random bytes may not be valid characters.
    if dtype.names and any(field[0].kind == "U" for field in dtype.fields.values()):
        return np.zeros(count, dtype)
    return np.frombuffer(rng.randbytes(count * dtype.itemsize), dtype)


def cparams(rng, dtype):
    codec = rng.choice(CODECS)
    filters = rng.choice(FILTERS)
    if "TRUNC_PREC" in filters and dtype.str[1:] not in ("f4", "f8"):
        filters = ["SHUFFLE"]
    if "DELTA" in filters and dtype.kind == "V":
        filters = ["BITSHUFFLE"]
    return {
        "codec": codec,
        "clevel": rng.choice([0, 1, 5, 9]),
        "filters": [getattr(blosc2.Filter, name) for name in filters],
        "filters_meta": [10 if name == "TRUNC_PREC" else 0 for name in filters],
        "use_dict": codec == blosc2.Codec.ZSTD and rng.random() < 0.2,
        "nthreads": rng.choice([1, 2]),
    }


def write(path, rng, dtype):
    """Writes a random array. Returns the array, and its true items if python-blosc2 may read wrong ones: with the delta filter, it reads parts
    of a chunk wrongly."""
    shape, chunks, blocks = shapes(rng)
    options = {"chunks": chunks, "blocks": blocks, "urlpath": path, "contiguous": rng.random() < 0.6, "cparams": cparams(rng, dtype)}
    if not shape:
        del options["chunks"], options["blocks"]
    kind = rng.choice(["zeros", "full", "nans", "some"] + ["asarray"] * 8) if shape else "asarray"
    if kind == "nans" and dtype.str[1:] not in ("f4", "f8"):
        kind = "zeros"
    if kind in ("zeros", "nans"):
        return getattr(blosc2, kind)(shape, dtype=dtype, **options), None
    if kind == "full" and not dtype.names:
        value = items(rng, [1], dtype)[0]
        return blosc2.full(shape, value, dtype=dtype, **options), None
    values = items(rng, shape, dtype).reshape(shape)
    has_delta = blosc2.Filter.DELTA in options["cparams"]["filters"]
    if kind == "some" and not has_delta and math.prod(shape) and not dtype.names:
        array = blosc2.zeros(shape, dtype=dtype, **options)
        cut = tuple(slice(0, rng.randint(1, length)) for length in shape)
        array[cut] = values[cut]
        return array, None
    return blosc2.asarray(np.ascontiguousarray(values), **options), values if has_delta else None


def cut(rng, shape):
    """A random slice, as an index of NumPy and as a text."""
    index, texts = [], []
    for length in shape:
        form = rng.randrange(5)
        if form == 0 and length:
            number = rng.randrange(-length, length)
            index.append(number)
            texts.append(str(number))
            continue
        bounds = [None if rng.random() < 0.3 else rng.randint(-length - 1, length + 1) for _ in range(2)]
        index.append(slice(*bounds))
        texts.append(":".join("" if bound is None else str(bound) for bound in bounds))
    return tuple(index), ",".join(texts)


def raw(array):
    """The bytes of an array, without the padding of structs, which NumPy does not copy."""
    if array.dtype.names:
        return b"".join(raw(array[name]) for name in array.dtype.names)
    return array.tobytes()


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and raw(a) == raw(b)


def loaded(result, what):
    assert result.returncode == 0 and result.stdout, (what, result.stderr.decode())
    return np.load(io.BytesIO(result.stdout))


def plain(value):
    """An item as the command's JSON has it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value.hex() if isinstance(value, bytes) else value


def compare(path, expected, rng, counts, folder):
    name = f"{path}: {expected.dtype} {expected.shape}"
    assert same(loaded(run("--npy", path), name), expected), name
    index, text = cut(rng, expected.shape)
    counts["slices"] += 1
    part = expected[index] if index else expected
    part = np.asarray(part, dtype=expected.dtype) if not isinstance(part, np.ndarray) else part
    assert same(loaded(run("--npy", "--slice", text, path), name), np.ascontiguousarray(part).reshape(part.shape)), (name, text)
    file = folder / "items.npy"
    result = run("-o", file, "--slice", text, path)
    assert result.returncode == 0, (name, text, result.stderr)
    assert same(np.load(file), part), (name, text, "file")
    assert run("-o", file, path).returncode == 1
    file.unlink()
    if expected.dtype.names or expected.dtype.kind == "V" and not expected.shape:
        return
    for array, options in ((expected, []), (part, ["--slice", text])):
        counts["texts"] += 1
        found = run(*options, path).stdout.decode()
        lines = found.splitlines(), str(array).split("\n")
        assert found == str(array) + "\n", f"{name} {options}: {next((pair for pair in zip(*lines) if pair[0] != pair[1]), lines)}"
    if expected.size < 500:
        counts["full texts"] += 1
        with np.printoptions(threshold=sys.maxsize):
            assert run("--full", path).stdout.decode() == str(expected) + "\n", name
    if expected.dtype.kind in "?biufcSU":
        counts["JSON"] += 1
        found = json.loads(run("--json", "--slice", text, path).stdout)
        assert found["schema"] == 1 and found["shape"] == list(part.shape) and np.dtype(found["dtype"]) == part.dtype, found
        values = np.asarray(part).tolist()
        if part.dtype.str[1:] in ("f2", "f4", "c8"):
            again = np.array([float(v) if isinstance(v, str) else v for v in np.ravel(np.array(found["values"], dtype=object))]).astype(part.real.dtype)
            parts = np.stack([part.real, part.imag], -1) if part.dtype.kind == "c" else part
            assert np.array_equal(again, np.ravel(parts), equal_nan=True), (name, text)
        else:
            assert found["values"] == plain(values), (name, text, found["values"], values)


def random_arrays(count, seed):
    rng = random.Random(seed)
    counts = {"arrays": 0, "slices": 0, "texts": 0, "full texts": 0, "JSON": 0, "not written": 0}
    with tempfile.TemporaryDirectory() as name:
        for number in range(count):
            path = os.path.join(name, f"{number}.b2nd")
            dtype = dtype_of(rng)
            try:
                array, expected = write(path, rng, dtype)
                if expected is None:
                    expected = np.asarray(blosc2.open(path, mode="r")[()])
            except (RuntimeError, ValueError, TypeError, NotImplementedError, SystemError) as error:
                counts["not written"] += 1
                if "-v" in sys.argv:
                    print(dtype, error)
                continue
            counts["arrays"] += 1
            compare(path, expected.reshape(array.shape), rng, counts, Path(name))
    return counts


def files(folder):
    counts = {"arrays": 0, "refused by both": 0, "by python only": [], "by b2nd only": [], "differ": []}
    paths = [path for pattern in ("*.b2nd", "*.b2frame", "*.caterva", "*.cat", "*.iarr") for path in Path(folder).rglob(pattern)]
    for path in sorted(paths):
        if path.name == "chunks.b2frame":
            path = path.parent
        try:
            array = blosc2.open(str(path), mode="r")
            if not isinstance(array, blosc2.NDArray):
                continue
            expected = np.asarray(array[()])
        except Exception as error:
            expected = error
        result = run("--npy", path)
        read = result.returncode == 0
        if isinstance(expected, Exception):
            counts["refused by both" if not read else "by python only"] = (
                counts["refused by both"] + 1 if not read else counts["by python only"] + [f"{path}: {expected}"]
            )
        elif not read:
            counts["by b2nd only"].append(f"{path}: {result.stderr.decode().strip()}")
        else:
            counts["arrays"] += 1
            found = np.load(io.BytesIO(result.stdout))
            if raw(found) != raw(expected) or found.shape != expected.shape or found.dtype != expected.dtype:
                counts["differ"].append(f"{path}: {found.dtype} {expected.dtype} {found.shape} {expected.shape}")
    return counts


if __name__ == "__main__":
    if sys.argv[1:2] == ["--files"]:
        print(json.dumps(files(sys.argv[2]), indent=1))
    else:
        count, seed = [int(argument) for argument in sys.argv[1:3]] + [300, 1][len(sys.argv) - 1 :]
        print(f"seed {seed}:", random_arrays(count, seed))
