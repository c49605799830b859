//! `b2nd convert`: conversion between NumPy files and arrays, and recompression.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use b2nd_frame::{
    ArrayUpdate, Codec, Error, Filter, Frame, FrameBuilder, Metalayer, PackedTensor, Vlmetalayer,
    check_appended_shape, write_new_file,
};
use b2nd_serde::dtype::{Dtype, Field, Kind};
use b2nd_serde::geometry::Dimensions;
use b2nd_serde::{Geometry, Meta, Shapes};
use clap::{Args, ValueHint};
use serde::Serialize;

use super::new_files::{Made, Maker, NewFiles};
use crate::code;
use crate::input::{
    Address, Failure, Inside, Items, Location, Npy, Numbers, Paths, Reader, Selected, Selection, Target,
    pair_or_paths, zeroed,
};
use crate::names::{has_extension, is_named_blosc2};
use crate::output::change::{FROM_ITEMS, exists, of_either, outdated_layers};
use crate::output::items::{Item, npy_header};
use crate::output::mend::with_salvage;
use crate::pool::lock;
use crate::problem::Problem;
use crate::terminal::{Outcome, complain, remark};
use crate::text::{self, byte_count, count, more_counts, short_size};
use crate::waiting::{Wait, while_changing};

/// Convert between NumPy files and arrays, or compress anew
///
/// The extension of TO determines its format: a NumPy file (.npy) or an array (.b2nd). The format of FROM is detected
/// from its content. From .b2nd to .b2nd, the items are compressed anew. Options set the codec, filters, chunks and
/// blocks. Without such an option, the value of FROM is used, but filters that drop bits are left out. Metalayers and
/// vlmetalayers are copied, except indexes of python-blosc2, which belong to FROM. `b2nd rewrite` copies the compressed
/// chunks unchanged instead, and reads old formats.
///
/// A new array is compressed with zstd at level 5 after a shuffle, in chunks of about 4 MiB and blocks of 128 KiB. TO
/// must not exist. Memory is needed for four chunks per thread, whatever the size of the array. With --into, each file
/// has one thread.
///
/// With --append, the array TO must exist. The items of FROM are read into memory and appended to TO along a
/// dimension. The chunk shape of TO does not change, so give --chunks when you make an array that will grow. If the
/// process is killed, TO is the old array or the longer one. Indexes of python-blosc2 in TO become stale; its
/// `rebuild_index` builds them again.
#[derive(Args)]
#[command(
    override_usage = "b2nd convert [OPTIONS] <FROM> <TO>\n       b2nd convert [OPTIONS] --into <DIR> [PATH]...",
    mut_arg("paths", |arg| pair_or_paths(arg, "FROM, a NumPy file or an array, and TO, a new path (with --append, an array)"))
)]
#[command(after_help = "Examples:
  b2nd convert image.npy image.b2nd
  b2nd convert --slice 0,:,: s3://bucket/array.b2nd first.npy
  b2nd convert --codec lz4 --chunks 1,512,512 old.b2nd new.b2nd
  b2nd convert --filters trunc_prec:10,shuffle a.npy a.b2nd
  b2nd convert --append 0 monday.npy week.b2nd
  b2nd convert --into packed/ preprocessed/
  b2nd convert --skip-existing --into packed/ preprocessed/")]
pub(crate) struct Convert {
    #[command(flatten)]
    paths: Paths,
    /// Convert every PATH to a new file of the same name in this folder, which is not searched itself
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    into: Option<PathBuf>,
    /// With --into, write NumPy files; without it, arrays
    #[arg(long, requires = "into")]
    npy: bool,
    /// Skip a PATH whose new file exists, as after an interrupted run. The new file must be whole, and have the shape
    /// and dtype of the converted items; the items are not compared
    #[arg(long)]
    skip_existing: bool,
    /// Append the items to the array TO along this dimension; 0 is the first one
    #[arg(long, value_name = "AXIS", value_parser = axis, value_hint = ValueHint::Other)]
    #[arg(conflicts_with_all = ["into", "skip_existing", "codec", "level", "filters", "chunks", "blocks", "sparse"])]
    append: Option<usize>,
    #[command(flatten)]
    options: Options,
    /// Print a JSON object for each new file or failure, one per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// The options that select a part of the array, and that determine how a new array is compressed.
#[derive(Args)]
struct Options {
    /// Only a part of the array, as in NumPy: ranges and indices such as 0:2,-1,:
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    slice: Option<Selection>,
    /// Codec: zstd, lz4, blosclz or zlib
    #[arg(long, value_parser = codec, value_hint = ValueHint::Other)]
    codec: Option<Codec>,
    /// Compression level, 0 to 9; lz4 gives the same result from 1 on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    level: Option<u8>,
    /// Filters in their order, such as shuffle, bitshuffle or `trunc_prec:10,shuffle`; none for no filter
    #[arg(long, value_delimiter = ',', value_parser = filter, value_hint = ValueHint::Other, hide_short_help = true)]
    filters: Vec<Filter>,
    /// Chunk shape [default: that of FROM, or about 4 MiB]
    #[arg(long, value_name = "ITEMS", value_hint = ValueHint::Other)]
    chunks: Option<Numbers<i32>>,
    /// Block shape [default: that of FROM, or about 128 KiB]
    #[arg(long, value_name = "ITEMS", value_hint = ValueHint::Other)]
    blocks: Option<Numbers<i32>>,
    /// Write a sparse frame: a directory with a file for each chunk
    #[arg(long, hide_short_help = true)]
    sparse: bool,
}

/// Parses the name of a codec.
fn codec(text: &str) -> Result<Codec, String> {
    let codec = (0..=u8::MAX).map(Codec).find(|codec| codec.name() == Some(text));
    codec.ok_or_else(|| "must be zstd, lz4, blosclz or zlib".into())
}

/// Parses the name of a filter, with its parameter after a colon.
fn filter(text: &str) -> Result<Filter, String> {
    let (name, meta) = text.trim().split_once(':').unwrap_or((text.trim(), "0"));
    let id = (0..=u8::MAX).find(|&id| Filter { id, meta: 0 }.name() == Some(name));
    let id = id.ok_or(
        "not a filter; use shuffle, bitshuffle, delta, bytedelta, trunc_prec:BITS, int_trunc:BITS or none",
    )?;
    let meta = meta.parse().ok().filter(|meta| *meta <= i8::MAX.unsigned_abs());
    let meta = meta.ok_or("the parameter must be a number from 0 to 127; python-blosc2 opens no other")?;
    Ok(Filter { id, meta })
}

impl Convert {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, into, npy, skip_existing, append, options, json, wait } = self;
        let files = NewFiles::new(into.is_none(), false, json);
        // With --into, several files are converted at the same time, each by one thread.
        let threads = if into.is_none() { paths.threads() } else { 1 };
        let conversions = Conversions { files: &files, options, npy, skip_existing, append, threads, wait };
        let counts = files.make(&conversions, paths, into.as_deref())?;
        if counts.is_none() {
            complain(&"nothing to convert: no array and no NumPy file found");
            return Ok(ExitCode::FAILURE);
        }
        if (into.is_some() || counts.skipped > 0) && !json {
            let skipped =
                if counts.skipped > 0 { format!(", {} skipped", counts.skipped) } else { String::new() };
            let failures = more_counts(&[(counts.failures, "failure")]);
            remark(&format_args!("{} converted{skipped}{failures}", count(counts.complete, "file")));
        }
        Ok(if counts.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// All conversions of a run, with their common options.
struct Conversions<'f> {
    files: &'f NewFiles,
    options: Options,
    npy: bool,
    skip_existing: bool,
    append: Option<usize>,
    threads: usize,
    wait: Wait,
}

/// The hint for a FROM of another format, such as CSV.
const OTHER_FORMAT: &str = "; FROM must be an array or a NumPy file: load other formats, such as CSV, with NumPy, and `numpy.save` them";

/// The hint for an array without a dtype.
const GIVE_DTYPE: Option<&str> = Some("; `b2nd rewrite --dtype` gives the array one");

/// The items of FROM.
enum Source {
    Npy(Npy),
    Frame(Box<Items>),
}

/// Items that are to be appended to an array.
struct NewItems {
    dtype: String,
    shape: Vec<u64>,
    axis: usize,
}

impl NewItems {
    /// Refuses items that cannot be appended to the array at the path `to`, whose metalayer is `meta`.
    fn fits(&self, meta: &Meta, to: &Path) -> Result<(), Problem> {
        let Self { dtype, shape, axis } = self;
        let Some(wanted) = meta.dtype() else {
            let message = "items can be appended only to an array with a dtype, and this one stores none";
            return Err(Problem { hint: GIVE_DTYPE, ..Problem::new(code::UNSUPPORTED, message) }.at(to));
        };
        if !have_same_bytes(dtype, wanted) {
            let message = format!(
                "items of dtype {dtype} cannot be appended to an array of dtype {wanted}; convert the items to {wanted} first, as with NumPy's `astype`"
            );
            return Err(Problem::new(code::INVALID_INPUT, message));
        }
        Ok(check_appended_shape(meta, *axis, shape)?)
    }
}

/// Parses the dimension of --append.
fn axis(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write the number of the dimension before FROM, such as --append 0".into())
}

/// Whether equal items of two dtypes have the same bytes. Padding fields, NumPy's `align` flag and the type
/// `numpy.record` are ignored, because a NumPy file does not record them. The offsets of the fields are compared
/// instead.
fn have_same_bytes(a: &str, b: &str) -> bool {
    let parsed = || a.parse().ok().zip(b.parse().ok());
    a == b || parsed().is_some_and(|(a, b)| have_same_layout(&a, &b))
}

fn have_same_layout(a: &Dtype, b: &Dtype) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::Struct(a_fields), Kind::Struct(b_fields)) => {
            let is_same = |(a, b): (&Field, &Field)| {
                a.name() == b.name() && a.offset() == b.offset() && have_same_layout(a.dtype(), b.dtype())
            };
            let (a_fields, b_fields) =
                (without_padding(a_fields.fields()), without_padding(b_fields.fields()));
            a.item_size() == b.item_size()
                && a_fields.len() == b_fields.len()
                && a_fields.into_iter().zip(b_fields).all(is_same)
        }
        (Kind::Subarray(a), Kind::Subarray(b)) => {
            a.shape() == b.shape() && have_same_layout(a.base(), b.base())
        }
        _ => a == b,
    }
}

/// The fields of a struct, without padding. A void field whose name is its number, such as `f1`, counts as padding:
/// python-blosc2 stores the padding of an aligned struct as such fields. In a NumPy file, padding has no name.
fn without_padding(fields: &[Field]) -> Vec<&Field> {
    let is_padding = |number: usize, field: &Field| {
        matches!(field.dtype().kind(), Kind::Void) && field.name() == format!("f{number}")
    };
    let fields = fields.iter().enumerate();
    fields.filter(|&(number, field)| !is_padding(number, field)).map(|(_, field)| field).collect()
}

/// A new file, as a line of text or a JSON object on standard output.
#[derive(Serialize)]
struct Converted<'c> {
    #[serde(flatten)]
    from: Location<'c>,
    to: &'c str,
    /// The size of the converted items in bytes.
    nbytes: u64,
    /// The length of the written frame in bytes; `None` for a NumPy file. For a sparse frame, the chunk files are not
    /// included.
    frame_len: Option<u64>,
}

impl Display for Converted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, nbytes, frame_len } = self;
        write!(f, "{from} -> {}: {}", Location::new(Path::new(to)), short_size(*nbytes))?;
        match frame_len {
            Some(frame_len) => writeln!(f, " in {}", short_size(*frame_len)),
            None => writeln!(f),
        }
    }
}

impl Maker for Conversions<'_> {
    fn make(&self, from: &Address, to: &Path, is_named: bool) -> Result<Made, Failure> {
        let made = match self.append {
            Some(axis) => self.append(axis, from, to),
            None => while_changing(|| self.convert(from, to, is_named)),
        };
        made.map_err(|problem| {
            let mut failure = with_salvage(of_either(from, to, problem));
            if self.skip_existing
                && failure.error.code == code::EXISTS
                && !self.is_made(from, to).unwrap_or(false)
            {
                failure.error.hint = Some(", and it is not a whole array of the shape and dtype of FROM");
            }
            failure
        })
    }

    fn skips(&self, target: &Target, to: &Path) -> bool {
        let from = Address { path: target.path.clone(), inside: target.inside.clone() };
        // If one of the files cannot be read, the input is not skipped. The conversion then fails, because TO exists.
        self.skip_existing && to.exists() && self.is_made(&from, to).unwrap_or(false)
    }

    fn name(&self, name: PathBuf) -> PathBuf {
        name.with_extension(if self.npy { "npy" } else { "b2nd" })
    }
}

impl Conversions<'_> {
    fn convert(&self, from: &Address, to: &Path, is_named: bool) -> Result<Made, Problem> {
        let is_npy = has_extension(to, "npy");
        if !is_npy && !has_extension(to, "b2nd") {
            let message = "unknown extension: TO must end with .b2nd (an array) or .npy (a NumPy file)";
            return Err(Problem::new(code::INVALID_INPUT, message).at(to));
        }
        // If TO exists, the conversion fails before any item is read. A dangling link at TO counts as an existing file.
        if to.symlink_metadata().is_ok() {
            return Err(exists());
        }
        let (mut source, selected) = self.open(from)?;
        if let Source::Frame(items) = &source
            && !is_named
            && !items.is_described
        {
            let message = "a super-chunk that does not describe an array; name it to convert its items";
            return Err(Problem::new(code::UNSUPPORTED, message));
        }
        let note = |what: &String| remark(&format_args!("{}: {what}", from.location()));
        source.notes(is_npy)?.iter().for_each(note);
        let nbytes = source.nbytes(&selected);
        let written = match source {
            Source::Npy(_) if is_npy => {
                return Err(Problem::new(
                    code::INVALID_INPUT,
                    "already a NumPy file; TO must end with .b2nd",
                ));
            }
            Source::Frame(mut items) if is_npy => {
                let (item, shape) = Self::npy_item(&items, &selected)?;
                item.note.iter().for_each(note);
                let header = npy_header(&item.dtype, &shape);
                self.files.write(|| self.write_npy(&header, &mut items, &selected, to))
            }
            mut source => {
                let builder = self.builder(&mut source, &selected)?;
                self.files.write(|| self.write_frame(builder, source, &selected, to))
            }
        }?;
        Ok(self.made(from, to, nbytes, written))
    }

    /// Whether TO is a whole array with the shape and dtype that the converted items have.
    fn is_made(&self, from: &Address, to: &Path) -> Result<bool, Problem> {
        let made = Source::open(&Address { path: to.into(), inside: Inside::Whole })?;
        // Standard input can be read only once, so its shape and dtype are not compared here.
        if from.inside == Inside::Stdin {
            return Ok(true);
        }
        let (source, selected) = self.open(from)?;
        let (mut shape, mut dtype) = (selected.shape().collect::<Vec<_>>(), source.dtype());
        if let (Source::Frame(items), Source::Npy(_)) = (&source, &made) {
            let (item, npy_shape) = Self::npy_item(items, &selected)?;
            shape = npy_shape.into_iter().map(|items| items as u64).collect();
            dtype = Ok(item.dtype.type_string().to_string());
        }
        Ok(made.shape() == shape && have_same_bytes(&made.dtype()?, &dtype?))
    }

    /// Appends the items of FROM to the existing array TO.
    fn append(&self, axis: usize, from: &Address, to: &Path) -> Result<Made, Problem> {
        if !to.exists() {
            let message =
                "no such array: --append needs an existing one; without it, `b2nd convert` makes a new one";
            return Err(Problem::new(code::INVALID_INPUT, message).at(to));
        }
        let of_to = |error: Error| Problem::from(error).at(to);
        // FROM is read before TO is locked, because both can be the same file.
        let (new, items) = while_changing(|| {
            let (mut source, selected) = self.open(from)?;
            let new = NewItems { dtype: source.dtype()?, shape: selected.shape().collect(), axis };
            // This early check avoids reading items that do not fit.
            if let Some(array) = Frame::open(to).map_err(of_to)?.array().map_err(of_to)? {
                new.fits(array.meta(), to)?;
            }
            let mut items = source.buffer(source.nbytes(&selected))?;
            source.read_into(&selected.ranges, &mut items)?;
            Ok::<_, Problem>((new, items))
        })?;
        let append = || {
            let mut array = ArrayUpdate::open(to).map_err(of_to)?;
            new.fits(array.meta(), to)?;
            let trailer = Frame::open(to).and_then(|frame| frame.trailer()).map_err(of_to)?;
            array.append(axis, &items).and_then(|()| array.flush()).map_err(of_to)?;
            // Nothing may fail after the commit, because a user who sees a failure would append the items again.
            Ok::<_, Problem>((outdated_layers(&trailer), array.frame().header().frame_len))
        };
        let (layers, frame_len) = self.wait.change(to, || self.files.write(append))?;
        for (name, change) in layers {
            remark(&format_args!("{}: vlmetalayer {name} is {change}", Location::new(to)));
        }
        Ok(self.made(from, to, items.len() as u64, Some(frame_len)))
    }

    fn open(&self, from: &Address) -> Result<(Source, Selected), Problem> {
        let source = Source::open(from)?;
        let selection = self.options.slice.clone().unwrap_or_default();
        let selected =
            selection.apply(&source.shape()).map_err(|why| Problem::new(code::INVALID_INPUT, why))?;
        if selected.has_steps() {
            let message = "a slice with steps is not converted; `b2nd cat --npy --slice` writes it";
            return Err(Problem::new(code::UNSUPPORTED, message));
        }
        Ok((source, selected))
    }

    fn made(&self, from: &Address, to: &Path, nbytes: u64, frame_len: Option<u64>) -> Made {
        let converted = Converted { from: from.location(), to: &to.to_string_lossy(), nbytes, frame_len };
        self.files.made(&converted, true)
    }

    /// The dtype of the items in the NumPy file, and the shape in the header of the file. The returned `Item` has a
    /// note for the user if its dtype differs from the dtype of the array.
    fn npy_item(items: &Items, selected: &Selected) -> Result<(Item, Vec<usize>), Problem> {
        let shape: Result<Vec<usize>, _> = selected.shape().map(usize::try_from).collect();
        let mut shape =
            shape.map_err(|_| Problem::new(code::TOO_LARGE, "the shape is too large for this machine"))?;
        let item = Item::from_items(items).for_npy(&mut shape);
        Ok((item, shape))
    }

    /// Writes a NumPy file under a temporary name, and renames it when it is complete.
    fn write_npy(
        &self,
        header: &[u8],
        items: &mut Items,
        selected: &Selected,
        to: &Path,
    ) -> Result<Option<u64>, Problem> {
        let failed = |error: io::Error| Problem::from(error).at(to);
        write_new_file(to, |mut file| {
            file.write_all(header).map_err(failed)?;
            items.read_pieces(&selected.ranges, &selected.steps, &mut |_, bytes| {
                self.files.advance_or_fail(bytes.len())?;
                file.write_all(bytes).map_err(failed)
            })
        })?;
        Ok(None)
    }

    /// Writes a frame, and returns its length.
    fn write_frame(
        &self,
        builder: FrameBuilder,
        source: Source,
        selected: &Selected,
        to: &Path,
    ) -> Result<Option<u64>, Problem> {
        let writer = if self.options.sparse { builder.create_sparse(to) } else { builder.create(to) }?;
        let mut array = writer.into_array_writer()?.threads(self.threads);
        let source = Mutex::new(source);
        let whole: Vec<Range<u64>> = selected.shape().map(|items| 0..items).collect();
        array.write_from(&whole, |part, items| {
            self.files.advance_or_fail(items.len())?;
            lock(&source).read_into(&selected.array_ranges_of_kept(part), items)
        })?;
        Ok(Some(array.finish()?.persist()?.header().frame_len))
    }

    /// The builder of the new frame, with its compression settings, metalayers and vlmetalayers.
    fn builder(&self, source: &mut Source, selected: &Selected) -> Result<FrameBuilder, Problem> {
        let Options { codec, level, filters, .. } = &self.options;
        let mut builder = FrameBuilder::new(self.meta(source, selected)?);
        if let Source::Frame(items) = source {
            let trailer = items.frame().trailer()?;
            let header = items.frame().header();
            // The new frame gets the filters of the old header, except those that drop bits. Some old items may still
            // have the bits that such a filter drops, because a chunk that is stored uncompressed is not filtered. If
            // the filter were applied now, it would change these items.
            let drops_bits =
                |filter: &Filter| [Filter::TRUNC_PREC, Filter::INT_TRUNC].iter().any(|of| of.id == filter.id);
            let filters: Vec<Filter> = header.pipeline().filter(|filter| !drops_bits(filter)).collect();
            builder = builder.codec(header.codec).level(header.level).filters(&filters);
            builder = builder.split_mode(header.split_mode);
            for layer in items.frame().metalayers().iter().filter(|layer| !is_of_array(layer.name())) {
                builder = builder.metalayer_bytes(layer.name(), layer.bytes());
            }
            let is_kept = |layer: &&Vlmetalayer| !layer.is_derived() && !is_of_array(layer.name());
            for layer in trailer.vlmetalayers().iter().filter(is_kept) {
                builder = builder.vlmetalayer_chunk(layer.name(), layer.chunk());
            }
        }
        if let Some(codec) = *codec {
            builder = builder.codec(codec);
        }
        if let Some(level) = *level {
            builder = builder.level(level);
        }
        if !filters.is_empty() {
            let filters: Vec<_> = filters.iter().copied().filter(|&filter| filter != Filter::NONE).collect();
            builder = builder.filters(&filters);
        }
        Ok(builder)
    }

    /// The metalayer of the new array. A chunk or block shape that the user does not give is copied from FROM, or is
    /// the default shape if FROM has none. With --chunks and without --blocks, the block shape is always the
    /// default shape.
    fn meta(&self, source: &Source, selected: &Selected) -> Result<Meta, Problem> {
        let typesize = source.typesize();
        let shape: Vec<u64> = selected.shape().collect();
        let geometry = match source {
            Source::Npy(_) => None,
            Source::Frame(items) => items.geometry(),
        };
        let (chunks, blocks) = geometry.map_or((None, None), |geometry| {
            // With --slice, the new array may be smaller than a chunk of the old array. Then the chunk and block shapes
            // are reduced, in each dimension, to at most the length of the new array.
            let is_part = self.options.slice.is_some();
            let kept = |items: Dimensions| -> Vec<u64> {
                let cut = |(items, whole): (u64, &u64)| {
                    if is_part { items.min((*whole).max(1)) } else { items }
                };
                selected.kept(items.iter().copied()).zip(&shape).map(cut).collect()
            };
            let blocks = Some(kept(geometry.blockshape())).filter(|_| self.options.chunks.is_none());
            (Some(kept(geometry.chunkshape())), blocks)
        });
        let chunks = lengths("--chunks", self.options.chunks.as_ref())?.or(chunks);
        let blocks = lengths("--blocks", self.options.blocks.as_ref())?.or(blocks).unwrap_or_else(|| {
            Geometry::default_blockshape(chunks.as_ref().unwrap_or(&shape), typesize).to_vec()
        });
        let chunks =
            chunks.unwrap_or_else(|| Geometry::default_chunkshape(&shape, &blocks, typesize).to_vec());
        let [chunks, blocks] = [chunks, blocks].map(|items| {
            items.into_iter().map(|items| i32::try_from(items).unwrap_or(i32::MAX)).collect::<Vec<i32>>()
        });
        let shape: Vec<i64> =
            shape.into_iter().map(|items| i64::try_from(items).unwrap_or(i64::MAX)).collect();
        let shapes = Shapes { shape: &shape, chunkshape: &chunks, blockshape: &blocks };
        let invalid = |error: &dyn Display| Problem::new(code::INVALID_INPUT, error.to_string());
        let meta = Meta::new(shapes, &source.dtype()?).map_err(|error| invalid(&error))?;
        let nbytes = meta.geometry().and_then(|geometry| geometry.chunk_nbytes(typesize));
        source.check_chunk(nbytes.map_err(|error| invalid(&error))?)?;
        Ok(meta)
    }
}

/// The numbers of an option that gives a chunk or block shape.
fn lengths(option: &str, given: Option<&Numbers<i32>>) -> Result<Option<Vec<u64>>, Problem> {
    let Some(Numbers(given)) = given else { return Ok(None) };
    let length = |&items: &i32| {
        u64::try_from(items).map_err(|_| {
            let message =
                format!("{option}: {items} is negative; give the number of items along each dimension");
            Problem::new(code::INVALID_INPUT, message)
        })
    };
    given.iter().map(length).collect::<Result<_, _>>().map(Some)
}

/// Whether a metalayer or vlmetalayer with this name describes the array. Such a layer is not copied, because the new
/// file gets its own description.
fn is_of_array(name: &str) -> bool {
    ["b2nd", "caterva", PackedTensor::VLMETALAYER].contains(&name)
}

impl Source {
    fn open(from: &Address) -> Result<Self, Problem> {
        // A folder is not read as a NumPy file: it can only be a sparse frame.
        if from.inside != Inside::Whole || from.path.is_file() {
            let place = from.place("an array or the bytes of a NumPy file")?;
            if let Some(header) = Npy::read(&place)? {
                return Ok(Self::Npy(Npy::new(header, place)?));
            }
            if has_extension(&from.path, "npy") {
                return Err(Problem::new(
                    code::MALFORMED,
                    "not a NumPy file: it does not begin with \\x93NUMPY",
                ));
            }
            if from.inside != Inside::Whole {
                return Self::of_frame(from, from.open_place(place));
            }
        }
        Self::of_frame(from, from.open())
    }

    /// The items of the frame at FROM.
    fn of_frame(from: &Address, frame: Result<Frame<Reader>, Problem>) -> Result<Self, Problem> {
        let frame = frame.map_err(|problem| {
            // A file with a Blosc2 extension does not get the hint `OTHER_FORMAT`, because it is probably a damaged
            // array. An existing hint, such as for a zip file, is kept.
            let is_other = problem.is_not_a_frame() && problem.hint.is_none() && !is_named_blosc2(&from.path);
            if is_other { Problem { hint: Some(OTHER_FORMAT), ..problem } } else { problem }
        });
        Items::new(frame?).map(Box::new).map(Self::Frame)
    }

    fn shape(&self) -> Vec<u64> {
        match self {
            Self::Npy(npy) => npy.shape.clone(),
            Self::Frame(items) => items.shape.clone(),
        }
    }

    fn typesize(&self) -> usize {
        match self {
            Self::Npy(npy) => npy.dtype.item_size(),
            Self::Frame(items) => items.typesize,
        }
    }

    /// The dtype of the items, as the metalayer of a frame stores it. An error if the frame has no valid dtype, or if
    /// the item size of the dtype differs from the item size of the frame.
    fn dtype(&self) -> Result<String, Problem> {
        let items = match self {
            Self::Npy(npy) => return Ok(npy.dtype.type_string().to_string()),
            Self::Frame(items) => items,
        };
        let item = Item::from_items(items);
        match item.note {
            None => Ok(item.dtype.type_string().to_string()),
            Some(_) => Err(Problem {
                hint: GIVE_DTYPE,
                ..Problem::new(code::UNSUPPORTED, "a new array needs a dtype that fits the items")
            }),
        }
    }

    /// The total size of the items of a slice.
    fn nbytes(&self, selected: &Selected) -> u64 {
        selected.shape().fold(self.typesize() as u64, u64::saturating_mul)
    }

    /// Allocates a buffer of `nbytes` bytes. If FROM is a frame, refuses more bytes than its `Items::limit`.
    fn buffer(&self, nbytes: u64) -> Result<Vec<u8>, Problem> {
        let limit = match self {
            Self::Npy(_) => u64::MAX,
            Self::Frame(items) => items.limit,
        };
        let length = usize::try_from(nbytes).ok().filter(|_| nbytes <= limit);
        zeroed(length.ok_or_else(|| {
            let message =
                format!("{} of items are too many to append at once; use --slice", byte_count(nbytes));
            Problem::new(code::TOO_LARGE, message)
        })?)
    }

    /// Notes about the parts of FROM that are not converted.
    fn notes(&mut self, is_npy: bool) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        match self {
            Self::Npy(npy) if npy.rest > 0 => {
                notes.push(format!("the {} bytes after the items are not converted", npy.rest));
            }
            Self::Frame(items) if is_npy => {
                let trailer = items.frame().trailer()?;
                let metalayers = items.frame().metalayers().iter().map(Metalayer::name);
                let names = metalayers.chain(trailer.vlmetalayers().iter().map(Vlmetalayer::name));
                let names: Vec<_> = names.filter(|name| !is_of_array(name)).map(text::clean).collect();
                if !names.is_empty() {
                    notes.push(format!("a NumPy file has no place for metalayers: {}", names.join(", ")));
                }
            }
            Self::Frame(items) => {
                let trailer = items.frame().trailer()?;
                let derived = trailer.vlmetalayers().iter().filter(|layer| layer.is_derived());
                notes.extend(
                    derived.map(|layer| format!("vlmetalayer {} is not copied: {FROM_ITEMS}", layer.name())),
                );
            }
            Self::Npy(_) => {}
        }
        Ok(notes)
    }

    /// If FROM is a frame, refuses a new array whose chunks have more bytes than the `Items::limit` of FROM.
    fn check_chunk(&self, nbytes: usize) -> Result<(), Problem> {
        match self {
            Self::Frame(items) if nbytes as u64 > items.limit => {
                let message = format!(
                    "chunks of {} are too large: the limit for this frame is {}; use --chunks",
                    byte_count(nbytes as u64),
                    byte_count(items.limit)
                );
                Err(Problem::new(code::TOO_LARGE, message))
            }
            _ => Ok(()),
        }
    }

    /// Reads the items of a slice, in C order.
    fn read_into(&mut self, ranges: &[Range<u64>], items: &mut [u8]) -> Result<(), Problem> {
        match self {
            Self::Npy(npy) => npy.read_into(ranges, items),
            Self::Frame(source) => source.read_into(ranges, &vec![1; ranges.len()], items),
        }
    }
}
