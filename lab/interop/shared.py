"""Shared parts of the scripts here, of the studies and of the benchmarks: calls that may end their process, tables, and more."""

import json
import os
import resource
import signal
import sys

# The results of a call that crashes or hangs its process, and the limits of that process.
CRASH, HANG = "crash", "no answer"
SECONDS = 10
MEMORY = 4 << 30


def answers(ask, items):
    """Calls a function for each item, in a process with limits on time and memory, and returns the results. If an item ends the process, its result
    is CRASH or HANG."""
    # blosc2 is imported here and not at the top, because the benchmarks need only `table`.
    import blosc2

    results = []
    while len(results) < len(items):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            silence()
            # Each thread takes address space, and a machine can have many cores.
            blosc2.set_nthreads(1)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            for item in items[len(results) :]:
                signal.setitimer(signal.ITIMER_REAL, SECONDS)
                os.write(writer, f"{json.dumps(ask(item))}\n".encode())
            os._exit(0)
        os.close(writer)
        with open(reader) as lines:
            results += map(json.loads, lines)
        status = os.waitpid(child, 0)[1]
        if len(results) < len(items):
            is_late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
            results.append(HANG if is_late else CRASH)
    return results


def silence():
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def table(head, rows):
    """A Markdown table. A heading that ends with a colon marks a right-aligned column of numbers."""
    names = head.split(" | ")
    rule = "|".join("---:" if name.endswith(":") else "---" for name in names)
    lines = [f"| {' | '.join(map(str, row))} |\n" for row in ([name.rstrip(":") for name in names], *rows)]
    return "".join([lines[0], f"|{rule}|\n", *lines[1:]])


def say(line):
    """Prints a line of JSON, and waits for a line as the answer."""
    print(json.dumps(line), flush=True)
    if not (answer := sys.stdin.readline()):
        sys.exit("nobody answers any more")
    return answer


def resized(old, shape):
    """The items of an array after a resize. Items that the array did not have before are 0."""
    # NumPy is imported here and not at the top, because the benchmarks need only `table`.
    import numpy as np

    new = np.zeros(shape, old.dtype)
    common = tuple(slice(min(a, b)) for a, b in zip(old.shape, shape))
    new[common] = old[common]
    return new
