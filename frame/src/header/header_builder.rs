//! Builds the bytes of a header.

use b2nd_chunk::{Codec, Filter, SplitMode};

use crate::header::fields::{Encoding, FRAME_TYPE, Generation, HeaderField};
use crate::header::flags::{MAX_FILTERS, split_mode_bits};
use crate::header::frame_header::{CODEC_WITH_FILTERS, HAS_VARIABLE_CHUNKS, Header, MAGIC, MAX_HEADER_LEN};
use crate::messagepack::marker::Marker;

/// The format version of new frames.
pub(crate) const VERSION: u8 = 2;

/// The format version of new frames whose chunks may have different sizes.
const VARIABLE_VERSION: u8 = 3;

/// A bit in the first byte of flags: offsets have 64 bits. All writers set it.
const HAS_64_BIT_OFFSETS: u8 = 0x10;

/// The compression of new chunks, as the header records it.
#[derive(Clone, Debug)]
pub(crate) struct Compression {
    pub(crate) codec: Codec,
    pub(crate) codec_meta: u8,
    /// The compression level, at most 15, because the flags have 4 bits for it. Writers use 0 to 9.
    pub(crate) level: u8,
    pub(crate) split_mode: SplitMode,
    /// At most 6 filters, in order of application.
    pub(crate) filters: Vec<Filter>,
    pub(crate) uses_dictionary: bool,
}

impl Default for Compression {
    /// The default of python-blosc2: zstd at level 5, after a shuffle.
    fn default() -> Self {
        Self {
            codec: Codec::ZSTD,
            codec_meta: 0,
            level: 5,
            split_mode: SplitMode::Auto,
            filters: [Filter::SHUFFLE].into(),
            uses_dictionary: false,
        }
    }
}

/// The bytes of a header of the present generation. At first, they are a template with all markers. Then values are
/// copied into the template, and the metalayers are added last.
#[derive(Clone)]
pub(crate) struct HeaderBuilder {
    bytes: Vec<u8>,
}

impl HeaderBuilder {
    /// A header in which the magic is set, and all other values are 0 or false.
    pub(crate) fn new() -> Self {
        let mut bytes = vec![Generation::Present.marker().to_u8()];
        for Encoding { marker, len, .. } in HeaderField::ALL.iter().map(|field| field.encoding()) {
            bytes.extend(marker);
            bytes.resize(bytes.len() + len, 0);
        }
        let mut builder = Self { bytes };
        builder.set(HeaderField::Magic, MAGIC);
        builder.set(HeaderField::HasVlmetalayers, &[Marker::False.to_u8()]);
        builder
    }

    /// Copies all values of another header. `bytes` are the bytes of that header.
    // The other header may be of the older generation, which has other flags and no block size. In this case, the
    // caller sets the flags and the block size afterwards.
    pub(crate) fn copy(&mut self, header: &Header, bytes: &[u8]) {
        for &field in HeaderField::ALL {
            if let Some(value) = header.range(field).and_then(|range| bytes.get(range)) {
                self.set(field, value);
            }
        }
    }

    /// Overwrites the bytes of a value. If `value` is shorter than the room in the header for this value, the last
    /// bytes of the room do not change.
    pub(crate) fn set(&mut self, field: HeaderField, value: &[u8]) {
        let slot = self.bytes.iter_mut().skip(field.present_offset()).take(field.encoding().len);
        slot.zip(value).for_each(|(slot, &byte)| *slot = byte);
    }

    /// Sets a number, which must fit the bytes that the header has for it.
    pub(crate) fn set_number(&mut self, field: HeaderField, number: i64) {
        let bytes = number.to_be_bytes();
        let start = bytes.len().saturating_sub(field.encoding().len);
        self.set(field, bytes.get(start..).unwrap_or_default());
    }

    /// Sets the flags, the filters and the codec.
    pub(crate) fn set_compression(
        &mut self,
        has_variable_chunks: bool,
        is_sparse: bool,
        compression: &Compression,
    ) {
        let Compression { codec, codec_meta, level, split_mode, filters, uses_dictionary } = compression;
        // The header has six places for filters. If there are fewer filters, the first places stay empty. C-Blosc2 also
        // has its default filter in the last place.
        let mut slots = [Filter::NONE; MAX_FILTERS as usize];
        slots.iter_mut().rev().zip(filters.iter().rev()).for_each(|(slot, &filter)| *slot = filter);
        let version = if has_variable_chunks { VARIABLE_VERSION | HAS_VARIABLE_CHUNKS } else { VERSION };
        // The flags record each codec number from 6 on as 6. The byte `codec` of `filters` records the number itself.
        let codec_flag = codec.0.min(CODEC_WITH_FILTERS);
        let flags = [
            version | HAS_64_BIT_OFFSETS,
            is_sparse.into(),
            codec_flag | level << 4,
            split_mode_bits(*split_mode),
        ];
        self.set(HeaderField::Flags, &flags);
        let [ids, metas] = [slots.map(|filter| filter.id), slots.map(|filter| filter.meta)];
        let more_flags = [u8::from(*uses_dictionary)];
        let parts = [&[MAX_FILTERS][..], &ids, &[codec.0, *codec_meta], &metas, &more_flags];
        self.set(HeaderField::Filters, &parts.concat());
    }

    /// Sets the frame type.
    pub(crate) fn set_sparse(&mut self, is_sparse: bool) {
        if let Some(slot) = self.bytes.get_mut(HeaderField::Flags.present_offset() + FRAME_TYPE) {
            *slot = is_sparse.into();
        }
    }

    /// The number of bytes before the metalayers.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The whole header with these metalayers, for a frame with `bytes_after` bytes after the header; `None` if the
    /// header is too long.
    pub(crate) fn finish(mut self, metalayers: &[u8], bytes_after: u64) -> Option<Vec<u8>> {
        let len = self.bytes.len() + metalayers.len();
        if len > MAX_HEADER_LEN {
            return None;
        }
        self.set(HeaderField::HeaderLen, &i32::try_from(len).ok()?.to_be_bytes());
        self.set(HeaderField::FrameLen, &bytes_after.checked_add(len as u64)?.to_be_bytes());
        self.bytes.extend(metalayers);
        Some(self.bytes)
    }
}
