"""Shared parts of the studies: `b2nd check` as a judge of files, damage, and the report.

    lab/run STUDY            all of it; writes the study's page in lab/results and its row of lab/RESULTS.md
    lab/run STUDY --quick    a small part by a fixed seed, for CI; prints the page only
"""

import collections
import contextlib
import datetime
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import blosc2

from shared import answers

ROOT = Path(__file__).parents[2]
B2ND = os.environ["B2ND"]
IS_QUICK = "--quick" in sys.argv

blosc2.set_nthreads(1)


# The judges.


def scratch():
    """A temporary folder, in memory if the system has such a folder."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(dir=memory)


def b2nd(*arguments, paths=None):
    """The lines of JSON that the command prints, about these paths if there are any."""
    more, lines = (["--files-from", "-"], "".join(f"{path}\n" for path in paths)) if paths else ([], "")
    run = subprocess.run([B2ND, *arguments, *more], input=lines, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"b2nd {arguments[0]}: status {run.returncode}: {run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def reported(paths, *depth):
    """For each file, the codes that `b2nd check` reports, by severity; an empty list if it reports nothing, for example for an empty folder."""
    found = {}
    for line in b2nd("check", "--json", *depth, paths=paths) if paths else []:
        findings = line.get("findings") or ([{"code": line["error"]["kind"], "severity": "error"}] if "error" in line else [])
        found[line["path"]] = [(finding["severity"], finding["code"]) for finding in findings]
    return [found.get(str(path), []) for path in paths]


# Damage.


class Frame:
    """A healthy frame, with the file to damage and the offset of the bytes to damage."""

    def __init__(self, folder, name, write):
        self.name = name
        self.path = Path(folder, f"{name}.b2nd")
        write(str(self.path))
        self.file, self.start = self.path, 0
        # A check of a healthy frame reports no error, but may report warnings.
        self.healthy = reported([self.path], "--data")[0]
        assert all(severity == "warning" for severity, _ in self.healthy), f"{name}: {self.healthy}"

    def damaged(self, path, at, value):
        """A copy with one byte changed. In a sparse frame, unchanged files are hard links."""
        content = bytearray(self.file.read_bytes())
        content[self.start + at] = value
        if self.path.is_dir():
            path.mkdir()
            for file in self.path.iterdir():
                if file != self.file:
                    os.link(file, path / file.name)
            path = path / self.file.name
        path.write_bytes(content)


def damage(frames, verdict, depths, folder):
    """Makes each of the changes: pairs of a frame and an offset, and the new values. Returns a dict for each change, with the
    result of `verdict` for the frame and the path, and the report of `check` at each depth."""
    jobs = [(frame, at, values, verdict, depths, folder) for (frame, at), values in frames]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        return [case for cases in pool.imap(_damage, jobs) for case in cases]


def _damage(job):
    frame, at, values, verdict, depths, folder = job
    with tempfile.TemporaryDirectory(dir=folder) as folder:
        paths = [Path(folder, f"{value}.b2nd") for value in values]
        for path, value in zip(paths, values):
            frame.damaged(path, at, value)
        cases = []
        old = frame.file.read_bytes()[frame.start + at]
        for value, seen in zip(values, answers(lambda path: verdict(frame, path), paths)):
            cases.append({"frame": frame.name, "at": at, "old": old, "new": value, "python": seen})
        for depth in depths:
            for case, codes in zip(cases, reported(paths, *depth.split())):
                case[depth] = [code for code in codes if code not in frame.healthy]
        return cases


# The report.


def grouped(cases, key):
    groups = collections.defaultdict(list)
    for case in cases:
        groups[key(case)].append(case)
    return groups


def examples(cases, show, end=", …"):
    """The first three cases as text."""
    return ", ".join(map(show, cases[:3])) + (end if len(cases) > 3 else "")


def change(case):
    return f"{case['at']}: {case['old']:02x} to {case['new']:02x}"


def report(name, text, figure, fault=None, more=""):
    """Prints the text of a study; after a whole run, writes it to lab/results and the figure to lab/RESULTS.md. Exits with an error if there is a `fault`."""
    version = subprocess.run([B2ND, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    text += f"\n{datetime.date.today().isoformat()}: python-blosc2 {blosc2.__version__}, {version}{more}.\n"
    # If the output goes to a program such as `head`, this program may have ended.
    with contextlib.suppress(BrokenPipeError):
        print(text, flush=True)
    if not IS_QUICK:
        (ROOT / f"lab/results/{name}.md").write_text(text)
        verdict = f"FAILED: {fault}; {figure}" if fault else figure
        subprocess.run([ROOT / "lab/run", "--record", name, verdict], check=True)
    if fault:
        sys.exit(fault)
