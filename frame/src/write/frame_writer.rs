//! The writer of the chunks of a new frame.

use core::fmt;
use std::io::{Seek, Write};

use b2nd_chunk::internals::stored_header;
use b2nd_chunk::{ChunkHeader, SpecialValue};

use crate::chunk::chunk_rules::{ChunkRules, check_dictionary, rule};
use crate::chunk::entry::EntryValue;
use crate::error::Error;
use crate::header::fields::HeaderField;
use crate::messagepack::marker::Marker;
use crate::write::frame_plan::{Plan, Sizes};
use crate::write::output::Output;

/// Writes the chunks of a new frame by number, in any order. Created by a [`FrameBuilder`](crate::FrameBuilder).
///
/// [`Geometry`](b2nd_serde::Geometry) computes which items are in each chunk. Each chunk must be written exactly once,
/// or be filled by [`fill_missing`](Self::fill_missing). The number, the length and the header of a chunk are checked
/// before the chunk is written. If a method that writes a chunk returns an error, the frame is unchanged, and the chunk
/// can be written again. A panic of the underlying writer is final: the frame cannot be finished, and later writes of
/// chunks return an error.
///
/// Chunks are not kept in memory, but the chunk index is. The index has an entry of 8 bytes for each chunk. It consists
/// of pages of 2048 entries (16 KiB). A page is allocated when the first of its entries is set.
///
/// ```
/// use std::io::Cursor;
/// use b2nd_frame::{Check, Frame, FrameBuilder};
/// use b2nd_serde::{Meta, Shapes};
///
/// let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "|u1")?;
/// let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?;
/// writer.write_uncompressed(1, &[3, 4])?;
/// let error = writer.write_uncompressed(1, &[3, 4]).unwrap_err();
/// assert_eq!(error.to_string(), "chunk 1 has already been given, or filled");
/// writer.write_uncompressed(0, &[1, 2])?;
/// let mut frame = Frame::read_at(writer.finish()?, 0)?;
/// assert_eq!(Check::default().run(&frame)?.findings, []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is a frame before `finish`"]
pub struct FrameWriter<W: Write> {
    pub(crate) output: Output<W>,
    pub(super) plan: Plan,
    rules: ChunkRules,
}

impl<W: Write + Seek> FrameWriter<W> {
    pub(crate) fn new(output: Output<W>, plan: Plan) -> Self {
        let rules = plan.rules();
        Self { output, plan, rules }
    }

    /// Replaces the trailer. Call this method after the last chunk if the trailer depends on the chunks.
    pub(crate) fn set_trailer(&mut self, trailer: Vec<u8>, has_vlmetalayers: bool) {
        self.plan.trailer = trailer;
        let flag = if has_vlmetalayers { Marker::True } else { Marker::False };
        self.plan.header.set(HeaderField::HasVlmetalayers, &[flag.to_u8()]);
    }

    /// The number of chunks of the array.
    #[must_use]
    pub fn nchunks(&self) -> u64 {
        self.plan.sizes.nchunks
    }

    /// The number of the first missing chunk; `None` if no chunk is missing.
    ///
    /// ```
    /// use b2nd_frame::FrameBuilder;
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[6], chunkshape: &[2], blockshape: &[2] }, "|u1")?;
    /// let mut writer = FrameBuilder::new(meta).write_to(std::io::Cursor::new(Vec::new()))?;
    /// writer.write_uncompressed(1, &[3, 4])?;
    /// // Chunks can be written in any order. This loop writes the missing chunks.
    /// while let Some(number) = writer.first_missing() {
    ///     writer.write_repeated(number, &[9])?;
    /// }
    /// writer.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn first_missing(&self) -> Option<u64> {
        self.plan.index.missing().map(|(_, first)| first)
    }

    /// The decompressed size of each chunk in bytes, with padding.
    #[must_use]
    pub fn chunk_nbytes(&self) -> usize {
        self.plan.sizes.chunksize as usize
    }

    /// Writes a chunk that a Blosc2 compressor has made.
    ///
    /// A special chunk has only zeros, only NaN or only uninitialized items. Such a chunk is recorded only in the chunk
    /// index, as in C-Blosc2.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the bytes are not a valid chunk of this array, and
    /// [`Io`](crate::ErrorKind::Io) if the chunk cannot be written.
    ///
    /// ```
    /// # use b2nd_frame::FrameBuilder;
    /// # use b2nd_serde::{Meta, Shapes};
    /// # let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "|u1")?;
    /// # let mut writer = FrameBuilder::new(meta).write_to(std::io::Cursor::new(Vec::new()))?;
    /// // An array with chunks of 2 bytes.
    /// let start = b"\x05\x01\x07\x01\x04\0\0\0\x04\0\0\0\x24\0\0\0";
    /// let chunk = [&start[..], &[0; 16], &[1, 2, 3, 4]].concat();
    /// let error = writer.write_chunk(0, &chunk).unwrap_err();
    /// assert_eq!(error.to_string(), "chunk 0 has 4 bytes of data, but must have 2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_chunk(&mut self, number: u64, chunk: &[u8]) -> Result<(), Error> {
        self.check_number(number)?;
        let given = chunk.len();
        let header = ChunkHeader::parse(chunk).ok_or_else(|| {
            misfit(number, format_args!("cannot be written: the {given} given bytes are not a Blosc2 chunk"))
        })?;
        if header.cbytes() != given {
            let cbytes = header.cbytes();
            return Err(misfit(
                number,
                format_args!("has {cbytes} bytes by its header, but {given} are given"),
            ));
        }
        let expected = Some(u64::from(self.plan.sizes.chunksize));
        // A chunk of zeros, NaN or uninitialized items is only a chunk header. The header is not stored, because the
        // entry in the index is enough. A chunk that repeats a value (`SpecialValue::Value`) must be stored,
        // because an entry has no place for the value.
        let special = header.special().filter(|&special| special != SpecialValue::Value);
        let wrong = |why| misfit(number, why);
        if let Some(special) = special {
            self.rules.check_sizes(&header, expected, given as u64).map_err(wrong)?;
            rule(header.check_flags()).map_err(wrong)?;
            return self.write_special(number, special);
        }
        self.rules.check(&header, expected, given as u64).map_err(wrong)?;
        rule(header.check_table(chunk)).map_err(wrong)?;
        check_dictionary(&header).map_err(wrong)?;
        self.put(number, [chunk, &[]])
    }

    /// Writes an uncompressed chunk of the given items.
    ///
    /// The items must be in the order of a decompressed chunk: block after block, with padding.
    /// [`Chunk::gather`](b2nd_serde::geometry::Chunk::gather) collects them from an array.
    ///
    /// # Errors
    ///
    /// The errors of [`write_chunk`](Self::write_chunk).
    pub fn write_uncompressed(&mut self, number: u64, items: &[u8]) -> Result<(), Error> {
        self.check_number(number)?;
        let (expected, found) = (self.chunk_nbytes(), items.len());
        if found != expected {
            return Err(misfit(
                number,
                format_args!("needs {expected} bytes of items, but {found} are given"),
            ));
        }
        self.put_stored(number, false, items)
    }

    /// Writes a chunk of equal items, padding included. In the file, the chunk takes 32 bytes plus the bytes of one
    /// item.
    ///
    /// # Errors
    ///
    /// The errors of [`write_chunk`](Self::write_chunk).
    pub fn write_repeated(&mut self, number: u64, item: &[u8]) -> Result<(), Error> {
        self.check_number(number)?;
        let (expected, found) = (self.plan.sizes.typesize as usize, item.len());
        if found != expected {
            return Err(misfit(
                number,
                format_args!("needs an item of {expected} bytes, but {found} are given"),
            ));
        }
        self.put_stored(number, true, item)
    }

    /// Records in the chunk index that all items of a chunk have a special value. Nothing else of the chunk is stored.
    ///
    /// # Errors
    ///
    /// The errors of [`write_chunk`](Self::write_chunk). [`Nan`](SpecialValue::Nan) is allowed only for little-endian
    /// floats of 4 or 8 bytes, and for items of these sizes whose dtype is unknown. The reason is that readers always
    /// fill in the little-endian bytes of a NaN, whatever the dtype is. [`Value`](SpecialValue::Value) is an error,
    /// because it needs an item: use [`write_repeated`](Self::write_repeated).
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::{FrameBuilder, SpecialValue};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[8], chunkshape: &[4], blockshape: &[2] }, "<i4")?;
    /// let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?;
    /// writer.write_special(0, SpecialValue::Zeros)?;
    /// // An integer is never NaN.
    /// assert!(writer.write_special(1, SpecialValue::Nan).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_special(&mut self, number: u64, special: SpecialValue) -> Result<(), Error> {
        self.check_number(number)?;
        self.check_special(special).map_err(|why| misfit(number, why))?;
        // The memory for the entry is reserved before the entry is set, and nothing after that can fail. So an error
        // leaves the frame unchanged.
        self.reserve(number)?;
        self.plan.index.set(number, EntryValue::Special(special));
        Ok(())
    }

    /// Records in the chunk index that all items of all missing chunks have a special value. After this call, no other
    /// chunk can be written.
    ///
    /// # Errors
    ///
    /// The errors of [`write_special`](Self::write_special).
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::{Frame, FrameBuilder, SpecialValue};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// // A million chunks, but only one is stored.
    /// let meta = Meta::new(Shapes { shape: &[2_000_000], chunkshape: &[2], blockshape: &[2] }, "<f4")?;
    /// let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?;
    /// writer.write_uncompressed(7, &[0; 8])?;
    /// writer.fill_missing(SpecialValue::Nan)?;
    /// let counts = Frame::read_at(writer.finish()?, 0)?.count_chunks()?;
    /// assert_eq!((counts.stored, counts.nan), (1, 999_999));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill_missing(&mut self, special: SpecialValue) -> Result<(), Error> {
        self.check_special(special)
            .map_err(|why| Error::invalid_input(format_args!("the other chunks {why}")))?;
        self.plan.index.set_others(special);
        Ok(())
    }

    /// Writes a chunk that this crate's compressor has made. The compressor stores NaN like any other repeated value.
    /// If the dtype allows it, such a chunk of NaN is written as a special chunk instead.
    #[cfg(feature = "compress")]
    pub(crate) fn write_compressed(&mut self, number: u64, chunk: &[u8]) -> Result<(), Error> {
        let header = ChunkHeader::parse(chunk).filter(|header| header.special() == Some(SpecialValue::Value));
        let value = header.and_then(|header| chunk.get(header.header_len()..)).unwrap_or_default();
        let is_nan = *value == f32::NAN.to_le_bytes() || *value == f64::NAN.to_le_bytes();
        if is_nan && self.plan.can_be_nan {
            return self.write_special(number, SpecialValue::Nan);
        }
        self.write_chunk(number, chunk)
    }

    /// Sets the index entry of a chunk whose bytes need not be written, because they are already in the file, or
    /// because the chunk is special.
    #[cfg(feature = "compress")]
    pub(crate) fn keep(&mut self, number: u64, entry: EntryValue) -> Result<(), Error> {
        self.reserve(number)?;
        self.plan.index.set(number, entry);
        Ok(())
    }

    /// Writes bytes that belong to no chunk: the mark at the start of a commit, or a hole record. The next chunk is
    /// written after these bytes.
    #[cfg(feature = "compress")]
    pub(crate) fn put_hole(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let put = self.output.put(|out| {
            out.write_all(bytes).map_err(Error::writing)?;
            Ok(bytes.len() as u64)
        });
        put.map(drop)
    }

    /// Writes the chunk index and the trailer, and returns the header, which the caller must write.
    #[cfg(feature = "compress")]
    pub(crate) fn finish_behind(self) -> Result<Vec<u8>, Error> {
        let header = self.header()?;
        self.output.finish_behind(&self.plan.index, &self.plan.trailer).map(|()| header)
    }

    /// Writes the chunk index, the trailer and the header.
    ///
    /// If the frame was started with [`write_to`](crate::FrameBuilder::write_to), returns the underlying writer. If the
    /// frame was created at a path, returns a [`NewFrame`](crate::NewFrame). Its method
    /// [`persist`](crate::NewFrame::persist) renames the frame to this path.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput) if a chunk was not given.
    /// - [`TooLarge`](crate::ErrorKind::TooLarge) if the chunks have more bytes than the format can count.
    /// - [`Io`](crate::ErrorKind::Io) if the frame cannot be written.
    ///
    /// If the frame was created at a path, nothing is left there after an error.
    ///
    /// ```
    /// # use b2nd_frame::FrameBuilder;
    /// # use b2nd_serde::{Meta, Shapes};
    /// # let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[1], blockshape: &[1] }, "|u1")?;
    /// # let mut writer = FrameBuilder::new(meta).write_to(std::io::Cursor::new(Vec::new()))?;
    /// // An array with 4 chunks.
    /// writer.write_uncompressed(0, &[1])?;
    /// let error = writer.finish().unwrap_err();
    /// assert_eq!(error.to_string(), "3 of 4 chunks have not been given; the first of them is chunk 1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Result<W, Error> {
        self.finish_unless(|| Ok(()))
    }

    /// Does what [`finish`](Self::finish) does, but ends early if `stop` returns an error, and returns this error.
    pub(crate) fn finish_unless(self, stop: impl FnMut() -> Result<(), Error>) -> Result<W, Error> {
        let header = self.header()?;
        self.output.finish(&header, &self.plan.index, &self.plan.trailer, stop)
    }

    /// The stored size of the chunk index in bytes.
    pub(crate) fn index_len(&self) -> u64 {
        self.plan.index.written_len()
    }

    /// The header of the complete frame.
    pub(crate) fn header(&self) -> Result<Vec<u8>, Error> {
        if let Some((missing, first)) = self.plan.index.missing() {
            let nchunks = self.plan.sizes.nchunks;
            return Err(Error::invalid_input(format_args!(
                "{missing} of {nchunks} chunks have not been given; the first of them is chunk {first}"
            )));
        }
        self.header_so_far()
    }

    /// The header of the frame as it is now, with the total size of the chunks written so far.
    pub(super) fn header_so_far(&self) -> Result<Vec<u8>, Error> {
        let Plan { header, section, trailer, index, is_sparse, .. } = &self.plan;
        let cbytes = self.output.len;
        let in_frame = if *is_sparse { 0 } else { cbytes };
        let after = in_frame.saturating_add(index.written_len()).saturating_add(trailer.len() as u64);
        let header = i64::try_from(cbytes).ok().and_then(|cbytes| {
            let mut header = header.clone();
            header.set(HeaderField::Cbytes, &cbytes.to_be_bytes());
            header.finish(section, after)
        });
        header.ok_or_else(|| Error::too_large("the chunks have more bytes than the format can count"))
    }

    pub(super) fn check_number(&self, number: u64) -> Result<(), Error> {
        let nchunks = self.plan.sizes.nchunks;
        if number >= nchunks {
            return Err(misfit(
                number,
                format_args!("does not exist: the array has {nchunks} chunks, from 0 on"),
            ));
        }
        if self.plan.index.is_set(number) {
            return Err(misfit(number, "has already been given, or filled"));
        }
        Ok(())
    }

    /// Checks that an index entry of this array can record `special`.
    fn check_special(&self, special: SpecialValue) -> Result<(), &'static str> {
        match special {
            SpecialValue::Value => Err("cannot repeat a value that is not given; `write_repeated` takes one"),
            SpecialValue::Nan if !self.plan.can_be_nan => {
                Err("cannot be NaN: only little-endian floats of 4 or 8 bytes can")
            }
            _ => Ok(()),
        }
    }

    fn put_stored(&mut self, number: u64, repeats: bool, body: &[u8]) -> Result<(), Error> {
        let Sizes { typesize, blocksize, chunksize, .. } = self.plan.sizes;
        let [typesize, blocksize, nbytes] = [typesize, blocksize, chunksize].map(|size| size as usize);
        let header = stored_header(repeats, typesize, nbytes, blocksize, body.len());
        let header = header.ok_or_else(|| {
            Error::too_large(format_args!("chunk {number} is larger than the format allows"))
        })?;
        self.put(number, [&header, body])
    }

    /// Writes a chunk, given in two parts.
    // There are two parts so that the header and the data of a chunk need not be copied into one buffer.
    pub(crate) fn put(&mut self, number: u64, parts: [&[u8]; 2]) -> Result<(), Error> {
        self.reserve(number)?;
        let len = parts.iter().map(|part| part.len() as u64).sum();
        let stored = self.output.put(|out| {
            parts.iter().try_for_each(|part| out.write_all(part)).map_err(Error::writing)?;
            Ok(len)
        })?;
        self.plan.index.set(number, EntryValue::Stored(stored));
        Ok(())
    }

    fn reserve(&mut self, number: u64) -> Result<(), Error> {
        self.plan.index.reserve(number).map_err(Error::writing)
    }
}

impl<W: Write> fmt::Debug for FrameWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, output, .. } = self;
        f.debug_struct("FrameWriter")
            .field("sizes", &plan.sizes)
            .field("cbytes", &output.len)
            .finish_non_exhaustive()
    }
}

fn misfit(number: u64, why: impl fmt::Display) -> Error {
    Error::invalid_input(format_args!("chunk {number} {why}"))
}
