"""Measures `b2nd chunks` and `b2nd check --chunks` beside python-blosc2's `iterchunks_info`.

    chunks.py B2ND           writes docs/BENCHMARKS_CHUNKS.md, in some five minutes
    chunks.py B2ND --quick   a hundredth of it; only prints
"""

import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import blosc2
import numpy as np

COMMANDS = (["chunks", "--json"], ["check", "--chunks"], ["check", "--data"])
MEBIBYTE = 1 << 20

PAGE = """\
# Benchmarks of `b2nd chunks` and `b2nd check`

Written by `benches/chunks`, which repeats it on another machine. Frames of LZ4 chunks, in the page cache. The contenders take turns;
the 10th percentile of {rounds} times counts. python-blosc2 is a loop over `iterchunks_info` of opened files in one process,
whose start does not count; `b2nd` is the whole process, so where chunks are few, its time is mostly its start. The loop reads
the header of each chunk and no more. `chunks` also checks it and prints a line, `check --chunks` also reads where the blocks
begin, and `check --data` decompresses every chunk: where chunks are large, its ratio is far below 1.

| | |
|---|---|
| Date | {date} |
| Processor | {processor}, cores: {cores} |
| Compiler | {compiler} |
| b2nd | {b2nd} |
| python-blosc2 | {blosc2} |
| Python | {python} |

| files | contender | chunks a second | files a second | to python-blosc2 | MiB at the peak |
|---|---|---:|---:|---:|---:|
"""


def make(path, count, length):
    """A contiguous frame of chunks of this length, which compress a little."""
    schunk = blosc2.SChunk(chunksize=length, contiguous=True, cparams={"typesize": 1, "codec": blosc2.Codec.LZ4, "nthreads": 1})
    rng = np.random.default_rng(1)
    for _ in range(2):
        schunk.append_data(rng.integers(0, 256, length // 2, "u1").tobytes() + bytes(length - length // 2))
    # python-blosc2 takes minutes to append a million chunks, so the chunks are repeated here, with an index that is not compressed.
    small = schunk.to_cframe()
    header_len = int.from_bytes(small[11:15], "big")
    cbytes = int.from_bytes(small[39:47], "big")
    index = header_len + cbytes
    trailer = small[index + int.from_bytes(small[index + 12 : index + 16], "little") :]
    chunk = small[header_len:][: int.from_bytes(small[header_len + 12 : header_len + 16], "little")]
    offsets = (np.arange(count, dtype="<i8") * len(chunk)).tobytes()
    sizes = np.array([len(offsets), len(offsets), 32 + len(offsets)], "<i4").tobytes()
    parts = [chunk * count, b"\x05\x01\x07\x08" + sizes + bytes(16), offsets, trailer]
    header = bytearray(small[:header_len])
    for start, value in (16, header_len + sum(map(len, parts))), (30, count * length), (39, count * len(chunk)):
        header[start : start + 8] = value.to_bytes(8, "big")
    path.write_bytes(b"".join([header, *parts]))


def python(paths):
    start = time.perf_counter()
    for path in paths:
        for _ in blosc2.open(str(path), mode="r").iterchunks_info():
            pass
    return time.perf_counter() - start


def b2nd(program, command, paths):
    start = time.perf_counter()
    subprocess.run([program, *command, *paths], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def peak(program, command, paths):
    """The most memory in KiB; `None` where the system does not tell."""
    process = subprocess.Popen([program, *command, *paths], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = None
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        # Right after its start, the process is still a copy of this one.
        if lines and Path(program).name in status.splitlines()[0]:
            most = int(lines[0].split()[1])
        time.sleep(0.001)
    process.wait()
    return most


def tenth_percentile(times):
    """As `tenth_percentile` in machine.rs."""
    return sorted(times)[len(times) // 10]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def machine(program):
    """What the figures have to be read with, as on the other pages."""
    try:
        information = Path("/proc/cpuinfo").read_text()
    except OSError:
        information = ""
    models = [line.split(": ", 1)[1] for line in information.splitlines() if line.startswith("model name")]
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "processor": models[0] if models else "unknown",
        "cores": os.cpu_count(),
        "compiler": output("rustc", "--version"),
        "b2nd": output(program, "--version").removeprefix("b2nd "),
        "blosc2": blosc2.__version__,
        "python": platform.python_version(),
    }


def main():
    program, is_quick = sys.argv[1], "--quick" in sys.argv
    rounds, part = (1, 100) if is_quick else (10, 1)
    frames = [(1, 1_000_000 // part, 200), (1, 20_000 // part, 200), (1, 400 // part, MEBIBYTE), (1000 // part, 10, 2000)]
    page = PAGE.format(rounds=rounds, **machine(program))
    for files, count, length in frames:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{number}.b2frame" for number in range(files)]
            make(paths[0], count, length)
            for path in paths[1:]:
                path.write_bytes(paths[0].read_bytes())
            times = {}
            for _ in range(rounds):
                times.setdefault("python-blosc2", []).append(python(paths))
                for command in COMMANDS:
                    times.setdefault(" ".join(["b2nd", *command]), []).append(b2nd(program, command, paths))
            peaks = [None, *(peak(program, command, paths) for command in COMMANDS)]
        name = f"{files:,} of {count:,} chunks of {length:,} bytes"
        slowest = tenth_percentile(times["python-blosc2"])
        for (contender, all_times), most in zip(times.items(), peaks):
            best = tenth_percentile(all_times)
            memory = f"{most / 1024:.1f}" if most else ""
            page += f"| {name} | `{contender}` | {files * count / best:.0f} | {files / best:.1f} | {slowest / best:.1f} | {memory} |\n"
    print(page)
    if not is_quick:
        docs = Path(__file__).parents[2] / "docs"
        (docs / "BENCHMARKS_CHUNKS.md").write_text(page)


main()
