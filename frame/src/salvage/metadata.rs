//! The description of the array in a damaged header: its metalayers, and the possible sizes.

use core::cmp::Reverse;
use core::ops::Range;

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::header as chunk_header;
use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Meta, take_from_slice, to_vec};
use memchr::memmem;

use crate::error::Error;
use crate::finding::Escaped;
use crate::format::array::has_objects;
use crate::format::fields::{Generation, HeaderField};
use crate::format::header::{MAGIC, MAGIC_OFFSET, MAX_HEADER_LEN};
use crate::format::section::{ARRAY_NAME, ARRAY_NAMES, SectionRules};
use crate::salvage::array::{self, Given};
use crate::salvage::layers::{Layer, Layers};
use crate::salvage::values::Values;
use crate::write::plan::Sizes;

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
pub(super) fn read(
    prefix: &[u8],
    values: &Values,
    given: &Given,
    restored: &mut Vec<String>,
    lost: &mut Vec<(String, String)>,
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
        restored.push(format!("the array's metalayer, as given: {given}"));
        let bytes = to_vec(&meta).map_err(|error| Error::encode(ARRAY_NAME, error))?;
        found.layers.retain(|(name, _)| !is_array_name(name));
        found.layers.insert(0, (ARRAY_NAME.into(), bytes));
    }
    for name in found.lost {
        lost.push((name, "its content cannot be found in the header".into()));
    }
    let dtype = meta.parse_dtype().map_err(|error| {
        Error::array_unknown(format_args!(
            "dtype: {error}; no reader opens an array of an unknown dtype, so give the dtype"
        ))
    })?;
    if dtype.as_ref().is_some_and(has_objects) {
        return Err(Error::refused(
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
            return Err(Error::refused(format_args!(
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
fn find(prefix: &[u8], stated: Option<usize>, is_lost: bool, restored: &mut Vec<String>) -> FoundMetalayers {
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
    let readings: [Reading; 3] = [array::read, array::restore, array::read_any];
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
                        restored.push(format!("the name {ARRAY_NAME} of the array's metalayer"));
                    }
                    let is_there = |range: &Range<usize>| {
                        bytes.get(range.clone()).is_some_and(|bytes| bytes.starts_with(&content))
                    };
                    if !layer.contents.iter().any(is_there) {
                        restored.push("markers or lengths in the array's metalayer".into());
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
            restored.push("the index of metalayers; only the array's metalayer was found".into());
            let layers = [(ARRAY_NAME.into(), content)].into();
            FoundMetalayers { array: Some(meta), layers, lost: Vec::new(), end }
        }
        None => FoundMetalayers { array: None, layers: Vec::new(), lost: Vec::new(), end: 0 },
    }
}

/// Whether a chunk of a version that C-Blosc2 has written to frames begins here.
fn begins_chunk(prefix: &[u8], at: usize) -> bool {
    let header = prefix.get(at..).and_then(ChunkHeader::parse);
    header.is_some_and(|header| chunk_header::VERSIONS.contains(&header.version))
}

/// A way to read the bytes of an array's metalayer: unchanged or restored.
type Reading = fn(&[u8]) -> Option<array::ArrayMetalayer>;

/// The metalayer that describes the array: its number, the array and its bytes. A metalayer with another name counts
/// only if none with the right name can be read.
fn array_of(bytes: &[u8], layers: &[Layer], read: Reading) -> Option<(usize, array::ArrayMetalayer)> {
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

/// The sizes for each possible typesize: the one of the dtype, and the one of the header.
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
        let unknown = || Error::refused("neither the dtype nor the header says how many bytes an item has");
        return Err(error.map_or_else(unknown, Error::array_unknown));
    }
    Ok(possible)
}
