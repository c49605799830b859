"""What the scripts here share that ask python-blosc2 and `b2nd check` about damaged files."""

import json
import os
import resource
import signal
import subprocess

CRASH, HANG = "crash", "no answer"
SECONDS = 10
MEMORY = 4 << 30


def answers(ask, items):
    """For each item what a function says, from a process with limits on time and memory, as it may crash or hang."""
    results = []
    while len(results) < len(items):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            silence()
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
            results.append((HANG if is_late else CRASH, None))
    return results


def silence():
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def reported(b2nd, paths, *depth):
    """For each file the codes of what `b2nd check` reports, by severity; none if it says nothing, as of an empty folder."""
    command = [b2nd, "check", "--json", "--jobs", "64", *depth, "--files-from", "-"]
    run = subprocess.run(command, input="".join(f"{path}\n" for path in paths), capture_output=True, text=True)
    found = {}
    for line in map(json.loads, run.stdout.splitlines()):
        findings = line.get("findings") or ([{"code": "unreadable", "severity": "error"}] if "error" in line else [])
        found[line["path"]] = [(finding["severity"], finding["code"]) for finding in findings]
    return [found.get(str(path), []) for path in paths]
