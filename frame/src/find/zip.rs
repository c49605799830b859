//! Frames in a zip file, such as a `.b2z` of python-blosc2.

use std::cell::Cell;
use std::io::{self, ErrorKind};

use rawzip::{CompressionMethod, Crc32, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipLocator};

use crate::code::FindingCode;
use crate::error::Error;
use crate::find::scan::MAX_HEADER;
use crate::finding::{Escaped, Finding, Place};
use crate::header::frame::Frame;
use crate::read::open::read;
use crate::source::{ReadAt, fill};
use crate::spans::next_start;

/// The maximum size of the directory of a zip file, which lists the members: 16 MiB, enough for 100,000 members with
/// names of 100 characters. In memory, the list of members needs several times as much.
const MAX_DIRECTORY: u64 = 1 << 24;

/// The maximum size of the frame headers that are kept in memory, for all members of a zip file together. The zip file
/// can be on a hostile server, which could generate a long header for each member. Without a limit, these headers would
/// fill the memory.
const MAX_HEADERS: usize = 1 << 27;

/// The directory has a record for each member. The byte at this offset of the record is the version of the zip format
/// that a reader of the member must support.
const VERSION_NEEDED: u64 = 6;

/// A local header precedes the bytes of each member. The length of the name is at this offset of the header (uint16,
/// little-endian).
const NAME_LENGTH: u64 = 26;

/// The length of the fixed part of a local header. The name and an extra field follow this part, each with at most
/// 65,535 bytes.
const LOCAL_HEADER_LEN: u64 = 30;
const MAX_LOCAL_HEADER_LEN: u64 = LOCAL_HEADER_LEN + 2 * 0xffff;

/// The length of the end record, without its comment, and the length of the zip64 locator, which precedes the end
/// record in a long zip file.
const END_LEN: usize = 22;
const LOCATOR_LEN: usize = 20;

/// The offsets of two values in the end record: the size and the offset of the directory (uint32, little-endian).
const DIRECTORY_SIZE: usize = 12;
const DIRECTORY_OFFSET: usize = 16;

/// The newest version of the zip format that Python supports, 6.3. Python opens no member that needs a later version.
const LAST_VERSION: u8 = 63;

/// A file in a zip file. See [`zip_members`].
///
/// ```
/// use std::fs::File;
/// use b2nd_frame::zip_members;
///
/// let members = zip_members(File::open("tests/data/tree.b2z")?)?;
/// let member = members.iter().find(|member| member.frame().is_some()).expect("a frame");
/// assert!(member.name().ends_with(".b2nd") && member.len() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ZipMember {
    name: String,
    offset: u64,
    len: u64,
    content: MemberContent,
    crc32: u32,
    /// The number of bytes of the member after decompression.
    content_len: u64,
    is_deflated: bool,
    /// The offset of the member's record in the directory, and the offset of the member's local header. Both count from
    /// the start of the zip file.
    record: u64,
    local: u64,
    directory: Directory,
}

/// The byte range of the directory of a zip file.
#[derive(Clone, Copy, Debug)]
struct Directory {
    start: u64,
    /// The offset of the end record. The end record follows the directory, and records the size and the offset of the
    /// directory.
    end: u64,
}

impl Directory {
    /// Compares the end record with the real place of the directory, and returns a message if the record is wrong. With
    /// a wrong end record, other programs do not find the directory. This crate finds the directory if the size or the
    /// offset in the end record is right. If the zip file has zip64 records, which long files need, these apply instead
    /// of the end record, and the result is `None`.
    fn wrong_end(self, reader: &impl ReadAt) -> Result<Option<String>, Error> {
        const LOCATOR: &[u8] = b"PK\x06\x07";
        let Some(before) = self.end.checked_sub(LOCATOR_LEN as u64) else { return Ok(None) };
        let bytes: [u8; LOCATOR_LEN + END_LEN] = bytes_at(reader, before)?;
        let number = |at: usize| {
            let number = bytes.get(LOCATOR_LEN + at..).and_then(<[u8]>::first_chunk).copied();
            number.map_or(0, u32::from_le_bytes)
        };
        let [size, offset] = [DIRECTORY_SIZE, DIRECTORY_OFFSET].map(number);
        if bytes.starts_with(LOCATOR) {
            return Ok(None);
        }
        let by_size = self.end.checked_sub(size.into());
        // If other bytes, such as a self-extractor, were put before the zip file, all real offsets are larger than the
        // recorded ones. So the recorded offset may be smaller than the real one.
        let is_right = by_size == Some(self.start) && u64::from(offset) <= self.start;
        Ok((!is_right).then(|| {
            let Self { start, end } = self;
            format!(
                "the directory of the zip file is at bytes {start} to {end}, but the end record gives {size} bytes at offset {offset}"
            )
        }))
    }
}

/// The content of a member of a zip file, which [`ZipMember::content`] returns.
///
/// ```
/// use std::fs::File;
/// use b2nd_frame::{MemberContent, zip_members};
///
/// for member in zip_members(File::open("tests/data/tree.b2z")?)? {
///     match member.content() {
///         MemberContent::Frame(frame) => println!("{}: {} bytes", member.name(), frame.header().frame_len),
///         MemberContent::Broken(finding) => println!("{}: {finding}", member.name()),
///         _ => println!("{}: not a frame", member.name()),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MemberContent {
    /// A frame.
    Frame(Frame<()>),
    /// A frame that cannot be read, or a damaged member. The local header of a damaged member is wrong, or the member
    /// shares bytes with another member or with the directory.
    Broken(Finding),
    /// A member that is compressed or encrypted in the zip file, so its content is not known. A `.b2z` has no such
    /// members.
    Compressed,
    /// Not a frame.
    Other,
}

impl ZipMember {
    /// The name of the member with its folders, such as `dir/a.b2nd`. Bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The offset of the member's bytes in the zip file, for [`Frame::read_at`]. If the local header of the member is
    /// damaged, this is the offset of that header.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of bytes that the member has in the zip file.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an empty member is of no interest")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The number of bytes of the member after decompression. If the member is not compressed, this equals
    /// [`len`](Self::len).
    ///
    /// ```
    /// use b2nd_frame::zip_members;
    ///
    /// let members = zip_members(std::fs::File::open("tests/data/tree.b2z")?)?;
    /// assert!(members.iter().all(|member| !member.is_deflated() && member.content_len() == member.len()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn content_len(&self) -> u64 {
        self.content_len
    }

    /// Whether the member is compressed with deflate, the usual method of zip files, and not encrypted. If so, a
    /// decompressor for deflate can turn the [`len`](Self::len) bytes at [`offset`](Self::offset) into the content.
    #[must_use]
    pub fn is_deflated(&self) -> bool {
        self.is_deflated && matches!(self.content, MemberContent::Compressed)
    }

    /// The CRC-32 of the content, as recorded in the directory of the zip file.
    #[must_use]
    pub fn crc32(&self) -> u32 {
        self.crc32
    }

    /// The content of the member. [`MemberContent`] lists the cases.
    #[must_use]
    pub fn content(&self) -> &MemberContent {
        &self.content
    }

    /// The frame; `None` if the member is not a frame or cannot be read.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame<()>> {
        match &self.content {
            MemberContent::Frame(frame) => Some(frame),
            _ => None,
        }
    }

    /// Compares all bytes of the member with the CRC-32 in the directory of the zip file. Blosc2 itself has no checksum
    /// of chunks, so only this comparison finds every damaged chunk. If the CRC-32 is right, the call also checks three
    /// fields that the CRC-32 does not cover: the place of the directory, the zip version that the member needs, and
    /// the name in its local header. If the CRC-32 or one of these fields is wrong, the result is a finding with the
    /// code [`FindingCode::ZipChecksum`]. The result is `None` if the CRC-32 and all fields are right. It is also
    /// `None` if the member cannot be checked, because it is compressed, has a damaged local header, or shares bytes
    /// with another member or with the directory.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) if the zip file cannot be read.
    ///
    /// ```
    /// use b2nd_frame::zip_members;
    ///
    /// let mut file = std::fs::read("tests/data/tree.b2z")?;
    /// let members = zip_members(&file)?;
    /// let member = members.iter().find(|member| member.name() == "group/small.b2nd").expect("a member");
    /// assert_eq!(member.check_bytes(&file)?, None);
    /// file[member.offset() as usize + 100] ^= 1;
    /// let finding = member.check_bytes(&file)?.expect("a finding");
    /// assert_eq!(finding.code().name(), "zip-checksum");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_bytes(&self, reader: impl ReadAt) -> Result<Option<Finding>, Error> {
        if matches!(self.content, MemberContent::Compressed) || self.is_misplaced() {
            return Ok(None);
        }
        let name = Escaped(&self.name);
        let finding = Finding::new(FindingCode::ZipChecksum, Place::File);
        // Check the CRC-32 before the other fields, because no other field shows that the bytes are damaged. If another
        // field were reported first, the user would repair the zip file. But a repair tool also computes a new CRC-32
        // of the damaged bytes, so the damage could no longer be found.
        let (expected, found) = (self.crc32, crc32_of(&reader, self.offset, self.len)?);
        if expected != found {
            let text = format!(
                "the bytes of member {name} have the CRC-32 {found:08x}, but should have {expected:08x}"
            );
            return Ok(Some(finding.numbers(expected, found).text(text)));
        }
        if let Some(text) = self.directory.wrong_end(&reader)? {
            return Ok(Some(finding.text(text)));
        }
        // The CRC-32 does not cover the next fields. Python does not open a member if one of these fields is wrong.
        let [version] = bytes_at(&reader, self.record.saturating_add(VERSION_NEEDED))?;
        if version > LAST_VERSION {
            let text = format!(
                "member {name} needs version {version} of the zip format, but the last one is {LAST_VERSION}"
            );
            return Ok(Some(finding.numbers(LAST_VERSION, version).text(text)));
        }
        let length = u16::from_le_bytes(bytes_at(&reader, self.local.saturating_add(NAME_LENGTH))?);
        let mut local = vec![0; length.into()];
        let name_at = self.local.saturating_add(LOCAL_HEADER_LEN);
        read_exact_at(&reader, name_at, &mut local)?;
        let local = String::from_utf8_lossy(&local);
        if local != self.name {
            let text = format!("member {name} has the name {} in its local header", Escaped(&local));
            return Ok(Some(finding.text(text)));
        }
        Ok(None)
    }

    /// Whether the local header is damaged, or the member shares bytes with another member or the directory. Then it is
    /// not known which bytes belong to the member, so its CRC-32 proves nothing.
    fn is_misplaced(&self) -> bool {
        matches!(&self.content, MemberContent::Broken(finding) if finding.code() == FindingCode::DamagedZip)
    }
}

fn bytes_at<const N: usize>(reader: &impl ReadAt, start: u64) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    read_exact_at(reader, start, &mut bytes)?;
    Ok(bytes)
}

fn read_exact_at(reader: &impl ReadAt, start: u64, bytes: &mut [u8]) -> Result<(), Error> {
    let read = fill(reader, start, bytes).map_err(Error::reading)?;
    if read == bytes.len() { Ok(()) } else { Err(Error::reading(ErrorKind::UnexpectedEof.into())) }
}

/// The CRC-32 of a byte range, read in pieces.
fn crc32_of(reader: &impl ReadAt, start: u64, length: u64) -> Result<u32, Error> {
    let mut crc = Crc32::new();
    let mut piece = vec![0; RECOMMENDED_BUFFER_SIZE];
    let mut done = 0;
    while done < length {
        let now = usize::try_from(length - done).unwrap_or(usize::MAX).min(piece.len());
        let piece = piece.get_mut(..now).unwrap_or_default();
        let read = fill(reader, start.saturating_add(done), piece).map_err(Error::reading)?;
        if read == 0 {
            break;
        }
        crc.update(piece.get(..read).unwrap_or_default());
        done += read as u64;
    }
    Ok(crc.checksum())
}

/// Lists the members of a zip file, with the header of each frame.
///
/// The function reads the directory of the zip file, which may have at most 16 MiB. Then it reads the start of each
/// member, as [`Frame::open`] does with a file. The header of a frame may have at most 1 MiB here, and the headers of
/// all frames together at most 128 MiB. If a member is damaged, the other members are still listed. If two members
/// share bytes, at most one of them is read, usually the member that begins first.
///
/// # Errors
///
/// [`Io`](crate::ErrorKind::Io) if the file cannot be read, [`Malformed`](crate::ErrorKind::Malformed) if it is not a
/// zip file ([`FindingCode::DamagedZip`]), [`TooLarge`](crate::ErrorKind::TooLarge) if its directory has more than 16
/// MiB. To find the frames of a zip file without its directory, use [`scan`](crate::scan()).
///
/// ```
/// use std::fs::File;
/// use b2nd_frame::{Check, Frame, zip_members};
///
/// let mut file = File::open("tests/data/tree.b2z")?;
/// for member in zip_members(&mut file)? {
///     let Some(frame) = member.frame() else { continue };
///     match frame.array()? {
///         Some(array) => println!("{} at {}: {:?}", member.name(), member.offset(), array.shape()),
///         None => println!("{} at {}: no array", member.name(), member.offset()),
///     }
///     let mut frame = Frame::read_at(&mut file, member.offset())?;
///     assert_eq!(Check::default().run(&frame)?.findings, []);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn zip_members(reader: impl ReadAt) -> Result<Vec<ZipMember>, Error> {
    members_to_read(reader, |_| true)
}

/// Finds the member of a zip file with this name; `None` if there is none. If several members have this name, the
/// result is the last one, as in other programs.
///
/// The function reads the directory of the zip file, and then only the start of this member. Other members may share
/// bytes with this member. To find such members, the function also reads the local headers of all members that begin
/// before this member and can end after its start. Usually, these are the members with bytes in the 128 KiB before this
/// member.
///
/// # Errors
///
/// The errors of [`zip_members`].
///
/// ```
/// use std::fs::File;
/// use b2nd_frame::{Frame, zip_member};
///
/// let mut file = File::open("tests/data/tree.b2z")?;
/// let member = zip_member(&mut file, "group/small.b2nd")?.expect("a member");
/// let frame = Frame::read_at(&mut file, member.offset())?;
/// assert_eq!(frame.array()?.expect("an array").shape(), [4]);
/// assert!(zip_member(&mut file, "group/none.b2nd")?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn zip_member(reader: impl ReadAt, name: &str) -> Result<Option<ZipMember>, Error> {
    let members = members_to_read(reader, |other| other == name)?;
    Ok(members.into_iter().rfind(|member| member.name == name))
}

/// Lists the members of a zip file, and reads only the members for whose names `is_wanted` returns true. Of the other
/// members, only the records in the directory are read. If such a member can share bytes with a member that is read,
/// its local header is read too.
pub(crate) fn members_to_read(
    reader: impl ReadAt,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<ZipMember>, Error> {
    let size = reader.size().map_err(Error::reading)?;
    if size == 0 {
        let finding = Finding::new(FindingCode::DamagedZip, Place::File);
        return Err(Error::malformed(finding.text("the file is empty".into())));
    }
    // If the reader fails, return its error instead of the error of the crate rawzip, which may report a failed read as
    // a damaged zip file.
    let failure = Cell::new(None);
    let listed = list(RecordingReader { reader: &reader, failure: &failure }, size, &is_wanted);
    if let Some(error) = failure.take() {
        return Err(error);
    }
    let mut members = listed?;
    let is_to_read =
        |member: &&mut ZipMember| matches!(member.content, MemberContent::Other) && is_wanted(&member.name);
    let (mut left, mut lacking) = (MAX_HEADERS, None);
    for member in members.iter_mut().filter(is_to_read) {
        // The headers so far have reached the limit `MAX_HEADERS`, so no further header can be kept. Do not even read
        // the member, because each read can be a request to a server.
        if left == 0 {
            member.content = MemberContent::Broken(not_kept(member));
            continue;
        }
        let content = match content(&reader, member.offset, member.len) {
            // Go on with the other members, to list the missing byte ranges of all members.
            Err(error) if !error.ranges().is_empty() => {
                lacking = lacking.into_iter().chain([error]).reduce(Error::and);
                continue;
            }
            content => content?,
        };
        let kept = if let MemberContent::Frame(frame) = &content { frame.header_bytes().len() } else { 0 };
        let rest = left.checked_sub(kept);
        member.content = if rest.is_some() { content } else { MemberContent::Broken(not_kept(member)) };
        left = rest.unwrap_or_default();
    }
    lacking.map_or(Ok(members), Err)
}

/// Lists the members of a zip file without reading them. For each member whose name `is_wanted` accepts, `offset` and
/// `len` are the byte range of the content. If the range begins before the end of an earlier member, or ends after the
/// start of the directory, the member is marked as broken. If `is_wanted` does not accept the name, `offset` can be the
/// start of the local header instead of the content.
fn list(
    reader: RecordingReader<'_, impl ReadAt>,
    size: u64,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<ZipMember>, Error> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipLocator::new().locate_in_reader(reader, &mut buffer, size);
    let archive = archive.map_err(|(_, error)| not_a_zip(&error))?;
    // Check the length of the directory before reading it, because the reader may be a server that sends records
    // without end.
    let directory_len = archive.eocd_offset().saturating_sub(archive.directory_offset());
    if directory_len > MAX_DIRECTORY {
        return Err(Error::too_large(format_args!(
            "the directory of the zip file has {directory_len} bytes, but at most {MAX_DIRECTORY} are read; a scan finds the frames without the directory"
        )));
    }
    let directory = Directory { start: archive.directory_offset(), end: archive.eocd_offset() };
    let (mut members, mut wayfinders) = (Vec::new(), Vec::new());
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(|error| not_a_zip(&error))? {
        if entry.is_dir() {
            continue;
        }
        let is_stored = entry.compression_method() == CompressionMethod::STORE;
        let is_encrypted = entry.flags().is_encrypted();
        let is_readable = is_stored && !is_encrypted;
        wayfinders.push(entry.wayfinder());
        members.push(ZipMember {
            name: String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned(),
            offset: entry.local_header_offset(),
            len: entry.compressed_size_hint(),
            content: if is_readable { MemberContent::Other } else { MemberContent::Compressed },
            crc32: entry.crc32(),
            content_len: entry.uncompressed_size_hint(),
            is_deflated: entry.compression_method() == CompressionMethod::DEFLATE && !is_encrypted,
            record: entry.central_directory_offset(),
            local: entry.local_header_offset(),
            directory,
        });
    }
    let locate = |member: &mut ZipMember, wayfinder| match archive.get_entry(wayfinder) {
        Ok(entry) => {
            let (start, end) = entry.compressed_data_range();
            (member.offset, member.len) = (start, end.saturating_sub(start));
        }
        Err(error) => {
            let text = format!("member {}: {error}", Escaped(&member.name));
            let finding = Finding::new(FindingCode::DamagedZip, Place::File).text(text);
            (member.len, member.content) = (0, MemberContent::Broken(finding));
        }
    };
    // Each read of a local header can be a request to a server. So among the other members, only those that begin
    // before a wanted member and can end after its start are located.
    let (mut wanted, mut others): (Vec<_>, Vec<_>) =
        members.iter_mut().zip(wayfinders).partition(|(member, _)| is_wanted(&member.name));
    for (member, wayfinder) in &mut wanted {
        locate(member, *wayfinder);
    }
    let mut starts: Vec<u64> = wanted.iter().map(|(member, _)| member.offset).collect();
    starts.sort_unstable();
    others.retain(|(member, _)| {
        let end = member.local.saturating_add(MAX_LOCAL_HEADER_LEN).saturating_add(member.len);
        next_start(&starts, member.local).is_some_and(|start| start < end)
    });
    for (member, wayfinder) in &mut others {
        locate(member, *wayfinder);
    }
    refuse_overlaps(wanted.into_iter().chain(others).map(|(member, _)| member), directory.start);
    Ok(members)
}

/// A reader that records its errors, because rawzip takes some of them for the end of the file, and others for damage
/// of a member.
struct RecordingReader<'f, R> {
    reader: &'f R,
    failure: &'f Cell<Option<Error>>,
}

impl<R: ReadAt> ReaderAt for RecordingReader<'_, R> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // No file has an offset above `i64::MAX`. Such an offset comes from a damaged zip file, so this error is not
        // recorded as a failure of the reader.
        if i64::try_from(offset).is_err() {
            return Err(ErrorKind::InvalidInput.into());
        }
        fill(self.reader, offset, buffer).map_err(|error| {
            // An `io::Error` cannot be cloned, so rawzip gets a new error of the same kind.
            let kind = error.kind();
            self.failure
                .set(self.failure.take().into_iter().chain([Error::reading(error)]).reduce(Error::and));
            kind.into()
        })
    }
}

/// Marks as broken each member that ends after the start of the directory, or that begins before the end of an earlier,
/// unbroken member.
// Such members are not read: a small file could otherwise make us read the same long header any number of times.
fn refuse_overlaps<'m>(members: impl Iterator<Item = &'m mut ZipMember>, directory: u64) {
    let mut by_offset: Vec<&mut ZipMember> = members.filter(|member| member.len > 0).collect();
    // Sorted by offset, because the directory may list the members in any order. If two members begin at the same byte,
    // the one that the directory lists first comes first.
    by_offset.sort_unstable_by_key(|member| (member.offset, member.record));
    let mut free = 0;
    for member in by_offset {
        let (name, start) = (Escaped(&member.name), member.offset);
        let end = start.saturating_add(member.len);
        let finding = Finding::new(FindingCode::DamagedZip, Place::File);
        if start < free {
            let text = format!(
                "member {name} begins at byte {start} of the zip file, but the one before it ends at {free}"
            );
            member.content = MemberContent::Broken(finding.numbers(free, start).text(text));
        } else if end > directory {
            let text = format!(
                "member {name} ends at byte {end} of the zip file, but its directory begins at {directory}"
            );
            member.content = MemberContent::Broken(finding.numbers(directory, end).text(text));
        } else {
            free = end;
        }
    }
}

fn content(reader: &impl ReadAt, offset: u64, len: u64) -> Result<MemberContent, Error> {
    match read(reader, offset, len, MAX_HEADER) {
        Ok(frame) => Ok(MemberContent::Frame(frame)),
        Err(error) => match error.into_finding()? {
            finding if finding.code() == FindingCode::NotAFrame => Ok(MemberContent::Other),
            finding => Ok(MemberContent::Broken(finding)),
        },
    }
}

fn not_kept(member: &ZipMember) -> Finding {
    let text = format!(
        "the headers of the members before it take nearly all of the {MAX_HEADERS} bytes that are kept; ask for member {} alone",
        Escaped(&member.name)
    );
    Finding::new(FindingCode::TooLong, Place::Header).at(member.offset).text(text)
}

fn not_a_zip(error: &rawzip::Error) -> Error {
    // The messages of rawzip begin with a capital letter, but our messages do not. `to_lowercase` also changes "UTF-8"
    // to "utf-8", which does no harm.
    let text = format!("not a zip file, or cut short: {error}").to_lowercase();
    Error::malformed(Finding::new(FindingCode::DamagedZip, Place::File).text(text))
}
