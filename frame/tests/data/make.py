"""Writes the real files of this folder, and expected.json with the values in each of them.

    make.py blosc2     with blosc2==4.14.1  numpy==2.4.6
    make.py caterva    with caterva==0.7.3  numpy==1.26.4

`make` beside this script calls it both ways.
"""

import dataclasses
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"


def fresh(name):
    """Removes a file or folder if it exists, and returns its path."""
    path = HERE / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    return str(path)


def write_blosc2():
    import blosc2

    assert blosc2.__version__ == "4.14.1", blosc2.__version__
    long = np.dtype([(f"field_{i:03}", "<f8") for i in range(120)])
    arrays = {
        # The worked example of the draft specification.
        "int32_3x5.b2nd": (np.arange(15, dtype="<i4").reshape(3, 5), (2, 3), (1, 2)),
        "scalar.b2nd": (np.array(3.5), (), ()),
        "empty.b2nd": (np.zeros((0, 4), "<u2"), (0, 4), (0, 4)),
        "struct_non_ascii.b2nd": (np.zeros(5, [("größe", "<f4"), ("名前", "<U3")]), (4,), (2,)),
        "struct_long.b2nd": (np.zeros(2, long), (2,), (1,)),
        "rank16.b2nd": (np.arange(4, dtype="|u1").reshape((2,) * 2 + (1,) * 14), (1, 2) + (1,) * 14, (1,) * 16),
        "sparse.b2nd": (np.arange(48, dtype=">u2").reshape(6, 8), (4, 5), (2, 3)),
    }
    expected = {}
    for name, (values, chunks, blocks) in arrays.items():
        options = {"contiguous": False} if name == "sparse.b2nd" else {}
        array = blosc2.asarray(values, chunks=chunks, blocks=blocks, urlpath=fresh(name), **options)
        expected[name] = entry("b2nd", values.shape, array.chunks, array.blocks, dtype_text(values.dtype))

    # An array with another metalayer, and with vlmetalayers. One of these is so short that it is stored without compression.
    name, values = "vlmetalayers.b2nd", np.arange(6.0)
    options = {"chunks": (4,), "blocks": (2,), "urlpath": fresh(name), "meta": {"vendor": {"serial": 7, "tags": ["a", "b"]}}}
    array = blosc2.asarray(values, **options)
    array.schunk.vlmeta["unit"] = "kelvin"
    array.schunk.vlmeta["note"] = "x" * 1000
    expected[name] = entry("b2nd", values.shape, array.chunks, array.blocks, "<f8")

    same_bytes_again()
    write_tree(fresh("tree.b2z"))
    write_table(fresh("table.b2z"))
    write_nested(fresh("nested.b2z"))
    write_indexed(Path(fresh("indexed")))
    return expected


def same_bytes_again():
    """Gives all members of zip files the same date, so that a second run writes the same bytes."""
    from_file = zipfile.ZipInfo.from_file.__func__

    def undated(cls, *arguments, **options):
        info = from_file(cls, *arguments, **options)
        info.date_time = (1980, 1, 1, 0, 0, 0)
        info.external_attr = 0o644 << 16
        return info

    zipfile.ZipInfo.from_file = classmethod(undated)


def write_tree(path):
    """A zip file of arrays."""
    import blosc2

    with blosc2.TreeStore(path, mode="w") as tree:
        tree["/group/small"] = np.arange(4, dtype="<i4")
        tree["/group/large"] = blosc2.asarray(np.arange(48).reshape(6, 8), chunks=(4, 5), blocks=(2, 3))


def write_table(path):
    """A zip file of columns."""
    import blosc2

    row = [("number", int, blosc2.field(blosc2.int32())), ("name", str, blosc2.field(blosc2.string(max_length=4)))]
    table = blosc2.CTable(dataclasses.make_dataclass("Row", row))
    table.extend([(1, "one"), (2, "two"), (3, "four")])
    table.save(path)


def write_nested(path):
    """A zip file with a table and other objects. One of the columns of the table is computed."""
    import blosc2

    row = [("number", int, blosc2.field(blosc2.int32())), ("ratio", float, blosc2.field(blosc2.float64()))]
    table = blosc2.CTable(dataclasses.make_dataclass("Row", row))
    table.extend([(1, 0.5), (2, 1.5), (3, 2.5)])
    table.add_computed_column("double", "number * 2")
    objects = blosc2.ObjectArray()
    objects.append("one")
    with blosc2.TreeStore(path, mode="w") as tree:
        tree["/array"] = np.arange(6, dtype="<i2").reshape(2, 3)
        tree["/group/table"] = table
        tree["/group/objects"] = objects


def write_indexed(folder):
    """An array with two indexes, and two tables: one with an index, one with a generated column. The files of the indexes are removed."""
    import blosc2

    folder.mkdir()
    fields = np.zeros(100, [("a", "<f8"), ("b", "<i8")])
    fields["a"], fields["b"] = np.arange(100)[::-1], np.arange(100)
    # The descriptors have the path as it is given, so it must not depend on the machine.
    os.chdir(folder)
    array = blosc2.asarray(fields, chunks=(50,), blocks=(10,), urlpath="array.b2nd")
    array.create_index("a", kind=blosc2.IndexKind.SUMMARY)
    array.create_index("b", kind=blosc2.IndexKind.PARTIAL)
    row = dataclasses.make_dataclass("Row", [("x", float, blosc2.field(blosc2.float64()))])
    for name, has_index in {"table": True, "generated": False}.items():
        with blosc2.CTable(row, urlpath=f"{name}.b2d", mode="w", expected_size=100, create_summary_index=has_index) as table:
            table.extend([(number,) for number in range(100)])
            if not has_index:
                table.add_generated_column("double", values=lambda columns: columns["x"] * 2)
        for file in ["_meta.b2f", "_cols/x.b2nd"]:
            (folder / name / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(f"{name}.b2d/{file}", folder / name / file)
        shutil.rmtree(f"{name}.b2d")
    for file in folder.glob("array.__index__*"):
        file.unlink()


def dtype_text(dtype):
    return str(dtype) if dtype.names else dtype.str


def write_caterva():
    import caterva

    assert caterva.__version__ == "0.7.3", caterva.__version__
    values = np.arange(48, dtype="<u2").reshape(6, 8)
    expected = {}

    def write(name, values, chunks, blocks, contiguous=True):
        array = caterva.asarray(values, chunks=chunks, blocks=blocks, urlpath=fresh(name), contiguous=contiguous)
        expected[name] = entry("caterva", values.shape, array.chunks, array.blocks, None)
        return array

    write("uint16_6x8.caterva", values, (4, 5), (2, 3))
    write("sparse.caterva", values, (4, 5), (2, 3), contiguous=False)
    write("rank8.caterva", np.arange(16.0).reshape((2, 1) * 4), (2, 1) * 4, (1,) * 8)

    # `squeeze` shortens the metalayer in place, and leaves 38 old bytes after it.
    squeezed = write("squeezed.caterva", values.reshape(6, 1, 8, 1), (4, 1, 5, 1), (2, 1, 3, 1))
    squeezed.squeeze()
    expected["squeezed.caterva"] = entry("caterva", (6, 8), (4, 5), (2, 3), None) | {"stale": 38}
    return expected


def entry(layout, shape, chunks, blocks, dtype):
    return {
        "layout": layout,
        "shape": list(shape),
        "chunkshape": list(chunks),
        "blockshape": list(blocks),
        "dtype": dtype,
        "stale": 0,
    }


if __name__ == "__main__":
    written = {"blosc2": write_blosc2, "caterva": write_caterva}[sys.argv[1]]()
    known = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    known.update(written)
    lines = [f"  {json.dumps(name)}: {json.dumps(what, ensure_ascii=False)}" for name, what in sorted(known.items())]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
