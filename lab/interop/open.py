"""Opens arrays with python-blosc2, reads all their data, and prints what it sees as JSON."""

import json
import sys

import blosc2


def see(path):
    array = blosc2.open(path, mode="r")
    assert array[...].shape == array.shape
    dtype = array.dtype
    return {
        "shape": list(array.shape),
        "chunks": list(array.chunks),
        "blocks": list(array.blocks),
        "dtype": str(dtype) if dtype.names else dtype.str,
    }


print(json.dumps([see(path) for path in sys.argv[1:]]))
