"""Kills python-blosc2 while it writes, and compares the answers of python-blosc2 and `b2nd check` about the remaining files. The changes of
`b2nd` are killed in the same way, and must leave the old array or the new one. The same holds for changes in which a system call fails.

Each writer is a process that ptrace stops at each system call. It is killed before a call that changes a file: before each
such call in turn, or, if there are many, before some of them. A killed process leaves only the effects of its earlier calls. So this
covers every state that a killed writer can leave, except the state after a part of a call. In addition, and also without ptrace, it
is killed at random moments; B2ND_SEED is the seed.
"""

import ctypes
import errno
import os
import platform
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import blosc2
import numpy as np

from shared import CRASH, HANG, answers, resized, table
from study import IS_QUICK, grouped, report, reported, scratch

CHUNKS, BLOCKS, SHAPE = (4, 4), (2, 4), (12, 12)
# RANDOM is the number of kills at random moments. Other kills come before a system call that changes a file, at every
# STEP-th such call.
RANDOM, STEP = (1, 8) if IS_QUICK else (8, 1)
SEED = os.environ.get("B2ND_SEED", "1")
DEPTHS = ["", "--data"]

BEFORE, AFTER, MIXED, ZEROS, OTHER, ERROR, NO_ARRAY, NOTHING = VERDICTS = [
    "before",
    "after",
    "mixed",
    "zeros",
    "other",
    "error",
    "no array",
    "no file",
]
BAD = [ZEROS, OTHER, ERROR]


def values(shape):
    """Items for an array. No item is 0, so the items that a resize adds can be recognized."""
    return np.arange(1, np.prod(shape) + 1, dtype="<i4").reshape(shape)


# The writers.


class State(NamedTuple):
    """The data and the vlmetalayers of an array."""

    data: np.ndarray
    vlmeta: dict


class Writer(NamedTuple):
    """A change of an array, with the array before and after it. The change gets the path, and whether the frame is contiguous."""

    before: State | None
    after: State
    change: Callable


KELVIN = {"unit": "kelvin"}
SQUARE, ROW = State(values(SHAPE), KELVIN), State(values((1, 60))[0], KELVIN)
SHORT_ROW = State(ROW.data[:36], KELVIN)


def write(path, contiguous, data, vlmeta):
    chunks, blocks = CHUNKS[: data.ndim], BLOCKS[: data.ndim]
    array = blosc2.asarray(data, chunks=chunks, blocks=blocks, urlpath=path, contiguous=contiguous, cparams={"nthreads": 1})
    for name, value in vlmeta.items():
        array.schunk.vlmeta[name] = value


def opened(path):
    return blosc2.open(path, mode="a")


def resize(shape):
    return Writer(SQUARE, State(resized(SQUARE.data, shape), KELVIN), lambda path, _: opened(path).resize(shape))


def set_vlmeta(name, value):
    def change(path, contiguous):
        array = opened(path)
        array.schunk.vlmeta[name] = value

    return Writer(SQUARE, State(SQUARE.data, KELVIN | {name: value}), change)


def assign(path, contiguous):
    opened(path)[...] = SQUARE.data + 1000


PARENT, NOWHERE = os.getpid(), os.open(os.devnull, os.O_WRONLY)


def command(arguments, data=SHORT_ROW.data, vlmeta=KELVIN):
    """A change by `b2nd`. PATH in its arguments is the array."""

    def change(path, contiguous):
        words = [os.environ["B2ND"], *(path if word == "PATH" else word for word in arguments)]
        if os.getpid() == PARENT:
            subprocess.run(words, check=True, capture_output=True)
        else:
            os.dup2(NOWHERE, 1)
            os.dup2(NOWHERE, 2)
            os.execv(words[0], words)

    return Writer(SHORT_ROW, State(data, vlmeta), change)


COMMANDS = {
    "b2nd convert --append": command(["convert", "--append", "0", "--slice", ":24", "PATH", "PATH"], data=np.append(SHORT_ROW.data, SHORT_ROW.data[:24])),
    "b2nd set --vlmeta": command(["set", "--vlmeta", 'unit="celsius"', "PATH"], vlmeta={"unit": "celsius"}),
    "b2nd set --remove-vlmeta": command(["set", "--remove-vlmeta", "unit", "PATH"], vlmeta={}),
    "b2nd set --shape": command(["set", "--shape", "35", "PATH"], data=SHORT_ROW.data[:35]),
    "b2nd rewrite": command(["rewrite", "PATH", "PATH"]),
}
WRITERS = {
    "resize, more rows": resize((24, 12)),
    "resize, more columns": resize((12, 24)),
    "resize, fewer rows": resize((4, 12)),
    "resize, fewer columns": resize((12, 4)),
    "resize, both": resize((24, 24)),
    "append": Writer(SHORT_ROW, ROW, lambda path, _: opened(path).append(ROW.data[36:])),
    "a[...] = x": Writer(SQUARE, State(SQUARE.data + 1000, KELVIN), assign),
    "asarray(urlpath=)": Writer(None, State(SQUARE.data, {}), lambda path, contiguous: write(path, contiguous, SQUARE.data, {})),
    "a new vlmetalayer": set_vlmeta("notes", ["one", "two"] * 40),
    "another value of a vlmetalayer": set_vlmeta("unit", "celsius, or kelvin less 273.15"),
    **COMMANDS,
}


# Killing.

PTRACE_TRACEME, PTRACE_PEEKUSER, PTRACE_POKEUSER, PTRACE_SYSCALL, PTRACE_SETOPTIONS = 0, 3, 6, 24, 0x4200
PTRACE_O_TRACESYSGOOD = 1
ORIG_RAX, RAX, RSI, RDX = 15 * 8, 10 * 8, 13 * 8, 12 * 8
O_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# The system calls of x86-64 that change files, or sync them: write, pwrite64, writev, fsync, fdatasync, ftruncate, rename, mkdir, rmdir, link,
# unlink, ...
CHANGES = {1, 18, 20, 74, 75, 76, 77, 82, 83, 84, 86, 87, 258, 263, 264, 265, 285, 296, 316}
OPENAT = 257
CAN_TRACE = sys.platform == "linux" and platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long


def ptrace(request, child, address=0, data=0):
    return libc.ptrace(request, child, ctypes.c_void_p(address), ctypes.c_void_p(data))


def changes_files(child):
    number = ptrace(PTRACE_PEEKUSER, child, ORIG_RAX)
    return number in CHANGES or number == OPENAT and ptrace(PTRACE_PEEKUSER, child, RDX) & O_WRITES != 0


def start(writer, path, contiguous, is_traced):
    """A process that waits until it may write."""
    child = os.fork()
    if child == 0:
        if is_traced:
            ptrace(PTRACE_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        writer.change(path, contiguous)
        os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    return child


def kill_before(writer, path, contiguous, last, failure=None):
    """Kills the writer before change number `last`, or lets this change fail. Returns the number of changes made; it is smaller than `last`
    if the writer finished."""
    child = start(writer, path, contiguous, True)
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD)
    done, is_entry, fails = 0, True, False
    ptrace(PTRACE_SYSCALL, child)
    while True:
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            assert os.WIFEXITED(status) and (os.WEXITSTATUS(status) == 0 or failure), f"the writer failed: {status}"
            return done
        passed_on = 0
        if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
            if is_entry and changes_files(child):
                if done == last and failure:
                    # The number of the system call is replaced by an unused number, so the call does nothing.
                    ptrace(PTRACE_POKEUSER, child, ORIG_RAX, 2**64 - 1)
                    fails = True
                elif done == last:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    return done
                done += 1
            elif not is_entry and fails:
                ptrace(PTRACE_POKEUSER, child, RAX, 2**64 - failure)
                fails = False
            is_entry = not is_entry
        # Passes every signal on to the process, except SIGSTOP and SIGTRAP. ptrace itself sends SIGTRAP when a command
        # is executed.
        elif os.WSTOPSIG(status) not in (signal.SIGSTOP, signal.SIGTRAP):
            passed_on = os.WSTOPSIG(status)
        ptrace(PTRACE_SYSCALL, child, 0, passed_on)


def kill_after(writer, path, contiguous, delay):
    child = start(writer, path, contiguous, False)
    os.kill(child, signal.SIGCONT)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def failing(folder, name, contiguous):
    """Lets each change of a command fail, and yields the faults that result."""
    writer, folder = COMMANDS[name], Path(folder)
    folder.mkdir()
    path = folder / "array.b2nd"
    for failure in (errno.ENOSPC, errno.EIO):
        step, done = 0, 1
        while step < done:
            write(str(path), contiguous, *writer.before)
            done = kill_before(writer, str(path), contiguous, step, failure)
            found = verdict(path, writer.before, writer.after)
            more = sorted({entry.name for entry in folder.iterdir()} - {"array.b2nd", "array.b2nd.b2lock"})
            yield None if found in (BEFORE, AFTER) and not more else f"{name}: {found}, and in the folder {more}, after error {failure} of change {step}"
            blosc2.remove_urlpath(str(path))
            step += 1


# The remaining files.


def state(path):
    """Returns the state of an array, or None if the file is still an empty super-chunk, without an array."""
    array = blosc2.open(str(path), mode="r")
    return State(array[...], dict(array.schunk.vlmeta.getall())) if isinstance(array, blosc2.NDArray) else None


def is_same(one, other):
    return one.data.shape == other.data.shape and np.array_equal(one.data, other.data) and one.vlmeta == other.vlmeta


def verdict(path, before, after):
    if not os.path.lexists(path) or os.path.isdir(path) and not os.listdir(path):
        return NOTHING
    try:
        seen = state(path)
    except Exception:
        return ERROR
    if seen is None:
        return NO_ARRAY
    data, vlmeta = seen
    if before and is_same(seen, before):
        return BEFORE
    if is_same(seen, after):
        return AFTER
    known = [known for known in (before, after) if known]
    if not any(vlmeta == metadata for _, metadata in [*known, (None, {})]):
        return OTHER
    known = [items for items, _ in known if items.shape == data.shape]
    right = np.any([data == items for items in known], axis=0) if known else np.zeros(data.shape, bool)
    if known and right.all():
        return MIXED
    return ZEROS if known and (right | (data == 0)).all() else OTHER


def kills(folder, name, contiguous):
    """The paths of all files that a killed writer left."""
    writer, folder = WRITERS[name], Path(folder)
    folder.mkdir()

    def prepared(label):
        path = str(folder / f"{label}.b2nd")
        if writer.before:
            write(path, contiguous, *writer.before)
        return path

    begun = time.perf_counter()
    writer.change(prepared("whole"), contiguous)
    duration = time.perf_counter() - begun
    assert verdict(folder / "whole.b2nd", None, writer.after) == AFTER, name
    paths = []
    if CAN_TRACE:
        for step in range(0, kill_before(writer, prepared("counted"), contiguous, -1), STEP):
            paths.append(prepared(f"before change {step}"))
            kill_before(writer, paths[-1], contiguous, step)
    for number in range(RANDOM):
        paths.append(prepared(f"at random {number}"))
        kill_after(writer, paths[-1], contiguous, random.uniform(0, duration))
    return paths


# The report.

INTRODUCTION = """\
# What a killed writer leaves, and who sees it

Written by `lab/run killed`. It kills python-blosc2 and `b2nd` {count} times while they write a small array: before {each} system call
that changes a file, and {random} times each at random moments; the results of random moments depend on the speed of the machine. python-blosc2
then reads the remaining file:

- **before**, **after**: all data and vlmetalayers are old, or all are new.
- **mixed**: the shape is right, and each item is old or new. A change in place has no better state, and leaves no trace.
- **zeros**: zeros instead of items; **other**: neither the old nor the new shape, items or vlmetalayers; **error**: the file cannot be
  opened or read.
- **no array**: a frame without chunks and metalayers, which can be intended; **no file**: nothing, or an empty folder.

Each system call of `b2nd` that changes or syncs a file also fails once with ENOSPC and once with EIO: {failures} failures. Each kill or
failure of `b2nd` must leave the old or the new array, and a failure no other file.

"Seen" is an error of `b2nd check`; brackets count files with only a warning. A frame that reads well can have an error, too: leftover
chunks, or an array that is not yet as large as its chunks.

"""


def has_error(case, depth=""):
    return any(severity == "error" for severity, _ in case[depth])


def row(name, cases):
    counts = [sum(case["verdict"] == verdict for case in cases) for verdict in VERDICTS]
    bad = [case for case in cases if case["verdict"] in BAD]
    good = [case for case in cases if case["verdict"] in (BEFORE, AFTER, MIXED)]
    errors = sum(map(has_error, bad))
    warnings = sum(bool(case[""]) for case in bad) - errors
    seen = f"{errors} (+ {warnings}) of {len(bad)}" if warnings else f"{errors} of {len(bad)}"
    return name, len(cases), *counts, seen, f"{sum(has_error(case, '--data') for case in good)} of {len(good)}"


def is_misnamed(case):
    """Whether `check` reports the wrong error for a killed resize: not `interrupted-resize`, or another error although python-blosc2 reads
    everything."""
    if not case["name"].startswith("resize"):
        return False
    errors = {code for severity, code in case[""] if severity == "error"}
    if case["verdict"] in (ZEROS, OTHER):
        return "interrupted-resize" not in errors
    # If the killed resize had to remove a chunk, the file of this chunk may already be removed.
    return case["verdict"] in (BEFORE, AFTER) and not errors <= {"interrupted-resize", "chunk-file"}


def unseen(all_cases):
    """The bad results without an error of any check, grouped with their warnings."""
    codes = lambda case: ", ".join(sorted({code for _, code in case["--data"]})) or "nothing"
    cases = [case for case in all_cases if case["verdict"] in BAD and not any(has_error(case, depth) for depth in DEPTHS)]
    groups = grouped(cases, lambda case: (case["name"], case["verdict"], codes(case)))
    return table("writer | python-blosc2 reads | `check --data` warns of | kills:", ((*what, len(of)) for what, of in groups.items()))


def cases_of(folder, name, contiguous):
    """The files that each kill leaves, and the verdicts of python-blosc2 and `b2nd check`."""
    writer = WRITERS[name]
    paths = kills(folder, name, contiguous)
    verdicts = answers(lambda path: verdict(path, writer.before, writer.after), paths)
    there = [path for path in paths if os.path.lexists(path)]
    said = {depth: dict(zip(there, reported(there, *depth.split()))) for depth in DEPTHS}
    for path, seen in zip(paths, verdicts):
        case = {"name": name, "path": path, "verdict": ERROR if seen in (CRASH, HANG) else seen}
        yield case | {depth: said[depth].get(path, []) for depth in DEPTHS}


def main():
    random.seed(SEED)
    with scratch() as folder:
        all_cases = [
            case
            for number, name in enumerate(WRITERS)
            for contiguous in (True, False)
            for case in cases_of(f"{folder}/{number}{contiguous}", name, contiguous)
        ]
        failures = [
            fault
            for number, name in enumerate(COMMANDS if CAN_TRACE else [])
            for contiguous in (True, False)
            for fault in failing(f"{folder}/failing {number}{contiguous}", name, contiguous)
        ]
    rows = [row(name, of) for name, of in [*grouped(all_cases, lambda case: case["name"]).items(), ("**all**", all_cases)]]
    each = "each" if STEP == 1 else f"every {STEP}th"
    text = INTRODUCTION.format(count=len(all_cases), each=each, random=RANDOM, failures=len(failures))
    head = f"writer | kills: | {' | '.join(f'{verdict}:' for verdict in VERDICTS)} | zeros, other, error: seen: | reads well, but has an error:"
    text += table(head, rows) + "\nFiles for which `check` reports no error, though python-blosc2 reads other data or none:\n\n" + unseen(all_cases)
    bad = [case for case in all_cases if case["verdict"] in BAD]
    silent = [case for case in bad if not case[""]]
    misnamed = [case for case in all_cases if is_misnamed(case)]
    faults = list(filter(None, failures))
    faults += [f"{case['name']}: {case['verdict']}: {case['path']}" for case in all_cases if case["name"] in COMMANDS and case["verdict"] not in (BEFORE, AFTER)]
    if silent:
        faults.append(f"of {len(silent)} files with wrong data `check` says nothing, such as {silent[0]}")
    if misnamed:
        faults.append(f"{len(misnamed)} killed resizes are not called so, or are called something else, such as {misnamed[0]}")
    figure = f"{len(all_cases)} kills leave {len(bad)} bad files; `check` says nothing of {len(silent)}"
    report("killed", text, figure, "; ".join(faults) or None, f", seed {SEED}")


if __name__ == "__main__":
    main()
