//! The header of a damaged frame: its values, its metalayers and the array, as far as they can be read or restored.

use core::cmp::Reverse;
use core::fmt;
use core::ops::Range;

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Layout, MAX_NDIM, Meta, Shapes, take_from_slice, to_vec};
use memchr::memmem;

use b2nd_chunk::header::VERSIONS;
use b2nd_chunk::{ChunkHeader, Filter};

use crate::error::Error;
use crate::finding::Escaped;
use crate::format::fields::{Generation, HeaderField};
use crate::format::frame::Frame;
use crate::format::header::{MAGIC, MAGIC_OFFSET, MAX_HEADER_LEN};
use crate::format::header_builder::{Compression, HeaderBuilder};
use crate::format::marker::Marker;
use crate::format::section::{
    ARRAY_NAME, ARRAY_NAMES, CONTENT_HEADER, INDEX_HEADER, LIST_HEADER, MAX_NAME_LEN, OFFSET_LEN, Section,
    SectionRules,
};
use crate::format::trailer::VERSION;
use crate::rules::header::MAX_PARAMETER;
use crate::salvage::report::{LostMetalayer, MAGIC_NAME, Restored};
use crate::write::plan::{Sizes, check_compression};

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
            // A name ends before a NUL, as in C.
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();
            layers.push(Layer { name, contents });
        }
        Self { layers, end }
    }
}

/// Reads an entry, if its name, its marker or its offset identifies one.
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

/// Entries of the array's metalayer that the caller knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) shape: Option<Vec<i64>>,
    pub(crate) chunkshape: Option<Vec<i32>>,
    pub(crate) blockshape: Option<Vec<i32>>,
    pub(crate) dtype: Option<String>,
}

impl Given {
    /// Whether no entry is given.
    pub(super) fn is_empty(&self) -> bool {
        let Self { shape, chunkshape, blockshape, dtype } = self;
        shape.is_none() && chunkshape.is_none() && blockshape.is_none() && dtype.is_none()
    }

    /// The metalayer with the given entries, and the old ones for the rest.
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

/// The entries that are given, such as `shape [3, 5]`.
impl fmt::Display for Given {
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

/// Reads the metalayer of an array, if it has a valid geometry. Stale bytes after its entries are dropped.
fn read_array(content: &[u8]) -> Option<ArrayMetalayer> {
    let is_valid =
        |meta: &Meta| meta.geometry().is_ok() && meta.dtype_format().is_none_or(|format| format == 0);
    read_any_array(content).filter(|(meta, _)| is_valid(meta))
}

/// Reads the metalayer of an array with any geometry and dtype format: the caller can replace wrong entries.
fn read_any_array(content: &[u8]) -> Option<ArrayMetalayer> {
    let (meta, rest) = take_from_slice::<Meta>(content).ok()?;
    let bytes = content.get(..content.len() - rest.len())?;
    Some((meta, bytes.to_vec()))
}

/// Reads the metalayer of an array after restoring its markers and counts.
fn restore_array(content: &[u8]) -> Option<ArrayMetalayer> {
    let mut ranks: Vec<u8> = (0..=MAX_NDIM).filter(|&rank| votes(content, rank) > 0).collect();
    // The metalayer has the number of dimensions four times: try the most frequent value first.
    ranks.sort_by_key(|&rank| Reverse(votes(content, rank)));
    ranks.into_iter().find_map(|rank| read_array(&with_markers(content, rank)?))
}

/// The offset and the integer size of each of the three dimension vectors, and the offset after them.
fn vectors(rank: u8) -> ([(usize, usize); 3], usize) {
    let rank = usize::from(rank);
    let [long, short] = [8, 4].map(|item| 1 + rank * (1 + item));
    ([(3, 8), (3 + long, 4), (3 + long + short, 4)], 3 + long + 2 * short)
}

fn vector_marker(rank: u8) -> u8 {
    Marker::FixArray(0).to_u8() + rank
}

/// Counts how many of the four copies of the number of dimensions agree with this rank.
fn votes(content: &[u8], rank: u8) -> usize {
    let (vectors, _) = vectors(rank);
    let of_vectors = vectors.iter().filter(|(at, _)| content.get(*at) == Some(&vector_marker(rank))).count();
    of_vectors + usize::from(content.get(2) == Some(&rank))
}

/// The metalayer of layout `b2nd` with all markers and counts overwritten.
// Widths are fixed, so every marker and count follows from the number of dimensions and from the length of the content.
fn with_markers(content: &[u8], rank: u8) -> Option<Vec<u8>> {
    let mut bytes = content.to_vec();
    let mut set = |at: usize, byte: u8| bytes.get_mut(at).map(|slot| *slot = byte);
    let entries = u8::try_from(Layout::B2nd.entries().len()).ok()?;
    set(0, Marker::FixArray(entries).to_u8())?;
    set(1, 0)?;
    set(2, rank)?;
    let (vectors, end) = vectors(rank);
    for (at, item) in vectors {
        set(at, vector_marker(rank))?;
        let marker = if item == 8 { Marker::I64 } else { Marker::I32 }.to_u8();
        for number in 0..usize::from(rank) {
            set(at + 1 + number * (1 + item), marker)?;
        }
    }
    set(end, 0)?;
    set(end + 1, Marker::Str32.to_u8())?;
    let length = i32::try_from(content.len().checked_sub(end + 6)?).ok()?;
    for (byte, at) in length.to_be_bytes().into_iter().zip(end + 2..) {
        set(at, byte)?;
    }
    Some(bytes)
}

/// The values of a header: for each field, the bytes at its place.
pub(super) struct Values {
    bytes: Vec<u8>,
    /// Whether more than half of the fixed bytes are wrong. Then no value of the header is used.
    pub(super) is_lost: bool,
}

/// The fixed bytes of a header: offset, value and the name of the part.
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

/// The generation whose fixed bytes agree best with a damaged header; the present one in case of a tie.
pub(super) fn generation(prefix: &[u8]) -> Generation {
    let right = |&generation: &Generation| {
        fixed(generation).filter(|&(at, byte, _)| prefix.get(at) == Some(&byte)).count()
    };
    // In a tie, `max_by_key` returns the last one, the present generation.
    Generation::ALL.into_iter().max_by_key(right).unwrap_or(Generation::Present)
}

impl Values {
    /// Reads the values of the header at the start of `prefix`, and adds the restored bytes to `restored`.
    pub(super) fn read(prefix: &[u8], restored: &mut Vec<Restored>) -> Self {
        let mut bytes = prefix.to_vec();
        bytes.resize(Generation::Present.head_len(), 0);
        let fixed = || fixed(Generation::Present);
        let wrong: Vec<_> = fixed().filter(|&(at, byte, _)| bytes.get(at) != Some(&byte)).collect();
        if wrong.len() * 2 > fixed().count() {
            restored.push(Restored::Header);
            return Self { bytes: Vec::new(), is_lost: true };
        }
        for (at, byte, what) in wrong {
            if let Some(slot) = bytes.get_mut(at) {
                restored.push(Restored::Byte { part: what, offset: at, bytes: [*slot, byte] });
                *slot = byte;
            }
        }
        Self { bytes, is_lost: false }
    }

    /// The header that begins with these values, if nothing else in it is damaged.
    pub(super) fn head(&self, prefix: &[u8]) -> Option<Frame<()>> {
        let rest = prefix.get(self.bytes.len()..)?;
        Frame::parse(&[&self.bytes, rest].concat()).ok()
    }

    /// A value that is an integer; 0 if the header is lost.
    pub(super) fn number(&self, field: HeaderField) -> i64 {
        let at = field.present_offset();
        let bytes = self.bytes.get(at..at + field.encoding().len).unwrap_or_default();
        // Sign extension: the values are big-endian integers of 2, 4 or 8 bytes.
        let start = if bytes.first().is_some_and(|&byte| byte > 0x7f) { -1 } else { 0 };
        bytes.iter().fold(start, |number, &byte| number << 8 | i64::from(byte))
    }

    /// Whether the header says that there are vlmetalayers.
    pub(super) fn has_vlmetalayers(&self) -> bool {
        self.bytes.get(HeaderField::HasVlmetalayers.present_offset()) == Some(&Marker::True.to_u8())
    }

    /// The compression of new chunks; the defaults of python-blosc2 if a reader rejects any parameter.
    pub(super) fn compression(&self, restored: &mut Vec<Restored>) -> Compression {
        let header = self.alone().and_then(|header| Frame::parse(&header).ok());
        let compression = header.map(|Frame { header, .. }| Compression {
            codec: header.codec,
            codec_meta: header.codec_meta,
            level: header.level,
            split_mode: header.split_mode,
            filters: header.pipeline().collect(),
            uses_dictionary: header.uses_dictionary,
        });
        let is_read = |compression: &Compression| {
            let is_short = |filter: &Filter| filter.meta <= MAX_PARAMETER;
            check_compression(compression).is_ok() && compression.filters.iter().all(is_short)
        };
        compression.filter(is_read).unwrap_or_else(|| {
            if !self.is_lost {
                restored.push(Restored::Compression);
            }
            Compression::default()
        })
    }

    /// The values as a header without metalayers.
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

/// The description of the array, as far as a damaged header still has it.
pub(super) struct Metadata {
    pub(super) dtype: Option<Dtype>,
    /// The names and the contents of the metalayers that the new frame keeps.
    pub(super) layers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The possible lengths of the header, the most likely one first.
    pub(super) header_lens: Vec<usize>,
    /// The sizes of items, blocks and chunks for each possible typesize, the most likely one first.
    pub(super) sizes: Vec<Sizes>,
    /// The number of chunks, which is the same for all typesizes.
    pub(super) nchunks: u64,
}

/// The array, and the metalayers that can be read.
struct FoundMetalayers {
    array: Option<Meta>,
    layers: Vec<(Vec<u8>, Vec<u8>)>,
    lost: Vec<String>,
    /// The end of the last metalayer.
    end: usize,
}

/// Reads the metalayers of a header. `prefix` is the start of the frame. Metalayers that cannot be read are added to
/// `lost`.
pub(super) fn read_metadata(
    prefix: &[u8],
    values: &Values,
    given: &Given,
    restored: &mut Vec<Restored>,
    lost: &mut Vec<LostMetalayer>,
) -> Result<Metadata, Error> {
    let stated = usize::try_from(values.number(HeaderField::HeaderLen)).ok();
    let stated = stated.filter(|len| (Generation::Present.head_len()..=MAX_HEADER_LEN).contains(len));
    let mut found = find(prefix, stated, values.is_lost, restored);
    let meta = given.apply(found.array.as_ref())?;
    let geometry = meta.geometry().map_err(|error| {
        Error::array_unknown(format_args!("the array's metalayer: {error}; give the entry that is wrong"))
    })?;
    let nchunks = geometry.nchunks();
    if found.array.as_ref() != Some(&meta) {
        restored.push(Restored::Array(given.to_string()));
        let bytes = to_vec(&meta).map_err(|error| Error::encode(ARRAY_NAME, error))?;
        found.layers.retain(|(name, _)| !is_array_name(name));
        found.layers.insert(0, (ARRAY_NAME.into(), bytes));
    }
    for name in found.lost {
        lost.push(LostMetalayer { name, why: "its content cannot be found in the header".into() });
    }
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
    let mut header_lens: Vec<usize> =
        [stated, (found.end > 0).then_some(found.end)].into_iter().flatten().collect();
    header_lens.dedup();
    let sizes = possible_sizes(&meta, dtype.as_ref(), values)?;
    if let (Some(_), Some(dtype), Some(first)) = (&given.dtype, &dtype, sizes.first()) {
        let (found, expected) = (dtype.item_size(), first.typesize as usize);
        // The sizes of the header show which dtypes are impossible, and a wrong one makes garbage of all items.
        if found != expected {
            return Err(Error::invalid_input(format_args!(
                "dtype {dtype} has items of {found} bytes, but by its header the array has items of {expected}"
            )));
        }
    }
    Ok(Metadata { dtype, layers: found.layers, header_lens, sizes, nchunks })
}

fn is_array_name(name: &[u8]) -> bool {
    ARRAY_NAMES.iter().any(|array| array.as_bytes() == name)
}

/// Finds the metalayers by their index. If the index does not lead to the array's metalayer, it searches for the bytes
/// of that metalayer.
fn find(
    prefix: &[u8],
    stated: Option<usize>,
    is_lost: bool,
    restored: &mut Vec<Restored>,
) -> FoundMetalayers {
    let start = Generation::Present.head_len();
    // Another frame in the file has metalayers too: bytes from its magic on do not belong to this frame.
    let next = prefix.get(start..).and_then(|rest| memmem::find(rest, MAGIC));
    let own = prefix.get(..next.map_or(prefix.len(), |at| start + at - MAGIC_OFFSET)).unwrap_or(prefix);
    // The header's own length may be wrong, and cut off the last metalayer. So all bytes of the frame are tried too.
    let mut limits = [stated.filter(|&len| len <= prefix.len()), Some(own.len())];
    let by_contents = Layers::read(own, start, SectionRules::HEADER.max_count.into()).end;
    if begins_chunk(prefix, by_contents) && stated.is_some_and(|stated| !begins_chunk(prefix, stated)) {
        // A chunk begins after the contents, but none at the stated length: that length is wrong, so try it last.
        limits.reverse();
    }
    let attempt = |limit: usize, read: Reading| {
        let bytes = prefix.get(..limit)?;
        let Layers { layers, end } = Layers::read(bytes, start, SectionRules::HEADER.max_count.into());
        let (number, (meta, content)) = array_of(bytes, &layers, read)?;
        Some((bytes, layers, end, number, meta, content))
    };
    // A metalayer that can be read unchanged, with either length, is better than a restored one, and that is better
    // than one with wrong entries.
    let readings: [Reading; 3] = [read_array, restore_array, read_any_array];
    let mut attempts =
        readings.into_iter().flat_map(|read| limits.into_iter().flatten().map(move |limit| (limit, read)));
    if let Some((bytes, layers, end, number, meta, content)) =
        attempts.find_map(|(limit, read)| attempt(limit, read))
    {
        let mut found = FoundMetalayers { array: Some(meta), layers: Vec::new(), lost: Vec::new(), end };
        for (at, layer) in layers.into_iter().enumerate() {
            let range = layer.contents.first().cloned();
            match range.and_then(|range| bytes.get(range)) {
                _ if at == number => {
                    let is_named = is_array_name(&layer.name);
                    let name = if is_named { layer.name } else { ARRAY_NAME.into() };
                    if !is_named {
                        restored.push(Restored::ArrayName);
                    }
                    let is_there = |range: &Range<usize>| {
                        bytes.get(range.clone()).is_some_and(|bytes| bytes.starts_with(&content))
                    };
                    if !layer.contents.iter().any(is_there) {
                        restored.push(Restored::ArrayMarkers);
                    }
                    found.layers.push((name, content.clone()));
                }
                Some(content) => found.layers.push((layer.name, content.to_vec())),
                None => found.lost.push(Escaped(&String::from_utf8_lossy(&layer.name)).to_string()),
            }
        }
        return found;
    }
    // If the header is lost, the bytes found may belong to another frame, such as another member of a zip.
    match search(own, start).filter(|_| !is_lost) {
        Some((meta, content, end)) => {
            restored.push(Restored::MetalayerIndex);
            let layers = [(ARRAY_NAME.into(), content)].into();
            FoundMetalayers { array: Some(meta), layers, lost: Vec::new(), end }
        }
        None => FoundMetalayers { array: None, layers: Vec::new(), lost: Vec::new(), end: 0 },
    }
}

/// Whether a chunk of a version that C-Blosc2 has written to frames begins here.
pub(super) fn begins_chunk(prefix: &[u8], at: usize) -> bool {
    let header = prefix.get(at..).and_then(ChunkHeader::parse);
    header.is_some_and(|header| VERSIONS.contains(&header.version))
}

/// A way to read the bytes of an array's metalayer: unchanged or restored.
type Reading = fn(&[u8]) -> Option<ArrayMetalayer>;

/// The metalayer that describes the array: its number, the array and its bytes. A metalayer with another name counts
/// only if none with the right name can be read.
fn array_of(bytes: &[u8], layers: &[Layer], read: Reading) -> Option<(usize, ArrayMetalayer)> {
    let of_name = |is_named: bool| {
        let layers = layers.iter().enumerate().filter(|(_, layer)| is_array_name(&layer.name) == is_named);
        let mut contents =
            layers.flat_map(|(number, layer)| layer.contents.iter().map(move |range| (number, range)));
        contents.find_map(|(number, range)| Some((number, read(bytes.get(range.clone())?)?)))
    };
    of_name(true).or_else(|| of_name(false))
}

/// Looks for the bytes of an array's metalayer. Returns the array, its bytes, and their end.
fn search(prefix: &[u8], start: usize) -> Option<(Meta, Vec<u8>, usize)> {
    (start..prefix.len()).find_map(|at| {
        let bytes = prefix.get(at..)?;
        // A short test before the long one, as it runs at each byte: a fixarray, version 0, the rank, and a fixarray
        // of that length.
        let [marker, 0, rank, vector, ..] = *bytes else { return None };
        if marker & 0xf0 != 0x90 || vector.checked_sub(rank) != Some(0x90) {
            return None;
        }
        let (meta, rest) = take_from_slice::<Meta>(bytes).ok()?;
        let content = bytes.get(..bytes.len() - rest.len())?;
        meta.geometry().ok().map(|_| (meta, content.to_vec(), at + content.len()))
    })
}

/// The values of an array with these sizes in a header. `nbytes` is the last one, as it follows from the others.
pub(super) fn in_header(sizes: &Sizes) -> [(HeaderField, i64); 4] {
    [
        (HeaderField::Typesize, sizes.typesize.into()),
        (HeaderField::Blocksize, sizes.blocksize.into()),
        (HeaderField::Chunksize, sizes.chunksize.into()),
        (HeaderField::Nbytes, sizes.nbytes),
    ]
}

/// The sizes for each possible type size: that of the dtype, and that of the header.
fn possible_sizes(meta: &Meta, dtype: Option<&Dtype>, values: &Values) -> Result<Vec<Sizes>, Error> {
    let stated = usize::try_from(values.number(HeaderField::Typesize)).ok().filter(|&size| size > 0);
    let typesizes = [dtype.map(Dtype::item_size), stated];
    let mut possible = Vec::new();
    let mut error = None;
    for typesize in typesizes.into_iter().flatten() {
        match Sizes::new(meta, typesize) {
            Ok(sizes) if typesize > 0 => possible.push(sizes),
            Ok(_) => {}
            Err(why) => error = error.or(Some(why)),
        }
    }
    // Each size in the header that agrees is a vote. The sort keeps the order of equals, so the dtype wins a tie.
    possible.sort_by_key(|sizes| {
        let is_right = |&(field, right): &(HeaderField, i64)| values.number(field) == right;
        Reverse(in_header(sizes).into_iter().filter(is_right).count())
    });
    possible.dedup_by_key(|sizes| sizes.typesize);
    if possible.is_empty() {
        let unknown =
            || Error::array_unknown("neither the dtype nor the header says how many bytes an item has");
        return Err(error.map_or_else(unknown, Error::array_unknown));
    }
    Ok(possible)
}
