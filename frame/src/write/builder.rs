//! What a new frame has besides its chunks.

use core::iter;
use std::io::{Cursor, Seek, Write};
use std::path::Path;

use serde::Serialize;

use crate::Error;
use crate::check::{Rules, wrong_alone};
use crate::format::chunk::{ChunkHeader, MAX_BLOCKSIZE, header_of_stored, typesize_byte};
use crate::format::fields::Field;
use crate::format::flags::{Codec, Filter, SplitMode};
use crate::format::header::{self, Compression, MAX_HEADER_LEN};
use crate::format::index::{MAX_CHUNKS, NewIndex};
use crate::format::marker::Marker;
use crate::format::section::{ARRAY_NAME, ARRAY_NAMES, MAX_NAME_LEN, Section, SectionRules};
use crate::format::trailer::{MAX_TRAILER_LEN, Trailer};
use crate::write::place::Place;
use crate::write::sink::{Contiguous, NewFile, Unfinished};
use crate::write::writer::FrameWriter;
use b2nd_serde::dtype::{self, Dtype};
use b2nd_serde::{Layout, Meta, to_vec};

/// The most vlmetalayers of a frame that C-Blosc2 changes; it reads more.
const MAX_VLMETALAYERS: usize = 16;

const MAX_LEVEL: u8 = 9;

/// Codecs from this number on are those of plugins and of users.
const FIRST_CODEC_OF_PLUGINS: u8 = 32;

/// A new frame: what its header and trailer will have.
///
/// It is made of the array's [`Meta`]. Then [`create`](Self::create), [`create_sparse`](Self::create_sparse) or
/// [`write_to`](Self::write_to) begins to write, and the [`FrameWriter`] takes the chunks; or [`to_vec`](Self::to_vec) makes
/// a small frame in memory. This crate compresses nothing: the chunks come ready from a Blosc2 compressor, or are stored as
/// they are.
///
/// ```
/// use b2nd_frame::{FrameBuilder, Special};
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
/// // Items in the order of the blocks, with the padding of each chunk.
/// let first = [0, 1, 2, 0, 5, 6, 7, 0_i32];
/// let first: Vec<u8> = first.iter().flat_map(|item| item.to_le_bytes()).collect();
/// writer.stored(0, &first)?;
/// writer.repeat(3, &9_i32.to_le_bytes())?;
/// writer.fill(Special::Zeros)?;
/// let mut frame = writer.finish()?;
///
/// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
/// assert_eq!(frame.trailer()?.vlmetalayer("unit").expect("a unit").decode::<String>()?, "kelvin");
/// assert_eq!(frame.count_chunks()?.stored, 2);
/// assert_eq!(frame.check()?, []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What the header says of codec, level and filters is not about the chunks that are written now, each of which has its own.
/// A program that opens the frame and changes it compresses with them. The defaults are those of python-blosc2: zstd at
/// level 5, after a shuffle.
///
/// All numbers are checked where writing begins.
#[derive(Debug)]
#[must_use = "nothing is written without `create`, `write_to` or `to_vec`"]
pub struct FrameBuilder {
    meta: Meta,
    typesize: Option<usize>,
    codec: Codec,
    codec_meta: u8,
    level: u8,
    split_mode: SplitMode,
    filters: Vec<Filter>,
    uses_dictionary: bool,
    metalayers: Vec<Layer>,
    vlmetalayers: Vec<Layer>,
}

/// A name, and the bytes of a metalayer or the chunk of a vlmetalayer, or why there are none.
type Layer = (String, Result<Vec<u8>, Error>);

impl FrameBuilder {
    /// Begins a frame with the array that `meta` describes. Its layout must be [`Layout::B2nd`].
    ///
    /// An array without items can have chunks without items, as C-Blosc2 makes them. But python-blosc2 cannot resize it
    /// then, so better give chunks of at least 1.
    pub fn new(meta: Meta) -> Self {
        Self {
            meta,
            typesize: None,
            codec: Codec(5),
            codec_meta: 0,
            level: 5,
            split_mode: SplitMode::Auto,
            filters: [Filter { id: 1, meta: 0 }].into(),
            uses_dictionary: false,
            metalayers: Vec::new(),
            vlmetalayers: Vec::new(),
        }
    }

    /// Sets the size of an item in bytes. It is needed only if this crate does not know the dtype, for example because it has
    /// another dtype format than NumPy's.
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
        self.typesize = Some(typesize);
        self
    }

    /// Sets the codec for further chunks.
    ///
    /// ```
    /// use b2nd_frame::{Codec, Frame, FrameBuilder, SplitMode};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[0], chunkshape: &[4], blockshape: &[4] }, "<f4")?;
    /// // Chunks that are appended later are compressed with lz4 at level 9, and their blocks not split.
    /// let builder = FrameBuilder::new(meta).codec(Codec(1)).level(9).split_mode(SplitMode::Never);
    /// let bytes = builder.to_vec([] as [&[u8]; 0])?;
    /// let frame = Frame::parse(&bytes)?;
    /// let header = frame.header();
    /// assert_eq!((header.codec.to_string().as_str(), header.level), ("lz4", 9));
    /// assert_eq!(header.split_mode, SplitMode::Never);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Sets the parameter of the codec, which is 0 without this.
    pub fn codec_meta(mut self, codec_meta: u8) -> Self {
        self.codec_meta = codec_meta;
        self
    }

    /// Sets the compression level for further chunks, 0 to 9.
    pub fn level(mut self, level: u8) -> Self {
        self.level = level;
        self
    }

    /// Sets how the blocks of further chunks are split. Without this, it is [`SplitMode::Auto`].
    pub fn split_mode(mut self, split_mode: SplitMode) -> Self {
        self.split_mode = split_mode;
        self
    }

    /// Sets the filters for further chunks, at most 6, in the order in which they are applied.
    ///
    /// ```
    /// use b2nd_frame::{Filter, Frame, FrameBuilder};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[0], chunkshape: &[4], blockshape: &[2] }, "<f4")?;
    /// // trunc_prec with 10 bits, then shuffle.
    /// let filters = [Filter { id: 4, meta: 10 }, Filter { id: 1, meta: 0 }];
    /// let bytes = FrameBuilder::new(meta).filters(&filters).to_vec([] as [&[u8]; 0])?;
    /// assert!(Frame::parse(&bytes)?.header().pipeline().eq(filters));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filters(mut self, filters: &[Filter]) -> Self {
        self.filters = filters.into();
        self
    }

    /// Sets whether further chunks are compressed with a dictionary.
    pub fn uses_dictionary(mut self, uses_dictionary: bool) -> Self {
        self.uses_dictionary = uses_dictionary;
        self
    }

    /// Adds a metalayer: a value as `MessagePack`, in which a struct is a map. There can be 15 besides that of the array. Its
    /// length cannot change later.
    pub fn metalayer(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.metalayers.push((name.into(), messagepack(name, value)));
        self
    }

    /// Adds a metalayer with these bytes, for example those of another frame.
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
        self.metalayers.push((name.into(), Ok(bytes.into())));
        self
    }

    /// Adds a vlmetalayer: a value as `MessagePack`, in which a struct is a map, in a chunk that is not compressed. There can
    /// be 16.
    pub fn vlmetalayer(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        let chunk = messagepack(name, value).and_then(|value| {
            let header = header_of_stored(false, 1, value.len(), value.len(), value.len());
            let header =
                header.filter(|_| value.len() <= MAX_BLOCKSIZE).ok_or_else(|| too_long(name, value.len()))?;
            Ok([&header[..], &value].concat())
        });
        self.vlmetalayers.push((name.into(), chunk));
        self
    }

    /// Adds a vlmetalayer whose value is in this chunk, compressed or not, for example that of another frame.
    ///
    /// ```
    /// use b2nd_frame::{Frame, FrameBuilder};
    ///
    /// let mut old = Frame::open("tests/data/vlmetalayers.b2nd")?;
    /// let meta = old.array()?.expect("an array").meta().expect("a present layout").clone();
    /// let mut builder = FrameBuilder::new(meta);
    /// for layer in old.trailer()?.vlmetalayers() {
    ///     builder = builder.vlmetalayer_chunk(layer.name(), layer.chunk());
    /// }
    /// # assert!(format!("{builder:?}").contains("note"));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn vlmetalayer_chunk(mut self, name: &str, chunk: &[u8]) -> Self {
        let length = chunk.len();
        let header = ChunkHeader::parse(chunk).filter(|header| header.cbytes == length);
        let why = header.map_or_else(
            || Some(format!("has {length} bytes, which are not a Blosc2 chunk")),
            |header| wrong_alone(&header, chunk),
        );
        let chunk = match why {
            None => Ok(chunk.into()),
            Some(why) => Err(Error::refused(format_args!("the chunk of vlmetalayer `{name}` {why}"))),
        };
        self.vlmetalayers.push((name.into(), chunk));
        self
    }

    /// Begins to write a contiguous frame to a path, at which nothing is yet.
    ///
    /// It is written under another name in the same folder (`.b2nd-XXXXXX.tmp`), and gets its own from
    /// [`finish`](FrameWriter::finish). So nobody ever sees a part of it. If the writer is dropped, nothing is left; if the
    /// process is killed, at most a file with the other name.
    ///
    /// # Errors
    ///
    /// - [`Refused`] if the frame cannot be made: a size is too large for the format, the dtype is not known, or a metalayer
    ///   is not possible. The message has the numbers.
    /// - [`Encode`] if a value cannot be written as a metalayer.
    /// - [`Exists`] if there is something at the path.
    /// - [`Io`] if the file cannot be created.
    ///
    /// [`Refused`]: crate::ErrorKind::Refused
    /// [`Encode`]: crate::ErrorKind::Encode
    /// [`Exists`]: crate::ErrorKind::Exists
    /// [`Io`]: crate::ErrorKind::Io
    pub fn create(self, path: impl AsRef<Path>) -> Result<FrameWriter<NewFile>, Error> {
        self.create_at(path.as_ref(), false)
    }

    /// Begins to write a sparse frame: a directory with a file for each stored chunk.
    ///
    /// The directory has another name until it is finished. If the writer is dropped, nothing is left; if the process is
    /// killed in [`finish`](FrameWriter::finish), an empty directory can be left at the path. The chunk files are not
    /// synced, because for each one that takes as long as to write it: after a failure of power,
    /// [`check`](crate::check()) tells whether they are whole.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    ///
    /// ```
    /// use b2nd_frame::{FrameBuilder, Special, is_sparse_frame};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("new.b2nd");
    /// let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "|u1")?;
    /// let mut writer = FrameBuilder::new(meta).create_sparse(&path)?;
    /// writer.stored(1, &[3, 4])?;
    /// assert!(!path.exists());
    /// writer.fill(Special::Zeros)?;
    /// writer.finish()?;
    /// assert!(is_sparse_frame(&path) && path.join("00000000.chunk").exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_sparse(self, path: impl AsRef<Path>) -> Result<FrameWriter<NewFile>, Error> {
        self.create_at(path.as_ref(), true)
    }

    fn create_at(self, path: &Path, is_sparse: bool) -> Result<FrameWriter<NewFile>, Error> {
        let plan = self.plan(is_sparse)?;
        let new = Place::free(path, is_sparse)?.begin(is_sparse, true)?;
        Ok(FrameWriter::new(Unfinished::begin(new, plan.header_len())?, plan))
    }

    /// Begins to write a contiguous frame into anything that can be written and has positions, from its position on.
    ///
    /// The header is written last, so the writer must be able to go back: a file that was opened to append cannot. Before
    /// that, there are zeros in its place. [`finish`](FrameWriter::finish) returns the
    /// writer, whose position is after the frame then.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create), except that nothing can exist already.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::{Frame, FrameBuilder, Special};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let mut to = Cursor::new(b"something before ".to_vec());
    /// let offset = to.get_ref().len() as u64;
    /// to.set_position(offset);
    ///
    /// let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "|u1")?;
    /// let mut writer = FrameBuilder::new(meta).write_to(to)?;
    /// writer.stored(0, &[1, 2])?;
    /// writer.stored(1, &[3, 4])?;
    /// let frame = Frame::read_at(writer.finish()?, offset)?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to<W: Write + Seek>(self, to: W) -> Result<FrameWriter<W>, Error> {
        let plan = self.plan(false)?;
        let to = Contiguous::begin(to, plan.header_len()).map_err(Error::writing)?;
        Ok(FrameWriter::new(to, plan))
    }

    /// Makes a contiguous frame in memory, with these chunks in their order. A chunk of HDF5 is such a frame, of one chunk.
    ///
    /// # Errors
    ///
    /// As [`write_to`](Self::write_to), [`FrameWriter::chunk`] and [`FrameWriter::finish`].
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
            writer.chunk(number, chunk.as_ref())?;
        }
        writer.finish().map(Cursor::into_inner)
    }

    /// Checks everything, and makes all bytes that do not depend on the chunks.
    fn plan(self, is_sparse: bool) -> Result<Plan, Error> {
        if self.meta.layout() != Layout::B2nd {
            let layout = self.meta.layout();
            return Err(Error::refused(format_args!("layout {layout} cannot be written; only b2nd can")));
        }
        let dtype = self.meta.parse_dtype();
        let sizes = self.sizes(self.item_size(&dtype)?)?;
        let can_be_nan = match dtype {
            Ok(Some(dtype)) => ["<f4", "<f8"].contains(&&*dtype.type_string().to_string()),
            _ => matches!(sizes.typesize, 4 | 8),
        };
        let Sizes { typesize, blocksize, chunksize, nbytes, nchunks } = sizes;
        let compression = self.compression()?;
        let metalayers = layers(self.metalayers, "metalayer", &ARRAY_NAMES)?;
        let vlmetalayers = layers(self.vlmetalayers, "vlmetalayer", &[])?;
        at_most(
            usize::from(SectionRules::HEADER.max_count),
            1 + metalayers.len(),
            "metalayers, with that of the array",
        )?;
        at_most(MAX_VLMETALAYERS, vlmetalayers.len(), "vlmetalayers")?;
        let array = to_vec(&self.meta).map_err(|error| Error::encode(ARRAY_NAME, error))?;

        let mut header = header::Builder::new();
        header.set_compression(chunksize == 0, is_sparse, &compression);
        for (field, value) in
            [(Field::Typesize, typesize), (Field::Blocksize, blocksize), (Field::Chunksize, chunksize)]
        {
            header.set(field, &value.to_be_bytes());
        }
        header.set(Field::Nbytes, &nbytes.to_be_bytes());
        // Nothing was compressed. Readers bring their own.
        header.set(Field::CompressionThreads, &1_i16.to_be_bytes());
        header.set(Field::DecompressionThreads, &1_i16.to_be_bytes());
        if !vlmetalayers.is_empty() {
            header.set(Field::HasVlmetalayers, &[Marker::True.to_u8()]);
        }
        let array = iter::once((ARRAY_NAME.as_bytes(), &array[..]));
        let section = Section::build(
            &SectionRules::HEADER,
            header.len(),
            &array.chain(refs(&metalayers)).collect::<Vec<_>>(),
        );
        let section = section.filter(|section| header.len() + section.len() <= MAX_HEADER_LEN);
        let section = section.ok_or_else(|| too_large("header", MAX_HEADER_LEN))?;
        let trailer = Trailer::build(&refs(&vlmetalayers).collect::<Vec<_>>(), <_>::default());
        let trailer = trailer.filter(|trailer| trailer.len() <= MAX_TRAILER_LEN);
        let trailer = trailer.ok_or_else(|| too_large("trailer", MAX_TRAILER_LEN))?;
        let index = NewIndex::new(nchunks).ok_or_else(|| {
            Error::refused(format_args!(
                "the array has {nchunks} chunks, but a frame can have at most {MAX_CHUNKS}"
            ))
        })?;
        Ok(Plan { header, section, trailer, index, sizes, is_sparse, can_be_nan })
    }

    /// The sizes that follow from the size of an item.
    fn sizes(&self, typesize: usize) -> Result<Sizes, Error> {
        let geometry = self.meta.geometry().map_err(Error::refused)?;
        let chunksize = geometry.chunk_nbytes(typesize).map_err(Error::refused)?;
        let nchunks = geometry.nchunks();
        let items = geometry.block_nitems();
        let blocksize = usize::try_from(items).ok().and_then(|items| items.checked_mul(typesize));
        let blocksize = blocksize.filter(|&size| size <= MAX_BLOCKSIZE).ok_or_else(|| {
            Error::refused(format_args!(
                "blockshape: a block has {items} items of {typesize} bytes, but can have at most {MAX_BLOCKSIZE} bytes"
            ))
        })?;
        let nbytes = i64::try_from(u128::from(nchunks) * chunksize as u128);
        let nbytes = nbytes.map_err(|_| {
            Error::refused(format_args!(
                "{nchunks} chunks of {chunksize} bytes have more than the format can count"
            ))
        })?;
        let int32 = |size: usize| i32::try_from(size).map_err(|_| too_large("item", MAX_BLOCKSIZE));
        Ok(Sizes {
            typesize: int32(typesize)?,
            blocksize: int32(blocksize)?,
            chunksize: int32(chunksize)?,
            nbytes,
            nchunks,
        })
    }

    /// The size of an item, by the dtype if that is known.
    fn item_size(&self, dtype: &Result<Option<Dtype>, dtype::Error>) -> Result<usize, Error> {
        let size = match (dtype, self.typesize) {
            (Ok(Some(dtype)), given) => {
                let size = dtype.item_size();
                if let Some(given) = given.filter(|&given| given != size) {
                    return Err(Error::refused(format_args!(
                        "typesize is {given}, but items of dtype `{dtype}` have {size} bytes"
                    )));
                }
                size
            }
            (_, Some(given)) => given,
            (Err(error), None) => {
                return Err(Error::refused(format_args!("dtype: {error}; give the typesize if it is right")));
            }
            (Ok(None), None) => return Err(Error::refused("there is neither a dtype nor a typesize")),
        };
        if (1..=MAX_BLOCKSIZE).contains(&size) {
            return Ok(size);
        }
        Err(Error::refused(format_args!("an item has {size} bytes, but must have 1 to {MAX_BLOCKSIZE}")))
    }

    fn compression(&self) -> Result<Compression, Error> {
        let Self { codec, codec_meta, level, split_mode, uses_dictionary, .. } = *self;
        if level > MAX_LEVEL {
            return Err(Error::refused(format_args!("level is {level}, but must be 0 to {MAX_LEVEL}")));
        }
        if codec.0 < FIRST_CODEC_OF_PLUGINS {
            match codec.name() {
                None => return Err(Error::refused(format_args!("{codec} is unknown"))),
                Some("lz4" | "lz4hc" | "zstd") => {}
                Some(_) if !uses_dictionary => {}
                Some(name) => {
                    return Err(Error::refused(format_args!(
                        "{name} has no dictionaries; lz4, lz4hc and zstd have"
                    )));
                }
            }
        }
        let mut filters = [Filter::default(); 6];
        at_most(filters.len(), self.filters.len(), "filters")?;
        if let Some(unknown) = self.filters.iter().find(|filter| filter.is_unknown()) {
            return Err(Error::refused(format_args!("{unknown} is unknown")));
        }
        // C-Blosc2 has its one filter in the last place, too.
        filters.iter_mut().rev().zip(self.filters.iter().rev()).for_each(|(slot, &filter)| *slot = filter);
        Ok(Compression { codec, codec_meta, level, split_mode, filters, uses_dictionary })
    }
}

fn messagepack(name: &str, value: &(impl Serialize + ?Sized)) -> Result<Vec<u8>, Error> {
    rmp_serde::to_vec_named(value).map_err(|error| Error::encode(name, error))
}

/// Checks the names of metalayers, and that all have bytes.
fn layers(layers: Vec<Layer>, what: &str, taken: &[&str]) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut checked: Vec<(String, Vec<u8>)> = Vec::with_capacity(layers.len());
    for (name, bytes) in layers {
        let len = name.len();
        if len > MAX_NAME_LEN {
            return Err(Error::refused(format_args!(
                "the name of a {what} can have at most {MAX_NAME_LEN} bytes, but `{name}` has {len}"
            )));
        }
        if name.contains('\0') {
            return Err(Error::refused(format_args!(
                "the name {name:?} of a {what} has a NUL, at which it would end"
            )));
        }
        if taken.contains(&&*name) {
            return Err(Error::refused(format_args!(
                "{what} `{name}` is that of the array, which the frame has already"
            )));
        }
        if checked.iter().any(|(other, _)| *other == name) {
            return Err(Error::refused(format_args!("there are two {what}s `{name}`")));
        }
        checked.push((name, bytes?));
    }
    Ok(checked)
}

fn refs(layers: &[(String, Vec<u8>)]) -> impl Iterator<Item = (&[u8], &[u8])> {
    layers.iter().map(|(name, bytes)| (name.as_bytes(), &bytes[..]))
}

fn at_most(most: usize, found: usize, what: &str) -> Result<(), Error> {
    if found <= most {
        return Ok(());
    }
    Err(Error::refused(format_args!("there are {found} {what}, but a frame can have at most {most}")))
}

fn too_long(name: &str, len: usize) -> Error {
    Error::refused(format_args!("vlmetalayer `{name}` has {len} bytes, but can have at most {MAX_BLOCKSIZE}"))
}

fn too_large(what: &str, most: usize) -> Error {
    Error::refused(format_args!(
        "the {what} would have more than {most} bytes, or an offset that does not fit"
    ))
}

/// The sizes of an array's parts in bytes, and the number of its chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) typesize: i32,
    pub(crate) blocksize: i32,
    pub(crate) chunksize: i32,
    pub(crate) nbytes: i64,
    pub(crate) nchunks: u64,
}

/// All of a new frame that does not depend on its chunks.
pub(crate) struct Plan {
    pub(crate) header: header::Builder,
    pub(crate) section: Vec<u8>,
    pub(crate) trailer: Vec<u8>,
    pub(crate) index: NewIndex,
    pub(crate) sizes: Sizes,
    pub(crate) is_sparse: bool,
    /// Whether a chunk of NaN is one to every reader.
    pub(crate) can_be_nan: bool,
}

impl Plan {
    pub(crate) fn header_len(&self) -> u64 {
        (self.header.len() + self.section.len()) as u64
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules {
            typesize: Some(typesize_byte(self.sizes.typesize)),
            blocksize: usize::try_from(self.sizes.blocksize).ok(),
            may_be_short: false,
        }
    }
}
