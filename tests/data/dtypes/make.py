# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "ml_dtypes==0.6.0"]
# ///
"""Writes dtype strings and how NumPy reads them, one JSON object per line.

    python make.py COUNT SEED > FILE
    python make.py real_files.txt > real_files.jsonl

`sample.jsonl` has COUNT 120 and SEED 1. The test `dtype/as_numpy.rs` compares it. With `--ignored`, it also compares
the file that the environment variable B2ND_DTYPES names.

The dtypes come from a text file, one per line. Without a file, every name and letter of a scalar in NumPy comes first,
then COUNT random dtypes, with spaces and quotes as people write them. Some of these are invalid in NumPy.

`display` is the text that python-blosc2 stores for the dtype. It is missing if the text that NumPy prints is read as
another dtype. `str` is the text that NumPy prints, if that is different from `display`. `dtype` has the parts of the
dtype in NumPy. It is missing if NumPy refuses the input.
"""

import json
import math
import random
import sys
import warnings

import ml_dtypes
import numpy as np

assert np.__version__ == "2.4.6" and ml_dtypes.__version__ == "0.6.0"
warnings.simplefilter("ignore")

TYPES = {name for name, value in vars(ml_dtypes).items() if isinstance(value, type)}
EXTENSIONS = sorted(TYPES - {"finfo", "iinfo"})
NAMESPACE = {name: np.dtype(getattr(ml_dtypes, name)) for name in EXTENSIONS} | {"numpy": np, "__builtins__": {}}
NAMES = sorted(n for n in np._core._type_aliases.sctypeDict if n not in EXTENSIONS and len(n) > 1)
CODES = "?bhilqpnBHILQPNefdgFDGOcSaUVMm"
SIZED = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 f16 c8 c16 c32 O4 O8 M8 m8 S0 S1 S5 S007 a3 U0 U1 U10 V0 V7 V300".split()
UNKNOWN = """b2 i3 i16 u0 f1 f10 c4 O2 O16 M4 m16 x x4 i4x S5x V-1 U536870912 S2147483648 d8 h2 ?1 W4
    StringDType Float64 str0""".split()
UNITS = ["generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
WRONG_UNITS = ["[]", "[", "[s", "[sec]", "[B]", "[-1s]", "[2147483648s]", "[s]x", " [s]", "[ s]", "[25]", "s"]
LETTERS = "abcxyzABC_019 .,:[](){}#'\"\\/"
LETTERS += "\n\t\r\0\x01\x1f\x7f\x80\xa0\xad\xe9\xff\u0301\u0416\u200b\u2028\u3000\u65e5\u672c"
LETTERS += "\ue000\ufeff\uffff\U0001f600\U000e0001\U0010ffff"


def read(text):
    """The dtype that NumPy reads from a string, as python-blosc2 does. `eval` knows the bare names that NumPy prints."""
    if text[:1] not in "[({":
        return np.dtype(text)
    return np.dtype(eval(text, NAMESPACE))


def describe(dtype):
    order = {"=": "<", "|": None}.get(dtype.byteorder, dtype.byteorder)
    parts = {"itemsize": dtype.itemsize, "alignment": dtype.alignment, "kind": dtype.kind, "byteorder": order}
    parts["aligned"] = dtype.isalignedstruct
    if dtype.fields is not None:
        parts["record"] = dtype.type is np.record
        parts["fields"] = []
        for name in dtype.names:
            field, offset, title = (*dtype.fields[name], None)[:3]
            field = {"name": name, "title": title, "offset": offset, "dtype": describe(field)}
            parts["fields"].append(field)
    elif dtype.subdtype is not None:
        base, shape = dtype.subdtype
        parts |= {"base": describe(base), "shape": shape}
    elif dtype.isbuiltin == 2:
        parts["extension"] = dtype.name
    elif dtype.kind in "Mm":
        unit, count = np.datetime_data(dtype)
        parts["unit"] = [unit, 1 if unit == "generic" else count]  # NumPy keeps the count, but never prints it
    return parts


def printed(dtype):
    """The text that python-blosc2 stores, except for types of `ml_dtypes` whose kind is not V."""
    return str(dtype) if dtype.kind == "V" or dtype.isbuiltin == 2 else dtype.str


def entry(text):
    try:
        dtype = read(text)
    except (TypeError, ValueError):
        return {"input": text}
    parts = describe(dtype)
    if not makes_sense(parts):
        return {"input": text}
    result = {"input": text, "dtype": parts}
    try:
        reread = describe(read(printed(dtype)))
    except (TypeError, ValueError):
        reread = None
    if reread == parts:
        result["display"] = printed(dtype)
        if str(dtype) != printed(dtype):
            result["str"] = str(dtype)
    return result


def makes_sense(parts):
    """Returns False for two mistakes of NumPy: the size of a struct has overflowed, or the size of a subarray is not that of its items."""
    if "base" in parts:
        base = parts["base"]
        return parts["itemsize"] == base["itemsize"] * math.prod(parts["shape"]) and makes_sense(base)
    return parts["itemsize"] >= 0 and all(makes_sense(field["dtype"]) for field in parts.get("fields", []))


class Bare(str):
    """A name without quotes."""


class Writer:
    """Writes a Python literal as `repr` does, or with other spaces, quotes and escapes."""

    def __init__(self, rng):
        self.rng = rng
        self.plain = rng.random() < 0.5

    def space(self, usual=""):
        return usual if self.plain else self.rng.choice(["", "", " ", usual, "  ", "\n", "\t"])

    def string(self, text):
        if self.plain:
            return repr(text)
        quote = self.rng.choice("'\"")
        return quote + "".join(self.character(c, quote) for c in text) + quote

    def character(self, c, quote):
        short = dict(zip("\n\r\t\\\a\b\f\v", ["\\n", "\\r", "\\t", "\\\\", "\\a", "\\b", "\\f", "\\v"]))
        code = ord(c)
        ways = [f"\\U{code:08X}"]
        ways += [short[c]] if c in short else [] if c == "\0" else ["\\" + c] if c == quote else [c] * 40
        ways += [f"\\x{code:02x}"] if code < 0x100 else []
        ways += [f"\\u{code:04x}"] if code < 0x10000 else []
        return self.rng.choice(ways)

    def write(self, value):
        match value:
            case Bare():
                return str(value)
            case str():
                return self.string(value)
            case list():
                return "[" + self.items(map(self.write, value)) + "]"
            case tuple():
                one = "," if len(value) == 1 else ""
                return "(" + self.items(map(self.write, value), one) + ")"
            case dict():
                colon = self.space() + ":" + self.space(" ")
                return "{" + self.items(self.write(key) + colon + self.write(item) for key, item in value.items()) + "}"
            case _:
                return repr(value)

    def items(self, items, end=""):
        items = list(items)
        end = end or ("," if items and not self.plain and self.rng.random() < 0.2 else "")
        separator = self.space() + "," + self.space(" ")
        return self.space() + separator.join(items) + self.space() + end + self.space()


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def top(self):
        roll = self.rng.random()
        if roll < 0.1:
            return self.scalar()
        if roll < 0.2:
            return self.subarray(3)
        return self.structure(3)

    def any(self, depth):
        roll = self.rng.random()
        if depth == 0 or roll < 0.6:
            return self.scalar()
        if roll < 0.7:
            return self.subarray(depth - 1)
        return self.structure(depth - 1)

    def scalar(self):
        rng = self.rng
        roll = rng.random()
        if roll < 0.05:
            return rng.choice(NAMES)
        if roll < 0.1:
            return rng.choice(["", "<", ">", "=", "|"]) + rng.choice(CODES)
        if roll < 0.17:
            return Bare(rng.choice(EXTENSIONS))
        if roll < 0.2:
            return rng.choice(EXTENSIONS)
        if roll < 0.3:
            unit = rng.choice(["", str(rng.randrange(100))]) + rng.choice(UNITS)
            return rng.choice(["<M8", ">M8", "<m8", "datetime64", "timedelta64"]) + rng.choice(["", f"[{unit}]"])
        if roll < 0.305:
            return rng.choice(UNKNOWN)
        if roll < 0.4:
            return rng.choice(["S", "U", "V", ">U", "|S", "|V"]) + str(rng.choice([0, 1, 2, 3, 8, 20, 1000]))
        return rng.choice(["", "<", ">", ">", "=", "|"]) + rng.choice(SIZED)

    def size(self):
        return self.rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 16])

    def shape(self):
        rng = self.rng
        if rng.random() < 0.3:
            return self.size()
        return tuple(self.size() for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 5])))

    def subarray(self, depth):
        return (self.any(depth), self.shape())

    def name(self):
        rng = self.rng
        if rng.random() < 0.6:
            stem = rng.choice(["x", "y", "z", "min", "max", "flags", "f0", "f1", "f2", "field_7", "f"])
            return stem + rng.choice(["", "", "1", "2", "3"])
        return "".join(rng.choice(LETTERS) for _ in range(rng.randrange(0, 9)))

    def title(self):
        return self.name() if self.rng.random() < 0.15 else None

    def structure(self, depth):
        rng = self.rng
        names, titles = [], []
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 6])):
            names.append(self.name())
            titles.append(self.title())
        formats = [self.any(depth) for _ in names]
        made = self.list(names, titles, formats) if rng.random() < 0.5 else self.dict(names, titles, formats)
        return (Bare("numpy.record"), made) if rng.random() < 0.03 else made

    def list(self, names, titles, formats):
        fields = []
        for name, title, format in zip(names, titles, formats):
            field = (name if title is None else (title, name), format)
            fields.append(field + (self.shape(),) if self.rng.random() < 0.15 else field)
        return fields

    def dict(self, names, titles, formats):
        rng = self.rng
        made = {"names": names, "formats": formats}
        if any(title is not None for title in titles):
            made["titles"] = titles
        aligned = rng.random() < 0.4
        if aligned or rng.random() < 0.1:
            made["aligned"] = aligned
        try:
            known = read(Writer(random.Random(0)).write(made))
        except (TypeError, ValueError):
            return made
        if rng.random() < 0.6:
            made["offsets"] = self.offsets(known, aligned)
        if rng.random() < 0.4:
            try:
                known = read(Writer(random.Random(0)).write(made))
            except (TypeError, ValueError):
                return made
            step = known.alignment if rng.random() < 0.9 else 1
            made["itemsize"] = max(0, known.itemsize + step * rng.choice([0, 0, 1, 1, 2, 7, -1]))
        keys = list(made)
        if rng.random() < 0.3:
            rng.shuffle(keys)
        return {key: made[key] for key in keys}

    def offsets(self, known, aligned):
        rng = self.rng
        fields = [known.fields[name] for name in known.names]
        if rng.random() < 0.2:
            return [field[1] for field in fields]
        order = list(range(len(fields)))
        if rng.random() < 0.3:
            rng.shuffle(order)
        overlapping = rng.random() < 0.15
        offsets, end = [0] * len(fields), 0
        for index in order:
            dtype = fields[index][0]
            end = rng.randrange(0, end + 1) if overlapping else end + rng.choice([0, 0, 0, 1, 4, 16])
            if aligned and rng.random() < 0.99:
                end = -(-end // dtype.alignment) * dtype.alignment
            offsets[index] = end
            end += dtype.itemsize
        return offsets


def scalars():
    yield from NAMES
    yield from EXTENSIONS
    for text in [*CODES, *SIZED]:
        yield text
        yield ">" + text
    for index, unit in enumerate(UNITS):
        yield f"<M8[{unit}]"
        yield f"timedelta64[{index}{unit}]"
    yield from ["<i4", "=f8", "|i8", "<S5", "|U3"]
    yield from UNKNOWN
    yield from ["M8" + unit for unit in WRONG_UNITS]


def entries(count, seed):
    for text in scalars():
        yield entry(text)
    rng = random.Random(seed)
    while count > 0:
        made = Maker(rng).top()
        line = entry(str(made) if isinstance(made, str) else Writer(rng).write(made))
        count -= "dtype" in line
        yield line


if __name__ == "__main__":
    match sys.argv[1:]:
        case [path]:
            with open(path, encoding="utf-8") as file:
                lines = [entry(line.rstrip("\n")) for line in file]
        case [count, seed]:
            lines = entries(int(count), int(seed))
    for line in lines:
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
