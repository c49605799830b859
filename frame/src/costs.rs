//! The time and memory that each function takes. This module has documentation only.
//!
//! Time and memory are bounded by the length of the input, not by the sizes that the input claims. In an undamaged
//! frame, each byte is read a few times at most.
//!
//! In a hostile frame, all entries of the chunk index can point to the same bytes. A [`Check`](crate::Check) of chunks
//! must not read these bytes without end. So it stops when it has read twice the stored size of all chunks, and
//! [reports the skipped chunks](crate::Report::skipped). A read of a chunk header can also return bytes after the
//! header. The limit does not count these bytes. Together with them, a check reads at most 64 times the length of the
//! frame.
//!
//! Iterating over [`Frame::chunks`](crate::Frame::chunks) or [`Frame::dump_chunks`](crate::Frame::dump_chunks) takes a
//! step for each entry of the chunk index. In each step, a dump also reads the start of the chunk, even if many entries
//! point to the same chunk. A compressed chunk index may expand to 64 MiB or to 1024 times its size, whichever is
//! larger. If all entries are equal, the index stores their value once, so 40 bytes can describe up to 268 million
//! chunks. A check reads this value only once.
//!
//! The last column gives the memory in bytes that a function takes for each byte that it reads. In addition, each
//! function takes about 100 kB:
//!
//! | function | reads | memory per byte |
//! |---|---|---|
//! | [`from_slice`](crate::b2nd_serde::from_slice()), [`from_reader`](crate::b2nd_serde::from_reader()) | its input | 4, or the size of the value |
//! | [`dump::metalayer`](crate::b2nd_serde::dump::metalayer()), [`dump_header`](crate::dump_header()) | its input, up to the end of the header | 8 |
//! | [`Frame::dump_trailer`](crate::Frame::dump_trailer), [`Frame::dump_chunks`](crate::Frame::dump_chunks) | the trailer; the chunk index, and the header and block offsets of each chunk | 8; a page of at most 16 MiB |
//! | a [`Dtype`](crate::b2nd_serde::dtype::Dtype) | its text | 64 |
//! | [`Frame::parse`](crate::Frame::parse) | its input, up to the end of the header | 4 |
//! | [`Frame::open`](crate::Frame::open), [`read_at`](crate::Frame::read_at), [`open_stable`](crate::Frame::open_stable), [`edit`](crate::Frame::edit) | the header, of at most 64 MiB; `open_stable` reads the header again and again, until two reads agree and the array's metalayer fits the header, or until `patience` is over | 8 |
//! | [`Frame::trailer`](crate::Frame::trailer), [`Trailer::parse`](crate::Trailer::parse) | the trailer, of at most 256 MiB | 8 |
//! | [`Vlmetalayer::value`](crate::Vlmetalayer::value) | its chunk | if it is compressed: 1024 per byte, plus 1 MiB; at most 256 MiB in all |
//! | `decode` of a metalayer | the metalayer | the size of the value |
//! | a [`check`](crate::check()) | header, trailer, chunk index, names and headers of chunk files; up to 20 times if opened by a path | 8, plus 4 for each byte of the offsets in the chunk index; at most 64 MiB of offsets are kept |
//! | [`Frame::chunks`](crate::Frame::chunks), [`Frame::count_chunks`](crate::Frame::count_chunks) | the chunk index, page by page | a page of at most 16 MiB |
//! | [`Frame::unowned_bytes`](crate::Frame::unowned_bytes) | the chunk index, page by page, and the header of each chunk | 3, and a page of at most 16 MiB |
//! | [`Chunks::compressed`](crate::Chunks::compressed) | one chunk | 2 |
//! | `Chunks::decompressed` | one chunk | 1, and its decompressed size, at most 2 GiB |
//! | `Array::open` | as `Frame::open`; of a super-chunk also the trailer | as `Frame::open`. The array caches for later slices: at most 4 MiB of pages of the chunk index, 4 MiB of first bytes of chunks with their tables of blocks, and 16 MiB of memory for decompressing |
//! | `Array::slice` | the header, to notice a change of the file; the blocks of the slice and the tables of blocks, or whole chunks with a dictionary or the delta filter; a slice is refused if its chunks together have more bytes than the frame, or if two of them are in the same chunk file | the size of the slice, plus 20 per byte of a table of blocks and 32 for each chunk file, plus one decompressed block for each thread (a whole chunk if it has a dictionary or the delta filter). A decompressed block or chunk has at most 1024 bytes per stored byte, 64 MiB or the size of the slice, whichever is largest. The time grows with the decompressed size of the needed blocks |
//! | `Slice::plan` | nothing: you read the ranges | as `Array::slice`, and the bytes of a wave: at most 64 MiB, or one block or chunk that is longer |
//! | [`Check`](crate::Check) of [chunk headers](crate::CheckDepth::ChunkHeaders) | as a `check`, and the header and the table of blocks of each chunk | as a `check`, and 192 MiB in all |
//! | [`Check`](crate::Check) of [chunk data](crate::CheckDepth::ChunkData) | the whole frame, chunk by chunk | as for chunk headers, and for each thread one block of a chunk, or a whole chunk or vlmetalayer: 1024 per byte, or 64 MiB. With several threads, also the stored chunks that wait: two for each thread, but at most 64 MiB, plus one chunk. The time grows with the decompressed size |
//! | [`Store::open`](crate::Store::open) | the names in a folder or zip file, the list of keys in the data of the store, the trailers of tables | 16, and 16 MiB for the keys |
//! | [`Store::frame`](crate::Store::frame), `Store::array`, [`Store::attributes`](crate::Store::attributes) | the directory of a zip file; then as `Frame::open`, `Array::open` and `Frame::trailer` | as these functions, and for the directory as `zip_member`; for a frame in the data of the store as `EmbeddedFrames` |
//! | `EmbeddedFrames` | the list of keys, then the selected frame | 16 MiB for the keys, and one chunk: 1024 per byte, or 64 MiB |
//! | [`KnownRanges`](crate::KnownRanges) | nothing | 1, and about 100 for each range, until it is cleared |
//! | [`scan`](crate::scan()) | the file | 2 MiB in all |
//! | [`zip_members`](crate::zip_members()), [`zip_member`](crate::zip_member()) | the directory of the file, of at most 16 MiB, and headers of at most 1 MiB each, together at most 128 MiB | 16 for the directory, 2 for headers |
//! | [`ZipMember::check_bytes`](crate::ZipMember::check_bytes) | one member | 64 kB in all |
//! | [`Salvage`](crate::Salvage) | the whole file, chunk by chunk | 4 for header and trailer, 64 for each chunk of the array, a text for each range of lost or restored chunks, and as a `Check` of chunk data for one chunk |
//! | [`Edit::apply`](crate::Edit::apply) of a shape or dtype | header and trailer; if indexes become stale, also the chunk index | as `Frame::open` and `Frame::trailer`, each twice, and 1 MiB |
//! | `ArrayUpdate` | in each commit, header, chunk index and trailer; in the first commit, also the header of each chunk; in a write or resize, the chunks that it changes in part | 8 for header and trailer; 200 for each chunk of the array; the compressed bytes of the changed chunks until the commit, and decompressed chunks of at most 64 MiB or one chunk |
//! | [`Rewrite`](crate::Rewrite) | the whole frame, piece by piece | 8 for header and trailer; 8 for each chunk if the frame type changes; 9 for each chunk file of a sparse frame that is copied |
//!
//! A [`FrameWriter`](crate::FrameWriter) takes 8 bytes for each chunk, plus the size of the metalayers. This memory is
//! allocated in pages of 16 KiB, each for chunks with successive numbers. So a chunk whose number is far from the
//! numbers of the other written chunks takes a whole page.
