//! Reads and decompresses chunks.

use b2nd_chunk::{Chunk, Decompressor};

use crate::chunk::chunk_rules::{not_decompressed, unread, wrong_place};
use crate::chunk::entry::{ChunkEntry, ChunkPlace};
use crate::chunk::expansion::{repeated, zeroed};
use crate::chunk::special_item::one_item;
use crate::error::Error;
use crate::read::chunks::Chunks;
use crate::source::ReadAt;

impl<R: ReadAt> Chunks<'_, R> {
    /// Reads and decompresses the data of a chunk. The blocks of the chunk follow one another in the data, as
    /// [`Block`](b2nd_serde::geometry::Block) describes. The items of a constant chunk are generated; items that were
    /// never written become zeros.
    ///
    /// To read items of an array, use [`Array::slice`](crate::Array::slice). A chunk of a few stored bytes can
    /// decompress to 2 GiB. [`ChunkEntry::nbytes`] and
    /// [`ChunkHeader::nbytes`](b2nd_chunk::ChunkHeader::nbytes) give the decompressed size before the
    /// chunk is decompressed.
    ///
    /// # Errors
    ///
    /// The errors of [`compressed`](Self::compressed). [`Malformed`](crate::ErrorKind::Malformed) if the chunk is
    /// damaged, or its entry in the chunk index is invalid. [`Unsupported`](crate::ErrorKind::Unsupported) if the codec
    /// or a filter is a plugin. Also `Unsupported` if the decompressed size of a special chunk is not known, or if the
    /// items of a chunk of NaN do not have 4 or 8 bytes. [`TooLarge`](crate::ErrorKind::TooLarge) if there is not
    /// enough memory.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let mut chunks = frame.chunks()?;
    /// let first = chunks.get(0)?.expect("a chunk");
    /// let data = chunks.decompressed(&first)?;
    /// // Each block has two items of four bytes.
    /// assert_eq!((data.len(), &data[..8]), (32, &[0, 0, 0, 0, 1, 0, 0, 0][..]));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn decompressed(&mut self, entry: &ChunkEntry) -> Result<Vec<u8>, Error> {
        let item = match entry.place {
            ChunkPlace::Frame(_) | ChunkPlace::File(_) => {
                let data = self.decompressed_bytes(entry);
                return self.or_changing(data);
            }
            ChunkPlace::Special(special) => {
                let typesize = usize::try_from(self.frame.header().typesize).unwrap_or(1);
                one_item(special, typesize).map_err(|why| unread(entry, &why))?
            }
            ChunkPlace::Invalid(value) => return Err(Error::malformed(wrong_place(entry, value))),
        };
        let nbytes = entry.nbytes.and_then(|nbytes| usize::try_from(nbytes).ok());
        let unknown = || unread(entry, "repeats one value, but its number of items is not stored");
        repeated(&item, nbytes.ok_or_else(unknown)?)
    }

    /// The data of a stored chunk.
    fn decompressed_bytes(&mut self, entry: &ChunkEntry) -> Result<Vec<u8>, Error> {
        let chunk = self.compressed(entry)?.unwrap_or_default();
        let failed = |error| not_decompressed(entry, &error);
        let parsed = Chunk::parse(&chunk).map_err(failed)?;
        let header = parsed.header();
        if header.special().is_some() {
            return repeated(chunk.get(header.header_len()..).unwrap_or_default(), header.nbytes());
        }
        let mut data = zeroed(header.nbytes())?;
        Decompressor::new().decompress_into(&parsed, &mut data).map_err(failed)?;
        Ok(data)
    }
}
