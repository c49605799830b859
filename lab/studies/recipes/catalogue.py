"""Runs docs/CATALOGUE.md with DuckDB. The rows of a catalogue must be the lines of a plain listing. With `--spark`, this is also
checked for the rows of the PySpark program, which needs Java."""

import json
import pathlib
import shutil
import subprocess
import sys

import recipe

recipe.install("duckdb-cli==1.5.6")
is_with_spark = "--spark" in sys.argv
if is_with_spark:
    if not shutil.which("java"):
        sys.exit(77)
    recipe.install("pyspark==4.3.0")
recipe.folder("catalogue")

import blosc2
import numpy

STEPS = 100
random = numpy.random.default_rng(1)
values = lambda dtype: (random.standard_normal((16, 16)) * 1000).astype(dtype)
MODELS = {
    "aurora": lambda: values("float32"),
    "borealis": lambda: values("float32").astype("float64"),
    "cirrus": lambda: values("float64"),
    "drift": lambda: values("int16"),
}
for model, make in MODELS.items():
    pathlib.Path("models", model).mkdir(parents=True)
    for step in range(STEPS):
        blosc2.asarray(make(), chunks=(16, 16), blocks=(16, 16), urlpath=f"models/{model}/{step:05}.b2nd")


def damage(name, change):
    path = pathlib.Path("models", name)
    path.write_bytes(change(path.read_bytes()))


# Damages the only chunk of a file: the offset of the chunk's only block, and the bytes after this offset. Half of the
# chunk is noise that is stored uncompressed, so damage to the noise alone would leave no trace.
damage("drift/00007.b2nd", lambda content: content[:200] + b"\xff" * 64 + content[264:])
# Three broken copies of files: a copy that ended too early, a copy without any bytes, and a copy with only zeros, as
# after a crash before the content was written to the disk.
damage("cirrus/00000.b2nd", lambda content: content[:300])
damage("cirrus/00001.b2nd", lambda _: b"")
damage("cirrus/00002.b2nd", lambda content: bytes(len(content)))

recipe.run("CATALOGUE.md")

COLUMNS = "path shape chunks blocks dtype dtype_name nbytes cbytes cratio codec clevel filters".split()


def row(line):
    error = line.get("error")
    return json.dumps([[line.get(column) for column in COLUMNS], error and [error["kind"], error["message"]]])


def rows(files):
    """The rows of a catalogue, as DuckDB reads them from Parquet files."""
    found = json.loads(recipe.output(f"""duckdb -json -c "select to_json(row) as row from (from '{files}') as row" """))
    return sorted(row(json.loads(line["row"]) if isinstance(line["row"], str) else line["row"]) for line in found)


lines = subprocess.run(["b2nd", "ls", "--json", "models"], stdout=subprocess.PIPE, text=True).stdout.splitlines()
plain = sorted(row(json.loads(line)) for line in lines)
assert len(plain) == STEPS * len(MODELS) and rows("catalogue.parquet") == plain, rows("catalogue.parquet")[:1]
if is_with_spark:
    recipe.output("PYSPARK_SUBMIT_ARGS='--master local[2] --conf spark.ui.enabled=false pyspark-shell' python catalogue_spark.py")
    assert rows("catalogue/*.parquet") == plain, rows("catalogue/*.parquet")[:1]
    record = f"{len(plain)} rows are the lines of a plain listing"
    subprocess.run([recipe.ROOT / "lab/run", "--record", "catalogue --spark", record], check=True)
