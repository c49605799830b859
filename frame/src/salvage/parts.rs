//! The places of the parts of a damaged frame. All possible places are tried, and the chunks decide.

use core::ops::Range;
use std::collections::BTreeSet;
use std::io::{Read, Seek};

use b2nd_chunk::header as chunk_header;
use b2nd_chunk::header::typesize_byte;

use crate::error::Error;
use crate::format::fields::HeaderField;
use crate::format::head::Head;
use crate::format::header_builder::{Compression, HeaderBuilder};
use crate::format::index::{ChunkPlace, ENTRY_LEN};
use crate::format::section::{Section, SectionRules};
use crate::io::frame::Frame;
use crate::rules::chunk::ChunkRules;
use crate::salvage::damaged_file::{DamagedFile, PIECE};
use crate::salvage::layers;
use crate::salvage::metadata::Metadata;
use crate::salvage::values::Values;
use crate::write::plan::{self, Sizes};

/// The offset of the typesize in a chunk header. The [`signature`] begins with the typesize.
pub(super) const TYPESIZE: u64 = chunk_header::TYPESIZE as u64;

/// The maximum number of possible places of the chunk index. If there are more, the last ones in the file are tried,
/// because the index follows the chunks.
const MAX_PLACES: usize = 16;

/// The maximum number of entries of a possible chunk index that are compared with the chunks. It bounds the time of
/// each try.
const MAX_TRIED: usize = 1 << 12;

/// The parts of a frame.
pub(super) struct FrameParts {
    pub(super) header_len: u64,
    pub(super) sizes: Sizes,
    /// The byte range of the chunk index; `None` if it was not found, or if there are no chunks.
    pub(super) index: Option<Range<u64>>,
}

/// The values of a header that do not depend on the sizes and places of the parts.
pub(super) struct Draft<'m> {
    pub(super) compression: &'m Compression,
    pub(super) layers: &'m [(Vec<u8>, Vec<u8>)],
    pub(super) is_sparse: bool,
}

impl Draft<'_> {
    /// The values and the metalayers of a header.
    pub(super) fn header(&self, sizes: &Sizes) -> Result<(HeaderBuilder, Vec<u8>), Error> {
        let builder = plan::header(sizes, self.is_sparse, self.compression, false);
        let layers: Vec<_> = self.layers.iter().map(|(name, content)| (&name[..], &content[..])).collect();
        let section = Section::build(&SectionRules::HEADER, builder.len(), &layers);
        let section = section.ok_or_else(|| Error::refused("the metalayers are too long for a header"))?;
        Ok((builder, section))
    }

    /// The header of a frame with these parts. `end` is the end of the chunks.
    pub(super) fn head(
        &self,
        sizes: &Sizes,
        header_len: u64,
        end: u64,
        frame_len: u64,
    ) -> Result<Head, Error> {
        let (builder, section) = self.header(sizes)?;
        let bytes = builder.finish(&section, frame_len);
        let bytes = bytes.ok_or_else(|| Error::refused("the metalayers are too long for a header"))?;
        let mut head = Head::parse(&bytes)?;
        head.header.header_len = usize::try_from(header_len).unwrap_or(usize::MAX);
        head.header.frame_len = frame_len;
        // In a sparse frame, the bytes of the chunks are not in this file.
        let cbytes = if self.is_sparse { u64::MAX } else { end.saturating_sub(header_len) };
        head.header.cbytes = i64::try_from(cbytes).unwrap_or(i64::MAX);
        Ok(head)
    }
}

/// Finds the parts of a frame. The possible chunk index whose entries lead to most chunks wins.
pub(super) fn find<R: Read + Seek>(
    file: &mut DamagedFile<R>,
    values: &Values,
    metadata: &Metadata,
    draft: &Draft<'_>,
) -> Result<Option<FrameParts>, Error> {
    let mut best: Option<(usize, FrameParts)> = None;
    let cbytes = u64::try_from(values.number(HeaderField::Cbytes)).unwrap_or_default();
    let stated = metadata.header_lens.iter().map(|&len| len as u64).map(|header_len| {
        let start = if draft.is_sparse { header_len } else { header_len.saturating_add(cbytes) };
        (header_len, start)
    });
    // First the place in the header, which is nearly always right.
    for (header_len, start) in stated {
        if try_place(file, metadata, draft, (header_len, start, true), &mut best)? {
            return Ok(best.map(|(_, parts)| parts));
        }
    }
    // Then every place in the file where the bytes match an index of the right length, the last one first.
    for start in places(file, metadata.nchunks)?.into_iter().rev() {
        let before = start.saturating_sub(cbytes);
        let before = metadata.header_lens.is_empty().then_some(before);
        let header_lens = metadata.header_lens.iter().map(|&len| len as u64).chain(before);
        for header_len in if draft.is_sparse { vec![start] } else { header_lens.collect() } {
            if try_place(file, metadata, draft, (header_len, start, false), &mut best)? {
                return Ok(best.map(|(_, parts)| parts));
            }
        }
    }
    Ok(best.map(|(_, parts)| parts))
}

/// Tries a place of the chunk index with each possible item size. Returns whether one of them has no wrong entry.
fn try_place<R: Read + Seek>(
    file: &mut DamagedFile<R>,
    metadata: &Metadata,
    draft: &Draft<'_>,
    (header_len, start, is_stated): (u64, u64, bool),
    best: &mut Option<(usize, FrameParts)>,
) -> Result<bool, Error> {
    for &sizes in &metadata.sizes {
        if header_len > start || start >= file.len {
            continue;
        }
        let head = draft.head(&sizes, header_len, start, file.len)?;
        let mut frame = file.frame(head);
        let Some((tried, end)) = agreeing(&mut frame) else { continue };
        let parts = FrameParts { header_len, sizes, index: Some(start..end) };
        // The data of a chunk can resemble an index, but no trailer follows it.
        let is_index = layers::is_trailer(&file.read(end, layers::TRAILER_START.len() as u64)?);
        if !(is_index || is_stated && tried.nwrong == 0) {
            continue;
        }
        let is_whole = tried.nwrong == 0;
        if is_whole || tried.agreeing > best.as_ref().map_or(0, |&(most, _)| most) {
            *best = Some((tried.agreeing, parts));
        }
        if is_whole {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The agreement of a possible chunk index with the chunks.
#[derive(Default)]
struct Tried {
    /// Entries that are exactly a special value, or lead to a chunk header, each to a different one.
    agreeing: usize,
    nwrong: usize,
}

/// Compares the first entries of a chunk index with the chunks. Also returns the end of the index; `None` if it cannot
/// be read.
fn agreeing<R: Read + Seek>(frame: &mut Frame<&mut R>) -> Option<(Tried, u64)> {
    // The filters in a damaged header may be wrong too, and a wrong repeated value says nothing about the index.
    let rules = ChunkRules { filters: None, itemsize: None, ..ChunkRules::new(frame.header(), true) };
    let mut chunks = frame.chunks().ok()?;
    let end = chunks.index()?.start().saturating_add(chunks.index()?.header().cbytes as u64);
    let (mut tried, mut nstored) = (Tried::default(), 0_usize);
    let mut places = BTreeSet::new();
    // If all entries are equal, the second one already shows that a place repeats.
    let most = if chunks.is_repeated() { 2 } else { MAX_TRIED };
    while let Some(entry) = chunks.next().filter(|_| tried.agreeing + tried.nwrong < most) {
        let entry = entry.ok()?;
        let value = i64::from_le_bytes(chunks.entry_bytes(entry.number));
        let is_right = match entry.place {
            ChunkPlace::Special(_) => chunks.other_bits(&entry).is_none(),
            ChunkPlace::Frame(_) | ChunkPlace::File(_) => {
                nstored += 1;
                chunks.valid_header(&entry, &rules).is_ok() && places.insert(value)
            }
            ChunkPlace::Invalid(_) => false,
        };
        tried.agreeing += usize::from(is_right);
        tried.nwrong += usize::from(!is_right);
    }
    // Stored entries that lead to no chunk at all are not an index.
    if nstored > 0 && places.is_empty() { None } else { Some((tried, end)) }
}

/// The last places in a file, at most [`MAX_PLACES`], where the bytes match the item size and the length of a chunk
/// index for `nchunks` chunks.
fn places<R: Read + Seek>(file: &mut DamagedFile<R>, nchunks: u64) -> Result<Vec<u64>, Error> {
    let nbytes = nchunks.checked_mul(ENTRY_LEN as u64).and_then(|nbytes| i32::try_from(nbytes).ok());
    let Some(nbytes) = nbytes.filter(|&nbytes| nbytes > 0) else { return Ok(Vec::new()) };
    let [a, b, c, d] = nbytes.to_le_bytes();
    let mut found = Vec::new();
    let mut at = TYPESIZE;
    while at < file.len {
        // The item size of an index, and its decompressed size, as they follow one another in a chunk header.
        found.extend(
            file.search_piece(at, &[typesize_byte(ENTRY_LEN), a, b, c, d])?
                .into_iter()
                .map(|offset| offset - TYPESIZE),
        );
        found.drain(..found.len().saturating_sub(MAX_PLACES));
        at = at.saturating_add(PIECE);
    }
    Ok(found)
}

/// The bytes that all chunk headers share, from the item size on.
pub(super) fn signature(sizes: &Sizes) -> Vec<u8> {
    let typesize = [typesize_byte(sizes.typesize)];
    [&typesize[..], &sizes.chunksize.to_le_bytes(), &sizes.blocksize.to_le_bytes()].concat()
}
