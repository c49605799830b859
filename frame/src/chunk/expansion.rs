//! Decompression of chunks, and the expansion limits.
//!
//! A chunk of 32 bytes can claim 2 GiB of zeros. So the number of stored bytes limits the decompressed size.

use std::borrow::Cow;

#[cfg(feature = "decompress")]
use b2nd_chunk::decompress_to_vec;
use b2nd_chunk::{CheckedHeader, ChunkHeader, ErrorKind};

#[cfg(feature = "decompress")]
use crate::error::Error;

/// The constant part of the expansion limit of a vlmetalayer's value. If the chunk of the value has `n` bytes, the
/// limit is `VALUE_LEN + n * MAX_RATIO` bytes, but at most [`MAX_VALUE_LEN`].
const VALUE_LEN: usize = 1 << 20;

/// The longest value of a vlmetalayer that is decompressed. A hostile length must not make us allocate more.
const MAX_VALUE_LEN: usize = 1 << 28;

/// A decompressed size up to this number is allowed for any number of stored bytes. A chunk index of this size has 8
/// million entries.
const ALWAYS_DECOMPRESSED: u64 = 1 << 26;

/// The number of bytes that each stored byte may decompress to, if the decompressed size exceeds
/// [`ALWAYS_DECOMPRESSED`]. Real chunk indexes expand up to 800 times.
const MAX_RATIO: usize = 1024;

/// The expansion limit: the number of bytes that `stored` bytes may decompress to. It is 1024 bytes for each stored
/// byte, but at least 64 MiB.
///
/// ```
/// use b2nd_frame::expansion_limit;
///
/// assert_eq!([0, 1 << 20].map(expansion_limit), [1 << 26, 1 << 30]);
/// ```
#[must_use]
pub fn expansion_limit(stored: u64) -> u64 {
    stored.saturating_mul(MAX_RATIO as u64).max(ALWAYS_DECOMPRESSED)
}

/// The [`expansion_limit`] as a `usize`, for stored bytes that are in memory.
pub(crate) fn max_data(stored: usize) -> usize {
    usize::try_from(expansion_limit(stored as u64)).unwrap_or(usize::MAX)
}

/// Why a chunk could not be decompressed. The text completes the sentence "the chunk …". Unless the chunk is damaged,
/// another program may be able to decompress it.
pub(crate) enum NotDecompressed {
    Damaged(String),
    /// This build does not support the codec or a filter.
    Unsupported(String),
    /// The data exceeds a limit, or the available memory.
    TooLarge(String),
}

impl NotDecompressed {
    /// Converts the error of a decompressor.
    pub(crate) fn new(error: b2nd_chunk::Error) -> Self {
        let why = error.message().to_string();
        match error.kind() {
            ErrorKind::NoMemory => Self::TooLarge(why),
            ErrorKind::Unsupported => Self::Unsupported(why),
            _ => Self::Damaged(why),
        }
    }

    #[cfg(not(feature = "decompress"))]
    fn without_feature() -> Self {
        Self::Unsupported("is compressed; build with the feature `decompress`".into())
    }
}

/// Refuses a chunk that this build cannot decompress. The chunk must have a table of blocks, because only such a chunk
/// needs a decompressor.
pub(crate) fn check_support(header: &ChunkHeader) -> Result<CheckedHeader, NotDecompressed> {
    let checked = header.checked().map_err(NotDecompressed::new);
    #[cfg(not(feature = "decompress"))]
    if !matches!(checked, Err(NotDecompressed::Damaged(_))) {
        return Err(NotDecompressed::without_feature());
    }
    checked
}

/// Returns the value of a vlmetalayer from its chunk, decompressed. The table of blocks must be valid.
pub(crate) fn value(header: ChunkHeader, chunk: &[u8]) -> Result<Cow<'_, [u8]>, NotDecompressed> {
    header.check().map_err(NotDecompressed::new)?;
    // An uncompressed value takes no more memory than its stored bytes, so it needs no limit.
    if let Some(data) = header.stored(chunk) {
        return Ok(Cow::Borrowed(data));
    }
    if header.has_table() {
        check_support(&header)?;
    }
    let longest = longest_value(chunk);
    if header.nbytes() > longest {
        let (nbytes, len) = (header.nbytes(), chunk.len());
        return Err(NotDecompressed::TooLarge(format!(
            "has a value of {nbytes} bytes in {len} stored bytes, but at most {longest} are decompressed"
        )));
    }
    decompressed(header, chunk).map(Cow::Owned)
}

/// `length` zero bytes. The system provides their memory only when they are first written to.
#[cfg(feature = "decompress")]
pub(crate) fn zeroed(length: usize) -> Result<Vec<u8>, Error> {
    bytemuck::allocation::try_zeroed_vec(length).map_err(|()| no_memory(length as u128))
}

/// The error if the system has no memory for this number of bytes.
#[cfg(feature = "decompress")]
pub(crate) fn no_memory(nbytes: u128) -> Error {
    Error::too_large(format_args!("there is no memory for {nbytes} bytes"))
}

/// `length` zero bytes for the data of a chunk.
#[cfg(feature = "decompress")]
pub(crate) fn buffer(length: usize) -> Result<Vec<u8>, NotDecompressed> {
    zeroed(length).map_err(|_| {
        NotDecompressed::TooLarge(format!("needs {length} bytes of memory, which the system does not have"))
    })
}

/// Returns `nbytes` bytes in which `value` is repeated.
#[cfg(feature = "decompress")]
pub(crate) fn repeated(value: &[u8], nbytes: usize) -> Result<Vec<u8>, Error> {
    let mut data = zeroed(nbytes)?;
    // If the value is zero, the data is already right. It is not written to, so it takes no memory.
    if value.iter().any(|&byte| byte != 0) {
        data.chunks_mut(value.len())
            .for_each(|item| item.copy_from_slice(value.get(..item.len()).unwrap_or_default()));
    }
    Ok(data)
}

/// The expansion limit of the value in the chunk of a vlmetalayer.
pub(crate) fn longest_value(chunk: &[u8]) -> usize {
    chunk.len().saturating_mul(MAX_RATIO).saturating_add(VALUE_LEN).min(MAX_VALUE_LEN)
}

/// Decompresses a whole chunk. The caller must have compared its decompressed size with a limit.
#[cfg(feature = "decompress")]
fn decompressed(header: ChunkHeader, chunk: &[u8]) -> Result<Vec<u8>, NotDecompressed> {
    decompress_to_vec(chunk, header.nbytes()).map_err(NotDecompressed::new)
}

#[cfg(not(feature = "decompress"))]
fn decompressed(_: ChunkHeader, _: &[u8]) -> Result<Vec<u8>, NotDecompressed> {
    Err(NotDecompressed::without_feature())
}
