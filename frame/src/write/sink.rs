//! Where the parts of a new frame go: all into one file, or each chunk into a file of its own.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};

use crate::find::chunk_file;
use crate::format::index::NewIndex;
use crate::write::place::Pending;
use crate::{Error, Frame};

/// Bytes that are collected before they are written. A longer chunk is written at once.
const BUFFER: usize = 1 << 16;

/// What a [`FrameWriter`](crate::FrameWriter) writes to: any `Write + Seek`, or a [`NewFile`]. No other type can
/// have it.
///
/// ```
/// use b2nd_frame::{Error, Frame, FrameBuilder, FrameWriter, Sink, Special};
/// use b2nd_serde::{Meta, Shapes};
///
/// /// Chunks of zeros, wherever they go.
/// fn zeros<S: Sink>(mut writer: FrameWriter<S>) -> Result<S::Finished, Error> {
///     writer.fill(Special::Zeros)?;
///     writer.finish()
/// }
/// let shapes = Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] };
/// let builder = FrameBuilder::new(Meta::new(shapes, "|u1")?);
/// let file = zeros(builder.write_to(std::io::Cursor::new(Vec::new()))?)?.into_inner();
/// assert!(Frame::parse(&file).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Sink: sealed::Sealed {
    /// What [`FrameWriter::finish`](crate::FrameWriter::finish) returns.
    type Finished;

    #[doc(hidden)]
    fn finish(output: Self::Output, end: &End<'_>) -> Result<Self::Finished, Error>;
}

/// A file, or the directory of a sparse frame, that does not have its name before it is finished. It is what
/// [`FrameBuilder::create`](crate::FrameBuilder::create) writes to.
///
/// ```
/// use std::fs::File;
/// use b2nd_frame::{Error, Frame, FrameWriter, NewFile, Special};
///
/// /// Writes an array of zeros, and opens it.
/// fn zeros(mut writer: FrameWriter<NewFile>) -> Result<Frame<File>, Error> {
///     writer.fill(Special::Zeros)?;
///     writer.finish()
/// }
/// ```
#[derive(Debug)]
pub enum NewFile {}

mod sealed {
    pub trait Sealed {
        type Output: super::Output;
    }
}

impl<W: Write + Seek> sealed::Sealed for W {
    type Output = Contiguous<W>;
}

impl sealed::Sealed for NewFile {
    type Output = Unfinished;
}

impl<W: Write + Seek> Sink for W {
    type Finished = W;

    fn finish(output: Contiguous<W>, end: &End<'_>) -> Result<W, Error> {
        output.end(end).map_err(Error::writing)
    }
}

impl Sink for NewFile {
    type Finished = Frame<File>;

    fn finish(output: Unfinished, end: &End<'_>) -> Result<Frame<File>, Error> {
        let frame = Frame::parse(end.header)?;
        let new = output.end(end)?;
        new.sync()?;
        let (file, path) = new.persist()?;
        Ok(Frame { path: Some(path), ..frame.map_reader(|()| file) })
    }
}

/// What a frame has besides its chunks.
#[derive(Debug)]
pub struct End<'e> {
    pub(crate) header: &'e [u8],
    pub(crate) index: &'e NewIndex,
    pub(crate) trailer: &'e [u8],
}

impl End<'_> {
    /// Writes what follows the chunks.
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        self.index.write(to)?;
        to.write_all(self.trailer)
    }
}

/// Takes the chunks of a frame.
pub trait Output {
    /// Has a chunk written by a function that says how long it was. Returns what the chunk index says of the chunk: its
    /// offset, or the number of its file. After an error, it is as if there had been no chunk.
    fn put(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>) -> Result<u64, Error>;
}

/// A contiguous frame that is written into something, from its position on.
#[derive(Debug)]
pub struct Contiguous<W: Write> {
    out: BufWriter<W>,
    start: u64,
    header_len: u64,
    /// The bytes of all chunks.
    len: u64,
    /// Whether a part of a chunk may have been written, which the next one replaces.
    is_astray: bool,
}

impl<W: Write + Seek> Contiguous<W> {
    /// Leaves room for the header. Until that is written, there are zeros, which nobody takes for a frame.
    pub(crate) fn begin(mut out: W, header_len: u64) -> io::Result<Self> {
        let start = out.stream_position()?;
        let mut out = BufWriter::with_capacity(BUFFER, out);
        io::copy(&mut io::repeat(0).take(header_len), &mut out)?;
        Ok(Self { out, start, header_len, len: 0, is_astray: false })
    }

    /// Writes the rest of the frame, the header last. The position is after the frame then.
    fn end(mut self, end: &End<'_>) -> io::Result<W> {
        self.settle()?;
        end.write(&mut self.out)?;
        let after = self.out.stream_position()?;
        self.out.seek(SeekFrom::Start(self.start))?;
        self.out.write_all(end.header)?;
        self.out.flush()?;
        // A file that was opened to append writes at its end, wherever one seeks.
        if self.out.stream_position()? != self.start.saturating_add(self.header_len) {
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                "the header cannot be written before the chunks: the writer only appends",
            ));
        }
        self.out.seek(SeekFrom::Start(after))?;
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn settle(&mut self) -> io::Result<()> {
        if self.is_astray {
            let position = self.start.saturating_add(self.header_len).saturating_add(self.len);
            self.out.seek(SeekFrom::Start(position))?;
            self.is_astray = false;
        }
        Ok(())
    }
}

impl<W: Write + Seek> Output for Contiguous<W> {
    fn put(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>) -> Result<u64, Error> {
        self.settle().map_err(Error::writing)?;
        self.is_astray = true;
        let len = write(&mut self.out)?;
        self.is_astray = false;
        let offset = self.len;
        self.len = offset.saturating_add(len);
        Ok(offset)
    }
}

/// A frame in a file or directory that does not have its name yet.
#[derive(Debug)]
pub struct Unfinished(Kind);

#[derive(Debug)]
enum Kind {
    Contiguous(Contiguous<Pending>),
    /// With the number of chunks so far. Each gets the next number as C-Blosc2 numbers them, whatever the number of the
    /// chunk is: C-Blosc2 opens no file whose number is above the bytes of all chunks.
    Sparse(Pending, u64),
}

impl Unfinished {
    pub(crate) fn begin(new: Pending, header_len: u64) -> Result<Self, Error> {
        if new.directory().is_some() {
            return Ok(Self(Kind::Sparse(new, 0)));
        }
        let named = new.to().to_path_buf();
        let begun = Contiguous::begin(new, header_len);
        begun.map(|begun| Self(Kind::Contiguous(begun))).map_err(|error| Error::io("write", &named, error))
    }

    fn pending(&self) -> &Pending {
        match &self.0 {
            Kind::Contiguous(contiguous) => contiguous.out.get_ref(),
            Kind::Sparse(new, _) => new,
        }
    }

    /// Writes the rest of the frame.
    pub(crate) fn end(self, end: &End<'_>) -> Result<Pending, Error> {
        let to = self.pending().to().to_path_buf();
        let written = match self.0 {
            Kind::Contiguous(contiguous) => contiguous.end(end),
            Kind::Sparse(new, _) => {
                let mut out = BufWriter::with_capacity(BUFFER, new);
                out.write_all(end.header)
                    .and_then(|()| end.write(&mut out))
                    .and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error))
            }
        };
        written.map_err(|error| Error::io("write", &to, error))
    }
}

impl Output for Unfinished {
    fn put(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>) -> Result<u64, Error> {
        let put = match &mut self.0 {
            Kind::Contiguous(contiguous) => contiguous.put(write),
            Kind::Sparse(new, files) => put_file(new, *files, write).inspect(|_| *files += 1),
        };
        put.map_err(|error| error.at(self.pending().to()))
    }
}

/// Has a chunk written into a file of its own, which gets this number.
fn put_file(
    new: &Pending,
    number: u64,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>,
) -> Result<u64, Error> {
    let path = new.directory().map(|directory| directory.join(chunk_file::name(number))).unwrap_or_default();
    let mut file = File::create(&path).map_err(Error::writing)?;
    match write(&mut file) {
        Ok(_) => Ok(number),
        Err(error) => {
            // Nobody reads it: the index will not name it.
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}
