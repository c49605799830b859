"""from_hdf5.py FILE.h5 NAME ARRAY.b2nd: writes an array with the chunks of the dataset, as they are."""

import sys

import blosc2
import h5py
import numpy

source, name, target = sys.argv[1:]
with h5py.File(source) as file:
    dataset = file[name]
    if list(dataset._filters) != ["32026"]:
        sys.exit(f"{name} must have the filter 32026 and no other, but has {list(dataset._filters)}")
    if dataset.fillvalue:
        sys.exit(f"{name} has the fill value {dataset.fillvalue}, but chunks that are not stored become zeros")
    stored = []
    dataset.id.chunk_iter(stored.append)
    array = None
    for chunk in stored:
        mask, frame = dataset.id.read_direct_chunk(chunk.chunk_offset)
        if mask:
            sys.exit(f"the chunk at {chunk.chunk_offset} was stored without the filter")
        part = blosc2.schunk_from_cframe(frame)
        # A dataset of one dimension has frames without a b2nd metalayer.
        blocks = part.meta["b2nd"][4] if "b2nd" in part.meta else [part.blocksize // part.typesize]
        if array is None:
            array = blosc2.zeros(
                dataset.shape, dataset.dtype, urlpath=target, chunks=dataset.chunks, blocks=blocks, cparams=part.cparams
            )
        if (list(array.blocks), array.schunk.chunksize, array.dtype.itemsize) != (list(blocks), part.nbytes, part.typesize):
            sys.exit(f"the chunk at {chunk.chunk_offset} does not fit: it has blocks {blocks} and {part.nbytes} bytes")
        position = [start // length for start, length in zip(chunk.chunk_offset, dataset.chunks)]
        grid = [-(-items // length) for items, length in zip(dataset.shape, dataset.chunks)]
        array.schunk.update_chunk(int(numpy.ravel_multi_index(position, grid)), part.get_chunk(0))
