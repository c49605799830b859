"""Random arrays of all dtypes, shapes, codecs and filters, written by python-blosc2."""

import math

import blosc2
import numpy as np

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
KINDS = ["zeros", "full", "nans", "some"] + ["asarray"] * 8

# The exceptions that python-blosc2 raises if it cannot write or read some of the random arrays and chunks.
FAILURES = (RuntimeError, ValueError, TypeError, NotImplementedError, SystemError)


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
    """Random items, sometimes all equal."""
    count = math.prod(shape)
    if rng.random() < 0.1:
        return np.zeros(count, dtype)
    return np.repeat(different(rng, 1, dtype), count) if rng.random() < 0.1 else different(rng, count, dtype)


def different(rng, count, dtype):
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
    # A struct with texts is all zeros, because random bytes may not be valid characters.
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


def write(path, rng, dtype, contiguous=None, kinds=KINDS):
    """Writes a random array to a file or, if it is not contiguous, to a folder. Returns the array. Also returns its right items if
    python-blosc2 may read wrong items: if a chunk has the delta filter, it reads parts of the chunk wrongly."""
    shape, chunks, blocks = shapes(rng)
    contiguous = rng.random() < 0.6 if contiguous is None else contiguous
    options = {"chunks": chunks, "blocks": blocks, "urlpath": path, "contiguous": contiguous, "cparams": cparams(rng, dtype)}
    if not shape:
        del options["chunks"], options["blocks"]
    kind = rng.choice(kinds) if shape else "asarray"
    if kind == "nans" and dtype.str[1:] not in ("f4", "f8"):
        kind = "zeros"
    if kind in ("zeros", "nans", "uninit"):
        return getattr(blosc2, kind)(shape, dtype=dtype, **options), None
    if kind == "full" and not dtype.names:
        value = items(rng, [1], dtype)[0]
        return blosc2.full(shape, value, dtype=dtype, **options), None
    values = items(rng, shape, dtype).reshape(shape)
    has_delta = blosc2.Filter.DELTA in options["cparams"]["filters"]
    if kind == "some" and not has_delta and math.prod(shape) and not dtype.names:
        array = blosc2.zeros(shape, dtype=dtype, **options)
        cut = tuple(slice(0, rng.randint(1, length)) for length in shape)
        array[cut] = np.ascontiguousarray(values[cut])
        return array, None
    return blosc2.asarray(np.ascontiguousarray(values), **options), values if has_delta else None
