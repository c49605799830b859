//! Recipes for common tasks. This module has documentation only.
//!
//! **Items:** [a slice, or the whole array](#a-slice-or-the-whole-array),
//! [an array of `save_array`](#an-array-of-save_array), [many threads](#one-array-for-many-threads),
//! [a changing array](#follow-an-array-that-another-program-changes), [a slice by HTTP](#a-slice-by-http),
//! [rows as structs](#rows-as-structs), [a large array](#an-array-that-does-not-fit-in-memory),
//! [the bytes of an item](#which-bytes-hold-item-i-j-k),
//! [the chunks of a slice](#the-chunks-of-a-slice-for-another-decompressor).
//!
//! **Writing:** [a new file](#a-new-array-file), [by regions](#an-array-by-regions), [append](#append-to-an-array),
//! [change items](#change-items), [repack](#repack-other-chunks-or-another-codec),
//! [finished chunks](#a-file-of-finished-chunks), [another shape](#change-a-shape-in-place),
//! [a Caterva file](#convert-a-caterva-file), [a damaged file](#save-a-damaged-file).
//!
//! **Files:** [an array file](#the-array-in-a-file), [a zip](#a-member-of-a-zip-or-b2z), [HDF5](#a-chunk-in-hdf5),
//! [a server](#the-first-bytes-from-a-server), [an unfinished file](#detect-an-unfinished-file).
//!
//! **The metalayer:** [your own struct](#your-own-struct), [only the shape](#only-the-shape),
//! [borrowed](#without-copying), [all layouts](#one-struct-for-all-layouts),
//! [`no_std`](#without-std-or-an-allocator), [JSON](#json-and-back), [the dtype](#the-meaning-of-the-dtype),
//! [each byte](#the-meaning-of-each-byte).
//!
//! The folder `examples` has whole programs. Some of them read a slice into an array of the crate ndarray, read rows
//! into structs, or write an array. Others list a folder, read a dataset of an HDF5 file, or ask a web server for the
//! first 512 bytes of each file.
//!
//! # A slice, or the whole array
//!
//! `Array::open` opens an array, and `Array::slice` and `Array::whole` select items. Then `read` returns the bytes of
//! the items (feature `decompress`), and `read_array` returns them as an array of the crate ndarray (feature
//! `ndarray`). `Slice::steps` can select every second item, for example. `Array::slice` also accepts the macro `s!` of
//! ndarray, in which a negative number counts from the end, as in `s![-1, ..]`. (ndarray is re-exported as
//! `b2nd_frame::ndarray`.) `read_into` reads into a buffer of bytes or of items, so one buffer can be used for many
//! slices. The example `read_slice` is a whole program.
//!
//! ```
//! # #[cfg(feature = "ndarray")] {
//! use b2nd_frame::Array;
//!
//! let array = Array::open("tests/data/int32_3x5.b2nd")?;
//! let slice = array.slice(&[0..2, 1..5]).read_array::<i32>()?;
//! assert_eq!(slice, ndarray::array![[1, 2, 3, 4], [6, 7, 8, 9]].into_dyn());
//! let last = array.slice(ndarray::s![-1, ..;2]).read_array::<i32>()?;
//! assert_eq!(last, ndarray::array![10, 12, 14].into_dyn());
//! assert_eq!(array.whole().read_array::<i32>()?.sum(), (0..15).sum());
//! // `f64` is wider than the stored type, `i32`, so it can represent each item.
//! assert_eq!(array.whole().read_as::<f64>()?.mean(), Some(7.0));
//! // A buffer for all rows, one after another.
//! let mut row = [0_i32; 5];
//! array.slice(&[2..3, 0..5]).read_into(&mut row)?;
//! assert_eq!(row, [10, 11, 12, 13, 14]);
//! # }
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! # An array of `save_array`
//!
//! `save_array`, `save_tensor` and `pack_tensor` of python-blosc2 write super-chunks, with the shape and the dtype in a
//! vlmetalayer. `Array::open` opens such a super-chunk as an array, and a slice reads only the chunks that it needs.
//!
//! ```
//! # #[cfg(feature = "ndarray")] {
//! use b2nd_frame::{Array, Frame};
//!
//! let array = Array::open("tests/data/packed.b2frame")?;
//! let slice = array.slice(ndarray::s![3, 24, 7..]).read_array::<i32>()?;
//! assert_eq!(slice, ndarray::array![997, 998, 999].into_dyn());
//!
//! // The trailer has the shape and the dtype, so a program can look at them without opening the array.
//! let trailer = Frame::open("tests/data/packed.b2frame")?.trailer()?;
//! let tensor = trailer.packed_tensor().expect("an array of save_array");
//! assert_eq!((&*tensor.shape, &*tensor.dtype), (&[4, 25, 10][..], "<i4"));
//! # }
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! # One array for many threads
//!
//! An open array is shared by reference, or in an [`Arc`](std::sync::Arc). The array caches the parts of the chunk
//! index that its slices have read, so open each array only once (feature `decompress`).
//!
//! ```
//! # #[cfg(feature = "decompress")] {
//! use b2nd_frame::Array;
//!
//! let array = Array::open("tests/data/int32_3x5.b2nd")?;
//! let sums = std::thread::scope(|scope| {
//!     let sum = |row| array.slice(&[row..row + 1, 0..5]).read_rows::<i32>().map(|row| row.iter().sum::<i32>());
//!     let threads = [0, 1, 2].map(|row| scope.spawn(move || sum(row)));
//!     threads.map(|thread| thread.join().expect("no panic"))
//! });
//! assert_eq!(sums.map(Result::unwrap), [10, 35, 60]);
//! # }
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! # Follow an array that another program changes
//!
//! A slice of an `Array` fails with `Changing` if the array has changed since it was opened, because its file was
//! written, or because another file is now at its path. `Array::refresh` returns the array as it is now (feature
//! `decompress`).
//!
//! A program that watches an array calls `refresh` before each read, to get the new shape. If the array changes between
//! `refresh` and the end of the read, the read fails with `Changing`. While another program overwrites the file, as
//! `cp` does, the file can be missing, empty or incomplete, and then `refresh` fails. In both cases, try again, and
//! give up after some time.
//!
//! A program that appends with python-blosc2 first resizes the array, and sets the new items later. Until it has set
//! them, a reader gets zeros for the new items. Only the writing program can record that its items are complete, for
//! example in a vlmetalayer.
//!
//! ```
//! # #[cfg(feature = "compress")] {
//! use std::time::Duration;
//!
//! use b2nd_frame::{Array, ArrayUpdate, Error, ErrorKind};
//!
//! fn last_row(array: &mut Array) -> Result<Vec<i32>, Error> {
//!     if let Some(now) = array.refresh()? {
//!         *array = now;
//!     }
//!     let rows = array.shape()[0].unsigned_abs();
//!     array.slice(&[rows - 1..rows, 0..5]).read_rows()
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("a.b2nd");
//! # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
//! let mut array = Array::open(&path)?;
//! assert!(array.refresh()?.is_none());
//!
//! // Another program appends a row.
//! let mut update = ArrayUpdate::open(&path)?;
//! update.append(0, &[15, 16, 17, 18, 19].map(i32::to_le_bytes).concat())?;
//! update.flush()?;
//!
//! assert_eq!(array.whole().read().unwrap_err().kind(), ErrorKind::Changing);
//! let mut row = last_row(&mut array);
//! for _ in 0..50 {
//!     if row.is_err() {
//!         std::thread::sleep(Duration::from_millis(100));
//!         row = last_row(&mut array);
//!     }
//! }
//! assert_eq!(row?, [15, 16, 17, 18, 19]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A slice by HTTP
//!
//! `Slice::plan` (feature `decompress`) computes the byte ranges of a slice, and reads nothing itself. You request the
//! ranges with any HTTP client. The client can be async, and can request several ranges at the same time. The ranges
//! come in waves: the bytes of a wave determine the ranges of the next wave. For attributes, stores and zip files on a
//! server, use [`KnownRanges`](crate::KnownRanges). [The first bytes from a server](#the-first-bytes-from-a-server)
//! shows what to do if the header of the frame is longer than 512 bytes.
//!
//! ```
//! # #[cfg(feature = "decompress")] {
//! use b2nd_frame::{Array, Error, Frame};
//!
//! /// `get(start, end)` requests the bytes `start..end`, in HTTP with `Range: bytes={start}-{end - 1}`.
//! fn slice(get: impl Fn(u64, u64) -> Vec<u8>) -> Result<Vec<u8>, Error> {
//!     let array = Array::new(Frame::parse(&get(0, 512))?)?;
//!     let mut plan = array.slice(&[1..3, 2..5]).plan()?;
//!     while !plan.ranges().is_empty() {
//!         let wave: Vec<_> = plan.ranges().iter().map(|range| get(range.start, range.end)).collect();
//!         plan.take(wave)?;
//!     }
//!     plan.finish()
//! }
//!
//! let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
//! let items = slice(|start, end| file[start as usize..file.len().min(end as usize)].to_vec())?;
//! assert_eq!(items, [7_i32, 8, 9, 12, 13, 14].map(i32::to_le_bytes).concat());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rows as structs
//!
//! `read_rows` deserializes the items of a structured dtype as your own struct (feature `decompress`). It finds each
//! field of the struct by its name in the dtype. `ArrayWriter::write_rows` writes such structs (feature `compress`).
//! The page of [`items`](b2nd_serde::dtype::items) lists the Rust types that fit each dtype.
//!
//! ```
//! # #[cfg(feature = "decompress")] {
//! use b2nd_frame::Array;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Star {
//!     name: String,
//!     ra: f64,
//!     dec: f64,
//!     magnitude: f32,
//!     system: (u8, bool), // a tuple takes the fields of a struct by their positions
//! }
//!
//! let array = Array::open("tests/data/stars/stars.b2nd")?;
//! let stars: Vec<Star> = array.slice(&[0..4]).read_rows()?;
//! assert_eq!((stars[3].name.as_str(), stars[3].ra), ("Vega", 279.235));
//!
//! // Read one row at a time if the rows do not fit in memory:
//! let mut brightest = f32::INFINITY;
//! for star in array.slice(&[0..6]).rows::<Star>()? {
//!     brightest = brightest.min(star?.magnitude);
//! }
//! assert_eq!(brightest, -1.46);
//! # }
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! # An array that does not fit in memory
//!
//! `Slice::pieces` divides an array into pieces of about 32 MiB each. If possible, a piece ends where a block ends, so
//! that no block is decompressed twice.
//!
//! ```
//! # #[cfg(feature = "decompress")] {
//! use b2nd_frame::Array;
//!
//! let array = Array::open("tests/data/int32_3x5.b2nd")?;
//! let mut sum = 0;
//! for piece in array.whole().pieces()? {
//!     let items = array.slice(&piece).read()?;
//!     sum += items.as_chunks().0.iter().map(|&item| i32::from_le_bytes(item)).sum::<i32>();
//! }
//! assert_eq!(sum, 105);
//! # }
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! # Which bytes hold item (i, j, k)
//!
//! [`Geometry`](b2nd_serde::Geometry) gives the chunk that contains the item, and the offset of the item in the
//! decompressed chunk. [`Frame::chunks`](crate::Frame::chunks) gives the place of the chunk in the file. The bytes of
//! the item themselves are in the file only if the chunk is not compressed.
//!
//! ```
//! use b2nd_frame::{ChunkPlace, Frame};
//!
//! let path = "tests/data/int32_3x5.b2nd";
//! let frame = Frame::open(path)?;
//! let geometry = frame.array()?.expect("an array").geometry()?;
//!
//! let position = geometry.position(&[1, 2]).expect("an item within the shape");
//! let byte = geometry.byte_offset(position, 4).expect("a byte of the chunk");
//! assert_eq!((position.chunk, byte), (0, 24));
//!
//! let mut chunks = frame.chunks()?;
//! let entry = chunks.get(position.chunk)?.expect("a chunk");
//! let header = chunks.header(&entry)?.expect("a stored chunk");
//! if let (ChunkPlace::Frame(start), true) = (entry.place, header.is_uncompressed()) {
//!     let at = start as usize + header.header_len() + byte;
//!     // The item at (1, 2) is 7.
//!     assert_eq!(std::fs::read(path)?[at..at + 4], [7, 0, 0, 0]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The chunks of a slice, for another decompressor
//!
//! The geometry lists the chunks that a slice needs. [`Chunks::compressed`](crate::Chunks::compressed) reads the
//! compressed bytes of a chunk, for any Blosc2 decompressor.
//!
//! ```
//! use b2nd_frame::Frame;
//!
//! let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
//! let geometry = frame.array()?.expect("an array").geometry()?;
//! let mut chunks = frame.chunks()?;
//! for part in geometry.chunks_in(&[0..2, 1..5])? {
//!     let entry = chunks.get(part.number())?.expect("a chunk");
//!     match chunks.compressed(&entry)? {
//!         // Decompress `compressed` here. Then `part.scatter` copies the items that belong to the slice.
//!         Some(compressed) => assert_eq!(compressed.len(), 64),
//!         None => println!("not stored: all items are {:?}", entry.place),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A new array file
//!
//! This example writes an array of the crate ndarray to two files (features `ndarray` and `compress`). The first file
//! gets the default parameters, the second file other parameters. [`FrameBuilder`](crate::FrameBuilder) sets the codec,
//! the level, the filters and the metalayers, as the parameters of python-blosc2's `asarray` do.
//!
//! ```
//! # #[cfg(all(feature = "compress", feature = "ndarray"))] {
//! use b2nd_frame::{Codec, FrameBuilder};
//! use b2nd_frame::b2nd_serde::Meta;
//! use ndarray::Array;
//!
//! # let folder = tempfile::tempdir()?;
//! # let [plain, other] = ["plain.b2nd", "other.b2nd"].map(|name| folder.path().join(name));
//! let waves = Array::linspace(0.0, 100.0, 60_000).sin().into_shape_with_order((300, 200))?;
//! b2nd_frame::write_array(&plain, waves.view())?;
//!
//! let meta = Meta::with_default_shapes(&[300, 200], 8, "<f8")?;
//! let builder = FrameBuilder::new(meta).codec(Codec::LZ4).level(9).vlmetalayer("unit", "metre");
//! builder.write_array(&other, waves.view())?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # An array by regions
//!
//! An `ArrayWriter` receives the items region by region. Here each region is a row. The writer compresses a chunk as
//! soon as it has received all items of the chunk. `write` takes the items of a region as bytes, and `write_array` as
//! an ndarray view (feature `ndarray`).
//!
//! ```
//! # #[cfg(feature = "compress")] {
//! use b2nd_frame::{Array, FrameBuilder};
//! use b2nd_frame::b2nd_serde::Meta;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("rows.b2nd");
//! let meta = Meta::with_default_shapes(&[1000, 64], 2, "<i2")?;
//! let mut writer = FrameBuilder::new(meta).create(&path)?.into_array_writer()?.threads(2);
//! for row in 0..1000 {
//!     let items: Vec<u8> = (0..64).flat_map(|column: i16| (column * 3).to_le_bytes()).collect();
//!     writer.write(&[row..row + 1, 0..64], &items)?;
//! }
//! let array = Array::new(writer.finish()?.persist()?)?;
//! assert_eq!(array.slice(&[999..1000, 63..64]).read()?, 189_i16.to_le_bytes());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Append to an array
//!
//! In this example, a camera delivers images, and `flush` commits them to the file. If the last chunk is not full, each
//! commit compresses it again. So commit when a chunk is full, or when the images must be safe. If the process is
//! killed, the file still has all committed images. Other programs can read the file while it grows, and call
//! `Array::refresh` before a read to get the new images. Replaced chunks leave holes in the file. A
//! [repack](#repack-other-chunks-or-another-codec) removes the holes. If python-blosc2 has indexed the array, each
//! commit marks the indexes as stale. `rebuild_index` of python-blosc2 builds them again.
//!
//! python-blosc2 writes without a lock unless it is asked to lock. If python-blosc2 opened the array before a commit
//! and writes to the array after the commit, it can overwrite the new items. So use one writer at a time.
//!
//! The chunk shape does not change when the array grows, so choose it for the final size of the array. For example, if
//! `write_array` made the file from a single row, each appended row becomes a separate chunk. For an array that has no
//! images yet, `Meta::with_default_shapes(&[0, 48, 64], 2, "<u2")` chooses chunks of about 4 MiB.
//!
//! ```
//! # #[cfg(feature = "compress")] {
//! use b2nd_frame::{Array, ArrayUpdate, FrameBuilder};
//! use b2nd_frame::b2nd_serde::{Meta, Shapes};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("camera.b2nd");
//! // A chunk holds 8 images. The new array has no images yet.
//! let shapes = Shapes { shape: &[0, 48, 64], chunkshape: &[8, 48, 64], blockshape: &[1, 48, 64] };
//! FrameBuilder::new(Meta::new(shapes, "<u2")?).create(&path)?.into_array_writer()?.finish()?.persist()?;
//! let mut camera = ArrayUpdate::open(&path)?;
//! for number in 0_u16..20 {
//!     let image = number.to_le_bytes().repeat(48 * 64);
//!     camera.append(0, &image)?;
//!     if camera.meta().shape()[0] % 8 == 0 {
//!         camera.flush()?;
//!     }
//! }
//! camera.set_vlmetalayer("exposure", &0.02)?;
//! camera.flush()?;
//! let array = Array::open(&path)?;
//! assert_eq!(array.slice(&[18..20, 7..8, 9..10]).read_rows::<u16>()?, [18, 19]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Change items
//!
//! `write_array` replaces the items of a region, and `flush` commits them. If another program has the array open, its
//! next slice fails with `Changing`, and it must call `Array::refresh`.
//!
//! ```
//! # #[cfg(all(feature = "compress", feature = "ndarray"))] {
//! use b2nd_frame::ndarray::array;
//! use b2nd_frame::{Array, ArrayUpdate};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("array.b2nd");
//! # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
//! let mut update = ArrayUpdate::open(&path)?;
//! update.write_array(&[1..3, 0..2], array![[-1, -2], [-3, -4]].view())?;
//! update.flush()?;
//! let rows = Array::open(&path)?.slice(&[1..2, 0..3]).read_array::<i32>()?;
//! assert_eq!(rows.as_slice().unwrap(), [-1, -2, 7]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Repack: other chunks, or another codec
//!
//! This example copies an array to a new file with another chunk shape, block shape and codec. It reads the items of a
//! new chunk only when it compresses this chunk, so memory does not depend on the size of the array. Metalayers and
//! vlmetalayers are copied as they are, except the indexes and query results of python-blosc2, which belong to the old
//! array. `b2nd convert` does the same in a shell.
//!
//! ```
//! # #[cfg(feature = "compress")] {
//! use b2nd_frame::{Array, Codec, FrameBuilder};
//! use b2nd_frame::b2nd_serde::{Meta, Shapes};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("new.b2nd");
//! let old = Array::open("tests/data/vlmetalayers.b2nd")?;
//! let attributes = old.attributes()?;
//! let shapes = Shapes { chunkshape: &[4], blockshape: &[2], ..old.meta().expect("an array of b2nd").shapes() };
//! let meta = Meta::new(shapes, old.dtype().expect("a dtype"))?;
//! let mut builder = FrameBuilder::new(meta).codec(Codec::LZ4);
//! for layer in old.frame().metalayers().iter().filter(|layer| layer.name() != "b2nd") {
//!     builder = builder.metalayer_bytes(layer.name(), layer.bytes());
//! }
//! for layer in attributes.vlmetalayers().iter().filter(|layer| !layer.is_derived()) {
//!     builder = builder.vlmetalayer_chunk(layer.name(), layer.chunk());
//! }
//! let mut writer = builder.create(&path)?.into_array_writer()?;
//! writer.write_from(&[0..6], |ranges, items| old.slice(ranges).read_into(items))?;
//! let new = writer.finish()?.persist()?;
//! assert_eq!(new.array()?.expect("an array").chunkshape(), [4]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A file of finished chunks
//!
//! `write_chunk` takes a chunk from any Blosc2 compressor. Here the first chunk is stored uncompressed. All items of
//! the second chunk are zero, so the file has only an index entry for this chunk.
//!
//! ```
//! use b2nd_frame::{FrameBuilder, SpecialValue};
//! use b2nd_frame::b2nd_serde::{Meta, Shapes};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("new.b2nd");
//! let meta = Meta::new(Shapes { shape: &[8], chunkshape: &[4], blockshape: &[4] }, "|u1")?;
//! let mut writer = FrameBuilder::new(meta).create(&path)?;
//! writer.write_uncompressed(0, &[1, 2, 3, 4])?;
//! writer.fill_missing(SpecialValue::Zeros)?;
//! let frame = writer.finish()?.persist()?;
//! assert_eq!(frame.array()?.expect("an array").shape(), [8]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Change a shape in place
//!
//! The shape of an array can change in place, if the new shape needs the same number of chunks along each dimension.
//! The change is one write of a few bytes. If python-blosc2 has indexed the array, the indexes become stale; see
//! [`Edit`](crate::Edit).
//!
//! ```
//! use b2nd_frame::Frame;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("array.b2nd");
//! # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
//! let mut frame = Frame::open(&path)?;
//! frame.edit().shape(&[4, 6]).apply()?;
//! assert_eq!(Frame::open(&path)?.array()?.expect("an array").shape(), [4, 6]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Change a metalayer in bytes
//!
//! [`Edit`](crate::Edit) needs a file. To change other bytes, such as a frame in memory, overwrite the metalayer with
//! `b2nd_serde`. You must know the offset of the metalayer. The new metalayer has the length of the old metalayer if
//! the number of dimensions and the length of the dtype stay the same.
//!
//! ```
//! use b2nd_frame::Frame;
//! use b2nd_frame::b2nd_serde::{Meta, from_slice, serialized_size, to_slice};
//!
//! let mut bytes = std::fs::read("tests/data/int32_3x5.b2nd")?;
//! // Changes in place keep this position; a rewrite can move it.
//! let metalayer = Frame::parse(&bytes)?.array_metalayer().expect("an array").clone();
//! let content = &mut bytes[metalayer.offset()..][..metalayer.bytes().len()];
//!
//! let meta = from_slice::<Meta>(content)?.with_dtype("<f4")?;
//! assert_eq!(serialized_size(&meta)?, content.len(), "a metalayer of another length needs a rewrite");
//! to_slice(&meta, content)?;
//! assert_eq!(Frame::parse(&bytes)?.array()?.expect("an array").dtype(), Some("<f4"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This code checks only the metalayer itself. `Edit` also checks that the new shape and dtype fit the chunks and the
//! rest of the header. `Edit` excludes other writers of this crate, syncs the file, and marks indexes of python-blosc2
//! as stale. So use `Edit` for a file that other programs read. If the length of the metalayer changes, use
//! [`Rewrite`](crate::Rewrite).
//!
//! # Convert a Caterva file
//!
//! C-Blosc2 3 opens a Caterva file as plain chunks, without the shape. A rewrite copies the chunks unchanged, and
//! restores the shape. Caterva did not store the dtype, so you must give the dtype.
//!
//! ```
//! use b2nd_frame::Rewrite;
//!
//! # let folder = tempfile::tempdir()?;
//! # let new = folder.path().join("new.b2nd");
//! let frame = Rewrite::new("tests/data/uint16_6x8.caterva", &new).dtype("uint16").apply()?;
//! let array = frame.array()?.expect("an array");
//! assert_eq!((array.shape(), array.dtype()), (&[6, 8][..], Some("<u2")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Save a damaged file
//!
//! A salvage writes the undamaged parts of a file to a new file. A truncated file has no chunk index, so the positions
//! of the chunks in the array are unknown. If you call `assume_order`, the salvage assumes that the chunks have the
//! same order in the file as in the array.
//!
//! ```
//! use b2nd_frame::{ErrorKind, Salvage};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (cut, new) = (folder.path().join("cut.b2nd"), folder.path().join("new.b2nd"));
//! # std::fs::write(&cut, &std::fs::read("tests/data/int32_3x5.b2nd")?[..360])?;
//! let (frame, report) = match Salvage::open(&cut)?.apply(&new) {
//!     Err(error) if error.kind() == ErrorKind::OrderUnknown => Salvage::open(&cut)?.assume_order().apply(&new)?,
//!     result => result?,
//! };
//! assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
//! assert_eq!((report.lost[0].first, report.lost_count()), (3, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The array in a file
//!
//! `Frame::open` reads 512 bytes, and then the rest of the header if the header is longer. So a large file opens as
//! fast as a small one. The path may also be the directory of a sparse frame.
//!
//! ```
//! use b2nd_frame::Frame;
//!
//! let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
//! match frame.array()? {
//!     Some(array) => assert_eq!((array.shape(), array.dtype()), (&[3, 5][..], Some("<i4"))),
//!     None => println!("chunks, but no array"),
//! }
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! To read a struct of your own, call [`decode`](crate::Metalayer::decode) on the metalayer:
//!
//! ```
//! # use serde::{Deserialize, de::IgnoredAny as Any};
//! # use b2nd_frame::Frame;
//! # type Yours = (Any, Any, [u64; 2], [u32; 2], [u32; 2], Any, String);
//! let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
//! let metalayer = frame.array_metalayer().expect("an array");
//! let yours: Yours = metalayer.decode()?;
//! # assert_eq!(yours.2, [3, 5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Caterva and python-blosc2 2.1 to 3.10 sometimes left old bytes after the entries of the metalayer. `decode` ignores
//! these old bytes. To read the [`bytes`](crate::Metalayer::bytes) yourself, use
//! [`take_from_slice`](b2nd_serde::take_from_slice()), which also returns the old bytes.
//! [`from_slice`](b2nd_serde::from_slice()) rejects a metalayer with old bytes.
//!
//! The attributes of an array are vlmetalayers: see [`Trailer::vlmetalayer`](crate::Trailer::vlmetalayer).
//!
//! # A member of a zip or `.b2z`
//!
//! A `.b2z` file is a zip file whose members are stored without further compression, so a frame can be opened inside
//! the zip. A [`Store`](crate::Store) lists the keys of the arrays in a `.b2z` file.
//!
//! ```
//! use std::fs::File;
//! use b2nd_frame::{Frame, zip_member, zip_members};
//!
//! let mut file = File::open("tests/data/tree.b2z")?;
//! let member = zip_member(&mut file, "group/small.b2nd")?.expect("a member of this name");
//! let frame = Frame::read_at(&mut file, member.offset())?;
//! assert_eq!(frame.array()?.expect("an array").shape(), [4]);
//!
//! for member in zip_members(file)? {
//!     println!("{}: {} bytes", member.name(), member.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A chunk in HDF5
//!
//! In a dataset that Blosc2 compressed, each chunk is a whole frame. HDF5 gives the offset of a chunk (in h5py:
//! `dataset.id.get_chunk_info(0).byte_offset`). Without the HDF5 library, [`scan`](crate::scan()) finds the frames in
//! the file.
//!
//! ```
//! use std::io::{Cursor, Read};
//! use b2nd_frame::{Frame, scan};
//!
//! # let frame = std::fs::read("tests/data/int32_3x5.b2nd")?;
//! # let hdf5 = Cursor::new([&[0; 2048], &frame[..]].concat());
//! // `hdf5` is the file: any reader that implements `Read` and `Seek`.
//! for frame in scan(hdf5.clone()) {
//!     let frame = frame?;
//!     let array = frame.array()?.expect("a chunk with a shape");
//!     println!("byte {}: a chunk of {:?} items", frame.offset(), array.shape());
//! }
//!
//! let frame = Frame::read_at(hdf5, 2048)?;
//! assert_eq!(frame.array()?.expect("a chunk with a shape").shape(), [3, 5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To write a chunk for such a dataset, use [`FrameBuilder`](crate::FrameBuilder).
//!
//! # The first bytes from a server
//!
//! Request the first 512 bytes of the file. If the header is longer, the error gives the number of bytes to request.
//! This number can be up to 64 MiB, so limit your downloads. If the second request returns no more bytes than the
//! first, the file ends within its header.
//!
//! ```
//! use b2nd_frame::{Error, ErrorKind, Frame};
//!
//! /// `request(n)` returns the first `n` bytes of the file, or the whole file if it is shorter.
//! fn header(request: impl Fn(usize) -> Vec<u8>) -> Result<Frame<()>, Error> {
//!     let mut bytes = request(512);
//!     loop {
//!         let error = match Frame::parse(&bytes) {
//!             Err(error) if error.kind() == ErrorKind::Incomplete => error,
//!             frame => return frame,
//!         };
//!         match error.needed().map(&request) {
//!             Some(more) if more.len() > bytes.len() => bytes = more,
//!             _ => return Err(error),
//!         }
//!     }
//! }
//!
//! let file = std::fs::read("tests/data/struct_long.b2nd")?;
//! let frame = header(|bytes| file[..bytes.min(file.len())].to_vec())?;
//! assert_eq!(frame.array()?.expect("an array").shape(), [2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Detect an unfinished file
//!
//! Nothing in a frame marks it as unfinished. But after a writer was killed, the header contradicts the chunks, or some
//! chunks were never written. [`check`](crate::check()) reports a contradiction as an error. Chunks that were never
//! written are only a warning, because an array can be empty on purpose.
//!
//! ```
//! use b2nd_frame::{FindingCode, Severity, check};
//!
//! let report = check("tests/data/peers/special_uninit.b2nd")?;
//! let is_damaged = report.findings.iter().any(|finding| finding.severity() == Severity::Error);
//! let has_gaps = report.findings.iter().any(|finding| {
//!     matches!(finding.code(), FindingCode::NoData | FindingCode::NeverWritten)
//! });
//! assert_eq!((is_damaged, has_gaps), (false, true));
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! If another program may be writing the file at this moment, use [`Frame::open_stable`](crate::Frame::open_stable). It
//! waits until the header and the array's metalayer agree.
//!
//! # Your own struct
//!
//! The struct needs these seven fields in this order. You choose the types: any integer type for numbers, any list for
//! dimensions, any string.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Metalayer {
//!     version: u8,
//!     ndim: u8,
//!     shape: Vec<u64>,
//!     chunkshape: Vec<u32>,
//!     blockshape: Vec<u32>,
//!     dtype_format: u8,
//!     dtype: String,
//! }
//!
//! let plane = Metalayer {
//!     version: 0,
//!     ndim: 2,
//!     shape: vec![600, 400],
//!     chunkshape: vec![200, 200],
//!     blockshape: vec![50, 50],
//!     dtype_format: 0,
//!     dtype: "<f8".into(),
//! };
//! let bytes = b2nd_serde::to_vec(&plane)?;
//! let read: Metalayer = b2nd_serde::from_slice(&bytes)?;
//! assert_eq!(read.shape, [600, 400]);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
//! Do not forget `dtype_format`: without it the struct is written in the layout
//! [`B2ndSix`](b2nd_serde::Layout::B2ndSix), which no released version of C-Blosc2 opens.
//!
//! # Only the shape
//!
//! The type that you read must have a field for each entry of the metalayer, but a field of the type `IgnoredAny`
//! ignores its entry. Ignored entries are checked like all other entries.
//!
//! ```
//! use serde::de::IgnoredAny as Any;
//!
//! # let bytes = b"\x97\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02\
//! #     \x00\xdb\0\0\0\x03|u1";
//! let (_, _, shape, ..): (Any, Any, Vec<u64>, Any, Any, Any, Any) = b2nd_serde::from_slice(bytes)?;
//! assert_eq!(shape, [6]);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
//! # Without copying
//!
//! A field `dtype: &str` borrows the dtype from the bytes of the metalayer. If the number of dimensions is fixed, use
//! arrays such as `[u64; 1]`, which need no allocation.
//!
//! ```
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Line<'a> {
//!     version: u8,
//!     ndim: u8,
//!     shape: [u64; 1],
//!     chunkshape: [u32; 1],
//!     blockshape: [u32; 1],
//!     dtype_format: u8,
//!     dtype: &'a str,
//! }
//!
//! # let bytes = b"\x97\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02\
//! #     \x00\xdb\0\0\0\x03|u1";
//! let line: Line<'_> = b2nd_serde::from_slice(bytes)?;
//! assert_eq!((line.shape, line.dtype), ([6], "|u1"));
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
//! # One struct for all layouts
//!
//! Files of Caterva lack the dtype and the dtype format, and some files of February 2023 lack the dtype format. With an
//! `Option` for these two fields, a struct reads all layouts. The struct is written in the layout in which it was read,
//! except that layout `B2ndMismarked` becomes layout `B2nd`.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Metalayer {
//!     version: u8,
//!     ndim: u8,
//!     shape: Vec<i64>,
//!     chunkshape: Vec<i32>,
//!     blockshape: Vec<i32>,
//!     #[serde(skip_serializing_if = "Option::is_none")]
//!     dtype_format: Option<u8>,
//!     #[serde(skip_serializing_if = "Option::is_none")]
//!     dtype: Option<String>,
//! }
//!
//! let caterva = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
//! let read: Metalayer = b2nd_serde::from_slice(caterva)?;
//! assert_eq!((read.shape.as_slice(), &read.dtype), (&[6][..], &None));
//! assert_eq!(b2nd_serde::to_vec(&read)?, caterva);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
//! [`Meta`](b2nd_serde::Meta) is a ready-made struct of this kind. It distinguishes all four layouts.
//!
//! # Without `std` or an allocator
//!
//! With `default-features = false`, use arrays for the shapes, and `&str` for the dtype. [`dims`](b2nd_serde::dims)
//! reads and writes arrays of a const generic length, such as `[i64; N]`.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Metalayer<'a, const N: usize> {
//!     version: u8,
//!     ndim: u8,
//!     #[serde(with = "b2nd_serde::dims")]
//!     shape: [i64; N],
//!     #[serde(with = "b2nd_serde::dims")]
//!     chunkshape: [i32; N],
//!     #[serde(with = "b2nd_serde::dims")]
//!     blockshape: [i32; N],
//!     dtype_format: u8,
//!     dtype: &'a str,
//! }
//!
//! let (shape, chunkshape, blockshape) = ([5, 4, 3], [1, 4, 3], [1, 2, 3]);
//! let (version, ndim, dtype_format, dtype) = (0, 3, 0, "<f4");
//! let cube = Metalayer { version, ndim, shape, chunkshape, blockshape, dtype_format, dtype };
//! let mut buffer = [0; 128];
//! let bytes = b2nd_serde::to_slice(&cube, &mut buffer)?;
//! assert_eq!(b2nd_serde::from_slice::<Metalayer<'_, 3>>(bytes)?.shape, [5, 4, 3]);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
//! # JSON and back
//!
//! `Meta` works with any serde format. In all formats except the metalayer itself, `Meta` is a struct with named
//! fields.
//!
//! ```
//! use b2nd_frame::b2nd_serde::Meta;
//!
//! # let bytes = b"\x97\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02\
//! #     \x00\xdb\0\0\0\x03|u1";
//! let meta: Meta = b2nd_serde::from_slice(bytes)?;
//! let json = serde_json::to_string(&meta)?;
//! assert!(json.starts_with(r#"{"layout":"b2nd","version":0,"ndim":1,"shape":[6],"#));
//! assert_eq!(b2nd_serde::to_vec(&serde_json::from_str::<Meta>(&json)?)?, bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The meaning of the dtype
//!
//! A parsed [`Dtype`](b2nd_serde::dtype::Dtype) gives the size of an item, and the offset, kind and byte order of each
//! field.
//!
//! ```
//! use b2nd_frame::b2nd_serde::dtype::{ByteOrder, Dtype, Kind};
//!
//! let dtype: Dtype = "[('time', '<M8[s]'), ('value', '>f4')]".parse()?;
//! assert_eq!(dtype.item_size(), 12);
//! let value = dtype.field("value").expect("a field");
//! assert_eq!(value.offset(), 8);
//! assert_eq!((value.dtype().kind(), value.dtype().byte_order()), (&Kind::Float, Some(ByteOrder::Big)));
//! # Ok::<(), b2nd_serde::dtype::Error>(())
//! ```
//!
//! # The meaning of each byte
//!
//! A dump of a metalayer shows the bytes, the type and the name of each value, then the value itself.
//!
//! ```
//! let text = b2nd_serde::dump::metalayer(b"\x97\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06").to_string();
//! assert!(text.contains("d3 00 00 00 00 00 00 00 06      int64       shape[0]       6"));
//!
//! // A whole header, with its metalayers:
//! let header = std::fs::read("tests/data/int32_3x5.b2nd")?;
//! let text = b2nd_frame::dump_header(&header).to_string();
//! assert!(text.contains("shape[1]"));
//! # Ok::<(), std::io::Error>(())
//! ```
