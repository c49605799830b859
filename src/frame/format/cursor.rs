//! A cursor over MessagePack of fixed widths: every byte that is taken has a place, and every fault says it.

use std::format;

use crate::frame::finding::{Code, Finding, Place};
use crate::marker::Marker;

/// A reader of bytes that knows where it is, and under which codes its faults go.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) position: usize,
    pub(crate) rules: Rules,
}

/// Where a part of a frame is, and under which codes its faults go.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) place: Place,
    /// Where the first byte of the walk stands in the frame.
    pub(crate) start: u64,
    /// A marker is another one.
    pub(crate) marker: Code,
    /// The bytes end before the value does.
    pub(crate) end: Code,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(bytes: &'a [u8], rules: Rules) -> Self {
        Self { bytes, position: 0, rules }
    }

    /// The same bytes, seen from another position.
    pub(crate) fn from(self, position: usize) -> Self {
        Self { position, ..self }
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Finding> {
        let Some(taken) = self.bytes.get(self.position..).and_then(|rest| rest.get(..length)) else {
            return Err(self.ends_early(length));
        };
        self.position += length;
        Ok(taken)
    }

    #[cold]
    fn ends_early(&self, length: usize) -> Finding {
        let (length, left) = (length, self.bytes.len().saturating_sub(self.position));
        let text = format!("expected {length} more bytes of {}, found {left}", self.rules.place);
        self.finding(self.rules.end, self.position).numbers(length, left).text(text)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Finding> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Finding> {
        self.array().map(|[byte]| byte)
    }

    /// Takes the marker of what is next.
    pub(crate) fn marker(&mut self, expected: u8, of: &str) -> Result<(), Finding> {
        let start = self.position;
        match self.byte()? {
            found if found == expected => Ok(()),
            found => Err(self.wrong_marker(start, &format!("{}", Marker(expected)), of, found)),
        }
    }

    #[cold]
    pub(crate) fn wrong_marker(&self, at: usize, expected: &str, of: &str, found: u8) -> Finding {
        let text = format!("expected {expected} for {of}, found {}", Marker(found));
        self.finding(self.rules.marker, at).text(text)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Finding> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn marked_i16(&mut self, of: &str) -> Result<i16, Finding> {
        self.marker(0xd1, of)?;
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn marked_i32(&mut self, of: &str) -> Result<i32, Finding> {
        self.marker(0xd2, of)?;
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn marked_i64(&mut self, of: &str) -> Result<i64, Finding> {
        self.marker(0xd3, of)?;
        self.array().map(i64::from_be_bytes)
    }

    pub(crate) fn marked_u64(&mut self, of: &str) -> Result<u64, Finding> {
        self.marker(0xcf, of)?;
        self.array().map(u64::from_be_bytes)
    }

    /// A finding about a byte of the walk.
    pub(crate) fn finding(&self, code: Code, at: usize) -> Finding {
        Finding::new(code, self.rules.place).at(self.rules.start.saturating_add(at as u64))
    }
}
