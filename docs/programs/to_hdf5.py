"""to_hdf5.py ARRAY.b2nd FILE.h5 NAME: adds a dataset with the chunks of the array, as they are."""

import sys

import blosc2
import h5py
import hdf5plugin

source, target, name = sys.argv[1:]
array = blosc2.open(source, mode="r")
with h5py.File(target, "a") as file:
    # HDF5 allows chunks longer than the shape only in a dataset that can grow.
    dataset = file.create_dataset(
        name, array.shape, array.dtype, chunks=array.chunks, maxshape=(None,) * array.ndim, compression=hdf5plugin.Blosc2()
    )
    for chunk in array.iterchunks_info():
        if chunk.special in (blosc2.SpecialValue.ZERO, blosc2.SpecialValue.UNINIT):
            continue  # HDF5 stores nothing for it, and reads zeros.
        # The frame of a chunk: an array of one chunk, with the block shape and compression of the whole array.
        frame = blosc2.empty(array.chunks, array.dtype, chunks=array.chunks, blocks=array.blocks, cparams=array.cparams)
        frame.schunk.update_chunk(0, array.schunk.get_chunk(chunk.nchunk))
        start = tuple(position * length for position, length in zip(chunk.coords, array.chunks))
        dataset.id.write_direct_chunk(start, frame.to_cframe())
