"""Write one small file or store of every kind that python-blosc2 knows.

    python kinds.py FOLDER

FOLDER must be empty, or not exist. For each file or store, the script prints a line of JSON. It has the path, the name of the object that
`blosc2.open` returns or of its exception, and the keys of a store, or the rows and columns of a table. Some objects are opened only if
`blosc2.open` is told to trust the file. For these, `refuses` is the kind of the object, and `full` is the answer if the file is trusted.
Needs blosc2 4.14.1, numpy and fsspec. The remote kinds read from fsspec's file system in memory, never from a network.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

import blosc2
import fsspec
import numpy as np

SMALL = np.arange(6, dtype="i4").reshape(2, 3)
NOWHERE = "https://example.invalid"  # a host that no resolver knows


@dataclasses.dataclass
class Plain:
    number: int = blosc2.field(blosc2.int32())
    ratio: float = blosc2.field(blosc2.float64())


@dataclasses.dataclass
class Rich:
    """One column of every storage form."""

    number: int = blosc2.field(blosc2.int64(nullable=True))
    flag: bool = blosc2.field(blosc2.bool())
    when: np.datetime64 = blosc2.field(blosc2.timestamp())
    name: str = blosc2.field(blosc2.string(max_length=4))
    raw: bytes = blosc2.field(blosc2.bytes(max_length=4))
    text: str = blosc2.field(blosc2.utf8())
    words: str = blosc2.field(blosc2.vlstring())
    blob: bytes = blosc2.field(blosc2.vlbytes())
    label: str = blosc2.field(blosc2.dictionary())
    tags: list[int] = blosc2.field(blosc2.list(blosc2.int32()))
    record: dict = blosc2.field(blosc2.struct({"a": blosc2.int32()}))
    thing: object = blosc2.field(blosc2.object())
    point: np.ndarray = blosc2.field(blosc2.ndarray((2,), dtype=np.float32))


RICH_ROWS = [
    (1, True, np.datetime64(1, "us"), "ab", b"ab", "one", "w", b"b", "x", [1, 2], {"a": 1}, 1, np.ones(2, "f4")),
    (None, False, np.datetime64(2, "us"), "cd", b"cd", "two", "v", b"c", "y", [], {"a": 2}, "t", np.ones(2, "f4")),
]


@blosc2.dsl_kernel
def twice(x):
    return x * 2


def once(inputs, output, offset):
    output[:] = inputs[0]


def plain_table():
    table = blosc2.CTable(Plain)
    table.extend([(1, 0.5), (2, 1.5), (3, 2.5)])
    return table


def rich_table():
    table = blosc2.CTable(Rich)
    for row in RICH_ROWS:
        table.append(row)
    return table


def carrier(path, meta, vlmeta):
    """An array without data of its own, as python-blosc2 writes for lazy and remote objects."""
    array = blosc2.empty((2, 3), dtype="i4", urlpath=path, mode="w", meta=meta)
    for name, value in vlmeta.items():
        array.schunk.vlmeta[name] = value


# --- plain frames ---------------------------------------------------------------------------------------------------


def ndarray(at):
    blosc2.asarray(SMALL, urlpath=at("ndarray.b2nd"), mode="w")
    blosc2.asarray(SMALL, urlpath=at("ndarray-sparse.b2nd"), mode="w", contiguous=False)
    blosc2.asarray(SMALL, urlpath=at("ndarray-own-metalayer.b2nd"), mode="w", meta={"mine": [1]})
    blosc2.empty((2, 0), dtype="i4", urlpath=at("ndarray-empty.b2nd"), mode="w")


def schunk(at):
    blosc2.SChunk(data=SMALL.tobytes(), chunksize=24, urlpath=at("schunk.b2frame"), mode="w")
    blosc2.SChunk(data=SMALL.tobytes(), chunksize=24, urlpath=at("schunk-sparse.b2frame"), mode="w", contiguous=False)
    blosc2.SChunk(data=b"", chunksize=24, urlpath=at("schunk-empty.b2frame"), mode="w")
    several = blosc2.SChunk(chunksize=-1, urlpath=at("schunk-variable.b2frame"), mode="w", cparams={"typesize": 1})
    for length in (3, 5, 2):
        several.append_data(bytes(length))


def tensor(at):
    blosc2.save_tensor(SMALL, at("tensor.b2frame"), mode="w")
    blosc2.save_array(SMALL, at("pickled-array.b2frame"), mode="w")


def caterva(at):
    """A frame with an array of Caterva. For C-Blosc2 3, it has chunks but no array."""
    meta = {"caterva": [0, 2, [2, 3], [2, 3], [2, 3]]}
    blosc2.SChunk(data=SMALL.tobytes(), chunksize=24, urlpath=at("caterva.b2frame"), mode="w", meta=meta)


def indexed(at):
    array = blosc2.asarray(np.arange(100, dtype="i4"), urlpath=at("ndarray-indexed.b2nd"), mode="w")
    array.create_index()


# --- objects in one frame ---------------------------------------------------------------------------------------------


def object_arrays(at):
    objects = blosc2.ObjectArray(urlpath=at("objectarray.b2frame"), mode="w", contiguous=True)
    objects.append({"a": 1})
    objects.append([1, "two"])
    batches = blosc2.BatchArray(urlpath=at("batcharray.b2b"), mode="w", contiguous=True)
    batches.append([{"a": 1}, 2, "three"])
    batches.append([4])
    for storage in ("batch", "vl"):
        spec = blosc2.list(blosc2.int32(), storage=storage)
        lists = blosc2.ListArray(spec=spec, urlpath=at(f"listarray-{storage}.b2b"), mode="w", contiguous=True)
        lists.extend([[1, 2], [], [3]])
        lists.flush()


def active_objects(at):
    """Frames that describe data in other files. python-blosc2 opens such a frame only if it is told to trust the file."""
    operand = blosc2.asarray(SMALL, urlpath=at("operand.b2nd"), mode="w")
    blosc2.lazyexpr("a + 1", {"a": operand}).save(urlpath=at("lazyexpr.b2nd"))
    blosc2.lazyudf(twice, (operand,), dtype="i4", shape=(2, 3)).save(urlpath=at("lazyudf.b2nd"))
    # python-blosc2 saves the function `once` in the older format `LazyArray`, because `once` lacks the decorator
    # `dsl_kernel` of python-blosc2.
    blosc2.lazyudf(once, (operand,), dtype="i4", shape=(2, 3)).save(urlpath=at("lazyarray-udf.b2nd"))
    # Releases of python-blosc2 that did not know the metalayer `b2o` wrote expressions in this form. Release 4.14.1
    # reads this form, but does not write it.
    old = {"expression": "o0 + 1", "UDF": None, "operands": {"o0": "operand.b2nd"}}
    carrier(at("lazyarray-expr.b2nd"), {"LazyArray": 0}, {"_LazyArray": old})
    # A C2Array connects to its server when it is made. So the file that `C2Array.save` would write is made by hand.
    reference = {"kind": "c2array", "version": 1, "path": "@public/a.b2nd", "urlbase": NOWHERE}
    carrier(at("c2array.b2nd"), {"b2o": {"kind": "c2array", "version": 1}}, {"b2o": reference})

    blosc2.Proxy(operand, urlpath=at("proxy.b2nd"), mode="w")
    chunks = blosc2.SChunk(data=SMALL.tobytes(), chunksize=24, urlpath=at("operand.b2frame"), mode="w")
    blosc2.Proxy(chunks, urlpath=at("proxy.b2frame"), mode="w")


# --- stores -----------------------------------------------------------------------------------------------------------


def embed_store(at):
    with blosc2.EmbedStore(urlpath=at("embedstore.b2e"), mode="w") as store:
        store["/a"] = SMALL
        store["/deep/b"] = blosc2.SChunk(data=b"abcdef", chunksize=6)
    with blosc2.EmbedStore(urlpath=at("embedstore-other-name.b2frame"), mode="w") as store:
        store["/a"] = SMALL
    with open(at("ctable-cframe.b2e"), "wb") as file:
        file.write(plain_table().to_cframe())


def dict_store(at):
    for name in ("dictstore.b2d", "dictstore.b2z", "dictstore-bare"):
        # Members smaller than the threshold are inside embed.b2e, the others in separate files.
        with blosc2.DictStore(at(name), mode="w", threshold=100) as store:
            store["/a"] = SMALL
            store["/deep/b"] = np.arange(100, dtype="i4")
    with blosc2.DictStore(at("dictstore-members.b2d"), mode="w") as store:
        store["/array"] = SMALL
        store["/chunks"] = blosc2.SChunk(data=b"abcdef", chunksize=6)
        objects = blosc2.ObjectArray()
        objects.append(1)
        store["/objects"] = objects
        batches = blosc2.BatchArray()
        batches.append([1, 2])
        store["/batches"] = batches


def tree_store(at):
    for name in ("treestore.b2d", "treestore.b2z"):
        with blosc2.TreeStore(at(name), mode="w") as store:
            store["/a"] = SMALL
            store["/group/b"] = SMALL
            store["/group/table"] = plain_table()
            store.attrs["title"] = "root"
            store.get_subtree("/group").attrs["title"] = "group"
            store.get_subtree("/nothing").attrs["title"] = "a group without leaves"


def ctable(at):
    for name in ("ctable.b2d", "ctable.b2z"):
        plain_table().save(at(name), overwrite=True)
    for name in ("ctable-rich.b2d", "ctable-rich.b2z"):
        table = rich_table()
        table.add_computed_column("double", "number * 2")
        table.attrs["title"] = "rich"
        table.save(at(name), overwrite=True)
    with blosc2.CTable(Plain, urlpath=at("ctable-deleted-rows.b2d"), mode="w") as table:
        table.extend([(n, n / 2) for n in range(10)])
        table.delete([1, 3])
    with blosc2.CTable(Plain, urlpath=at("ctable-indexed.b2d"), mode="w") as table:
        table.extend([(n, n / 2) for n in range(10)])
        table.create_index("number")


# --- data elsewhere ---------------------------------------------------------------------------------------------------


def remote(at):
    for name, address in ("ndarray.b2nd", "a.b2nd"), ("treestore.b2z", "t.b2z"), ("ctable.b2z", "c.b2z"):
        fsspec.filesystem("memory").pipe_file(f"/kinds/{address}", Path(at(name)).read_bytes())
    array = blosc2.RemoteArray("memory://kinds/a.b2nd", cache_policy=blosc2.CachePolicy.MEMORY)
    array[:]
    array.save(at("remotearray-warm.b2nd"))
    array.save(at("remotearray-cold.b2nd"), include_cache=False)

    cache = at("remotestore-cache")
    with blosc2.RemoteStore("memory://kinds/t.b2z", cache_dir=cache) as store:
        store["a"][:]
        store.save(at("remotestore.b2z"))
        with blosc2.TreeStore(at("treestore-remote-member.b2d"), mode="w") as tree:
            tree["/mount"] = store
    blosc2.RemoteCTable("memory://kinds/c.b2z").save(at("remotectable.b2z"))


MAKERS = (
    ndarray, schunk, tensor, caterva, indexed, object_arrays, active_objects,
    embed_store, dict_store, tree_store, ctable, remote,
)  # fmt: skip


def opened(path, **options):
    """The name of the type that `blosc2.open` returns, or of its exception, with the keys of a store, or the rows and
    columns of a table."""
    try:
        found = blosc2.open(path, mode="r", **options)
    except Exception as failure:
        return {"python": type(failure).__name__, "refuses": getattr(failure, "kind", None)}
    line = {"python": type(found).__name__}
    if isinstance(found, blosc2.CTable):
        line["rows"] = len(found)
        line["columns"] = list(found.col_names)
    elif hasattr(found, "keys"):
        line["keys"] = sorted(found.keys())
    return line


def entries(folder):
    """Every file and store in the folder, and every member of a store, as paths relative to it."""
    for parent, folders, files in sorted(os.walk(folder)):
        for name in sorted(folders + files):
            path = os.path.join(parent, name)
            if parent != folder and "sparse" in parent:
                continue
            if os.path.isdir(path) and not name.endswith((".b2d", ".b2nd", ".b2frame", "-bare")):
                continue
            if name.endswith((".lock", ".json")):
                continue
            yield os.path.relpath(path, folder)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        sys.exit(f"{folder} is not empty")
    os.chdir(folder)  # lazy objects record the paths of their operands, which should be relative
    for maker in MAKERS:
        maker(str)
    for path in entries("."):
        line = {"path": path, **opened(path)}
        if line["python"] == "UnsafeDeserializationError":
            line["full"] = opened(path, deserialize="full")
        print(json.dumps(line))


if __name__ == "__main__":
    main()
