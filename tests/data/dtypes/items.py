# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "ml_dtypes==0.6.0"]
# ///
"""Writes random items of random dtypes, and the values that NumPy reads from them, one JSON object per line.

    python items.py COUNT SEED > FILE

`items.jsonl` has COUNT 500 and SEED 1. The test `items_as_numpy` compares it. With `--ignored`, it also compares the
file that the environment variable B2ND_ITEMS names.

`input` is a dtype of `make.py`, `item` the hexadecimal digits of an item with random padding, and `value` the value that
NumPy reads. A struct or a subarray is a list. A float is "nan", or the digits of its bytes as a big-endian float64. A
time is its count. Bytes, and types without a Python type, are digits.
`written` is the item that NumPy writes from the value into zeros. It is missing if the value has a NaN, because NumPy
does not keep the bits of a NaN. `value` is missing if the item has a text that Python cannot encode.
"""

import json
import random
import struct
import sys

import numpy as np

import make

# The maximum number of bytes and of values in an item. A larger item would test nothing more.
MOST_BYTES, MOST_VALUES = 2000, 200


def values_of(dtype):
    if dtype.names is not None:
        return sum(values_of(dtype.fields[name][0]) for name in dtype.names) + 1
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return int(np.prod([max(length, 1) for length in shape])) * values_of(base)
    return 1


def is_raw(dtype):
    """Whether Python has no type for an item."""
    return dtype.kind == "V" or dtype.isbuiltin == 2 or dtype.itemsize in (16, 32) and dtype.kind + str(dtype.itemsize) in ("f16", "c32")


def halves(raw):
    return [raw[: len(raw) // 2], raw[len(raw) // 2 :]]


def fill(raw, start, dtype, rng):
    """Writes a random valid item over the random bytes, if not all bytes are valid for the dtype."""
    if dtype.names is not None:
        for name in dtype.names:
            fill(raw, start + dtype.fields[name][1], dtype.fields[name][0], rng)
    elif dtype.subdtype is not None:
        base, _ = dtype.subdtype
        for number in range(dtype.itemsize // base.itemsize if base.itemsize else 0):
            fill(raw, start + number * base.itemsize, base, rng)
    elif dtype.kind == "b":
        raw[start] = rng.choice([0, 1, 1, 2, 255])
    elif dtype.kind == "S" and rng.random() < 0.9:
        text = bytes(rng.choice(b"abc \0\xc3\xa9\xff" if rng.random() < 0.1 else b"abc \0") for _ in range(rng.randint(0, dtype.itemsize)))
        raw[start : start + dtype.itemsize] = text.ljust(dtype.itemsize, b"\0")
    elif dtype.kind == "U":
        letters = "ab\0\u00e9\u4e2d\U0001f600" + ("\ud800" if rng.random() < 0.02 else "")
        text = "".join(rng.choice(letters) for _ in range(rng.randint(0, dtype.itemsize // 4)))
        codes = [ord(letter) for letter in text.ljust(dtype.itemsize // 4, "\0")]
        raw[start : start + dtype.itemsize] = np.array(codes, dtype.byteorder.replace("=", "<") + "u4").tobytes()


class Unreadable(Exception):
    pass


def read(raw, dtype):
    """The value of an item. The dtype gives the place of each scalar, and NumPy reads the scalar."""
    if dtype.names is not None:
        fields = [dtype.fields[name][:2] for name in dtype.names]
        return [read(raw[offset : offset + field.itemsize], field) for field, offset in fields]
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return read_array(raw, base, shape)
    if is_raw(dtype):
        return [half.hex() for half in halves(raw)] if dtype.kind == "c" else raw.hex()
    if dtype.kind in "Mm":
        dtype = np.dtype(dtype.byteorder.replace("=", "<") + "i8")
    if dtype.itemsize == 0:
        return ""
    # Numbers above 0x10FFFF are not characters. NumPy fails for most of these numbers, but prints some of them.
    if dtype.kind == "U" and any(code > 0x10FFFF for code in np.frombuffer(raw, dtype.byteorder.replace("=", "<") + "u4")):
        raise Unreadable
    value = np.frombuffer(raw, dtype)[0].item()
    match value:
        case str():
            if any(0xD800 <= ord(letter) < 0xE000 for letter in value):
                raise Unreadable
            return value
        case complex():
            return [digits(value.real), digits(value.imag)]
        case float():
            return digits(value)
        case bytes():
            return value.hex()
    return value


def read_array(raw, dtype, shape):
    if not shape:
        return read(raw, dtype)
    size = len(raw) // shape[0] if shape[0] else 0
    return [read_array(raw[number * size : (number + 1) * size], dtype, shape[1:]) for number in range(shape[0])]


def digits(value):
    return "nan" if value != value else struct.pack(">d", value).hex()


def number(text):
    return struct.unpack(">d", bytes.fromhex(text))[0]


def has_nan(value):
    return any(map(has_nan, value)) if isinstance(value, list) else value == "nan"


def write(array, value):
    """Assigns a value to an array of NumPy, without dimensions or with those of a subarray."""
    dtype = array.dtype
    if dtype.names is not None:
        if array.shape:
            for index in range(array.shape[0]):
                write(array[index, ...], value[index])
        else:
            for name, field in zip(dtype.names, value):
                write(array[name], field)
        return
    if dtype.kind in "Mm":
        array = array.view(dtype.byteorder.replace("=", "<") + "i8")
    for index in np.ndindex(array.shape):
        item = value
        for position in index:
            item = item[position]
        if is_raw(dtype):
            item = bytes.fromhex("".join(item) if dtype.kind == "c" else item)
            array.view(f"V{dtype.itemsize}")[index] = np.void(item) if item else item
        elif dtype.itemsize:
            match dtype.kind:
                case "f":
                    item = number(item)
                case "c":
                    item = complex(*map(number, item))
                case "S":
                    item = bytes.fromhex(item)
            array[index] = item


def entry(text, rng):
    dtype = make.read(text)
    raw = bytearray(rng.randbytes(dtype.itemsize))
    fill(raw, 0, dtype, rng)
    raw = bytes(raw)
    line = {"input": text, "item": raw.hex()}
    try:
        line["value"] = read(raw, dtype)
    except Unreadable:
        return line
    if not has_nan(line["value"]):
        # Puts the dtype into a struct of one field. Without the struct, NumPy would replace a subarray dtype by the
        # dtype of its items, and add the dimensions of the subarray to those of the array.
        array = np.zeros((), [("item", dtype)])
        write(array["item"], line["value"])
        line["written"] = array.tobytes().hex()
    return line


def entries(count, seed):
    rng = random.Random(seed)
    dtypes = (line["input"] for line in make.entries(10 * count, seed) if "dtype" in line)
    for text in dtypes:
        dtype = make.read(text)
        if dtype.hasobject or dtype.itemsize > MOST_BYTES or values_of(dtype) > MOST_VALUES:
            continue
        yield entry(text, rng)
        count -= 1
        if count == 0:
            return


if __name__ == "__main__":
    for line in entries(*map(int, sys.argv[1:])):
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
