"""Runs docs/TRAINING_SET.md, on files that nnU-Net, mlarray and med-blosc2 write themselves."""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

import recipe

recipe.install("mlarray==0.0.54", "med-blosc2==0.0.5")
# Only the writer of nnU-Net is used. nnU-Net is installed in its own folder, without its dependencies, because the writer needs none.
nnunet = recipe.ROOT / "target/lab/nnunet"
if not nnunet.exists():
    recipe.install("--no-deps", "--target", str(nnunet), "nnunetv2==2.8.1", "batchgenerators==0.25.5")
sys.path.append(str(nnunet))
folder = recipe.folder("training_set")

import blosc2
import numpy
from med_blosc2 import MedBlosc2
from mlarray import MLArray
from nnunetv2.training.dataloading.nnunet_dataset import nnUNetDatasetBlosc2, comp_blosc2_params

CASES = 24
PATCH = (40, 64, 64)
random = numpy.random.default_rng(1)


asarray = blosc2.asarray


def with_one_thread(items, *, cparams=None, **how):
    """Calls `asarray` as nnU-Net does, but with one thread. So each run has the same order of the blocks in a chunk, and the same messages."""
    return asarray(items, cparams=cparams and cparams | {"nthreads": 1}, **how)


blosc2.asarray = with_one_thread


def volume():
    """Something like a scan: a smooth field, and noise of 12 bits."""
    shape = random.integers((40, 80, 80), (64, 128, 128))
    field = sum(numpy.sin(numpy.linspace(0, 3 + axis, length)).reshape(-1, *(1,) * (2 - axis)) for axis, length in enumerate(shape))
    return numpy.round(field * 200 + random.normal(0, 8, shape)).astype("float32")


def save_case(path, data):
    """A case as nnU-Net's preprocessing saves it."""
    image, labels = data[None], (data[None] > 250).astype("int16")
    parameters = {}
    parameters["blocks"], parameters["chunks"] = comp_blosc2_params(image.shape, PATCH, image.itemsize)
    parameters["blocks_seg"], parameters["chunks_seg"] = comp_blosc2_params(labels.shape, PATCH, labels.itemsize)
    properties = {"spacing": [2.5, 0.8, 0.8], "shape_before_cropping": data.shape}
    nnUNetDatasetBlosc2.save_case(image, labels, properties, str(path), **parameters)


cases = folder / "set/nnUNetPlans_3d_fullres"
cases.mkdir(parents=True)
for case in range(CASES):
    save_case(cases / f"liver_{case:03}", volume())
other = folder / "set/other"
other.mkdir()
for case in range(4):
    MLArray(volume(), spacing=(2.5, 0.8, 0.8 + case / 10)).save(str(other / f"{case}.mla"))
    MedBlosc2(volume(), spacing=(5.0, 0.5, 0.5)).save(str(other / f"{case}.mb2nd"))
shutil.copytree("set", "whole")

# The last chunks of these labels are background, so they are chunks of zeros that are not stored. The check warns that
# such chunks may never have been written.
warned = subprocess.run("b2nd check whole", shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout.splitlines()
assert len(warned) == 9 and all("_seg.b2nd: warning: never-written" in line for line in warned), warned


def damage(name, change):
    path = pathlib.Path("set", name)
    path.write_bytes(change(path.read_bytes()))


def killed(case):
    """Runs nnU-Net's writer. The system ends it after some bytes, as if a disk quota were used up."""
    data = volume()
    for path in cases.glob(f"{case}*"):
        path.unlink()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        save_case(cases / case, numpy.tile(data, (1, 2, 2)))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGXFSZ


damage("nnUNetPlans_3d_fullres/liver_003.b2nd", lambda content: content[: len(content) // 2])
damage("nnUNetPlans_3d_fullres/liver_007_seg.b2nd", lambda _: b"")
damage("nnUNetPlans_3d_fullres/liver_011.b2nd", lambda content: bytes(len(content)))
damage("nnUNetPlans_3d_fullres/liver_014.b2nd", lambda content: content[:9000] + bytes(4096) + content[13096:])
killed("liver_017")
(cases / "liver_019_seg.b2nd").unlink()
shutil.copy(cases / "liver_021_seg.b2nd", cases / "liver_020_seg.b2nd")
damage("other/2.mla", lambda content: content[:5000])
damage("other/3.mla", lambda _: b"")


# Writes a small replacement for Slurm's `srun`, which runs a command once for each task. The command gets the number of
# tasks in `SLURM_NTASKS`, and the index of its task in `SLURM_PROCID`.
pathlib.Path("bin/srun").write_text("""#!/usr/bin/env bash
status=0
for ((task = 0; task < $2; task++)); do
    SLURM_NTASKS=$2 SLURM_PROCID=$task "${@:3}" || status=$?
done
exit $status
""")
pathlib.Path("bin/srun").chmod(0o755)

recipe.run("TRAINING_SET.md")

# Checks the message for each damaged file, also the messages that the page does not show.
found = subprocess.run("sh preflight.sh set --data", shell=True, stdout=subprocess.PIPE, text=True).stdout
for name, code in {
    "liver_003.b2nd": "truncated",
    "liver_007_seg.b2nd": "not-a-frame",
    "liver_011.b2nd": "not-a-frame",
    "liver_014.b2nd": "chunk-data",
    "liver_017.b2nd": "damaged-index",
    "2.mla": "truncated",
    "3.mla": "not-a-frame",
}.items():
    assert f"{name}: error: {code}: " in found, (name, found)
assert "liver_017: there is no _seg.b2nd and no .pkl" in found
spacings = [line.split("\t")[3] for line in pathlib.Path("spacing.tsv").read_text().splitlines()]
assert len(spacings) == CASES + 8 and spacings.count("[2.5, 0.8, 0.8]") == CASES + 1, spacings

# Other programs use the extension .mla for other formats. So in a folder, `check` skips an .mla file that is not a
# frame. But it reports an empty .mla file, because a writer that was stopped may have left it.
pathlib.Path("set/other/4.mla").write_bytes(b"not a frame")
in_folder = subprocess.run("b2nd check --ext mla set/other", shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
assert all(name in in_folder for name in ("2.mla", "3.mla")) and "4.mla" not in in_folder, in_folder

if "--quick" in sys.argv:
    sys.exit()

# Measures the processor time of `b2nd ls`, of each depth of `b2nd check`, and of python-blosc2 with one thread. The
# wall time would also depend on the number of cores and on the disk.
many = pathlib.Path("many")
for copy in range(20):
    shutil.copytree("whole", many / str(copy), copy_function=os.link)
paths = [path for path in many.rglob("*") if path.suffix in (".b2nd", ".mla", ".mb2nd")]
python = """python -c "
import blosc2, pathlib
blosc2.set_nthreads(1)
for path in pathlib.Path('many').rglob('*'):
    if path.suffix in ('.b2nd', '.mla', '.mb2nd'):
        blosc2.open(str(path), mode='r', mmap_mode='r', dparams={'nthreads': 1})%s" """
taken = {name: recipe.cpu_seconds(command) for name, command in {
    "b2nd ls": "b2nd ls many",
    "b2nd check": "b2nd check many",
    "b2nd check --chunks": "b2nd check --chunks many",
    "b2nd check --data": "b2nd check --data many",
    "python-blosc2 opens": python % "",
    "python-blosc2 reads": python % "[...]",
}.items()}  # fmt: skip
size = sum(path.stat().st_size for path in paths)
print(f"{len(paths)} files, {size >> 20} MiB:", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in taken.items()))
assert taken["python-blosc2 opens"] > taken["b2nd check"]
