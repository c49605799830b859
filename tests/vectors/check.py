"""Compares a reader with the conformance vectors.

    check.py COMMAND...             metalayers; for example: check.py b2nd decode --json --lines
    check.py --frames COMMAND...    frames; for example: check.py --frames b2nd check --json --files-from -
    check.py --chunks COMMAND...    chunks; for example: check.py --chunks b2nd check --json --chunks --files-from -

The command gets each metalayer as a line of hexadecimal digits, or the path of each frame as a line. It answers each
line with one line: a JSON object. If the command refuses the bytes, the object has an `error`, or one of its `findings`
has severity `error`. Otherwise it has the values, under the names of the vectors or of `b2nd`. For a frame, these are
the values of its array; values of the header are compared if they are present.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

OTHER_NAMES = {"chunkshape": "chunks", "blockshape": "blocks"}
METALAYER = ("shape", "chunkshape", "blockshape", "dtype_format", "dtype")
FRAME = ("header_len", "frame_len", "cbytes", "typesize", "nchunks")

command = sys.argv[1:]
what = command.pop(0)[2:] if command[:1] in (["--frames"], ["--chunks"]) else "metalayers"
vectors = json.loads((Path(__file__).parent / f"{what}.json").read_text(encoding="utf-8"))

with tempfile.TemporaryDirectory() as folder:
    lines = [vector["hex"] for vector in vectors]
    if what != "metalayers":
        paths = [Path(folder) / f"{number}.b2nd" for number in range(len(vectors))]
        for path, digits in zip(paths, lines):
            path.write_bytes(bytes.fromhex(digits))
        lines = paths
    asked = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")

answers = done.stdout.splitlines()
if len(answers) != len(vectors):
    sys.exit(f"the command gives {len(answers)} lines for {len(vectors)} {what}, and its exit status is {done.returncode}")
faults = []
for vector, line in zip(vectors, answers):
    answer, verdict, values = json.loads(line), vector["verdict"], vector.get("values", {})
    findings = answer.get("findings", [])
    accepts = "error" not in answer and not any(finding["severity"] == "error" for finding in findings)
    if verdict != "either" and accepts != (verdict == "accept"):
        faults.append(f"{vector['name']}: the verdict is {verdict}, but the answer {answer}")
    if not accepts or not values:
        continue
    if what == "metalayers":
        expected = {name: values.get(name) for name in METALAYER}
    else:
        array = values.get("array") or {}
        expected = {name: array[name] for name in METALAYER if name in array}
        expected |= {name: values[name] for name in FRAME if name in values and name in answer}
    for name, value in expected.items():
        found = answer.get(name, answer.get(OTHER_NAMES.get(name)))
        if found != value:
            faults.append(f"{vector['name']}: {name} is {found}, but must be {value}")
print(*faults, f"{len(vectors)} {what}, {len(faults)} faults", sep="\n")
sys.exit(1 if faults else 0)
