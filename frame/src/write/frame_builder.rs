//! The builder of a new frame.

use std::io::{Cursor, Seek, Write};
use std::path::Path;

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::internals::MAX_BLOCKSIZE;
use b2nd_chunk::{Codec, Filter, SplitMode};
use b2nd_serde::Meta;
use serde::Serialize;

use crate::chunk::chunk_rules::check_in_trailer;
use crate::chunk::special_item::stored_chunk;
use crate::error::Error;
use crate::header::header_builder::Compression;
use crate::write::destination::{Destination, NewFrame};
use crate::write::frame_plan::{Contents, Plan};
use crate::write::frame_writer::FrameWriter;
use crate::write::output::Output;

/// The header and trailer of a new frame.
///
/// A builder starts with the array's [`Meta`]. [`create`](Self::create), [`create_sparse`](Self::create_sparse) or
/// [`write_to`](Self::write_to) then starts writing, and returns a [`FrameWriter`], which writes the chunks.
/// [`to_vec`](Self::to_vec) makes a small frame in memory. Each chunk comes from a Blosc2 compressor, or is stored
/// uncompressed. With the feature `compress`, `FrameWriter::into_array_writer` returns a writer to which you give items
/// instead of chunks.
///
/// ```
/// use b2nd_frame::{Check, FrameBuilder, SpecialValue};
/// use b2nd_serde::{Meta, Shapes};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("new.b2nd");
/// #[derive(serde_derive::Serialize)]
/// struct Vendor {
///     serial: u8,
/// }
///
/// let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?;
/// let builder = FrameBuilder::new(meta);
/// let builder = builder.metalayer("vendor", &Vendor { serial: 7 }).vlmetalayer("unit", "kelvin");
/// let mut writer = builder.create(&path)?;
/// // The items are in the order of the blocks, and include the padding of the chunk.
/// let first = [0, 1, 2, 0, 5, 6, 7, 0_i32];
/// let first: Vec<u8> = first.iter().flat_map(|item| item.to_le_bytes()).collect();
/// writer.write_uncompressed(0, &first)?;
/// writer.write_repeated(3, &9_i32.to_le_bytes())?;
/// writer.fill_missing(SpecialValue::Zeros)?;
/// let mut frame = writer.finish()?.persist()?;
///
/// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
/// assert_eq!(frame.trailer()?.vlmetalayer("unit").expect("a unit").decode::<String>()?, "kelvin");
/// assert_eq!(frame.count_chunks()?.stored, 2);
/// assert_eq!(Check::default().run(&frame)?.findings, []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The codec, level and filters of the builder are written into the header of the frame. These values do not apply to
/// chunks that are already compressed, because each chunk records its own codec and filters. Programs use the values in
/// the header to compress new chunks. The defaults are those of python-blosc2: zstd at level 5, after a shuffle.
///
/// All values are checked when writing starts.
#[derive(Debug)]
#[must_use = "nothing is written without `create`, `write_to` or `to_vec`"]
pub struct FrameBuilder(pub(super) Contents);

impl FrameBuilder {
    /// A builder of a frame with the array that `meta` describes. The layout of `meta` must be
    /// [`Layout::B2nd`](b2nd_serde::Layout::B2nd).
    ///
    /// In a dimension of 0 items, the chunk length may be 0, as in arrays that C-Blosc2 makes. But python-blosc2 cannot
    /// resize such an array, so prefer lengths of at least 1.
    pub fn new(meta: Meta) -> Self {
        Self(Contents {
            meta,
            typesize: None,
            compression: Compression::default(),
            metalayers: Vec::new(),
            vlmetalayers: Vec::new(),
        })
    }

    /// Sets the size of an item in bytes, 1 to 536866816. The size is needed only if this crate does not know the
    /// dtype, for example because the dtype format is not NumPy's.
    ///
    /// ```
    /// use b2nd_frame::FrameBuilder;
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[0], chunkshape: &[4], blockshape: &[4] }, "int33")?;
    /// let none: [&[u8]; 0] = [];
    /// assert!(FrameBuilder::new(meta.clone()).to_vec(none).is_err());
    /// assert!(FrameBuilder::new(meta).typesize(5).to_vec(none).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn typesize(mut self, typesize: usize) -> Self {
        self.0.typesize = Some(typesize);
        self
    }

    /// Sets the codec for new chunks. These are the chunks that an `ArrayWriter` compresses, and the chunks that
    /// programs add to the frame later.
    ///
    /// ```
    /// use b2nd_frame::{Codec, Frame, FrameBuilder, SplitMode};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[0], chunkshape: &[4], blockshape: &[4] }, "<f4")?;
    /// // Chunks that are appended later are compressed with lz4 at level 9, and their blocks are not split.
    /// let builder = FrameBuilder::new(meta).codec(Codec::LZ4).level(9).split_mode(SplitMode::Never);
    /// let bytes = builder.to_vec([] as [&[u8]; 0])?;
    /// let frame = Frame::parse(&bytes)?;
    /// let header = frame.header();
    /// assert_eq!((header.codec.to_string().as_str(), header.level), ("lz4", 9));
    /// assert_eq!(header.split_mode, SplitMode::Never);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn codec(mut self, codec: Codec) -> Self {
        self.0.compression.codec = codec;
        self
    }

    /// Sets the parameter of the codec. The default is 0.
    pub fn codec_meta(mut self, codec_meta: u8) -> Self {
        self.0.compression.codec_meta = codec_meta;
        self
    }

    /// Sets the compression level for new chunks, 0 to 9. See [`codec`](Self::codec) for what a new chunk is.
    pub fn level(mut self, level: u8) -> Self {
        self.0.compression.level = level;
        self
    }

    /// Sets the split mode for the blocks of new chunks. See [`codec`](Self::codec) for what a new chunk is. The
    /// default is [`SplitMode::Auto`].
    pub fn split_mode(mut self, split_mode: SplitMode) -> Self {
        self.0.compression.split_mode = split_mode;
        self
    }

    /// Sets the filters for new chunks: at most 6, in order of application. See [`codec`](Self::codec) for what a new
    /// chunk is.
    ///
    /// A parameter must be at most 127: python-blosc2 does not open a frame with a larger parameter. For `bytedelta`,
    /// the parameter 0 stands for the item size, so items of 128 bytes or more need another parameter.
    ///
    /// ```
    /// use b2nd_frame::{Filter, Frame, FrameBuilder};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[0], chunkshape: &[4], blockshape: &[2] }, "<f4")?;
    /// // trunc_prec with 10 bits, then shuffle.
    /// let filters = [Filter { meta: 10, ..Filter::TRUNC_PREC }, Filter::SHUFFLE];
    /// let bytes = FrameBuilder::new(meta).filters(&filters).to_vec([] as [&[u8]; 0])?;
    /// assert!(Frame::parse(&bytes)?.header().pipeline().eq(filters));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filters(mut self, filters: &[Filter]) -> Self {
        self.0.compression.filters = filters.into();
        self
    }

    /// Sets the dictionary flag in the header. If the flag is set, programs that add chunks to the frame should
    /// compress these chunks with a dictionary. An `ArrayUpdate` ignores the flag. `FrameWriter::into_array_writer`
    /// returns an error if the flag is set, because an `ArrayWriter` cannot compress with dictionaries.
    pub fn uses_dictionary(mut self, uses_dictionary: bool) -> Self {
        self.0.compression.uses_dictionary = uses_dictionary;
        self
    }

    /// Adds a metalayer. Its value is written as `MessagePack`, with structs as maps. The length of the value cannot
    /// change later. The name of the metalayer must have at most 31 bytes, and must not be `b2nd` or `caterva`. A
    /// frame has at most 16 metalayers, and one of them is the array's own, so at most 15 can be added.
    pub fn metalayer(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.0.metalayers.push((name.into(), messagepack(name, value)));
        self
    }

    /// Adds a metalayer with the given bytes, for example the bytes of a metalayer of another frame.
    ///
    /// ```
    /// use b2nd_frame::{Frame, FrameBuilder};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[0], chunkshape: &[4], blockshape: &[4] }, "|u1")?;
    /// let bytes = FrameBuilder::new(meta).metalayer_bytes("vendor", b"\xa4acme").to_vec([] as [&[u8]; 0])?;
    /// let frame = Frame::parse(&bytes)?;
    /// assert_eq!(frame.metalayer("vendor").expect("a metalayer").decode::<String>()?, "acme");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metalayer_bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        self.0.metalayers.push((name.into(), Ok(bytes.into())));
        self
    }

    /// Adds a vlmetalayer. Its value is written as `MessagePack`, with structs as maps, in an uncompressed chunk. The
    /// name of the vlmetalayer must have at most 31 bytes. At most 16 vlmetalayers can be added.
    pub fn vlmetalayer(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.0.vlmetalayers.push((name.into(), vlmetalayer_chunk(name, value)));
        self
    }

    /// Adds a vlmetalayer whose value is already in a chunk, for example from another frame. The chunk may be
    /// compressed.
    ///
    /// ```
    /// use b2nd_frame::{Frame, FrameBuilder};
    ///
    /// let old = Frame::open("tests/data/vlmetalayers.b2nd")?;
    /// let meta = old.array()?.expect("an array").meta().clone();
    /// let mut builder = FrameBuilder::new(meta);
    /// // The indexes of another array would be wrong.
    /// for layer in old.trailer()?.vlmetalayers().iter().filter(|layer| !layer.is_derived()) {
    ///     builder = builder.vlmetalayer_chunk(layer.name(), layer.chunk());
    /// }
    /// # assert!(format!("{builder:?}").contains("note"));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn vlmetalayer_chunk(mut self, name: &str, chunk: &[u8]) -> Self {
        let length = chunk.len();
        let header = ChunkHeader::parse(chunk).filter(|header| header.cbytes() == length);
        let checked = header
            .ok_or_else(|| format!("has {length} bytes, which are not a Blosc2 chunk"))
            .and_then(|header| check_in_trailer(&header, chunk));
        let wrong = |why| Error::invalid_input(format_args!("the chunk of vlmetalayer `{name}` {why}"));
        self.0.vlmetalayers.push((name.into(), checked.map(|()| chunk.into()).map_err(wrong)));
        self
    }

    /// Starts writing a contiguous frame to a path that must not exist yet.
    ///
    /// The frame is written under a temporary name in the same folder (`.b2nd-XXXXXX.tmp`), and [`NewFrame::persist`]
    /// renames it. No other process ever sees a partial frame at the path. If the frame is dropped before it is
    /// renamed, nothing is left. If the process is killed, at most the temporary file is left.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`] if the dtype has Python objects, or is unknown and no [type size](Self::typesize) is given.
    ///   Also if the layout is not `b2nd`, or a shape, the codec, the level, a filter or the name of a metalayer is
    ///   invalid.
    /// - [`TooLarge`] if a size or a number of metalayers is too large for the format. The message has the numbers.
    /// - [`Encode`] if a value cannot be written as a metalayer.
    /// - [`Exists`] if the path exists.
    /// - [`Io`] if the file cannot be created.
    ///
    /// [`InvalidInput`]: crate::ErrorKind::InvalidInput
    /// [`TooLarge`]: crate::ErrorKind::TooLarge
    /// [`Encode`]: crate::ErrorKind::Encode
    /// [`Exists`]: crate::ErrorKind::Exists
    /// [`Io`]: crate::ErrorKind::Io
    pub fn create(self, path: impl AsRef<Path>) -> Result<FrameWriter<NewFrame>, Error> {
        self.create_at(path.as_ref(), false)
    }

    /// Starts writing a sparse frame: a directory with a file for each stored chunk.
    ///
    /// The directory has a temporary name until [`NewFrame::persist`]. If the frame is dropped before `persist`,
    /// nothing is left. If the process is killed in `persist`, an empty directory can be left at the path. The chunk
    /// files are not synced, because syncing a file takes as long as writing it. After a power failure,
    /// [`check`](crate::check()) finds incomplete files.
    ///
    /// # Errors
    ///
    /// The errors of [`create`](Self::create).
    ///
    /// ```
    /// use b2nd_frame::{FrameBuilder, SpecialValue, is_sparse_frame};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("new.b2nd");
    /// let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "|u1")?;
    /// let mut writer = FrameBuilder::new(meta).create_sparse(&path)?;
    /// writer.write_uncompressed(1, &[3, 4])?;
    /// assert!(!path.exists());
    /// writer.fill_missing(SpecialValue::Zeros)?;
    /// writer.finish()?.persist()?;
    /// assert!(is_sparse_frame(&path) && path.join("00000000.chunk").exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_sparse(self, path: impl AsRef<Path>) -> Result<FrameWriter<NewFrame>, Error> {
        self.create_at(path.as_ref(), true)
    }

    fn create_at(self, path: &Path, is_sparse: bool) -> Result<FrameWriter<NewFrame>, Error> {
        let plan = Plan::new(self.0, is_sparse)?;
        let new = Destination::free(path, is_sparse)?.begin(true)?;
        Ok(FrameWriter::new(Output::begin(new, plan.header_len())?, plan))
    }

    /// Starts writing a contiguous frame to a writer that can seek. The frame begins at the current position of the
    /// writer.
    ///
    /// At first, zeros are written in the place of the header. The header is written last, and overwrites these zeros.
    /// A file opened for appending cannot overwrite bytes, so it does not work as the writer.
    /// [`finish`](FrameWriter::finish) returns the writer, with its position after the frame.
    ///
    /// # Errors
    ///
    /// The errors of [`create`](Self::create), except [`Exists`](crate::ErrorKind::Exists).
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::{Frame, FrameBuilder, SpecialValue};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let mut to = Cursor::new(b"something before ".to_vec());
    /// let offset = to.get_ref().len() as u64;
    /// to.set_position(offset);
    ///
    /// let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "|u1")?;
    /// let mut writer = FrameBuilder::new(meta).write_to(to)?;
    /// writer.write_uncompressed(0, &[1, 2])?;
    /// writer.write_uncompressed(1, &[3, 4])?;
    /// let frame = Frame::read_at(writer.finish()?, offset)?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to<W: Write + Seek>(self, to: W) -> Result<FrameWriter<W>, Error> {
        let plan = Plan::new(self.0, false)?;
        Ok(FrameWriter::new(Output::contiguous(to, plan.header_len())?, plan))
    }

    /// Makes a contiguous frame in memory, with the given chunks in order. If an HDF5 dataset is compressed with
    /// Blosc2, each HDF5 chunk is such a frame with a single Blosc2 chunk.
    ///
    /// # Errors
    ///
    /// The errors of [`write_to`](Self::write_to), [`FrameWriter::write_chunk`] and [`FrameWriter::finish`].
    ///
    /// ```
    /// use b2nd_frame::{Frame, FrameBuilder};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// # fn compress(_: &[u8]) -> Vec<u8> {
    /// #     [&b"\x05\x01\x07\x01\x04\0\0\0\x02\0\0\0\x24\0\0\0"[..], &[0; 16], &[1, 2, 3, 4]].concat()
    /// # }
    /// let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[4], blockshape: &[2] }, "|u1")?;
    /// let bytes = FrameBuilder::new(meta).to_vec([compress(&[1, 2, 3, 4])])?;
    /// assert_eq!(Frame::parse(&bytes)?.header().frame_len, bytes.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_vec(self, chunks: impl IntoIterator<Item: AsRef<[u8]>>) -> Result<Vec<u8>, Error> {
        let mut writer = self.write_to(Cursor::new(Vec::new()))?;
        for (number, chunk) in (0..).zip(chunks) {
            writer.write_chunk(number, chunk.as_ref())?;
        }
        writer.finish().map(Cursor::into_inner)
    }
}

fn messagepack(name: &str, value: &(impl Serialize + ?Sized)) -> Result<Vec<u8>, Error> {
    rmp_serde::to_vec_named(value).map_err(|error| Error::encode(name, error))
}

/// Serializes a value as `MessagePack`, and makes the chunk of a vlmetalayer from it.
pub(crate) fn vlmetalayer_chunk(name: &str, value: &(impl Serialize + ?Sized)) -> Result<Vec<u8>, Error> {
    let value = messagepack(name, value)?;
    let too_long =
        |len| format!("vlmetalayer `{name}` has {len} bytes, but can have at most {MAX_BLOCKSIZE}");
    stored_chunk(&value).ok_or_else(|| Error::too_large(too_long(value.len())))
}
