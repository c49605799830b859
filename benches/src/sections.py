"""Measures this project against other programs and against bare system calls.

    sections.py metalayer|ls|slices|small|rows|chunks|decompress|compress|levels|write [--quick]

Prints the section of this benchmark for lab/results/benchmarks.md. The contenders take turns in each round. The result of a contender is
the 10th percentile of its times. Neither other programs on the machine nor a single lucky measurement affects it.
"""

import collections
import importlib.metadata
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

from shared import table

names = ("B2ND", "B2ND_BARE", "B2ND_METALAYER", "B2ND_SLICES", "B2ND_SMALL_SLICES", "B2ND_ROWS", "B2ND_DECOMPRESS", "B2ND_COMPRESS")
B2ND, BARE, METALAYER, SLICES, SMALL_SLICES, ROWS_PROGRAM, DECOMPRESS, COMPRESS = (os.environ[name] for name in names)
IS_QUICK = "--quick" in sys.argv
MEBIBYTE = 1 << 20


# The harness.


def seconds(*command):
    """Runs a command, discards its output, and returns the seconds from its start to its end."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def printed(*command):
    """Runs a command that prints numbers, and returns a list of numbers for each line."""
    return [[float(number) for number in line.split()] for line in output(*command).splitlines()]


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def take_turns(contenders, rounds):
    """Returns the 10th percentile of the times for each name. A contender is a list of names, and a function that returns turns.

    A turn has the seconds for each name.
    """
    times = collections.defaultdict(list)
    for _ in range(rounds):
        for names, run in contenders:
            for turn in run():
                for name, taken in zip(names, turn):
                    times[name].append(taken)
    return {name: sorted(taken)[len(taken) // 10] for name, taken in times.items()}


def peak(*command):
    """Runs a command, and returns its peak memory in MiB, as text."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = None
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        # Right after its start, the process is still a copy of this Python process, whose memory must not count.
        if lines and Path(command[0]).name in status.splitlines()[0]:
            most = int(lines[0].split()[1])
        time.sleep(0.001)
    assert process.wait() == 0, command
    return f"{most / 1024:.1f}" if most else "not measured"


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def at_least(figure, goal, digits):
    """Formats a figure. It is in bold if it is less than its goal."""
    text = f"{figure:.{digits}f}"
    return f"**{text}**" if float(text) < goal else text


def ratio(taken, peer, goal=None):
    """Formats the ratio of two times. It is in bold if it is more than its goal."""
    mark = "**" if goal and round(taken / peer, 2) > goal else ""
    return f"{mark}{taken / peer:.2f}{mark}"


def conditions(*peers, more=()):
    """The machine and the versions, in one line."""
    try:
        information = Path("/proc/cpuinfo").read_text()
    except OSError:
        information = ""
    models = [line.split(": ", 1)[1] for line in information.splitlines() if line.startswith("model name")]
    parts = [
        datetime.now(timezone.utc).date().isoformat(),
        f"{models[0] if models else 'unknown processor'} with {os.cpu_count()} cores",
        output("rustc", "--version").split(" (")[0],
        f"Python {platform.python_version()}",
        *(f"{name} {importlib.metadata.version(package)}" for name, package in [("python-blosc2", "blosc2"), *((peer, peer) for peer in peers)]),
        *more,
    ]
    return f"\nMeasured {', '.join(parts)}.\n"


# The format.

RANKS = 1, 3, 8, 16
# The highest allowed ratios of our time to the time of the peer: one ratio for each rank in `RANKS`.
FORMAT_GOALS = {
    ("`to_slice`, struct with `Vec`s", "`b2nd_serialize_meta`"): (0.6, 0.6, 0.6, 0.6),
    ("`to_vec`, struct with `Vec`s", "`b2nd_serialize_meta`"): (1.54, 1.28, 1.01, 0.85),
    ("`from_slice`, arrays and `&str`", "`b2nd_deserialize_meta`"): (0.89, 0.84, 0.89, 0.9),
    ("`from_slice`, `Meta`", "`b2nd_deserialize_meta`"): (1.5, 1.2, 1.55, 1.25),
    ("`from_slice`, `Vec`s and `String`", "rmp-serde, from the same bytes"): (0.58, 0.53, 0.51, 0.51),
}

FORMAT = """\
## The format

`lab/run benchmarks metalayer`: ratios for 1, 3, 8 and 16 dimensions. The two take turns of some microseconds in one process; a figure is
the median of several processes.

"""

FORMAT_NOTES = """
`cannot`: rmp-serde reads the marker of 16 dimensions, `a0`, as a string. The bytes that it writes are not a valid B2ND metalayer.
The C functions allocate their output, or the dtype; their times include `free`.
"""


def metalayer(_):
    options, rounds = sys.argv[2:], collections.defaultdict(list)
    # Each round is a separate process, because the times depend on the memory layout of the process.
    for _ in range(1 if options else 5):
        for line in output(METALAYER, *options).splitlines():
            operation, against, rank, *figures = line.split("\t")
            rounds[operation, against, int(rank)].append(figures)
    rows = list(dict.fromkeys(key[:2] for key in rounds))
    assert options or FORMAT_GOALS.keys() <= set(rows)
    at_most = lambda goals: f"at most {' / '.join(map(str, goals if len(set(goals)) > 1 else goals[:1]))}"
    ratios = []
    for row in rows:
        goals = FORMAT_GOALS.get(row, [None] * len(RANKS))
        figures = [median_round(rounds[*row, rank]) for rank in RANKS]
        texts = [figure if isinstance(figure, str) else ratio(*figure, goal) for figure, goal in zip(figures, goals)]
        ratios.append((*row, "report" if None in goals else at_most(goals), *texts))
    ranks = "".join(f" | {rank}:" for rank in RANKS)
    lock = (Path(__file__).parents[1] / "Cargo.lock").read_text()
    version = lambda name: lock.split(f'name = "{name}"\nversion = "')[1].split('"')[0]
    crates = [f"{name} {version(name)}" for name in ("serde", "rmp-serde", "blosc2-pure-rs")]
    page = FORMAT + table(f"operation | against | goal{ranks}", ratios) + FORMAT_NOTES
    return page + conditions(more=[f"C-Blosc2 {blosc2.blosclib_version.split()[0]}", *crates])


def median_round(rounds):
    """The times of the round with the median ratio, or the reason why there are no times."""
    if len(rounds[0]) == 1:
        return rounds[0][0]
    times = [(float(ours), float(theirs)) for ours, theirs in rounds]
    return sorted(times, key=lambda taken: taken[0] / taken[1])[len(times) // 2]


# A listing.

LISTINGS = [["--json", "--unordered"], ["--json", "--unordered", "-j", "1"], ["--json"], ["--summary"], []]
# The goals of `b2nd ls`. Its files per second must be at least PYTHON_GOAL times those of python-blosc2, and at least
# BARE_GOAL times those of the bare loop (see `LS`). Its peak memory with --unordered must be at most MEMORY_GOAL MiB.
PYTHON_GOAL, BARE_GOAL, MEMORY_GOAL = 12, 0.6, 16
SHAPES = [(40,), (12, 9), (5, 6, 7), (2, 3, 4, 5)]
IN_A_FOLDER = 1000
# The default number of threads of `b2nd ls`.
THREADS = max(os.cpu_count(), 16)

LS = """\
## A listing

`lab/run benchmarks ls`: small files of python-blosc2 in folders of 1,000, in the page cache. `b2nd ls` is the whole process, with its
start and the walk through the folders; the others start with a list of paths. The bare loop is a Rust program that opens each file,
reads 512 bytes, and closes it, with as many threads. python-blosc2 is a loop over `blosc2.open(path).shape`, without Python's start.

"""

OTHERS = """
The same shapes in other formats, one array per file, in a running process; Zarr has one group with consolidated metadata:

"""


def make_files(folder, count, folders):
    """Makes files below the folder `0`, and hard links to them in further folders. Only the memory measurement needs these links."""
    for index in range(count):
        place = folder / "0" / f"{index // IN_A_FOLDER:03}"
        place.mkdir(parents=True, exist_ok=True)
        array = np.full(SHAPES[index % len(SHAPES)], index, "int32")
        blosc2.asarray(array, urlpath=str(place / f"{index:06}.b2nd"))
    for number in range(1, folders):
        shutil.copytree(folder / "0", folder / str(number), copy_function=os.link)


def check_listing(options, folder, count):
    """Checks that a listing has the shape of every file."""
    text = output(B2ND, "ls", *options, folder)
    shape = '"shape":[' if "--json" in options else "int32"
    told = int(text.split(" ")[0]) if "--summary" in options else sum(shape in line for line in text.splitlines())
    assert told == count, (options, told)


def shapes_of_others(folder, count):
    """For each format, a function that reads all shapes."""
    # These modules are imported here, because only this benchmark needs them and their imports take long.
    import h5py
    import pyarrow
    import pyarrow.parquet
    import zarr

    group = zarr.open_group(folder / "zarr", mode="w")
    paths = {kind: [str(folder / kind / f"{index}.{kind}") for index in range(count)] for kind in ("b2nd", "parquet", "h5")}
    for kind in paths:
        (folder / kind).mkdir()
    for index in range(count):
        array = np.full(SHAPES[index % len(SHAPES)], index, "int32")
        blosc2.asarray(array, urlpath=paths["b2nd"][index])
        # A Parquet table has no shape. Its rows stand for the first dimension, and the list in each row for all others.
        pyarrow.parquet.write_table(pyarrow.table({"items": list(array.reshape(len(array), -1))}), paths["parquet"][index])
        with h5py.File(paths["h5"][index], "w") as file:
            file["items"] = array
        group.create_array(str(index), data=array)
    zarr.consolidate_metadata(group.store)

    def hdf5():
        for path in paths["h5"]:
            with h5py.File(path) as file:
                yield file["items"].shape

    rows = lambda metadata: (metadata.num_rows,)
    return {
        "pyarrow, `read_metadata`": lambda: [rows(pyarrow.parquet.read_metadata(path)) for path in paths["parquet"]],
        "zarr, `open_consolidated`": lambda: [array.shape for _, array in zarr.open_consolidated(folder / "zarr").arrays()],
        "h5py, `File(path)[name].shape`": lambda: list(hdf5()),
        "python-blosc2, `open(path).shape`": lambda: [blosc2.open(path).shape for path in paths["b2nd"]],
    }


def beside_other_formats(folder, rounds):
    count = 20 if IS_QUICK else 2000
    folder.mkdir()
    others = shapes_of_others(folder, count)
    assert all(len(read()) == count for read in others.values())
    ours = "`b2nd ls --json --unordered`"
    contenders = [([ours], lambda: [[seconds(B2ND, "ls", "--json", "--unordered", folder / "b2nd")]])]
    contenders += [([name], lambda read=read: [[timed(read)]]) for name, read in others.items()]
    taken = take_turns(contenders, rounds)
    rows = [(name, f"{count / seconds:.0f}", f"{seconds / taken[ours]:.1f}") for name, seconds in taken.items()]
    return OTHERS + table(f"{count} arrays | arrays a second: | time to ours:", rows)


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
        goals = (PYTHON_GOAL, BARE_GOAL) if name.startswith("`b2nd") else (0, 0)
        ratios = at_least(speeds[key] / python, goals[0], 1), at_least(speeds[key] / speeds[threads], goals[1], 2)
        rows.append((name, threads, f"{speeds[key]:.0f}", *ratios))
    page = LS + table(f"{count} files | threads: | files a second: | to python-blosc2: | to the bare loop:", rows)
    rows = [("goal with `--unordered`", f"at most {MEMORY_GOAL}")]
    rows += [(command(options), peak(B2ND, "ls", *options, scratch)) for options in LISTINGS]
    page += "\n" + table(f"{count * folders} files | MiB at the peak:", rows)
    return page + beside_other_formats(scratch / "others", rounds) + conditions("pyarrow", "zarr", "h5py")


# Slices.

# The goals: the highest ratio of our time to that of python-blosc2, and the lowest speed-up with two threads.
SLICES_GOALS = {"ZSTD": 1.15, "LZ4": 0.7, "process": 0.5, "slice": 1.0}
THREADS_GOAL = 1.7
READ, READ_INTO = OURS_OF_SLICES = "`read`", "`read_into`"
LARGE_PAGES, SMALL_PAGES, INTO_BUFFER = THEIRS_OF_SLICES = "`a[...]`", "`a[...]`, small pages", "`get_slice_numpy`"

SLICES_TEXT = """\
## Slices

`lab/run benchmarks slices`: an array of 96 MB, float32, (24, 1000, 1000), compressed by python-blosc2 at level 5. Each call opens the
file anew. `read` allocates memory, as `a[...]` does; `read_into` and `get_slice_numpy` reuse a buffer. NumPy requests pages of 2 MiB,
Rust's allocator does not; with "small pages", NumPy does not either (`NUMPY_MADVISE_HUGEPAGE=0`).

"""


class Slices:
    """The Rust program that reads slices and prints how long each read takes. It runs until it is closed."""

    def __init__(self):
        self.process = subprocess.Popen([SLICES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, path, threads, ranges):
        print(path, threads, *(f"{start}:{stop}" for start, stop in ranges), sep="\t", file=self.process.stdin, flush=True)
        fresh, kept, total = self.process.stdout.readline().split()
        return float(fresh), float(kept), int(total)


def by_python_blosc2(path, threads, ranges, buffer):
    """The seconds to read into new memory with large pages, with small pages, and into the buffer. Also returns the sum of the bytes."""
    options = {"mode": "r", "dparams": {"nthreads": threads}}
    fresh = []
    for has_large_pages in (True, False):
        # This call sets at run time what the variable NUMPY_MADVISE_HUGEPAGE sets at the start of a process.
        np._core.multiarray._set_madvise_hugepage(has_large_pages)
        start = time.perf_counter()
        blosc2.open(path, **options)[tuple(slice(*pair) for pair in ranges)]
        fresh.append(time.perf_counter() - start)
    start = time.perf_counter()
    starts, stops = zip(*ranges)
    blosc2.open(path, **options).get_slice_numpy(buffer, (starts, stops))
    return *fresh, time.perf_counter() - start, int(buffer.view("u1").sum(dtype="u8"))


def in_both_languages(program, path, threads, ranges):
    """Returns a function for `take_turns`. In a turn, this project and python-blosc2 each read into new memory, and into a reused buffer."""
    buffer = np.empty([stop - start for start, stop in ranges], "f4")

    def run():
        *ours, total = program.read(path, threads, ranges)
        *theirs, expected = by_python_blosc2(path, threads, ranges, buffer)
        assert total == expected, path
        return [[*ours, *theirs]]

    return [*OURS_OF_SLICES, *THEIRS_OF_SLICES], run


def slices(scratch):
    rounds = 1 if IS_QUICK else 15
    items = np.round(np.cumsum(np.random.default_rng(1).normal(size=(24, 1000, 1000)), -1), 2).astype("f4")
    program, rows, speedups = Slices(), [], []
    whole = [(0, length) for length in items.shape]
    large, column = str(scratch / "large.b2nd"), str(scratch / "column.b2nd")
    blosc2.asarray(items[:6], chunks=(6, 1000, 1000), blocks=(1, 100, 100), urlpath=large)
    blosc2.asarray(items, chunks=(1, 1000, 1000), blocks=(1, 100, 100), urlpath=column)
    cases = [
        ("a block of a chunk of 24 MB", large, [(3, 4), (300, 400), (500, 600)], (1,), "slice"),
        ("a column through 24 chunks", column, [(0, 24), (300, 301), (500, 501)], (1,), "slice"),
    ]
    for codec in ("ZSTD", "LZ4"):
        path = str(scratch / f"{codec}.b2nd")
        blosc2.asarray(items, urlpath=path, cparams={"codec": getattr(blosc2.Codec, codec), "clevel": 5})
        cases.append((f"all 96 MB, {codec}", path, whole, (1, 2), codec))
    for name, path, ranges, several, goal in cases:
        taken = [take_turns([in_both_languages(program, path, threads, ranges)], rounds) for threads in several]
        for threads, times in zip(several, taken):
            pairs = (READ, LARGE_PAGES), (READ, SMALL_PAGES), (READ_INTO, INTO_BUFFER)
            ratios = (ratio(times[ours], times[theirs], SLICES_GOALS[goal]) for ours, theirs in pairs)
            ms = (f"{times[name] * 1e3:.2f}" for name in OURS_OF_SLICES)
            rows.append((name, threads, f"at most {SLICES_GOALS[goal]}", *ratios, " / ".join(ms)))
        if len(several) == 2:
            one, two = taken
            speedups.append((name, f"at least {THREADS_GOAL}", *(at_least(one[key] / two[key], THREADS_GOAL if key in OURS_OF_SLICES else 0, 2) for key in one)))
    processes = []
    for codec in ("ZSTD", "LZ4"):
        path = str(scratch / f"{codec}.b2nd")
        script = f"import blosc2, numpy, sys; numpy.save(sys.stdout.buffer, blosc2.open({path!r}, mode='r')[:])"
        contenders = [(["ours"], lambda: [[seconds(B2ND, "cat", "--npy", path)]]), (["theirs"], lambda: [[seconds(sys.executable, "-c", script)]])]
        times = take_turns(contenders, rounds)
        processes.append((codec, f"at most {SLICES_GOALS['process']}", ratio(times["ours"], times["theirs"], SLICES_GOALS["process"])))
    head = f"slice | threads: | goal: | {READ} / {LARGE_PAGES}: | {READ} / {SMALL_PAGES}: | {READ_INTO} / {INTO_BUFFER}: | ms of {READ} / {READ_INTO}:"
    page = SLICES_TEXT + table(head, rows)
    page += "\n" + table("the process `b2nd cat --npy`, to Python that does the same | goal: | ratio:", processes)
    page += "\n" + table(f"speed-up with two threads | goal: | {': | '.join([*OURS_OF_SLICES, *THEIRS_OF_SLICES])}:", speedups)
    count = 4 if IS_QUICK else 1000
    new = [str(scratch / name) for name in ("items.npy", "repacked.b2nd")]
    commands = [("`cat --npy` to a pipe", ["cat", "--npy"], []), ("`convert` to a NumPy file", ["convert"], new[:1]), ("`convert -j 2` to another array", ["convert", "-j", "2"], new[1:])]
    peaks = [(name, peak_on_cube(scratch, count, before, after)) for name, before, after in commands]
    head = f"{4 * count**3 / 1e9:.1f} GB, blocks of 64³ | MiB at the peak:"
    return page + "\n" + table(head, peaks) + conditions("numpy")


def peak_on_cube(scratch, length, before, after):
    """Returns the peak memory of a command that reads a cube. Every chunk of the cube is the same chunk of 64 MiB."""
    path = scratch / "cube.b2nd"
    if not path.exists():
        part = np.cumsum(np.random.default_rng(1).integers(0, 9, (256, 256, 256)), -1).astype("f4")
        cube = blosc2.zeros((length,) * 3, dtype="f4", chunks=(256,) * 3, blocks=(64,) * 3, urlpath=str(path))
        for corner in np.ndindex((-(-length // 256),) * 3):
            cut = tuple(slice(256 * x, min(256 * x + 256, length)) for x in corner)
            cube[cut] = np.ascontiguousarray(part[tuple(slice(0, s.stop - s.start) for s in cut)])
    return peak(B2ND, *before, path, *after)


# Small slices.

# The goals: the highest ratio of our time to that of python-blosc2, and the lowest speed of two threads with one array.
SMALL_GOAL, SHARED_GOAL = 1.1, 0.9

SMALL_TEXT = """\
## Small slices

`lab/run benchmarks small`: 1,000 random slices of an open array, in the page cache, into one buffer: `read_into` and `get_slice_numpy`,
each with one thread. The array has (4096, 4096) items in chunks of (512, 512) and blocks of (64, 64), compressed by python-blosc2 at
level 5. The times are processor time.

"""

SHARED_TEXT = """
Two threads with 1,000 slices each: their speed with one shared `Array`, to their speed with an `Array` for each thread.

"""

class SmallSlices:
    """The Rust program of small slices. It runs until it is closed."""

    def __init__(self):
        self.process = subprocess.Popen([SMALL_SLICES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self, how, path, slices):
        print(how, path, slices, sep="\t", file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def write_slices(path, corners, side):
    """Writes a file with the ranges of slices."""
    lines = ("\t".join(f"{start}:{start + side}" for start in corner) for corner in corners)
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def small(scratch):
    rounds, length = (1, 512) if IS_QUICK else (41, 4096)
    rng = np.random.default_rng(1)
    items = np.round(np.cumsum(rng.normal(size=(length, length)), -1), 2)
    program, rows, shared = SmallSlices(), [], []
    for codec in ("LZ4", "BLOSCLZ", "ZSTD"):
        for dtype in ("f4", "i2"):
            path = str(scratch / f"{codec}_{dtype}.b2nd")
            shapes = {"chunks": (512, 512), "blocks": (64, 64)}
            cparams = {"codec": getattr(blosc2.Codec, codec), "clevel": 5}
            blosc2.asarray(items.astype(dtype), urlpath=path, cparams=cparams, **shapes)
            array = blosc2.open(path, mode="r", dparams={"nthreads": 1})
            for side in (1, 64):
                corners = rng.integers(0, length - side + 1, (1000, 2)).tolist()
                few = write_slices(scratch / "few", corners, side)
                many = write_slices(scratch / "many", corners * 2, side)
                buffer, ends = np.empty((side, side), dtype), [[start + side for start in corner] for corner in corners]

                def theirs():
                    start = time.process_time()
                    for corner, end in zip(corners, ends):
                        array.get_slice_numpy(buffer, (corner, end))
                    return time.process_time() - start

                total = 0
                for corner, end in zip(corners, ends):
                    array.get_slice_numpy(buffer, (corner, end))
                    total += int(buffer.view("u1").sum(dtype="u8"))
                assert program.answer("sum", path, few) == total, path
                contenders = [(["ours"], lambda: [[program.answer("one", path, few)]]), (["theirs"], lambda: [[theirs()]])]
                times = take_turns(contenders, rounds)
                name = f"{codec}, {dtype}", "one item" if side == 1 else "64 x 64"
                us = f"{times['ours'] * 1e3:.1f} / {times['theirs'] * 1e3:.1f}"
                rows.append((*name, f"at most {SMALL_GOAL}", ratio(times["ours"], times["theirs"], SMALL_GOAL), us))
                contenders = [([how], lambda how=how: [[program.answer(how, path, many)]]) for how in ("shared", "apart")]
                times = take_turns(contenders, rounds)
                shared.append((*name, f"at least {SHARED_GOAL}", at_least(times["apart"] / times["shared"], SHARED_GOAL, 2)))
    page = SMALL_TEXT + table("array | slice | goal: | ratio: | µs of ours / theirs:", rows)
    page += SHARED_TEXT + table("array | slice | goal: | ratio:", shared)
    return page + conditions("numpy")


# Rows.

# The contenders of benches/src/rows.rs, in its order.
ROWS = ["read, `&str`", "by hand, `&str`", "read, `String`", "by hand, `String`", "csv, `String`", "written", "by hand, written"]

ROWS_TEXT = """\
## Rows

`lab/run benchmarks rows`: `Dtype::read_items` and `write_items` for structs of two float64, a uint32 and a text of 16 bytes. "By hand"
is a loop of `from_le_bytes` or `to_le_bytes` with the same structs, which also removes the padding of the text and checks its UTF-8. The
crate csv reads the same rows from text; NumPy's `tolist` makes tuples.

"""


def rows(scratch):
    rounds, count = (1, 20_000) if IS_QUICK else (10, 400_000)
    rng = np.random.default_rng(1)
    items = np.zeros(count, [("ra", "<f8"), ("dec", "<f8"), ("id", "<u4"), ("name", "S16")])
    items["ra"], items["dec"] = rng.uniform(0, 360, count), rng.uniform(-90, 90, count)
    items["id"] = rng.integers(0, 2**32, count)
    items["name"] = [b"HIP %d %s" % (number, b"abc"[: number % 4]) for number in rng.integers(0, 10**8, count)]
    binary, text = scratch / "rows.bin", scratch / "rows.csv"
    items.tofile(binary)
    text.write_text("ra,dec,id,name\n" + "".join(f"{ra!r},{dec!r},{number},{name.decode()}\n" for ra, dec, number, name in items.tolist()))
    turn = items[:2000]
    contenders = [(ROWS, lambda: printed(ROWS_PROGRAM, binary, text)), (["tolist"], lambda: [[timed(turn.tolist)] for _ in range(100)])]
    times = take_turns(contenders, rounds)
    nanoseconds = lambda name: f"{times[name] / len(turn) * 1e9:.1f}"
    row = lambda name, peer, goal=None: (name, peer, f"at most {goal}" if goal else "report", ratio(times[name], times[peer], goal), f"{nanoseconds(name)} / {nanoseconds(peer)}")
    table_rows = [row(ROWS[0], ROWS[1], 1.3), row(ROWS[2], ROWS[3], 1.3), row(ROWS[2], ROWS[4]), row(ROWS[2], "tolist"), row(ROWS[5], ROWS[6])]
    return ROWS_TEXT + table("operation | against | goal: | ratio: | ns a row, ours / theirs:", table_rows) + conditions("numpy", more=["csv 1.4"])


# Chunks.

COMMANDS = (["chunks", "--json"], ["check", "--chunks"], ["check", "--data"])

CHUNKS = """\
## Chunks

`lab/run benchmarks chunks`: frames of LZ4 chunks, in the page cache. python-blosc2 is a loop over `iterchunks_info`, which only reads
the header of each chunk; `b2nd` is the whole process. `chunks` also checks the header and prints a line, `check --chunks` also reads
the block offsets, and `check --data` decompresses every chunk. The figures are chunks a second; in brackets is the ratio to
python-blosc2.

"""


# Decompression.

# The goals: the highest ratio of our time to that of C-Blosc2.
DECOMPRESS_GOALS = {("ZSTD", "SHUFFLE"): 1.25, ("BLOSCLZ", "SHUFFLE"): 1.2, ("LZ4", "SHUFFLE"): 1.6, ("ZLIB", "SHUFFLE"): 1.6}
BITSHUFFLE_GOAL = 1.4

DECOMPRESS_TEXT = """\
## Decompression

`lab/run benchmarks decompress`: whole chunks of real arrays, at level 5, with one thread. `Decompressor::decompress_into` is compared
with `blosc2.decompress2(chunk, dst)`. The arrays are from scikit-image: the red channel of a stereo pair of photos (u1), the sum of its channels
(u2), its disparities (f4), and small pictures of faces (f8).

"""


def real_arrays():
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    pair = np.concatenate([skimage.io.imread(folder / f"motorcycle_{side}.png") for side in ("left", "right")])
    disparities = np.nan_to_num(np.load(folder / "motorcycle_disp.npz")["arr_0"]).astype("f4")
    return [np.ascontiguousarray(pair[..., 0]), pair.sum(-1).astype("u2"), disparities, np.load(folder / "lfw_subset.npy")]


def decompress(scratch):
    rounds, arrays = 1 if IS_QUICK else 25, real_arrays()
    program = subprocess.Popen([DECOMPRESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    blosc2.set_nthreads(1)
    path, rows = scratch / "chunk", []

    def both(chunk, data):
        print(path, file=program.stdin, flush=True)
        ours, total = program.stdout.readline().split()
        theirs = min(timed(lambda: blosc2.decompress2(chunk, dst=data)) for _ in range(2))
        assert int(total) == np.frombuffer(data, "u1").sum(dtype="u8")
        return [[float(ours), theirs]]

    for name in ("SHUFFLE", "BITSHUFFLE", "NOFILTER"):
        for codec in ("ZSTD", "BLOSCLZ", "LZ4", "ZLIB"):
            goal = BITSHUFFLE_GOAL if name == "BITSHUFFLE" else DECOMPRESS_GOALS.get((codec, name))
            cells = []
            for items in arrays:
                options = {"codec": getattr(blosc2.Codec, codec), "filters": [getattr(blosc2.Filter, name)], "clevel": 5, "nthreads": 1}
                chunk, data = blosc2.compress2(items, typesize=items.itemsize, **options), bytearray(items.nbytes)
                path.write_bytes(chunk)
                times = take_turns([(["ours", "theirs"], lambda: both(chunk, data))], rounds)
                cells.append(ratio(times["ours"], times["theirs"], goal))
            rows.append((codec.lower(), name.lower(), f"at most {goal}" if goal else "report", *cells))
    head = "codec | filter | goal | " + " | ".join(f"{items.dtype.str[1:]}, {items.nbytes / 1e6:.1f} MB:" for items in arrays)
    return DECOMPRESS_TEXT + table(head, rows) + conditions("numpy", "scikit-image")


# Compression.

# For each codec and level: the highest allowed ratios of our time and our size to those of C-Blosc2, if there are goals.
COMPRESS_GOALS = {
    "ZSTD": {1: (2, 1.06), 2: None, 3: None, 4: None, 5: (2, 1.05), 6: None, 7: None, 8: None, 9: None},
    "LZ4": {1: None, 5: (1.6, 1.03), 9: None},
    "BLOSCLZ": {1: None, 5: (1.5, 1.1), 9: None},
    "ZLIB": {1: None, 5: None, 9: None},
}

COMPRESS_TEXT = """\
## Compression

`lab/run benchmarks compress`: chunks of 4 MiB, with shuffle and one thread. `Compressor::compress_into` is compared with
`blosc2.compress2`: the ratio of processor times, then the ratio of sizes. The data is synthetic: a smooth field with noise (f4), a body in a CT
scan with noise (i2), and 40 labels in such a volume (i2).

"""


def made_arrays():
    """Makes three kinds of data, of 4 MiB each: a smooth field, something like a scan, and labels."""
    rng = np.random.default_rng(1)
    wave = np.sin(np.linspace(0, 20, 1024))[:, None] * np.cos(np.linspace(0, 9, 1024)) * 100
    shape = (32, 256, 256)
    z, y, x = np.ogrid[:32, :256, :256]
    scan = np.where(((y - 128) / 100) ** 2 + ((x - 128) / 90) ** 2 < 1, 40, -1000) + rng.normal(0, 12, shape)
    labels = np.zeros(shape, "i2")
    for number in range(1, 41):
        place = z - rng.integers(32), y - rng.integers(25, 230), x - rng.integers(25, 230)
        labels[np.broadcast_to(sum(part**2 for part in place) < rng.integers(5, 30) ** 2, shape)] = number
    return [(wave + rng.normal(0, 0.01, wave.shape)).astype("f4"), scan.round().astype("i2"), labels]


class Compress:
    """The Rust program that compresses a file of items, and prints how long it takes. It runs until it is closed."""

    def __init__(self, path):
        self.process, self.path = subprocess.Popen([COMPRESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True), path

    def both(self, items, codec, level, rounds, blocksize=0):
        """Compresses items with this project and python-blosc2. Returns two lists: the processor times and the sizes of both."""
        options = {"typesize": items.itemsize, "codec": codec, "clevel": level, "nthreads": 1, "blocksize": blocksize}
        sizes = {}
        items.tofile(self.path)

        def turn():
            print(codec.value, level, items.itemsize, blocksize, self.path, file=self.process.stdin, flush=True)
            ours, sizes["ours"] = map(float, self.process.stdout.readline().split())
            return [[ours, min(theirs() for _ in range(2))]]

        def theirs():
            start = time.thread_time()
            sizes["theirs"] = len(blosc2.compress2(items, **options))
            return time.thread_time() - start

        times = take_turns([(["ours", "theirs"], turn)], rounds)
        return [times["ours"], times["theirs"]], [sizes["ours"], sizes["theirs"]]


def compress(scratch):
    rounds, arrays, program, rows = 1 if IS_QUICK else 9, made_arrays(), Compress(scratch / "data"), []
    for name, goals in COMPRESS_GOALS.items():
        for level, goal in goals.items():
            # The highest level of zstd gets only one round, because it takes seconds.
            count = 1 if (name, level) == ("ZSTD", 9) else rounds
            cells = []
            for items in arrays:
                times, sizes = program.both(items, getattr(blosc2.Codec, name), level, count)
                of_time, of_size = goal or (None, None)
                cells.append(f"{ratio(*times, of_time)} / {ratio(*sizes, of_size)}")
            rows.append((name.lower(), level, "at most {} / {}".format(*goal) if goal else "report", *cells))
    return COMPRESS_TEXT + table("codec | level: | goal | field: | scan: | labels:", rows) + conditions("numpy")


# Arrays.

LEVELS_TEXT = """\
## Arrays at each level

`lab/run benchmarks levels`: arrays of 4 to 8 MB as `blosc2.asarray` stores them: zstd after shuffle, in python-blosc2's default chunks and
blocks, with one thread. `Compressor::compress_into` is compared with `blosc2.compress2`: the ratio of processor times, then the ratio of
sizes. The data is synthetic: labels of 25 smooth regions, a counter in steps of about 37, names such as `sample-00012/123`, a body in a CT scan with
noise, and a smooth field with noise.

"""
# The highest allowed ratios of time and size at each level.
LEVELS_GOALS = {1: (2, 1.05), 3: (2, 1.05), 5: (2, 1.05), 7: (2, 1.05), 9: (2, 1.15)}


def smooth(rng, shape, waves):
    """A sum of waves along all axes."""
    field = np.zeros(shape)
    for _ in range(6):
        frequencies, phases = rng.uniform(1, waves, len(shape)), rng.uniform(0, 6, len(shape))
        grids = np.ix_(*(np.sin(np.linspace(0, 6 * frequency, length) + phase) for length, frequency, phase in zip(shape, frequencies, phases)))
        field += np.prod(np.broadcast_arrays(*grids), axis=0)
    return field


def arrays_of_users():
    rng, shape, rows, columns = np.random.default_rng(1), (64, 256, 256), np.arange(256)[:, None], np.arange(256)
    field = smooth(rng, shape, 3)
    body = ((rows - 128) / 100) ** 2 + ((columns - 128) / 90) ** 2 < 1
    scan = np.where(body, 40 + 30 * smooth(rng, shape, 4), -1000) + rng.normal(0, 12, shape)
    return {
        "labels u1": np.digitize(field, np.linspace(field.min(), field.max(), 26)[1:-1]).astype("u1"),
        "counters i8": np.arange(1 << 20) * 37 + rng.integers(0, 3, 1 << 20),
        "text S24": np.array([f"sample-{number // 1000:05}/{number % 1000:03}" for number in range(200_000)], "S24"),
        "CT i2": scan.round().astype("i2"),
        "field f4": (100 * smooth(rng, (1024, 1024), 6) + rng.normal(0, 0.01, (1024, 1024))).astype("f4"),
    }


def levels(scratch):
    program, rows = Compress(scratch / "data"), []
    for name, items in arrays_of_users().items():
        cells = []
        for level, goal in LEVELS_GOALS.items():
            array = blosc2.asarray(items, cparams={"clevel": level, "nthreads": 1})
            # The items of a chunk are in the order of its blocks.
            chunk = np.frombuffer(array.schunk.decompress_chunk(0), items.dtype)
            rounds = 1 if IS_QUICK or level == 9 else 9
            times, sizes = program.both(chunk, blosc2.Codec.ZSTD, level, rounds, array.schunk.blocksize)
            cells.append(" / ".join(ratio(*pair, most) for pair, most in zip((times, sizes), goal)))
        rows.append((name, *cells))
    goals = ("goal: at most", *(f"{time} / {size}" for time, size in LEVELS_GOALS.values()))
    return LEVELS_TEXT + table(" | ".join(["level", *(f"{level}:" for level in LEVELS_GOALS)]), [goals, *rows]) + conditions("numpy")


def make_frame(path, count, length):
    """A contiguous frame of chunks of this length, which compress a little."""
    schunk = blosc2.SChunk(chunksize=length, contiguous=True, cparams={"typesize": 1, "codec": blosc2.Codec.LZ4, "nthreads": 1})
    rng = np.random.default_rng(1)
    for _ in range(2):
        schunk.append_data(rng.integers(0, 256, length // 2, "u1").tobytes() + bytes(length - length // 2))
    # python-blosc2 takes minutes to append a million chunks. So it makes only a small frame here. The large frame
    # has the header of the small frame with other sizes, the first chunk of the small frame many times, an
    # uncompressed index, and the trailer of the small frame.
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
        peaks = " / ".join(peak(B2ND, *command, *paths) for command in COMMANDS)
        python, *ours = times.values()
        speeds = (f"{files * count / taken:.0f} ({python / taken:.1f})" for taken in ours)
        rows.append((f"{files:,} of {count:,} chunks of {length:,} bytes", f"{files * count / python:.0f}", *speeds, peaks))
        shutil.rmtree(folder)
    commands = "".join(f" | `b2nd {' '.join(command)}`:" for command in COMMANDS)
    head = f"files | python-blosc2:{commands} | MiB of each at the peak:"
    return CHUNKS + table(head, rows) + conditions()


# A new frame.

# The highest allowed ratio of our time to that of the bare write. Rows with a sync have no goal, because a sync depends on the disk.
GOAL = 1.1
OURS = "`write_to` a file", "bare write into a file", "`create`, which syncs", "bare write, and a sync"
PEERS = "python-blosc2, `insert_chunk` with `urlpath`", "python-blosc2, `insert_chunk`, `to_cframe`, write"

WRITE = """\
## New frames

`lab/run benchmarks write`: `FrameWriter` writes a frame from ready-made chunks of incompressible data. The bare write puts the same
chunks one after another into a file, through a buffer of 64 KiB. python-blosc2 has one thread, and does not sync. Times relative to
the bare write:

"""


def insert(schunk, ready):
    for number, chunk in enumerate(ready):
        schunk.insert_chunk(number, chunk)
    return schunk


def by_python(ready, length, to):
    """Returns the seconds that python-blosc2 needs in two ways: it inserts chunks into a file, or into a frame in memory that it then writes."""
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


def write(scratch):
    arrays = [(1 << 10, 16), (1 << 16, 4), (1 << 22, 1)] if IS_QUICK else [(1 << 10, 1 << 12), (1 << 16, 1 << 8), (1 << 22, 1 << 2)]
    rounds, turns = (1, 1) if IS_QUICK else (4, 8)
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
        subprocess.run([B2ND, "check", "--data", file.with_suffix(".new")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    sizes = " | ".join(f"{count} of {length >> 10} KiB:" for length, count in arrays)
    rows = [(f"{OURS[0]}, to {OURS[1]}", f"at most {GOAL}", *(ratio(times[OURS[0]], times[OURS[1]], GOAL) for times in measured))]
    for name, bare in (OURS[2:], *((peer, OURS[1]) for peer in PEERS)):
        rows.append((f"{name}, to {bare}", "report", *(ratio(times[name], times[bare]) for times in measured)))
    return WRITE + table(f"chunks | goal | {sizes}", rows) + conditions()


def main(measure):
    # The files are on the disk of the project, because the usual folder of temporary files may be in memory.
    with tempfile.TemporaryDirectory(dir=Path(BARE).parent) as scratch:
        print(measure(Path(scratch)), end="")


sections = {
    "metalayer": metalayer,
    "ls": ls,
    "slices": slices,
    "small": small,
    "rows": rows,
    "chunks": chunks,
    "decompress": decompress,
    "compress": compress,
    "levels": levels,
    "write": write,
}
main(sections[sys.argv[1]])
