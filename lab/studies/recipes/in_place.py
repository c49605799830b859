"""Runs docs/ZARR.md, and compares it with `b2nd-to-zarr` of python-blosc2."""

import http.server
import os
import pathlib
import re
import subprocess
import sys
import threading

import recipe

recipe.install("zarr==3.1.6", "xarray==2026.9.0", "kerchunk==0.2.10", "imagecodecs==2026.3.6", "xarray-blosc2==1.7.1", "aiohttp")
recipe.folder("in_place")

import blosc2
import numpy

random = numpy.random.default_rng(1)
STEPS = numpy.cumsum(random.integers(-3, 4, (256, 500, 300), dtype="int16"), axis=0, dtype="int16")
STEPS[:64, :256] = 0
FEW = STEPS[:70, :80, :90]


def array(name, items, **how):
    return blosc2.asarray(items, urlpath=f"{name}.b2nd", **how)


array("steps", STEPS, chunks=(64, 256, 256), blocks=(16, 64, 64))
array("one_block", STEPS, chunks=(64, 256, 256), blocks=(64, 256, 256))
array("rows", STEPS[:, :250], chunks=(64, 250, 300), blocks=(8, 250, 300))
array("sparse", STEPS[:, :128, :100], contiguous=False)
with blosc2.TreeStore("store.b2z", mode="w") as store:
    store["/days/rain"], store["/days/hours"] = FEW, numpy.arange(100_003.0)

recipe.run("ZARR.md")

sys.path.insert(0, ".")
import b2nd_codec  # noqa: F401
import imagecodecs.numcodecs
import xarray


def references(*paths):
    return subprocess.run(["python", "references.py", *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


assert numpy.array_equal(xarray.open_dataset("steps.b2nd", engine="blosc2")["steps"].values, STEPS)

# Arrays that work. xarray must read the right items from each.
array("big_endian", FEW.astype(">f8") / 3, chunks=(33, 33, 33), blocks=(10, 10, 10))
array("complex", FEW.astype("c16"), chunks=(33, 33, 33), blocks=(10, 10, 10))
array("many", numpy.arange(3**9, dtype="u1").reshape((3,) * 9), chunks=(2,) * 9, blocks=(2, 1) * 4 + (2,))
array("strings", numpy.array([b"abc", b"d", b""] * 100), chunks=(70,), blocks=(16,))
array("dates", numpy.arange("2020-01-01", "2021-01-01", dtype="M8[D]").astype("M8[ns]"), chunks=(70,))
blosc2.full((100, 100), 7, dtype="f4", urlpath="seven.b2nd", chunks=(50, 50))
blosc2.asarray(FEW, urlpath="dictionary.b2nd", cparams={"codec": blosc2.Codec.ZSTD, "use_dict": True})
for name in "steps one_block rows sparse big_endian complex many strings dates seven dictionary".split():
    run = references(f"{name}.b2nd")
    assert not run.returncode, run.stderr
    with open(f"{name}.json", "w") as file:
        file.write(run.stdout)
    read = xarray.open_dataset(f"{name}.json", engine="kerchunk")[name].values
    assert numpy.array_equal(read, blosc2.open(f"{name}.b2nd")[...]), name


class Ranges(http.server.SimpleHTTPRequestHandler):
    """A web server that supports range requests."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = pathlib.Path(self.translate_path(self.path))
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not path.is_file() or not asked:
            return super().do_GET()
        size = path.stat().st_size
        first, last = (int(part) if part else None for part in asked.groups())
        first, last = (size - last, size - 1) if first is None else (first, min(last or size - 1, size - 1))
        content = path.read_bytes()[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


# Reads an array over HTTP.
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
threading.Thread(target=server.serve_forever, daemon=True).start()
run = references(f"http://127.0.0.1:{server.server_port}/rows.b2nd")
assert not run.returncode, run.stderr
pathlib.Path("remote.json").write_text(run.stdout)
remote = xarray.open_dataset("remote.json", engine="kerchunk", storage_options={"remote_protocol": "http"})
assert numpy.array_equal(remote["rows"][70:140, 200].values, STEPS[70:140, 200])
server.shutdown()

# Arrays that do not work.
blosc2.nans((100, 100), dtype="f4", urlpath="nan.b2nd")
assert "of kind nan has no bytes to refer to" in references("nan.b2nd").stderr
array("records", numpy.ones(9, [("a", "<i4"), ("b", "<f8")]))
with open("records.json", "w") as file:
    file.write(references("records.b2nd").stdout)
try:
    xarray.open_dataset("records.json", engine="kerchunk")
except ValueError as error:
    assert "No Zarr data type" in str(error)
else:
    raise AssertionError("Zarr reads structs")

# The codec of imagecodecs gives the right items only if the items of a chunk are in C order. In other chunks, it gives
# the items in the wrong order, without an error.
imagecodecs.numcodecs.register_codecs(verbose=False)
for name, is_right in {"one_block": True, "rows": True, "steps": False}.items():
    changed = re.sub(r'\{\\"id\\": \\"b2nd\\"[^}]*\}', r'{\\"id\\": \\"imagecodecs_blosc2\\"}', pathlib.Path(f"{name}.json").read_text())
    pathlib.Path("other.json").write_text(changed)
    read = xarray.open_dataset("other.json", engine="kerchunk")[name].values
    assert numpy.array_equal(read, blosc2.open(f"{name}.b2nd")[...]) == is_right, name

if "--quick" in sys.argv:
    sys.exit()

# CPU time, including the start of Python.
made = recipe.cpu_seconds("python references.py steps.b2nd > again.json")
converted = recipe.cpu_seconds("b2nd-to-zarr --quiet --force steps.b2nd steps.zarr")
read = """python -c "
import b2nd_codec, xarray
xarray.open_dataset('steps.json', engine='kerchunk')['steps'].values" """
in_place = recipe.cpu_seconds(read)
in_zarr = recipe.cpu_seconds("""python -c "
import b2nd_codec, xarray, zarr
zarr.open_array('steps.zarr', mode='r')[...]" """)
written = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk("steps.zarr") for name in names)
print(f"references: {made:.2f} s of CPU time, {os.path.getsize('steps.json')} bytes; b2nd-to-zarr {converted:.2f} s, {written} bytes")
print(f"the whole by xarray in place: {in_place:.2f} s; by Zarr from the copy {in_zarr:.2f} s")
assert converted > 2 * made
