"""Shared parts of the recipes, which run the programs of a docs page unchanged.

A block whose first line is `# NAME.py` or `# NAME.sh` becomes that file, other `sh` blocks run, and the `text` block
after one must be what it printed. All happens in one folder, which the recipe has filled with files before. `--quick`
skips the measurements."""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def install(*packages):
    """Installs packages beside python-blosc2, or ends with 77."""
    if subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *packages]).returncode:
        sys.exit(77)


def folder(name):
    """A new folder, in which the commands of the page find `b2nd` and `python`."""
    path = ROOT / "target/lab/recipes" / name
    shutil.rmtree(path, ignore_errors=True)
    (path / "bin").mkdir(parents=True)
    (path / "bin/b2nd").symlink_to(os.environ["B2ND"])
    os.environ["PATH"] = os.pathsep.join([str(path / "bin"), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    os.environ["LC_ALL"] = "C.UTF-8"
    os.chdir(path)
    return path


def run(page):
    """Runs the blocks of a page of docs, in the current folder."""
    text = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
    printed = None
    for kind, block in blocks:
        if name := re.match(r"# (\w+\.(py|sh))\n", block):
            pathlib.Path(name[1]).write_text(block)
        elif kind == "sh":
            printed = subprocess.run(["bash", "-euo", "pipefail", "-c", block], stdout=subprocess.PIPE, check=True, text=True).stdout
        else:
            assert kind == "text" and printed == block, f"{page} says\n{block}\nbut printed was\n{printed}"
    kinds = [kind for kind, _ in blocks]
    assert "sh" in kinds and "text" in kinds, kinds
    print(f"docs/{page}: {len(blocks)} blocks are as they stand")


def cpu_seconds(command, times=3):
    """The least CPU time that a command takes of some runs: on a busy machine it varies less than the time on the clock."""
    taken = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["bash", "-euo", "pipefail", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)
