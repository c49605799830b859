"""references.py PATH...: prints a reference file with the file, offset and length of each chunk, for Zarr."""

import json
import pathlib
import subprocess
import sys


def b2nd(*command):
    lines = subprocess.run(["b2nd", *command], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


references = {".zgroup": '{"zarr_format": 2}'}
for array in b2nd("ls", "--json", *sys.argv[1:]):
    if "chunks" not in array:
        continue  # This line is about a store; the lines of its arrays follow.
    name = pathlib.Path(array["member"] or array["path"]).stem
    if f"{name}/.zarray" in references:
        sys.exit(f"{array['address']}: there is another array of the name {name}")
    layout = {"id": "b2nd", "chunks": array["chunks"], "blocks": array["blocks"]}
    references[f"{name}/.zarray"] = json.dumps(
        {"zarr_format": 2, "shape": array["shape"], "chunks": array["chunks"], "dtype": array["dtype"]}
        | {"compressor": layout, "filters": None, "fill_value": None, "order": "C"}
    )
    references[f"{name}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": [f"{name}_{axis}" for axis in range(array["ndim"])]})
    for chunk in b2nd("chunks", "--json", array["address"]):
        if chunk["kind"] in ("zeros", "uninitialized"):
            continue  # Zarr reads zeros where there is no reference.
        if not chunk["cbytes"]:
            sys.exit(f"{array['address']}: chunk {chunk['chunk']} of kind {chunk['kind']} has no bytes to refer to")
        key = ".".join(map(str, chunk["coordinate"]))
        file = chunk["file"] if "://" in chunk["file"] else str(pathlib.Path(chunk["file"]).absolute())
        references[f"{name}/{key}"] = [file, chunk["offset"], chunk["cbytes"]]
json.dump({"version": 1, "refs": references}, sys.stdout)
