//! The trailer that a change of the header needs, because the indexes of python-blosc2 become stale with the change.

use core::ops::Range;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use b2nd_serde::Meta;
use b2nd_serde::dtype::Dtype;

use crate::chunk::entry::index_start;
use crate::chunk::hole::{MARK_LEN, mark};
use crate::edit::attributes::{OldFrame, keep};
use crate::edit::table_column::refuse_column;
use crate::error::Error;
use crate::header::fields::HeaderField;
use crate::header::frame::Frame;
use crate::index::index_rules::index_header;
use crate::messagepack::marker::Marker;
use crate::read::source::read_up_to;
use crate::trailer::derived_layers::outdated;
use crate::write::destination::{Destination, NewFrame};

/// Whether the items of an array change with its metalayer, because the shape or the dtype is another one. The same dtype
/// can have two texts.
pub(super) fn changes_items(before: &Meta, after: &Meta) -> bool {
    let dtype = |meta: &Meta| meta.dtype().and_then(|text| text.parse::<Dtype>().ok());
    let is_same = before.dtype() == after.dtype()
        || dtype(before).is_some_and(|dtype_before| dtype(after) == Some(dtype_before));
    before.shape() != after.shape() || !is_same
}

/// A new trailer for a frame in a file, and the place of the chunk index before the trailer.
pub(super) struct NewTrailer {
    frame: Frame,
    /// The bytes of the chunk index, from its start to the old trailer.
    index: Range<u64>,
    bytes: Vec<u8>,
    has_vlmetalayers: bool,
}

impl NewTrailer {
    /// The trailer that the frame at this path needs if its header becomes that of `after`; `None` if it can keep its
    /// trailer. An error if the items belong to a table.
    pub(super) fn of_change<R>(
        path: &Path,
        before: &Frame<R>,
        after: &Frame<()>,
    ) -> Result<Option<Self>, Error> {
        // A metalayer of the array that cannot be read does not change: an edit of it is refused.
        let arrays = before.array().ok().flatten().zip(after.array().ok().flatten());
        let changes = arrays.is_some_and(|(before, after)| changes_items(before.meta(), after.meta()));
        if !changes || before.header().nbytes <= 0 {
            return Ok(None);
        }
        refuse_column(path)?;
        let mut frame = Frame::open(path)?;
        if frame.header_bytes() != before.header_bytes() {
            return Err(Error::changing(None));
        }
        let trailer = frame.trailer()?;
        let Some((bytes, has_vlmetalayers)) = outdated(&trailer, false)? else { return Ok(None) };
        let index = index_start(frame.header())..trailer.offset();
        index_header(&frame.index_bytes(index.end)?, frame.header(), index.end).map_err(Error::malformed)?;
        Ok(Some(Self { frame, index, bytes, has_vlmetalayers }))
    }

    fn index_len(&self) -> u64 {
        self.index.end.saturating_sub(self.index.start)
    }

    /// The header `after` with the new places of index and trailer: in a contiguous frame, after the end of the old
    /// frame. In a sparse frame, the index stays in its place, and the trailer follows it.
    pub(super) fn header(&self, after: &Frame<()>) -> Result<Frame<()>, Error> {
        let header = after.header();
        let (index_start, cbytes) = if header.is_sparse() {
            (self.index.start, header.cbytes)
        } else {
            let start = header.frame_len.saturating_add(MARK_LEN as u64);
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

    /// Writes the index and the trailer of a contiguous frame after its end, and syncs the file. They are valid as soon
    /// as the new header is written. After an error, the file has its old length, if possible.
    pub(super) fn write_behind(&mut self, file: &mut File) -> io::Result<()> {
        let frame_len = self.frame.header().frame_len;
        let mut write = || {
            file.seek(SeekFrom::Start(frame_len))?;
            // If this process is killed before the header is written, `remove_unfinished` recognizes these bytes by the
            // mark.
            file.write_all(&mark(MARK_LEN as u64))?;
            self.write_to(file)?;
            file.sync_all()
        };
        write().inspect_err(|_| drop(file.set_len(frame_len)))
    }

    /// Writes the index and the trailer.
    fn write_to(&mut self, file: &mut impl Write) -> io::Result<()> {
        let (start, length) = (self.index.start, self.index_len());
        self.frame.reader.seek(SeekFrom::Start(start))?;
        if io::copy(&mut (&self.frame.reader).take(length), file)? != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_all(&self.bytes)
    }

    /// Marks the old index and trailer as a hole, after the new header is written. An error is ignored, because the
    /// change is complete: a hole without a mark only causes a warning of `check`.
    pub(super) fn mark_hole(&self, file: &mut File) {
        let (start, end) = (self.index.start, self.frame.header().frame_len);
        let _ =
            file.seek(SeekFrom::Start(start)).and_then(|_| file.write_all(&mark(end.saturating_sub(start))));
    }

    /// Writes header, index and trailer of a sparse frame to a new file. Its rename replaces the file at this path.
    pub(super) fn write_sparse(&mut self, path: &Path, header: &[u8]) -> Result<NewFrame, Error> {
        let mut new = Destination::taken(path)?.begin(false)?;
        let written = new.write_all(header).and_then(|()| self.write_to(&mut new));
        written.map_err(|error| new.unwritable(error))?;
        keep(&new, &OldFrame { source: path.into(), is_in_place: true, is_sparse: false }, false);
        new.sync()?;
        Ok(new)
    }
}

/// Removes the bytes that a killed commit left after the end of a contiguous frame.
pub(super) fn remove_unfinished<R>(frame: &Frame<R>, path: &Path, file: &mut File) -> Result<(), Error> {
    let frame_len = frame.header().frame_len;
    if frame.check_same(path)? > frame_len {
        let unreadable = |error| Error::io("read", path, error);
        let mut start = Vec::new();
        file.seek(SeekFrom::Start(frame_len))
            .and_then(|_| read_up_to(file, MARK_LEN as u64, &mut start))
            .map_err(unreadable)?;
        if mark(MARK_LEN as u64).starts_with(&start) {
            file.set_len(frame_len).map_err(|error| Error::io("write", path, error))?;
        }
    }
    Ok(())
}
