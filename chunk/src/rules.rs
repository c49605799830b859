//! The rules for a header, without the frame around it.

use crate::error::{Detail, Error, HeaderFault, UnsupportedPart};
use crate::filter::Filter;
use crate::header::{ChunkHeader, MAX_BLOCKSIZE, SpecialValue};

impl ChunkHeader {
    /// Checks the header: its sizes, its flags, and the number of bytes after it.
    ///
    /// # Errors
    ///
    /// [`Header`](crate::ErrorKind::Header) if values contradict each other, or if C-Blosc2 reads no chunk with them.
    ///
    /// ```
    /// use b2nd_chunk::{ChunkHeader, header::stored_header};
    ///
    /// // Ten bytes of data, of which only nine are stored.
    /// let bytes = stored_header(false, 1, 10, 10, 9).expect("sizes that fit");
    /// let error = ChunkHeader::parse(&bytes).expect("a header").check().unwrap_err();
    /// assert_eq!(error.to_string(), "the chunk is not compressed, but has 9 bytes for 10 of data");
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        let fault = self.size_fault().or_else(|| self.flag_fault()).or_else(|| self.body_fault());
        fault.map_or(Ok(()), |fault| Err(Error::new(Detail::Header(fault))))
    }

    /// Checks that the flags do not contradict each other, as a part of [`check`](Self::check).
    ///
    /// # Errors
    ///
    /// As `check`.
    pub fn check_flags(&self) -> Result<(), Error> {
        self.flag_fault().map_or(Ok(()), |fault| Err(Error::new(Detail::Header(fault))))
    }

    /// Checks that this crate can decompress the codec and undo the filters.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the codec or a filter is one that this crate does not undo.
    pub fn check_support(&self) -> Result<(), Error> {
        self.unsupported_part().map_or(Ok(()), |part| Err(Error::new(Detail::Unsupported(part))))
    }

    fn size_fault(&self) -> Option<HeaderFault> {
        if self.typesize == 0 {
            return Some(HeaderFault::Typesize);
        }
        (self.blocksize == 0 || self.blocksize > MAX_BLOCKSIZE)
            .then_some(HeaderFault::Blocksize(self.blocksize))
    }

    fn flag_fault(&self) -> Option<HeaderFault> {
        if self.special.is_some() && (self.is_uncompressed || self.has_dictionary) {
            return Some(HeaderFault::SpecialWithData);
        }
        if self.has_variable_blocks && !self.has_table() {
            return Some(HeaderFault::VariableWithoutTable);
        }
        if self.is_lazy() && self.is_uncompressed {
            return Some(HeaderFault::LazyWithData);
        }
        if let Some(codec) = self.codec.filter(|codec| self.has_dictionary && !codec.takes_dictionary()) {
            return Some(HeaderFault::Dictionary(codec));
        }
        let bits = self.special_bits;
        (self.special.is_none() && bits != 0 && self.false_special().is_none())
            .then_some(HeaderFault::SpecialBits(bits))
    }

    /// Why the bytes after the header do not fit it.
    fn body_fault(&self) -> Option<HeaderFault> {
        let Self { header_len, nbytes, cbytes, typesize, .. } = *self;
        let body = cbytes.checked_sub(header_len)?;
        match self.special {
            Some(SpecialValue::Value) => {
                let fits = body > 0 && nbytes > 0 && nbytes % body == 0;
                (!fits).then_some(HeaderFault::Value { body, nbytes })
            }
            Some(SpecialValue::Zeros) => None,
            Some(_) => {
                (nbytes % usize::from(typesize) != 0).then_some(HeaderFault::Items { nbytes, typesize })
            }
            None if self.is_uncompressed => (body != nbytes).then_some(HeaderFault::Stored { body, nbytes }),
            None => match self.table_len() {
                Some(length) if length <= body => self.split_fault(),
                _ => Some(HeaderFault::NoRoomForTable { cbytes }),
            },
        }
    }

    /// Why the blocks cannot be split into as many streams as an item has bytes.
    // C-Blosc2 writes such chunks, and loses the last bytes of each block.
    fn split_fault(&self) -> Option<HeaderFault> {
        let length = self.blocksize.min(self.nbytes);
        let nstreams = self.nstreams(length);
        let rest = length.checked_rem(nstreams)?;
        (rest > 0 && !self.has_variable_blocks).then_some(HeaderFault::Split { length, nstreams })
    }

    fn unsupported_part(&self) -> Option<UnsupportedPart> {
        if self.special == Some(SpecialValue::Nan) && ![4, 8].contains(&self.typesize) {
            return Some(UnsupportedPart::Nan { typesize: self.typesize });
        }
        if !self.has_table() {
            return None;
        }
        if self.is_instrumented() {
            return Some(UnsupportedPart::Instrumented);
        }
        match self.codec {
            Some(codec) if codec.is_built_in() => {}
            Some(codec) => return Some(UnsupportedPart::Codec(codec)),
            None => return Some(UnsupportedPart::CodecOfFrame),
        }
        self.pipeline().find_map(|filter| match (Filter { meta: 0, ..filter }, filter.meta) {
            (Filter::BYTEDELTA, 0) => Some(UnsupportedPart::RowsOfBytedelta),
            (Filter::BYTEDELTA | Filter::INT_TRUNC, _) => None,
            _ if filter.is_plugin() => Some(UnsupportedPart::Filter(filter)),
            _ => None,
        })
    }
}
