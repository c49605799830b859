//! The values of a damaged header, with its markers restored.

use b2nd_chunk::Filter;

use crate::format::fields::{Generation, HeaderField};
use crate::format::head::Head;
use crate::format::header::MAGIC;
use crate::format::header_builder::{Compression, HeaderBuilder};
use crate::format::marker::Marker;
use crate::format::section::{Section, SectionRules};
use crate::rules::header::MAX_PARAMETER;
use crate::write::plan::check_compression;

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
        MAGIC.iter().zip(HeaderField::Magic.present_offset()..).map(|(&byte, at)| (at, byte, "the magic"));
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
    pub(super) fn read(prefix: &[u8], restored: &mut Vec<String>) -> Self {
        let mut bytes = prefix.to_vec();
        bytes.resize(Generation::Present.head_len(), 0);
        let fixed = || fixed(Generation::Present);
        let wrong: Vec<_> = fixed().filter(|&(at, byte, _)| bytes.get(at) != Some(&byte)).collect();
        if wrong.len() * 2 > fixed().count() {
            restored.push("the whole header, because more than half of its fixed bytes are wrong".into());
            return Self { bytes: Vec::new(), is_lost: true };
        }
        for (at, byte, what) in wrong {
            if let Some(slot) = bytes.get_mut(at) {
                let part = if what == "the magic" { "a byte of" } else { "the marker of" };
                restored.push(format!("{part} {what}: byte {at} was {slot:#04x}, and is {byte:#04x}"));
                *slot = byte;
            }
        }
        Self { bytes, is_lost: false }
    }

    /// The header that begins with these values, if nothing else in it is damaged.
    pub(super) fn head(&self, prefix: &[u8]) -> Option<Head> {
        let rest = prefix.get(self.bytes.len()..)?;
        Head::parse(&[&self.bytes, rest].concat()).ok()
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
    pub(super) fn compression(&self, restored: &mut Vec<String>) -> Compression {
        let header = self.alone().and_then(|header| Head::parse(&header).ok());
        let compression = header.map(|Head { header, .. }| Compression {
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
                restored.push("the codec and the filters of new chunks: those of python-blosc2".into());
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
