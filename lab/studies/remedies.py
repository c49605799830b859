"""Follows the remedy of each code on a damaged file, and reads the result with python-blosc2.

    lab/run remedies             exit status 1 if a code has no damaged file here, or if its remedy does not repair the file

`b2nd check` must find the code in the damaged file, and the command that `b2nd explain` names for it must make a file in which it finds
no error. python-blosc2 must open that file, and read every item that was not listed as lost, as before.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import blosc2
import numpy as np

from shared import answers
from study import B2ND, ROOT, b2nd, reported, scratch

DATA = ROOT / "frame/tests/data"

# Most of the damaged files are changed copies of this file. Its array has 3 x 5 items in chunks of 2 x 3 and blocks of
# 1 x 2. The header has 165 bytes. The chunks are not compressed, and have 64 bytes each. The chunk index begins at byte
# 421.
SMALL = (DATA / "int32_3x5.b2nd").read_bytes()
INDEX, MOST = 421, b"\x7f\xff\xff\xff"
TRAILER = len(SMALL) - 35

# The items of the arrays that the function `array` writes.
ITEMS = np.random.default_rng(1).integers(0, 9, 3000).astype("<i4")

# Items that cannot be compressed.
RANDOM = np.random.default_rng(1).integers(0, 256, 60_000, dtype="u1")

# An array of items of more than 255 bytes each.
LONG = np.array([f"{number} " * 30 for number in range(35)], "U100").reshape(5, 7).T


def changed(content, *changes):
    content = bytearray(content)
    for at, new in changes:
        content[at : at + len(new)] = new
    return bytes(content)


def small(*changes):
    return lambda path: path.write_bytes(changed(SMALL, *changes))


def with_bytes(content):
    return lambda path: path.write_bytes(content)


def second_generation(content):
    """The same frame in the form of C-Blosc2 2.0 beta 2 to 5: without block size, and without index of vlmetalayers."""
    content = changed(content, (0, b"\x9d"), (25, bytes([content[25] & 0xF0 | 1])), (11, (160).to_bytes(4)), (100, (102).to_bytes(4)))
    content = content[:-35] + bytes([0x94, 1, 0xC6, 0, 0, 0, 0, 0xCE, 0, 0, 0, 30, 0xD8]) + bytes(17)
    content = content[:52] + content[57:]
    return changed(content, (16, len(content).to_bytes(8)))


def vlmetalayers(part, at, new):
    """Returns a function that damages the trailer of a file with vlmetalayers: the index, the first vlmetalayer, or the chunk in it."""
    content = (DATA / "vlmetalayers.b2nd").read_bytes()
    length = int.from_bytes(content[-22:-18])
    start = len(content) - length
    name = content[start + 9] & 0x1F
    first = start + int.from_bytes(content[start + 11 + name : start + 15 + name])
    places = {"index": start, "offset": start + 11 + name, "content": first, "chunk": first + 5}
    return with_bytes(changed(content, (places[part] + at, new)))


def array(path, chunks, **cparams):
    """Writes an array of ITEMS; returns its bytes, and where each chunk and the index begin."""
    cparams = {"nthreads": 1} | cparams
    blosc2.asarray(ITEMS, chunks=(chunks,), blocks=(min(chunks, 100),), urlpath=str(path), mode="w", cparams=cparams)
    content = path.read_bytes()
    header_len, cbytes = int.from_bytes(content[11:15]), int.from_bytes(content[39:47])
    starts = [chunk["offset"] for chunk in b2nd("chunks", "--json", path)]
    return content, starts, header_len + cbytes


def compressed(at_of, new):
    """Damage to an array whose chunks are all compressed."""

    def write(path):
        content, starts, _ = array(path, 300, codec=blosc2.Codec.ZSTD)
        at = at_of(content, starts)
        path.write_bytes(changed(content, (at, new(content, at))))

    return write


def only_header(path):
    """An array of one chunk, with a wrong block size in the header of the chunk."""
    content, starts, _ = array(path, len(ITEMS))
    path.write_bytes(changed(content, (starts[0] + 8, b"\x07")))


def index_data(path):
    content, _, index = array(path, 3)
    path.write_bytes(changed(content, (index + 32, b"\xff\xff\xff\x7f")))


def incompressible(path):
    """An array that C-Blosc2 stores without compression, but with the flag of a dictionary."""
    cparams = {"codec": blosc2.Codec.ZSTD, "use_dict": True}
    blosc2.asarray(RANDOM, chunks=(30_000,), urlpath=str(path), mode="w", cparams=cparams)


def chunk_file(path):
    shutil.copytree(DATA / "sparse.b2nd", path)
    (path / "00000002.chunk").unlink()


def empty_moved(path):
    """A frame without chunks whose trailer does not follow the header."""
    content = (DATA / "empty.b2nd").read_bytes()
    header_len = int.from_bytes(content[11:15])
    content = content[:header_len] + bytes(8) + content[header_len:]
    path.write_bytes(changed(content, (16, len(content).to_bytes(8))))


def too_long(path):
    """A header_len of more than 64 MiB, in a frame that is longer than that."""
    length = (1 << 26) + 100
    content = changed(SMALL, (11, (length - 99).to_bytes(4)), (16, length.to_bytes(8)))
    path.write_bytes(content + bytes(length - len(content)))


def unset_blocks(path):
    """An array of Caterva 0.2 or 0.3, which did not divide chunks into blocks."""
    blosc2.asarray(np.arange(24, dtype="<i4").reshape(4, 6), chunks=(2, 3), blocks=(2, 3), urlpath=str(path), mode="w")
    path.write_bytes(changed(second_generation(path.read_bytes()), (142, bytes(4)), (147, bytes(4))))


def lost_typesize(path):
    """An array of LONG, for which `to_cframe` writes a typesize of 1."""
    path.write_bytes(blosc2.asarray(LONG, chunks=(5, 4), blocks=(2, 3)).to_cframe())


def metalayer_cut(path):
    content = SMALL[:122] + SMALL[165:]
    path.write_bytes(changed(content, (11, (122).to_bytes(4)), (16, len(content).to_bytes(8)), (108, (10).to_bytes(4))))


GIVEN = ["--shape", "3,5", "--chunks", "2,3", "--blocks", "1,2", "--dtype", "int32"]

SMALL_ITEMS = np.arange(15).reshape(3, 5)


def items_of(name):
    return blosc2.open(str(DATA / name), mode="r")[...]


# For each fault: its code, a function that writes a damaged file, the arguments of the remedy, and the items of the
# undamaged file. The items are None if python-blosc2 cannot read the undamaged file.
DAMAGED = [
    ("truncated", with_bytes(SMALL[:360]), ["--assume-order"], SMALL_ITEMS),
    ("longer-file", with_bytes(SMALL + b"more"), [], SMALL_ITEMS),
    ("too-long", too_long, [], SMALL_ITEMS),
    ("unknown-version", small((25, b"\x14")), [], SMALL_ITEMS),
    ("unknown-version", small((113, b"\x01")), [], SMALL_ITEMS),
    ("frame-type", small((26, b"\x80")), [], SMALL_ITEMS),
    ("frame-type", small((26, b"\x01")), [], SMALL_ITEMS),
    ("unknown-filter", small((71, b"\x10")), [], SMALL_ITEMS),
    ("damaged-header", small((29, b"\xcf")), [], SMALL_ITEMS),
    ("damaged-header", small((11, bytes(4))), [], SMALL_ITEMS),
    ("damaged-header", small((70, b"\x07")), [], SMALL_ITEMS),
    ("damaged-header", small((92, b"\x00\x11")), [], SMALL_ITEMS),
    ("damaged-header", small((91, b"\xdf")), [], SMALL_ITEMS),
    ("damaged-header", small((100, MOST)), [], SMALL_ITEMS),
    ("damaged-header", small((108, MOST)), [], SMALL_ITEMS),
    ("damaged-header", small((100, b"\xff" * 65)), GIVEN, SMALL_ITEMS),
    ("old-frame", with_bytes(second_generation(SMALL)), [], SMALL_ITEMS),
    ("filter-parameter", small((84, b"\x80")), [], SMALL_ITEMS),
    ("sizes", small((48, bytes(4))), [], SMALL_ITEMS),
    ("sizes", small((58, b"\xff\xff\xff\xff")), [], SMALL_ITEMS),
    ("sizes", small((58, bytes(4))), [], SMALL_ITEMS),
    ("sizes", small((53, b"\x00\x00\x00\x09")), [], SMALL_ITEMS),
    ("sizes", small((147, (2).to_bytes(4))), ["--blocks", "1,2"], SMALL_ITEMS),
    ("misnamed-array", small((95, b"x")), [], SMALL_ITEMS),
    ("damaged-array", small((116, b"\xd2")), [], SMALL_ITEMS),
    ("damaged-array", metalayer_cut, GIVEN, SMALL_ITEMS),
    ("damaged-array", small((114, b"\x11\xa1")), [], SMALL_ITEMS),
    ("damaged-array", small((158, MOST)), [], SMALL_ITEMS),
    ("damaged-array", small((162, b"\xff")), GIVEN, SMALL_ITEMS),
    ("invalid-shape", small((117, b"\xff" * 8)), GIVEN, SMALL_ITEMS),
    ("invalid-shape", small((147, bytes(4))), GIVEN, SMALL_ITEMS),
    ("invalid-shape", small((136, bytes(4)), (147, bytes(4))), GIVEN, SMALL_ITEMS),
    ("invalid-shape", small((136, b"\x00\x01\x00\x00"), (141, b"\x00\x01\x00\x00")), GIVEN, SMALL_ITEMS),
    ("invalid-shape", small((141, b"\x10\x00\x00\x00")), GIVEN, SMALL_ITEMS),
    ("chunksize-mismatch", small((58, (24).to_bytes(4))), [], SMALL_ITEMS),
    ("chunksize-mismatch", small((141, (5).to_bytes(4))), ["--chunks", "2,3"], SMALL_ITEMS),
    ("dtype-mismatch", small((162, b"<i8")), ["--dtype", "int32"], SMALL_ITEMS),
    ("unknown-dtype", small((162, b"xyz")), ["--dtype", "int32"], SMALL_ITEMS),
    ("stale-tail", with_bytes((DATA / "squeezed.caterva").read_bytes()), ["--dtype", "uint16"], None),
    ("unset-blockshape", unset_blocks, [], np.arange(24).reshape(4, 6)),
    ("interrupted-resize", small((126, (9).to_bytes(8))), ["--shape", "3,5"], SMALL_ITEMS),
    ("damaged-index", small((46, b"\x08")), [], SMALL_ITEMS),
    ("damaged-index", small((INDEX + 3, b"\x09")), ["--assume-order"], SMALL_ITEMS),
    ("damaged-index", index_data, ["--assume-order"], ITEMS),
    ("chunk-index-count", small((INDEX + 4, b"\x18")), ["--assume-order"], SMALL_ITEMS),
    ("chunk-offset", small((INDEX + 37, b"\x01")), [], SMALL_ITEMS),
    ("chunk-header", small((229 + 15, b"\x40")), [], SMALL_ITEMS),
    ("chunk-header", only_header, [], ITEMS),
    ("chunk-data", compressed(lambda _, starts: starts[1] + 60, lambda content, at: b"\xff" * 40), [], ITEMS),
    ("chunk-dictionary", incompressible, [], RANDOM),
    ("chunk-overlap", compressed(lambda _, starts: starts[1] + 12, lambda content, at: bytes([content[at] + 8])), [], ITEMS),
    ("chunk-file", chunk_file, [], items_of("sparse.b2nd")),
    ("damaged-trailer", small((TRAILER, b"\x95")), [], SMALL_ITEMS),
    ("damaged-trailer", small((len(SMALL) - 22, (5).to_bytes(4))), [], SMALL_ITEMS),
    ("damaged-trailer", empty_moved, [], items_of("empty.b2nd")),
    ("damaged-trailer", vlmetalayers("index", 7, b"\x20\x01"), [], items_of("vlmetalayers.b2nd")),
    ("damaged-trailer", vlmetalayers("offset", 0, MOST), [], items_of("vlmetalayers.b2nd")),
    ("damaged-trailer", vlmetalayers("content", 1, MOST), [], items_of("vlmetalayers.b2nd")),
    ("vlmetalayer-chunk", vlmetalayers("chunk", 3, b"\x00"), [], items_of("vlmetalayers.b2nd")),
    ("vlmetalayer-value", vlmetalayers("index", 10, b"\xff"), [], items_of("vlmetalayers.b2nd")),
    ("old-layout", with_bytes((DATA / "uint16_6x8.caterva").read_bytes()), ["--dtype", "uint16"], None),
    ("lost-typesize", lost_typesize, [], LONG),
]


def run(*arguments):
    return subprocess.run([B2ND, *map(str, arguments)], capture_output=True, text=True)


def mend(remedy, path, to, options):
    """Runs the command. Returns the file that it repaired or made, the lost chunks, and the fault, if there is one."""
    made = path if remedy == "set" else to
    done = run(remedy, "--json", *options, path, *([] if remedy == "set" else [to]))
    record = json.loads(done.stdout) if done.stdout else {}
    lost = record.get("lost", [])
    is_made = made.exists() and "error" not in record and (done.returncode == 0 or lost or record.get("lost_metalayers"))
    return made, lost, None if is_made else done.stderr or done.stdout


def read(path):
    """All values that python-blosc2 reads from an array, as text."""
    try:
        opened = blosc2.open(path, mode="r")
        dict(opened.schunk.vlmeta.getall())
        return opened[...].tolist()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def fault(number, remedy, folder):
    code, write, options, expected = DAMAGED[number]
    path, to = Path(folder, f"{number}.b2nd"), Path(folder, f"{number} mended.b2nd")
    write(path)
    found = [name for _, name in reported([path], "--data")[0]] if path.exists() else []
    if code not in found:
        return f"check finds {found}"
    made, lost, wrong = mend(remedy, path, to, options)
    if wrong:
        return f"{remedy}: {wrong}"
    left = [name for severity, name in reported([made], "--data")[0] if severity == "error" or name == code]
    if left:
        return f"after it, check finds {left}"
    items = answers(read, [str(made)])[0]
    if isinstance(items, str):
        return f"python-blosc2: {items}"
    if expected is None:
        return None
    items, expected = np.array(items), np.array(expected.tolist())
    for chunk in lost:
        items[tuple(map(slice, chunk["start"], chunk["stop"]))] = 0
        expected[tuple(map(slice, chunk["start"], chunk["stop"]))] = 0
    return None if items.shape == expected.shape and (items == expected).all() else "other items"


def main():
    explained = b2nd("explain", "--json")
    remedies = {line["code"]: line["remedy"] for line in explained if line["severity"] != "failure" and line["remedy"]}
    codes = {code for code, *_ in DAMAGED}
    faults = [f"{code}: no damaged file" for code in remedies if code not in codes]
    faults += [f"{code}: no remedy" for code in codes if code not in remedies]
    with scratch() as folder:
        for number, (code, *_) in enumerate(DAMAGED):
            if code in remedies:
                why = fault(number, remedies[code], folder)
                print(f"{code}: {remedies[code]}: {why or 'mended'}")
                faults += [f"{code}: {why}"] if why else []
    print(f"{len(remedies)} codes with a remedy, {len(faults)} faults")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
