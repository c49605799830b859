//! The salvage of a damaged frame.

use core::ops::ControlFlow;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::time::Instant;

use b2nd_chunk::SpecialValue;

use crate::check::Check;
use crate::error::Error;
use crate::header::array_rules::can_be_nan;
use crate::header::frame::Frame;
use crate::progress::Progress;
use crate::read::lock::share_sidecar;
use crate::read::open::read_frame_at;
use crate::salvage::damaged_file::DamagedFile;
use crate::salvage::header_repair::ArrayEntries;
use crate::salvage::salvage_report::{Notes, SalvageReport};
use crate::salvage::saved_frame::{plan, save};
use crate::salvage::survey::Survey;
use crate::source::ReadAt;
use crate::write::destination::Destination;
use crate::write::file_attributes::{OldFrame, keep};
use crate::write::frame_writer::FrameWriter;
use crate::write::output::Output;

/// A salvage makes a new frame from the undamaged parts of a damaged frame.
///
/// The damaged frame is never changed. It must hold an array, and its format must not be older than C-Blosc2 2.0.0-rc1.
///
/// | damaged part | treatment |
/// |---|---|
/// | header | Markers at known places are restored, and sizes are computed from the rest of the frame. |
/// | array's metalayer | Its markers are restored. Entries that cannot be read or are wrong must be [given](Self::shape). |
/// | chunk index | If the index is not where the header says it is, the whole file is searched for it. Each entry that points to a valid chunk is used. If only one entry is wrong, and only one chunk of the file has no entry, this chunk is saved, and reported as [unverified](SalvageReport::unverified). If more entries are wrong, their chunks are lost, unless the order of the chunks is [assumed](Self::assume_order). If no index is found, the numbers of the chunks are not known: see [`assume_order`](Self::assume_order). |
/// | chunks | Each chunk is decompressed to verify it, and copied unchanged. A wrong size in its header is restored if the chunk is then valid. A wrong filter in its header is restored if the chunk is then valid and has the filters of the other chunks. Restored chunks are reported as [unverified](SalvageReport::unverified). Uncompressed chunks in a contiguous frame are reported too if the chunk index or other chunks are damaged. The dictionary flag is cleared if the data is not compressed. A chunk with a page of zeros in its compressed bytes is reported as unverified. Any other damaged chunk is lost. A chunk that ends in a page of zeros is lost too, if zeros follow it. The items of lost chunks get the [fill value](Self::fill). |
/// | trailer | Vlmetalayers that can be read are kept. A value that exceeds the expansion limit is kept too, and [reported](SalvageReport::unverified_metalayers). Indexes that python-blosc2 has computed from the items are kept only if no item can have changed. Otherwise, the report lists them as [outdated](SalvageReport::outdated). |
///
/// A chunk that this crate cannot decompress, because its codec or filter is a plugin, is copied, and
/// [reported](SalvageReport::unverified). But if neither the header of the frame nor another chunk has this filter, the
/// filter counts as wrong, and is restored as described above. Without the feature `decompress`, every compressed chunk
/// is copied and reported.
///
/// If chunks are lost or unverified, the new frame records this: the vlmetalayer `b2nd_salvage` lists these chunks, and a
/// [`check`](crate::check()) warns of them ([`Salvaged`](crate::FindingCode::Salvaged)).
/// `ArrayUpdate` keeps the list up to date; other programs do not.
///
/// A salvage needs as much memory for one chunk as a check with
/// [`CheckDepth::ChunkData`](crate::CheckDepth::ChunkData). It also needs memory for four copies of the header and the
/// trailer, 64 bytes for each chunk of the array, and a text for each range of lost or restored chunks. If the chunk
/// index is lost, a salvage needs 200 bytes for each chunk in the file, including chunks that were replaced later. It
/// also needs up to 256 MiB for the list of holes that `ArrayUpdate` left in the frame.
///
/// ```
/// use b2nd_frame::{Frame, Salvage};
///
/// # let folder = tempfile::tempdir()?;
/// # let (damaged, new) = (folder.path().join("damaged.b2nd"), folder.path().join("new.b2nd"));
/// // Damages a size in the header, and the flags of chunk 1, which begins at byte 229.
/// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// file[61] = 7;
/// file[229 + 2] = 0x95;
/// std::fs::write(&damaged, file)?;
///
/// let (frame, report) = Salvage::open(&damaged)?.apply(&new)?;
/// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
/// assert_eq!(report.restored[0].to_string(), "chunksize was 7, and is 32");
/// assert_eq!((report.lost[0].first, report.lost_count()), (1, 1));
/// assert_eq!(report.lost[0].why, "it has block 0 at its byte 3, but it must begin at byte 48 or later, and before byte 64");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is written without `apply`"]
pub struct Salvage<'p, R = File> {
    file: DamagedFile<'p, R>,
    given: ArrayEntries,
    fill: Fill,
    assumes_order: bool,
}

/// The value of the items of lost chunks.
// Not a `SpecialValue`, because two of its variants cannot be used here: `Value` needs an item, and for
// `Uninitialized`, python-blosc2 returns the content of uninitialized memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fill {
    /// Zero.
    #[default]
    Zeros,
    /// NaN. Allowed only for the dtypes `<f4` and `<f8`, for which all readers use the same bytes for NaN.
    Nan,
}

impl Fill {
    pub(super) fn special(self) -> SpecialValue {
        match self {
            Self::Zeros => SpecialValue::Zeros,
            Self::Nan => SpecialValue::Nan,
        }
    }
}

impl Salvage<'_> {
    /// Opens the damaged frame in a file, or in the directory of a sparse frame, for a salvage. If the directory lacks
    /// the file `chunks.b2frame`, the shapes and the dtype must be given, and the order of the chunks must be
    /// [assumed].
    ///
    /// [assumed]: Salvage::assume_order
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        DamagedFile::open(path.as_ref()).map(Self::new)
    }
}

impl<'p, R: ReadAt> Salvage<'p, R> {
    fn new(file: DamagedFile<'p, R>) -> Self {
        Self { file, given: ArrayEntries::default(), fill: Fill::default(), assumes_order: false }
    }

    /// Opens the damaged frame at an offset of a file, such as a member of a zip file, for a salvage. The chunks of a
    /// sparse frame are found only if the frame is opened by its path, with [`open`](Salvage::open).
    ///
    /// If the offset is above 0, the file may hold several frames. So the frame ends at the latest where the next frame
    /// in the file begins. Otherwise the chunk index of the next frame could be mistaken for the index of this frame.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) if the file cannot be read.
    pub fn read_at(reader: R, offset: u64) -> Result<Self, Error> {
        let file = DamagedFile::new(reader, offset)?;
        Ok(Self::new(if offset == 0 { file } else { file.up_to_next_frame()? }))
    }

    /// Sets the shape of the array. The given shape replaces the shape in the array's metalayer.
    ///
    /// If the metalayer cannot be read at all, [`chunkshape`](Self::chunkshape), [`blockshape`](Self::blockshape) and
    /// [`dtype`](Self::dtype) are needed too. With the given shape, the array must have as many chunks as the chunk
    /// index has entries. After an interrupted resize, give the old shape or the new shape, whichever needs this number
    /// of chunks.
    pub fn shape(mut self, shape: &[i64]) -> Self {
        self.given.shape = Some(shape.into());
        self
    }

    /// Sets the chunk shape. The given chunk shape replaces the chunk shape in the array's metalayer.
    pub fn chunkshape(mut self, chunkshape: &[i32]) -> Self {
        self.given.chunkshape = Some(chunkshape.into());
        self
    }

    /// Sets the block shape. The given block shape replaces the block shape in the array's metalayer.
    pub fn blockshape(mut self, blockshape: &[i32]) -> Self {
        self.given.blockshape = Some(blockshape.into());
        self
    }

    /// Sets the dtype. The given dtype replaces the dtype in the array's metalayer.
    pub fn dtype(mut self, dtype: impl Into<String>) -> Self {
        self.given.dtype = Some(dtype.into());
        self
    }

    /// Sets the value of the items of lost chunks. If an earlier salvage has lost chunks of this frame, all lost chunks
    /// must have the same value, because the frame can record only one fill value.
    pub fn fill(mut self, fill: Fill) -> Self {
        self.fill = fill;
        self
    }

    /// If there is no chunk index, uses the n-th chunk of the file as chunk n of the array.
    ///
    /// If the chunk index has wrong entries, the chunks of these entries can be saved too, and are reported as
    /// [unverified](SalvageReport::unverified). For this, the file must have as many chunks as the index has entries
    /// that are not special, and all right entries must be in the order of the file.
    ///
    /// At first, writers store the chunks in the order of their numbers. But a special chunk takes no bytes in the
    /// file, so this method gives wrong numbers to all chunks after a special chunk. Replaced and inserted chunks get
    /// wrong numbers too, because they are at the end of the file. Therefore the order is not assumed by default.
    /// Without this call, a frame with several chunks and without a chunk index causes the error
    /// [`OrderUnknown`](crate::ErrorKind::OrderUnknown).
    ///
    /// Each damaged range of bytes between two chunks counts as at least one lost chunk, and a long range as several.
    /// If a range has damaged chunk headers that can still be recognized, the range counts as at least one lost chunk
    /// for each of these headers. If the sum of these minimums is higher than the number of missing chunks, no range
    /// counts as a lost chunk, and the missing chunks are taken to be the last chunks of the array.
    ///
    /// If the chunk index is lost, chunks count as verified only if each chunk of the array was found, or can be
    /// recognized in a damaged range, and the file has no other chunks. Otherwise, any chunk number may be wrong, and
    /// all chunks are [unverified](SalvageReport::unverified). Even a verified chunk has a wrong number if the chunks
    /// were not stored in the order of their numbers.
    ///
    /// In a sparse frame, the number of a chunk file is used as the number of the chunk, and a missing file counts as a
    /// lost chunk. If any file number is not below the number of chunks, the file numbers are ignored, and the n-th
    /// file is chunk n. In both cases, the number of a chunk can be wrong. C-Blosc2 numbers the files in the order in
    /// which it first stores the chunks, and a chunk of zeros has no file until other items are written to it.
    pub fn assume_order(mut self) -> Self {
        self.assumes_order = true;
        self
    }

    /// Sets a progress callback. The callback receives the total size of the chunks saved so far, and can stop the
    /// salvage, as with [`Rewrite::on_progress`](crate::Rewrite::on_progress).
    pub fn on_progress(mut self, report: impl FnMut(u64) -> ControlFlow<()> + Send + 'p) -> Self {
        self.file.progress = Progress::new(report);
        self
    }

    /// Finds the array and the places of its chunks. The chunks are not verified, and nothing is written.
    ///
    /// # Errors
    ///
    /// The errors of [`preview`](Self::preview), except those of decompressing chunks and the error for a frame whose
    /// chunks are all lost.
    ///
    /// ```
    /// use b2nd_frame::{ErrorKind, Salvage};
    ///
    /// let mut cut = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// cut.truncate(400);
    /// let salvage = || Salvage::read_at(&cut, 0);
    /// assert_eq!(salvage()?.locate().unwrap_err().kind(), ErrorKind::OrderUnknown);
    /// salvage()?.assume_order().locate()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn locate(mut self) -> Result<(), Error> {
        let survey = self.survey(&mut Notes::default())?;
        plan(&survey).map(drop)
    }

    /// Reads and decompresses all chunks, and reports what [`apply`](Self::apply) would save. Nothing is written.
    ///
    /// # Errors
    ///
    /// The errors of [`apply`](Self::apply), except those about the lock and about writing.
    pub fn preview(mut self) -> Result<SalvageReport, Error> {
        let mut notes = Notes::default();
        let survey = self.survey(&mut notes)?;
        let plan = plan(&survey)?;
        // `apply` uses the same writer, so both methods report the same. Here, the output is discarded.
        let output = Output::contiguous(io::empty(), plan.header_len())?;
        let mut writer = FrameWriter::new(output, plan);
        self.save(&survey, &mut writer, &mut notes)?;
        Ok(notes.report(Frame::parse(&writer.header()?)?))
    }

    /// Writes the new frame to a path that must not exist yet, and opens it. The new frame is contiguous or sparse, as
    /// the damaged frame is.
    ///
    /// The new frame is written under a temporary name and checked. It is renamed to its final name only after the
    /// check. If nothing can be saved, nothing is written.
    ///
    /// # Errors
    ///
    /// - [`ArrayUnknown`] if the array's metalayer cannot be read or is wrong, and the right entries were not given.
    /// - [`OrderUnknown`] if there is no chunk index, and the order was not assumed.
    /// - [`InvalidInput`] if the dtype or the fill value does not fit the array, or if an earlier salvage has lost chunks with
    ///   another fill value.
    /// - [`Unsupported`] if nothing can be saved, the frame has no array, or the items are Python objects (`|O`).
    /// - [`TooLarge`] if the new frame would be larger than the format or the limits of this crate allow.
    /// - [`Malformed`] if the file is not a frame or ends within the header, or if the check of the new frame finds an
    ///   error.
    /// - [`Exists`] if the path exists.
    /// - [`Locked`] if another process holds the lock of the damaged frame.
    /// - [`Changing`] if the damaged frame was changed during the salvage.
    /// - [`Stopped`] if the callback of [`on_progress`](Self::on_progress) stopped the salvage.
    /// - [`Io`] if a file cannot be read or written.
    ///
    /// [`ArrayUnknown`]: crate::ErrorKind::ArrayUnknown
    /// [`OrderUnknown`]: crate::ErrorKind::OrderUnknown
    /// [`InvalidInput`]: crate::ErrorKind::InvalidInput
    /// [`Unsupported`]: crate::ErrorKind::Unsupported
    /// [`TooLarge`]: crate::ErrorKind::TooLarge
    /// [`Malformed`]: crate::ErrorKind::Malformed
    /// [`Exists`]: crate::ErrorKind::Exists
    /// [`Locked`]: crate::ErrorKind::Locked
    /// [`Changing`]: crate::ErrorKind::Changing
    /// [`Stopped`]: crate::ErrorKind::Stopped
    /// [`Io`]: crate::ErrorKind::Io
    pub fn apply(mut self, to: impl AsRef<Path>) -> Result<(Frame, SalvageReport), Error> {
        let is_sparse = self.file.directory().is_some();
        // The new path is checked before anything else. Otherwise, a long salvage could fail only at its end, because
        // the path exists.
        let destination = Destination::free(to.as_ref(), is_sparse)?;
        // The deadline for the lock is now, so the lock is tried once, without waiting.
        let now = Some(Instant::now());
        let path = self.file.path.clone();
        let _lock = path.as_deref().map(|path| share_sidecar(path, is_sparse, now)).transpose()?;
        let mut notes = Notes::default();
        let survey = self.survey(&mut notes)?;
        let plan = plan(&survey)?;
        let new = destination.begin(path.is_none())?;
        let mut writer = FrameWriter::new(Output::begin(new, plan.header_len())?, plan);
        self.save(&survey, &mut writer, &mut notes)?;
        let progress = &mut self.file.progress;
        let new = writer.finish_unless(|| progress.advance(0))?;
        if let Some(source) = path {
            keep(&new, &OldFrame { source, is_in_place: false, is_sparse }, false);
        }
        let progress = &mut self.file.progress;
        let check = Check::default().on_progress(|_| match progress.advance(0) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        if let Some(wrong) = new.first_error(check, read_frame_at(new.file(), 0)?.map_reader(drop))? {
            return Err(Error::malformed(wrong.in_new_frame()));
        }
        self.file.progress.advance(0)?;
        let frame = new.persist()?;
        let after = Frame::parse(frame.header_bytes())?;
        Ok((frame, notes.report(after)))
    }

    fn survey(&mut self, notes: &mut Notes) -> Result<Survey, Error> {
        let survey = Survey::new(&mut self.file, &self.given, self.assumes_order, notes);
        let survey = self.file.unless_changed(&[], survey)?;
        if self.fill == Fill::Nan && !survey.header.dtype.as_ref().is_some_and(can_be_nan) {
            return Err(Error::invalid_input("only chunks of the dtypes <f4 and <f8 can be filled with NaN"));
        }
        Ok(survey)
    }

    /// Reads all chunks, and writes those that can be saved.
    fn save<W: Write + Seek>(
        &mut self,
        survey: &Survey,
        writer: &mut FrameWriter<W>,
        notes: &mut Notes,
    ) -> Result<(), Error> {
        let saved = save(&mut self.file, survey, self.fill.special(), writer, notes);
        // A program that takes no lock can have changed the frame while it was read.
        self.file.unless_changed(&survey.header.prefix, saved)
    }
}
