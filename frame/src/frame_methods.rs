//! The public methods of [`Frame`]. Methods that need only the header, which is in memory, are implemented here. The
//! other methods call the code in the folders `read/`, `check/`, `dump/` and `edit/`.

use core::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use b2nd_serde::dump::Row;

use crate::check;
use crate::check::check_report::Report;
use crate::chunk::entry::ChunkCounts;
use crate::code::FindingCode;
use crate::dump::{chunk_rows, trailer_rows};
use crate::edit::change::Edit;
use crate::error::Error;
use crate::finding::Place;
use crate::header::array_header::ArrayHeader;
use crate::header::frame::Frame;
use crate::header::frame_header::{self, Header, Start};
use crate::header::object_kind::{ObjectKind, metalayer_kind};
use crate::header::section::{ARRAY_NAMES, Metalayer, Section, SectionRules};
use crate::messagepack::cursor::{Cursor, Part};
use crate::read::chunks::{self, Chunks};
use crate::read::open::{self, open_frame, read_frame_at};
use crate::read::stable_read;
use crate::read::trailer::trailer_or_changing;
use crate::source::ReadAt;
use crate::trailer::frame_trailer::Trailer;

impl Frame {
    /// Reads the header of a frame in a file, or in the directory of a sparse frame.
    ///
    /// This call reads 512 bytes, and then the rest of the header if the header is longer. If another process is
    /// writing the file, the header may be half-written; [`open_stable`](Self::open_stable) waits until it is complete.
    ///
    /// To read the frames in a zip file, use [`zip_members`](crate::zip_members). To open a store, use
    /// [`Store::open`](crate::Store::open).
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::ErrorKind::Io) if the file cannot be read. For a pipe or a device, the call returns this error
    ///   at once, and does not wait for bytes.
    /// - [`Malformed`](crate::ErrorKind::Malformed) if the file is not a frame, or if the file is shorter than the
    ///   frame. In the second case, this call reads the header again before it returns the error, because another
    ///   program may have been writing the file.
    /// - [`Changing`](crate::ErrorKind::Changing) if the file becomes shorter while it is read.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/sparse.b2nd")?;
    /// assert!(frame.header().is_sparse());
    /// assert_eq!(frame.path().unwrap().file_name().unwrap(), "chunks.b2frame");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        open_frame(path.as_ref())
    }

    /// Reads the header of a frame that another process may be writing. This call reads the header repeatedly, until
    /// two successive reads give the same bytes, and the array's metalayer agrees with the header.
    ///
    /// A single read can give a half-written shape or, more often, a shape whose chunks are not all written yet. If
    /// locking is on, C-Blosc2 creates a `.b2lock` file for the frame. If there is such a file, this call holds a
    /// shared lock on it while it reads the header.
    ///
    /// # Errors
    ///
    /// [`Changing`](crate::ErrorKind::Changing) if the header is still not stable after `patience`: two reads in a row
    /// differ, or the header or the metalayer has an error. Then another process is writing the frame, or was
    /// interrupted, or the file is damaged. [`check`](crate::check()) tells damage from a change. A file that is not a
    /// frame is [`Malformed`](crate::ErrorKind::Malformed) at once.
    /// [`Locked`](crate::ErrorKind::Locked) if another process holds the lock for longer than `patience`. Also the
    /// errors of [`open`](Self::open).
    ///
    /// ```
    /// use std::time::Duration;
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open_stable("tests/data/int32_3x5.b2nd", Duration::from_secs(1))?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn open_stable(path: impl AsRef<Path>, patience: Duration) -> Result<Self, Error> {
        stable_read::open_stable(path.as_ref(), patience)
    }
}

impl Frame<()> {
    /// Reads the header from the first bytes of a frame. More bytes may follow the header.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Incomplete`](crate::ErrorKind::Incomplete) if more bytes are needed,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the bytes cannot be the start of a frame.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(Frame::parse(&file[..100]).unwrap_err().needed(), Some(165));
    /// assert_eq!(Frame::parse(&file[..165])?.header().header_len, 165);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(prefix: &[u8]) -> Result<Self, Error> {
        let start = Start::parse(prefix)?;
        let bytes = prefix.get(..start.header_len).ok_or_else(|| Error::incomplete(start.header_len))?;
        let header = frame_header::parse(bytes, start).map_err(Error::malformed)?;
        let bytes = Arc::new(bytes.to_vec());
        let part = Part { place: Place::Metalayers, start: 0, code: FindingCode::DamagedHeader };
        let mut cursor = Cursor::new(&bytes, part).at(header.generation.head_len());
        let section = Section::parse(&mut cursor, &bytes, &SectionRules::HEADER).map_err(Error::malformed)?;
        Ok(Self {
            header,
            bytes,
            section,
            offset: 0,
            path: None,
            by_directory: false,
            opened: None,
            version: None,
            reader: (),
        })
    }
}

/// Methods about the header, which is in memory.
impl<R> Frame<R> {
    /// The values of the header, without the metalayers.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes of the header, with its metalayers.
    #[must_use]
    pub fn header_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All metalayers, in the order of the header.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/peers/lazy_expression.b2nd")?;
    /// let names: Vec<&str> = frame.metalayers().iter().map(|layer| layer.name()).collect();
    /// assert_eq!(names, ["b2nd", "b2o"]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn metalayers(&self) -> &[Metalayer] {
        &self.section.metalayers
    }

    /// The first metalayer with this name; `None` if there is none.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.metalayer("b2nd").expect("an array").bytes().len(), 53);
    /// assert!(frame.metalayer("b2o").is_none());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn metalayer(&self, name: &str) -> Option<&Metalayer> {
        self.metalayers().iter().find(|layer| layer.name() == name)
    }

    /// The metalayer of the array: `b2nd`, else `caterva`; `None` if there is neither.
    #[must_use]
    pub fn array_metalayer(&self) -> Option<&Metalayer> {
        ARRAY_NAMES.into_iter().find_map(|name| self.metalayer(name))
    }

    /// The array; `None` if the frame has no array metalayer.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if the metalayer of the array violates the format.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let array = frame.array()?.expect("an array");
    /// assert_eq!(array.meta().blockshape(), [1, 2]);
    /// assert!(array.stale_tail().is_empty());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn array(&self) -> Result<Option<ArrayHeader<'_>>, Error> {
        self.read_array().map_err(Error::malformed)
    }

    /// The kind of object in the frame, as far as the header determines it.
    ///
    /// If python-blosc2 can open the frame, it makes an object of this kind, with two exceptions. It opens a
    /// [store](ObjectKind::EmbedStore) as a store only if the path has the extension `b2e`, `b2d` or `b2z`. And it
    /// opens an array of Caterva as plain chunks.
    ///
    /// ```
    /// use b2nd_frame::{Frame, ObjectKind};
    ///
    /// assert_eq!(Frame::open("tests/data/int32_3x5.b2nd")?.kind(), ObjectKind::NDArray);
    /// assert_eq!(Frame::open("tests/data/peers/object_array.b2frame")?.kind(), ObjectKind::ObjectArray);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> ObjectKind {
        match metalayer_kind(self.metalayers()) {
            Some((kind, _)) => kind,
            None if self.array_metalayer().is_some() => ObjectKind::NDArray,
            None => ObjectKind::SChunk,
        }
    }

    /// Checks the header, and its agreement with the array's metalayer. The file is not read.
    ///
    /// ```
    /// use b2nd_frame::{FindingCode, Frame};
    ///
    /// let frame = Frame::open("tests/data/rank16.b2nd")?;
    /// assert_eq!(frame.check_header().findings[0].code(), FindingCode::HighRank);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn check_header(&self) -> Report {
        check::check_header(self)
    }

    /// Starts a change of the frame. The file is not changed before [`Edit::apply`].
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut frame = Frame::parse(&std::fs::read("tests/data/int32_3x5.b2nd")?)?;
    /// let after = frame.edit().shape(&[4, 4]).preview()?;
    /// assert_eq!(after.array()?.expect("an array").shape(), [4, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit(&mut self) -> Edit<'_, R> {
        Edit::new(self)
    }

    /// The offset of the frame in its file; 0 if it was parsed from bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The path of the file that was opened; for a sparse frame, the path of `chunks.b2frame`. `None` if the frame was
    /// not opened by a path. The frame of an `Array` has the absolute path.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The number of stored bytes: the length of the frame, or of all files in the directory of a sparse frame.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// assert_eq!(Frame::open("tests/data/int32_3x5.b2nd")?.stored_len(), 520);
    /// let sparse = Frame::open("tests/data/sparse.b2nd")?;
    /// assert!(sparse.stored_len() > sparse.header().frame_len);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn stored_len(&self) -> u64 {
        open::stored_len(self)
    }

    /// The source of the frame's bytes.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert!(frame.reader().metadata()?.is_file());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns the reader or file of the frame.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let frame_len = frame.header().frame_len;
    /// assert_eq!(frame.into_reader().metadata()?.len(), frame_len);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_reader(self) -> R {
        self.reader
    }

    /// Replaces the reader, so that frames with different readers can have the same type.
    ///
    /// The new reader must have the same bytes as the old one. Its [version](ReadAt::version) must be the same too, or
    /// `None`. The frame keeps its [`path`](Self::path).
    ///
    /// ```
    /// use b2nd_frame::{Frame, ReadAt};
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let frame: Frame<Box<dyn ReadAt>> = frame.map_reader(|file| Box::new(file) as _);
    /// assert_eq!(frame.count_chunks()?.total(), 4);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn map_reader<S>(self, map: impl FnOnce(R) -> S) -> Frame<S> {
        let Self { header, bytes, section, offset, path, by_directory, opened, version, reader } = self;
        let reader = map(reader);
        Frame { header, bytes, section, offset, path, by_directory, opened, version, reader }
    }
}

/// Methods that read the source of the frame.
impl<R: ReadAt> Frame<R> {
    /// Reads the header of a frame that begins at an offset of a file, such as a member of a zip.
    ///
    /// The frame keeps the reader, to read its chunks and trailer later; a `&mut` reader works too. This function reads
    /// as many bytes as [`open`](Frame::open).
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Frame::open).
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut bytes = b"something before ".to_vec();
    /// let offset = bytes.len() as u64;
    /// bytes.extend(std::fs::read("tests/data/int32_3x5.b2nd")?);
    ///
    /// let frame = Frame::read_at(bytes, offset)?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
    /// assert_eq!(frame.offset(), offset);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_at(reader: R, offset: u64) -> Result<Self, Error> {
        read_frame_at(reader, offset)
    }

    /// Reads the trailer with the vlmetalayers.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) if the file cannot be read. [`Malformed`](crate::ErrorKind::Malformed) if no valid
    /// trailer is at the end of the frame. [`Changing`](crate::ErrorKind::Changing) if the file was written since the
    /// frame was opened, so that the source now has another [`version`](ReadAt::version).
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/vlmetalayers.b2nd")?;
    /// let trailer = frame.trailer()?;
    /// let names: Vec<_> = trailer.vlmetalayers().iter().map(|layer| layer.name()).collect();
    /// assert_eq!(names, ["unit", "note"]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn trailer(&self) -> Result<Trailer, Error> {
        trailer_or_changing(self)
    }

    /// Reads the chunk index, which has an entry for each chunk: the place where the chunk is stored, or its special
    /// value.
    ///
    /// The index is read in pages, so memory does not grow with the number of chunks. [`Chunks::get`] reads a single
    /// entry. The chunks themselves are not read; [`Chunks::header`] reads the header of a chunk.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if no index begins at the offset that is computed from the header of
    /// the frame, or if the index does not have an entry for each chunk. [`Io`](crate::ErrorKind::Io) if the index
    /// cannot be read. [`Unsupported`](crate::ErrorKind::Unsupported) if the index is compressed and the feature
    /// `decompress` is off, or if the format of the frame is older than C-Blosc2 2.0.0-rc1.
    /// [`TooLarge`](crate::ErrorKind::TooLarge) if the index claims more bytes than the
    /// [expansion limit](crate::expansion_limit()). The iterator returns an error if a page of the index is damaged.
    ///
    /// ```
    /// use b2nd_frame::{ChunkPlace, Frame};
    ///
    /// // Get the bytes of the third chunk, for any Blosc2 decompressor.
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let mut chunks = frame.chunks()?;
    /// let third = chunks.get(2)?.expect("a chunk");
    /// let header = chunks.header(&third)?.expect("a stored chunk");
    /// let ChunkPlace::Frame(start) = third.place else { panic!("not in the frame") };
    /// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// let chunk = &file[start as usize..][..header.cbytes()];
    /// assert_eq!((chunk[0], header.nbytes()), (5, 32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunks(&self) -> Result<Chunks<'_, R>, Error> {
        Chunks::open_or_changing(self)
    }

    /// Counts the stored and the special chunks.
    ///
    /// # Errors
    ///
    /// The errors of [`chunks`](Self::chunks) and its iterator.
    pub fn count_chunks(&self) -> Result<ChunkCounts, Error> {
        chunks::count(self)
    }

    /// Counts the bytes between the header and the chunk index that belong to no chunk. Usually, they are holes that
    /// replaced and deleted chunks left. A [`Rewrite`](crate::Rewrite) does not copy them.
    ///
    /// This call reads the header of each stored chunk, to know where the chunk ends. For a sparse frame, the result is
    /// 0, because its chunks are in files of their own.
    ///
    /// # Errors
    ///
    /// The errors of [`chunks`](Self::chunks), its iterator and [`Chunks::checked_header`].
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// assert_eq!(Frame::open("tests/data/int32_3x5.b2nd")?.unowned_bytes()?, 0);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn unowned_bytes(&self) -> Result<u64, Error> {
        chunks::unowned_bytes(self)
    }

    /// Passes the annotated bytes of the chunk headers and of the chunk index to a function, row by row, until the
    /// function returns `Break`.
    ///
    /// The chunks come first, each with its header, the offsets of its first 256 blocks, and the length of its data.
    /// For a chunk in a chunk file, the offsets of the rows count from the start of that file. Then come the header of
    /// the chunk index, and its entries. If the index is compressed, no bytes of the file belong to a single entry, so
    /// the rows of entries show no bytes. A row has a [`fault`](Row::fault), for example, if the bytes at the place of
    /// a chunk cannot be parsed as a chunk header, if a chunk file is missing, or if the offset of a block is outside
    /// its chunk. The dump continues after a fault, with the next row or the next chunk. A frame without chunks has no
    /// rows.
    ///
    /// A chunk has fewer than 300 rows. But in a small damaged or hostile file, the index can have 268 million entries
    /// that all point to the same chunk. The rows come one by one, so memory does not grow with their number. Return
    /// `Break` to stop the dump.
    ///
    /// # Errors
    ///
    /// The errors of [`chunks`](Self::chunks) and its iterator, and an error if a chunk file cannot be read, or if the
    /// frame is sparse and was not opened by its path. After an error about a chunk, the rows of the index are still
    /// passed to `receive`, and then the error is returned.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use b2nd_frame::Frame;
    ///
    /// let mut rows = Vec::new();
    /// Frame::open("tests/data/int32_3x5.b2nd")?.dump_chunks(|row| {
    ///     rows.push(format!("{}: {} {}", row.offset, row.field, row.value));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!((&*rows[0], &*rows[5]), ("165: chunk 0 byte 165", "169: nbytes 32"));
    /// assert_eq!(rows.last().expect("the entry of the last chunk"), "477: chunk 3 byte 357");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn dump_chunks(&self, receive: impl FnMut(&Row<'_>) -> ControlFlow<()>) -> Result<(), Error> {
        chunk_rows::all(self, receive)
    }

    /// Passes the annotated bytes of one chunk header to a function, row by row, as [`dump_chunks`](Self::dump_chunks)
    /// does for all chunks.
    ///
    /// # Errors
    ///
    /// The errors of [`dump_chunks`](Self::dump_chunks), and [`InvalidInput`](crate::ErrorKind::InvalidInput) if the
    /// frame has no chunk with this number.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use b2nd_frame::Frame;
    ///
    /// let mut rows = Vec::new();
    /// Frame::open("tests/data/int32_3x5.b2nd")?.dump_chunk(3, |row| {
    ///     rows.push(format!("{}: {} {}", row.offset, row.field, row.value));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!((&*rows[0], &*rows[5]), ("357: chunk 3 byte 357", "361: nbytes 32"));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn dump_chunk(
        &self,
        number: u64,
        receive: impl FnMut(&Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        chunk_rows::one(self, number, receive)
    }

    /// Passes the annotated bytes of the trailer to a function, row by row, until the function returns `Break`.
    ///
    /// If the bytes are not a trailer, the rows end at the first invalid byte, with an error message.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) if the file cannot be read. [`Malformed`](crate::ErrorKind::Malformed) if the file
    /// is now shorter than the frame. [`Changing`](crate::ErrorKind::Changing) if another program may be changing the
    /// frame.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use b2nd_frame::Frame;
    ///
    /// let mut fields = Vec::new();
    /// Frame::open("tests/data/int32_3x5.b2nd")?.dump_trailer(|row| {
    ///     fields.push(format!("{}: {}", row.offset, row.field));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(fields[..2], ["485: trailer", "486: version"]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn dump_trailer(&self, receive: impl FnMut(&Row<'_>) -> ControlFlow<()>) -> Result<(), Error> {
        trailer_rows::all(self, receive)
    }
}
