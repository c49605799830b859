"""Four processes change an array at the same time, and others read it. Each change that ended with status 0 must be in the file.

    lab/run processes            100 rounds of each case
    lab/run processes --quick    3 rounds, for CI

In each round, four processes of `b2nd` begin at the same time. Beside them, `b2nd cat` and python-blosc2 read the array again and
again, and every array that they see must be the array before or after a change. In the cases with a lock file, the file `.b2lock` of
C-Blosc2 exists, and in the last such case, two of the four writers are python-blosc2 with locks.
"""

import collections
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import blosc2
import numpy as np

from shared import table
from study import B2ND, IS_QUICK, report, reported, scratch

ROUNDS = 3 if IS_QUICK else 100
WRITERS = 4
WIDTH = 8

# The number in the first row. It is not 0, because `b2nd check` warns of an array without any data.
FIRST = 1 << 40

# A program that reads, or appends rows, with python-blosc2 until its standard input ends.
PYTHON = """
import json, os, sys
path, locking, work = sys.argv[1:]
if locking == "locks":
    os.environ["BLOSC_LOCKING"] = "1"
import blosc2, numpy as np
blosc2.set_nthreads(1)
print("begun", flush=True)
for line in sys.stdin:
    try:
        if work == "read":
            answer = blosc2.open(path, mode="r")[...].tolist()
        else:
            array = blosc2.open(path, mode="a")
            with array.holding_lock():
                array.refresh()
                rows = array.shape[0]
                array.resize((rows + 1, array.shape[1]))
                array[rows:] = int(line)
            answer = None
    except Exception as error:
        answer = {"error": repr(error)[:200]}
    print(json.dumps(answer), flush=True)
"""


class Python:
    """A process of python-blosc2 that answers lines."""

    def __init__(self, path, has_lock, work):
        words = [sys.executable, "-c", PYTHON, str(path), "locks" if has_lock else "none", work]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdout.readline()

    def ask(self, line=""):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def name_of(number):
    """The name of a value. The writers of a round have different names. An array has at most 16 vlmetalayers."""
    return f"k{number % (2 * WRITERS)}"


class Case:
    def __init__(self, folder, is_sparse, has_lock, kind):
        self.path = Path(folder, "array.b2nd")
        self.is_sparse, self.has_lock, self.kind = is_sparse, has_lock, kind
        # What the file must have after the last round: for each row, the number that all its items have, and the
        # vlmetalayers by name.
        self.rows, self.values = [FIRST], {}
        self.faults, self.seen = [], collections.Counter()
        data = np.full((1, WIDTH), FIRST, "<i8")
        blosc2.asarray(data, chunks=(4, WIDTH), blocks=(2, WIDTH), urlpath=str(self.path), mode="w", contiguous=not is_sparse)
        if has_lock:
            (self.path / ".b2lock" if is_sparse else Path(f"{self.path}.b2lock")).write_bytes(bytes(16))
        self.reader = Python(self.path, False, "read")
        self.pythons = [Python(self.path, True, "append") for _ in range(2)] if kind == "python" else []

    def name(self):
        return ("sparse" if self.is_sparse else "contiguous", ".b2lock" if self.has_lock else "", self.kind)

    def words(self, number, writer):
        """The arguments of the command of a writer, and what it adds: a row or a value."""
        kind = self.kind
        if kind == "rewrites":
            kind = "appends" if writer % 2 else "rewrite"
        if kind == "rewrite":
            return ["rewrite", self.path, self.path], None
        if kind == "values":
            return ["set", self.path, "--vlmeta", f"{name_of(number)}={number}"], "value"
        row = Path(self.path.parent, f"{writer}.npy")
        np.save(row, np.full((1, WIDTH), number, "<i8"))
        return ["convert", "--append", "0", row, self.path], "row"

    def round(self, first):
        """All writers change the array at the same time. Then the file must have what they wrote."""
        rows, values = [], {}
        lock = threading.Lock()

        def by_command(writer):
            number = first + writer
            words, added = self.words(number, writer)
            run = subprocess.run([B2ND, *words], capture_output=True, text=True)
            with lock:
                if run.returncode != 0:
                    self.faults.append(f"{words[0]}: {run.stderr.strip()}")
                elif added == "row":
                    rows.append(number)
                elif added == "value":
                    values[name_of(number)] = number

        def by_python(writer):
            answer = self.pythons[writer].ask(first + writer)
            with lock:
                if answer:
                    self.faults.append(f"python-blosc2: {answer['error']}")
                else:
                    rows.append(first + writer)

        threads = [
            threading.Thread(target=by_python if writer < len(self.pythons) else by_command, args=[writer]) for writer in range(WRITERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        array = blosc2.open(str(self.path), mode="r")
        found = array[...]
        if found.shape != (len(self.rows) + len(rows), WIDTH):
            self.faults.append(f"shape {found.shape} instead of {len(self.rows) + len(rows)} rows")
        elif (found != found[:, :1]).any() or list(found[: len(self.rows), 0]) != self.rows or {*found[len(self.rows) :, 0]} != {*rows}:
            self.faults.append(f"other rows: {found[:, 0].tolist()}")
        self.rows = found[:, 0].tolist()
        self.values |= values
        if (found := {name: array.schunk.vlmeta[name] for name in array.schunk.vlmeta.getall()}) != self.values:
            self.faults.append(f"{len(found)} values instead of {len(self.values)}")
        if findings := reported([self.path], "--data")[0]:
            self.faults.append(f"check: {findings}")

    def look(self, who, rows):
        """Compares what a reader has seen with what can be there: rows of one number each, which begin as those of the last round."""
        known = self.rows
        begin = [row[0] for row in rows[: len(known)]]
        if any({*row} != {row[0]} or row[0] <= 0 for row in rows) or begin != known[: len(begin)]:
            self.faults.append(f"{who} has read {rows}")

    def read(self, is_over):
        while not is_over.is_set():
            run = subprocess.run([B2ND, "cat", "--json", self.path], capture_output=True, text=True)
            if run.returncode:
                self.faults.append(f"b2nd cat: {run.stdout}{run.stderr}".strip())
                self.seen["b2nd cat fails"] += 1
            else:
                self.look("b2nd cat", json.loads(run.stdout)["values"])
                self.seen["b2nd cat"] += 1

    def read_with_python(self, is_over):
        while not is_over.is_set():
            rows = self.reader.ask()
            if isinstance(rows, dict):
                self.seen["python fails"] += 1
            else:
                # The rows that python-blosc2 appends are zeros until they are written, and this reader takes no lock.
                if self.kind == "python":
                    rows = [row for row in rows if any(row)]
                self.look("python-blosc2", rows)
                self.seen["python"] += 1

    def run(self):
        is_over = threading.Event()
        readers = [threading.Thread(target=read, args=[is_over]) for read in (self.read, self.read_with_python)]
        for reader in readers:
            reader.start()
        for number in range(ROUNDS):
            self.round(WRITERS * number + 1)
        is_over.set()
        for reader in readers:
            reader.join()
        for python in [self.reader, *self.pythons]:
            python.end()
        return self


def main():
    os.environ["BLOSC_NTHREADS"] = "1"
    cases = []
    for is_sparse in False, True:
        for has_lock in False, True:
            for kind in ["appends", "values", "rewrites"] + ["python"] * has_lock:
                with scratch() as folder:
                    cases.append(Case(folder, is_sparse, has_lock, kind).run())
                print(*cases[-1].name(), dict(cases[-1].seen), *cases[-1].faults[:3], file=sys.stderr)
    columns = ["b2nd cat", "b2nd cat fails", "python", "python fails"]
    rows = [[*case.name(), *(case.seen[column] for column in columns), len(case.faults)] for case in cases]
    changes = len(cases) * ROUNDS * WRITERS
    text = __doc__.replace("Four processes", "# Four processes at once\n\nFour processes", 1) + "\n"
    text += table("frame | lock file | changes | reads of b2nd cat: | failed: | reads of python: | failed: | faults:", rows)
    faults = [fault for case in cases for fault in case.faults]
    report("processes", text, f"{changes} changes, {len(faults)} faults", faults[0] if faults else None)


main()
