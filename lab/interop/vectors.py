"""Asks C-Blosc2 and python-blosc2 about the conformance vectors, and compares their answers with `others.json` there.

    lab/run vectors             exit status 1 if an answer differs
    lab/run vectors --write     writes the answers

Each question runs in its own process, because some bytes crash it.
"""

import ctypes
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import blosc2

from shared import CRASH, HANG, answers

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests/vectors"
LIBRARY = ctypes.CDLL(str(Path(blosc2.__file__).parent / "lib/libblosc2.so"))
C_BLOSC2 = f"C-Blosc2 {blosc2.blosclib_version.split()[0]}"
OPENING = f"{C_BLOSC2}, opening a frame with it"
PYTHON_BLOSC2 = f"python-blosc2 {blosc2.__version__}"


def ask(question, *arguments):
    """The result of a function; None if it fails, CRASH or HANG if its process ends."""
    return answers(lambda _: attempt(question, *arguments), [None])[0]


def attempt(question, *arguments):
    try:
        return question(*arguments)
    except Exception:
        return None


def deserialize(metalayer):
    """The values that b2nd_deserialize_meta reads, in the form of the vectors."""
    ndim, dtype_format, dtype = ctypes.c_int8(), ctypes.c_int8(), ctypes.c_char_p()
    shape, chunkshape, blockshape = (ctypes.c_int64 * 16)(), (ctypes.c_int32 * 16)(), (ctypes.c_int32 * 16)()
    length = LIBRARY.b2nd_deserialize_meta(
        metalayer, len(metalayer), ctypes.byref(ndim), shape, chunkshape, blockshape, ctypes.byref(dtype),
        ctypes.byref(dtype_format),
    )  # fmt: skip
    if length < 0:
        return None
    values = {"ndim": ndim.value}
    for name, vector in ("shape", shape), ("chunkshape", chunkshape), ("blockshape", blockshape):
        values[name] = vector[: ndim.value]
    if dtype.value is not None:
        values |= {"dtype_format": dtype_format.value, "dtype": dtype.value.decode(errors="replace")}
    return values


def frame_with(metalayer):
    """A frame without chunks, with this metalayer."""
    frame = bytearray((ROOT / "frame/tests/data/empty.b2nd").read_bytes())
    header = frame[:107] + b"\xc6" + len(metalayer).to_bytes(4, "big") + metalayer
    frame = header + frame[165:]
    frame[11:15] = len(header).to_bytes(4, "big")
    frame[16:24] = len(frame).to_bytes(8, "big")
    return bytes(frame)


def open_array(frame):
    """Returns an empty dict if b2nd_from_cframe opens the frame, otherwise None."""
    LIBRARY.blosc2_init()
    LIBRARY.b2nd_from_cframe.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_bool, ctypes.c_void_p]
    array = ctypes.c_void_p()
    code = LIBRARY.b2nd_from_cframe(frame, len(frame), True, ctypes.byref(array))
    return {} if code == 0 else None


def open_frame(frame, folder):
    """The values of a frame in python-blosc2, in the form of the vectors, and whether it reads the data."""
    path = Path(folder, "frame.b2nd")
    path.write_bytes(frame)
    opened = blosc2.blosc2_ext.open(str(path), "r", 0)
    is_array = isinstance(opened, blosc2.NDArray)
    schunk = opened.schunk if is_array else opened
    values = {"nbytes": schunk.nbytes, "cbytes": schunk.cbytes, "typesize": schunk.typesize}
    values |= {"chunksize": schunk.chunksize, "nchunks": schunk.nchunks}
    values |= {"metalayers": sorted(schunk.meta), "vlmetalayers": sorted(schunk.vlmeta)}
    if is_array:
        values |= {"shape": list(opened.shape), "chunkshape": list(opened.chunks), "blockshape": list(opened.blocks)}
    try:
        opened[...] if is_array else [opened.decompress_chunk(number) for number in range(opened.nchunks)]
        [schunk.vlmeta[name] for name in schunk.vlmeta]
    except Exception:
        values["unreadable"] = True
    return values


def read_items(frame, folder):
    """The items that python-blosc2 reads."""
    path = Path(folder, "frame.b2nd")
    path.write_bytes(frame)
    return {"items": blosc2.open(str(path))[:].tobytes().hex()}


def frame_values(values):
    """The values of a vector under the names of `open_frame`."""
    flat = {name: values[name] for name in ("nbytes", "cbytes", "typesize", "chunksize", "nchunks") if name in values}
    flat["metalayers"] = sorted(layer["name"] for layer in values["metalayers"])
    flat["vlmetalayers"] = sorted(layer["name"] for layer in values["trailer"]["vlmetalayers"])
    return flat | {name: values.get("array", {}).get(name) for name in ("shape", "chunkshape", "blockshape")}


def does(verdict, answer, values):
    """The deviation of an answer from the verdict; None if they agree."""
    if answer is None:
        does = "refuse"
    elif answer in (CRASH, HANG):
        does = "crash"
    else:
        same = all(values.get(name) in (None, value) for name, value in answer.items())
        same = same and not (values.get("shape") and "shape" not in answer and "nbytes" in answer)
        does = "accept" if same else "misread"
    return None if does == verdict else does


def deviations():
    """The deviations, by file, implementation and vector."""
    found = {}

    def add(file, who, vector, verdict, answer, values):
        if done := does(verdict, answer, values):
            found.setdefault(file, {}).setdefault(who, {})[vector["name"]] = done

    for vector in json.loads((VECTORS / "metalayers.json").read_text()):
        metalayer, values = bytes.fromhex(vector["hex"]), vector.get("values", {})
        add("metalayers.json", C_BLOSC2, vector, vector["verdict"], ask(deserialize, metalayer), values)
        # If a vector has values, C-Blosc2 also opens a frame with the vector's metalayer. This shows whether C-Blosc2
        # accepts the shape, chunk shape and block shape.
        if "values" in vector and "error" not in vector and values["layout"] != "b2nd-six":
            verdict = "accept" if "grid" in values else "refuse"
            add("metalayers.json", OPENING, vector, verdict, ask(open_array, frame_with(metalayer)), values)
    with tempfile.TemporaryDirectory() as folder:
        for vector in json.loads((VECTORS / "frames.json").read_text()):
            values = frame_values(vector["values"]) if "values" in vector else {}
            add("frames.json", PYTHON_BLOSC2, vector, vector["verdict"], ask(open_frame, bytes.fromhex(vector["hex"]), folder), values)
        for vector in json.loads((VECTORS / "chunks.json").read_text()):
            answer = ask(read_items, bytes.fromhex(vector["hex"]), folder)
            add("chunks.json", PYTHON_BLOSC2, vector, vector["verdict"], answer, vector.get("values", {}))
    return found


def main(is_written):
    path = VECTORS / "others.json"
    others = json.loads(path.read_text())
    faults = 0
    for file, by_implementation in deviations().items():
        for who, found in by_implementation.items():
            known = others.setdefault(file, {}).get(who, {})
            for name in sorted(known.keys() | found.keys()):
                if known.get(name) != found.get(name):
                    faults += 1
                    print(f"{file}: {name}: {who}: {found.get(name)}, but {path.name} says {known.get(name)}")
            others[file][who] = found
            print(f"{file}: {who} differs in {len(found)}: {dict(Counter(found.values()))}")
    if is_written:
        path.write_text(json.dumps(others, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        return 0
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv))
