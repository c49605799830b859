//! The byte ranges that a slice needs, in waves: the chunk index, the first bytes of the chunks, their blocks. The
//! bytes of a wave determine the next wave. This module reads nothing itself: the caller passes in the bytes.

use core::ops::Range;
use std::collections::VecDeque;
use std::sync::Arc;

use b2nd_chunk::{CheckedHeader, ChunkHeader};

use crate::chunk::chunk_rules::{missing, not_a_chunk, not_decompressed, rule, unread, wrong, wrong_place};
use crate::chunk::entry::{ChunkEntry, ChunkPlace, index_start};
use crate::chunk::special_item::one_item;
use crate::code::FindingCode;
use crate::error::Error;
use crate::file_version::{StampHash, has_changed};
use crate::header::frame_header::cut_short;
use crate::index::index_reader::Index;
use crate::index::index_rules::about;
use crate::read::frame_state::ChunkFileState;
use crate::slice::block_groups::{extent, groups, needs_whole, start_len};
use crate::slice::chunk_limit::ChunkLimit;
use crate::slice::copy_task::{CopyTask, ReceiveTask, StoredBlock, TaskData, misfit};
use crate::slice::index_pages::IndexPages;
use crate::slice::selected_chunk::SelectedChunk;
use crate::slice::selection::Selection;
use crate::slice::shared_array::{ChunkStart, SharedArray};
use crate::slice::window::Window;
use crate::source::ReadAt;

/// The number of bytes of the first read of the chunk index, and of the first read of each chunk. The first read
/// usually covers the chunk header and the table of blocks, and often a whole short index or a whole small chunk.
// A longer read would read needless bytes for a slice of a few items. A shorter read would often miss a part of the
// table.
pub(super) const FIRST_READ: u64 = 1 << 14;

/// The memory for planning a read: `READ_WEIGHT` bytes, and `BLOCK_WEIGHT` bytes for each block. If a read has fewer
/// bytes than this memory, the memory counts toward the limit of the wave instead. Otherwise, a small file could make
/// us plan millions of reads and blocks in one wave.
const READ_WEIGHT: u64 = 256;
const BLOCK_WEIGHT: u64 = 64;

/// The limits of a wave.
#[derive(Clone, Copy)]
pub(super) struct WaveLimits {
    /// The maximum number of bytes of a wave. A single range can be longer.
    pub(super) wave: u64,
    /// The longest gap between two ranges that are read as one. Reading this number of needless bytes takes about as
    /// long as another request.
    pub(super) gap: u64,
    /// The number of needless bytes that take about as long to read as another wave. A slice reads up to this number of
    /// needless bytes to save a wave. If `spare` is 0, the lengths of chunks are not estimated before their headers are
    /// read. Then the first read of a chunk has at most `FIRST_READ` bytes.
    pub(super) spare: u64,
}

impl WaveLimits {
    /// The limits for files. Waves are short, so that threads can soon decompress a wave while the next wave is read.
    pub(super) const FILE: Self = Self { wave: 1 << 20, gap: 1 << 14, spare: 0 };

    /// The limits for a source that could transfer `spare` bytes during a round trip. The requests of a wave run in
    /// parallel, so one more request in a wave takes less time than one more wave. That is why `gap` is smaller than
    /// `spare`.
    pub(super) const fn remote(spare: u64) -> Self {
        let wave = 1 << 26;
        let spare = if spare < wave { spare } else { wave };
        Self { wave, gap: spare / 8, spare }
    }

    /// The limits for a source.
    pub(super) fn of(source: &impl ReadAt) -> Self {
        match source.bytes_per_round_trip() {
            0 => Self::FILE,
            spare => Self::remote(spare),
        }
    }
}

/// A byte range to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The number of the chunk file; `None` for the frame itself.
    pub(super) file: Option<u64>,
    /// The byte range in the frame, or in the chunk file.
    pub(super) range: Range<u64>,
}

/// The bytes of a request. They may be fewer than requested if the file ends early.
pub(super) struct Answer {
    pub(super) bytes: Arc<Vec<u8>>,
    /// The version of the chunk file; `None` for bytes of the frame, or if the version is not known.
    pub(super) version: Option<StampHash>,
}

impl From<Vec<u8>> for Answer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), version: None }
    }
}

/// The waves of a slice.
pub(super) struct Waves {
    selection: Arc<Selection>,
    limits: WaveLimits,
    chunk_limit: ChunkLimit,
    /// The pages of the index with the entries of the next chunks. If `limits.spare` is not 0, the length of a chunk is
    /// estimated from these entries before its header is read, because a chunk usually ends where the next chunk
    /// begins.
    index_pages: IndexPages,
    /// All bytes of the frame after its header, if they were read together with the index.
    frame_bytes: Option<Arc<Vec<u8>>>,
    /// The part number of the next chunk (see [`Selection::chunks_from`]).
    next: usize,
    /// Chunks whose headers are known. The slice still needs more bytes of each of them.
    open_chunks: VecDeque<OpenChunk>,
    /// The reads that the current wave covers.
    planned: Vec<PlannedRead>,
    requests: Vec<Request>,
    chunk_file: Option<ChunkFileState>,
}

/// A stored chunk with items of the slice.
#[derive(Clone, Copy)]
struct StoredChunk {
    entry: ChunkEntry,
    /// The part number of the chunk (see [`Selection::chunks_from`]).
    part: usize,
    /// The version of the chunk file when the first bytes of the chunk were read, if it is known.
    version: Option<StampHash>,
}

impl StoredChunk {
    /// Fails if the chunk file was written since the first bytes of the chunk were read.
    fn check_version(&self, now: Option<StampHash>) -> Result<(), Error> {
        if has_changed(self.version, now) { Err(Error::changing(None)) } else { Ok(()) }
    }
}

/// A chunk whose header is known.
struct OpenChunk {
    chunk: StoredChunk,
    header: CheckedHeader,
    next: NextRead,
}

/// The next read of a chunk.
enum NextRead {
    /// The first bytes of the chunk. The number is the number of bytes to read.
    Start(usize),
    /// The blocks of the chunk, which are not grouped yet. The bytes are the start of the chunk: the header, and the
    /// table of blocks if there is one.
    Blocks(Arc<[u8]>),
    Groups(VecDeque<Vec<StoredBlock>>),
}

/// A byte range and its purpose.
struct PlannedRead {
    purpose: Purpose,
    file: Option<u64>,
    range: Range<u64>,
    /// The index in `requests` of the request that covers the range.
    request: usize,
}

enum Purpose {
    /// All bytes of the frame after its header.
    Frame,
    Index,
    /// The first bytes of a chunk, and its header if the header was read before.
    Start(StoredChunk, Option<CheckedHeader>),
    Blocks(StoredChunk, CheckedHeader, Vec<StoredBlock>),
}

impl Waves {
    pub(super) fn new(selection: Arc<Selection>, limits: WaveLimits) -> Self {
        Self {
            limits,
            chunk_limit: ChunkLimit::new(selection.array.header.frame_len),
            index_pages: IndexPages::default(),
            frame_bytes: None,
            next: 0,
            open_chunks: VecDeque::new(),
            planned: Vec::new(),
            requests: Vec::new(),
            chunk_file: None,
            selection,
        }
    }

    fn array(&self) -> &SharedArray {
        &self.selection.array
    }

    /// The byte ranges of the current wave, sorted and without overlap.
    pub(super) fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The chunk file whose bytes were received last, or the missing chunk file.
    pub(super) fn chunk_file(&self) -> Option<&ChunkFileState> {
        self.chunk_file.as_ref()
    }

    /// Takes the bytes of the current wave, passes the tasks for these bytes to `receive`, and plans the next wave.
    /// Returns whether there is another wave. `answers` has an answer to each request of the current wave, in order; in
    /// the first call, it is empty.
    pub(super) fn advance(
        &mut self,
        answers: Vec<Answer>,
        receive: &mut ReceiveTask<'_>,
    ) -> Result<bool, Error> {
        if self.selection.nbytes == 0 {
            return Ok(false);
        }
        let requests = std::mem::take(&mut self.requests);
        for planned in std::mem::take(&mut self.planned) {
            let number = planned.request;
            // Without this error, items whose bytes are missing would be zeros.
            let (Some(answer), Some(request)) = (answers.get(number), requests.get(number)) else {
                return Err(Error::invalid_input(format_args!(
                    "the wave has {} byte ranges, not {}",
                    requests.len(),
                    answers.len()
                )));
            };
            self.take(planned, answer, request.range.start, receive)?;
        }
        // Each task keeps a reference to the bytes that it needs. All other bytes are freed here.
        drop(answers);
        self.request_more(receive)?;
        while let Some(read) = self.frame_bytes.clone().filter(|_| !self.planned.is_empty()) {
            let (start, answer) =
                (self.array().header.header_len as u64, Answer { bytes: read, version: None });
            for planned in std::mem::take(&mut self.planned) {
                self.take(planned, &answer, start, receive)?;
            }
            self.request_more(receive)?;
        }
        self.join();
        Ok(!self.requests.is_empty())
    }

    /// Takes the bytes of a planned read. These bytes are a part of an answer, which begins at offset `start` of the
    /// frame or chunk file.
    fn take(
        &mut self,
        planned: PlannedRead,
        Answer { bytes: read, version }: &Answer,
        start: u64,
        receive: &mut ReceiveTask<'_>,
    ) -> Result<(), Error> {
        let PlannedRead { purpose, range, file, request: _ } = planned;
        if let Some(number) = file {
            self.chunk_file = Some(ChunkFileState { number, version: *version });
        }
        let end = start.saturating_add(read.len() as u64);
        if file.is_none() && end < range.end {
            let frame_len = self.array().header.frame_len;
            return Err(Error::malformed(cut_short("", frame_len, end.min(frame_len))));
        }
        let within = |byte: u64| usize::try_from(byte.checked_sub(start)?).ok();
        let window =
            |byte| Window { read: Arc::clone(read), at: within(byte).unwrap_or(usize::MAX), from: 0 };
        let bytes = window(range.start);
        match purpose {
            Purpose::Frame => {
                self.frame_bytes = Some(Arc::clone(read));
                // The array keeps a copy of the bytes from the start of the index on, so that it does not keep the
                // whole frame in memory.
                let index = window(index_start(&self.array().header)).rest().to_vec();
                self.array().set_index(Window { read: Arc::new(index), at: 0, from: 0 })
            }
            Purpose::Index => self.index_pages.take(&self.selection.array, range.start, bytes),
            Purpose::Start(chunk, header) => {
                chunk.check_version(*version)?;
                self.take_start(StoredChunk { version: *version, ..chunk }, header, bytes, receive)
            }
            Purpose::Blocks(chunk, header, list) => {
                chunk.check_version(*version)?;
                let from = extent(&list).start;
                pass_blocks(chunk, header, list, Window { from, ..bytes }, receive)
            }
        }
    }

    /// The error for a missing chunk file. `file` is the file number of the failed request.
    pub(super) fn missing(&mut self, file: Option<u64>) -> Error {
        self.chunk_file = file.map(|number| ChunkFileState { number, version: None });
        let of = self.planned.iter().find(|planned| planned.file == file);
        match of.map(|planned| &planned.purpose) {
            Some(Purpose::Start(chunk, _) | Purpose::Blocks(chunk, ..)) if chunk.version.is_none() => {
                Error::malformed(missing(&chunk.entry))
            }
            // The chunk file existed when the first bytes of the chunk were read, so it was deleted after that.
            _ => Error::changing(None),
        }
    }

    /// Takes the first bytes of a chunk. In the first call for a chunk, these are the bytes of the first read. If these
    /// bytes are fewer than [`start_len`] requires, a second call receives as many bytes as `start_len` requires.
    fn take_start(
        &mut self,
        chunk: StoredChunk,
        header: Option<CheckedHeader>,
        window: Window,
        receive: &mut ReceiveTask<'_>,
    ) -> Result<(), Error> {
        let entry = &chunk.entry;
        let bytes = window.rest();
        let is_first = header.is_none();
        let header = match header {
            Some(header) => header,
            None => self.valid_header(entry, bytes)?,
        };
        let length = start_len(&header);
        let Some(start) = bytes.get(..length) else {
            if !is_first {
                return Err(too_short(entry, &header, bytes.len()));
            }
            self.open_chunks.push_back(OpenChunk { chunk, header, next: NextRead::Start(length) });
            return Ok(());
        };
        let StoredChunk { entry, part, version } = chunk;
        if header.special().is_some() {
            let value = start.get(header.header_len()..).unwrap_or_default().to_vec();
            return receive(CopyTask { entry, part, data: TaskData::Value(value) });
        }
        if needs_whole(&header) {
            return receive(CopyTask { entry, part, data: TaskData::Whole { header, bytes: window } });
        }
        rule(header.check_table(start)).map_err(|why| Error::malformed(wrong(&entry, &why)))?;
        let start = ChunkStart { header, bytes: start.into(), version };
        self.array().keep_start(entry.number, &start);
        if bytes.len() < header.cbytes() {
            self.open_chunks.push_back(OpenChunk { chunk, header, next: NextRead::Blocks(start.bytes) });
            return Ok(());
        }
        // Here, `bytes` has the whole chunk, so no further read is needed.
        for list in self.block_groups_of(chunk, &header, &start.bytes)? {
            pass_blocks(chunk, header, list, window.clone(), receive)?;
        }
        Ok(())
    }

    /// Parses and checks the header of a chunk. All later steps rely on the numbers in it.
    fn valid_header(&mut self, entry: &ChunkEntry, bytes: &[u8]) -> Result<CheckedHeader, Error> {
        let header = ChunkHeader::parse(bytes).ok_or_else(|| Error::malformed(not_a_chunk(entry)))?;
        let checked = self.array().rules.check(&header, entry.nbytes, self.room(entry, bytes));
        checked.map_err(|why| Error::malformed(wrong(entry, &why)))?;
        self.chunk_limit.take(entry, header.cbytes())?;
        header.checked().map_err(|error| not_decompressed(entry, &error))
    }

    /// The room for a chunk: the largest stored size that the chunk can have. In a chunk file, the room is known only
    /// if the first read covers the whole file; otherwise there is no limit.
    fn room(&self, entry: &ChunkEntry, first: &[u8]) -> u64 {
        match entry.place {
            ChunkPlace::Frame(start) => index_start(&self.array().header).saturating_sub(start),
            _ if (first.len() as u64) < FIRST_READ => first.len() as u64,
            _ => u64::MAX,
        }
    }

    fn block_groups_of(
        &self,
        chunk: StoredChunk,
        header: &ChunkHeader,
        start: &[u8],
    ) -> Result<Vec<Vec<StoredBlock>>, Error> {
        let part = self.selection.chunk(chunk.part).ok_or_else(|| misfit(&chunk.entry))?;
        groups(&chunk.entry, header, start, &part)
    }

    /// Plans the next wave: first the reads of open chunks, then the first bytes of further chunks.
    fn request_more(&mut self, receive: &mut ReceiveTask<'_>) -> Result<(), Error> {
        let mut weight = 0;
        if self.plan_open_chunks(&mut weight)? {
            // Use the remaining bytes of the wave for the first bytes of further chunks, whose blocks come in a later
            // wave. For a file (`spare` is 0), use only a quarter of the remaining bytes. Then the wave with the blocks
            // comes sooner, so that the threads have blocks to decompress.
            let left = self.limits.wave.saturating_sub(weight);
            self.begin_chunks(if self.limits.spare > 0 { left } else { left / 4 }, receive)?;
            // If the array keeps the start of a chunk from an earlier slice, this wave can already read the blocks of
            // the chunk. `begin_chunks` has counted all bytes of the chunk, so the wave stays within its limit.
            self.plan_open_chunks(&mut weight)?;
        }
        Ok(())
    }

    /// Plans the reads of open chunks, until the wave is full. Returns true if no open chunk is left.
    fn plan_open_chunks(&mut self, weight: &mut u64) -> Result<bool, Error> {
        while let Some(OpenChunk { chunk, header, next }) = self.open_chunks.pop_front() {
            let mut groups: VecDeque<_> = match next {
                NextRead::Start(length) if *weight > 0 && *weight + length as u64 > self.limits.wave => {
                    self.open_chunks.push_front(OpenChunk { chunk, header, next });
                    return Ok(false);
                }
                NextRead::Start(length) => {
                    *weight += length as u64;
                    self.plan(Purpose::Start(chunk, Some(header)), &chunk.entry, 0..length);
                    continue;
                }
                NextRead::Blocks(start) => self.block_groups_of(chunk, &header, &start)?.into(),
                NextRead::Groups(groups) => groups,
            };
            while let Some(list) = groups.pop_front() {
                let range = extent(&list);
                let more = (range.len() as u64).max(READ_WEIGHT + list.len() as u64 * BLOCK_WEIGHT);
                if *weight > 0 && *weight + more > self.limits.wave {
                    groups.push_front(list);
                    self.open_chunks.push_front(OpenChunk { chunk, header, next: NextRead::Groups(groups) });
                    return Ok(false);
                }
                *weight += more;
                self.plan(Purpose::Blocks(chunk, header, list), &chunk.entry, range);
            }
        }
        Ok(true)
    }

    /// Plans the reads of the first bytes of the next chunks, up to `most` bytes. If the index entries of these chunks
    /// are not in memory, it plans the reads of these entries instead. A chunk whose start is known becomes an open chunk.
    fn begin_chunks(&mut self, most: u64, receive: &mut ReceiveTask<'_>) -> Result<(), Error> {
        let selection = Arc::clone(&self.selection);
        let array = &*selection.array;
        let index_at = index_start(&array.header);
        let Some(index_and_start) = array.index() else { return self.plan_index() };
        let (index, _) = index_and_start;
        let (mut weight, mut reads_whole) = (0, None);
        for (part, chunk) in selection.chunks_from(self.next) {
            let number = chunk.number();
            if number >= index.len() {
                let text = format!("the chunk index has {} entries, so none of chunk {number}", index.len());
                return Err(Error::malformed(about(FindingCode::ChunkIndexCount, &array.header).text(text)));
            }
            let page = number / index.page_len();
            let is_empty = self.planned.is_empty() && self.open_chunks.is_empty();
            if self.index_pages.get(page).is_none() {
                // A wave with pages of the index has no chunks, so that bytes of the index and bytes of chunks are not
                // in memory at the same time.
                if !is_empty || self.plan_pages(index_and_start)? {
                    break;
                }
                reads_whole = None;
            }
            let reads_whole = *reads_whole.get_or_insert_with(|| self.saves_wave(index, most));
            let entry = index.entry(number, self.index_pages.get(page).unwrap_or_default(), &array.header);
            let length = match entry.place {
                ChunkPlace::Frame(place) => {
                    self.first_len(&entry, place, &chunk, reads_whole).min(index_at.saturating_sub(place))
                }
                ChunkPlace::File(_) => FIRST_READ,
                ChunkPlace::Special(special) => {
                    let value =
                        one_item(special, array.special_size()).map_err(|why| unread(&entry, &why))?;
                    receive(CopyTask { entry, part, data: TaskData::Value(value) })?;
                    0
                }
                ChunkPlace::Invalid(value) => return Err(Error::malformed(wrong_place(&entry, value))),
            };
            if length > 0 {
                let start = array.start(number);
                let more =
                    start.as_ref().map_or(length, |start| start.header.cbytes() as u64).max(READ_WEIGHT);
                if !is_empty && weight + more > most {
                    break;
                }
                weight += more;
                let mut chunk = StoredChunk { entry, part, version: None };
                if let Some(ChunkStart { header, bytes, version }) = start {
                    self.chunk_limit.take(&entry, header.cbytes())?;
                    chunk.version = version;
                    self.open_chunks.push_back(OpenChunk { chunk, header, next: NextRead::Blocks(bytes) });
                } else {
                    let range = 0..usize::try_from(length).unwrap_or_default();
                    self.plan(Purpose::Start(chunk, None), &entry, range);
                }
            }
            self.next = part.saturating_add(1);
        }
        Ok(())
    }

    /// Plans the first read of the chunk index. In a contiguous frame, plans to read all bytes after the header
    /// instead, if these are at most `limits.spare` bytes.
    fn plan_index(&mut self) -> Result<(), Error> {
        let header = &self.array().header;
        let frame = header.header_len as u64..header.frame_len;
        if !header.is_sparse() && frame.end.saturating_sub(frame.start) <= self.limits.spare {
            self.planned.push(PlannedRead { purpose: Purpose::Frame, file: None, range: frame, request: 0 });
            return Ok(());
        }
        let start = index_start(header);
        let end = start.saturating_add(FIRST_READ).min(header.frame_len);
        if end <= start {
            return Index::parse(header, Vec::new()).and_then(|_| Err(Error::changing(None)));
        }
        self.planned.push(PlannedRead { purpose: Purpose::Index, file: None, range: start..end, request: 0 });
        Ok(())
    }

    /// The stored length of a chunk in the frame, and how many of these bytes the slice does not need. The length is
    /// estimated from the place of the next chunk. `None` if this place is not known.
    fn stored_len(&self, entry: &ChunkEntry, place: u64, chunk: &SelectedChunk<'_>) -> Option<(u64, u64)> {
        let next = self.index_pages.next_start(place)?;
        // The largest stored size of the chunk: data that does not compress is stored uncompressed, after the chunk
        // header.
        let longest = entry.nbytes.unwrap_or_default().saturating_add(ChunkHeader::MAX_LEN as u64);
        let stored = (next - place).min(longest);
        let [needed, blocks] = chunk.needed_blocks();
        Some((stored, stored - stored.saturating_mul(needed) / blocks.max(1).max(needed)))
    }

    /// Whether the next wave can read all its chunks whole, so that no further wave reads their blocks. Reading the
    /// needless bytes must not take longer than the saved wave and its requests.
    fn saves_wave(&self, index: &Index, most: u64) -> bool {
        let selection = &*self.selection;
        let (mut weight, mut needless, mut limit) = (0, 0, self.limits.spare);
        if limit == 0 {
            return false;
        }
        for (_, chunk) in selection.chunks_from(self.next) {
            let number = chunk.number();
            let Some(page) = self.index_pages.get(number / index.page_len()) else { break };
            let entry = index.entry(number, page, &selection.array.header);
            weight += READ_WEIGHT;
            let ChunkPlace::Frame(place) = entry.place else { continue };
            let Some((stored, more)) = self.stored_len(&entry, place, &chunk) else { return false };
            weight += stored;
            needless += more;
            limit += self.limits.gap;
            if weight > most || needless > limit {
                return false;
            }
        }
        true
    }

    /// The number of bytes of the first read of a chunk in the frame.
    fn first_len(&self, entry: &ChunkEntry, place: u64, chunk: &SelectedChunk<'_>, reads_whole: bool) -> u64 {
        match self.stored_len(entry, place, chunk) {
            // In a damaged file, the next chunk can begin inside this one. `stored` is then too small, so at least
            // `FIRST_READ` bytes are read.
            Some((stored, needless))
                if stored <= self.limits.wave && (reads_whole || needless <= self.limits.gap) =>
            {
                stored.max(FIRST_READ)
            }
            _ => FIRST_READ,
        }
    }

    /// Loads the pages of the index with the entries of the next chunks, or plans their reads. Returns whether it planned a
    /// read.
    fn plan_pages(&mut self, index: &(Index, Window)) -> Result<bool, Error> {
        let selection = Arc::clone(&self.selection);
        let chunks = selection.chunks_from(self.next).map(|(_, chunk)| chunk.number());
        let missing = self.index_pages.load(&selection.array, index, chunks)?;
        let is_planned = !missing.is_empty();
        if !is_planned && self.limits.spare > 0 {
            self.index_pages.list_chunk_starts(&selection.array, &index.0);
        }
        let planned = missing.into_iter().map(|range| PlannedRead {
            purpose: Purpose::Index,
            file: None,
            range,
            request: 0,
        });
        self.planned.extend(planned);
        Ok(is_planned)
    }

    fn plan(&mut self, purpose: Purpose, entry: &ChunkEntry, range: Range<usize>) {
        let (file, start) = match entry.place {
            ChunkPlace::File(number) => (Some(number), 0),
            ChunkPlace::Frame(start) => (None, start),
            ChunkPlace::Special(_) | ChunkPlace::Invalid(_) => return,
        };
        let range = start.saturating_add(range.start as u64)..start.saturating_add(range.end as u64);
        self.planned.push(PlannedRead { purpose, file, range, request: 0 });
    }

    /// Joins planned ranges into requests if they overlap, or if the gap between them is small and still fits in the
    /// wave.
    fn join(&mut self) {
        let mut order: Vec<&mut PlannedRead> = self.planned.iter_mut().collect();
        order.sort_by_key(|planned| (planned.file, planned.range.start));
        let WaveLimits { wave, gap, .. } = self.limits;
        let length = |range: &Range<u64>| range.end - range.start;
        let mut left = wave.saturating_sub(order.iter().map(|planned| length(&planned.range)).sum());
        for planned in order {
            let Range { start, end } = planned.range;
            match self.requests.last_mut().filter(|last| last.file == planned.file) {
                Some(last) if start.saturating_sub(last.range.end) <= gap.min(left) => {
                    left -= start.saturating_sub(last.range.end);
                    last.range.end = last.range.end.max(end);
                }
                _ => self.requests.push(Request { file: planned.file, range: start..end }),
            }
            planned.request = self.requests.len() - 1;
        }
    }
}

fn pass_blocks(
    chunk: StoredChunk,
    header: CheckedHeader,
    list: Vec<StoredBlock>,
    bytes: Window,
    receive: &mut ReceiveTask<'_>,
) -> Result<(), Error> {
    let StoredChunk { entry, part, .. } = chunk;
    if bytes.get(extent(&list)).is_none() {
        let found = bytes.from + bytes.rest().len();
        return Err(too_short(&entry, &header, found));
    }
    receive(CopyTask { entry, part, data: TaskData::Blocks { header, list, bytes } })
}

/// The error for a chunk that is shorter than its header says.
fn too_short(entry: &ChunkEntry, header: &ChunkHeader, found: usize) -> Error {
    let why = format!("has {} bytes, but only {found} can be read", header.cbytes());
    Error::malformed(wrong(entry, &why))
}
