//! The chunks of a frame: where each one is, and what its header says.

use core::iter::FusedIterator;
use std::io::{Read, Seek};

use crate::find::chunk_file;
use crate::find::open::open_at_once;
use crate::finding::{Code, Finding, Place};
use crate::format::chunk::{ChunkHeader, Special};
use crate::format::fields::Generation;
use crate::format::header::Header;
use crate::format::index::{ENTRY_LEN, Entry, Index};
use crate::read::read_up_to;
use crate::{Error, Frame};

/// An entry of the chunk index: where a chunk is.
///
/// ```
/// use b2nd_frame::{ChunkPlace, Frame, Special};
///
/// let mut frame = Frame::open("tests/data/peers/special_some.b2nd")?;
/// let mut stored = 0;
/// for entry in frame.chunks()? {
///     let entry = entry?;
///     match entry.place {
///         ChunkPlace::Frame(byte) => stored += 1,
///         ChunkPlace::Special(Special::Zeros) => println!("chunk {} is all zeros", entry.number),
///         _ => {}
///     }
/// }
/// # assert!(stored > 0);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkEntry {
    /// The number of the chunk, in the order of the data.
    pub number: u64,
    /// The bytes of the chunk, decompressed. `None` if chunks have different sizes: then only the header of the chunk says
    /// it.
    pub nbytes: Option<u64>,
    /// Where the chunk is.
    pub place: ChunkPlace,
}

/// Where a chunk is.
///
/// ```
/// use b2nd_frame::{ChunkPlace, Frame};
///
/// let mut frame = Frame::open("tests/data/sparse.b2nd")?;
/// let first = frame.chunks()?.next().expect("a chunk")?;
/// assert_eq!(first.place, ChunkPlace::File(0));
/// assert_eq!(first.file_name().as_deref(), Some("00000000.chunk"));
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkPlace {
    /// In the frame, from this byte on. In the file it is [`Frame::offset`] later.
    Frame(u64),
    /// In the file of this number in the directory of a sparse frame.
    File(u64),
    /// Nowhere: all items have one value. It is never [`Special::Value`], which is stored.
    Special(Special),
    /// Not known: the index has this number, which is an offset outside the chunks or an unknown special value.
    Invalid(i64),
}

impl ChunkEntry {
    /// Whether the chunk is in the frame, or in a file of its own.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        matches!(self.place, ChunkPlace::Frame(_) | ChunkPlace::File(_))
    }

    /// The name of the chunk's file in the directory of a sparse frame.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        match self.place {
            ChunkPlace::File(number) => Some(chunk_file::name(number)),
            _ => None,
        }
    }
}

/// How many chunks of a frame are stored, and how many have one value instead, by the chunk index.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let mut frame = Frame::open("tests/data/peers/special_some.b2nd")?;
/// let counts = frame.count_chunks()?;
/// println!("{} of {} chunks are stored", counts.stored, counts.total());
/// # assert!(counts.stored > 0 && counts.stored < counts.total());
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkCounts {
    /// Chunks in the frame, or in files of their own.
    pub stored: u64,
    /// Chunks of which all items are zero.
    pub zeros: u64,
    /// Chunks of which all items are NaN.
    pub nan: u64,
    /// Chunks of which no item was ever written.
    pub uninitialized: u64,
    /// Chunks of which nothing is known, as their entry makes no sense.
    pub invalid: u64,
}

impl ChunkCounts {
    /// The number of all chunks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stored + self.zeros + self.nan + self.uninitialized + self.invalid
    }

    /// The number of chunks that have one value and are not stored.
    pub(crate) fn special(&self) -> u64 {
        self.zeros + self.nan + self.uninitialized
    }

    /// The count to which a chunk in this place belongs.
    pub(crate) fn of(&mut self, place: ChunkPlace) -> &mut u64 {
        match place {
            ChunkPlace::Frame(_) | ChunkPlace::File(_) => &mut self.stored,
            ChunkPlace::Special(Special::Zeros) => &mut self.zeros,
            ChunkPlace::Special(Special::Nan) => &mut self.nan,
            ChunkPlace::Special(Special::Uninitialized) => &mut self.uninitialized,
            ChunkPlace::Special(Special::Value) | ChunkPlace::Invalid(_) => &mut self.invalid,
        }
    }
}

/// An iterator over the chunk index, from [`Frame::chunks`]. After an error it ends.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let mut chunks = frame.chunks()?;
/// // It is asked about a chunk between two steps, so it is not in a `for` loop.
/// while let Some(entry) = chunks.next().transpose()? {
///     if let Some(header) = chunks.header(&entry)? {
///         println!("chunk {}: {} bytes", entry.number, header.cbytes);
///     }
/// }
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Debug)]
pub struct Chunks<'f, R> {
    frame: &'f mut Frame<R>,
    /// `None` if there are no chunks, or after an error.
    index: Option<Index>,
    next: u64,
    piece: Vec<u8>,
    /// The number of the piece; `None` before the first one.
    piece_number: Option<u64>,
    near: Near,
    /// Whether the frame has an array, once that was asked.
    is_array: Option<bool>,
}

/// The bytes that were read last. Where small chunks lie near each other, one read has the headers of many.
#[derive(Debug, Default)]
struct Near {
    start: u64,
    bytes: Vec<u8>,
    /// Where the longest of these reads ended. No byte before is read in advance again, in whichever order the chunks are.
    furthest: u64,
}

impl Near {
    /// From one read to the next, the distance up to which more is read than asked for.
    const DISTANCE: u64 = 1 << 11;

    /// The bytes that are read then.
    const LEN: u64 = 1 << 15;

    fn get(&self, start: u64, length: u64) -> Option<&[u8]> {
        let from = usize::try_from(start.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..)?.get(..usize::try_from(length).ok()?)
    }

    /// How much to read at an offset.
    fn length(&self, start: u64, length: u64) -> u64 {
        let end = self.start.saturating_add(self.bytes.len() as u64);
        let is_near = start >= self.start && start <= end.saturating_add(Self::DISTANCE);
        let is_new = start.saturating_add(length) > self.furthest;
        if is_near && is_new { length.max(Self::LEN) } else { length }
    }
}

impl<R: Read + Seek> Frame<R> {
    /// Reads the chunk index: for each chunk where it is, or which value all of its items have.
    ///
    /// The index is read in pieces, so that memory does not grow with the number of chunks. [`nth`](Iterator::nth) goes to a
    /// chunk without reading the entries before it. The chunks themselves are not read: [`Chunks::header`] does that.
    ///
    /// # Errors
    ///
    /// If the index is not where the header puts it, or does not have an entry for each chunk. From the iterator, if a
    /// piece of the index is damaged. The error is of the kind [`Refused`](crate::ErrorKind::Refused) if the index
    /// is compressed and the feature `decompress` is off, and for frames older than C-Blosc2 2.0.0-rc1.
    ///
    /// ```
    /// use b2nd_frame::{ChunkPlace, Frame};
    ///
    /// // To read the bytes of the third chunk with any Blosc2 decompressor.
    /// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let mut chunks = frame.chunks()?;
    /// let third = chunks.nth(2).expect("a chunk")?;
    /// let header = chunks.header(&third)?.expect("a stored chunk");
    /// let ChunkPlace::Frame(start) = third.place else { panic!("not in the frame") };
    /// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// let chunk = &file[start as usize..][..header.cbytes];
    /// assert_eq!((chunk[0], header.nbytes), (5, 32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunks(&mut self) -> Result<Chunks<'_, R>, Error> {
        let index = if self.header().nbytes > 0 { Some(self.open_index()?) } else { None };
        Ok(Chunks {
            frame: self,
            index,
            next: 0,
            piece: Vec::new(),
            piece_number: None,
            near: Near::default(),
            is_array: None,
        })
    }

    /// Counts the chunks that are stored, and those that have one value instead.
    ///
    /// # Errors
    ///
    /// As [`chunks`](Self::chunks) and its iterator.
    pub fn count_chunks(&mut self) -> Result<ChunkCounts, Error> {
        let mut counts = ChunkCounts::default();
        let mut chunks = self.chunks()?;
        let (len, is_repeated) = (chunks.len(), chunks.is_repeated());
        while let Some(entry) = chunks.next().transpose()? {
            let count = counts.of(entry.place);
            if is_repeated {
                *count = len;
                break;
            }
            *count += 1;
        }
        Ok(counts)
    }

    fn open_index(&mut self) -> Result<Index, Error> {
        if self.header().generation != Generation::Present {
            return Err(Error::refused(
                "the chunk index of a frame older than C-Blosc2 2.0.0-rc1 is not read",
            ));
        }
        let end = self.header().frame_len;
        let (start, header) = self.index_header(end)?.map_err(Error::malformed)?;
        Index::open(self, start, header)
    }

    /// Where the chunk index begins, and the header that it has as a chunk; or what is wrong with it. It ends at `end` or
    /// before.
    pub(crate) fn index_header(&mut self, end: u64) -> Result<Result<(u64, ChunkHeader), Finding>, Error> {
        let header = self.header();
        let nchunks = header.nchunks();
        let start = index_start(header);
        let left = end.saturating_sub(start);
        let about = |code| Finding::new(code, Place::ChunkIndex).at(start);
        let length = left.min(ChunkHeader::MAX_LEN as u64);
        let bytes = if length > 0 { self.bytes_at(start, length)? } else { Vec::new() };
        let Some(index) = ChunkHeader::parse(&bytes).filter(|index| index.cbytes as u64 <= left) else {
            let text = match left {
                0 => "no bytes are left for the chunk index, which should begin here".into(),
                _ => format!("the chunk index should begin here, in at most {left} bytes"),
            };
            return Ok(Err(about(Code::ChunkIndexPlace).text(text)));
        };
        let expected = nchunks.map(|nchunks| nchunks.checked_mul(ENTRY_LEN as u64));
        if let Some(nchunks) = nchunks.filter(|_| expected != Some(Some(index.nbytes as u64))) {
            let found = index.nbytes / ENTRY_LEN;
            let text = format!("the chunk index has {found} chunks, but nbytes and chunksize give {nchunks}");
            return Ok(Err(about(Code::ChunkIndexCount).numbers(nchunks, found).text(text)));
        }
        Ok(Ok((start, index)))
    }
}

/// Where the chunk index begins. The chunks of a sparse frame are in other files.
pub(crate) fn index_start(header: &Header) -> u64 {
    (header.header_len as u64).saturating_add(chunks_len(header))
}

/// The bytes of the chunks in the frame itself.
pub(crate) fn chunks_len(header: &Header) -> u64 {
    if header.is_sparse() { 0 } else { u64::try_from(header.cbytes).unwrap_or_default() }
}

/// The largest offset that a chunk can have, counted from the end of the header; `None` if no chunk fits.
pub(crate) fn max_offset(header: &Header) -> Option<u64> {
    chunks_len(header).checked_sub(ChunkHeader::MAX_LEN as u64)
}

impl<R: Read + Seek> Chunks<'_, R> {
    /// Reads the header of a chunk; `None` if the chunk is not stored. What it says may be wrong: [`checked_header`] compares
    /// it with the frame.
    ///
    /// [`checked_header`]: Self::checked_header
    ///
    /// # Errors
    ///
    /// If there is no header of a chunk, or no such file in the directory of a sparse frame. A sparse frame that was not
    /// opened by its path gives an error of the kind [`Refused`](crate::ErrorKind::Refused).
    ///
    /// ```
    /// use b2nd_frame::{Frame, Special};
    ///
    /// let mut frame = Frame::open("tests/data/peers/special_full.b2nd")?;
    /// let mut chunks = frame.chunks()?;
    /// while let Some(entry) = chunks.next().transpose()? {
    ///     let header = chunks.header(&entry)?.expect("a stored chunk");
    ///     assert_eq!(header.special, Some(Special::Value));
    /// }
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn header(&mut self, entry: &ChunkEntry) -> Result<Option<ChunkHeader>, Error> {
        if !entry.is_stored() {
            return Ok(None);
        }
        let (bytes, _) = self.bytes(entry, 0, ChunkHeader::MAX_LEN as u64)?.map_err(Error::malformed)?;
        match ChunkHeader::parse(&bytes) {
            Some(header) => Ok(Some(header)),
            None => Err(Error::malformed(not_a_chunk(entry))),
        }
    }

    /// Bytes of a stored chunk, from one of its bytes on; and how many it can have, to the end of the chunks or of its file.
    pub(crate) fn bytes(
        &mut self,
        entry: &ChunkEntry,
        from: u64,
        length: u64,
    ) -> Result<Result<(Vec<u8>, u64), Finding>, Error> {
        match entry.place {
            ChunkPlace::Frame(start) => {
                let room = index_start(self.frame.header()).saturating_sub(start);
                let length = length.min(room.saturating_sub(from));
                Ok(Ok((self.near(start.saturating_add(from), length)?, room)))
            }
            ChunkPlace::File(number) => {
                let Some(directory) = chunk_file::directory(self.frame) else {
                    return Err(Error::refused(
                        "the chunks of a sparse frame are only found if it was opened by its path",
                    ));
                };
                let path = directory.join(chunk_file::name(number));
                let opened = open_at_once(&path).and_then(|file| Ok((file.metadata()?, file)));
                let (metadata, mut file) = match opened {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        return Ok(Err(missing(entry)));
                    }
                    Ok((metadata, _)) if !metadata.is_file() => return Ok(Err(missing(entry))),
                    opened => opened.map_err(|error| Error::io("read", &path, error))?,
                };
                let mut bytes = Vec::new();
                let read = |error| Error::io("read", &path, error);
                file.seek(std::io::SeekFrom::Start(from)).map_err(read)?;
                let room = metadata.len();
                read_up_to(&mut file, length.min(room.saturating_sub(from)), &mut bytes).map_err(read)?;
                Ok(Ok((bytes, room)))
            }
            ChunkPlace::Special(_) | ChunkPlace::Invalid(_) => Ok(Ok((Vec::new(), 0))),
        }
    }

    /// Bytes of the frame that are before the end of the chunks.
    fn near(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        if let Some(bytes) = self.near.get(start, length) {
            return Ok(bytes.to_vec());
        }
        let longest = self.near.length(start, length).min(self.end().saturating_sub(start));
        let bytes = self.frame.bytes_at(start, longest.max(length))?;
        if length > Near::LEN {
            return Ok(bytes);
        }
        let furthest = self.near.furthest.max(if longest > length { start + longest } else { 0 });
        self.near = Near { start, bytes, furthest };
        Ok(self.near.get(start, length).unwrap_or_default().to_vec())
    }

    /// Bytes of the frame, wherever they are.
    pub(crate) fn frame_bytes(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        self.frame.bytes_at(start, length)
    }

    /// The frame whose chunks these are.
    pub(crate) fn frame(&self) -> &Frame<R> {
        self.frame
    }

    /// Whether the frame has an array. Its metalayer is read once, however often this is asked.
    pub(crate) fn is_array(&mut self) -> bool {
        let frame = &*self.frame;
        *self.is_array.get_or_insert_with(|| frame.is_array())
    }

    /// The number of chunks.
    pub(crate) fn len(&self) -> u64 {
        self.index.as_ref().map_or(0, Index::len)
    }

    /// Whether all entries are the same.
    pub(crate) fn is_repeated(&self) -> bool {
        self.index.as_ref().is_some_and(Index::is_repeated)
    }

    /// Whether the chunks are in files that are not known.
    pub(crate) fn is_lost(&self) -> bool {
        self.frame.header().is_sparse() && chunk_file::directory(self.frame).is_none()
    }

    /// The byte of the frame at which the chunks end.
    pub(crate) fn end(&self) -> u64 {
        index_start(self.frame.header())
    }

    /// The chunk index; `None` if there are no chunks.
    pub(crate) fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// The bytes of an entry in the piece that was read last.
    pub(crate) fn entry_bytes(&self, number: u64) -> [u8; ENTRY_LEN] {
        let within = self.index.as_ref().map_or(0, |index| number % index.piece_len());
        let within = usize::try_from(within).unwrap_or_default() * ENTRY_LEN;
        self.piece.get(within..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default()
    }

    /// The entry of the next chunk.
    fn read(&mut self) -> Result<Option<ChunkEntry>, Error> {
        let Some(index) = &self.index else { return Ok(None) };
        let number = self.next;
        if number >= index.len() {
            return Ok(None);
        }
        let piece_number = number / index.piece_len();
        if self.piece_number != Some(piece_number) {
            self.piece = index.piece(self.frame, piece_number)?;
            self.piece_number = Some(piece_number);
        }
        let is_last = number + 1 == index.len();
        self.next += 1;
        let header = self.frame.header();
        let value = i64::from_le_bytes(self.entry_bytes(number));
        let place = match Entry::of(value) {
            Entry::Special(special) => ChunkPlace::Special(special),
            Entry::Stored(number) if header.is_sparse() => ChunkPlace::File(number),
            Entry::Stored(offset) if max_offset(header).is_some_and(|most| offset <= most) => {
                ChunkPlace::Frame((header.header_len as u64).saturating_add(offset))
            }
            Entry::Stored(_) | Entry::Invalid => ChunkPlace::Invalid(value),
        };
        Ok(Some(ChunkEntry { number, nbytes: nbytes(header, is_last), place }))
    }
}

/// The bytes of a chunk, decompressed, if all have the same.
fn nbytes(header: &Header, is_last: bool) -> Option<u64> {
    let chunksize = u64::try_from(header.chunksize).ok().filter(|&chunksize| chunksize > 0)?;
    let rest = u64::try_from(header.nbytes).ok()? % chunksize;
    Some(if is_last && rest > 0 { rest } else { chunksize })
}

/// A finding about a stored chunk.
pub(crate) fn about(code: Code, entry: &ChunkEntry) -> Finding {
    let finding = Finding::new(code, Place::Chunk).of_chunk(entry.number);
    match entry.place {
        ChunkPlace::Frame(start) => finding.at(start),
        _ => finding,
    }
}

pub(crate) fn not_a_chunk(entry: &ChunkEntry) -> Finding {
    let where_ = entry.file_name().map_or("here".into(), |name| format!("in {name}"));
    let text = format!(
        "chunk {} should begin {where_}, but these bytes are not the header of a chunk",
        entry.number
    );
    about(Code::ChunkHeader, entry).text(text)
}

fn missing(entry: &ChunkEntry) -> Finding {
    let name = entry.file_name().unwrap_or_default();
    about(Code::ChunkFile, entry)
        .text(format!("chunk {} should be in {name}, which is missing", entry.number))
}

impl<R: Read + Seek> Iterator for Chunks<'_, R> {
    type Item = Result<ChunkEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.read();
        if entry.is_err() {
            self.index = None;
        }
        entry.transpose()
    }

    fn nth(&mut self, count: usize) -> Option<Self::Item> {
        self.next = self.next.saturating_add(count as u64);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.index.as_ref().map_or(0, |index| index.len().saturating_sub(self.next));
        // An error is the last item.
        (usize::from(left > 0), usize::try_from(left).ok())
    }
}

impl<R: Read + Seek> FusedIterator for Chunks<'_, R> {}
