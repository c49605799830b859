"""Runs the commands of docs/CATALOGUE.md: `check.py FOLDER`, where the folder has the files that `files.py` made.

Each must print what stands after it, and the rows of the catalogue must be the lines of a plain listing."""

import json
import pathlib
import re
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
page = pathlib.Path(__file__).resolve().parents[3] / "docs/CATALOGUE.md"


def output(command):
    return subprocess.run(["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE, check=True, text=True).stdout


# The sections after it are tested by spark.py and `lab/run remote`.
alone, _, _ = page.read_text().partition("## On many machines")
blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", alone, re.M | re.S)
assert [kind for kind, _ in blocks] == ["sh"] + 3 * ["sh", "text"] + ["sh"] + ["sh", "text"], blocks
printed = ""
for kind, text in blocks:
    if kind == "sh":
        printed = output(text)
    else:
        assert printed.replace("\r\n", "\n") == text, f"{printed}\ninstead of\n{text}"

COLUMNS = "path shape chunks blocks dtype dtype_name nbytes cbytes cratio codec clevel filters".split()


def row(line):
    error = line.get("error")
    return json.dumps([[line.get(column) for column in COLUMNS], error and [error["kind"], error["message"]]])


listed = subprocess.run(["b2nd", "ls", "--json", "models"], cwd=folder, stdout=subprocess.PIPE, text=True).stdout
plain = sorted(row(json.loads(line)) for line in listed.splitlines())
rows = output("""duckdb -json -c "select to_json(row) as row from (from 'catalogue.parquet') as row" """)
rows = [line["row"] for line in json.loads(rows)]
rows = sorted(row(json.loads(line) if isinstance(line, str) else line) for line in rows)
assert len(plain) == 20_000 and rows == plain, (len(plain), len(rows), rows[:1], plain[:1])
print(f"{len(rows)} rows of the catalogue are the lines of a plain listing, and docs/CATALOGUE.md prints what it says")
