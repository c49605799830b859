//! The codecs of other crates, behind one call each. All that this crate knows about them is here.
//!
//! None of the crates uses `unsafe`. LZ4 is by lz4rip and not by `lz4_flex`, the one that most projects use: on real arrays it
//! needs 0.9 to 1.5 times the time of C-Blosc2, and `lz4_flex` 1.3 to 1.9 times.

use alloc::boxed::Box;
use alloc::vec::Vec;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{self as inflate, DecompressorOxide};
use zrip::{DecompressContext, Dictionary};

use crate::blosclz;
use crate::codec::Codec;

/// The decoders, with memory that is used again.
#[derive(Default)]
pub(crate) struct Codecs {
    zlib: Option<Box<DecompressorOxide>>,
    zstd: Option<DecompressContext>,
    zstd_with_dictionary: Option<DictionaryContext>,
    /// The output of zstd, which appends to a vector.
    output: Vec<u8>,
}

/// A decoder of zstd with a dictionary, whose tables take longer to build than a small block to decompress.
struct DictionaryContext {
    dictionary: Vec<u8>,
    context: DecompressContext,
}

impl Codecs {
    /// Prepares for streams with a dictionary, of which only zstd has a format. `None` if it is not in that format.
    pub(crate) fn load_dictionary(&mut self, codec: Codec, dictionary: &[u8]) -> Option<()> {
        let is_loaded =
            self.zstd_with_dictionary.as_ref().is_some_and(|loaded| loaded.dictionary == dictionary);
        if codec != Codec::ZSTD || dictionary.is_empty() || is_loaded {
            return Some(());
        }
        let context = DecompressContext::with_dict(Dictionary::from_bytes(dictionary).ok()?);
        self.zstd_with_dictionary = Some(DictionaryContext { dictionary: dictionary.into(), context });
        Some(())
    }

    /// Decompresses a stream into exactly these bytes.
    pub(crate) fn decompress(
        &mut self,
        codec: Codec,
        dictionary: &[u8],
        stream: &[u8],
        data: &mut [u8],
    ) -> Option<()> {
        let found = match codec {
            Codec::BLOSCLZ => blosclz::decompress(stream, data)?,
            Codec::LZ4 | Codec::LZ4HC if dictionary.is_empty() => {
                lz4rip::block::decompress_into(stream, data).ok()?
            }
            Codec::LZ4 | Codec::LZ4HC => {
                lz4rip::block::decompress_into_with_dict(stream, data, dictionary).ok()?
            }
            Codec::ZLIB => self.inflate(stream, data)?,
            Codec::ZSTD => {
                let mut output = core::mem::take(&mut self.output);
                output.clear();
                let decompressed = self.append_zstd(dictionary, stream, data.len(), &mut output);
                if decompressed.is_some() {
                    data.copy_from_slice(&output);
                }
                self.output = output;
                decompressed?;
                data.len()
            }
            _ => return None,
        };
        (found == data.len()).then_some(())
    }

    /// Decompresses a stream of zstd to exactly `length` bytes at the end of a vector.
    pub(crate) fn append_zstd(
        &mut self,
        dictionary: &[u8],
        stream: &[u8],
        length: usize,
        data: &mut Vec<u8>,
    ) -> Option<()> {
        let context = if dictionary.is_empty() {
            self.zstd.get_or_insert_default()
        } else {
            &mut self.zstd_with_dictionary.as_mut()?.context
        };
        let found = context.decompress_into_with_limit(stream, data, length).ok()?;
        (found == length).then_some(())
    }

    fn inflate(&mut self, stream: &[u8], data: &mut [u8]) -> Option<usize> {
        let state = self.zlib.get_or_insert_default();
        state.init();
        let flags = TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, _, found) = inflate::decompress(state, stream, data, 0, flags);
        (status == TINFLStatus::Done).then_some(found)
    }
}
