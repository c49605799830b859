//! Annotated bytes of the chunk headers, the tables of blocks and the chunk index of a frame.

use core::fmt;
use core::ops::ControlFlow;

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::Codec;
use b2nd_chunk::internals::{INT32, PARTS};
use b2nd_serde::dump::{self, Row};

use super::annotator::{Annotator, Receive, Stop, until_break};
use super::header_rows::filter_part;
use crate::chunk::chunk_rules::{missing, not_a_chunk};
use crate::chunk::entry::{ChunkEntry, ChunkPlace, ENTRY_LEN};
use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Place, counted};
use crate::header::frame::Frame;
use crate::messagepack::cursor::Part;
use crate::read::chunk_file_bytes::ChunkBytes;
use crate::read::chunks::Chunks;
use crate::source::ReadAt;

/// Passes the rows of all chunks and of the chunk index to a function.
pub(crate) fn all<R: ReadAt>(
    frame: &Frame<R>,
    mut receive: impl FnMut(&Row<'_>) -> ControlFlow<()>,
) -> Result<(), Error> {
    let receive = &mut until_break(&mut receive);
    let end = frame.header().frame_len;
    let codec = frame.header().codec;
    let mut chunks = Chunks::open_or_changing(frame)?;
    let mut result = Ok(());
    while let Some(entry) = chunks.next() {
        match entry.and_then(|entry| Ok((entry, bytes_shown(&mut chunks, &entry)?))) {
            Ok((entry, bytes)) => {
                if write_chunk(&entry, bytes.as_deref(), codec, end, receive).is_err() {
                    // An error only means that the function has returned `Break`.
                    return Ok(());
                }
            }
            Err(error) => {
                result = chunks.or_changing(Err(error));
                break;
            }
        }
    }
    // The index is read a second time, because keeping its entries from the first time would take memory for each
    // chunk.
    let mut chunks = Chunks::open_or_changing(frame)?;
    let Some(index) = chunks.index() else { return result };
    let (start, header) = (index.start(), *index.header());
    let bytes = chunks.frame.read_range(start, length_shown(index.bytes()) as u64)?;
    // If the index is a special chunk, it has no entries to show.
    if write_index(&bytes, &header, start, end, receive).is_err() || header.special().is_some() {
        return result;
    }
    // In a compressed index, no byte of the file stands for one particular entry, so the row of an entry has no
    // bytes.
    let (kind, length) = if header.is_uncompressed() { ("int64 le", ENTRY_LEN) } else { ("", 0) };
    let before = if header.is_uncompressed() { header.header_len() } else { bytes.len() };
    let mut offset = start.saturating_add(before as u64);
    while let Some(entry) = chunks.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // If the first pass over the index failed too, its error is in `result`, and is returned. If `result`
            // is `Ok`, only this second pass failed, and its error is returned.
            Err(error) => return result.and(Err(error)),
        };
        let name = format!("chunk {}", entry.number);
        let bytes = chunks.entry_bytes(entry.number);
        let mut rows = dump::Annotator::new(&bytes, receive).within(offset, end);
        rows.depth = 1;
        if rows.value(length, kind, &name, place(&entry)).is_err() {
            break;
        }
        offset = rows.offset();
    }
    result
}

/// Passes the rows of one chunk header to a function.
pub(crate) fn one<R: ReadAt>(
    frame: &Frame<R>,
    number: u64,
    mut receive: impl FnMut(&Row<'_>) -> ControlFlow<()>,
) -> Result<(), Error> {
    let (end, codec) = (frame.header().frame_len, frame.header().codec);
    let mut chunks = Chunks::open_or_changing(frame)?;
    let Some(entry) = chunks.get(number)? else {
        let count = counted(chunks.len(), "chunk");
        return Err(Error::invalid_input(format_args!("there is no chunk {number}: the frame has {count}")));
    };
    let bytes = bytes_shown(&mut chunks, &entry)?;
    // An error only means that the function returned `Break`.
    let _ = write_chunk(&entry, bytes.as_deref(), codec, end, &mut until_break(&mut receive));
    Ok(())
}

/// The bytes of a chunk that are shown; `None` if the chunk is not stored, or its file is missing.
fn bytes_shown<R: ReadAt>(chunks: &mut Chunks<'_, R>, entry: &ChunkEntry) -> Result<Option<Vec<u8>>, Error> {
    if !entry.is_stored() {
        return Ok(None);
    }
    let first = chunks.bytes(entry, 0, ChunkHeader::MAX_LEN as u64)?;
    let Some(ChunkBytes { mut bytes, .. }) = first else { return Ok(None) };
    let length = length_shown(&bytes);
    if bytes.len() < length {
        bytes = chunks.bytes(entry, 0, length as u64)?.map_or(bytes, |longer| longer.bytes);
    }
    bytes.truncate(length);
    Ok(Some(bytes))
}

/// The maximum number of bytes shown of a table of blocks. Each block has a row. All entries of a hostile index can
/// point to the same chunk, and its table is shown for each of them. Without a limit, there could be far too many rows.
const MAX_TABLE_SHOWN: usize = 256 * INT32;

/// The number of bytes of a chunk that are shown: its header, and at most [`MAX_TABLE_SHOWN`] bytes of its table of
/// blocks. If the whole table is shown, the length of the chunk's dictionary is shown too. `bytes` begins where the
/// chunk begins. Bytes after the chunk are never shown.
fn length_shown(bytes: &[u8]) -> usize {
    ChunkHeader::parse(bytes).map_or(ChunkHeader::MAX_LEN, |header| {
        (header.header_len() + parts_shown(&header)).min(header.cbytes())
    })
}

/// The number of bytes of the table of blocks, plus the 4 bytes after the table that store the length of the
/// dictionary, if the chunk has one.
fn parts(header: &ChunkHeader) -> usize {
    let dictionary = if header.has_table() && header.has_dictionary() { INT32 } else { 0 };
    header.table_len().unwrap_or_default().saturating_add(dictionary)
}

fn parts_shown(header: &ChunkHeader) -> usize {
    let is_whole = header.table_len().unwrap_or_default() <= MAX_TABLE_SHOWN;
    if is_whole { parts(header) } else { MAX_TABLE_SHOWN }
}

/// The fault of an incomplete table of blocks, or `None` if the table is complete. The table is incomplete if `bytes`
/// has fewer bytes than are to be shown, or if the whole table does not fit in the chunk (`cbytes`). The length of the
/// dictionary counts here as a part of the table.
fn short_table(bytes: &[u8], header: &ChunkHeader) -> Option<(usize, String)> {
    let is_shown = bytes.len() >= header.header_len() + parts_shown(header);
    let found = if is_shown { header.cbytes() } else { bytes.len() };
    let lacking = header.header_len().saturating_add(parts(header)).saturating_sub(found);
    (lacking > 0)
        .then(|| (bytes.len(), format!("the offsets of the blocks end {} early", counted(lacking, "byte"))))
}

/// Shows a chunk. `bytes` are its first bytes; `None` if the chunk is not stored, or its file is missing.
fn write_chunk(
    entry: &ChunkEntry,
    bytes: Option<&[u8]>,
    codec: Codec,
    end: u64,
    receive: &mut Receive<'_>,
) -> fmt::Result {
    let offset = if let ChunkPlace::Frame(offset) = entry.place { offset } else { 0 };
    let shown = bytes.unwrap_or_default();
    let mut rows = dump::Annotator::new(shown, receive).within(offset, end);
    rows.value(0, "", format_args!("chunk {}", entry.number), place(entry))?;
    if !entry.is_stored() {
        return Ok(());
    }
    rows.depth += 1;
    if bytes.is_none() {
        return rows.fault(&missing(entry).message());
    }
    match ChunkHeader::parse(shown) {
        Some(header) => {
            let codec = header.codec().or(Some(codec));
            Annotator::new(part(offset), rows, short_table(shown, &header))
                .run(|rows| rows.chunk(&header, codec))
        }
        None => rows.fault(&not_a_chunk(entry).message()),
    }
}

/// Shows the chunk index, without its entries.
fn write_index(
    bytes: &[u8],
    header: &ChunkHeader,
    start: u64,
    end: u64,
    receive: &mut Receive<'_>,
) -> fmt::Result {
    let count = counted(header.nbytes() / ENTRY_LEN, "chunk");
    let mut rows = dump::Annotator::new(bytes, receive).within(start, end);
    rows.value(0, "", "chunk index", &count)?;
    rows.depth += 1;
    Annotator::new(part(start), rows, short_table(bytes, header))
        .run(|rows| rows.chunk(header, header.codec()))
}

/// The `Part` for a cursor over a chunk that begins at `start`. Its place and its code do not matter, because the
/// findings of this cursor are not shown.
fn part(start: u64) -> Part {
    Part { place: Place::Chunk, start, code: FindingCode::ChunkHeader }
}

/// Describes the place of a chunk, such as `byte 165`.
fn place(entry: &ChunkEntry) -> String {
    match entry.place {
        ChunkPlace::Frame(start) => format!("byte {start}"),
        ChunkPlace::File(_) => format!("in {}", entry.file_name().unwrap_or_default()),
        ChunkPlace::Special(value) => value.name().into(),
        ChunkPlace::Invalid(number) => format!("nowhere: {number}"),
    }
}

/// The stored size of the data of a chunk.
pub(super) fn stored(header: &ChunkHeader) -> String {
    counted(header.cbytes() - header.header_len(), "byte")
}

/// Describes how the data of a chunk is stored, such as `uncompressed`. `codec` is the codec of the chunk or, if its
/// header names none, of the frame.
fn form(header: &ChunkHeader, codec: Option<Codec>) -> String {
    match (header.special(), codec) {
        (Some(value), _) => value.name().into(),
        _ if header.is_uncompressed() => "uncompressed".into(),
        (None, Some(codec)) => format!("{codec}, {}", if header.is_split() { "split" } else { "unsplit" }),
        (None, None) => "compressed".into(),
    }
}

impl Annotator<'_, '_> {
    /// Shows the header of a chunk, the offsets of its blocks, and the length of its data.
    fn chunk(&mut self, header: &ChunkHeader, codec: Option<Codec>) -> Result<(), Stop> {
        self.chunk_header(header, codec)?;
        let table = header.table_len().unwrap_or_default();
        let shown = table.min(MAX_TABLE_SHOWN);
        let ends = format!("the chunk has {}", counted(header.cbytes(), "byte"));
        for number in 0..shown / INT32 {
            let start = i32::from_le_bytes(self.cursor.array()?);
            let is_inside = usize::try_from(start).is_ok_and(|start| start < header.cbytes());
            let fault = (!is_inside).then_some(&ends as &dyn fmt::Display);
            let name = format!("block {number}");
            self.row_with("int32 le", &name, format_args!("byte {start} of the chunk"), fault)?;
        }
        if table > shown {
            self.note("blocks", &format_args!("{} more", (table - shown) / INT32))?;
        }
        let mut before = header.header_len().saturating_add(parts(header));
        if before > header.cbytes() {
            return Err(Stop::Fault);
        }
        let mut name = "data";
        if parts_shown(header) > shown {
            let length = i32::from_le_bytes(self.cursor.array()?);
            let inside = usize::try_from(length).ok().filter(|&length| length <= header.cbytes() - before);
            let fault = inside.is_none().then_some(&ends as &dyn fmt::Display);
            self.row_with("int32 le", "dictionary", format_args!("{length} bytes"), fault)?;
            before += inside.unwrap_or_default();
        } else if parts(header) > table {
            name = "dictionary and data";
        }
        Ok(self.note(name, &counted(header.cbytes() - before, "byte"))?)
    }

    /// Shows the header of a chunk. `codec` is as in [`form`].
    pub(super) fn chunk_header(&mut self, header: &ChunkHeader, codec: Option<Codec>) -> Result<(), Stop> {
        for &(name, _, len) in PARTS.iter().filter(|&&(_, offset, _)| offset < header.header_len()) {
            let bytes = self.cursor.take(len)?;
            let number = bytes.first_chunk().copied().map(i32::from_le_bytes);
            let first = bytes.first().copied().unwrap_or_default();
            let (kind, value) = match (name, number) {
                ("flags", _) => ("", form(header, codec)),
                ("nbytes" | "blocksize" | "cbytes", Some(number)) => ("int32 le", number.to_string()),
                ("block_flags", _) if header.has_variable_blocks() => ("", "blocks of any size".into()),
                ("more_flags", _) => ("", more_flags(header, first)),
                _ => ("", filter_part(name, bytes)),
            };
            self.row(kind, name, &value)?;
        }
        Ok(())
    }
}

/// The meaning of the last byte of a chunk header.
fn more_flags(header: &ChunkHeader, byte: u8) -> String {
    match (header.special(), header.has_dictionary()) {
        (Some(value), _) => value.name().into(),
        (None, true) => "dictionary".into(),
        (None, false) => byte.to_string(),
    }
}
