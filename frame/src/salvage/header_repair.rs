//! Reads the header of a damaged frame: its values, its metalayers, and the array that one metalayer describes. Values
//! that cannot be read are restored, if possible.

use core::cmp::Reverse;
use core::fmt;
use core::ops::Range;

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{MAX_NDIM, Meta, Shapes, take_from_slice, to_vec};
use memchr::memmem;

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::internals::VERSIONS;

use crate::chunk_file::SPARSE_INDEX;
use crate::code::{FindingCode, Remedy, Severity};
use crate::error::Error;
use crate::finding::{Escaped, Finding, Place};
use crate::header::fields::{FRAME_TYPE, Generation, HeaderField};
use crate::header::frame::Frame;
use crate::header::frame_header::{MAGIC, MAGIC_OFFSET, MAX_HEADER_LEN, not_a_frame};
use crate::header::header_builder::{Compression, HeaderBuilder};
use crate::header::header_rules;
use crate::header::section::{
    ARRAY_NAME, ARRAY_NAMES, CONTENT_HEADER, INDEX_HEADER, LIST_HEADER, MAX_NAME_LEN, OFFSET_LEN, Section,
    SectionRules,
};
use crate::messagepack::marker::Marker;
use crate::salvage::damaged_file::DamagedFile;
use crate::salvage::order::{TYPESIZE, signature};
use crate::salvage::salvage_report::{FRAME_TYPE_NAME, MAGIC_NAME, Notes, Restored};
use crate::source::ReadAt;
use crate::trailer::frame_trailer::VERSION;
use crate::write::frame_plan::{self, Sizes, check_compression};

/// The number of bytes that are read first. If the header states a greater length, up to `MAX_HEADER_LEN`, the file is
/// read again, up to this length. Only the bytes of the latest read are searched for metalayers.
const SEARCHED_LEN: u64 = 1 << 16;

/// The first bytes of a trailer: its marker, its version, and the marker of the section of vlmetalayers.
pub(super) const TRAILER_START: [u8; 3] = [Marker::FixArray(4).to_u8(), VERSION, Marker::FixArray(3).to_u8()];

/// Whether the bytes begin like a trailer. At least two of the first three bytes must agree with [`TRAILER_START`],
/// because one byte may be damaged.
pub(super) fn is_trailer(bytes: &[u8]) -> bool {
    let agreeing = bytes.iter().zip(TRAILER_START).filter(|&(&byte, right)| byte == right);
    agreeing.count() + 1 >= TRAILER_START.len()
}

/// A metalayer with a readable name.
pub(super) struct Layer {
    pub(super) name: Vec<u8>,
    /// The possible byte ranges of its content. The most likely range comes first.
    pub(super) contents: Vec<Range<usize>>,
}

/// The metalayers of a section.
pub(super) struct Layers {
    pub(super) layers: Vec<Layer>,
    /// The offset where the content of the last metalayer ends.
    pub(super) end: usize,
}

/// An entry of the index of metalayers.
struct LayerEntry {
    name: Range<usize>,
    offset: usize,
}

impl Layers {
    /// Reads at most `most` metalayers of the section that begins at `start`. The offsets in the section count from the
    /// first byte of `bytes`.
    pub(super) fn read(bytes: &[u8], start: usize, most: usize) -> Self {
        let mut entries = Vec::new();
        let mut at = start + INDEX_HEADER;
        while let Some(entry) = layer_entry(bytes, at).filter(|_| entries.len() < most) {
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
            // As in C, a name ends before its first NUL.
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();
            layers.push(Layer { name, contents });
        }
        Self { layers, end }
    }
}

/// Reads the entry at an offset; `None` if too few of its markers are right.
fn layer_entry(bytes: &[u8], at: usize) -> Option<LayerEntry> {
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
    // The stored length of the name may be damaged. If no entry can be read with this length, each possible length is
    // tried. A tried length is used only if two markers are right: the marker of the offset that follows the name, and
    // the marker of the content at this offset.
    stated
        .filter(is_entry)
        .or_else(|| (0..=MAX_NAME_LEN).filter_map(read).find(|entry| has_marker(entry) && has_content(entry)))
}

/// Returns the possible byte ranges of a metalayer's content. The `starts` are two offsets where the content may begin:
/// the offset in the index, and the end of the previous content. For each start, three ends are possible: the end
/// according to the stored length of the content, the offset `next` where the next content begins, and the end of
/// `bytes`.
fn contents(bytes: &[u8], starts: [usize; 2], next: Option<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let has_marker = |&start: &usize| bytes.get(start) == Some(&Marker::Bin32.to_u8());
    let [stated, after] = starts;
    // A content begins with a marker. An offset without this marker is used only if both `starts` are equal, because
    // the index and the end of the previous content then confirm each other.
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

/// The entries of the array's metalayer that the caller gives for a salvage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ArrayEntries {
    pub(crate) shape: Option<Vec<i64>>,
    pub(crate) chunkshape: Option<Vec<i32>>,
    pub(crate) blockshape: Option<Vec<i32>>,
    pub(crate) dtype: Option<String>,
}

impl ArrayEntries {
    /// Whether no entry is given.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a metalayer with the given entries. Entries that are not given are taken from the old metalayer.
    pub(super) fn apply(&self, old: Option<&Meta>) -> Result<Meta, Error> {
        let Self { shape, chunkshape, blockshape, dtype } = self;
        if let Some(old) = old.filter(|_| self.is_empty()) {
            return Ok(old.clone());
        }
        let shapes = old.map(Meta::shapes);
        let dtype = dtype.clone().or_else(|| Some(old?.dtype()?.to_owned()));
        let shape = shape.as_deref().or(shapes.map(|shapes| shapes.shape));
        let chunkshape = chunkshape.as_deref().or(shapes.map(|shapes| shapes.chunkshape));
        let blockshape = blockshape.as_deref().or(shapes.map(|shapes| shapes.blockshape));
        let (Some(shape), Some(chunkshape), Some(blockshape), Some(dtype)) =
            (shape, chunkshape, blockshape, dtype)
        else {
            return Err(Error::array_unknown(
                "the array's metalayer cannot be read: give its shape, chunk shape, block shape and dtype",
            ));
        };
        // NumPy's names such as `uint16` become type strings. A text that is not a dtype is refused later.
        let dtype = dtype.parse::<Dtype>().map_or(dtype, |dtype| dtype.type_string().to_string());
        Meta::new(Shapes { shape, chunkshape, blockshape }, &dtype).map_err(Error::array_unknown)
    }
}

/// Lists the entries that are given, such as `shape [3, 5]`.
impl fmt::Display for ArrayEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, chunkshape, blockshape, dtype } = self;
        let entries = [
            shape.as_ref().map(|shape| format!("shape {shape:?}")),
            chunkshape.as_ref().map(|chunkshape| format!("chunkshape {chunkshape:?}")),
            blockshape.as_ref().map(|blockshape| format!("blockshape {blockshape:?}")),
            dtype.as_ref().map(|dtype| format!("dtype {dtype}")),
        ];
        f.write_str(&entries.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The metalayer of an array, and its bytes.
type ArrayMetalayer = (Meta, Vec<u8>);

/// Reads the metalayer of an array. Returns `None` if it cannot be read, if the geometry of the array is not valid, or
/// if the dtype format is not 0. Drops stale bytes that follow the entries.
fn read_array(content: &[u8]) -> Option<ArrayMetalayer> {
    let is_valid =
        |meta: &Meta| meta.geometry().is_ok() && meta.dtype_format().is_none_or(|format| format == 0);
    read_any_array(content).filter(|(meta, _)| is_valid(meta))
}

/// Reads the metalayer of an array, even if its geometry or dtype format is wrong. The caller may have given the right
/// entries, which then replace the wrong entries.
fn read_any_array(content: &[u8]) -> Option<ArrayMetalayer> {
    let (meta, rest) = take_from_slice::<Meta>(content).ok()?;
    let bytes = content.get(..content.len() - rest.len())?;
    Some((meta, bytes.to_vec()))
}

/// Reads the metalayer of an array after restoring its markers and counts. The counts are the number of dimensions, and
/// the lengths of the shapes and of the dtype. Tries each number of dimensions, beginning with the number for which the
/// fewest markers and counts are wrong, until the metalayer is valid.
fn restore_array(content: &[u8]) -> Option<ArrayMetalayer> {
    let mut restored: Vec<(usize, Vec<u8>)> =
        (0..=MAX_NDIM).filter_map(|rank| with_markers(content, rank)).collect();
    restored.sort_by_key(|&(nwrong, _)| nwrong);
    restored.into_iter().find_map(|(_, bytes)| read_array(&bytes))
}

/// Corrects the markers and counts of a metalayer of layout `b2nd` with `rank` dimensions. Returns how many of them
/// were wrong, and the corrected content. Returns `None` if more than half of them were wrong, or if the content is too
/// short.
// Each value has a fixed width, so the number of dimensions and the length of the content determine every marker and
// count. To find their offsets, two metalayers with different values are serialized. The bytes that are equal in both
// are the markers and counts.
fn with_markers(content: &[u8], rank: usize) -> Option<(usize, Vec<u8>)> {
    let metalayer = |value: i8, dtype: &str| {
        let (shape, chunkshape) = (vec![i64::from(value); rank], vec![i32::from(value); rank]);
        to_vec(&(0_u8, rank, shape, &chunkshape, &chunkshape, 0_u8, dtype)).ok()
    };
    let dtype_len = content.len().checked_sub(metalayer(0, "")?.len())?;
    let [first, second] = [metalayer(0, &"a".repeat(dtype_len))?, metalayer(-1, &"b".repeat(dtype_len))?];
    let (mut nmarkers, mut nwrong, mut bytes) = (0, 0, content.to_vec());
    let markers = bytes.iter_mut().zip(&first).zip(&second).filter(|((_, first), second)| first == second);
    for ((byte, &right), _) in markers {
        nmarkers += 1;
        nwrong += usize::from(*byte != right);
        *byte = right;
    }
    (nwrong * 2 <= nmarkers).then_some((nwrong, bytes))
}

/// The values of a header. Each field has the same offset in `bytes` as in the header.
pub(super) struct Values {
    bytes: Vec<u8>,
    /// Whether more than half of the `fixed` bytes are wrong. If so, `bytes` is empty, and no value of the header is
    /// used.
    pub(super) is_lost: bool,
}

/// The bytes that are the same in every header of a generation: the first marker, the markers of the fields, and the
/// magic. Each item is the offset of a byte, its right value, and the name of the part that it belongs to.
fn fixed(generation: Generation) -> impl Iterator<Item = (usize, u8, &'static str)> {
    let array = (0, generation.marker().to_u8(), "the header");
    let markers = HeaderField::ALL.iter().filter_map(move |&field| {
        let encoding = field.encoding();
        Some((field.offset(generation)?.checked_sub(1)?, encoding.marker?, encoding.name))
    });
    let magic =
        MAGIC.iter().zip(HeaderField::Magic.present_offset()..).map(|(&byte, at)| (at, byte, MAGIC_NAME));
    [array].into_iter().chain(markers).chain(magic)
}

/// The generation whose fixed bytes agree best with a damaged header. In a tie, this is the present generation.
fn generation(prefix: &[u8]) -> Generation {
    let right =
        |&generation: &Generation| fixed(generation).count() - wrong_bytes(prefix, generation).count();
    // In a tie, `max_by_key` returns the last generation of `ALL`, which is the present generation.
    Generation::ALL.into_iter().max_by_key(right).unwrap_or(Generation::Present)
}

/// The items of [`fixed`] whose bytes are wrong in `bytes`.
fn wrong_bytes(bytes: &[u8], generation: Generation) -> impl Iterator<Item = (usize, u8, &'static str)> {
    fixed(generation).filter(|&(at, byte, _)| bytes.get(at) != Some(&byte))
}

/// Whether at most half of the [`fixed`] bytes are wrong.
fn is_header(bytes: &[u8], generation: Generation) -> bool {
    wrong_bytes(bytes, generation).count() * 2 <= fixed(generation).count()
}

/// Whether a file begins with the header of an older generation.
fn is_older(prefix: &[u8]) -> bool {
    let generation = generation(prefix);
    generation != Generation::Present && is_header(prefix, generation)
}

impl Values {
    /// Reads the values of the header at the start of `prefix`, and adds the restored bytes to `restored`.
    fn read(prefix: &[u8], restored: &mut Vec<Restored>) -> Self {
        let mut bytes = prefix.to_vec();
        bytes.resize(Generation::Present.head_len(), 0);
        if !is_header(&bytes, Generation::Present) {
            restored.push(Restored::Header);
            return Self { bytes: Vec::new(), is_lost: true };
        }
        let wrong: Vec<_> = wrong_bytes(&bytes, Generation::Present).collect();
        for (at, byte, what) in wrong {
            if let Some(slot) = bytes.get_mut(at) {
                restored.push(Restored::Byte { part: what, offset: at, bytes: [*slot, byte] });
                *slot = byte;
            }
        }
        Self { bytes, is_lost: false }
    }

    /// Parses the header with its fixed bytes restored. Returns `None` if the header is still not valid.
    fn head(&self, prefix: &[u8]) -> Option<Frame<()>> {
        let rest = prefix.get(self.bytes.len()..)?;
        Frame::parse(&[&self.bytes, rest].concat()).ok()
    }

    /// The header with its fixed bytes restored, and with the length `header_len`. The metalayers are copied from
    /// `prefix`.
    fn with_length(&self, prefix: &[u8], header_len: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let len = u32::try_from(header_len).unwrap_or(u32::MAX).to_be_bytes();
        let slot = bytes.iter_mut().skip(HeaderField::HeaderLen.present_offset());
        slot.zip(len).for_each(|(byte, right)| *byte = right);
        let end = usize::try_from(header_len).unwrap_or(usize::MAX).min(prefix.len());
        bytes.extend_from_slice(prefix.get(bytes.len()..end).unwrap_or_default());
        bytes
    }

    /// The error if a file of `len` bytes ends within its header, so that nothing can be saved. `prefix` is the start
    /// of the file.
    fn cut_off(&self, prefix: &[u8], len: u64) -> Option<Error> {
        let stated = self.length(HeaderField::HeaderLen);
        // A header is not longer than its frame. So a stated header length that is greater than the frame length is
        // wrong, and does not show that the file ends within the header.
        let is_right = stated <= self.length(HeaderField::FrameLen).min(MAX_HEADER_LEN as u64);
        let header_len = (Generation::Present.head_len() as u64).max(if is_right { stated } else { 0 });
        // If a file has only the first few bytes of a header, most fixed bytes are missing, so the header counts as
        // lost. Such a file is recognized because all fixed bytes that it has are right.
        let begins_header = || {
            fixed(Generation::Present).all(|(at, byte, _)| prefix.get(at).is_none_or(|&found| found == byte))
        };
        let is_cut_off = len < header_len && len > 0 && (!self.is_lost || begins_header());
        is_cut_off.then(|| {
            let text = format!("nothing could be saved: the file has only {len} bytes of the header, which has at least {header_len}");
            Error::malformed(Finding::new(FindingCode::Truncated, Place::File).numbers(header_len, len).text(text))
        })
    }

    /// The error for a file without an array: its header is lost and no entries are given, or its header lists no array
    /// metalayer. `None` in all other cases.
    fn no_array(&self, prefix: &[u8], given: &ArrayEntries) -> Option<Error> {
        if self.is_lost && given.is_empty() {
            return Some(Error::malformed(not_a_frame(
                "its first bytes are not those of a header; if they are lost, give the shape, chunk shape, block shape and \
                 dtype of the array",
            )));
        }
        let has_none = self.head(prefix).is_some_and(|head| head.array_metalayer().is_none());
        has_none.then(|| Error::unsupported("the frame has no array, so it cannot be salvaged"))
    }

    /// The number of the frame type; `None` if the header is lost.
    pub(super) fn frame_type(&self) -> Option<u8> {
        self.bytes.get(HeaderField::Flags.present_offset() + FRAME_TYPE).copied()
    }

    /// The value of an integer field; 0 if the header is lost.
    pub(super) fn number(&self, field: HeaderField) -> i64 {
        let at = field.present_offset();
        let bytes = self.bytes.get(at..at + field.encoding().len).unwrap_or_default();
        // The values are big-endian integers of 2, 4 or 8 bytes. For a negative value, the fold starts with -1. So the
        // high bits of the result, for which there are no bytes, are 1 too (sign extension).
        let start = if bytes.first().is_some_and(|&byte| byte > 0x7f) { -1 } else { 0 };
        bytes.iter().fold(start, |number, &byte| number << 8 | i64::from(byte))
    }

    /// A length in the header; 0 if it is negative.
    pub(super) fn length(&self, field: HeaderField) -> u64 {
        u64::try_from(self.number(field)).unwrap_or_default()
    }

    /// Whether the header says that there are vlmetalayers.
    pub(super) fn has_vlmetalayers(&self) -> bool {
        self.bytes.get(HeaderField::HasVlmetalayers.present_offset()) == Some(&Marker::True.to_u8())
    }

    /// The compression parameters in the header. If they cannot be read, or if a reader would reject one of them, the
    /// result is the default parameters of python-blosc2.
    fn compression(&self, restored: &mut Vec<Restored>) -> Compression {
        let header = self.alone().and_then(|header| Frame::parse(&header).ok());
        let compression = header.map(|Frame { header, .. }| Compression {
            codec: header.codec,
            codec_meta: header.codec_meta,
            level: header.level,
            split_mode: header.split_mode,
            filters: header.pipeline().collect(),
            uses_dictionary: header.uses_dictionary,
        });
        let typesize = u32::try_from(self.number(HeaderField::Typesize)).unwrap_or_default();
        let is_read = |compression: &Compression| check_compression(compression, typesize).is_ok();
        compression.filter(is_read).unwrap_or_else(|| {
            if !self.is_lost {
                restored.push(Restored::Compression);
            }
            Compression::default()
        })
    }

    /// A header with these values and without metalayers.
    fn alone(&self) -> Option<Vec<u8>> {
        let mut builder = HeaderBuilder::new();
        for &field in HeaderField::ALL {
            let at = field.present_offset();
            builder.set(field, self.bytes.get(at..at + field.encoding().len)?);
        }
        builder.set(HeaderField::HasVlmetalayers, &[Marker::False.to_u8()]);
        let section = Section::build(&SectionRules::HEADER, builder.len(), &[])?;
        builder.finish(&section, 0)
    }
}

/// A damaged header, with the values that could be restored. Its array is known: the metalayer of the array was found,
/// or the caller gave the entries.
pub(super) struct DamagedHeader {
    /// The first bytes of the file. They must not change during the salvage.
    pub(super) prefix: Vec<u8>,
    pub(super) values: Values,
    pub(super) dtype: Option<Dtype>,
    pub(super) compression: Compression,
    /// The names and the contents of the metalayers that the new frame keeps.
    layers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) is_sparse: bool,
    /// The possible lengths of the header. The most likely length comes first.
    pub(super) header_lens: Vec<u64>,
    /// Whether neither the header nor its metalayers show the length of the header. If so, lengths that are not in
    /// `header_lens` are possible too.
    pub(super) is_len_lost: bool,
    /// The [`Sizes`] of the array for each possible type size. The most likely type size comes first.
    pub(super) sizes: Vec<Sizes>,
    /// The number of chunks. It does not depend on the type size.
    pub(super) nchunks: u64,
}

impl DamagedHeader {
    /// The length of the frame in a file of `len` bytes. If the header is lost, the frame is assumed to be the whole
    /// file. A negative length counts as a huge length, as in `Header::frame_len`.
    // A commit that was killed leaves bytes after the end of the frame. These bytes can contain the hole record of this
    // commit. This record lists bytes that the frame still uses, because the commit was not completed. So this record
    // must not be read, and the search for records ends at the end of the frame.
    pub(super) fn frame_len(&self, len: u64) -> u64 {
        if self.values.is_lost { len } else { self.values.number(HeaderField::FrameLen).cast_unsigned() }
    }

    /// Reads the header at the start of a file. The `given` entries replace those in the array's metalayer.
    pub(super) fn read<R: ReadAt>(
        file: &mut DamagedFile<'_, R>,
        given: &ArrayEntries,
        notes: &mut Notes,
    ) -> Result<Self, Error> {
        let mut prefix = file.read(0, SEARCHED_LEN)?;
        if is_older(&prefix) {
            return Err(Error::unsupported("frames older than C-Blosc2 2.0.0-rc1 cannot be salvaged"));
        }
        let is_missing = prefix.is_empty() && file.directory().is_some();
        let values = if is_missing {
            notes.restored.push(Restored::HeaderFile);
            Values { bytes: Vec::new(), is_lost: true }
        } else {
            Values::read(&prefix, &mut notes.restored)
        };
        let stated = values.length(HeaderField::HeaderLen);
        if stated > SEARCHED_LEN && stated <= MAX_HEADER_LEN as u64 {
            prefix = file.read(0, stated)?;
        }
        if prefix.is_empty() && !is_missing {
            return Err(Error::malformed(not_a_frame("the file is empty")));
        }
        let stated = usize::try_from(stated).ok();
        let stated = stated.filter(|len| (Generation::Present.head_len()..=MAX_HEADER_LEN).contains(len));
        let mut found = find(&prefix, stated, values.is_lost, notes);
        let has_more = file.directory().is_some() || found.array.is_some() && (found.end as u64) < file.len;
        if let Some(error) = values.cut_off(&prefix, file.len).filter(|_| !has_more) {
            return Err(error);
        }
        let meta = given.apply(found.array.as_ref());
        let meta = meta.map_err(|error| match &values {
            _ if is_missing => Error::array_unknown(format_args!(
                "{SPARSE_INDEX} is missing or empty: give the shape, chunk shape, block shape and dtype of the array"
            )),
            values => values.no_array(&prefix, given).unwrap_or(error),
        })?;
        let geometry = meta.geometry().map_err(|error| {
            Error::array_unknown(format_args!("the array's metalayer: {error}; give the entry that is wrong"))
        })?;
        if found.array.as_ref() != Some(&meta) {
            notes.restored.push(Restored::Array(given.to_string()));
            found.replace_array(&meta)?;
        }
        let dtype = dtype_with_items(&meta)?;
        let sizes = possible_sizes(&meta, dtype.as_ref(), &values)?;
        check_item_size(given, dtype.as_ref(), &sizes)?;
        let header_lens = found.header_lens(stated);
        let compression = values.compression(&mut notes.restored);
        let mut header = Self {
            prefix,
            values,
            dtype,
            compression,
            layers: found.layers,
            is_sparse: file.directory().is_some(),
            is_len_lost: header_lens.is_empty(),
            header_lens,
            sizes,
            nchunks: geometry.nchunks(),
        };
        if header.is_len_lost {
            header.header_lens = header.likely_lens(file)?;
        }
        Ok(header)
    }

    /// The likely lengths of a header whose length is lost: first the length with the known metalayers only, and then
    /// the offset of the first undamaged chunk. If the header had further metalayers, it ends at this offset, unless
    /// the first chunk of the frame is damaged too.
    fn likely_lens<R: ReadAt>(&self, file: &mut DamagedFile<'_, R>) -> Result<Vec<u64>, Error> {
        let mut lens = Vec::new();
        for sizes in &self.sizes {
            let (builder, section) = self.build(sizes)?;
            let first = file.search(TYPESIZE, &signature(sizes))?;
            lens.push((builder.len() + section.len()) as u64);
            lens.extend(first.map(|first| first - TYPESIZE));
        }
        Ok(lens)
    }

    /// The faults of the old header that the new header corrects, such as a wrong frame type. The list does not include
    /// sizes that are reported elsewhere as `Restored::Number`, or parts that are already in `restored`.
    pub(super) fn faults(&self, header_len: u64, restored: &[Restored]) -> Vec<Restored> {
        let frame_type = self.values.frame_type().filter(|&found| found != u8::from(self.is_sparse));
        let frame_type = frame_type.map(|found| {
            let numbers = [found.into(), self.is_sparse.into()];
            Restored::Number { name: FRAME_TYPE_NAME, numbers }
        });
        frame_type.into_iter().chain(self.other_faults(header_len, restored)).collect()
    }

    fn other_faults(&self, header_len: u64, restored: &[Restored]) -> Vec<Restored> {
        if self.values.is_lost || restored.contains(&Restored::MetalayerIndex) {
            return Vec::new();
        }
        let fault = |finding: &Finding| Restored::HeaderFault(finding.message().into());
        let frame = match Frame::parse(&self.values.with_length(&self.prefix, header_len)) {
            Ok(frame) => frame,
            Err(error) => return error.finding().map(fault).into_iter().collect(),
        };
        let [filters, cbytes] = [HeaderField::Filters, HeaderField::Cbytes]
            .map(|field| frame.header().range(field).unwrap_or_default());
        let are_filters_new = restored.contains(&Restored::Compression);
        let mut findings = header_rules::check(&frame);
        findings.retain(|finding| {
            let is_fault =
                finding.severity() == Severity::Error || finding.code().remedy() == Some(Remedy::Salvage);
            // The frame type and the sizes are reported as `Restored::Number`, with the old and the new value, not as
            // faults. Only `cbytes` of a sparse frame is reported as a fault, because its new value is not known before
            // all chunks are copied.
            let at = finding.offset().and_then(|at| usize::try_from(at).ok());
            let is_in = |range: &Range<usize>| at.is_some_and(|at| range.contains(&at));
            let is_number = match finding.code() {
                FindingCode::FrameType => true,
                FindingCode::Sizes => !(self.is_sparse && is_in(&cbytes)),
                _ => false,
            };
            is_fault && !is_number && !(are_filters_new && is_in(&filters))
        });
        findings.iter().map(fault).collect()
    }

    /// Builds a header with these sizes. The damaged frame is read with this header, and the new frame gets it too.
    /// Returns the fields of the header, and the section with its metalayers.
    pub(super) fn build(&self, sizes: &Sizes) -> Result<(HeaderBuilder, Vec<u8>), Error> {
        let builder = frame_plan::header(sizes, self.is_sparse, &self.compression, false);
        let layers: Vec<_> = self.layers.iter().map(|(name, content)| (&name[..], &content[..])).collect();
        let section = Section::build(&SectionRules::HEADER, builder.len(), &layers);
        section.map(|section| (builder, section)).ok_or_else(too_large)
    }

    /// Returns a header that makes the damaged frame readable. The chunks of the frame are between the offsets
    /// `header_len` and `end`.
    pub(super) fn head(
        &self,
        sizes: &Sizes,
        header_len: u64,
        end: u64,
        frame_len: u64,
    ) -> Result<Frame<()>, Error> {
        let (builder, section) = self.build(sizes)?;
        let mut head = Frame::parse(&builder.finish(&section, frame_len).ok_or_else(too_large)?)?;
        head.header.header_len = usize::try_from(header_len).unwrap_or(usize::MAX);
        head.header.frame_len = frame_len;
        // In a sparse frame, the chunks are in separate files, so `end` does not limit their total size.
        let cbytes = if self.is_sparse { u64::MAX } else { end.saturating_sub(header_len) };
        head.header.cbytes = i64::try_from(cbytes).unwrap_or(i64::MAX);
        Ok(head)
    }

    /// A text about the first size in the header that contradicts the array. Returns `None` if there is no such size,
    /// or if the header is lost.
    pub(super) fn contradiction(&self, sizes: &Sizes) -> Option<String> {
        let is_wrong = |(field, right): &(HeaderField, i64)| self.values.number(*field) != *right;
        let (field, right) = sizes.in_header().into_iter().find(is_wrong).filter(|_| !self.values.is_lost)?;
        let (name, found) = (field.encoding().name, self.values.number(field));
        Some(format!(
            "{name} is {found} in the header, but the array needs {right}: if a shape is wrong, give the right one"
        ))
    }
}

/// Parses the dtype of an array; `None` if the layout stores no dtype. An unknown dtype is an error, and so is a dtype
/// with Python objects.
fn dtype_with_items(meta: &Meta) -> Result<Option<Dtype>, Error> {
    let dtype = meta.parse_dtype().map_err(|error| {
        Error::array_unknown(format_args!(
            "dtype: {error}; no reader opens an array of an unknown dtype, so give the dtype"
        ))
    })?;
    if dtype.as_ref().is_some_and(Dtype::has_objects) {
        return Err(Error::unsupported(
            "the items are Python objects (|O): the file holds their addresses in a process that has ended",
        ));
    }
    Ok(dtype)
}

/// Refuses a given dtype if its item size is not the most likely type size, which the first of `sizes` has. Such a
/// dtype is wrong, and would turn all items into garbage.
fn check_item_size(given: &ArrayEntries, dtype: Option<&Dtype>, sizes: &[Sizes]) -> Result<(), Error> {
    let (Some(dtype), Some(first)) = (dtype.filter(|_| given.dtype.is_some()), sizes.first()) else {
        return Ok(());
    };
    let (found, expected) = (dtype.item_size(), first.typesize as usize);
    if found == expected {
        return Ok(());
    }
    Err(Error::invalid_input(format_args!(
        "dtype {dtype} has items of {found} bytes, but by its header the array has items of {expected}"
    )))
}

fn too_large() -> Error {
    Error::too_large("the metalayers are too long for a header")
}

/// The metalayers that can be read, and the array that one of them describes.
#[derive(Default)]
struct FoundMetalayers {
    array: Option<Meta>,
    layers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The offset where the last metalayer ends; 0 if none was found.
    end: usize,
}

impl FoundMetalayers {
    /// Replaces the array's metalayer.
    fn replace_array(&mut self, meta: &Meta) -> Result<(), Error> {
        let bytes = to_vec(meta).map_err(|error| Error::encode(ARRAY_NAME, error))?;
        self.layers.retain(|(name, _)| !is_array_name(name));
        self.layers.insert(0, (ARRAY_NAME.into(), bytes));
        Ok(())
    }

    /// The known lengths of the header: the `stated` length, and the offset where the last metalayer ends.
    fn header_lens(&self, stated: Option<usize>) -> Vec<u64> {
        let found = (self.end > 0).then_some(self.end);
        let mut lens: Vec<u64> = [stated, found].into_iter().flatten().map(|len| len as u64).collect();
        lens.dedup();
        lens
    }
}

fn is_array_name(name: &[u8]) -> bool {
    ARRAY_NAMES.iter().any(|array| array.as_bytes() == name)
}

/// Finds the metalayers by their index. If the array's metalayer is not found by the index, tries to read an array's
/// metalayer at each offset.
fn find(prefix: &[u8], stated: Option<usize>, is_lost: bool, notes: &mut Notes) -> FoundMetalayers {
    let start = Generation::Present.head_len();
    // If another frame follows in the file, its metalayers must not be mistaken for those of this frame. The next frame
    // begins `MAGIC_OFFSET` bytes before its magic, and only the bytes before the next frame are used.
    let next = prefix.get(start..).and_then(|rest| memmem::find(rest, MAGIC));
    let own = prefix.get(..next.map_or(prefix.len(), |at| start + at - MAGIC_OFFSET)).unwrap_or(prefix);
    // According to the header, the section of metalayers ends at `stated`, the length of the header. But this length
    // may be wrong, and may cut off the last metalayer. So the end of `own` is tried as the end of the section too.
    let mut limits = [stated.filter(|&len| len <= prefix.len()), Some(own.len())];
    let by_contents = Layers::read(own, start, SectionRules::HEADER.max_count.into()).end;
    if begins_chunk(prefix, by_contents) && stated.is_some_and(|stated| !begins_chunk(prefix, stated)) {
        // Usually a chunk begins where the header ends. Here no chunk begins at `stated`, but a chunk begins where the
        // contents of the metalayers end. So the stated length is wrong, and is tried last.
        limits.reverse();
    }
    // The first choice is an array's metalayer that can be read unchanged, within either limit. The second choice is a
    // restored metalayer. The last choice is a metalayer with wrong entries.
    let readings: [Reading; 3] = [read_array, restore_array, read_any_array];
    for read in readings {
        for bytes in limits.into_iter().flatten().filter_map(|limit| prefix.get(..limit)) {
            if let Some(found) = find_by_index(bytes, read, notes) {
                return found;
            }
        }
    }
    // There is no search if the header is lost, because the bytes found could belong to another frame, such as another
    // member of a zip file.
    let Some((meta, content, end)) = search(own, start).filter(|_| !is_lost) else {
        return FoundMetalayers::default();
    };
    notes.restored.push(Restored::MetalayerIndex);
    FoundMetalayers { array: Some(meta), layers: [(ARRAY_NAME.into(), content)].into(), end }
}

/// Finds the metalayers by their index; `None` if none of them describes the array.
fn find_by_index(bytes: &[u8], read: Reading, notes: &mut Notes) -> Option<FoundMetalayers> {
    let Layers { layers, end } =
        Layers::read(bytes, Generation::Present.head_len(), SectionRules::HEADER.max_count.into());
    let (number, (meta, array)) = array_of(bytes, &layers, read)?;
    let mut found = Vec::new();
    for (at, Layer { mut name, contents }) in layers.into_iter().enumerate() {
        let mut contents = contents.into_iter().filter_map(|range| bytes.get(range));
        if at == number {
            if !is_array_name(&name) {
                notes.restored.push(Restored::ArrayName);
                name = ARRAY_NAME.into();
            }
            // The first of the contents has the offset in the index and the stored length, if both are possible. If
            // this content does not begin with `array`, the markers were restored.
            if contents.next().is_none_or(|content| !content.starts_with(&array)) {
                notes.restored.push(Restored::ArrayMarkers);
            }
            found.push((name, array.clone()));
        } else if let Some(content) = contents.next() {
            found.push((name, content.to_vec()));
        } else {
            let name = Escaped(&String::from_utf8_lossy(&name)).to_string();
            notes.lose_metalayer(name, "its content cannot be found in the header");
        }
    }
    Some(FoundMetalayers { array: Some(meta), layers: found, end })
}

/// Whether there is a chunk header at `at`, with a version that C-Blosc2 has written to frames.
pub(super) fn begins_chunk(prefix: &[u8], at: usize) -> bool {
    let header = prefix.get(at..).and_then(ChunkHeader::parse);
    header.is_some_and(|header| VERSIONS.contains(&header.version()))
}

/// A function that reads an array's metalayer: `read_array`, `restore_array` or `read_any_array`.
type Reading = fn(&[u8]) -> Option<ArrayMetalayer>;

/// Finds the metalayer that describes the array. Returns its number, the `Meta` read from it, and the bytes of the
/// metalayer. A metalayer with a wrong name is used only if no metalayer with a right name can be read.
fn array_of(bytes: &[u8], layers: &[Layer], read: Reading) -> Option<(usize, ArrayMetalayer)> {
    let of_name = |is_named: bool| {
        let layers = layers.iter().enumerate().filter(|(_, layer)| is_array_name(&layer.name) == is_named);
        let mut contents =
            layers.flat_map(|(number, layer)| layer.contents.iter().map(move |range| (number, range)));
        contents.find_map(|(number, range)| Some((number, read(bytes.get(range.clone())?)?)))
    };
    of_name(true).or_else(|| of_name(false))
}

/// Searches for an array's metalayer at each offset from `start` on. Returns the `Meta` read from it, the bytes of the
/// metalayer, and the offset where they end.
fn search(prefix: &[u8], start: usize) -> Option<(Meta, Vec<u8>, usize)> {
    (start..prefix.len()).find_map(|at| {
        let bytes = prefix.get(at..)?;
        // This code runs at each offset, so a fast test comes before the slow one: a metalayer begins with a fixarray,
        // version 0, the rank, and a fixarray with as many elements as the rank.
        let [marker, 0, rank, vector, ..] = *bytes else { return None };
        if marker & 0xf0 != 0x90 || vector.checked_sub(rank) != Some(0x90) {
            return None;
        }
        let (meta, rest) = take_from_slice::<Meta>(bytes).ok()?;
        let content = bytes.get(..bytes.len() - rest.len())?;
        meta.geometry().ok().map(|_| (meta, content.to_vec(), at + content.len()))
    })
}

/// Returns the [`Sizes`] of the array for each possible type size. A type size is possible if it is the item size of
/// the dtype, or the type size in the header.
fn possible_sizes(meta: &Meta, dtype: Option<&Dtype>, values: &Values) -> Result<Vec<Sizes>, Error> {
    let stated = usize::try_from(values.number(HeaderField::Typesize)).ok();
    let typesizes = [dtype.map(Dtype::item_size), stated];
    let mut possible = Vec::new();
    let mut error = None;
    for typesize in typesizes.into_iter().flatten().filter(|&typesize| typesize > 0) {
        match Sizes::new(meta, typesize) {
            Ok(sizes) => possible.push(sizes),
            Err(why) => error = error.or(Some(why)),
        }
    }
    // Sort the type sizes by how many header fields have the right value, the highest number first. The sort is stable,
    // so in a tie the item size of the dtype stays before the type size in the header.
    possible.sort_by_key(|sizes| {
        let is_right = |&(field, right): &(HeaderField, i64)| values.number(field) == right;
        Reverse(sizes.in_header().into_iter().filter(is_right).count())
    });
    possible.dedup_by_key(|sizes| sizes.typesize);
    if possible.is_empty() {
        let unknown =
            || Error::array_unknown("neither the dtype nor the header says how many bytes an item has");
        return Err(error.map_or_else(unknown, Error::array_unknown));
    }
    Ok(possible)
}
