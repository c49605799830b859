"""b2nd info --json FILE... | python spacing.py: prints the file, shape, dtype and spacing of each image.

Only for files that you trust: nnU-Net and mlarray keep pickles, which can run any program when they are opened."""

import gzip
import json
import pathlib
import pickle
import sys

for line in sys.stdin:
    array = json.loads(line)
    values = {layer["name"]: layer.get("value") for layer in array["metalayers"] + array["vlmetalayers"]}
    properties = pathlib.Path(array["path"]).with_suffix(".pkl")
    if "mlarray" in values:
        content = gzip.decompress(bytes.fromhex(values["mlarray"].removeprefix("bytes:")))
        spacing = pickle.loads(content)["spatial"]["spacing"]
    elif "med_blosc2" in values:
        spacing = values["med_blosc2"]["spatial"]["spacing"]
    elif properties.exists():
        spacing = pickle.loads(properties.read_bytes())["spacing"]
    else:
        continue
    print(array["path"], array["shape"], array["dtype"], spacing, sep="\t")
