"""Writes small frames of the kinds that python-blosc2's own tests make, and expected.json with its values of each.

    make.py      with blosc2==4.14.1  numpy==2.4.6

`make` in the folder above calls it. The kinds were found by `lab/run peers`; these frames are our own.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import blosc2
import numpy as np

HERE = Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "../../../../lab/studies/peers"))

import ask  # noqa: E402


@blosc2.dsl_kernel
def twice(x):
    return x * 2


def copy(inputs, output, offset):
    output[:] = inputs[0]


def refer(name, layer, content):
    """An array without data of its own, with a metalayer that determines its kind."""
    blosc2.empty((2, 3), dtype="<i4", urlpath=name, meta={layer: content})


def write():
    # Items of more than 255 bytes that are not contiguous in memory. For these, `to_cframe` writes a typesize of 1.
    for name, dtype in ("lost_typesize_S256", "S256"), ("lost_typesize_record", [("id", "<i4"), ("text", "<U100")]):
        array = blosc2.asarray(np.zeros(5, dtype), chunks=(4,), blocks=(2,))
        Path(name + ".b2nd").write_bytes(array.to_cframe())

    # Special chunks: zeros, NaN, uninitialized, and one repeated value.
    blosc2.zeros((40, 40), "<f8", chunks=(20, 20), blocks=(10, 10), urlpath="special_zeros.b2nd")
    blosc2.nans((40, 40), "<f8", chunks=(20, 20), blocks=(10, 10), urlpath="special_nans.b2nd")
    blosc2.uninit((40, 40), "<f8", chunks=(20, 20), blocks=(10, 10), urlpath="special_uninit.b2nd")
    blosc2.full((40, 40), 2.5, chunks=(20, 20), blocks=(10, 10), urlpath="special_full.b2nd")
    some = blosc2.zeros((4, 4), "<u2", chunks=(2, 2), blocks=(2, 1), urlpath="special_some.b2nd")
    some[2:, :2] = 7
    sparse = blosc2.zeros((4, 4), "<u2", chunks=(2, 2), blocks=(2, 1), urlpath="special_sparse.b2nd", contiguous=False)
    sparse[:2, 2:] = 7

    # Chunks of any length, blocks of any length, and one chunk that is shorter because it is the last.
    chunks = blosc2.SChunk(chunksize=400, urlpath="chunks_of_any_length.b2frame", cparams={"typesize": 4})
    for count in 100, 50, 100, 7:
        chunks.append_data(np.arange(count, dtype="<i4"))
    blosc2.SChunk(chunksize=400, data=bytes(range(250)) * 2, urlpath="last_chunk_is_short.b2frame")
    # The bytes of a deleted chunk stay in the file as a hole.
    for name, chunk in ("start", 0), ("middle", 2), ("end", 4):
        hole = blosc2.SChunk(chunksize=400, urlpath=f"hole_at_{name}.b2frame", cparams={"typesize": 4})
        for number in range(5):
            hole.append_data(np.arange(number, number + 100, dtype="<i4"))
        hole.delete_chunk(chunk)
    # A chunk whose table of blocks has more than 256 bytes.
    options = {"codec": blosc2.Codec.LZ4, "splitmode": blosc2.SplitMode.NEVER_SPLIT, "nthreads": 1}
    values = (np.arange(2 * 70 * 256) % 97).astype("<u2")
    blosc2.asarray(values, chunks=(70 * 256,), blocks=(256,), urlpath="many_blocks.b2nd", cparams=options)
    batches = blosc2.BatchArray(urlpath="batch_array.b2frame")
    batches.append([1, 2, 3])
    batches.append(["one", {"two": 2}])
    batches = blosc2.BatchArray(items_per_block=2, urlpath="blocks_of_any_length.b2frame")
    batches.append([word * 20 for word in ("one", "two", "three", "four", "five")])
    batches.append(["six" * 200])
    lists = blosc2.ListArray(spec=blosc2.list(blosc2.int32()), urlpath="list_array.b2frame")
    lists.extend([[1, 2], [], [3]])
    lists.flush()
    objects = blosc2.ObjectArray(urlpath="object_array.b2frame")
    objects.extend([{"key": 1}, "text", [1, 2, 3], None])

    # Objects that refer to other files; a frame without a chunk.
    operand = blosc2.asarray(np.arange(6.0), urlpath="operand.b2nd")
    (operand + 1).save(urlpath="lazy_expression.b2nd")
    blosc2.Proxy(operand, urlpath="proxy.b2nd")
    blosc2.lazyudf(twice, (operand,), dtype="<f8", shape=(6,)).save(urlpath="lazy_function.b2nd")
    blosc2.lazyudf(copy, (operand,), dtype="<f8", shape=(6,)).save(urlpath="old_lazy_function.b2nd")
    Path("operand.b2nd").unlink()
    # These objects are written by hand: they need a server, or this release cannot make them, or they belong to a later release.
    refer("old_lazy_expression.b2nd", "LazyArray", 0)
    refer("c2array.b2nd", "b2o", {"kind": "c2array", "version": 1})
    refer("remote_array.b2nd", "b2o", {"kind": "remote_array", "version": 1})
    refer("later_object.b2nd", "b2o", {"kind": "later", "version": 1})

    # The maximum of 16 metalayers, including the array's own, and some vlmetalayers.
    layers = {f"layer {number}": {"number": number} for number in range(15)}
    array = blosc2.asarray(np.arange(6), chunks=(3,), blocks=(3,), urlpath="many_metalayers.b2nd", meta=layers)
    for number in range(8):
        array.schunk.vlmeta[f"vlmeta {number}"] = number

    # An array made in memory: C-Blosc2 writes its vlmetalayers with a typesize of 8. In an array made in a file, it is 1.
    array = blosc2.asarray(np.arange(6), chunks=(3,), blocks=(3,))
    array.schunk.vlmeta["unit"] = "kelvin"
    array.schunk.vlmeta["note"] = "kelvin " * 100
    array.save("made_in_memory.b2nd")

    store = blosc2.EmbedStore(urlpath="store.b2e", mode="w")
    store["/node"] = np.arange(3)

    # Two filters, and a codec that is a plugin.
    options = {"codec": blosc2.Codec.NDLZ, "codec_meta": 4, "filters": [blosc2.Filter.NOFILTER], "splitmode": blosc2.SplitMode.NEVER_SPLIT}
    blosc2.asarray(np.zeros((8, 8), "|u1"), chunks=(8, 8), blocks=(8, 8), urlpath="plugin_codec.b2nd", cparams=options)
    options = {"filters": [blosc2.Filter.TRUNC_PREC, blosc2.Filter.BITSHUFFLE], "filters_meta": [10, 0]}
    blosc2.asarray(np.arange(8.0), chunks=(8,), blocks=(4,), urlpath="two_filters.b2nd", cparams=options)


def refused(name):
    """Returns the kind of an object that python-blosc2 opens only if it is told to trust the file."""
    try:
        blosc2.open(name, mode="r")
    except blosc2.UnsafeDeserializationError as error:
        return error.kind
    except Exception:
        return None


def expected(name):
    """The values that python-blosc2 reads from a frame, and its error if it does not read the data."""
    says = {"opens": ask.opens_as(name), "refuses": refused(name), "frame": ask.says(name), "reads": None}
    try:
        ask.says(name, read=True)
    except Exception as error:
        says["reads"] = f"{type(error).__name__}: {error}"
    return says


if __name__ == "__main__":
    blosc2.set_nthreads(1)
    os.chdir(HERE)
    for old in HERE.glob("*.b2*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    write()
    lines = [f"  {json.dumps(path.name)}: {json.dumps(expected(path.name))}" for path in sorted(Path(".").glob("*.b2*"))]
    Path("expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
