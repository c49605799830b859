//! Opens what is at an address.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use b2nd_frame::{Code, Content, Frame, is_sparse_frame, zip_member};

use crate::address::{Address, Inside, SPARSE_INDEX};
use crate::failure::Problem;
use crate::output::await_stdin;
use crate::remote::{self, Object};

/// What reads a frame: a file, the bytes of standard input, or an object in an object store.
#[derive(Debug)]
pub(crate) enum Reader {
    File(File),
    Bytes(Cursor<Vec<u8>>),
    Object(Object),
}

impl Read for Reader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Bytes(cursor) => cursor.read(bytes),
            Self::Object(object) => object.read(bytes),
        }
    }
}

impl Seek for Reader {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(position),
            Self::Bytes(cursor) => cursor.seek(position),
            Self::Object(object) => object.seek(position),
        }
    }
}

impl Address {
    /// Reads the header of the frame at the address.
    pub(crate) fn open(&self) -> Result<Frame<Reader>, Problem> {
        if self.inside == Inside::Whole {
            return match Frame::open(&self.path) {
                Ok(frame) => Ok(frame.map_reader(Reader::File)),
                Err(error) => {
                    let hint =
                        is_zip(&self.path).then_some("; it is a zip file: name a member, as in FILE:MEMBER");
                    Err(Problem { hint, ..error.into() })
                }
            };
        }
        let (reader, offset) = self.bytes("the bytes of a frame")?;
        let hint = match &reader {
            Reader::Bytes(bytes) if begins_as_zip(bytes.get_ref()) => Some(ZIP_ON_STDIN),
            Reader::Object(object) if begins_as_zip(object.head()) && offset == 0 => Some(ZIP_OBJECT),
            _ => None,
        };
        Frame::read_at(reader, offset).map_err(|error| Problem { hint, ..error.into() })
    }

    /// What reads the bytes at the address, and where they begin. `what` is awaited on standard input.
    pub(crate) fn bytes(&self, what: &str) -> Result<(Reader, u64), Problem> {
        let offset = match &self.inside {
            Inside::Stdin => {
                await_stdin(what);
                let mut bytes = Vec::new();
                io::stdin().read_to_end(&mut bytes)?;
                if bytes.is_empty() {
                    return Err(Problem::new(Code::NotAFrame.name(), "standard input is empty"));
                }
                return Ok((Reader::Bytes(Cursor::new(bytes)), 0));
            }
            Inside::Url(name) => {
                let mut object = remote::open(&self.path)?;
                let offset = name.as_ref().map_or(Ok(0), |name| member(&mut object, name))?;
                return Ok((Reader::Object(object), offset));
            }
            Inside::Whole if is_sparse_frame(&self.path) => {
                return Ok((Reader::File(File::open(self.path.join(SPARSE_INDEX))?), 0));
            }
            Inside::Whole => 0,
            Inside::Offset(offset) => *offset,
            Inside::Member(name) => member(File::open(&self.path)?, name)?,
        };
        let mut file = File::open(&self.path)?;
        if offset > 0 {
            let length = file.seek(SeekFrom::End(0))?;
            if offset >= length {
                let message = format!("nothing at offset {offset}: the file has {length} bytes");
                return Err(Problem::new("io", message));
            }
        }
        Ok((Reader::File(file), offset))
    }
}

/// Where the bytes of a member of a zip file begin.
fn member(zip: impl Read + Seek, name: &str) -> Result<u64, Problem> {
    let Some(member) = zip_member(zip, name)? else {
        let message = "the zip file has no such member; `b2nd ls` lists the arrays in it";
        return Err(Problem::new("io", message));
    };
    match member.content() {
        Content::Broken(finding) => Err(finding.clone().into()),
        Content::Compressed => Err(compressed()),
        _ if member.len() == 0 => Err(Problem::new(Code::NotAFrame.name(), "the member is empty")),
        _ => Ok(member.offset()),
    }
}

/// Why a compressed member is not read.
pub(crate) fn compressed() -> Problem {
    let message = "the member is compressed; extract it from the zip file to read its frame";
    Problem::new("compressed-member", message)
}

/// What to do with a zip file on standard input: its members would have no address.
pub(crate) const ZIP_ON_STDIN: &str =
    "; it is a zip file, which cannot be read from standard input: save it, and name the file";

/// What to do with a zip file in an object store that is not opened as one.
const ZIP_OBJECT: &str = "; it is a zip file: `b2nd ls` lists its members if its name ends with .b2z, and an address names one, as in URL:MEMBER";

/// Whether bytes begin as a zip file does.
pub(crate) fn begins_as_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Whether a file begins as a zip file does.
pub(crate) fn is_zip(path: &Path) -> bool {
    let mut start = [0; 4];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && begins_as_zip(&start)
}
