//! The new trailer for an edit that changes the shape or the dtype. Such an edit makes the indexes of python-blosc2
//! wrong, so the new trailer marks them as stale.

use core::ops::Range;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use b2nd_serde::Meta;
use b2nd_serde::dtype::Dtype;

use crate::check::Check;
use crate::chunk::entry::index_start;
use crate::chunk::hole::START;
use crate::edit::commit::Commit;
use crate::edit::old_chunks::{OldChunks, check_count};
use crate::edit::table_column::refuse_column;
use crate::error::Error;
use crate::finding::first_error;
use crate::header::fields::HeaderField;
use crate::header::frame::Frame;
use crate::messagepack::marker::Marker;
use crate::read::open::open_frame;
use crate::trailer::derived_layers::outdated;
use crate::write::destination::Destination;

/// Whether a new metalayer of an array changes its items: the shape or the dtype differs. Two different texts can name
/// the same dtype, so the parsed dtypes are compared too.
pub(super) fn changes_items(before: &Meta, after: &Meta) -> bool {
    let dtype = |meta: &Meta| meta.dtype().and_then(|text| text.parse::<Dtype>().ok());
    let is_same = before.dtype() == after.dtype()
        || dtype(before).is_some_and(|dtype_before| dtype(after) == Some(dtype_before));
    before.shape() != after.shape() || !is_same
}

/// Whether a new header of a frame changes the items of its array.
pub(super) fn changes_array<R>(before: &Frame<R>, after: &Frame<()>) -> bool {
    // If the array's metalayer cannot be read, every edit of this metalayer is refused, so the array does not change.
    let arrays = before.array().ok().flatten().zip(after.array().ok().flatten());
    arrays.is_some_and(|(before, after)| changes_items(before.meta(), after.meta()))
}

/// A new trailer for a frame in a file, with the record of holes and the chunk index that precede it.
pub(super) struct NewTrailer {
    frame: Frame,
    /// The bytes to write after the end of a contiguous frame, before the copy of the chunk index. They mark the start
    /// of a commit and record the holes.
    holes: Vec<u8>,
    /// The byte range of the chunk index in the old frame, up to the old trailer.
    index: Range<u64>,
    bytes: Vec<u8>,
    has_vlmetalayers: bool,
}

impl NewTrailer {
    /// Returns the new trailer that the frame at this path needs for the header of `after`; `None` if the old trailer
    /// can stay. Fails if the array belongs to a table, and python-blosc2 has computed indexes or columns of this table
    /// from the items.
    pub(super) fn of_change<R>(
        path: &Path,
        before: &Frame<R>,
        after: &Frame<()>,
    ) -> Result<Option<Self>, Error> {
        if !changes_array(before, after) || before.header().nbytes <= 0 {
            return Ok(None);
        }
        refuse_column(path)?;
        let frame = open_frame(path)?;
        if frame.header_bytes() != before.header_bytes() {
            return Err(Error::changing(None));
        }
        let trailer = frame.read_trailer()?;
        let Some((bytes, has_vlmetalayers)) = outdated(&trailer, false)? else { return Ok(None) };
        if let Some(error) = first_error(&Check::default().run(&frame)?.findings) {
            return Err(Error::malformed(error.clone()));
        }
        let index = index_start(frame.header())..trailer.offset();
        let mut holes = Vec::new();
        if !frame.header().is_sparse() {
            check_count(frame.header().nchunks().unwrap_or(0), frame.header().frame_len)?;
            let record = OldChunks::read(&frame, Some)?.hole_record(frame.header());
            holes = [START, &record.to_bytes()[..]].concat();
        }
        Ok(Some(Self { frame, holes, index, bytes, has_vlmetalayers }))
    }

    fn index_len(&self) -> u64 {
        self.index.end.saturating_sub(self.index.start)
    }

    /// Returns the header `after` with the new offsets of index and trailer. In a contiguous frame, both are after the
    /// end of the old frame. In a sparse frame, the index stays in its place, and the trailer follows it.
    pub(super) fn header(&self, after: &Frame<()>) -> Result<Frame<()>, Error> {
        let header = after.header();
        let (index_start, cbytes) = if header.is_sparse() {
            (self.index.start, header.cbytes)
        } else {
            let start = header.frame_len.saturating_add(self.holes.len() as u64);
            (start, i64::try_from(start.saturating_sub(header.header_len as u64)).map_err(Error::too_large)?)
        };
        let frame_len = index_start.saturating_add(self.index_len()).saturating_add(self.bytes.len() as u64);
        let flag = if self.has_vlmetalayers { Marker::True } else { Marker::False };
        let mut bytes = after.header_bytes().to_vec();
        let mut set = |field, value: &[u8]| {
            if let Some(slot) = header.range(field).and_then(|range| bytes.get_mut(range)) {
                slot.copy_from_slice(value);
            }
        };
        set(HeaderField::Cbytes, &cbytes.to_be_bytes());
        set(HeaderField::FrameLen, &frame_len.to_be_bytes());
        set(HeaderField::HasVlmetalayers, &[flag.to_u8()]);
        Frame::parse(&bytes)
    }

    /// Commits the header `after` and this trailer in one step. Returns the new frame and, if a new file replaces the
    /// old one, the new file.
    pub(super) fn commit(
        mut self,
        commit: Commit<'_>,
        after: &Frame<()>,
    ) -> Result<(Frame<()>, Option<File>), Error> {
        let (path, after) = (commit.path, self.header(after)?);
        if after.header().is_sparse() {
            let mut new = Destination::taken(path)?.begin(false)?;
            let written = new.write_all(after.header_bytes()).and_then(|()| self.write(&mut new));
            written.map_err(|error| new.unwritable(error))?;
            // No error may occur after the rename, so the new file is opened before the rename.
            let reader = new.reader()?;
            let (frame, _) = commit.by_rename(self.frame, new, after.header_bytes())?;
            Ok((frame, Some(reader)))
        } else {
            let (frame, _) = commit.behind(|mut file| {
                let end = SeekFrom::Start(self.frame.header().frame_len);
                let written = file.seek(end).and_then(|_| self.write(&mut file));
                written.map_err(|error| Error::io("write", path, error))?;
                Ok(after.header_bytes().to_vec())
            })?;
            Ok((frame, None))
        }
    }

    fn write(&mut self, to: &mut impl Write) -> io::Result<()> {
        let (start, length) = (self.index.start, self.index_len());
        to.write_all(&self.holes)?;
        self.frame.reader.seek(SeekFrom::Start(start))?;
        if io::copy(&mut (&self.frame.reader).take(length), to)? != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&self.bytes)
    }
}
