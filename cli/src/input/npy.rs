//! NumPy files, `.npy`.

use std::io::{self, BufReader, Read, Seek};
use std::ops::Range;

use b2nd_serde::dtype::Dtype;

use super::buffer;
use super::source::{Place, Positioned, Reader};
use crate::code;
use crate::problem::Problem;
use crate::text::{Tuple, byte_count};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The maximum length of a header. NumPy itself reads a header of more than 10000 bytes only if the caller trusts the
/// file.
const MAX_HEADER_LEN: u32 = 1 << 20;

/// The size of the read buffer. If the items of a slice are close to each other in the file, one read fetches many of
/// them, with the bytes between them.
const BUFFER_LEN: usize = 1 << 16;

/// An array in a NumPy file.
pub(crate) struct Npy {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<u64>,
    /// The number of bytes after the items. NumPy can save several arrays to one file, and only the first one is read.
    pub(crate) rest: u64,
    is_fortran: bool,
    /// The offset of the first item.
    start: u64,
    reader: BufReader<Positioned<Reader>>,
    /// Memory for items in Fortran order, before they are transposed. The next read reuses this memory.
    buffer: Vec<u8>,
}

impl Npy {
    /// Reads the header. `None` if the bytes do not begin with the magic bytes of a NumPy file.
    pub(crate) fn read(place: &Place) -> Result<Option<Header>, Problem> {
        let mut reader = Positioned::new(&place.reader, place.offset);
        let mut magic = [0; MAGIC.len()];
        match reader.read_exact(&mut magic) {
            Ok(()) if magic == *MAGIC => match Header::read(&mut reader) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Err(malformed("cut short in its header".into()))
                }
                header => header?.map(Some),
            },
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error.into()),
            _ => Ok(None),
        }
    }

    /// The array that follows a header. Refuses Python objects, and a file that is too short for the shape.
    pub(crate) fn new(header: Header, place: Place) -> Result<Self, Problem> {
        let Header { dtype, shape, is_fortran, len } = header;
        if dtype.has_objects() {
            let message = "its items are pickled Python objects, which only Python reads";
            return Err(Problem::new(code::UNSUPPORTED, message));
        }
        let start = place.offset + len;
        let found = place.end()?.saturating_sub(start);
        let nbytes =
            shape.iter().try_fold(dtype.item_size() as u64, |nbytes, &items| nbytes.checked_mul(items));
        let Some(rest) = nbytes.and_then(|nbytes| found.checked_sub(nbytes)) else {
            let (shape, size) = (Tuple(&shape), dtype.item_size());
            let message = format!(
                "cut short: shape {shape} with items of {size} bytes needs more than the {found} bytes that follow the header"
            );
            return Err(malformed(message));
        };
        let reader = BufReader::with_capacity(BUFFER_LEN, Positioned::new(place.reader, 0));
        Ok(Self { dtype, shape, rest, is_fortran, start, reader, buffer: Vec::new() })
    }

    /// Reads the items of a slice, in C order.
    pub(crate) fn read_into(&mut self, ranges: &[Range<u64>], items: &mut [u8]) -> Result<(), Problem> {
        self.read_order(ranges, items).map_err(|error| match error.kind() {
            // When the file was opened, it was long enough for all items, so it was cut short later.
            io::ErrorKind::UnexpectedEof => malformed("cut short while it was read".into()),
            _ => error.into(),
        })
    }

    fn read_order(&mut self, ranges: &[Range<u64>], items: &mut [u8]) -> io::Result<()> {
        if !self.is_fortran {
            let shape = self.shape.clone();
            return self.read_c_order(&shape, ranges, items);
        }
        // The bytes of an array in Fortran order are the bytes of the transposed array in C order.
        let shape: Vec<u64> = self.shape.iter().rev().copied().collect();
        let reversed: Vec<Range<u64>> = ranges.iter().rev().cloned().collect();
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer::resize(&mut buffer, items.len()).map_err(io::Error::other)?;
        self.read_c_order(&shape, &reversed, &mut buffer)?;
        transpose(&buffer, ranges, self.dtype.item_size(), items);
        self.buffer = buffer;
        Ok(())
    }

    /// Reads a slice of an array in C order.
    fn read_c_order(&mut self, shape: &[u64], ranges: &[Range<u64>], items: &mut [u8]) -> io::Result<()> {
        let mut run = self.dtype.item_size() as u64;
        // `run` becomes the length in bytes of a contiguous run: bytes of the slice without a gap in the file. The loop
        // goes from the last dimension to the first, and extends the run by the range in each dimension. It stops after
        // the first dimension that is not read whole.
        let mut outer = ranges.len();
        while let Some((range, &length)) =
            outer.checked_sub(1).and_then(|at| ranges.get(at).zip(shape.get(at)))
        {
            run *= range.end - range.start;
            outer -= 1;
            if range.end - range.start != length {
                break;
            }
        }
        let Some(run) = usize::try_from(run).ok().filter(|&run| run > 0) else { return Ok(()) };
        let strides = strides(shape, self.dtype.item_size());
        let first: u64 = ranges.iter().zip(&strides).map(|(range, stride)| range.start * stride).sum();
        let mut position = self.reader.stream_position()?;
        let mut index = vec![0; outer];
        for items in items.chunks_exact_mut(run) {
            let offset: u64 = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
            let target = self.start + first + offset;
            // `target` and `position` are offsets in a file, so they fit an `i64`. `seek_relative` keeps the bytes in
            // the buffer of the reader if `target` is among them.
            self.reader.seek_relative(target.cast_signed().wrapping_sub(position.cast_signed()))?;
            self.reader.read_exact(items)?;
            position = target + run as u64;
            advance(&mut index, ranges);
        }
        Ok(())
    }
}

/// For each dimension, the number of bytes from one index to the next, in C order.
fn strides(shape: &[u64], item_size: usize) -> Vec<u64> {
    let mut stride = item_size as u64;
    let mut strides: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&length| {
            let this = stride;
            stride = stride.saturating_mul(length);
            this
        })
        .collect();
    strides.reverse();
    strides
}

/// Changes an index to the next one in C order. In each dimension, the index is relative to the start of the range.
fn advance(index: &mut [u64], ranges: &[Range<u64>]) {
    for (index, range) in index.iter_mut().zip(ranges).rev() {
        *index += 1;
        if *index < range.end - range.start {
            return;
        }
        *index = 0;
    }
}

/// Copies items from Fortran order to C order. The lengths of `ranges` are the shape of the items.
fn transpose(fortran: &[u8], ranges: &[Range<u64>], item_size: usize, items: &mut [u8]) {
    let reversed: Vec<u64> = ranges.iter().rev().map(|range| range.end - range.start).collect();
    let mut strides = strides(&reversed, item_size);
    strides.reverse();
    let mut index = vec![0; ranges.len()];
    for item in items.chunks_exact_mut(item_size.max(1)) {
        let offset: u64 = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some(from) = fortran.get(offset..).and_then(|rest| rest.get(..item.len())) {
            item.copy_from_slice(from);
        }
        advance(&mut index, ranges);
    }
}

/// The header of a NumPy file.
pub(crate) struct Header {
    dtype: Dtype,
    shape: Vec<u64>,
    is_fortran: bool,
    /// The length of the header in bytes, including the magic bytes.
    len: u64,
}

impl Header {
    /// Reads the header after the magic bytes. The outer error is an error of reading, the inner one is about the
    /// content of the header.
    fn read(reader: &mut impl Read) -> io::Result<Result<Self, Problem>> {
        let mut version = [0; 2];
        reader.read_exact(&mut version)?;
        let (len, before) = match version {
            [1, 0] => {
                let mut len = [0; 2];
                reader.read_exact(&mut len)?;
                (u16::from_le_bytes(len).into(), 10)
            }
            [2 | 3, 0] => {
                let mut len = [0; 4];
                reader.read_exact(&mut len)?;
                (u32::from_le_bytes(len), 12)
            }
            [major, minor] => {
                let message =
                    format!("version {major}.{minor} of NumPy's format is unknown; 1.0 to 3.0 are read");
                return Ok(Err(Problem::new(code::UNSUPPORTED, message)));
            }
        };
        if len > MAX_HEADER_LEN {
            return Ok(Err(malformed(format!(
                "its header has {}, but at most {} are read",
                byte_count(len.into()),
                byte_count(MAX_HEADER_LEN.into())
            ))));
        }
        let mut bytes = vec![0; len as usize];
        reader.read_exact(&mut bytes)?;
        // The text is UTF-8 in version 3.0, and Latin-1 in older versions.
        let text = match version {
            [3, _] => String::from_utf8_lossy(&bytes).into_owned(),
            _ => bytes.iter().copied().map(char::from).collect(),
        };
        let len = before + u64::from(len);
        let parsed = parse(&text).map_err(malformed);
        Ok(parsed.map(|(dtype, shape, is_fortran)| Self { dtype, shape, is_fortran, len }))
    }
}

fn malformed(message: String) -> Problem {
    Problem::new(code::MALFORMED, message)
}

/// Parses the dictionary of a header: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }`.
fn parse(text: &str) -> Result<(Dtype, Vec<u64>, bool), String> {
    let inner = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let inner = inner.ok_or("its header is not a dictionary")?;
    let (mut dtype, mut shape, mut is_fortran) = (None, None, None);
    for entry in split(inner, ',').filter(|entry| !entry.trim().is_empty()) {
        let mut parts = split(entry, ':').map(str::trim);
        match (parts.next(), parts.next(), parts.next()) {
            (Some("'descr'"), Some(descr), None) => {
                dtype = Some(Dtype::from_descr(descr).map_err(|error| format!("descr: {error}"))?);
            }
            (Some("'shape'"), Some(text), None) => {
                shape =
                    Some(read_tuple(text).ok_or_else(|| format!("shape: {text} is not a tuple of numbers"))?);
            }
            (Some("'fortran_order'"), Some("True"), None) => is_fortran = Some(true),
            (Some("'fortran_order'"), Some("False"), None) => is_fortran = Some(false),
            _ => return Err(format!("its header has a wrong entry: {}", entry.trim())),
        }
    }
    let missing = |key: &str| format!("its header has no {key}");
    Ok((
        dtype.ok_or_else(|| missing("descr"))?,
        shape.ok_or_else(|| missing("shape"))?,
        is_fortran.ok_or_else(|| missing("fortran_order"))?,
    ))
}

/// The numbers of a tuple such as `(3, 5)`, `(3,)` or `()`.
fn read_tuple(text: &str) -> Option<Vec<u64>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?.trim();
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    // Python 2 wrote long integers as `3L`.
    let number = |text: &str| text.trim().trim_end_matches('L').parse().ok();
    if inner.is_empty() { Some(Vec::new()) } else { inner.split(',').map(number).collect() }
}

/// Splits the text of a Python literal at each separator outside brackets and strings.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    text.split(move |c| {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if matches!(c, '[' | '(' | '{') => depth += 1,
            None if matches!(c, ']' | ')' | '}') => depth = depth.saturating_sub(1),
            None => return c == separator && depth == 0,
        }
        false
    })
}
