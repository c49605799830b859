"""Runs the Python of docs/CATALOGUE.md: `spark.py FOLDER`, where the folder has the files that `files.py` made.

The rows of the catalogue must be the lines of a plain listing."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

page = (pathlib.Path(__file__).resolve().parents[3] / "docs/CATALOGUE.md").read_text()
os.chdir(sys.argv[1])
shutil.rmtree("catalogue", ignore_errors=True)
subprocess.run(["bash", "-c", re.search(r"^find .*$", page, re.M)[0]], check=True)

start = time.perf_counter()
names = {}
exec(re.search(r"^```python\n(.*?)^```$", page, re.M | re.S)[1], names)
seconds = time.perf_counter() - start

spark = names["spark"]
rows = spark.read.parquet("catalogue")
columns = rows.columns


def row(line):
    """A line of the listing, or a row, with the fields that both have."""
    error = line["error"] and {field: line["error"][field] for field in ("kind", "message")}
    return json.dumps([*(line[column] for column in columns if column != "error"), error])


listed = subprocess.run(["b2nd", "ls", "--json", "models"], stdout=subprocess.PIPE, text=True).stdout
plain = [dict.fromkeys(columns) | json.loads(line) for line in listed.splitlines()]
plain = sorted(map(row, plain))
found = sorted(row(line.asDict(recursive=True)) for line in rows.collect())
assert len(plain) == 20_000 and found == plain, (len(plain), len(found), found[:1], plain[:1])
print(f"{len(found)} rows of {rows.rdd.getNumPartitions()} parts are the lines of a plain listing; {seconds:.1f} s")
spark.stop()
