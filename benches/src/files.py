"""The benchmarks of files: `files.py ls|chunks|write [--quick]` measures ours beside python-blosc2 and bare system calls.

A whole run writes its page in docs; --quick only prints. The contenders take turns in each round, and the 10th percentile of
the times of each one counts: what else runs on the machine has no part in it, nor has a lucky strike.
"""

import collections
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import blosc2
import numpy as np

B2ND, BARE = os.environ["B2ND"], os.environ["B2ND_BARE"]
IS_QUICK = "--quick" in sys.argv
MEBIBYTE = 1 << 20


# The harness.


def seconds(*command):
    """The time of a whole process, whose output is thrown away."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def printed(*command):
    """The numbers that a process prints, line by line."""
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [[float(number) for number in line.split()] for line in lines]


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def take_turns(contenders, rounds):
    """The time of each, by its name. A contender is a list of names and a function, which returns turns: seconds for each name."""
    times = collections.defaultdict(list)
    for _ in range(rounds):
        for names, run in contenders:
            for turn in run():
                for name, taken in zip(names, turn):
                    times[name].append(taken)
    return {name: sorted(taken)[len(taken) // 10] for name, taken in times.items()}


def peak(*command):
    """The most memory of a process in MiB, as text."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = None
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        # Right after its start, the process is still a copy of this one.
        if lines and Path(command[0]).name in status.splitlines()[0]:
            most = int(lines[0].split()[1])
        time.sleep(0.001)
    assert process.wait() == 0, command
    return f"{most / 1024:.1f}" if most else "not measured"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def table(head, rows):
    """In the head, a column whose name ends with a colon has numbers."""
    names = head.split(" | ")
    rule = "|".join("---:" if name.endswith(":") else "---" for name in names)
    return "".join(f"{line}\n" for line in [f"| {head.replace(':', '')} |", f"|{rule}|", *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def conditions(name):
    """What the figures have to be read with."""
    try:
        information = Path("/proc/cpuinfo").read_text()
    except OSError:
        information = ""
    models = [line.split(": ", 1)[1] for line in information.splitlines() if line.startswith("model name")]
    rows = [
        ("command", f"`lab/run benchmarks {name}`"),
        ("date", datetime.now(timezone.utc).date().isoformat()),
        ("processor", f"{models[0] if models else 'unknown'}, cores: {os.cpu_count()}"),
        ("compiler", f"{output('rustc', '--version')}, release profile as cargo has it"),
        ("peer", f"python-blosc2 {blosc2.__version__} Python {platform.python_version()}"),
        ("b2nd", output(B2ND, "--version").removeprefix("b2nd ")),
    ]
    return "\n| | |\n|---|---|\n" + "".join(f"| {what} | {value} |\n" for what, value in rows)


# A listing.

LISTINGS = [["--json", "--unordered"], ["--json", "--unordered", "-j", "1"], ["--json"], ["--summary"], []]
# Files a second, in times of python-blosc2's and of the bare loop's; MiB at the peak, without an order.
PYTHON_GOAL, BARE_GOAL, MEMORY_GOAL = 12, 0.6, 16
SHAPES = [(40,), (12, 9), (5, 6, 7), (2, 3, 4, 5)]
IN_A_FOLDER = 1000
# What `b2nd ls` takes where nothing is asked for.
THREADS = max(os.cpu_count(), 16)

LS = """\
# Benchmarks of `b2nd ls`

Written by `lab/run benchmarks ls`, which repeats it on another machine. Small files of python-blosc2, of 1 to 4 dimensions, in
folders of 1,000, all in the page cache. The contenders take turns; of each, the 10th percentile of its times counts.

- The bare loop opens, reads 512 bytes of and closes each file in Rust, and does nothing with them. The list of the files
  is made before. Each row stands beside a bare loop of as many threads as it has itself.
- python-blosc2 is a loop over `blosc2.open(path).shape` in one process. The list of the files is made before, and
  Python's start does not count.
- `b2nd ls` is the whole process: its start, the walk through the folders, and its output, to `/dev/null`.

"""


def make_files(folder, count, folders):
    """The same files in several folders, for the memory."""
    for index in range(count):
        place = folder / "0" / f"{index // IN_A_FOLDER:03}"
        place.mkdir(parents=True, exist_ok=True)
        array = np.full(SHAPES[index % len(SHAPES)], index, "int32")
        blosc2.asarray(array, urlpath=str(place / f"{index:06}.b2nd"))
    for number in range(1, folders):
        shutil.copytree(folder / "0", folder / str(number), copy_function=os.link)


def check_listing(options, folder, count):
    """Each listing tells the shape of every file."""
    text = output(B2ND, "ls", *options, folder)
    shape = '"shape":[' if "--json" in options else "int32"
    told = int(text.split(" ")[0]) if "--summary" in options else sum(shape in line for line in text.splitlines())
    assert told == count, (options, told)


def ls(scratch):
    count, folders, rounds = (200, 2, 1) if IS_QUICK else (20_000, 10, 10)
    make_files(scratch, count, folders)
    folder = scratch / "0"
    paths = [str(path) for path in folder.rglob("*.b2nd")]
    command = lambda options: f"`{' '.join(['b2nd', 'ls', *options])}`"
    contenders = [(["python-blosc2"], lambda: [[timed(lambda: [blosc2.open(path).shape for path in paths])]])]
    for options in LISTINGS:
        check_listing(options, folder, count)
        contenders.append(([command(options)], lambda options=options: [[seconds(B2ND, "ls", *options, folder)]]))
    contenders += [([threads], lambda threads=threads: printed(BARE, "read", folder, str(threads))) for threads in (1, THREADS)]
    speeds = {name: count / taken for name, taken in take_turns(contenders, rounds).items()}
    python = speeds["python-blosc2"]
    rows = [("goal", "", "", f"at least {PYTHON_GOAL}", f"at least {BARE_GOAL}")]
    shown = [(command(options), 1 if options[-2:] == ["-j", "1"] else THREADS, command(options)) for options in LISTINGS]
    shown += [("bare loop", THREADS, THREADS), ("bare loop", 1, 1), ("python-blosc2", 1, "python-blosc2")]
    for name, threads, key in shown:
        rows.append((name, threads, f"{speeds[key]:.0f}", f"{speeds[key] / python:.1f}", f"{speeds[key] / speeds[threads]:.2f}"))
    page = LS + table(f"{count} files | threads: | files a second: | to python-blosc2: | to the bare loop:", rows)
    rows = [("goal with `--unordered`", f"at most {MEMORY_GOAL}")]
    rows += [(command(options), peak(B2ND, "ls", *options, scratch)) for options in LISTINGS]
    return page + "\n" + table(f"{count * folders} files | MiB at the peak:", rows) + conditions("ls")


# Chunks.

COMMANDS = (["chunks", "--json"], ["check", "--chunks"], ["check", "--data"])

CHUNKS = """\
# Benchmarks of `b2nd chunks` and `b2nd check`

Written by `lab/run benchmarks chunks`, which repeats it on another machine. Frames of LZ4 chunks, in the page cache. The contenders take
turns; the 10th percentile of {rounds} times counts. python-blosc2 is a loop over `iterchunks_info` of opened files in one process,
whose start does not count; `b2nd` is the whole process, so where chunks are few, its time is mostly its start. The loop reads
the header of each chunk and no more. `chunks` also checks it and prints a line, `check --chunks` also reads where the blocks
begin, and `check --data` decompresses every chunk: where chunks are large, its ratio is far below 1.

"""


def make_frame(path, count, length):
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


def chunks(scratch):
    rounds, part = (1, 100) if IS_QUICK else (10, 1)
    frames = [(1, 1_000_000 // part, 200), (1, 20_000 // part, 200), (1, 400 // part, MEBIBYTE), (1000 // part, 10, 2000)]
    rows = []
    for number, (files, count, length) in enumerate(frames):
        folder = scratch / str(number)
        folder.mkdir()
        paths = [folder / f"{number}.b2frame" for number in range(files)]
        make_frame(paths[0], count, length)
        for path in paths[1:]:
            shutil.copy(paths[0], path)
        loop = lambda: [sum(1 for _ in blosc2.open(str(path), mode="r").iterchunks_info()) for path in paths]
        contenders = [(["python-blosc2"], lambda: [[timed(loop)]])]
        for command in COMMANDS:
            contenders.append(([" ".join(["b2nd", *command])], lambda command=command: [[seconds(B2ND, *command, *paths)]]))
        times = take_turns(contenders, rounds)
        peaks = ["", *(peak(B2ND, *command, *paths) for command in COMMANDS)]
        name = f"{files:,} of {count:,} chunks of {length:,} bytes"
        python = times["python-blosc2"]
        for (contender, taken), most in zip(times.items(), peaks):
            rows.append((name, f"`{contender}`", f"{files * count / taken:.0f}", f"{files / taken:.1f}", f"{python / taken:.1f}", most))
        shutil.rmtree(folder)
    head = "files | contender | chunks a second: | files a second: | to python-blosc2: | MiB at the peak:"
    return CHUNKS.format(rounds=rounds) + table(head, rows) + conditions("chunks")


# A new frame.

# The time of ours, in times of the bare write's. How long a sync takes is the disk's choice, so the others have none.
GOAL = 1.1
OURS = "`write_to` a file", "bare write into a file", "`create`, which syncs", "bare write, and a sync"
PEERS = "python-blosc2, `insert_chunk` with `urlpath`", "python-blosc2, `insert_chunk`, `to_cframe`, write"

WRITE = """\
# Benchmarks of `FrameWriter`

Written by `lab/run benchmarks write`, which repeats it on another machine. Chunks that are ready, and cannot be compressed, become a
new frame. The contenders take turns; of each, the 10th percentile of its times counts.

- The bare write puts the same chunks one after another into a file, through a buffer of 64 KiB, and does
  nothing else.
- Sparse frames are left out: most of their time is the file system's for a new file, which changes with its state.
- python-blosc2 writes a super-chunk in one thread. Its start and the reading of the chunks do not count. It does not sync.

Times in those of the bare write:

"""


def insert(schunk, ready):
    for number, chunk in enumerate(ready):
        schunk.insert_chunk(number, chunk)
    return schunk


def by_python(ready, length, to):
    """The seconds into a file, and into a frame in memory that is then written."""
    options = {"contiguous": True, "chunksize": length, "cparams": {"typesize": 1, "nthreads": 1}, "dparams": {"nthreads": 1}}
    works = (
        lambda: insert(blosc2.SChunk(urlpath=str(to), mode="w", **options), ready),
        lambda: to.write_bytes(insert(blosc2.SChunk(**options), ready).to_cframe()),
    )
    times = []
    for work in works:
        times.append(timed(work))
        assert blosc2.open(str(to), mode="r").nchunks == len(ready)
        to.unlink()
    return times


def ratio(taken, bare, goal=None):
    mark = "**" if goal and round(taken / bare, 2) > goal else ""
    return f"{mark}{taken / bare:.2f}{mark}"


def write(scratch):
    arrays = [(1 << 10, 16), (1 << 16, 4), (1 << 22, 1)] if IS_QUICK else [(1 << 10, 1 << 12), (1 << 16, 1 << 8), (1 << 22, 1 << 2)]
    rounds, turns, most = (1, 1, 1000) if IS_QUICK else (4, 8, 1_000_000)
    rng, measured = np.random.default_rng(1), []
    file = scratch / "ready"
    for length, count in arrays:
        parameters = {"typesize": 1, "clevel": 0, "blocksize": min(length, 1 << 15), "nthreads": 1}
        ready = [blosc2.compress2(rng.integers(0, 256, length, "u1"), **parameters) for _ in range(count)]
        file.write_bytes(b"".join(ready))
        contenders = [
            (OURS, lambda: printed(BARE, "write", file, str(count), str(length), str(turns))),
            (PEERS, lambda: [by_python(ready, length, scratch / "new.b2frame")]),
        ]
        measured.append(take_turns(contenders, rounds))
        subprocess.run([B2ND, "check", "--data", file.with_suffix(".new")], stdout=subprocess.DEVNULL, check=True)
    sizes = " | ".join(f"{count} of {length >> 10} KiB:" for length, count in arrays)
    rows = [(f"{OURS[0]}, to {OURS[1]}", f"at most {GOAL}", *(ratio(times[OURS[0]], times[OURS[1]], GOAL) for times in measured))]
    for name, bare in (OURS[2:], *((peer, OURS[1]) for peer in PEERS)):
        rows.append((f"{name}, to {bare}", "report", *(ratio(times[name], times[bare]) for times in measured)))
    page = WRITE + table(f"chunks | goal | {sizes}", rows) + "\nA ratio over its goal is in bold. The times behind them, in ms:\n\n"
    page += table(f"chunks | {sizes}", ((name, *(f"{times[name] * 1000:.2f}" for times in measured)) for name in OURS + PEERS))
    peaks = [(count, peak(BARE, "many", str(count), scratch / f"{count}.b2nd")) for count in (1, most)]
    return page + "\n" + table("chunks of one `create` | MiB at the peak:", peaks) + conditions("write")


PAGES = {"ls": (ls, "BENCHMARKS_LS.md"), "chunks": (chunks, "BENCHMARKS_CHUNKS.md"), "write": (write, "BENCHMARKS_WRITE.md")}


def main(name):
    measure, file = PAGES[name]
    # On the disk of the project: the folder of temporary files may be in memory.
    with tempfile.TemporaryDirectory(dir=Path(BARE).parent) as scratch:
        page = measure(Path(scratch))
    print(page)
    if not IS_QUICK:
        (Path(__file__).parents[2] / "docs" / file).write_text(page)


main(sys.argv[1])
