//! The chunk index, read in pages, so memory does not grow with the number of chunks.

use core::fmt;

#[cfg(feature = "decompress")]
use b2nd_chunk::Decompressor;
use b2nd_chunk::internals;
use b2nd_chunk::{CheckedHeader, ChunkHeader, SpecialValue};

use crate::chunk::entry::{ChunkEntry, ENTRY_LEN, index_start};
#[cfg(feature = "decompress")]
use crate::chunk::expansion::buffer;
use crate::chunk::expansion::{NotDecompressed, check_support, max_data};
use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::header::fields::Generation;
use crate::header::frame_header::Header;
use crate::index::index_rules::{index_flags, index_header};

/// The number of bytes read at a time from an uncompressed index.
const PAGE_LEN: usize = 1 << 16;

/// The largest block size of a compressed index that this crate reads. An index with larger blocks is refused. Blocks
/// of real indexes have 16 KiB to a few MiB.
const MAX_BLOCK_LEN: usize = 1 << 24;

/// The chunk index of a frame, read page by page.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// The offset of the index in the frame.
    start: u64,
    bytes: Vec<u8>,
    header: ChunkHeader,
    form: Form,
}

/// The form in which the index is stored.
#[derive(Clone, Copy, Debug)]
enum Form {
    Uncompressed,
    /// All entries have this value.
    Repeated([u8; ENTRY_LEN]),
    Blocks(CheckedHeader),
}

impl Index {
    /// The number of bytes at the start of the index that determine its form. These are its chunk header and, if all
    /// entries are equal, their value.
    pub(crate) const START_LEN: usize = ChunkHeader::MAX_LEN + ENTRY_LEN;

    /// Parses the start of the index of a frame. `bytes` are the whole index, or at least its first
    /// [`START_LEN`](Self::START_LEN) bytes.
    pub(crate) fn parse(frame: &Header, mut bytes: Vec<u8>) -> Result<Self, Error> {
        if frame.generation != Generation::Present {
            return Err(Error::unsupported(
                "the chunk index of a frame older than C-Blosc2 2.0.0-rc1 is not read",
            ));
        }
        let header = index_header(&bytes, frame, frame.frame_len).map_err(Error::malformed)?;
        if let Some(finding) = index_flags(&header, frame) {
            return Err(Error::malformed(finding));
        }
        let start = index_start(frame);
        // Keep only the first bytes. The entries are read a page at a time, when they are needed.
        bytes.truncate(header.cbytes().min(Self::START_LEN));
        let form = match header.special() {
            // All entries are 0, so each chunk begins right after the header of the frame. In a frame with one chunk,
            // this is valid. In a frame with more chunks, a check of the index reports that two chunks have the same
            // offset.
            Some(SpecialValue::Zeros) => Form::Repeated([0; ENTRY_LEN]),
            Some(SpecialValue::Value) => {
                let value = bytes.get(header.header_len()..).unwrap_or_default();
                let length = header.cbytes() - header.header_len();
                let wrong = || damaged(start, &format_args!("it repeats a value of {length} bytes, not 8"));
                let value = value.try_into().ok().filter(|_| length == ENTRY_LEN);
                Form::Repeated(value.ok_or_else(wrong)?)
            }
            Some(special) => return Err(damaged(start, &format_args!("its entries are {}", special.name()))),
            None if header.is_uncompressed() => {
                let (nbytes, room) = (header.nbytes(), header.cbytes() - header.header_len());
                if nbytes != room {
                    return Err(damaged(
                        start,
                        &format_args!("it should have {nbytes} uncompressed bytes, but has {room}"),
                    ));
                }
                Form::Uncompressed
            }
            None => Form::Blocks(check_blocks(&header, start)?),
        };
        Ok(Self { start, bytes, header, form })
    }

    /// The entry of a chunk, from the bytes of its page.
    pub(crate) fn entry(&self, number: u64, page: &[u8], frame: &Header) -> ChunkEntry {
        let value = i64::from_le_bytes(self.entry_bytes(number, page));
        ChunkEntry::new(number, value, number + 1 == self.len(), frame)
    }

    /// The 8 bytes of an entry, from the bytes of its page.
    pub(crate) fn entry_bytes(&self, number: u64, page: &[u8]) -> [u8; ENTRY_LEN] {
        let within = usize::try_from(number % self.page_len()).unwrap_or_default() * ENTRY_LEN;
        page.get(within..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default()
    }

    /// The offset of the index in the frame.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// The first bytes of the index, at least its chunk header.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The chunk header of the index.
    pub(crate) fn header(&self) -> &ChunkHeader {
        &self.header
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> u64 {
        (self.header.nbytes() / ENTRY_LEN) as u64
    }

    /// Whether the index stores one value for all entries, instead of an entry for each chunk.
    pub(crate) fn is_repeated(&self) -> bool {
        matches!(self.form, Form::Repeated(_))
    }

    /// The number of entries in a page; the last page may have fewer.
    pub(crate) fn page_len(&self) -> u64 {
        let bytes = match self.form {
            Form::Uncompressed | Form::Repeated(_) => PAGE_LEN,
            Form::Blocks(header) => header.blocksize(),
        };
        (bytes / ENTRY_LEN) as u64
    }

    /// Reads the entries of page `number`, as bytes. `read` is a function that reads bytes of the frame: its arguments
    /// are an offset in the frame and a length.
    pub(crate) fn page<E: From<Error>>(
        &self,
        number: u64,
        mut read: impl FnMut(u64, u64) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let first = number.saturating_mul(self.page_len());
        let entries = self.len().saturating_sub(first).min(self.page_len());
        let length = entries * ENTRY_LEN as u64;
        let bytes = match self.form {
            Form::Repeated(value) => value.repeat(usize::try_from(entries).unwrap_or_default()),
            Form::Uncompressed => {
                let at =
                    (self.header.header_len() as u64).saturating_add(first.saturating_mul(ENTRY_LEN as u64));
                read(self.start.saturating_add(at), length)?
            }
            Form::Blocks(header) => self.block(&header, number, length, read)?,
        };
        match bytes.len() as u64 {
            found if found == length => Ok(bytes),
            found => {
                Err(damaged(self.start, &format_args!("block {number} has {found} bytes, not {length}"))
                    .into())
            }
        }
    }

    /// Reads and decompresses block `number` of a compressed index. The block has `length` bytes of entries.
    fn block<E: From<Error>>(
        &self,
        header: &CheckedHeader,
        number: u64,
        length: u64,
        mut read: impl FnMut(u64, u64) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        const INT32: u64 = internals::INT32 as u64;
        let at = (header.header_len() as u64).saturating_add(number.saturating_mul(INT32));
        let start = read(self.start.saturating_add(at), INT32)?;
        let start = start.first_chunk().and_then(|&start| u64::try_from(i32::from_le_bytes(start)).ok());
        let left = start.and_then(|start| (header.cbytes() as u64).checked_sub(start));
        let (Some(start), Some(left)) = (start, left) else {
            return Err(damaged(self.start, &format_args!("block {number} begins outside of it")).into());
        };
        let length = usize::try_from(length).unwrap_or_default();
        let longest = header.longest_block(length) as u64;
        let block = read(self.start.saturating_add(start), longest.min(left))?;
        decompressed_block(header, number, &block, length)
            .map_err(|why| not_decompressed(self.start, why).into())
    }
}

#[cfg(feature = "decompress")]
fn decompressed_block(
    header: &CheckedHeader,
    number: u64,
    block: &[u8],
    length: usize,
) -> Result<Vec<u8>, NotDecompressed> {
    let mut data = buffer(length)?;
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let result = Decompressor::new().decompress_block_bytes(header, number, block, &mut data);
    result.map(|_| data).map_err(NotDecompressed::new)
}

#[cfg(not(feature = "decompress"))]
fn decompressed_block(_: &CheckedHeader, _: u64, _: &[u8], _: usize) -> Result<Vec<u8>, NotDecompressed> {
    // Never called, because `check_blocks` refuses a compressed index in a build without `decompress`.
    Err(NotDecompressed::Unsupported("is compressed".into()))
}

fn damaged(start: u64, why: &dyn fmt::Display) -> Error {
    let text = unread(why);
    Error::malformed(Finding::new(FindingCode::DamagedIndex, Place::ChunkIndex).at(start).text(text))
}

/// The error for an index that could not be decompressed.
fn not_decompressed(start: u64, why: NotDecompressed) -> Error {
    match why {
        NotDecompressed::Damaged(why) => damaged(start, &format_args!("it {why}")),
        NotDecompressed::Unsupported(why) => Error::unsupported(unread(&format_args!("it {why}"))),
        NotDecompressed::TooLarge(why) => Error::too_large(unread(&format_args!("it {why}"))),
    }
}

fn unread(why: &dyn fmt::Display) -> String {
    format!("the chunk index cannot be read: {why}")
}

/// Refuses a compressed index that this build cannot read page by page, even if the index is well-formed.
fn check_blocks(header: &ChunkHeader, start: u64) -> Result<CheckedHeader, Error> {
    let header = check_support(header).map_err(|why| not_decompressed(start, why))?;
    let unread = |why: String| unread(&format_args!("it {why}"));
    if header.needs_other_blocks() {
        return Err(Error::unsupported(unread("has blocks that cannot be decompressed one by one".into())));
    }
    let (nbytes, cbytes, length) = (header.nbytes(), header.cbytes(), header.blocksize());
    let longest = max_data(cbytes);
    if nbytes > longest {
        return Err(Error::too_large(unread(format!(
            "claims {nbytes} bytes of data in {cbytes} stored bytes, but may have at most {longest}"
        ))));
    }
    if length % ENTRY_LEN != 0 || length > MAX_BLOCK_LEN {
        return Err(Error::unsupported(unread(format!(
            "has blocks of {length} bytes, but must have a multiple of {ENTRY_LEN} up to {MAX_BLOCK_LEN}"
        ))));
    }
    Ok(header)
}
