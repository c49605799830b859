"""Makes the two tables of figures in `docs/COMPARE.md`, and compares them with what is written there.

    lab/run compare            exit status 1 if a table differs
    lab/run compare --write    writes them there

CRATES is the program of the package `crates` beside this file. B2ND_CORPUS names the collection of real files.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import blosc2
import ml_dtypes  # noqa: F401, makes NumPy know its dtypes

from shared import answers, table
from vectors import PYTHON_BLOSC2, ROOT, VECTORS, attempt

PAGE = ROOT / "docs/COMPARE.md"
CORPUS = Path(os.environ.get("B2ND_CORPUS", ROOT.parent / "shared/corpus"))
CRATES = {"b2nd-serde": "this crate", "blosc2-pure-rs": "blosc2-pure-rs 0.2.4", "blosc2": "blosc2 0.2.3"}


def of_vectors():
    """How many vectors each reads as their verdict says."""
    others = json.loads((VECTORS / "others.json").read_text())
    rows = []
    for file, what in ("metalayers.json", "metalayers"), ("frames.json", "frames"):
        vectors = json.loads((VECTORS / file).read_text())
        counts = {v: [vector["name"] for vector in vectors if vector["verdict"] == v] for v in ("accept", "refuse")}
        for who in ["this crate", *(who for who in others[file] if "opening" not in who)]:
            different = others[file].get(who, {})
            good, bad = (sum(name not in different for name in names) for names in counts.values())
            rows.append((what, who, f"{good} of {len(counts['accept'])}", f"{bad} of {len(counts['refuse'])}"))
    return table("bytes | read by | valid ones accepted | invalid ones rejected", rows)


def arrays():
    """The whole files of the collection: path, generation or layout, shape and chunk shape."""
    for entry in json.loads((CORPUS / "manifest.json").read_text()):
        if entry.get("frame_offset") is not None or not entry.get("expected"):
            continue
        layout, metalayer = entry["layout"], entry["metalayer"]
        is_old = entry["frame"]["frame_header_nelem"] < 14
        kind = "before C-Blosc2 2.0.0-rc1" if is_old else "Caterva" if metalayer == "caterva" else "b2nd"
        is_early = layout in ("b2nd-5", "b2nd-6", "b2nd-7 [array marker says 6 elements]")
        kind = "b2nd, of January and February 2023" if is_early else kind
        yield str(CORPUS / entry["file"]), kind, entry["expected"]["shape"], entry["expected"]["chunkshape"]


def by_python(path):
    opened = blosc2.blosc2_ext.open(path, "r", 0)
    return {"shape": list(opened.shape), "chunkshape": list(opened.chunks)}


def by_crate(program, who, paths):
    """The answers of a crate; after a crash the program is begun again with the next file."""
    said = []
    while len(said) < len(paths):
        lines = "".join(f"{path}\n" for path in paths[len(said) :])
        done = subprocess.run([program, who], input=lines, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said += [json.loads(line) for line in done.stdout.splitlines()]
        if len(said) < len(paths):
            said.append({"error": "crash"})
    return said


def of_files(program):
    files = list(arrays())
    paths = [path for path, *_ in files]
    found = {name: by_crate(program, who, paths) for who, name in CRATES.items()}
    found[PYTHON_BLOSC2] = answers(lambda path: attempt(by_python, path), paths)
    rows = []
    for kind in sorted({kind for _, kind, *_ in files}):
        chosen = [number for number, file in enumerate(files) if file[1] == kind]
        row = [kind, len(chosen)]
        for said in found.values():
            right = [isinstance(said[n], dict) and said[n].get("shape") == files[n][2] for n in chosen]
            row.append(sum(right))
        rows.append(row)
    return table(" | ".join(["files", "how many", *found]), rows)


def main(program, is_written):
    page = PAGE.read_text()
    faults = 0
    for name, made in ("vectors", of_vectors()), ("files", of_files(program)):
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        new = pattern.sub(lambda match: match[1] + made + match[2], page)
        faults += new != page
        print(f"{name}: {'as written' if new == page else made}")
        page = new
    if is_written:
        PAGE.write_text(page)
        return 0
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv))
