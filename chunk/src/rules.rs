//! The rules for chunk headers that can be checked without a frame.

use core::ops::Deref;

use crate::error::{Error, Fault, ensure};
use crate::filter::Filter;
use crate::header::{CODEC_IN_BYTE, CODEC_OF_FRAME, ChunkHeader, MAX_BLOCKSIZE, SpecialValue, format_of};

/// The header of a chunk that this crate can decompress: its values do not contradict each other, and the codec and the
/// filters are supported. [`ChunkHeader::checked`] checks a header and returns it as a `CheckedHeader`. Decompression
/// does not repeat this check.
///
/// `Decompressor::decompress_block_bytes` needs a `CheckedHeader` to decompress a block of a chunk that was not read as
/// a whole. For a whole chunk, use `Chunk`.
///
/// ```
/// use b2nd_chunk::ChunkHeader;
///
/// let bytes = b"\x05\x01\x95\x04\x20\0\0\0\x20\0\0\0\x2a\0\0\0\0\0\0\0\0\x01\x05\0\0\0\0\0\0\0\0\0";
/// let header = ChunkHeader::parse(bytes).expect("a header").checked()?;
/// assert_eq!(header.nbytes(), 32);
/// # Ok::<(), b2nd_chunk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedHeader(ChunkHeader);

impl Deref for CheckedHeader {
    type Target = ChunkHeader;

    fn deref(&self) -> &ChunkHeader {
        &self.0
    }
}

impl ChunkHeader {
    /// Checks the header: its sizes, its flags, and the number of bytes after it.
    ///
    /// # Errors
    ///
    /// [`Header`](crate::ErrorKind::Header) if values of the header contradict each other, or if C-Blosc2 cannot read a
    /// chunk with this header.
    ///
    /// ```
    /// use b2nd_chunk::ChunkHeader;
    ///
    /// // Ten bytes of data, but only nine are stored.
    /// let bytes = b"\x05\x01\x02\x01\x0a\0\0\0\x0a\0\0\0\x19\0\0\0";
    /// let error = ChunkHeader::parse(bytes).expect("a header").check().unwrap_err();
    /// assert_eq!(error.to_string(), "the chunk is not compressed, but has 9 bytes for 10 of data");
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        let Self { header_len, typesize, nbytes, blocksize, cbytes, .. } = *self;
        ensure(typesize > 0, Fault::Typesize)?;
        ensure((1..=MAX_BLOCKSIZE).contains(&blocksize), Fault::Blocksize { size: blocksize })?;
        self.check_flags()?;
        let body = cbytes.saturating_sub(header_len);
        match self.special {
            Some(SpecialValue::Value) => {
                let fits = body > 0 && nbytes > 0 && nbytes % body == 0;
                ensure(fits, Fault::Value { body, nbytes })
            }
            Some(SpecialValue::Zeros) => Ok(()),
            Some(_) => ensure(nbytes % usize::from(typesize) == 0, Fault::Items { nbytes, typesize }),
            None if self.is_uncompressed => ensure(body == nbytes, Fault::Stored { body, nbytes }),
            None => {
                let has_room = self.table_len().is_some_and(|length| length <= body);
                ensure(has_room, Fault::NoRoomForTable { cbytes })?;
                // C-Blosc2 splits a block even if the streams cannot have equal lengths, and then loses the last bytes
                // of the block.
                let length = blocksize.min(nbytes);
                let nstreams = self.nstreams(length);
                ensure(length % nstreams == 0, Fault::Split { length, nstreams })
            }
        }
    }

    /// Checks that the flags do not contradict each other. [`check`](Self::check) includes this check.
    ///
    /// # Errors
    ///
    /// The same kinds of errors as `check`.
    #[doc(hidden)]
    pub fn check_flags(&self) -> Result<(), Error> {
        let has_data = self.is_uncompressed || self.has_dictionary;
        ensure(self.special.is_none() || !has_data, Fault::SpecialWithData)?;
        ensure(self.has_table() || !self.has_variable_blocks, Fault::VariableWithoutTable)?;
        ensure(!self.is_lazy(), Fault::Lazy)?;
        if let Some(codec) = self.codec {
            let is_needless = self.has_dictionary && !codec.takes_dictionary();
            ensure(!is_needless, Fault::NeedlessDictionary { codec })?;
        }
        let bits = self.special_bits;
        let is_known = bits == 0 || self.special.is_some() || self.false_special().is_some();
        ensure(is_known, Fault::SpecialBits { bits })
    }

    /// Checks the header with the rules of [`check`](Self::check). Also checks that this crate [can
    /// decompress](crate#what-is-decompressed) the chunk.
    ///
    /// # Errors
    ///
    /// [`Header`](crate::ErrorKind::Header) if the header is invalid, [`Unsupported`](crate::ErrorKind::Unsupported) if
    /// this crate cannot decompress the chunk, for example because the codec or a filter is a plugin, and
    /// [`Data`](crate::ErrorKind::Data) if no codec or filter has the number in the header, or if the flags mark a
    /// built-in codec as a plugin.
    pub fn checked(self) -> Result<CheckedHeader, Error> {
        self.check()?;
        self.check_support()?;
        Ok(CheckedHeader(self))
    }

    /// Checks that this crate [can decompress](crate#what-is-decompressed) the chunk.
    fn check_support(&self) -> Result<(), Error> {
        let typesize = self.typesize;
        let is_nan = self.special == Some(SpecialValue::Nan);
        ensure(!is_nan || [4, 8].contains(&typesize), Fault::Nan { typesize })?;
        if !self.has_table() {
            return Ok(());
        }
        ensure(!self.is_instrumented(), Fault::Instrumented)?;
        // Unknown numbers are checked first, because they mean that the chunk is damaged. The later checks find codecs
        // and filters that are valid, but not supported.
        self.codec_fault().map_or(Ok(()), Err)?;
        let unknown_filter = self.pipeline().find(|filter| filter.is_unknown());
        unknown_filter.map_or(Ok(()), |filter| Err(Fault::UnknownFilter { filter }))?;
        let codec = self.codec.ok_or(Fault::CodecOfFrame)?;
        ensure(codec.is_built_in(), Fault::Codec { codec })?;
        for filter in self.pipeline() {
            let kind = filter.without_parameter();
            ensure(kind != Filter::BYTEDELTA || filter.meta > 0, Fault::RowsOfFrame { filter })?;
            let is_undone = !filter.is_plugin() || [Filter::BYTEDELTA, Filter::INT_TRUNC].contains(&kind);
            ensure(is_undone, Fault::Filter { filter })?;
        }
        Ok(())
    }

    /// The fault of a codec number that no program can have written to the header of a compressed chunk.
    fn codec_fault(&self) -> Option<Fault> {
        let format = self.codec_format();
        match self.codec {
            // In the byte `codec`, C-Blosc2 accepts only a plugin or a user's codec, so it cannot read a chunk with a
            // built-in codec there.
            Some(codec) if format == CODEC_IN_BYTE && codec.is_built_in() => {
                Some(Fault::BuiltInCodec { codec, right: format_of(codec)? })
            }
            Some(codec) => codec.is_unknown().then_some(Fault::UnknownCodec { number: codec.0 }),
            None => (format != CODEC_OF_FRAME).then_some(Fault::UnknownCodec { number: format }),
        }
    }
}
