//! Decompresses and compresses single streams. Only this file uses the crates that implement LZ4, zlib and zstd.
//!
//! None of these crates uses `unsafe`. For zstd, the crate zrip decompresses, and the crate `zstd-encode` compresses.
//! The encoder of zrip is not used: it has no levels above 4, it hardly compresses increasing numbers, and on
//! big-endian machines its streams are invalid.
//!
//! Most projects use `lz4_flex` for LZ4. This crate uses lz4rip, because lz4rip is faster. On real arrays, lz4rip takes
//! 0.9 to 1.5 times as long as C-Blosc2, and `lz4_flex` takes 1.3 to 1.9 times as long as C-Blosc2. lz4rip has only one
//! compression level.

use alloc::boxed::Box;
use alloc::vec::Vec;

#[cfg(feature = "compress")]
use lz4rip::block::CompressorN;
#[cfg(feature = "compress")]
use miniz_oxide::deflate::core::{self as deflate, CompressorOxide, TDEFLFlush, TDEFLStatus};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{self as inflate, DecompressorOxide};
use zrip::{DecompressContext, Dictionary};

use crate::blosclz;
use crate::codec::Codec;
#[cfg(feature = "compress")]
use crate::error::Fault;
#[cfg(feature = "compress")]
use crate::memory;

/// The decoders of all codecs. Each decoder keeps its memory for the next stream.
#[derive(Default)]
pub(crate) struct Decoders {
    zlib: Option<Box<DecompressorOxide>>,
    zstd: Option<DecompressContext>,
    zstd_with_dictionary: Option<DictionaryContext>,
}

/// A decoder of zstd with a dictionary. The decoder is kept for the next chunk, because building the tables of a
/// dictionary takes longer than decompressing a small block.
struct DictionaryContext {
    dictionary: Vec<u8>,
    context: DecompressContext,
}

impl Decoders {
    /// Loads the dictionary of a chunk. `None` if the dictionary is not in the format of zstd. For other codecs a
    /// dictionary is any sequence of bytes, so nothing is loaded, and the result is `Some`.
    pub(crate) fn load_dictionary(&mut self, codec: Codec, dictionary: &[u8]) -> Option<()> {
        let is_loaded =
            self.zstd_with_dictionary.as_ref().is_some_and(|loaded| loaded.dictionary == dictionary);
        if codec != Codec::ZSTD || dictionary.is_empty() || is_loaded {
            return Some(());
        }
        let parsed = Dictionary::from_bytes(dictionary).ok()?;
        // A dictionary of zstd has content and three repeat offsets. These are distances that the first repetitions of
        // a stream can use. At the start of the stream, a distance counts back from the end of the content. If one of
        // these offsets is 0 or longer than the content, C-Blosc2 rejects the dictionary, even if no stream uses the
        // offset. This function does the same.
        let reach = parsed.content().len();
        if parsed.rep_offsets().iter().any(|&offset| offset == 0 || offset as usize > reach) {
            return None;
        }
        let context = DecompressContext::with_dict(parsed);
        self.zstd_with_dictionary = Some(DictionaryContext { dictionary: dictionary.into(), context });
        Some(())
    }

    /// Decompresses a stream of any codec but zstd. `None` if the decompressed bytes do not fill `data` exactly.
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
            Codec::ZLIB => {
                let state = self.zlib.get_or_insert_default();
                state.init();
                let flags = TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
                let (status, _, found) = inflate::decompress(state, stream, data, 0, flags);
                (status == TINFLStatus::Done).then_some(found)?
            }
            _ => return None,
        };
        (found == data.len()).then_some(())
    }

    /// Decompresses a stream of zstd to exactly `length` bytes, and appends these bytes to `data`. The crate zrip can
    /// only append to a vector.
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
}

/// The level of zstd for each compression level from 1 to 9, as in C-Blosc2.
#[cfg(feature = "compress")]
const ZSTD_LEVELS: [u8; 9] = [1, 3, 5, 7, 9, 11, 13, 15, 22];

/// The number of entries in the hash table of LZ4: the same as in the C library, and twice the default of lz4rip.
#[cfg(feature = "compress")]
const LZ4_ENTRIES: usize = 4096;

/// The most memory that an encoder of a codec needs at a level from 1 to 9. The documentation of the crate
/// `zstd-encode` lists the limits for zstd.
#[cfg(feature = "compress")]
const fn encoder_memory(codec: Codec, level: u8) -> usize {
    match (codec, level) {
        (Codec::ZSTD, 3..=6) => 8 << 20,
        (Codec::ZSTD, 7..) => 56 << 20,
        _ => 3 << 20,
    }
}

/// The encoder of a codec at a level from 1 to 9. It keeps its memory for the next stream.
#[cfg(feature = "compress")]
pub(crate) struct StreamEncoder {
    state: EncoderState,
    /// The compressed stream.
    output: Vec<u8>,
}

#[cfg(feature = "compress")]
enum EncoderState {
    Blosclz(blosclz::Encoder),
    Lz4,
    Zlib(Box<CompressorOxide>),
    Zstd(Box<zstd_encode::Encoder>),
}

#[cfg(feature = "compress")]
impl StreamEncoder {
    pub(crate) fn new(codec: Codec, level: u8) -> Result<Self, Fault> {
        // If the system had no memory for the tables of an encoder, the encoder would end the process. So `new` first
        // reserves as much memory and frees it again, and returns an error if this fails.
        memory::reserve(&mut Vec::new(), encoder_memory(codec, level))?;
        let state = match codec {
            Codec::BLOSCLZ => EncoderState::Blosclz(blosclz::Encoder::new(level)),
            Codec::LZ4 => EncoderState::Lz4,
            Codec::ZLIB => {
                let flags = deflate::create_comp_flags_from_zip_params(level.into(), 15, 0);
                EncoderState::Zlib(Box::new(CompressorOxide::new(flags)))
            }
            // Only zstd is left: `CParams::check` has rejected all codecs except these four.
            _ => {
                let row = usize::from(level).saturating_sub(1);
                let level = ZSTD_LEVELS.get(row).copied().unwrap_or_default();
                EncoderState::Zstd(Box::new(zstd_encode::Encoder::new(level)))
            }
        };
        Ok(Self { state, output: Vec::new() })
    }

    /// Compresses a stream; `None` if the compressed stream would not be shorter.
    pub(crate) fn compress(&mut self, stream: &[u8]) -> Result<Option<&[u8]>, Fault> {
        if let EncoderState::Zstd(encoder) = &mut self.state {
            self.output.clear();
            memory::reserve(&mut self.output, zstd_encode::max_output_len(stream.len()))?;
            encoder.compress(stream, &mut self.output);
            return Ok(Some(&self.output[..]).filter(|output| output.len() < stream.len()));
        }
        let room = match self.state {
            EncoderState::Lz4 => lz4rip::get_maximum_output_size(stream.len()),
            _ => stream.len(),
        };
        if self.output.len() < room {
            memory::resize(&mut self.output, room)?;
        }
        Ok(self.compress_in(room, stream))
    }

    /// Compresses a stream into the first `room` bytes of the output buffer.
    fn compress_in(&mut self, room: usize, stream: &[u8]) -> Option<&[u8]> {
        let output = self.output.get_mut(..room)?;
        let length = match &mut self.state {
            EncoderState::Blosclz(encoder) => encoder.compress(stream, output)?,
            // A new compressor is made for each stream, because a compressor that has been used gives different bytes
            // for a stream of at most 1024 bytes.
            EncoderState::Lz4 => CompressorN::<LZ4_ENTRIES>::new().compress_into(stream, output).ok()?,
            EncoderState::Zlib(encoder) => {
                encoder.reset();
                let (status, _, length) = deflate::compress(encoder, stream, output, TDEFLFlush::Finish);
                (status == TDEFLStatus::Done).then_some(length)?
            }
            EncoderState::Zstd(_) => return None,
        };
        self.output.get(..length).filter(|_| length > 0 && length < stream.len())
    }
}

#[cfg(all(test, feature = "compress"))]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn compress_reserves_the_output_of_zstd() {
        let noise: Vec<u8> =
            (0..300_000_u32).map(|number| number.wrapping_mul(0x9e37_79b9).to_le_bytes()[3]).collect();
        for length in [100, 5_000, 300_000] {
            let stream = noise.get(..length).unwrap_or_default();
            let mut encoder = StreamEncoder::new(Codec::ZSTD, 1).map_err(Error::from).unwrap();
            assert!(encoder.compress(stream).is_ok());
            assert_eq!(encoder.output.capacity(), zstd_encode::max_output_len(length));
        }
    }
}
