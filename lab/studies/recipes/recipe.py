"""Shared parts of the recipes. A recipe runs the commands of a docs page.

The current folder has the programs of docs/programs, and the files that the recipe has made. The `sh` blocks of the page run in turn. A
`text` block must equal the output of the `sh` block before it. In it, a line of only `…` stands for any lines. `--quick` skips the
measurements."""

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
    """A new folder with the programs, in which the commands of a page find `b2nd` and `python`."""
    path = ROOT / "target/lab/recipes" / name
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(ROOT / "docs/programs", path)
    (path / "bin").mkdir()
    (path / "bin/b2nd").symlink_to(os.environ["B2ND"])
    os.environ["PATH"] = os.pathsep.join([str(path / "bin"), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    os.environ["LC_ALL"] = "C.UTF-8"
    os.chdir(path)
    return path


def output(command):
    return subprocess.run(["bash", "-euo", "pipefail", "-c", command], stdout=subprocess.PIPE, check=True, text=True).stdout


def run(page):
    """Runs the blocks of a page of docs, in the current folder."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.M | re.S)
    printed = None
    for kind, block in blocks:
        if kind == "sh":
            printed = output(block).replace("\r\n", "\n")
        else:
            pattern = "(?s:.*)".join(map(re.escape, block.split("…\n")))
            assert kind == "text" and re.fullmatch(pattern, printed), f"{page} says\n{block}\nbut printed was\n{printed}"
    kinds = [kind for kind, _ in blocks]
    assert "sh" in kinds and "text" in kinds, kinds
    print(f"docs/{page}: {len(blocks)} blocks are as they stand")


def cpu_seconds(command, times=3):
    """The least CPU time of some runs of a command. On a busy machine, CPU time varies less than wall time."""
    taken = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["bash", "-euo", "pipefail", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)
