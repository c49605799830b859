//! The vlmetalayers of a damaged trailer.

use std::io::{Read, Seek};

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::header::clear_false_dictionary;

use crate::error::Error;
use crate::finding::Escaped;
use crate::format::decompress;
use crate::format::fields::Generation;
use crate::format::marker::Marker;
use crate::format::section::SectionRules;
use crate::format::trailer::{END_LEN, HEAD_LEN, MAX_TRAILER_LEN};
use crate::rules::chunk::wrong_in_trailer;
use crate::rules::messagepack::wrong_value;
use crate::salvage::damaged_file::DamagedFile;
use crate::salvage::layers::{self, Layers};
use crate::salvage::report::CLEARED;

/// The type sizes of the chunks of vlmetalayers: python-blosc2 asks for 1 in a file, and C-Blosc2 takes 8 in memory.
const TYPESIZES: [u8; 2] = [1, 8];

/// The vlmetalayers of a trailer.
#[derive(Default)]
pub(super) struct Vlmetalayers {
    pub(super) kept: Vec<(Vec<u8>, Vec<u8>)>,
    /// The names of the vlmetalayers that cannot be read, and the reasons.
    pub(super) lost: Vec<(String, String)>,
}

/// Finds the trailer and returns its vlmetalayers; `None` if there is no trailer. The last bytes of a trailer hold its
/// length, so it is found from the end of the frame or of the file. If its end is damaged, it is found at the end of
/// the chunk index.
pub(super) fn read<R: Read + Seek>(
    file: &mut DamagedFile<R>,
    index_end: Option<u64>,
    frame_len: u64,
    restored: &mut Vec<String>,
) -> Result<Option<Vlmetalayers>, Error> {
    let least = index_end.unwrap_or(Generation::Present.head_len() as u64);
    // The end of the frame first: other bytes may follow it in the file.
    for end in [frame_len, file.len] {
        if let Some(bytes) = from_end(file, least, end)? {
            if frame_len != end {
                restored.push(format!("frame_len was {frame_len}, and is {end}"));
            }
            return Ok(Some(vlmetalayers(&bytes, restored)));
        }
    }
    let Some(start) = index_end else { return Ok(None) };
    if !layers::is_trailer(&file.read(start, HEAD_LEN as u64 + 1)?) {
        return Ok(None);
    }
    let bytes = file.read(start, MAX_TRAILER_LEN as u64)?;
    restored.push("the length or markers of the trailer".into());
    Ok(Some(vlmetalayers(&bytes, restored)))
}

/// The bytes of the trailer that ends at `end`.
fn from_end<R: Read + Seek>(
    file: &mut DamagedFile<R>,
    least: u64,
    end: u64,
) -> Result<Option<Vec<u8>>, Error> {
    if end > file.len {
        return Ok(None);
    }
    let suffix = file.read(end.saturating_sub(END_LEN as u64), END_LEN as u64)?;
    let [marker, a, b, c, d, ..] = *suffix else { return Ok(None) };
    let len = u32::from_be_bytes([a, b, c, d]);
    let start =
        end.checked_sub(len.into()).filter(|&start| start >= least && len as usize <= MAX_TRAILER_LEN);
    let Some(start) = start.filter(|_| marker == Marker::U32.to_u8()) else { return Ok(None) };
    let bytes = file.read(start, len.into())?;
    Ok(bytes.starts_with(&layers::TRAILER_START).then_some(bytes))
}

/// The vlmetalayers of a trailer. More bytes may follow it.
fn vlmetalayers(bytes: &[u8], restored: &mut Vec<String>) -> Vlmetalayers {
    let section = Layers::read(bytes, HEAD_LEN, SectionRules::TRAILER.max_count.into());
    let mut found = Vlmetalayers::default();
    // Undamaged contents share no bytes, so together they are no longer than the trailer. Twice that leaves room for
    // damaged ones, which are tried at several places.
    let mut left = bytes.len().saturating_mul(2);
    for layer in section.layers {
        let contents = layer.contents.iter().filter_map(|range| bytes.get(range.clone()));
        let is_named = core::str::from_utf8(&layer.name).is_ok_and(|name| !name.is_empty());
        let chunk = intact(contents, &mut left);
        let chunk = if is_named { chunk } else { chunk.and(Err("its name is damaged".into())) };
        let name = Escaped(&String::from_utf8_lossy(&layer.name)).to_string();
        match chunk {
            Ok((chunk, is_restored)) => {
                restored.extend(is_restored.then(|| format!("vlmetalayer {name}: {CLEARED}")));
                found.kept.push((layer.name, chunk));
            }
            Err(why) => found.lost.push((name, why)),
        }
    }
    found
}

/// The first of these contents that is an intact chunk, and whether a flag of it was restored. The error is that of the
/// first content, because the index refers to it. The contents may have `left` bytes together.
fn intact<'b>(contents: impl Iterator<Item = &'b [u8]>, left: &mut usize) -> Result<(Vec<u8>, bool), String> {
    let mut first = None;
    for content in contents {
        let chunk = ChunkHeader::parse(content).filter(|header| header.cbytes == content.len());
        let why = match left.checked_sub(content.len()) {
            _ if chunk.is_none() => "its chunk has another length than its header says".into(),
            None => "it shares bytes with other vlmetalayers".into(),
            Some(rest) => {
                *left = rest;
                let mut chunk = content.to_vec();
                let is_restored = clear_false_dictionary(&mut chunk);
                match wrong_chunk(&chunk) {
                    None => return Ok((chunk, is_restored)),
                    Some(wrong) => format!("its chunk {wrong}"),
                }
            }
        };
        first.get_or_insert(why);
    }
    Err(first.unwrap_or_else(|| "its chunk cannot be found in the trailer".into()))
}

/// The reason why the chunk of a vlmetalayer cannot be read; `None` if it can.
fn wrong_chunk(chunk: &[u8]) -> Option<String> {
    let Some(header) = ChunkHeader::parse(chunk) else { return Some("has no header".into()) };
    if let Some(why) = wrong_in_trailer(&header, chunk) {
        return Some(why);
    }
    // The filter moves bytes by the type size, so a damaged one gives another text, which is MessagePack too.
    let is_usual = header.is_uncompressed || TYPESIZES.contains(&header.typesize);
    if !is_usual || header.has_unknown_flags() {
        return Some("has the header of another kind of chunk".into());
    }
    if header.filters.iter().any(|filter| filter.is_unknown() || filter.is_plugin()) {
        return Some("has filters that no writer uses for a vlmetalayer".into());
    }
    // Without the feature, only an uncompressed value is read.
    if header.stored(chunk).is_none() && cfg!(not(feature = "decompress")) {
        return None;
    }
    match decompress::value(header, chunk) {
        Ok(value) => wrong_value(&value).map(|why| format!("does not hold MessagePack: {why}")),
        Err(why) => Some(format!("cannot be decompressed: {why}")),
    }
}
