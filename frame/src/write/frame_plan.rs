//! The plan of a new frame: all its parts except the chunks.

use core::iter;

use b2nd_chunk::internals::{MAX_BLOCKSIZE, typesize_byte};
use b2nd_chunk::{Filter, SpecialValue};
use b2nd_serde::dtype::{self, Dtype};
use b2nd_serde::{Layout, Meta, to_vec};

use crate::chunk::chunk_rules::ChunkRules;
use crate::chunk::special_item::has_item;
use crate::error::Error;
use crate::header::array_rules::{self, check_block, refuse_objects};
use crate::header::fields::HeaderField;
use crate::header::flags::MAX_FILTERS;
use crate::header::frame_header::MAX_HEADER_LEN;
use crate::header::header_builder::{Compression, HeaderBuilder};
use crate::header::header_rules::{MAX_PARAMETER, parameter};
use crate::header::section::{ARRAY_NAME, ARRAY_NAMES, MAX_NAME_LEN, Section, SectionRules};
use crate::index::index_writer::NewIndex;
use crate::messagepack::marker::Marker;
use crate::trailer::frame_trailer::{MAX_TRAILER_LEN, Trailer};

/// The maximum number of vlmetalayers of a new frame. C-Blosc2 can read a frame with more vlmetalayers, but refuses to
/// write them again.
pub(crate) const MAX_VLMETALAYERS: usize = 16;

const MAX_LEVEL: u8 = 9;

/// The first codec number for plugins and users.
const FIRST_CODEC_OF_PLUGINS: u8 = 32;

/// The name of a metalayer, and its bytes or the error of encoding it. For a vlmetalayer, the bytes are its chunk.
// The error is deferred, so that the methods of the builder can be chained without `?`.
pub(crate) type NewMetalayer = (String, Result<Vec<u8>, Error>);

/// The content of a new frame, without its chunks.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) meta: Meta,
    pub(crate) typesize: Option<usize>,
    pub(crate) compression: Compression,
    pub(crate) metalayers: Vec<NewMetalayer>,
    pub(crate) vlmetalayers: Vec<NewMetalayer>,
}

/// The sizes in bytes of an array and its parts, and the number of its chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) typesize: u32,
    pub(crate) blocksize: u32,
    pub(crate) chunksize: u32,
    pub(crate) nbytes: i64,
    pub(crate) nchunks: u64,
}

/// The parts of a new frame except its chunks. The index is completed while the chunks are written. A salvage replaces
/// the trailer after the last chunk.
// The length of the header depends only on the metalayers, so it is known before the first chunk is written. Therefore
// each chunk can be written directly to its final place.
pub(crate) struct Plan {
    pub(crate) header: HeaderBuilder,
    pub(crate) section: Vec<u8>,
    pub(crate) trailer: Vec<u8>,
    pub(crate) index: NewIndex,
    pub(crate) sizes: Sizes,
    pub(crate) is_sparse: bool,
    /// Whether the index may record chunks as NaN (see the function `can_be_nan`).
    pub(crate) can_be_nan: bool,
}

impl Plan {
    /// Checks the content, and makes all bytes that do not depend on the chunks.
    pub(crate) fn new(contents: Contents, is_sparse: bool) -> Result<Self, Error> {
        let Contents { meta, typesize, compression, metalayers, vlmetalayers } = contents;
        if meta.layout() != Layout::B2nd {
            let layout = meta.layout();
            return Err(Error::invalid_input(format_args!(
                "layout {layout} cannot be written; only b2nd can"
            )));
        }
        check_block(&meta.shapes()).map_err(Error::invalid_input)?;
        let dtype = meta.parse_dtype();
        if let Ok(Some(dtype)) = &dtype {
            refuse_objects(dtype)?;
        }
        let sizes = Sizes::new(&meta, item_size(&dtype, typesize)?)?;
        let can_be_nan = can_be_nan(&dtype, sizes.typesize);
        check_compression(&compression, sizes.typesize)?;
        let metalayers = layers(metalayers, "metalayer", &ARRAY_NAMES)?;
        let vlmetalayers = layers(vlmetalayers, "vlmetalayer", &[])?;
        at_most(
            usize::from(SectionRules::HEADER.max_count),
            1 + metalayers.len(),
            "metalayers, with that of the array",
        )?;
        at_most(MAX_VLMETALAYERS, vlmetalayers.len(), "vlmetalayers")?;
        let array = to_vec(&meta).map_err(|error| Error::encode(ARRAY_NAME, error))?;
        let header = header(&sizes, is_sparse, &compression, !vlmetalayers.is_empty());
        let array = iter::once((ARRAY_NAME.as_bytes(), &array[..]));
        let section = Section::build(
            &SectionRules::HEADER,
            header.len(),
            &array.chain(refs(&metalayers)).collect::<Vec<_>>(),
        );
        let section = section.filter(|section| header.len() + section.len() <= MAX_HEADER_LEN);
        let section = section.ok_or_else(|| too_large("header", MAX_HEADER_LEN))?;
        let trailer = Trailer::build(&refs(&vlmetalayers).collect::<Vec<_>>(), <_>::default());
        let trailer = trailer.ok_or_else(|| too_large("trailer", MAX_TRAILER_LEN))?;
        let index = NewIndex::new(sizes.nchunks)?;
        Ok(Self { header, section, trailer, index, sizes, is_sparse, can_be_nan })
    }

    pub(crate) fn header_len(&self) -> u64 {
        (self.header.len() + self.section.len()) as u64
    }

    pub(crate) fn rules(&self) -> ChunkRules {
        ChunkRules {
            typesize: Some(typesize_byte(self.sizes.typesize)),
            itemsize: Some(self.sizes.typesize as usize),
            blocksize: Some(self.sizes.blocksize as usize),
            filters: None,
            // In a contiguous frame, C-Blosc2 reads no chunk of less than 32 bytes, the length of the longest chunk
            // header. In a sparse frame, shorter chunks are valid. They are still refused, because a rewrite could not
            // copy them into a contiguous frame.
            may_be_short: false,
        }
    }
}

/// Sets the values of a header that do not depend on the chunks.
pub(crate) fn header(
    sizes: &Sizes,
    is_sparse: bool,
    compression: &Compression,
    has_vlmetalayers: bool,
) -> HeaderBuilder {
    let mut header = HeaderBuilder::new();
    header.set_compression(sizes.chunksize == 0, is_sparse, compression);
    sizes.set_in(&mut header);
    // The numbers of threads do not matter, because readers ignore them and use their own numbers.
    header.set(HeaderField::CompressionThreads, &1_i16.to_be_bytes());
    header.set(HeaderField::DecompressionThreads, &1_i16.to_be_bytes());
    if has_vlmetalayers {
        header.set(HeaderField::HasVlmetalayers, &[Marker::True.to_u8()]);
    }
    header
}

impl Sizes {
    /// Computes the sizes from the shapes and the item size.
    pub(crate) fn new(meta: &Meta, typesize: usize) -> Result<Self, Error> {
        let geometry = meta.geometry().map_err(Error::geometry)?;
        let chunksize = geometry.chunk_nbytes(typesize).map_err(Error::geometry)?;
        let nchunks = geometry.nchunks();
        let items = geometry.block_nitems();
        let blocksize = usize::try_from(items).ok().and_then(|items| items.checked_mul(typesize));
        let blocksize = blocksize.filter(|&size| size <= MAX_BLOCKSIZE).ok_or_else(|| {
            Error::too_large(format_args!(
                "blockshape: a block has {items} items of {typesize} bytes, but can have at most {MAX_BLOCKSIZE} bytes"
            ))
        })?;
        let nbytes = i64::try_from(u128::from(nchunks) * chunksize as u128);
        let nbytes = nbytes.map_err(|_| {
            Error::too_large(format_args!(
                "{nchunks} chunks of {chunksize} bytes have more bytes than the format can count"
            ))
        })?;
        // In the header, these sizes are signed integers of 32 bits.
        let int32 = |size: usize| {
            i32::try_from(size).map(i32::unsigned_abs).map_err(|_| too_large("item", MAX_BLOCKSIZE))
        };
        let [typesize, blocksize, chunksize] = [int32(typesize)?, int32(blocksize)?, int32(chunksize)?];
        Ok(Self { typesize, blocksize, chunksize, nbytes, nchunks })
    }

    /// The header fields that these sizes determine, with their values.
    // If several fields of a damaged header are wrong, a salvage reports only the first of them. `nbytes` comes last,
    // because it depends on the other sizes: if one of them is wrong, `nbytes` is usually wrong as a consequence.
    pub(crate) fn in_header(&self) -> [(HeaderField, i64); 4] {
        [
            (HeaderField::Typesize, self.typesize.into()),
            (HeaderField::Blocksize, self.blocksize.into()),
            (HeaderField::Chunksize, self.chunksize.into()),
            (HeaderField::Nbytes, self.nbytes),
        ]
    }

    /// Sets the sizes in a header.
    pub(crate) fn set_in(&self, header: &mut HeaderBuilder) {
        for (field, value) in self.in_header() {
            header.set_number(field, value);
        }
    }
}

/// Whether the index may record chunks as NaN. An unknown dtype may be a float. So if the dtype is not known, NaN is
/// allowed for items of 4 or 8 bytes.
pub(crate) fn can_be_nan(dtype: &Result<Option<Dtype>, dtype::Error>, typesize: u32) -> bool {
    match dtype {
        Ok(Some(dtype)) => array_rules::can_be_nan(dtype),
        _ => has_item(SpecialValue::Nan, typesize.into()),
    }
}

/// The item size of the dtype or, if the dtype is not known, the given type size.
fn item_size(dtype: &Result<Option<Dtype>, dtype::Error>, typesize: Option<usize>) -> Result<usize, Error> {
    let size = match (dtype, typesize) {
        (Ok(Some(dtype)), given) => {
            let size = dtype.item_size();
            if let Some(given) = given.filter(|&given| given != size) {
                return Err(Error::invalid_input(format_args!(
                    "typesize is {given}, but items of dtype `{dtype}` have {size} bytes"
                )));
            }
            size
        }
        (_, Some(given)) => given,
        (Err(error), None) => {
            return Err(Error::invalid_input(format_args!(
                "dtype: {error}; if the dtype is right, give the typesize"
            )));
        }
        (Ok(None), None) => return Err(Error::invalid_input("there is neither a dtype nor a typesize")),
    };
    if (1..=MAX_BLOCKSIZE).contains(&size) {
        return Ok(size);
    }
    Err(Error::invalid_input(format_args!("an item has {size} bytes, but must have 1 to {MAX_BLOCKSIZE}")))
}

/// Checks the compression parameters of a frame whose items have `typesize` bytes.
pub(crate) fn check_compression(compression: &Compression, typesize: u32) -> Result<(), Error> {
    let Compression { codec, level, ref filters, uses_dictionary, .. } = *compression;
    if level > MAX_LEVEL {
        return Err(Error::invalid_input(format_args!("level is {level}, but must be 0 to {MAX_LEVEL}")));
    }
    // Codecs with higher numbers are not checked, because plugins and users can register codecs that this crate does
    // not know.
    if codec.0 < FIRST_CODEC_OF_PLUGINS {
        let Some(name) = codec.name() else {
            return Err(Error::invalid_input(format_args!("{codec} is unknown")));
        };
        if uses_dictionary && !codec.takes_dictionary() {
            return Err(Error::invalid_input(format_args!(
                "{name} does not support dictionaries; lz4, lz4hc and zstd do"
            )));
        }
    }
    at_most(MAX_FILTERS.into(), filters.len(), "filters")?;
    if let Some(unknown) = filters.iter().find(|filter| filter.is_unknown()) {
        return Err(Error::invalid_input(format_args!("{unknown} is unknown")));
    }
    let Some(&filter) = filters.iter().find(|&&filter| parameter(filter, typesize) > MAX_PARAMETER) else {
        return Ok(());
    };
    let found = parameter(filter, typesize);
    let stands_for = if filter.meta == 0 { "0, which stands for the item size " } else { "" };
    let drops_bits = [Filter::TRUNC_PREC.id, Filter::INT_TRUNC.id].contains(&filter.id);
    let advice = if drops_bits { "; give the number of bits to keep" } else { "" };
    let name = Filter { meta: 0, ..filter };
    Err(Error::invalid_input(format_args!(
        "the parameter of the filter {name} is {stands_for}{found}, but python-blosc2 opens no frame with a parameter \
         above {MAX_PARAMETER}{advice}"
    )))
}

/// Checks the names of metalayers, and returns the names and bytes. If a metalayer could not be encoded, returns the
/// deferred error.
fn layers(layers: Vec<NewMetalayer>, what: &str, taken: &[&str]) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut checked: Vec<(String, Vec<u8>)> = Vec::with_capacity(layers.len());
    for (name, bytes) in layers {
        check_name(what, &name)?;
        if taken.contains(&&*name) {
            return Err(Error::invalid_input(format_args!("{what} `{name}` is reserved for the array")));
        }
        if checked.iter().any(|(other, _)| *other == name) {
            return Err(Error::invalid_input(format_args!("there are two {what}s `{name}`")));
        }
        checked.push((name, bytes?));
    }
    Ok(checked)
}

/// Checks the name of a metalayer or vlmetalayer.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), Error> {
    let len = name.len();
    if len > MAX_NAME_LEN {
        return Err(Error::invalid_input(format_args!(
            "the name of a {what} can have at most {MAX_NAME_LEN} bytes, but `{name}` has {len}"
        )));
    }
    if name.contains('\0') {
        return Err(Error::invalid_input(format_args!(
            "the name {name:?} of a {what} contains a NUL, which would end the name"
        )));
    }
    Ok(())
}

fn refs(layers: &[(String, Vec<u8>)]) -> impl Iterator<Item = (&[u8], &[u8])> {
    layers.iter().map(|(name, bytes)| (name.as_bytes(), &bytes[..]))
}

fn at_most(most: usize, found: usize, what: &str) -> Result<(), Error> {
    if found <= most {
        return Ok(());
    }
    Err(Error::too_large(format_args!("there are {found} {what}, but a frame can have at most {most}")))
}

fn too_large(what: &str, most: usize) -> Error {
    Error::too_large(format_args!(
        "the {what} would have more than {most} bytes, or an offset that does not fit"
    ))
}
