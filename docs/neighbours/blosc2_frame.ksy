meta:
  id: blosc2_frame
  title: Blosc2 frame, with the metalayers and the array in it
  file-extension:
    - b2nd
    - b2frame
    - b2f
    - b2e
  license: MIT OR Apache-2.0
  endian: be
  bit-endian: be
doc: |
  A frame of Blosc2: a header with metalayers, chunks, a chunk index, and a trailer with vlmetalayers. An array has a
  metalayer `b2nd` (before 2023 `caterva`), which says its shape, chunk shape, block shape and dtype.

  Header, metalayers and trailer are MessagePack in which each value has a fixed width, and are described here with
  their markers. Of chunks the headers are described, and of the chunk index the entries if it is not compressed. Offsets count
  from the start of the frame, so a frame inside another file needs a stream of its own. A sparse frame is a directory; its
  file `chunks.b2frame` is described, and each of its other files is a chunk.

  What is checked here are markers and counts, not whether the numbers work together.
seq:
  - id: header
    type: header
instances:
  len_trailer:
    pos: header.len_frame - 22
    type: u4
  trailer:
    pos: header.len_frame - len_trailer
    size: len_trailer
    type: trailer
  is_sparse:
    value: header.flags.frame_type == frame_type::sparse
  ofs_chunk_index:
    value: 'header.len_header + (is_sparse ? 0 : header.cbytes)'
    doc: Not where the generation is older than the present one.
  chunk_index:
    pos: ofs_chunk_index
    type: chunk_index
    if: header.generation == generation::present and header.nbytes > 0
enums:
  generation:
    0x9c:
      id: beta1
      doc: C-Blosc2 2.0 beta 1
    0x9d:
      id: beta2
      doc: C-Blosc2 2.0 beta 2 to 5
    0x9e:
      id: present
      doc: C-Blosc2 2.0.0-rc1 and later
  frame_type:
    0: contiguous
    1: sparse
  codec:
    0: blosclz
    1: lz4
    2: lz4hc
    4: zlib
    5: zstd
    6: with_filters
  codec_format:
    0: blosclz
    1: lz4
    3: zlib
    4: zstd
    6: of_header
    7: of_frame
  special:
    0: none
    1: zeros
    2: nan
    3: value
    4: uninitialized
types:
  header:
    seq:
      - id: generation
        type: u1
        enum: generation
        valid:
          in-enum: true
        doc: Also the marker of an array of 12, 13 or 14 values.
      - id: magic
        contents: [0xa8, 'b2frame', 0]
      - id: marker_len_header
        contents: [0xd2]
      - id: len_header
        type: s4
        doc: With the metalayers.
      - id: marker_len_frame
        contents: [0xcf]
      - id: len_frame
        type: u8
      - id: marker_flags
        contents: [0xa4]
      - id: flags
        type: flags
      - id: marker_nbytes
        contents: [0xd3]
      - id: nbytes
        type: s8
        doc: The size of all chunks, decompressed.
      - id: marker_cbytes
        contents: [0xd3]
      - id: cbytes
        type: s8
        doc: The size of all chunks, as stored.
      - id: marker_typesize
        contents: [0xd2]
      - id: typesize
        type: s4
      - id: marker_blocksize
        contents: [0xd2]
        if: generation == generation::present
      - id: blocksize
        type: s4
        if: generation == generation::present
      - id: marker_chunksize
        contents: [0xd2]
      - id: chunksize
        type: s4
        doc: 0 if chunks have different sizes, and 0 or -1 where there are none.
      - id: marker_compression_threads
        contents: [0xd1]
      - id: compression_threads
        type: s2
      - id: marker_decompression_threads
        contents: [0xd1]
      - id: decompression_threads
        type: s2
      - id: has_vlmetalayers
        type: u1
        valid:
          any-of: [0xc2, 0xc3]
        doc: c3 is true.
      - id: marker_filters
        contents: [0xd8]
        if: generation != generation::beta1
      - id: filters
        type: filters
        if: generation != generation::beta1
      - id: metalayers
        type: metalayers
  flags:
    seq:
      - id: has_variable_blocks
        type: b1
      - id: has_variable_chunks
        type: b1
      - id: unknown
        type: b2
      - id: version
        type: b4
      - id: frame_type
        type: u1
        enum: frame_type
        doc: Without a meaning in generation beta1.
      - id: level
        type: b4
      - id: codec
        type: b4
        enum: codec
      - id: unused
        type: b6
      - id: split_mode
        type: b2
  filters:
    seq:
      - id: num_filters
        type: u1
        valid:
          max: 6
      - id: filters
        type: u1
        repeat: expr
        repeat-expr: 6
      - id: codec
        type: u1
        doc: If the flags say with_filters.
      - id: codec_meta
        type: u1
      - id: filters_meta
        type: u1
        repeat: expr
        repeat-expr: 6
      - id: more_flags
        type: u1
        doc: Bit 0 is set if chunks are compressed with a dictionary.
      - id: reserved
        type: u1
  metalayers:
    doc: |
      An index of names and offsets, then the contents. The offsets count from the start of the stream: of the frame in a
      header, of the trailer in a trailer.
    seq:
      - id: marker_array
        contents: [0x93]
      - id: marker_len_index
        contents: [0xcd]
      - id: len_index
        type: u2
        doc: |
          The size of the index, which ends before the list of contents. In a header it counts from the 93, in a trailer
          from the cd after it. Readers do not need it.
      - id: marker_index
        contents: [0xde]
      - id: num_metalayers
        type: u2
      - id: metalayers
        type: metalayer
        repeat: expr
        repeat-expr: num_metalayers
      - id: marker_contents
        type: u1
        doc: dc, which readers ignore.
      - id: num_contents
        type: u2
  metalayer:
    seq:
      - id: marker_name
        type: u1
        valid:
          min: 0xa0
          max: 0xbf
      - id: name
        size: marker_name & 0x1f
        type: str
        encoding: UTF-8
      - id: marker_ofs_content
        contents: [0xd2]
      - id: ofs_content
        type: s4
    instances:
      content:
        pos: ofs_content
        type: content
      array:
        pos: ofs_content + 5
        size: content.len_data
        type: array
        if: name == "b2nd" or name == "caterva"
  content:
    seq:
      - id: marker
        contents: [0xc6]
      - id: len_data
        type: u4
      - id: data
        size: len_data
  array:
    doc: |
      The metalayer of an array. The first byte and, after 96, the byte after the block shape tell the layout:

      - 97: seven entries; all releases since C-Blosc2 2.7.0
      - 96, then not db: the same seven entries, of some days of February 2023
      - 96, then db: six entries, without dtype_format, of the same days
      - 95: five entries, without a dtype; Caterva, and some days of January 2023
      - 93: three entries; Caterva 0.1

      Old bytes may follow.
    seq:
      - id: marker
        type: u1
        valid:
          any-of: [0x93, 0x95, 0x96, 0x97]
      - id: version
        type: u1
        if: marker != 0x93
        valid:
          max: 0x7f
      - id: num_dimensions
        type: u1
        valid:
          max: 16
      - id: shape
        type: vector
      - id: chunkshape
        type: vector
      - id: blockshape
        type: vector
        if: marker != 0x93
      - id: dtype_format
        type: u1
        if: has_dtype and not is_six
        valid:
          max: 0x7f
        doc: 0 is NumPy's syntax; no other is known.
      - id: marker_dtype
        contents: [0xdb]
        if: has_dtype
      - id: len_dtype
        type: u4
        if: has_dtype
      - id: dtype
        size: len_dtype
        type: str
        encoding: UTF-8
        if: has_dtype
    instances:
      is_of_caterva_010:
        value: marker == 0x93 and shape.dimensions[0].marker == 0xcf
      has_dtype:
        value: marker == 0x97 or marker == 0x96
      byte_after_blockshape:
        pos: _io.pos
        type: u1
      is_six:
        value: marker == 0x96 and byte_after_blockshape == 0xdb
  vector:
    seq:
      - id: marker
        type: u1
        valid: 0x90 + _parent.as<array>.num_dimensions
        doc: a0 for 16 dimensions, which is no array to an ordinary MessagePack reader.
      - id: dimensions
        type: dimension
        repeat: expr
        repeat-expr: _parent.as<array>.num_dimensions
  dimension:
    seq:
      - id: marker
        type: u1
        valid:
          any-of: [0xd3, 0xd2, 0xcf]
        doc: cf only in the first layout of Caterva 0.1, which wrote all integers in the byte order of the machine.
      - id: value
        type:
          switch-on: 'is_little_endian ? marker & 0x0f : marker'
          cases:
            0xd3: s8be
            0xd2: s4be
            0x0f: s8le
            0x02: s4le
    instances:
      is_little_endian:
        value: marker == 0xcf or marker == 0xd2 and _parent._parent.as<array>.is_of_caterva_010
  trailer:
    seq:
      - id: marker
        type: u1
        valid:
          any-of: [0x94, 0x0d]
      - id: version
        type: u1
      - id: vlmetalayers
        type: metalayers
        if: _root.header.generation == generation::present
        doc: Each content is a Blosc2 chunk, in which the value is MessagePack.
      - id: content
        type: content
        if: _root.header.generation != generation::present
    instances:
      marker_len:
        pos: _io.size - 23
        contents: [0xce]
      len:
        pos: _io.size - 22
        type: u4
      marker_fingerprint:
        pos: _io.size - 18
        contents: [0xd8]
      fingerprint:
        pos: _io.size - 17
        size: 17
        doc: Its kind, and 16 bytes that no writer has ever filled in.
  chunk_index:
    doc: A chunk in which each chunk of the frame has an int64 in little-endian.
    seq:
      - id: header
        type: chunk_header
      - id: entries
        type: chunk_index_entry
        repeat: expr
        repeat-expr: header.len_data / 8
        if: header.is_uncompressed
      - id: repeated_entry
        type: chunk_index_entry
        if: header.special == special::value
        doc: The entry of every chunk.
  chunk_index_entry:
    seq:
      - id: value
        type: s8le
        doc: |
          From 0 on, where the chunk begins, counted from the end of the header; in a sparse frame the number of its file,
          `%08X.chunk`. Otherwise the chunk is nowhere, and all its items have one value.
    instances:
      is_zeros:
        value: value < 0 and (value >> 56) & 1 == 1
      is_nan:
        value: value < 0 and not is_zeros and not is_uninitialized and (value >> 57) & 1 == 1
      is_uninitialized:
        value: value < 0 and not is_zeros and (value >> 58) & 1 == 1
      chunk:
        io: _root._io
        pos: _root.header.len_header + value
        type: chunk_header
        if: value >= 0 and not _root.is_sparse
  chunk_header:
    doc: Little-endian, unlike the frame.
    meta:
      endian: le
    seq:
      - id: version
        type: u1
      - id: codec_version
        type: u1
      - id: codec_format
        type: b3
        enum: codec_format
      - id: is_unsplit
        type: b1
      - id: has_delta
        type: b1
      - id: is_long_a
        type: b1
        doc: Both bits of is_long are set where the header has 32 bytes.
      - id: is_uncompressed
        type: b1
      - id: is_long_b
        type: b1
      - id: typesize
        type: u1
        doc: 1 where an item has more than 255 bytes.
      - id: len_data
        type: s4
        doc: Decompressed.
      - id: len_block
        type: s4
        doc: Decompressed; or the number of blocks, if they have different lengths.
      - id: len_chunk
        type: s4
        doc: With the header.
      - id: extension
        type: chunk_header_extension
        if: is_long
    instances:
      is_long:
        value: is_long_a and is_long_b
      special:
        value: 'is_long ? extension.special : special::none'
  chunk_header_extension:
    seq:
      - id: filters
        type: u1
        repeat: expr
        repeat-expr: 6
      - id: codec
        type: u1
        doc: If the format of the codec says of_header.
      - id: codec_meta
        type: u1
      - id: filters_meta
        type: u1
        repeat: expr
        repeat-expr: 6
      - id: unused_a
        type: b7
      - id: has_variable_blocks
        type: b1
      - id: unused_b
        type: b1
      - id: special
        type: b3
        enum: special
        doc: Whether all items have one value. A value of their own follows the header.
      - id: unused_c
        type: b3
      - id: has_dictionary
        type: b1
