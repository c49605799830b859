"""Writes arrays of `save_array`, `save_tensor` and `pack_tensor`, super-chunks, and `packed.b2frame` in the folder above, with
blosc2==4.14.1 and numpy==2.4.6. For each frame here, NAME.items has its bytes as python-blosc2 reads them, and
`expected.json` the shape and dtype."""

import json
import shutil
from pathlib import Path

import blosc2
import numpy as np

HERE = Path(__file__).parent
assert (blosc2.__version__, np.__version__) == ("4.14.1", "2.4.6")

expected = {}


def path(name):
    path = HERE / f"{name}.b2frame"
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    return str(path)


def packed(name, array, save=blosc2.save_array, load=blosc2.load_array, **options):
    save(array, path(name), mode="w", **options)
    items = load(str(HERE / f"{name}.b2frame"))
    assert items.shape == array.shape and items.tobytes() == array.tobytes()
    note(name, items.tobytes(), array.shape, array.dtype)


def chunks(name, data, typesize, chunksize, shape, dtype, **options):
    cparams = {"typesize": typesize} | options.pop("cparams", {})
    schunk = blosc2.SChunk(chunksize=chunksize, data=data, urlpath=path(name), mode="w", cparams=cparams, **options)
    # python-blosc2 does not read the bytes of an incomplete last item.
    assert schunk[:] == data[: len(data) // typesize * typesize]
    note(name, data, shape, np.dtype(dtype))


def special(name, value, typesize, count, chunk, dtype, *item, **options):
    schunk = blosc2.SChunk(chunksize=chunk * typesize, urlpath=path(name), mode="w", cparams={"typesize": typesize}, **options)
    schunk.fill_special(count, value, *item)
    # The items of an uninitialized chunk are not defined; here they are zeros.
    items = bytes(count * typesize) if value == blosc2.SpecialValue.UNINIT else schunk[:]
    note(name, items, (count,), np.dtype(dtype))


def note(name, items, shape, dtype):
    (HERE / f"{name}.items").write_bytes(items)
    expected[name] = {"shape": list(shape), "dtype": dtype.str if dtype.names is None else str(dtype)}


rng = np.random.default_rng(7)
aligned = np.zeros(5, np.dtype([("a", "i1"), ("b", "<f8")], align=True))
aligned["a"], aligned["b"] = np.arange(5), np.arange(5) / 2

packed("ten_byte_chunks", np.arange(60, dtype="<i4").reshape(4, 5, 3), chunksize=10)
packed("big_endian", np.arange(24, dtype=">f8").reshape(2, 3, 4), chunksize=64)
packed("struct_aligned", aligned)
packed("scalar", np.array(3.5))
packed("empty", np.zeros((3, 0, 4), "<u2"))
packed("long_items", np.array([[b"a" * 300, b"b" * 299], [b"", b"c"]], "S300"))
packed("other_typesize", np.arange(600, dtype="<i2").reshape(20, 30), chunksize=500, cparams={"typesize": 1, "blocksize": 100})
packed("constant", np.full((30, 40), 7.5), chunksize=1000)
packed("random", rng.random((20, 30)), blosc2.save_tensor, blosc2.load_tensor, chunksize=3000)
packed("sparse", np.arange(600, dtype="<i4").reshape(20, 30), chunksize=1000, contiguous=False)
blosc2.save_array(np.arange(1000, dtype="<i4").reshape(4, 25, 10), str(HERE.parent / "packed.b2frame"), mode="w", chunksize=1600)

counts = np.arange(5000, dtype="<u4").tobytes()
chunks("bytes", bytes(range(250)), 1, 100, (250,), "u1")
chunks("four_byte_items", counts, 4, 8000, (5000,), "V4", cparams={"blocksize": 1000})
chunks("incomplete_item", bytes(range(250)), 4, 100, (250,), "u1")
chunks("dictionary", counts * 4, 4, 32000, (20000,), "V4", cparams={"codec": blosc2.Codec.ZSTD, "use_dict": True, "blocksize": 4000})
chunks("delta", counts, 4, 8000, (5000,), "V4", cparams={"filters": [blosc2.Filter.DELTA], "filters_meta": [0], "blocksize": 1000})
special("zeros", blosc2.SpecialValue.ZERO, 4, 250, 100, "V4")
special("uninit", blosc2.SpecialValue.UNINIT, 4, 250, 100, "V4")
special("nan", blosc2.SpecialValue.NAN, 8, 250, 100, "V8", contiguous=False)
special("value", blosc2.SpecialValue.VALUE, 8, 250, 100, "V8", 7.5)

# Chunks of different sizes.
schunk = blosc2.SChunk(chunksize=100, data=bytes(range(200)), urlpath=path("inserted"), mode="w", cparams={"typesize": 1})
schunk.insert_data(1, b"x" * 50, False)

lines = [f"  {json.dumps(name)}: {json.dumps(what)}" for name, what in expected.items()]
(HERE / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
