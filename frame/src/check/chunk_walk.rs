//! Checks each chunk: compares its header with the frame and with the other chunks, and decompresses its data on
//! request.

use std::collections::BTreeSet;

use b2nd_chunk::{CheckedHeader, ChunkHeader};

use crate::check::check_report::{Report, Skipped, SkippedPart};
use crate::check::chunk_data::{self, ENDS_IN_ZEROS};
use crate::check::chunk_files;
use crate::check::chunk_findings::ChunkFindings;
use crate::check::unowned;
use crate::chunk::chunk_rules::{
    ChunkRules, about, damaged, list, lost_page, not_a_chunk, with_false_dictionary, wrong,
};
use crate::chunk::entry::{ChunkEntry, ChunkPlace, chunks_len, index_start};
use crate::chunk::expansion::{NotDecompressed, check_support};
use crate::code::{CheckDepth, FindingCode};
use crate::error::{Error, ErrorKind};
use crate::finding::{Finding, Place};
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::index::index_rules::MAX_COMPARED;
use crate::progress::Progress;
use crate::queue::in_order;
use crate::read::blocks::{CHUNK_START_LEN, PIECE, check_stored_table, streams_end};
use crate::read::chunk_file_bytes::ChunkBytes;
use crate::read::chunks::Chunks;
use crate::source::ReadAt;
use crate::spans::ChunkSpan;

/// The maximum number of bytes that a check reads of the chunks in a frame, as a multiple of the size of all chunks. In
/// a hostile frame, any number of chunks can share the same bytes, so without a limit the check could take forever.
/// With the factor 2, a single chunk with a wrong length does not stop the check. Reading this chunk takes at most the
/// size of all chunks once, so all other chunks can still be read.
const MAX_LOOKS: u64 = 2;

/// The maximum number of stored bytes of chunks that wait in the queue. A single chunk in an empty queue can be longer.
const MAX_WAITING: usize = 1 << 26;

/// Adds the findings about chunks to a report. An error in the index is not reported here, because the check of the
/// index reports it.
pub(super) fn check<R: ReadAt>(
    frame: &Frame<R>,
    depth: CheckDepth,
    threads: usize,
    progress: &mut Progress<'_>,
    report: &mut Report,
) -> Result<(), Error> {
    match walk(frame, depth, threads, progress) {
        Ok(findings) => findings.report(report),
        Err(error) if error.kind() == ErrorKind::Malformed => {}
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::TooLarge) => {
            let (part, why) = (SkippedPart::Chunks, error.to_string());
            report.skipped.push(Skipped { part, count: None, why });
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn walk<R: ReadAt>(
    frame: &Frame<R>,
    depth: CheckDepth,
    threads: usize,
    progress: &mut Progress<'_>,
) -> Result<ChunkFindings, Error> {
    let header = frame.header().clone();
    let mut scan = ChunkScan::new(frame, depth);
    let mut chunks = frame.open_chunks()?;
    if header.is_sparse() && chunks.frame.directory().is_none() {
        return Err(Error::unsupported(
            "the chunk files of a sparse frame are read only from a folder; open the frame by its path",
        ));
    }
    // The number of chunks is read before the loop, because after an error `chunks` has no entries left.
    let nchunks = chunks.len();
    let mut findings = ChunkFindings::default();
    let mut unchecked = None;
    // Only the check of data takes long enough for other threads to help.
    let threads = if depth >= CheckDepth::ChunkData { threads } else { 1 };
    let worker = || |chunk: ReadChunk| Ok(chunk.check_data());
    in_order(worker(), (1..threads).map(|_| worker()), |queue| -> Result<(), Error> {
        let mut waiting = 0;
        while let Some(entry) = chunks.next() {
            let entry = match entry {
                // The check of the index reports this error.
                Err(error) if error.kind() == ErrorKind::Malformed => {
                    scan.knows_all = false;
                    break;
                }
                entry => entry?,
            };
            let chunk = scan.take(&mut chunks, &entry)?;
            // The findings about a chunk pass through the queue, so they are reported in the order of the chunks.
            if let Some(chunk) = chunk.filter(ReadChunk::has_more) {
                while waiting + chunk.data.len() > MAX_WAITING
                    && let Some(checked) = queue.next()?
                {
                    waiting -= checked.report(&mut findings);
                }
                waiting += chunk.data.len();
                if let Some(checked) = queue.push(chunk)? {
                    waiting -= checked.report(&mut findings);
                }
            }
            if scan.is_over {
                unchecked = Some(entry);
                break;
            }
            progress.show(entry.number + 1)?;
            // If all entries are equal, check only one of them. Otherwise, an index of a few bytes could make this loop
            // run for millions of entries.
            if chunks.is_repeated() {
                break;
            }
        }
        while let Some(chunk) = queue.next()? {
            chunk.report(&mut findings);
        }
        Ok(())
    })?;
    if let Some(entry) = unchecked {
        findings.not_looked_at(&entry, nchunks);
    }
    scan.finish(&mut chunks, nchunks, &header, &mut findings)?;
    findings.extend(scan.unowned(chunks.frame)?);
    Ok(findings)
}

/// A chunk that was read, and the findings about its header. A task of the queue.
struct ReadChunk {
    entry: ChunkEntry,
    findings: Vec<Finding>,
    /// Why the chunk is not decompressed.
    skipped: Option<String>,
    /// The header of the chunk; `None` if the chunk is not to be decompressed.
    header: Option<CheckedHeader>,
    /// The bytes of a chunk to decompress, and some bytes after the chunk. `at` is the offset of the chunk in its file.
    data: Vec<u8>,
    at: u64,
}

impl ReadChunk {
    fn new(entry: &ChunkEntry) -> Self {
        Self { entry: *entry, findings: Vec::new(), skipped: None, header: None, data: Vec::new(), at: 0 }
    }

    fn with(entry: &ChunkEntry, finding: Finding) -> Self {
        Self { findings: vec![finding], ..Self::new(entry) }
    }

    /// Whether the chunk has findings or a skipped check to report, or data to check.
    fn has_more(&self) -> bool {
        !self.findings.is_empty() || self.skipped.is_some() || self.header.is_some()
    }

    /// Adds the reason why the chunk could not be decompressed.
    fn add(&mut self, why: NotDecompressed) {
        match why {
            NotDecompressed::Damaged(why) => self.findings.push(damaged(&self.entry, &why)),
            NotDecompressed::Unsupported(why) | NotDecompressed::TooLarge(why) => self.skipped = Some(why),
        }
    }

    /// Decompresses a chunk with a valid header and table of blocks. If this fails, the chunk still counts in
    /// `ChunkScan::nvalid`, because its header is valid.
    fn check_data(mut self) -> CheckedChunk {
        let nbytes = self.data.len();
        if let Some(header) = self.header.take() {
            let (chunk, after) = self.data.split_at_checked(header.cbytes()).unwrap_or((&self.data, &[]));
            let checked = if chunk_data::ends_in_zeros(chunk, after, self.at) {
                Err(NotDecompressed::Damaged(ENDS_IN_ZEROS.into()))
            } else {
                chunk_data::check(&header, chunk, after, self.at)
            };
            match checked {
                Ok(page) => self.findings.extend(page.map(|why| lost_page(&self.entry, &why))),
                Err(why) => self.add(why),
            }
        }
        let Self { entry, findings, skipped, .. } = self;
        CheckedChunk { entry, findings, skipped, nbytes }
    }
}

/// The findings about a chunk.
struct CheckedChunk {
    entry: ChunkEntry,
    findings: Vec<Finding>,
    skipped: Option<String>,
    /// The number of bytes of the chunk that were in the queue.
    nbytes: usize,
}

impl CheckedChunk {
    /// Adds the findings to `findings`, and returns the number of bytes that are no longer in the queue.
    fn report(self, findings: &mut ChunkFindings) -> usize {
        findings.extend(self.findings);
        if let Some(why) = self.skipped {
            findings.not_decompressed(&self.entry, &why);
        }
        self.nbytes
    }
}

/// The state of a check of all chunks: the sums over their headers, and the limits.
struct ChunkScan {
    depth: CheckDepth,
    rules: ChunkRules,
    /// The byte ranges of chunks in a contiguous frame, at most [`MAX_COMPARED`].
    spans: Vec<ChunkSpan>,
    /// The number of stored chunks with a valid header in a contiguous frame. It can be higher than the number of
    /// `spans`.
    nstored: u64,
    /// The number of entries read so far that are offsets in the frame, or invalid.
    nplaces: u64,
    /// The number of stored chunks with a valid header.
    nvalid: u64,
    /// The total decompressed size of the stored chunks with a valid header.
    nbytes: u64,
    /// Chunks with other filters than the frame: their count, and the number and the filters of the first such chunk.
    other_filters: Option<(u64, u64, String)>,
    /// Whether the byte range of every chunk is certain. It is false after an error in an entry of the index, or in a
    /// byte range.
    knows_all: bool,
    /// The number of bytes that the check may still read of the chunks in the frame. Bytes of chunk files are not
    /// counted.
    left: u64,
    /// The numbers of the chunk files in the directory of a sparse frame, in ascending order; `None` if the directory
    /// cannot be listed. Files that are not in this list are not opened.
    // The directory is listed once, so a file that does not exist needs no system call. An index can name a million
    // such files.
    listed: Option<Vec<u64>>,
    /// The numbers of the chunk files that the check has tried to open. If `listed` is `None`, only the numbers of the
    /// files that it could read.
    files: BTreeSet<u64>,
    /// Whether a read would have exceeded `left`. If so, the check of the chunks ends.
    is_over: bool,
}

impl ChunkScan {
    fn new<R>(frame: &Frame<R>, depth: CheckDepth) -> Self {
        let mut rules = ChunkRules::new(frame.header(), frame.is_array());
        // If a frame does not hold its own data, its stored chunks come from elsewhere, for example from another array.
        // They may have other filters than the header of the frame, so the filters are not compared.
        if !frame.kind().holds_data() {
            rules.filters = None;
        }
        Self {
            depth,
            rules,
            spans: Vec::new(),
            nstored: 0,
            nplaces: 0,
            nvalid: 0,
            nbytes: 0,
            other_filters: None,
            knows_all: true,
            left: chunks_len(frame.header()).saturating_mul(MAX_LOOKS),
            listed: frame.directory().and_then(|directory| chunk_files::list(directory).ok()),
            files: BTreeSet::new(),
            is_over: false,
        }
    }

    /// Reads a chunk, and checks its header; `None` if the chunk is not read.
    fn take<R: ReadAt>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        entry: &ChunkEntry,
    ) -> Result<Option<ReadChunk>, Error> {
        if matches!(entry.place, ChunkPlace::Frame(_) | ChunkPlace::Invalid(_)) {
            self.nplaces += 1;
        }
        let has_own_file = matches!(entry.place, ChunkPlace::File(_));
        // Missing files are skipped here, and so are files to which an earlier entry refers. The check of the index
        // reports both.
        let is_again = match (entry.place, &self.listed) {
            (ChunkPlace::File(number), Some(listed)) => {
                listed.binary_search(&number).is_err() || !self.files.insert(number)
            }
            (ChunkPlace::File(number), None) => self.files.contains(&number),
            _ => false,
        };
        if !entry.is_stored() || is_again || !self.may_look(entry, ChunkHeader::MAX_LEN) {
            return Ok(None);
        }
        // Each read of a chunk file opens the file again. If the data will be read anyway, the first read is longer. It
        // then usually includes the table of blocks, so the table needs no second read.
        let length =
            if self.depth >= CheckDepth::ChunkData && has_own_file { PIECE as u64 } else { CHUNK_START_LEN };
        let Some(mut first) = chunks.bytes(entry, 0, length)? else { return Ok(None) };
        // If the directory could not be listed, a file is recorded only here, after it was read. So an index that names
        // a million missing files adds nothing to `files`.
        if let ChunkPlace::File(number) = entry.place {
            self.files.insert(number);
        }
        let with = |finding| Ok(Some(ReadChunk::with(entry, finding)));
        let Some(header) = ChunkHeader::parse(&first.bytes) else { return with(not_a_chunk(entry)) };
        if let Err(why) = self.rules.check(&header, entry.nbytes, first.room) {
            return with(wrong(entry, &why));
        }
        if !self.may_look(entry, header.cbytes().saturating_sub(ChunkHeader::MAX_LEN)) {
            return Ok(None);
        }
        let is_decompressed = self.depth >= CheckDepth::ChunkData && header.has_table();
        let checked = if is_decompressed { check_support(&header).map(Some) } else { Ok(None) };
        // If the chunk will be decompressed, read all of it now. These bytes include the table of blocks, so the check
        // of the table below reads nothing again.
        let is_whole = matches!(checked, Ok(Some(_))) && read_rest(chunks, entry, &header, &mut first)?;
        if let Err(why) = check_stored_table(chunks, entry, &header, &first.bytes)? {
            return with(wrong(entry, &why));
        }
        self.record(entry, &header);
        let mut chunk = ReadChunk::new(entry);
        if header.has_false_dictionary() {
            chunk.findings.push(with_false_dictionary(entry));
        }
        // If a chunk file is longer than its chunk, either old bytes follow the chunk, or `cbytes` is damaged. The end
        // of the last block shows which. In a contiguous frame, `compare` makes this check.
        if has_own_file && header.cbytes() as u64 != first.room {
            let cbytes = header.cbytes() as u64;
            let end = streams_end(chunks, entry, &header, &first.bytes)?;
            if let Some(end) = end.filter(|&end| end != cbytes) {
                chunk.findings.push(wrong_end(entry, cbytes, end));
                return Ok(Some(chunk));
            }
        }
        match checked {
            Err(why) => chunk.add(why),
            Ok(checked) if is_whole => {
                chunk.data = first.bytes;
                chunk.header = checked;
                chunk.at = chunks.offset_in_file(entry);
            }
            Ok(_) => {}
        }
        Ok(Some(chunk))
    }

    /// Whether this number of bytes of a chunk may be read. There is no limit for chunk files, because each file is
    /// checked for only one entry.
    fn may_look(&mut self, entry: &ChunkEntry, bytes: usize) -> bool {
        if matches!(entry.place, ChunkPlace::Frame(_)) {
            let left = self.left.checked_sub(bytes as u64);
            self.is_over = left.is_none();
            self.left = left.unwrap_or_default();
        }
        !self.is_over
    }

    /// Records a valid header.
    fn record(&mut self, entry: &ChunkEntry, header: &ChunkHeader) {
        self.nvalid += 1;
        self.nbytes = self.nbytes.saturating_add(header.nbytes() as u64);
        if let Some(filters) = self.rules.other_filters(header) {
            self.other_filters.get_or_insert((0, entry.number, filters)).0 += 1;
        }
        if let ChunkPlace::Frame(start) = entry.place {
            let end = start.saturating_add(header.cbytes() as u64);
            self.keep(ChunkSpan { start, end, number: entry.number });
        }
    }

    /// Records a chunk's byte range for the overlap check, for at most `MAX_COMPARED` chunks.
    fn keep(&mut self, span: ChunkSpan) {
        self.nstored += 1;
        if self.spans.len() < MAX_COMPARED {
            self.spans.push(span);
        }
    }

    /// Adds the findings that need all chunks: about the total size, shared bytes, filters, and chunks that do not end
    /// where their last block ends. Also records how many chunks were not compared.
    fn finish<R: ReadAt>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        nchunks: u64,
        header: &Header,
        findings: &mut ChunkFindings,
    ) -> Result<(), Error> {
        // Only the first findings of each code are kept. So the finding about the total size is added before the
        // findings of `compare`, which can be many.
        findings.extend(self.total(nchunks, header));
        self.compare(chunks, findings)?;
        findings.not_compared(self.nstored);
        if let Some((count, number, filters)) = &self.other_filters {
            let first = format!("chunk {number} has {filters}");
            let text = match &self.rules.filters {
                Some(filters) => {
                    format!(
                        "{first}, but the frame has {}; such chunks: {count}",
                        list(filters.iter().copied())
                    )
                }
                None => format!("{first}, which is not known; such chunks: {count}"),
            };
            findings.push(Finding::new(FindingCode::ChunkFilters, Place::Chunk).in_chunk(*number).text(text));
        }
        Ok(())
    }

    /// Adds findings for chunks that share bytes. If there is a hole after a chunk, also checks that the last block of
    /// the chunk ends where the chunk ends according to its header.
    fn compare<R: ReadAt>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        findings: &mut ChunkFindings,
    ) -> Result<(), Error> {
        self.spans.sort_unstable_by_key(|span| span.start);
        let last = chunks.end();
        for (index, span) in self.spans.iter().enumerate() {
            let next = self.spans.get(index + 1);
            let next_start = next.map_or(last, |next| next.start);
            // Two chunks with the same offset are skipped here, because the check of the index reports them.
            if next.is_some() && next_start == span.start {
                continue;
            }
            let entry =
                ChunkEntry { number: span.number, nbytes: None, place: ChunkPlace::Frame(span.start) };
            if let Some(next) = next.filter(|next| next.start < span.end) {
                let (number, other) = (span.number, next.number);
                let text = format!(
                    "chunk {number} ends at byte {}, but chunk {other} begins at {}",
                    span.end, next.start
                );
                findings
                    .push(about(FindingCode::ChunkOverlap, &entry).numbers(next.start, span.end).text(text));
                self.knows_all = false;
            } else if next_start > span.end {
                let cbytes = span.end - span.start;
                let Some(first) = chunks.bytes(&entry, 0, CHUNK_START_LEN)? else { continue };
                let Some(header) = ChunkHeader::parse(&first.bytes) else { continue };
                let end = streams_end(chunks, &entry, &header, &first.bytes)?;
                if let Some(end) = end.filter(|&end| end != cbytes) {
                    findings.push(wrong_end(&entry, cbytes, end));
                    self.knows_all = false;
                }
            }
        }
        Ok(())
    }

    /// The finding for bytes or chunk files that no entry of the index refers to. The `spans` must already be sorted.
    fn unowned<R: ReadAt>(&self, frame: &Frame<R>) -> Result<Option<Finding>, Error> {
        if !self.knows_all || self.nplaces > self.nstored {
            return Ok(None);
        }
        if frame.header().is_sparse() {
            let sparse = frame.directory().zip(self.listed.as_deref());
            return Ok(sparse.and_then(|(directory, listed)| unowned::files(directory, listed, &self.files)));
        }
        // If an array has no items, it has no index, and python-blosc2 leaves an old `cbytes` in the header. So it is
        // not known where chunks should be, and nothing is reported. Nothing is reported either if the header is
        // damaged, or if some chunks were not compared.
        let header = frame.header();
        let (start, end) = (header.header_len as u64, index_start(header));
        if self.nstored > self.spans.len() as u64 || header.nbytes <= 0 || end > header.frame_len {
            return Ok(None);
        }
        unowned::bytes(&self.spans, start, end, |at, len| frame.read_range(start.saturating_add(at), len))
    }

    /// The finding for a frame whose chunks have different sizes, if the decompressed sizes do not add up to `nbytes`.
    fn total(&self, nchunks: u64, header: &Header) -> Option<Finding> {
        let is_known = self.nvalid == nchunks && header.nchunks().is_none();
        let (expected, found) = (u64::try_from(header.nbytes).ok()?, self.nbytes);
        (is_known && expected != found).then(|| {
            let text = format!("the chunks have {found} bytes of data, but nbytes is {expected}");
            Finding::new(FindingCode::ChunkHeader, Place::Chunk).numbers(expected, found).text(text)
        })
    }
}

/// Reads the bytes of a chunk that follow those in `first`, and up to 32 bytes after the chunk, which show whether its
/// end was lost. Returns `false` if the chunk file is missing.
fn read_rest<R: ReadAt>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    header: &ChunkHeader,
    first: &mut ChunkBytes,
) -> Result<bool, Error> {
    let ChunkBytes { bytes, room, .. } = first;
    let (length, known) = ((*room).min((header.cbytes() + ChunkHeader::MAX_LEN) as u64), bytes.len() as u64);
    if let Some(more) = length.checked_sub(known).filter(|&more| more > 0) {
        let Some(mut rest) = chunks.bytes(entry, known, more)? else { return Ok(false) };
        bytes.append(&mut rest.bytes);
    }
    bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
    Ok(true)
}

/// The finding for a chunk whose last block does not end where the chunk ends according to its header.
fn wrong_end(entry: &ChunkEntry, cbytes: u64, end: u64) -> Finding {
    wrong(entry, &format!("has {cbytes} bytes, but its last block ends at byte {end} of it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_number_of_chunks_192_mebibytes_are_kept() {
        let file = std::fs::read("tests/data/int32_3x5.b2nd").unwrap();
        let mut scan = ChunkScan::new(&Frame::parse(&file).unwrap(), CheckDepth::ChunkHeaders);
        let count = MAX_COMPARED as u64 + 1;
        (0..count).for_each(|number| scan.keep(ChunkSpan { start: number, end: number, number }));
        assert_eq!((scan.spans.len(), scan.nstored), (MAX_COMPARED, count));
        assert_eq!(size_of_val(&scan.spans[..]), 192 << 20);
    }

    #[test]
    fn files_that_cannot_be_found_take_no_memory() {
        let frame = Frame::open("tests/data/sparse.b2nd").unwrap();
        let mut scan = ChunkScan { listed: None, ..ChunkScan::new(&frame, CheckDepth::ChunkHeaders) };
        let mut chunks = frame.open_chunks().unwrap();
        for number in [0, 1, 100, 101] {
            let entry = ChunkEntry { number: 0, nbytes: None, place: ChunkPlace::File(number) };
            let chunk = scan.take(&mut chunks, &entry).unwrap();
            assert!(chunk.is_none_or(|chunk| chunk.findings.is_empty()));
        }
        assert_eq!(scan.files, [0, 1].into());
        // If the directory of the frame could be listed, `take` adds a listed number to `files` before it opens the
        // file. So a later entry with the same number is skipped, even if the file could not be read.
        scan.listed = Some(vec![100]);
        let entry = ChunkEntry { number: 0, nbytes: None, place: ChunkPlace::File(100) };
        assert!(scan.take(&mut chunks, &entry).unwrap().is_none());
        assert!(scan.files.contains(&100));
    }
}
