//! Opens the frame or the bytes at an address.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use b2nd_frame::{
    EmbeddedFrames, Finding, FindingCode, Frame, MemberContent, ReadAt, SPARSE_INDEX, Store, ZipMember,
    is_sparse_frame, zip_member,
};
use flate2::CrcReader;
use flate2::read::DeflateDecoder;

use super::address::{Address, Inside};
use crate::code;
use crate::names::is_named_blosc2;
use crate::problem::Problem;
use crate::remote;
use crate::terminal::await_stdin;

/// The source of a frame: a file, the bytes of standard input, or an object in an object store. For a frame in the
/// compressed data of a store, the source is the decompressed data.
pub(crate) type Reader = Box<dyn Source>;

pub(crate) trait Source: ReadAt + Send + Sync {
    /// The source as an object in an object store; `None` if it is not an object. Byte ranges of an object can be
    /// requested in parallel, which is faster than reading one range after another.
    fn object(&self) -> Option<&remote::Object> {
        None
    }
}

impl Source for File {}

impl Source for Vec<u8> {}

/// The source of a frame in the compressed data of a store. `object` returns `None`, even if the store is an object:
/// `EmbeddedFrames` decompresses the bytes of the frame, so they are not a byte range of the object.
impl Source for EmbeddedFrames<Reader> {}

impl Source for remote::Object {
    fn object(&self) -> Option<&remote::Object> {
        Some(self)
    }
}

impl Source for Reader {
    fn object(&self) -> Option<&remote::Object> {
        self.as_ref().object()
    }
}

/// A source with a position, for code that reads bytes one after the other.
pub(crate) struct Positioned<S> {
    source: S,
    position: u64,
}

impl<S> Positioned<S> {
    pub(crate) fn new(source: S, position: u64) -> Self {
        Self { source, position }
    }
}

impl<S: ReadAt> Read for Positioned<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl<S: ReadAt> Seek for Positioned<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.source.size()?.checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// The bytes at an address: their reader, and the offset of the first byte.
pub(crate) struct Place {
    pub(crate) reader: Reader,
    pub(crate) offset: u64,
    /// The zip member that contains the bytes; `None` if they are not in a zip file.
    member: Option<ZipMember>,
    /// Whether the bytes are in the compressed data of a store, so that they have no offset in a file.
    is_embedded: bool,
}

impl Place {
    fn new(reader: impl Source + 'static, offset: u64) -> Self {
        Self { reader: Box::new(reader), offset, member: None, is_embedded: false }
    }

    /// The offset of the end of the zip member, or of the file if there is no member. The end of the frame itself is
    /// not known here.
    pub(crate) fn end(&self) -> io::Result<u64> {
        match &self.member {
            Some(member) => Ok(member.offset() + member.len()),
            None => self.reader.size(),
        }
    }

    /// If the bytes are a zip member, checks them against its checksum in the zip file. Returns the damage, if there is
    /// any.
    pub(crate) fn damage(&self) -> Result<Option<Finding>, Problem> {
        Ok(self.member.as_ref().map(|member| member.check_bytes(&self.reader)).transpose()?.flatten())
    }
}

impl Address {
    /// Whether the address is a folder that is not a sparse frame, and has no Blosc2 extension.
    pub(crate) fn is_folder(&self) -> bool {
        let path = &self.path;
        let is_folder = path.is_dir() && !is_sparse_frame(path) && !is_named_blosc2(path);
        is_folder && self.inside == Inside::Whole
    }

    /// Reads the header of the frame at the address.
    pub(crate) fn open(&self) -> Result<Frame<Reader>, Problem> {
        self.open_with_place().map(|(frame, _)| frame)
    }

    /// Opens the frame as `open` does. Also returns whether the frame is in the compressed data of a store. The bytes
    /// of such a frame have no offset in a file.
    pub(crate) fn open_with_place(&self) -> Result<(Frame<Reader>, bool), Problem> {
        if self.inside == Inside::Whole {
            let hint =
                || if self.is_folder() { Some(FOLDER) } else { is_zip(&self.path).then_some(ZIP_FILE) };
            let frame = Frame::open(&self.path).map_err(|error| Problem { hint: hint(), ..error.into() })?;
            return Ok((frame.map_reader(|file| Box::new(file) as Reader), false));
        }
        let place = self.place("the bytes of a frame")?;
        let is_embedded = place.is_embedded;
        Ok((self.open_place(place)?, is_embedded))
    }

    /// Opens the frame as `open` does, for a caller that already has the `Place` of the frame's bytes.
    pub(crate) fn open_place(&self, place: Place) -> Result<Frame<Reader>, Problem> {
        let hint = match self.inside {
            Inside::Stdin if begins_as_zip(&place.reader) => Some(ZIP_ON_STDIN),
            Inside::Url(None) if begins_as_zip(&place.reader) => Some(ZIP_OBJECT),
            _ => None,
        };
        Frame::read_at(place.reader, place.offset).map_err(|error| Problem { hint, ..error.into() })
    }

    /// A reader for the address, and the offset at which its bytes begin. If the address is standard input, and
    /// standard input is a terminal, a message asks the user for the input. `what` is the name of the input in this
    /// message.
    pub(crate) fn place(&self, what: &str) -> Result<Place, Problem> {
        let offset = match &self.inside {
            Inside::Stdin => {
                await_stdin(what);
                let mut bytes = Vec::new();
                io::stdin().read_to_end(&mut bytes)?;
                if bytes.is_empty() {
                    return Err(Problem::new(FindingCode::NotAFrame.name(), "standard input is empty"));
                }
                return Ok(Place::new(bytes, 0));
            }
            Inside::Url(None) => return Ok(Place::new(remote::open(&self.path)?, 0)),
            Inside::Url(Some(name)) => return member(Box::new(remote::open(&self.path)?), name),
            Inside::Member(name) => {
                // If a store is a folder, its small arrays are in the data of its file `embed.b2e`. The other arrays of
                // the store have files of their own, so the addresses of these arrays are paths.
                let file = if self.path.is_dir() { &self.path.join(Store::FILE) } else { &self.path };
                return member(Box::new(File::open(file)?), name);
            }
            Inside::Whole if is_sparse_frame(&self.path) => {
                return Ok(Place::new(File::open(self.path.join(SPARSE_INDEX))?, 0));
            }
            Inside::Whole => 0,
            Inside::Offset(offset) => *offset,
        };
        let file = File::open(&self.path)?;
        if offset > 0 {
            let length = file.size()?;
            if offset >= length {
                let message = format!("nothing at offset {offset}: the file has {length} bytes");
                return Err(Problem::new(code::IO, message));
            }
        }
        Ok(Place::new(file, offset))
    }
}

/// Finds a member of a zip file by its name. If the zip file is a store, `name` can also be the key of an array: a
/// slash and the name of its file without the extension. In a `.npz`, an array is also found by its name without the
/// extension `.npy`, as with `numpy.load`.
fn find_member(zip: &impl ReadAt, name: &str) -> Result<Option<ZipMember>, Problem> {
    let mut found = zip_member(zip, name)?;
    let of_store = Store::file_names(name).filter(|_| name.starts_with('/'));
    for name in of_store.chain([format!("{name}.npy")]) {
        if found.is_none() {
            found = zip_member(zip, &name)?;
        }
    }
    Ok(found)
}

/// The bytes of a member of a zip file, or of a frame in the data of a store.
fn member(reader: Reader, name: &str) -> Result<Place, Problem> {
    // The file may be a store in a single file, which is a frame and not a zip file.
    if Frame::read_at(&reader, 0).is_ok_and(|frame| frame.kind().is_store()) {
        let message = "the store has no such member; `b2nd info` shows its keys";
        return embedded(reader, 0, name)?.ok_or_else(|| Problem::new(code::IO, message));
    }
    let Some(member) = find_member(&reader, name)? else {
        let file = if name.starts_with('/') { zip_member(&reader, Store::FILE)? } else { None };
        let place = file.map(|file| embedded(reader, file.offset(), name)).transpose()?.flatten();
        let message = "the zip file has no such member; `b2nd ls` lists the arrays in it";
        return place.ok_or_else(|| Problem::new(code::IO, message));
    };
    match member.content() {
        // A member is refused here if the zip file is damaged at this member: its local header is wrong, or it shares
        // bytes with another member or with the directory of the zip file. Damage to the frame itself is reported when
        // the frame is read.
        MemberContent::Broken(finding) if finding.code() == FindingCode::DamagedZip => {
            Err(finding.clone().into())
        }
        MemberContent::Compressed if member.is_deflated() => inflated(&reader, &member),
        MemberContent::Compressed => Err(compressed()),
        _ if member.len() == 0 => Err(Problem::new(FindingCode::NotAFrame.name(), "the member is empty")),
        _ => Ok(Place { member: Some(member.clone()), ..Place::new(reader, member.offset()) }),
    }
}

/// Decompresses a member, such as an array in a `.npz`, to a temporary file without a name.
fn inflated(zip: &Reader, member: &ZipMember) -> Result<Place, Problem> {
    let damaged =
        |why: &str| Problem::new(FindingCode::ZipChecksum.name(), format!("the compressed member {why}"));
    let bytes = Positioned::new(zip, member.offset()).take(member.len());
    // The central directory of the zip file states the decompressed length of the member. At most one byte more is
    // decompressed: enough to detect a longer member, but such a member cannot fill the disk.
    let mut content = CrcReader::new(DeflateDecoder::new(bytes).take(member.content_len().saturating_add(1)));
    let mut file = tempfile::tempfile()?;
    let written = io::copy(&mut content, &mut file).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            damaged("cannot be decompressed")
        }
        _ => error.into(),
    })?;
    if written != member.content_len() || content.crc().sum() != member.crc32() {
        return Err(damaged("has another length or CRC-32 than the zip file says"));
    }
    Ok(Place::new(file, 0))
}

/// The bytes of the frame with this key, in the data of the store at `offset`.
fn embedded(reader: Reader, offset: u64, key: &str) -> Result<Option<Place>, Problem> {
    let mut frames = EmbeddedFrames::new(Frame::read_at(reader, offset)?)?;
    let is_there = frames.select(key)?;
    Ok(is_there.then(|| Place { is_embedded: true, ..Place::new(frames, 0) }))
}

/// The problem that a member of a zip file is compressed, and is therefore not read.
pub(crate) fn compressed() -> Problem {
    let message = "the member is compressed; extract it from the zip file to read its frame";
    Problem::new(code::COMPRESSED_MEMBER, message)
}

/// The hint for a folder that is not a sparse frame.
pub(crate) const FOLDER: &str = "; `b2nd ls` lists the arrays in a folder";

/// The hint for a zip file that is not accepted as a frame.
pub(crate) const ZIP_FILE: &str = "; it is a zip file: name a member, as in FILE:MEMBER";

/// The hint for a zip file on standard input, whose members cannot have an address.
pub(crate) const ZIP_ON_STDIN: &str =
    "; it is a zip file, which cannot be read from standard input: save it, and name the file";

/// The hint for an object that is a zip file, but is read as a frame because its name does not end with `.b2z`.
const ZIP_OBJECT: &str =
    "; it is a zip file: its members can be listed and read only if its name ends with .b2z";

/// Whether the first bytes are those of a zip file: the header of a member, or the directory of a zip file without
/// members.
pub(crate) fn begins_as_zip(source: &(impl ReadAt + ?Sized)) -> bool {
    let mut start = [0; 4];
    let is_read = source.read_at(&mut start, 0).is_ok_and(|read| read == start.len());
    is_read && [b"PK\x03\x04", b"PK\x05\x06"].contains(&&start)
}

/// Whether a file is a zip file, by its first bytes.
pub(crate) fn is_zip(path: &Path) -> bool {
    path.is_file() && File::open(path).is_ok_and(|file| begins_as_zip(&file))
}
