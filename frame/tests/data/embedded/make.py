"""Writes stores with arrays in their data: one in a single file, and a tree whose small arrays are in `embed.b2e`.

    pip install blosc2==4.14.1 && python make.py

The zip file records the time, so its bytes differ in each run.
"""

import blosc2
import numpy as np

# The chunks of this store are shorter than the frames in its data.
with blosc2.EmbedStore("store.b2e", mode="w", chunksize=256) as store:
    store["/z/numbers"] = np.arange(300, dtype="<i4").reshape(20, 15)
    store["/gone"] = np.zeros(4)
    del store["/gone"]
    store["/chunks"] = blosc2.SChunk(chunksize=32, data=b"abcd" * 20)
    noted = blosc2.asarray(np.arange(10).reshape(5, 2))
    noted.schunk.vlmeta["unit"] = "kelvin"
    store["/noted"] = noted
    # The entry of an array on a server is written by hand, because blosc2 would have to connect to the server.
    store._embed_map["/far"] = {"urlbase": "https://cat2.cloud/demo", "path": "@public/examples/ds-1d.b2nd"}
    store._save_metadata()

with blosc2.TreeStore("tree.b2z", mode="w", threshold=1000) as tree:
    tree["/small"] = np.arange(5, dtype="<i2")
    tree["/group/small"] = np.arange(7, dtype="<f4")
    tree["/group/large"] = np.arange(1000, dtype="<i4")
