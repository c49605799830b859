//! The whole header of a frame: its values, whose bytes [`fields`](super::fields) has, and its metalayers, which are a
//! [section](super::section).

use std::sync::Arc;

use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::format::array::Array;
use crate::format::cursor::{Cursor, Part};
use crate::format::header::{self, Header, Start};
use crate::format::object_kind::{ObjectKind, told_kind};
use crate::format::section::{ARRAY_NAMES, Metalayer, Section, SectionRules, SharedBytes};

/// The header of a frame, with its bytes and its metalayers.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) header: Header,
    pub(crate) bytes: SharedBytes,
    pub(crate) section: Section,
}

impl Head {
    /// Reads the header from the first bytes of a frame. There may be more bytes after it.
    pub(crate) fn parse(prefix: &[u8]) -> Result<Self, Error> {
        let start = Start::parse(prefix)?;
        let bytes = prefix.get(..start.header_len).ok_or_else(|| Error::incomplete(start.header_len))?;
        let header = header::parse(bytes, start).map_err(Error::malformed)?;
        let bytes = Arc::new(bytes.to_vec());
        let cursor = Cursor::new(
            &bytes,
            Part { place: Place::Metalayers, start: 0, code: FindingCode::DamagedHeader },
        );
        let mut cursor = cursor.at(header.generation.head_len());
        let section = Section::parse(&mut cursor, &bytes, &SectionRules::HEADER);
        Ok(Self { header, bytes, section: section.map_err(Error::malformed)? })
    }

    pub(crate) fn metalayers(&self) -> &[Metalayer] {
        &self.section.metalayers
    }

    pub(crate) fn metalayer(&self, name: &str) -> Option<&Metalayer> {
        self.metalayers().iter().find(|layer| layer.name() == name)
    }

    pub(crate) fn array_metalayer(&self) -> Option<&Metalayer> {
        ARRAY_NAMES.into_iter().find_map(|name| self.metalayer(name))
    }

    /// The array; `None` if there is no array metalayer.
    pub(crate) fn array(&self) -> Result<Option<Array<'_>>, Finding> {
        self.array_metalayer().map(|layer| Array::read(layer, self.header.generation)).transpose()
    }

    /// Whether there is an array that can be read.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self.array(), Ok(Some(_)))
    }

    /// The kind of object, as far as the header determines it.
    pub(crate) fn kind(&self) -> ObjectKind {
        match told_kind(self.metalayers()) {
            Some((kind, _)) => kind,
            None if self.array_metalayer().is_some() => ObjectKind::NDArray,
            None => ObjectKind::SChunk,
        }
    }
}
