"""Runs the reproductions of `docs/upstream`, and compares their output with the output in the texts.

    lab/run upstream             exit status 1 if the output differs
    lab/run upstream --write     writes the output into the texts

A text has at most one block of Python or of shell, and after it a block of text.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

TEXTS = Path(__file__).parent.parent.parent / "docs/upstream"
PROGRAMS = {"python": [sys.executable], "sh": ["bash", "-e"]}
BLOCKS = re.compile(r"```(?P<language>python|sh)\n(?P<code>.*?)```\n\n```text\n(?P<printed>.*?)```", re.DOTALL)

faults = 0
for path in sorted(TEXTS.glob("*.md")):
    text = path.read_text()
    block = BLOCKS.search(text)
    if not block:
        continue
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*PROGRAMS[block["language"]], "-c", block["code"]], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{path.name}: {done.stderr}")
    if "--write" in sys.argv:
        path.write_text(text.replace(block["printed"], done.stdout))
    elif done.stdout != block["printed"]:
        faults += 1
        print(f"{path.name} prints something else:\n{done.stdout}")
    else:
        print(f"{path.name}: as written")
sys.exit(1 if faults else 0)
