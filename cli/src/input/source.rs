//! Opens what is at an address.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use b2nd_frame::{
    Finding, FindingCode, Frame, MemberContent, ObjectKind, Store, ZipMember, is_sparse_frame, zip_member,
};

use super::address::{Address, Inside};
use crate::names::SPARSE_INDEX;
use crate::problem::Problem;
use crate::remote;
use crate::terminal::await_stdin;

/// What reads a frame: a file, the bytes of standard input, or an object in an object store.
pub(crate) type Reader = Box<dyn ReadSeek>;

pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<R: Read + Seek + Send> ReadSeek for R {}

impl Address {
    /// Reads the header of the frame at the address.
    pub(crate) fn open(&self) -> Result<Frame<Reader>, Problem> {
        if self.inside == Inside::Whole {
            let hint = || is_zip(&self.path).then_some(ZIP_FILE);
            let frame = Frame::open(&self.path).map_err(|error| Problem { hint: hint(), ..error.into() })?;
            return Ok(frame.map_reader(|file| Box::new(file) as Reader));
        }
        let (mut reader, offset) = self.bytes("the bytes of a frame")?;
        let hint = match self.inside {
            Inside::Stdin if begins_as_zip(&mut reader) => Some(ZIP_ON_STDIN),
            Inside::Url(_) if offset == 0 && begins_as_zip(&mut reader) => Some(ZIP_OBJECT),
            _ => None,
        };
        Frame::read_at(reader, offset).map_err(|error| Problem { hint, ..error.into() })
    }

    /// What is wrong with the bytes of a member of a zip file, by the checksum that the zip file has for them.
    pub(crate) fn damage_of_member(&self) -> Result<Option<Finding>, Problem> {
        let (name, mut zip): (_, Reader) = match &self.inside {
            Inside::Member(name) => (name, Box::new(File::open(&self.path)?)),
            Inside::Url(Some(name)) => (name, Box::new(remote::open(&self.path)?)),
            _ => return Ok(None),
        };
        let member = member_of(&mut zip, name)?;
        Ok(member.map(|member| member.check_bytes(zip)).transpose()?.flatten())
    }

    /// What reads the bytes at the address, and where they begin in it. `what` is awaited on standard input.
    pub(crate) fn bytes(&self, what: &str) -> Result<(Reader, u64), Problem> {
        let offset = match &self.inside {
            Inside::Stdin => {
                await_stdin(what);
                let mut bytes = Vec::new();
                io::stdin().read_to_end(&mut bytes)?;
                if bytes.is_empty() {
                    return Err(Problem::new(FindingCode::NotAFrame.name(), "standard input is empty"));
                }
                return Ok((Box::new(Cursor::new(bytes)), 0));
            }
            Inside::Url(name) => {
                let mut object = remote::open(&self.path)?;
                let offset = name.as_ref().map_or(Ok(0), |name| member(&mut object, name))?;
                return Ok((Box::new(object), offset));
            }
            Inside::Whole if is_sparse_frame(&self.path) => {
                return Ok((Box::new(File::open(self.path.join(SPARSE_INDEX))?), 0));
            }
            Inside::Whole => 0,
            Inside::Offset(offset) => *offset,
            Inside::Member(name) => member(File::open(&self.path)?, name)
                .map_err(|problem| embedded(&self.path).unwrap_or(problem))?,
        };
        let mut file = File::open(&self.path)?;
        if offset > 0 {
            let length = file.seek(SeekFrom::End(0))?;
            if offset >= length {
                let message = format!("nothing at offset {offset}: the file has {length} bytes");
                return Err(Problem::new("io", message));
            }
        }
        Ok((Box::new(file), offset))
    }
}

/// A member of a zip file, by its name or its key in a store, which has no extension.
fn member_of(zip: &mut (impl Read + Seek), name: &str) -> Result<Option<ZipMember>, Problem> {
    let mut found = zip_member(&mut *zip, name)?;
    for name in Store::file_names(name).filter(|_| name.starts_with('/')) {
        if found.is_none() {
            found = zip_member(&mut *zip, &name)?;
        }
    }
    Ok(found)
}

/// Where the bytes of a member of a zip file begin.
fn member(mut zip: impl Read + Seek, name: &str) -> Result<u64, Problem> {
    let Some(member) = member_of(&mut zip, name)? else {
        let message = "the zip file has no such member; `b2nd ls` lists the arrays in it";
        return Err(Problem::new("io", message));
    };
    match member.content() {
        // What is wrong with the frame itself is said by who reads it.
        MemberContent::Broken(finding) if finding.code() == FindingCode::ZipMember => {
            Err(finding.clone().into())
        }
        MemberContent::Compressed => Err(compressed()),
        _ if member.len() == 0 => Err(Problem::new(FindingCode::NotAFrame.name(), "the member is empty")),
        _ => Ok(member.offset()),
    }
}

/// Why no member of a store in a single file is read, if it is one.
fn embedded(store: &Path) -> Option<Problem> {
    let kind = Frame::open(store).ok()?.kind();
    (kind == ObjectKind::EmbedStore).then(|| {
        Problem::new("refused", "the members of this store are in its compressed data, and are not read")
    })
}

/// Why a compressed member is not read.
pub(crate) fn compressed() -> Problem {
    let message = "the member is compressed; extract it from the zip file to read its frame";
    Problem::new("compressed-member", message)
}

/// What to do with a zip file.
pub(crate) const ZIP_FILE: &str = "; it is a zip file: name a member, as in FILE:MEMBER";

/// What to do with a zip file on standard input: its members would have no address.
pub(crate) const ZIP_ON_STDIN: &str =
    "; it is a zip file, which cannot be read from standard input: save it, and name the file";

/// What to do with a zip file in an object store that is not opened as one.
const ZIP_OBJECT: &str = "; it is a zip file: `b2nd ls` lists its members if its name ends with .b2z, and an address names one, as in URL:MEMBER";

/// Whether the next bytes are those of a zip file.
pub(crate) fn begins_as_zip(mut reader: impl Read) -> bool {
    let mut start = [0; 4];
    reader.read_exact(&mut start).is_ok() && [b"PK\x03\x04", b"PK\x05\x06"].contains(&&start)
}

/// Whether a file is a zip file, by its first bytes.
pub(crate) fn is_zip(path: &Path) -> bool {
    path.is_file() && File::open(path).is_ok_and(begins_as_zip)
}
