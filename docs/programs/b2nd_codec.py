"""The Zarr codec `b2nd`. Import it before an array is opened."""

import blosc2
import numpy
from numcodecs import abc, compat, registry


class B2nd(abc.Codec):
    codec_id = "b2nd"

    def __init__(self, chunks, blocks):
        self.chunks, self.blocks = chunks, blocks

    def decode(self, buf, out=None):
        grid = [-(-items // block) for items, block in zip(self.chunks, self.blocks)]
        axes = [axis + side for axis in range(len(grid)) for side in (0, len(grid))]
        items = numpy.frombuffer(blosc2.decompress2(buf), "u1").reshape(*grid, *self.blocks, -1)
        padded = items.transpose(*axes, len(axes)).reshape(*(count * block for count, block in zip(grid, self.blocks)), -1)
        return compat.ndarray_copy(numpy.ascontiguousarray(padded[tuple(map(slice, self.chunks))]), out)

    def encode(self, buf):
        raise NotImplementedError("the chunks are in the b2nd file")


registry.register_codec(B2nd)
