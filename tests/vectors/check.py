"""Holds a reader of metalayers against the conformance vectors.

    check.py COMMAND...    for example: check.py b2nd decode --json --lines

The command gets each metalayer as a line of hexadecimal digits, and answers each with a line: a JSON object, which has
an `error` if it refuses the metalayer, and otherwise the values under the names of the vectors or of `b2nd`.
"""

import json
import subprocess
import sys
from pathlib import Path

OTHER_NAMES = {"chunkshape": "chunks", "blockshape": "blocks"}

vectors = json.loads((Path(__file__).parent / "metalayers.json").read_text(encoding="utf-8"))
digits = "".join(f"{vector['hex']}\n" for vector in vectors)
done = subprocess.run(sys.argv[1:], input=digits, stdout=subprocess.PIPE, encoding="utf-8")
answers = [json.loads(line) for line in done.stdout.splitlines()]
faults = []
for vector, answer in zip(vectors, answers, strict=True):
    accepts, verdict = "error" not in answer, vector["verdict"]
    if verdict != "either" and accepts != (verdict == "accept"):
        faults.append(f"{vector['name']}: the verdict is {verdict}, but the answer {answer}")
    for name in ("shape", "chunkshape", "blockshape", "dtype_format", "dtype"):
        found = answer.get(name, answer.get(OTHER_NAMES.get(name)))
        if accepts and "values" in vector and found != vector["values"].get(name):
            faults.append(f"{vector['name']}: {name} is {found}, but must be {vector['values'].get(name)}")
print(*faults, f"{len(vectors)} metalayers, {len(faults)} faults", sep="\n")
sys.exit(1 if faults else 0)
