"""Compares the values that the Kaitai Struct description reads with the output of `b2nd info`.

    compare.py B2ND MODULE_FOLDER PATH...

Exit status 1 if a value differs, or if one of the two reads a file that the other refuses.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

b2nd, modules, *paths = sys.argv[1:]
sys.path.insert(0, modules)
from blosc2_frame import Blosc2Frame  # noqa: E402, of the folder above
from kaitaistruct import KaitaiStructError  # noqa: E402

# If a frame has more chunks than this, its chunks are not compared, because Kaitai Struct makes an object for each
# chunk.
MOST_CHUNKS = 10_000

GENERATIONS = {0x9E: "present", 0x9D: "beta2", 0x9C: "beta1"}


counts = Counter()


def said(record):
    """The values of `b2nd info` that the description reads too."""
    names = "header_len", "frame_len", "typesize", "stored_nbytes", "cbytes", "clevel", "has_vlmetalayers"
    values = {name: record[name] for name in names}
    layers = record["metalayers"], record["vlmetalayers"] or []
    values["layers"] = [[(layer["name"], layer["offset"], layer["len"]) for layer in list] for list in layers]
    if record["metalayer"]:
        array = "version", "shape", "chunks", "blocks", "dtype_format", "dtype", "ndim"
        values |= {name: record[name] for name in array}
    return values


def read(frame):
    """The same values, as the Kaitai Struct description reads them."""
    header, trailer = frame.header, frame.trailer
    start = header.len_frame - frame.len_trailer
    trailer.marker_len, trailer.marker_fingerprint
    assert trailer.len == frame.len_trailer and len(trailer.fingerprint) == 17
    vlmetalayers = []
    if header.generation == Blosc2Frame.Generation.present:
        for layer in trailer.vlmetalayers.metalayers:
            vlmetalayers.append((layer.name, start + layer.ofs_content + 5, layer.content.len_data))
    values = {
        "header_len": header.len_header,
        "frame_len": header.len_frame,
        "typesize": header.typesize,
        "stored_nbytes": header.nbytes,
        "cbytes": header.cbytes,
        "clevel": header.flags.level,
        "has_vlmetalayers": header.has_vlmetalayers == 0xC3,
        "layers": [
            [(layer.name, layer.ofs_content + 5, layer.content.len_data) for layer in header.metalayers.metalayers],
            vlmetalayers,
        ],
    }
    arrays = {layer.name: layer.array for layer in header.metalayers.metalayers}
    array = arrays.get("b2nd") or arrays.get("caterva")
    if array:
        shape, chunks, blocks = (
            [dimension.value for dimension in vector.dimensions] if vector else None
            for vector in (array.shape, array.chunkshape, getattr(array, "blockshape", None))
        )
        values |= {"ndim": array.num_dimensions, "shape": shape, "chunks": chunks, "blocks": blocks}
        for name in ("version", "dtype_format", "dtype"):
            values[name] = getattr(array, name, None)
    return values


def said_of_chunks(record):
    """The output of `b2nd chunks` for each chunk of a frame with a readable index."""
    done = subprocess.run([b2nd, "chunks", "--json", record["address"]], stdout=subprocess.PIPE, encoding="utf-8")
    for line in done.stdout.splitlines():
        chunk = json.loads(line)
        if chunk["offset"] is None or record["container"] == "sframe":
            yield chunk["kind"] if chunk["offset"] is None else "file"
        else:
            yield chunk["offset"] - record["offset"], chunk["cbytes"], chunk["nbytes"], chunk["blocksize"]


def read_chunks(frame, nchunks):
    """The same values, as the Kaitai Struct description reads them; None if the index is compressed."""
    index = frame.chunk_index
    if index is None:
        return []
    if index.header.is_uncompressed:
        entries = index.entries
    elif index.header.special == Blosc2Frame.Special.value:
        entries = [index.repeated_entry] * nchunks
    else:
        return None
    chunks = []
    for entry in entries:
        if entry.chunk:
            chunk = entry.chunk
            has_size = not (chunk.is_long and chunk.extension.has_variable_blocks)
            place = frame.header.len_header + entry.value
            chunks.append((place, chunk.len_chunk, chunk.len_data, chunk.len_block if has_size else None))
        else:
            kinds = {"zeros": entry.is_zeros, "nan": entry.is_nan, "uninitialized": entry.is_uninitialized}
            chunks.append(next((kind for kind, holds in kinds.items() if holds), "file"))
    return chunks


def bytes_of(record):
    path = Path(record["path"])
    path = path / "chunks.b2frame" if path.is_dir() else path
    return path.read_bytes()[record["offset"] :]


def compare(record):
    """Returns the difference between `b2nd` and the Kaitai Struct description for a record, or None if they agree."""
    if "error" in record:
        return f"refused: {record['error']['kind']}"
    try:
        frame = Blosc2Frame.from_bytes(bytes_of(record))
        found = read(frame)
        is_readable = record.get("chunk_counts") and record["nchunks"] <= MOST_CHUNKS
        chunks = read_chunks(frame, record["nchunks"]) if is_readable else None
    except (KaitaiStructError, EOFError, UnicodeDecodeError) as error:
        return f"only b2nd reads it: {error}"
    expected = said(record)
    # If nbytes in the header contradicts the shape, `b2nd` gives null for it. Then this size is not compared.
    if expected["stored_nbytes"] is None:
        del expected["stored_nbytes"], found["stored_nbytes"]
    names = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
    if chunks is not None and chunks != (others := list(said_of_chunks(record))):
        return f"chunks are {chunks}, to b2nd {others}"
    counts["chunks"] += len(chunks or [])
    return "".join(f"{name} is {found.get(name)}, to b2nd {expected.get(name)}; " for name in names) or None


def main():
    done = subprocess.run([b2nd, "info", "--json", "--meta", *paths], stdout=subprocess.PIPE, encoding="utf-8")
    # The record of a store is left out, because it is not about a frame.
    records = [record for line in done.stdout.splitlines() if {"offset", "error"} & (record := json.loads(line)).keys()]
    faults = 0
    for record in records:
        difference = compare(record)
        if difference is None:
            counts[record.get("layout") or "no array"] += 1
        elif difference.startswith("refused"):
            counts[difference] += 1
        else:
            faults += 1
            print(f"{record['path']}:{record['member'] or ''}: {difference}")
    chunks = counts.pop("chunks", 0)
    print(f"{sum(counts.values())} frames and {chunks} chunks read by Kaitai Struct as by b2nd, {faults} not: {dict(counts)}")
    return 1 if faults or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
