"""Runs docs/HDF5.md, and compares it with recompression by h5py, on arrays that fill their chunks and arrays that do not."""

import subprocess
import sys

import blosc2
import h5py
import hdf5plugin
import numpy

import recipe

recipe.folder("hdf5")
random = numpy.random.default_rng(1)
STEPS = numpy.cumsum(random.integers(-3, 4, (256, 500, 300), dtype="int16"), axis=0, dtype="int16")
ZSTD = {"codec": blosc2.Codec.ZSTD, "clevel": 5, "filters": [blosc2.Filter.SHUFFLE]}
STEPS[:64, :256] = 0
blosc2.asarray(STEPS, chunks=(64, 256, 256), blocks=(16, 64, 64), cparams=ZSTD, urlpath="whole.b2nd")

recipe.run("HDF5.md")

# The compressed chunks must be the same too.
whole, back = blosc2.open("whole.b2nd"), blosc2.open("back.b2nd")
kinds = [chunk.special for chunk in whole.iterchunks_info()]
assert len(set(kinds)) == 2, kinds
for number, kind in enumerate(kinds):
    if kind == blosc2.SpecialValue.NOT_SPECIAL:
        assert whole.schunk.get_chunk(number) == back.schunk.get_chunk(number), number
with h5py.File("whole.h5") as file:
    assert numpy.array_equal(file["volume"][...], STEPS)


def refused(command):
    """The last message of one of the programs."""
    run = subprocess.run(["python", *command.split()], stderr=subprocess.PIPE, text=True)
    assert run.returncode, command
    return run.stderr.splitlines()[-1]


def there(name, items, **how):
    """Copies an array to HDF5. Returns the message if the program refuses the array."""
    array = blosc2.asarray(items, urlpath=f"{name}.b2nd", **how)
    command = f"to_hdf5.py {name}.b2nd there.h5 {name}"
    if items.dtype.kind in "UM":
        return refused(command)
    subprocess.run(["python", *command.split()], check=True)
    with h5py.File("there.h5") as file:
        assert file[name][...].tobytes() == array[...].tobytes() == items.tobytes(), name


def here(name, items, refuses="", filters={}, **how):
    """Copies a dataset to a `.b2nd` file."""
    with h5py.File("here.h5", "a") as file:
        file.create_dataset(name, data=items, compression=hdf5plugin.Blosc2(**filters), **how)
    command = f"from_hdf5.py here.h5 {name} {name}.back.b2nd"
    if refuses:
        assert refuses in refused(command), name
        return
    subprocess.run(["python", *command.split()], check=True)
    assert blosc2.open(f"{name}.back.b2nd")[...].tobytes() == items.tobytes(), name
    subprocess.run(["b2nd", "check", "--data", f"{name}.back.b2nd"], stderr=subprocess.PIPE, check=True)


RECORDS = numpy.array([(number, number / 3, b"abc") for number in range(100)], [("a", "<i4"), ("b", "<f8"), ("c", "S100")])
there("one_dimension", numpy.arange(100_003), chunks=(10_000,), blocks=(999,))
there("long_chunks", numpy.arange(63 * 65).reshape(63, 65), chunks=(70, 80), blocks=(16, 9))
there("nan", numpy.full((100, 100), numpy.nan, "f4"), chunks=(50, 50))
there("nine_dimensions", numpy.ones((2,) * 9))
there("records", RECORDS, chunks=(40,))
there("dictionary", numpy.cumsum(random.integers(0, 9, 90_000)), cparams={"codec": blosc2.Codec.ZSTD, "use_dict": True})
for name, items in {"dates": numpy.arange("2020-01-01", "2021-01-01", dtype="M8[D]"), "text": numpy.array(["abc", "de"])}.items():
    assert "No conversion path for dtype" in there(name, items), name
here("one_dimension", numpy.cumsum(random.integers(0, 9, 200_003)), chunks=(65_536,))
here("big_endian", random.integers(0, 99, (21, 33, 45)).astype(">i2"), chunks=(8, 8, 8))
here("strings", numpy.array([[b"abc", b"d"]] * 50), chunks=(20, 2))
here("records", RECORDS, chunks=(40,))
here("bitshuffle", random.random((64, 64)), filters={"filters": 2, "cname": "zstd"}, chunks=(32, 32))
here("many_blocks", numpy.arange(2_000_003), "does not fit", chunks=(1_000_000,))
here("filled", numpy.ones((10, 10)), "fill value 3.0", chunks=(4, 4), fillvalue=3.0)
here("checksums", numpy.ones((10, 10)), "must have the filter 32026 and no other", chunks=(4, 4), fletcher32=True)

if "--quick" in sys.argv:
    sys.exit()

# CPU time, including the start of python-blosc2 and h5py.
h5py_way = """python -c "
import blosc2, h5py, hdf5plugin
with h5py.File('again.h5', 'w') as file:
    file.create_dataset('volume', data=blosc2.open('whole.b2nd')[...], chunks=(64, 256, 256),
        compression=hdf5plugin.Blosc2(cname='zstd', clevel=5, filters=1))" """
blosc2_way = """python -c "
import blosc2, h5py, hdf5plugin
how = {'codec': blosc2.Codec.ZSTD, 'clevel': 5, 'filters': [blosc2.Filter.SHUFFLE]}
items = h5py.File('whole.h5')['volume'][...]
blosc2.asarray(items, chunks=(64, 256, 256), blocks=(16, 64, 64), cparams=how, urlpath='again.b2nd', mode='w')" """
for name, copied, compressed in [
    ("to HDF5", "rm -f copy.h5; python to_hdf5.py whole.b2nd copy.h5 volume", h5py_way),
    ("to b2nd", "rm -f copy.b2nd; python from_hdf5.py whole.h5 volume copy.b2nd", blosc2_way),
]:
    copied, compressed = recipe.cpu_seconds(copied), recipe.cpu_seconds(compressed)
    print(f"{name}: {copied:.2f} s of CPU time, compressed again {compressed:.2f} s: {compressed / copied:.1f} times as long")
    assert compressed > 2 * copied
