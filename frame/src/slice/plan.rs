//! The plan of a slice, for programs that read byte ranges themselves.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use crate::chunk::expansion::zeroed;
use crate::chunk_file;
use crate::error::Error;
use crate::slice::selection::Selection;
use crate::slice::shared_slice::SharedSlice;
use crate::slice::slice_reader::Slice;
use crate::slice::threads::in_threads;
use crate::slice::waves::{Answer, WaveLimits, Waves};
use crate::source::BYTES_PER_ROUND_TRIP;

/// A plan for reading a slice. It lists the byte ranges to read, and returns the items after it has received the bytes
/// of all ranges. It reads nothing itself, so a program can read the ranges in its own way: with async code, from
/// object stores, or in WebAssembly. [`Slice::plan`] returns a plan.
///
/// The plan allocates memory for all items. If a slice is too large for memory, divide it with [`Slice::pieces`]. The
/// ranges come in waves: first the chunk index, then the first bytes of the chunks, then their blocks. A program reads
/// all [`ranges`](Self::ranges) of a wave, in parallel if it can, and passes their bytes to [`take`](Self::take). The
/// ranges of a wave add up to at most 64 MiB, unless a single block, or a chunk that must be read whole, is longer.
///
/// A plan reads some needless bytes if that saves a wave. If a contiguous frame has at most 512 KiB after its header,
/// all these bytes are read at once. The chunks of a wave are read whole if the blocks that the slice does not need
/// have together at most 512 KiB, plus 64 KiB for each chunk. Two ranges with a gap of at most 64 KiB between them are
/// joined into one.
///
/// The bytes of all ranges must come from the same version of the file, because the plan cannot notice a change of the
/// file. The array also keeps pages of the index and starts of chunks for later slices and plans. So send the `ETag` of
/// an object on a server with each request, in the header `If-Match`. If the `ETag` has changed, open a new array.
///
/// ```
/// use std::io::{Read, Seek, SeekFrom};
/// use b2nd_frame::{Array, Frame};
///
/// let mut file = std::fs::File::open("tests/data/int32_3x5.b2nd")?;
/// let mut first = vec![0; 200];
/// file.read_exact(&mut first)?;
/// let array = Array::new(Frame::parse(&first)?)?;
///
/// let mut plan = array.slice(&[1..3, 2..5]).plan()?;
/// while !plan.ranges().is_empty() {
///     let mut wave = Vec::new();
///     for range in plan.ranges() {
///         let mut bytes = vec![0; (range.end - range.start) as usize];
///         file.seek(SeekFrom::Start(range.start))?;
///         file.read_exact(&mut bytes)?;
///         wave.push(bytes);
///     }
///     plan.take(wave)?;
/// }
/// let items = plan.finish()?;
/// assert_eq!(items, [7_i32, 8, 9, 12, 13, 14].map(i32::to_le_bytes).concat());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is read before `take` has the bytes of the ranges"]
pub struct SlicePlan {
    selection: Arc<Selection>,
    waves: Waves,
    /// The offset of the frame in its file.
    offset: u64,
    threads: usize,
    /// The ranges of the current wave.
    ranges: Vec<Range<u64>>,
    items: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Done,
    Failed,
}

impl<R> Slice<'_, R> {
    /// Plans the byte ranges of the slice. Nothing is read, so a frame that was [parsed](crate::Frame::parse) from
    /// bytes is enough.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read) that are found without reading a chunk. Also
    /// [`Changing`](crate::ErrorKind::Changing) if an earlier slice of the array has failed with this error.
    ///
    /// ```
    /// use b2nd_frame::{Array, Frame};
    ///
    /// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// let array = Array::new(Frame::parse(&file)?)?;
    /// let plan = array.slice(&[0..3, 0..5]).plan()?;
    /// // This frame is short, so all bytes after its header come first. In a longer frame, this is the chunk index.
    /// assert_eq!(plan.ranges(), [165..520]);
    ///
    /// let error = array.slice(&[0..3, 4..6]).plan().unwrap_err();
    /// assert_eq!(error.to_string(), "slice[1] stops at 6, but shape[1] is 5");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan(self) -> Result<SlicePlan, Error> {
        self.plan_with(WaveLimits::remote(BYTES_PER_ROUND_TRIP))
    }

    fn plan_with(self, limits: WaveLimits) -> Result<SlicePlan, Error> {
        self.array.shared.check_unchanged()?;
        let selection = self.selection()?;
        selection.check_forward()?;
        let mut plan = SlicePlan {
            waves: Waves::new(Arc::clone(&selection), limits),
            offset: self.array.frame().offset(),
            threads: self.threads,
            ranges: Vec::new(),
            items: zeroed(selection.nbytes)?,
            state: State::Reading,
            selection,
        };
        plan.advance(Vec::new())?;
        Ok(plan)
    }
}

impl SlicePlan {
    /// The byte ranges of the current wave, in the file of the frame. The list is empty when no more bytes are needed,
    /// and after an error of [`take`](Self::take) other than `InvalidInput`. For a sparse frame, a range can be in a
    /// chunk file: see [`chunk_file`](Self::chunk_file).
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// The name of the chunk file that contains a range of the current wave. `number` is the index of the range in
    /// [`ranges`](Self::ranges). The result is `None` if the range is in the file with the frame's header. In a
    /// contiguous frame, all ranges are in that file.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/sparse.b2nd")?;
    /// let index = std::fs::read("tests/data/sparse.b2nd/chunks.b2frame")?;
    /// let mut plan = array.slice(&[0..6, 0..8]).plan()?;
    /// assert_eq!(plan.chunk_file(0), None);
    /// let range = plan.ranges()[0].clone();
    /// plan.take([&index[range.start as usize..range.end as usize]])?;
    /// assert_eq!(plan.chunk_file(0).as_deref(), Some("00000000.chunk"));
    /// assert_eq!(plan.chunk_file(1).as_deref(), Some("00000001.chunk"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn chunk_file(&self, number: usize) -> Option<String> {
        self.waves.requests().get(number)?.file.map(chunk_file::name)
    }

    /// Takes the bytes of all ranges of the current wave, in the order of [`ranges`](Self::ranges), and decompresses
    /// the blocks in these bytes. For each range, pass exactly as many bytes as the range has. If a chunk file ends
    /// before the end of a range, pass the bytes up to the end of the file. If the chunk file is missing, pass no bytes
    /// for the range.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the number of ranges or of bytes is wrong, or if the plan
    /// has no wave left. The plan is then unchanged. Also the errors of [`Slice::read`](crate::Slice::read), except
    /// those of reading a file. After an error other than `InvalidInput`, [`ranges`](Self::ranges) is empty, and the
    /// plan cannot be continued.
    pub fn take(&mut self, wave: impl IntoIterator<Item: Into<Vec<u8>>>) -> Result<(), Error> {
        if self.state != State::Reading {
            return Err(self.out_of_order());
        }
        let wave: Vec<Vec<u8>> = wave.into_iter().map(Into::into).collect();
        if wave.len() != self.ranges.len() {
            let (found, ranges) = (wave.len(), self.ranges.len());
            return Err(Error::invalid_input(format_args!("the wave has {ranges} byte ranges, not {found}")));
        }
        for (number, (bytes, range)) in wave.iter().zip(&self.ranges).enumerate() {
            let (found, length) = (bytes.len() as u64, range.end - range.start);
            let is_cut = found < length && self.chunk_file(number).is_some();
            if found != length && !is_cut {
                return Err(Error::invalid_input(format_args!(
                    "byte range {number} of the wave has {length} bytes, not {found}"
                )));
            }
        }
        let mut requests = self.waves.requests().iter().zip(&wave);
        if let Some((request, _)) = requests
            .find(|(request, bytes)| request.file.is_some() && request.range.start == 0 && bytes.is_empty())
        {
            let error = self.waves.missing(request.file);
            self.ranges.clear();
            self.state = State::Failed;
            return Err(error);
        }
        self.advance(wave)
    }

    /// The items in C order, as [`Slice::read`](crate::Slice::read) returns them.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the plan still needs ranges, or after an error of
    /// [`take`](Self::take).
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        if self.state == State::Done { Ok(self.items) } else { Err(self.out_of_order()) }
    }

    fn out_of_order(&self) -> Error {
        Error::invalid_input(match self.state {
            State::Reading => {
                format!("byte ranges of the slice are left, {} in this wave", self.ranges.len())
            }
            State::Done => "the slice has no more byte ranges".into(),
            State::Failed => "the slice could not be read: an earlier call has failed".into(),
        })
    }

    fn advance(&mut self, wave: Vec<Vec<u8>>) -> Result<(), Error> {
        let Self { selection, waves, threads, items, .. } = self;
        let target = SharedSlice::new(items, selection.array.typesize, true, *threads);
        let mut has_more = false;
        let result = in_threads(*threads, selection, &target, |receive| {
            has_more = waves.advance(wave.into_iter().map(Answer::from).collect(), receive)?;
            Ok(())
        });
        self.ranges.clear();
        self.state = match &result {
            Ok(()) if has_more => State::Reading,
            Ok(()) => State::Done,
            Err(_) => State::Failed,
        };
        if self.state == State::Reading {
            let requests = self.waves.requests().iter();
            self.ranges.extend(requests.map(|request| {
                let offset = if request.file.is_none() { self.offset } else { 0 };
                request.range.start.saturating_add(offset)..request.range.end.saturating_add(offset)
            }));
        }
        result
    }
}

impl fmt::Debug for SlicePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlicePlan")
            .field("ranges", &self.ranges)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;
    use std::path::Path;

    use b2nd_serde::{Meta, Shapes};

    use super::*;
    use crate::header::frame::Frame;
    use crate::slice::array::Array;
    use crate::slice::waves::FIRST_READ;
    use crate::write::frame_builder::FrameBuilder;

    fn followed(mut plan: SlicePlan, file: &[u8]) -> Vec<u8> {
        while !plan.ranges().is_empty() {
            let bytes = |range: &Range<u64>| {
                let [start, end] = [range.start, range.end].map(|byte| usize::try_from(byte).unwrap());
                file[start..end].to_vec()
            };
            let wave: Vec<_> = plan.ranges().iter().map(bytes).collect();
            plan.take(wave).unwrap();
        }
        plan.finish().unwrap()
    }

    /// The test uses smaller limits than real programs, because with the real limits a small file needs few waves.
    #[test]
    fn waves_of_any_size_give_the_same_items() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let mut count = 0;
        for folder in [data.clone(), data.join("geometry"), data.join("linear"), data.join("peers")] {
            // The published package lacks some folders. A missing folder is skipped.
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let Ok(file) = fs::read(entry.unwrap().path()) else { continue };
                let Ok(frame) = Frame::read_at(&file, 0) else { continue };
                let Ok(array) = Array::of_opened(frame) else { continue };
                let Ok(items) = array.whole().read() else { continue };
                for (wave, gap, spare) in
                    [(1, 0, 0), (200, 8, 0), (200, 8, 16), (200, 0, 1 << 20), (5000, 100, 800)]
                {
                    let limits = WaveLimits { wave, gap, spare };
                    // `array` kept its index and the starts of its chunks when it was read above. `new` has kept
                    // nothing yet.
                    let new = Array::of_opened(Frame::read_at(&file, 0).unwrap()).unwrap();
                    for array in [&array, &new] {
                        let plan = array.whole().threads(1 + count % 2).plan_with(limits).unwrap();
                        assert!(followed(plan, &file) == items, "waves of {wave} bytes");
                    }
                }
                count += 1;
            }
        }
        // The repository has more of these files than the published package, which lacks some folders.
        let least = if data.join("geometry").is_dir() { 50 } else { 5 };
        assert!(count > least, "{count}");
    }

    /// The number of bytes of each wave.
    fn waves(array: &Array<&Vec<u8>>, range: Range<u64>) -> Vec<u64> {
        let mut plan = array.slice(&[range]).plan().unwrap();
        let mut waves = Vec::new();
        while !plan.ranges().is_empty() {
            waves.push(plan.ranges().iter().map(|range| range.end - range.start).sum());
            let bytes = |range: &Range<u64>| {
                let [start, end] = [range.start, range.end].map(|byte| usize::try_from(byte).unwrap());
                array.frame().reader()[start..end].to_vec()
            };
            plan.take(plan.ranges().iter().map(bytes).collect::<Vec<_>>()).unwrap();
        }
        waves
    }

    #[test]
    fn plan_reads_needless_bytes_if_that_saves_a_wave() {
        // Makes a frame with uncompressed chunks of 10 blocks each.
        let file = |chunks: u64, chunk: usize| {
            let (chunksize, block) = (i32::try_from(chunk).unwrap(), i32::try_from(chunk / 10).unwrap());
            let shape = i64::try_from(chunks * chunk as u64).unwrap();
            let shapes = Shapes { shape: &[shape], chunkshape: &[chunksize], blockshape: &[block] };
            let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
            let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
            for number in 0..chunks {
                writer.write_uncompressed(number, &vec![7; chunk]).unwrap();
            }
            writer.finish().unwrap().into_inner()
        };
        let open = |file| Array::new(Frame::read_at(file, 0).unwrap()).unwrap();
        // A short frame is read in one wave.
        let short = file(5, 100_000);
        assert_eq!(waves(&open(&short), 5..6).len(), 1);
        // A chunk with 180000 needless bytes is read whole, and so are two such chunks. A chunk with 900000 needless
        // bytes is not read whole.
        let long = file(10, 200_000);
        assert_eq!(waves(&open(&long), 5..6)[1..], [200_032]);
        assert_eq!(waves(&open(&long), 199_990..200_010)[1..], [400_064]);
        let large = file(4, 1_000_000);
        assert_eq!(waves(&open(&large), 5..6)[1..], [FIRST_READ, 100_000]);
        assert_eq!(waves(&open(&large), 0..500_000)[1..], [1_000_032]);
        // The needless bytes of several chunks count together, so two chunks with 540000 needless bytes each are not
        // read whole.
        assert_eq!(waves(&open(&long), 200_000..200_001)[1..], [200_032]);
        let tall = file(2, 600_000);
        assert_eq!(waves(&open(&tall), 599_999..600_001)[1..], [2 * FIRST_READ, 120_032]);
    }

    #[test]
    fn a_wave_is_taken_as_a_whole_or_not_at_all() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/int32_3x5.b2nd");
        let file = fs::read(path).unwrap();
        let array = Array::new(Frame::parse(&file).unwrap()).unwrap();
        let mut plan = array.whole().plan().unwrap();
        let range = plan.ranges()[0].clone();
        let [start, end] = [range.start, range.end].map(|byte| usize::try_from(byte).unwrap());
        let index = &file[start..end];
        let mut refused = |wave: Vec<&[u8]>| plan.take(wave).unwrap_err().to_string();
        assert_eq!(refused(Vec::new()), "the wave has 1 byte ranges, not 0");
        assert_eq!(refused(vec![&file]), "byte range 0 of the wave has 355 bytes, not 520");
        assert_eq!(refused(vec![&index[1..]]), "byte range 0 of the wave has 355 bytes, not 354");
        plan.take([index]).unwrap();
        let error = array.whole().plan().unwrap().finish().unwrap_err();
        assert_eq!(error.to_string(), "byte ranges of the slice are left, 1 in this wave");
        assert!(plan.take([vec![0; 1]]).is_err());
        assert_eq!(followed(plan, &file), array.whole().plan().map(|plan| followed(plan, &file)).unwrap());
    }
}
