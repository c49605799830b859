"""A pytest plugin that keeps a copy of every frame that python-blosc2's tests make.

The folder of the copies is B2ND_PEERS_KEEP_IN. A copy is named by the hash of its bytes, so equal frames are kept once: HASH.b2frame is a
contiguous frame, HASH.sparse is the folder of a sparse frame, and HASH.b2z is a store in a zip file. origins-PROCESS.tsv in the same
folder names the test that made each copy.

A frame is kept at each of these moments:

- when `to_cframe` is called: its result
- when an array or a super-chunk is freed: its file, or, if it has none, the result of `to_cframe`
- before a file or a folder is removed or replaced
- after each test: all files in the folders to which the test could write
"""

import functools
import hashlib
import os
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path

import blosc2
import pytest

KEEP_IN = Path(os.environ["B2ND_PEERS_KEEP_IN"])
MAGIC = b"b2frame\0"
HEADER_FILE = "chunks.b2frame"
# Larger frames are counted, but not kept.
LARGEST = 64 << 20

# Each process tests in its own folder, so no other process writes to the files that are kept.
tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp()

known_hashes = set()
known_files = set()
# `busy.is_set` is true while this thread keeps a frame. Keeping a frame can itself free another frame or remove a
# temporary file. Such a frame or file is not kept.
busy = threading.local()


def once(keep):
    """Wraps a function that keeps a frame. If it fails, the test goes on. If it is called while a frame is being kept, it does nothing."""

    @functools.wraps(keep)
    def quiet(*arguments):
        if getattr(busy, "is_set", False):
            return
        busy.is_set = True
        try:
            keep(*arguments)
        except Exception as error:
            note("failed", f"{keep.__name__}: {error!r}")
        finally:
            busy.is_set = False

    return quiet


def note(what, how):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    with (KEEP_IN / f"origins-{os.getpid()}.tsv").open("a") as origins:
        origins.write(f"{what}\t{how}\t{test}\n")


def keep_bytes(content, extension, how):
    """Keeps bytes, or the files of a folder as a dict of bytes."""
    files = content if isinstance(content, dict) else {"": content}
    hasher = hashlib.sha256(extension.encode())
    for name in sorted(files):
        hasher.update(f"{name}\0{len(files[name])}\0".encode())
        hasher.update(files[name])
    name = hasher.hexdigest()[:24]
    if name in known_hashes:
        return
    known_hashes.add(name)
    path = KEEP_IN / name[:2] / (name + extension)
    if sum(map(len, files.values())) > LARGEST:
        note("large", how)
        return
    if path.exists():
        return
    # The name of the partial file has the number of this process, because another process may keep the same frame at
    # this moment.
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.parent.mkdir(exist_ok=True)
    if isinstance(content, dict):
        partial.mkdir()
        for member, member_content in files.items():
            (partial / member).write_bytes(member_content)
    else:
        partial.write_bytes(content)
    try:
        partial.rename(path)
    except OSError:
        remove_tree(partial)
        return
    note(path.name, how)


def is_frame(content):
    return content[2:10] == MAGIC


def keep_path(path, how):
    """Keeps the frame of a file, or all frames in a folder."""
    path = Path(os.path.abspath(path))
    if path == KEEP_IN or KEEP_IN in path.parents:
        return
    if path.is_dir():
        if (path / HEADER_FILE).is_file():
            keep_sparse(path, how)
        for entry in path.iterdir():
            if not entry.is_symlink() and entry.name != HEADER_FILE and entry.suffix != ".chunk":
                keep_path(entry, how)
    elif path.is_file() and is_new(path):
        with path.open("rb") as file:
            start = file.read(10)
            if is_frame(start):
                keep_bytes(start + file.read(), ".b2frame", how)
            elif path.suffix == ".b2z" and zipfile.is_zipfile(path):
                keep_bytes(start + file.read(), ".b2z", how)


def keep_sparse(folder, how):
    files = [file for file in folder.iterdir() if file.name == HEADER_FILE or file.suffix == ".chunk"]
    # A list, not a generator: `is_new` must record every file.
    if any([is_new(file) for file in files]):
        content = {file.name: file.read_bytes() for file in files}
        if is_frame(content[HEADER_FILE]):
            keep_bytes(content, ".sparse", how)


def is_new(path):
    """Whether the file is new, or has changed since the last call. The file is recorded."""
    status = path.stat()
    key = (path, status.st_ino, status.st_mtime_ns, status.st_size)
    if key in known_files:
        return False
    known_files.add(key)
    return True


@once
def keep_file(path, how):
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if isinstance(path, (str, Path)) and "://" not in str(path) and os.path.exists(path):
        keep_path(path, how)


@once
def keep_result(result):
    if isinstance(result, bytes) and is_frame(result):
        keep_bytes(result, ".b2frame", "to_cframe")


@once
def keep_freed(owner, schunk):
    """Keeps an array or a super-chunk that is about to be freed."""
    if schunk.urlpath is None:
        keep_bytes(type(owner)._frame_before_peers(owner), ".b2frame", "freed")
    elif "://" not in schunk.urlpath and os.path.exists(schunk.urlpath):
        keep_path(schunk.urlpath, "freed")


def array_is_freed(self):
    if self.c_array:
        keep_freed(self, self.schunk)


def schunk_is_freed(self):
    # The super-chunk of an array is not kept here, because `array_is_freed` keeps it.
    if self.c_schunk and not getattr(self, "_belongs_to_array", True):
        keep_freed(self, self)


def wrap_frees():
    begin = blosc2.SChunk.__init__

    @functools.wraps(begin)
    def begin_and_note(self, *arguments, **options):
        self._belongs_to_array = bool(options.get("_is_view"))
        begin(self, *arguments, **options)

    blosc2.SChunk.__init__ = begin_and_note
    blosc2.SChunk.__del__ = schunk_is_freed
    blosc2.NDArray.__del__ = array_is_freed
    blosc2.SChunk._frame_before_peers = blosc2.SChunk.to_cframe
    blosc2.NDArray._frame_before_peers = blosc2.NDArray.to_cframe


def wrap_results():
    for kind in {kind for kind in vars(blosc2).values() if isinstance(kind, type)}:
        if "to_cframe" in vars(kind):
            kind.to_cframe = with_result_kept(kind.to_cframe)


def with_result_kept(make):
    @functools.wraps(make)
    def made(*arguments, **options):
        result = make(*arguments, **options)
        keep_result(result)
        return result

    return made


remove_tree = shutil.rmtree


def wrap_removals():
    def before(function, position=0):
        @functools.wraps(function)
        def kept(*arguments, **options):
            # With the option `dir_fd`, the path is relative to another folder than the current one, so the file is not
            # kept.
            if len(arguments) > position and options.get("dir_fd") is None:
                keep_file(arguments[position], function.__name__)
            return function(*arguments, **options)

        return kept

    blosc2.remove_urlpath = blosc2.core.remove_urlpath = before(blosc2.remove_urlpath)
    shutil.rmtree = before(shutil.rmtree)
    os.remove = before(os.remove)
    os.unlink = before(os.unlink)
    os.replace = before(os.replace, position=1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    """Keeps the frames of a test before the fixtures remove them."""
    keep_file(os.getcwd(), "after the test")
    keep_file(tempfile.gettempdir(), "after the test")
    if "tmp_path" in getattr(item, "funcargs", {}):
        keep_file(item.funcargs["tmp_path"], "after the test")


def pytest_sessionfinish(session):
    """Keeps the frames in folders that several tests share."""
    factory = getattr(session.config, "_tmp_path_factory", None)
    if factory is not None:
        keep_file(factory.getbasetemp(), "at the end")


wrap_frees()
wrap_results()
wrap_removals()
