//! The chunk index: a Blosc2 chunk that says where each chunk of the frame is, as one int64 in little-endian.
//!
//! | value | the chunk is |
//! |---|---|
//! | 0 and above | in a contiguous frame, this number of bytes after the header; in a sparse frame, in the file of this number |
//! | bit 63 and bit 56 | nowhere: all items are zero |
//! | bit 63 and bit 58, not bit 56 | nowhere: its items were never written |
//! | bit 63 and bit 57, neither of the two | nowhere: all items are NaN |
//! | bit 63 alone | not readable |
//!
//! Writers set no other bits than these: the last byte of a special one is `81`, `84` or `82`. The index begins after the
//! chunks, in a sparse frame after the header, and ends where the trailer begins. A frame without chunks has none.
//!
//! C-Blosc2 stores a short index as it is, and compresses a long one in blocks of 16 KiB. If all chunks are the same special
//! one, the index is that value, once. So it can be read in pieces, and no more of it than a piece is in memory.

use core::fmt;
use core::iter;
use std::io::{self, ErrorKind, Read, Seek, Write};

use crate::finding::{Code, Finding, Place};
use crate::format::chunk::{
    self, ChunkHeader, Special, decompress, header_of_stored, max_data, needs_other_blocks, single_block,
};
use crate::{Error, Frame};

/// The bytes of an entry.
pub(crate) const ENTRY_LEN: usize = 8;

/// Bytes of an uncompressed index that are read at a time.
const PIECE_LEN: usize = 1 << 16;

/// The longest block of a compressed index that is read. Real ones have 16 KiB to a few MiB.
const MAX_BLOCK_LEN: usize = 1 << 24;

/// What an entry of the index says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An offset, or the number of a file.
    Stored(u64),
    Special(Special),
    Invalid,
}

impl Entry {
    pub(crate) fn of(value: i64) -> Self {
        if let Ok(stored) = u64::try_from(value) {
            return Self::Stored(stored);
        }
        let has = |bit: u32| value >> bit & 1 == 1;
        if has(56) {
            Self::Special(Special::Zeros)
        } else if has(58) {
            Self::Special(Special::Uninitialized)
        } else if has(57) {
            Self::Special(Special::Nan)
        } else {
            Self::Invalid
        }
    }

    /// The bits of the entry. A repeated value is stored, so it has none of its own.
    fn value(self) -> i64 {
        let bit = match self {
            Self::Stored(stored) => return i64::try_from(stored).unwrap_or(MISSING),
            Self::Special(Special::Zeros) => 56,
            Self::Special(Special::Nan) => 57,
            Self::Special(Special::Uninitialized) => 58,
            Self::Special(Special::Value) | Self::Invalid => return MISSING,
        };
        MISSING | 1 << bit
    }
}

/// The largest number of chunks whose index fits a chunk.
pub(crate) const MAX_CHUNKS: u64 = ((i32::MAX as usize - ChunkHeader::MAX_LEN) / ENTRY_LEN) as u64;

/// The size of a block of a new index, which C-Blosc2 has too.
const BLOCK_LEN: usize = 1 << 14;

/// An entry of which nothing is known yet. No writer sets bit 63 alone.
const MISSING: i64 = i64::MIN;

/// The chunk index of a new frame. It takes 8 bytes for each chunk, but none before one is set by its number.
#[derive(Debug)]
pub(crate) struct NewIndex {
    entries: Vec<i64>,
    /// The number of chunks.
    len: u64,
    /// All entries that are not set.
    others: Option<Special>,
}

impl NewIndex {
    /// An index of this number of chunks; `None` if there are more than an index can have.
    pub(crate) fn new(len: u64) -> Option<Self> {
        (len <= MAX_CHUNKS).then(|| Self { entries: Vec::new(), len, others: None })
    }

    /// Makes room for the entry of a chunk. After that, [`set`](Self::set) cannot fail.
    pub(crate) fn reserve(&mut self, number: u64) -> io::Result<()> {
        let [end, len] = [number.saturating_add(1), self.len].map(usize::try_from);
        let (end, len) = (end.map_err(|_| ErrorKind::OutOfMemory)?, len.map_err(|_| ErrorKind::OutOfMemory)?);
        // All at once, because a vector that grows takes more.
        let more = len.max(end).saturating_sub(self.entries.len());
        self.entries.try_reserve_exact(more).map_err(|_| ErrorKind::OutOfMemory)?;
        self.entries.resize(end.max(self.entries.len()), MISSING);
        Ok(())
    }

    /// Sets an entry, for which there is room.
    pub(crate) fn set(&mut self, number: u64, entry: Entry) {
        if let Some(slot) = usize::try_from(number).ok().and_then(|number| self.entries.get_mut(number)) {
            *slot = entry.value();
        }
    }

    /// Sets all entries that are not set yet.
    pub(crate) fn set_others(&mut self, special: Special) {
        self.others = self.others.or(Some(special));
    }

    /// Whether an entry is set to this.
    pub(crate) fn has(&self, number: u64, entry: Entry) -> bool {
        let set = usize::try_from(number).ok().and_then(|number| self.entries.get(number));
        set == Some(&entry.value())
    }

    pub(crate) fn is_set(&self, number: u64) -> bool {
        let entry = usize::try_from(number).ok().and_then(|number| self.entries.get(number));
        self.others.is_some() || entry.is_some_and(|&entry| entry != MISSING)
    }

    /// How many entries are not set, and the number of the first one.
    pub(crate) fn missing(&self) -> Option<(u64, u64)> {
        let set = self.entries.iter().filter(|&&entry| entry != MISSING).count() as u64;
        let first = self.entries.iter().position(|&entry| entry == MISSING).unwrap_or(self.entries.len());
        (self.others.is_none() && set < self.len).then(|| (self.len - set, first as u64))
    }

    /// The value of all entries, if it is a special one.
    fn repeated(&self) -> Option<i64> {
        let mut entries = self.entries().take(self.entries.len().saturating_add(1));
        let first = entries.next().filter(|&first| first < 0)?;
        entries.all(|entry| entry == first).then_some(first)
    }

    fn entries(&self) -> impl Iterator<Item = i64> {
        let others = self.others.map_or(MISSING, |special| Entry::Special(special).value());
        let set = self.entries.iter().map(move |&entry| if entry == MISSING { others } else { entry });
        let rest = usize::try_from(self.len).unwrap_or(usize::MAX).saturating_sub(self.entries.len());
        set.chain(iter::repeat_n(others, rest))
    }

    /// The number of bytes that it is written with.
    pub(crate) fn written_len(&self) -> u64 {
        let entries = match (self.len, self.repeated()) {
            (0, _) => return 0,
            (_, Some(_)) => 1,
            (len, None) => len,
        };
        (ChunkHeader::MAX_LEN as u64).saturating_add(entries.saturating_mul(ENTRY_LEN as u64))
    }

    /// Writes it as a chunk that is not compressed. There is none if there are no chunks.
    pub(crate) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        let nbytes = usize::try_from(self.len).ok().and_then(|len| len.checked_mul(ENTRY_LEN));
        let nbytes = nbytes.ok_or(ErrorKind::OutOfMemory)?;
        let repeats = self.repeated().is_some();
        let body = if repeats { ENTRY_LEN } else { nbytes };
        let header = header_of_stored(repeats, ENTRY_LEN, nbytes, nbytes.min(BLOCK_LEN), body);
        to.write_all(&header.ok_or(ErrorKind::InvalidInput)?)?;
        let entries = body / ENTRY_LEN;
        self.entries().take(entries).try_for_each(|entry| to.write_all(&entry.to_le_bytes()))
    }
}

/// The chunk index of a frame, which is read piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Where it begins in the frame.
    start: u64,
    bytes: Vec<u8>,
    header: ChunkHeader,
    form: Form,
}

/// How the index is stored.
#[derive(Clone, Copy, Debug)]
enum Form {
    Uncompressed,
    /// All entries are the same.
    Repeated([u8; ENTRY_LEN]),
    Blocks,
}

impl Index {
    /// Prepares to read the index that begins at an offset of the frame, with this header.
    pub(crate) fn open<R: Read + Seek>(
        frame: &mut Frame<R>,
        start: u64,
        header: ChunkHeader,
    ) -> Result<Self, Error> {
        let longest = ChunkHeader::MAX_LEN + ENTRY_LEN;
        let bytes = frame.bytes_at(start, header.cbytes.min(longest) as u64)?;
        let form = match header.special {
            Some(Special::Zeros) => Form::Repeated([0; ENTRY_LEN]),
            Some(Special::Value) => {
                let value = bytes.get(header.header_len..).unwrap_or_default();
                let length = header.cbytes - header.header_len;
                let wrong = || damaged(start, &format_args!("it repeats a value of {length} bytes, not 8"));
                let value = value.try_into().ok().filter(|_| length == ENTRY_LEN);
                Form::Repeated(value.ok_or_else(wrong)?)
            }
            Some(special) => return Err(damaged(start, &format_args!("its entries are {special:?}"))),
            None if header.is_uncompressed => {
                let (nbytes, room) = (header.nbytes, header.cbytes - header.header_len);
                if nbytes != room {
                    return Err(damaged(
                        start,
                        &format_args!("{nbytes} bytes are not compressed, but there are {room}"),
                    ));
                }
                Form::Uncompressed
            }
            None if header.blocksize == 0 => return Err(damaged(start, &"its blocks have 0 bytes")),
            None => match unsupported(&header) {
                Some(why) => {
                    return Err(Error::refused(format_args!("the chunk index cannot be read: {why}")));
                }
                None => Form::Blocks,
            },
        };
        Ok(Self { start, bytes, header, form })
    }

    /// The byte of the frame at which it begins.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Its first bytes, at least the header.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The header that it has as a chunk.
    pub(crate) fn header(&self) -> &ChunkHeader {
        &self.header
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> u64 {
        (self.header.nbytes / ENTRY_LEN) as u64
    }

    /// Whether all entries are the same.
    pub(crate) fn is_repeated(&self) -> bool {
        matches!(self.form, Form::Repeated(_))
    }

    /// The number of entries in a piece; the last one may have fewer.
    pub(crate) fn piece_len(&self) -> u64 {
        let bytes = match self.form {
            Form::Uncompressed | Form::Repeated(_) => PIECE_LEN,
            Form::Blocks => self.header.blocksize,
        };
        (bytes / ENTRY_LEN) as u64
    }

    /// The entries of a piece, as bytes.
    pub(crate) fn piece<R: Read + Seek>(&self, frame: &mut Frame<R>, number: u64) -> Result<Vec<u8>, Error> {
        let first = number.saturating_mul(self.piece_len());
        let entries = self.len().saturating_sub(first).min(self.piece_len());
        let length = entries * ENTRY_LEN as u64;
        let bytes = match self.form {
            Form::Repeated(value) => value.repeat(usize::try_from(entries).unwrap_or_default()),
            Form::Uncompressed => {
                let at =
                    (self.header.header_len as u64).saturating_add(first.saturating_mul(ENTRY_LEN as u64));
                frame.bytes_at(self.start.saturating_add(at), length)?
            }
            Form::Blocks => self.block(frame, number, length)?,
        };
        match bytes.len() as u64 {
            found if found == length => Ok(bytes),
            found => {
                Err(damaged(self.start, &format_args!("block {number} has {found} bytes, not {length}")))
            }
        }
    }

    /// A block of a compressed index, which has `length` bytes when decompressed.
    fn block<R: Read + Seek>(
        &self,
        frame: &mut Frame<R>,
        number: u64,
        length: u64,
    ) -> Result<Vec<u8>, Error> {
        const INT32: u64 = chunk::INT32 as u64;
        let header = &self.header;
        let at = (header.header_len as u64).saturating_add(number.saturating_mul(INT32));
        let start = frame.bytes_at(self.start.saturating_add(at), INT32)?;
        let start = start.first_chunk().and_then(|&start| u64::try_from(i32::from_le_bytes(start)).ok());
        let left = start.and_then(|start| (header.cbytes as u64).checked_sub(start));
        let (Some(start), Some(left)) = (start, left) else {
            return Err(damaged(self.start, &format_args!("block {number} begins outside of it")));
        };
        // A stream for each byte of an item at most, each with its length before it, and none longer than its data.
        let longest = length.saturating_add(INT32 * u64::from(header.typesize.max(1)));
        let block = frame.bytes_at(self.start.saturating_add(start), longest.min(left))?;
        let chunk = single_block(&self.bytes, &block, usize::try_from(length).unwrap_or_default());
        let data =
            chunk.ok_or_else(|| "a stream reaches out of it".into()).and_then(|chunk| decompress(&chunk));
        data.map_err(|why| damaged(self.start, &why))
    }
}

fn damaged(start: u64, why: &dyn fmt::Display) -> Error {
    let text = format!("the chunk index cannot be read: {why}");
    Error::malformed(Finding::new(Code::ChunkIndexData, Place::ChunkIndex).at(start).text(text))
}

/// Why a compressed index cannot be read by this crate, though it may be well-formed.
fn unsupported(header: &ChunkHeader) -> Option<String> {
    if cfg!(not(feature = "decompress")) {
        return Some("it is compressed; build with the feature `decompress`".into());
    }
    if !header.has_common_codec() {
        return Some("it is compressed with another codec than those of Blosc2".into());
    }
    if needs_other_blocks(header) {
        return Some("its blocks cannot be decompressed one by one".into());
    }
    let (nbytes, cbytes) = (header.nbytes, header.cbytes);
    let longest = max_data(cbytes);
    if nbytes > longest {
        return Some(format!("its {cbytes} bytes claim {nbytes} bytes, but may have at most {longest}"));
    }
    let length = header.blocksize;
    (length % ENTRY_LEN != 0 || length > MAX_BLOCK_LEN).then(|| {
        format!(
            "it has blocks of {length} bytes, but must have a multiple of {ENTRY_LEN} up to {MAX_BLOCK_LEN}"
        )
    })
}
