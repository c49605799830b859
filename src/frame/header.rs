//! The header of a frame: one MessagePack array of fixed widths, walked from front to back.
//!
//! Three generations differ in the number of their values: 12 (C-Blosc2 2.0 beta 1), 13 (2.0 beta 2 to 5) and 14
//! (since 2.0.0-rc1). The last value is the metalayer section.

use std::string::String;
use std::vec::Vec;

use super::{Error, Metalayer};

/// The generations, by the first byte of the frame.
const GENERATION_12: u8 = 0x9c;
const GENERATION_13: u8 = 0x9d;
const GENERATION_14: u8 = 0x9e;

/// Each may be as long as the header, so without a limit a small file could ask for much memory.
const MAX_METALAYERS: u16 = 16;

const MAGIC: &[u8; 8] = b"b2frame\0";
/// Where the length of the header stands, behind its marker.
const HEADER_LEN: usize = 11;
/// What has to be there to know how long the header is.
const LEAST: usize = HEADER_LEN + 4;

/// What the header says, as far as this crate reads it.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) length: usize,
    pub(super) frame_len: u64,
    pub(super) is_sparse: bool,
    pub(super) nbytes: i64,
    pub(super) cbytes: i64,
    pub(super) typesize: i32,
    pub(super) metalayers: Vec<Metalayer>,
}

/// Reads the header from the first bytes of a frame.
pub(super) fn parse(prefix: &[u8]) -> Result<Header, Error> {
    let magic = prefix.get(2..).unwrap_or_default();
    let there = magic.len().min(MAGIC.len());
    if magic.get(..there) != MAGIC.get(..there) || prefix.is_empty() {
        return Err(Error::NotAFrame);
    }
    if prefix.len() < LEAST {
        return Err(Error::Incomplete { needed: LEAST });
    }
    let mut walk = Walk { bytes: prefix, position: 0 };
    let generation = walk.byte()?;
    if !matches!(generation, GENERATION_12 | GENERATION_13 | GENERATION_14) {
        return Err(walk.malformed(0, "a frame's header of 12, 13 or 14 values"));
    }
    walk.marker(0xa8, "a string of 8 bytes for the magic")?;
    let _: [u8; 8] = walk.array()?;
    let header_len = walk.i32("int32 for the header's length")?;
    let Some(header_len) = usize::try_from(header_len).ok().filter(|&length| length > LEAST) else {
        let value = header_len.into();
        return Err(Error::OutOfHeader { offset: HEADER_LEN, what: "a header length of", value });
    };
    let Some(header) = prefix.get(..header_len) else {
        return Err(Error::Incomplete { needed: header_len });
    };
    walk.bytes = header;

    walk.marker(0xcf, "uint64 for the frame's length")?;
    let frame_len = u64::from_be_bytes(walk.array()?);
    walk.marker(0xa4, "a string of 4 bytes for the flags")?;
    let [_, frame_type, _, _] = walk.array()?;
    let nbytes = walk.i64("int64 for nbytes")?;
    let cbytes = walk.i64("int64 for cbytes")?;
    let typesize = walk.i32("int32 for the type size")?;
    if generation == GENERATION_14 {
        walk.i32("int32 for the block size")?;
    }
    walk.i32("int32 for the chunk size")?;
    for _ in 0..2 {
        walk.marker(0xd1, "int16 for a number of threads")?;
        let _: [u8; 2] = walk.array()?;
    }
    walk.byte()?; // whether there are vlmetalayers
    if generation != GENERATION_12 {
        walk.marker(0xd8, "an extension of 16 bytes for the filters")?;
        let _: [u8; 17] = walk.array()?;
    }
    let metalayers = metalayers(&mut walk)?;
    Ok(Header {
        length: header_len,
        frame_len,
        is_sparse: frame_type == 1,
        nbytes,
        cbytes,
        typesize,
        metalayers,
    })
}

/// Reads the metalayer section: an index of names and offsets, then the contents. The offsets count from the start of
/// the frame, and point at the marker of the content.
fn metalayers(walk: &mut Walk<'_>) -> Result<Vec<Metalayer>, Error> {
    walk.marker(0x93, "an array of 3 for the metalayers")?;
    walk.marker(0xcd, "uint16 for the size of the index")?;
    let _: [u8; 2] = walk.array()?;
    walk.marker(0xde, "map16 for the index of metalayers")?;
    let at = walk.position;
    let count = u16::from_be_bytes(walk.array()?);
    if count > MAX_METALAYERS {
        return Err(Error::TooManyMetalayers { offset: at, found: count });
    }
    let mut metalayers = Vec::new();
    for _ in 0..count {
        metalayers.push(metalayer(walk)?);
    }
    Ok(metalayers)
}

fn metalayer(walk: &mut Walk<'_>) -> Result<Metalayer, Error> {
    let start = walk.position;
    let marker = walk.byte()?;
    if marker & 0xe0 != 0xa0 {
        return Err(walk.malformed(start, "a string of at most 31 bytes for the name of a metalayer"));
    }
    let name = walk.take(usize::from(marker & 0x1f))?;
    let name = String::from_utf8_lossy(name).into_owned();

    let at = walk.position + 1;
    let offset = walk.i32("int32 for the offset of a metalayer")?;
    let mut content = match usize::try_from(offset) {
        Ok(position) if position < walk.bytes.len() => Walk { bytes: walk.bytes, position },
        _ => {
            return Err(Error::OutOfHeader {
                offset: at,
                what: "a metalayer's offset of",
                value: offset.into(),
            });
        }
    };
    content.marker(0xc6, "bin32 for the content of a metalayer")?;
    let length = content.array().map(u32::from_be_bytes)?;
    let offset = content.position;
    let Ok(bytes) = content.take(length as usize) else {
        return Err(Error::OutOfHeader {
            offset: offset - 4,
            what: "a metalayer's length of",
            value: length.into(),
        });
    };
    Ok(Metalayer { name, offset, bytes: bytes.to_vec() })
}

/// A reader of bytes that stays within the header.
struct Walk<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Walk<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let taken = self.bytes.get(self.position..).and_then(|rest| rest.get(..length));
        self.position += taken.map_or(0, <[u8]>::len);
        taken.ok_or(Error::OutOfHeader {
            offset: HEADER_LEN,
            what: "with a header length of",
            value: self.bytes.len().try_into().unwrap_or(i64::MAX),
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    fn marker(&mut self, marker: u8, expected: &'static str) -> Result<(), Error> {
        let start = self.position;
        if self.byte()? == marker { Ok(()) } else { Err(self.malformed(start, expected)) }
    }

    fn i32(&mut self, expected: &'static str) -> Result<i32, Error> {
        self.marker(0xd2, expected)?;
        self.array().map(i32::from_be_bytes)
    }

    fn i64(&mut self, expected: &'static str) -> Result<i64, Error> {
        self.marker(0xd3, expected)?;
        self.array().map(i64::from_be_bytes)
    }

    fn malformed(&self, offset: usize, expected: &'static str) -> Error {
        Error::Malformed { offset, expected, found: self.bytes.get(offset).copied().unwrap_or_default() }
    }
}
