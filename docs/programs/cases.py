"""cases.py FOLDER: lists the nnU-Net cases that lack a file, or whose image and labels differ in shape."""

import json
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
ENDINGS = [".b2nd", "_seg.b2nd", ".pkl"]
listed = subprocess.run(["b2nd", "ls", "--json", "--ext", "b2nd", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
arrays = [json.loads(line) for line in listed.stdout.splitlines()]
# A file that cannot be read has no shape; `b2nd check` names it.
shapes = {array["path"]: array.get("shape") for array in arrays}
wrong = 0
for case in sorted({path.removesuffix(".b2nd").removesuffix("_seg") for path in shapes}):
    missing = [ending for ending in ENDINGS if not pathlib.Path(case + ending).exists()]
    image, labels = shapes.get(case + ".b2nd"), shapes.get(case + "_seg.b2nd")
    if missing:
        print(f"{case}: there is no {' and no '.join(missing)}")
    elif image and labels and image[1:] != labels[1:]:
        print(f"{case}: the image has the shape {image}, the labels {labels}")
    else:
        continue
    wrong += 1
sys.exit(wrong > 0)
