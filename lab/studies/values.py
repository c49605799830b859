"""How long slices take, beside python-blosc2, in turns and with as many threads.

    values.py [--quick]

Needs the command (B2ND) and the program `slices` (B2ND_SLICES), both built for release. Prints the medians, and their ratios.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import blosc2
import numpy as np

TIMES = 3 if "--quick" in sys.argv else 11
SLICES = subprocess.Popen([os.environ["B2ND_SLICES"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def rust(path, threads, index, shape):
    ranges = [f"{part.indices(length)[0]}:{part.indices(length)[1]}" for part, length in zip(index, shape)]
    print(path, threads, *ranges, sep="\t", file=SLICES.stdin, flush=True)
    seconds, total = SLICES.stdout.readline().split()
    return float(seconds), int(total)


def python(path, threads, index, shape):
    blosc2.nthreads = threads
    start = time.perf_counter()
    items = blosc2.open(path, mode="r", dparams={"nthreads": threads})[index]
    seconds = time.perf_counter() - start
    return seconds, int(items.view("u1").sum(dtype="u8"))


def turns(name, path, index, shape, threads):
    mine, theirs = [], []
    for _ in range(TIMES):
        seconds, total = rust(path, threads, index, shape)
        mine.append(seconds)
        seconds, expected = python(path, threads, index, shape)
        theirs.append(seconds)
        assert total == expected, name
    mine, theirs = statistics.median(mine), statistics.median(theirs)
    print(f"{name:44} {threads} threads {mine * 1e3:9.2f} ms  python {theirs * 1e3:9.2f} ms  ratio {mine / theirs:.2f}", flush=True)
    return mine


def processes(name, path, folder):
    script = f"import blosc2, numpy, sys; numpy.save(sys.stdout.buffer, blosc2.open({path!r}, mode='r')[:])"
    commands = [[os.environ["B2ND"], "cat", "--npy", path], [sys.executable, "-c", script]]
    times = [[], []]
    for _ in range(TIMES):
        for command, seconds in zip(commands, times):
            start = time.perf_counter()
            with open(os.path.join(folder, "items.npy"), "wb") as file:
                subprocess.run(command, stdout=file, check=True)
            seconds.append(time.perf_counter() - start)
    mine, theirs = (statistics.median(seconds) for seconds in times)
    print(f"{name:44} process   {mine * 1e3:9.2f} ms  python {theirs * 1e3:9.2f} ms  ratio {mine / theirs:.2f}", flush=True)


def memory(folder):
    """The most memory of the command for 4 GB in blocks of 64 x 64 x 64."""
    path = os.path.join(folder, "large.b2nd")
    array = blosc2.zeros((1000, 1000, 1000), dtype="f4", chunks=(256, 256, 256), blocks=(64, 64, 64), urlpath=path)
    part = np.cumsum(np.random.default_rng(1).integers(0, 9, (256, 256, 256)), -1).astype("f4")
    for corner in np.ndindex(4, 4, 4):
        cut = tuple(slice(256 * x, min(256 * x + 256, 1000)) for x in corner)
        array[cut] = part[tuple(slice(0, s.stop - s.start) for s in cut)]
    for name, options in (("to a pipe", ["--npy"]), ("with -o", ["-o", os.path.join(folder, "large.npy")])):
        start = time.perf_counter()
        child = subprocess.Popen([os.environ["B2ND"], "cat", *options, path], stdout=subprocess.PIPE)
        while child.stdout.read(1 << 20):
            pass
        _, status, usage = os.wait4(child.pid, 0)
        assert status == 0
        print(f"4 GB {name}: {usage.ru_maxrss / 1024:.0f} MiB, {time.perf_counter() - start:.1f} s", flush=True)


def main():
    rng = np.random.default_rng(1)
    items = np.round(np.cumsum(rng.normal(size=(24, 1000, 1000)), -1), 2).astype("f4")
    whole = (slice(None),) * 3
    with tempfile.TemporaryDirectory() as folder:
        for codec in ("ZSTD", "LZ4"):
            path = os.path.join(folder, f"{codec}.b2nd")
            blosc2.asarray(items, urlpath=path, cparams={"codec": getattr(blosc2.Codec, codec), "clevel": 5})
            one, two = (turns(f"96 MB, {codec}", path, whole, items.shape, threads) for threads in (1, 2))
            print(f"two threads: {one / two:.2f} times one")
            processes(f"96 MB, {codec}", path, folder)
        path = os.path.join(folder, "chunk.b2nd")
        blosc2.asarray(items[:6], chunks=(6, 1000, 1000), blocks=(1, 100, 100), urlpath=path)
        turns("a block of a chunk of 24 MB", path, (slice(3, 4), slice(300, 400), slice(500, 600)), (6, 1000, 1000), 1)
        path = os.path.join(folder, "column.b2nd")
        blosc2.asarray(items, chunks=(1, 1000, 1000), blocks=(1, 100, 100), urlpath=path)
        turns("a column through 24 chunks", path, (slice(None), slice(300, 301), slice(500, 501)), items.shape, 1)
        if "--quick" not in sys.argv:
            memory(folder)


main()
