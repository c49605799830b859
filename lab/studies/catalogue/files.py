"""The files of docs/CATALOGUE.md: `files.py FOLDER COUNT` makes COUNT files, divided among the folders of four models. Three were never
finished, and one is damaged."""

import pathlib
import sys

import blosc2
import numpy

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
random = numpy.random.default_rng(1)


def values(dtype):
    return (random.standard_normal((16, 16)) * 1000).astype(dtype)


MODELS = {
    "aurora": lambda: values("float32"),
    "borealis": lambda: values("float32").astype("float64"),
    "cirrus": lambda: values("float64"),
    "drift": lambda: values("int16"),
}

for model, make in MODELS.items():
    (folder / model).mkdir(parents=True)
    for step in range(count // len(MODELS)):
        blosc2.asarray(make(), chunks=(16, 16), blocks=(16, 16), urlpath=str(folder / model / f"{step:05}.b2nd"))

# Damages a chunk, beginning with its block offset: damage to the stored noise alone would leave no trace.
path = folder / "drift" / "00007.b2nd"
content = path.read_bytes()
path.write_bytes(content[:200] + b"\xff" * 64 + content[264:])

# A copy that stopped, one that had not begun, and blocks of the disk that were not written before a crash.
for step, content in enumerate([lambda file: file[:300], lambda _: b"", lambda file: bytes(len(file))]):
    path = folder / "cirrus" / f"{step:05}.b2nd"
    path.write_bytes(content(path.read_bytes()))
