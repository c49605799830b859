//! The metalayers of a damaged header or trailer, found where its markers, offsets and lengths agree.

use core::ops::Range;

use crate::format::marker::Marker;
use crate::format::section::{CONTENT_HEADER, INDEX_HEADER, LIST_HEADER, MAX_NAME_LEN, OFFSET_LEN};
use crate::format::trailer::VERSION;

/// The first bytes of a trailer: its marker, its version, and the marker of its section.
pub(super) const TRAILER_START: [u8; 3] = [Marker::FixArray(4).to_u8(), VERSION, Marker::FixArray(3).to_u8()];

/// Whether bytes begin like a trailer, with at most one damaged byte.
pub(super) fn is_trailer(bytes: &[u8]) -> bool {
    let agreeing = bytes.iter().zip(TRAILER_START).filter(|&(&byte, right)| byte == right);
    agreeing.count() + 1 >= TRAILER_START.len()
}

/// A metalayer with a readable name.
pub(super) struct Layer {
    pub(super) name: Vec<u8>,
    /// The possible byte ranges of its content, the most likely one first.
    pub(super) contents: Vec<Range<usize>>,
}

/// The metalayers of a section.
pub(super) struct Layers {
    pub(super) layers: Vec<Layer>,
    /// The offset of the end of the last content.
    pub(super) end: usize,
}

/// An entry of the index of metalayers.
struct LayerEntry {
    name: Range<usize>,
    offset: usize,
}

impl Layers {
    /// Reads the section that begins at `start`. Offsets count from the first byte.
    pub(super) fn read(bytes: &[u8], start: usize, most: usize) -> Self {
        let mut entries = Vec::new();
        let mut at = start + INDEX_HEADER;
        while let Some(entry) = entry(bytes, at).filter(|_| entries.len() < most) {
            at = entry.name.end + OFFSET_LEN;
            entries.push(entry);
        }
        let mut end = at + LIST_HEADER;
        let mut layers = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            let next = entries.get(number + 1).map(|next| next.offset);
            let contents = contents(bytes, [entry.offset, end], next);
            end = contents.first().map_or(end, |content| content.end);
            let name = bytes.get(entry.name.clone()).unwrap_or_default();
            // A name ends before a NUL, as in C.
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();
            layers.push(Layer { name, contents });
        }
        Self { layers, end }
    }
}

/// Reads an entry, if its name, its marker or its offset identifies one.
fn entry(bytes: &[u8], at: usize) -> Option<LayerEntry> {
    let read = |len: usize| {
        let name = at + 1..at + 1 + len;
        let offset = bytes.get(name.end + 1..)?.first_chunk().map(|&offset| i32::from_be_bytes(offset))?;
        Some(LayerEntry { name, offset: usize::try_from(offset).unwrap_or(usize::MAX) })
    };
    let has_marker = |entry: &LayerEntry| bytes.get(entry.name.end) == Some(&Marker::I32.to_u8());
    let has_content = |entry: &LayerEntry| bytes.get(entry.offset) == Some(&Marker::Bin32.to_u8());
    let stated = match Marker::from_u8(*bytes.get(at)?) {
        Marker::FixStr(len) => read(len.into()),
        _ => None,
    };
    let is_entry = |entry: &LayerEntry| has_marker(entry) || has_content(entry);
    // The length of the name may be damaged. Then each length is tried, and both the marker of the offset and the
    // marker of the content must be right.
    stated
        .filter(is_entry)
        .or_else(|| (0..=MAX_NAME_LEN).filter_map(read).find(|entry| has_marker(entry) && has_content(entry)))
}

/// The possible byte ranges of a metalayer's content. It starts at its offset or at the end of the content before it,
/// and has its stated length or ends at the next content or at the end of the bytes.
fn contents(bytes: &[u8], starts: [usize; 2], next: Option<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let has_marker = |&start: &usize| bytes.get(start) == Some(&Marker::Bin32.to_u8());
    let [stated, after] = starts;
    // Without a marker, a place counts only if the offset and the end of the content before agree on it.
    let starts = starts.into_iter().filter(|start| has_marker(start) || stated == after);
    for start in starts {
        let begin = start.saturating_add(CONTENT_HEADER);
        let length = bytes.get(start.saturating_add(1)..).and_then(<[u8]>::first_chunk);
        let length = length.and_then(|&length| usize::try_from(i32::from_be_bytes(length)).ok());
        let stated = length.map(|length| begin.saturating_add(length));
        let ends = [stated, next, Some(bytes.len())].into_iter().flatten();
        for end in ends.filter(|&end| end >= begin && end <= bytes.len()) {
            if !found.contains(&(begin..end)) {
                found.push(begin..end);
            }
        }
    }
    found
}
