//! The headers of the chunks: each against the frame, and all against each other. And their data, if that is wanted.

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use crate::check::chunk_data::{self, Fault};
use crate::check::entries::MAX_COMPARED;
use crate::check::{Aspect, Depth, Progress, Report, Unchecked, chunk_files};
use crate::chunks::{ChunkEntry, ChunkPlace, Chunks, about, chunks_len, not_a_chunk};
use crate::find::chunk_file;
use crate::finding::{Code, Finding, Place};
use crate::format::chunk::{ChunkHeader, INT32, MAX_BLOCKSIZE, Special, stream_len, typesize_byte};
use crate::format::flags::Filter;
use crate::format::header::Header;
use crate::{Error, ErrorKind, Frame};

/// Bytes of the first read of a chunk: its header, and the table of its blocks if there are not many.
const FIRST_READ: u64 = 256;

/// Bytes of a longer table of blocks that are read at a time.
const PIECE: usize = 1 << 16;

/// From this number on, every program can use filters of its own.
const FIRST_OF_USERS: u8 = 160;

/// The most findings of a code about single chunks. A damaged file can have one for each of a million.
const MAX_FINDINGS: usize = 20;

/// How often the bytes of all chunks may be looked at, chunk by chunk. If chunks have more, they share bytes, and to look at
/// each could take forever. Twice, so that one that only claims too much does not hide the others.
const MAX_LOOKS: u64 = 2;

/// What the frame says about each of its chunks.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The size of an item as a chunk has it.
    pub(crate) typesize: Option<u8>,
    pub(crate) blocksize: Option<usize>,
    /// Whether a chunk may be shorter than the longest header.
    pub(crate) may_be_short: bool,
}

impl Rules {
    /// Only the chunks of an array must have one size of items and blocks: to other frames a chunk of any origin can be
    /// appended.
    pub(crate) fn new(header: &Header, is_array: bool) -> Self {
        let blocksize = header.blocksize.and_then(|size| usize::try_from(size).ok());
        Self {
            typesize: is_array.then(|| typesize_byte(header.typesize)),
            blocksize: blocksize.filter(|_| is_array),
            may_be_short: header.is_sparse(),
        }
    }

    /// Reads the header of a stored chunk, which must break no rule.
    pub(crate) fn header<R: Read + Seek>(
        &self,
        chunks: &mut Chunks<'_, R>,
        entry: &ChunkEntry,
    ) -> Result<ChunkHeader, Error> {
        let read = chunks.bytes(entry, 0, ChunkHeader::MAX_LEN as u64)?;
        let header = read.and_then(|(bytes, room)| {
            let header = ChunkHeader::parse(&bytes).ok_or_else(|| not_a_chunk(entry))?;
            match self.violation(&header, entry.nbytes, room) {
                Some(why) => Err(wrong(entry, &why)),
                None => Ok(header),
            }
        });
        header.map_err(Error::malformed)
    }

    /// What is wrong with the header of a chunk that must have so many bytes of data, and may have at most `room` as stored.
    pub(crate) fn violation(&self, header: &ChunkHeader, expected: Option<u64>, room: u64) -> Option<String> {
        self.wrong_size(header, expected, room).or_else(|| wrong_body(header))
    }

    /// The same, without what depends on how the data is stored.
    pub(crate) fn wrong_size(
        &self,
        header: &ChunkHeader,
        expected: Option<u64>,
        room: u64,
    ) -> Option<String> {
        let ChunkHeader { nbytes, blocksize, cbytes, typesize, .. } = *header;
        if let Some(expected) = expected.filter(|&expected| expected != nbytes as u64) {
            return Some(format!("has {nbytes} bytes of data, but must have {expected}"));
        }
        if cbytes as u64 > room {
            return Some(format!("has {cbytes} bytes, but at most {room} are left for it"));
        }
        // C-Blosc2 reads this number of bytes of every chunk in a contiguous frame.
        if cbytes < ChunkHeader::MAX_LEN && !self.may_be_short {
            let least = ChunkHeader::MAX_LEN;
            return Some(format!("has {cbytes} bytes, but C-Blosc2 reads none of less than {least}"));
        }
        if typesize == 0 || self.typesize.is_some_and(|expected| expected != typesize) {
            let expected = self.typesize.unwrap_or(1);
            return Some(format!("has items of {typesize} bytes, but must have {expected}"));
        }
        if blocksize == 0 || blocksize > MAX_BLOCKSIZE {
            return Some(format!("has blocks of {blocksize} bytes, but must have 1 to {MAX_BLOCKSIZE}"));
        }
        let expected = self.blocksize?;
        if header.has_variable_blocks {
            return Some(format!(
                "has {blocksize} blocks of different sizes, but must have blocks of {expected} bytes"
            ));
        }
        (blocksize != expected).then(|| format!("has blocks of {blocksize} bytes, but must have {expected}"))
    }
}

impl<R: Read + Seek> Chunks<'_, R> {
    /// Reads the header of a chunk, as [`header`](Self::header), and compares it with the frame.
    ///
    /// # Errors
    ///
    /// Those of [`header`](Self::header), and if the sizes in the header do not fit the frame, or each other. The finding
    /// is the one of a check to [`Depth::ChunkHeaders`].
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::Frame;
    ///
    /// // Chunk 1 of this file begins at byte 229, and its length is 12 bytes later.
    /// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// file[229 + 15] = 0x40;
    /// let mut frame = Frame::read_at(Cursor::new(file), 0)?;
    /// let mut chunks = frame.chunks()?;
    /// let second = chunks.nth(1).expect("a chunk")?;
    /// assert_eq!(chunks.header(&second)?.expect("a stored chunk").cbytes, 1073741888);
    /// let error = chunks.checked_header(&second).unwrap_err();
    /// let finding = error.finding().expect("what is wrong");
    /// assert_eq!(finding.message(), "chunk 1 has 1073741888 bytes, but at most 192 are left for it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_header(&mut self, entry: &ChunkEntry) -> Result<Option<ChunkHeader>, Error> {
        if !entry.is_stored() {
            return Ok(None);
        }
        let is_array = self.is_array();
        Rules::new(self.frame().header(), is_array).header(self, entry).map(Some)
    }

    /// Reads a chunk as it is stored, for a Blosc2 decompressor; `None` if it is not stored, but all of one value.
    ///
    /// Its header has been compared with the frame, as [`checked_header`](Self::checked_header) does it. What follows the
    /// header may be damaged.
    ///
    /// # Errors
    ///
    /// Those of [`checked_header`](Self::checked_header), and if the file became shorter meanwhile.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/sparse.b2nd")?;
    /// let mut chunks = frame.chunks()?;
    /// let first = chunks.next().expect("a chunk")?;
    /// let chunk = chunks.compressed(&first)?.expect("a stored chunk");
    /// assert_eq!(chunk, std::fs::read("tests/data/sparse.b2nd/00000000.chunk")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compressed(&mut self, entry: &ChunkEntry) -> Result<Option<Vec<u8>>, Error> {
        let Some(ChunkHeader { cbytes, .. }) = self.checked_header(entry)? else { return Ok(None) };
        let (bytes, _) = self.bytes(entry, 0, cbytes as u64)?.map_err(Error::malformed)?;
        let found = bytes.len();
        if found < cbytes {
            let why = format!("had {cbytes} bytes, but now only {found} can be read");
            return Err(Error::malformed(wrong(entry, &why)));
        }
        Ok(Some(bytes))
    }
}

/// What is wrong with a chunk that says that it has one value, but also says something else.
pub(crate) fn wrong_special(header: &ChunkHeader) -> Option<String> {
    let has_more = header.is_uncompressed || header.has_dictionary;
    (header.special.is_some() && has_more).then(|| "has one value, but also data or a dictionary".into())
}

/// What is wrong with a chunk that has these bytes, and is not one of the data of a frame.
pub(crate) fn wrong_alone(header: &ChunkHeader, chunk: &[u8]) -> Option<String> {
    let rules = Rules { typesize: None, blocksize: None, may_be_short: true };
    rules.violation(header, None, chunk.len() as u64).or_else(|| wrong_table(header, chunk))
}

/// What is wrong with what follows the header of a chunk.
fn wrong_body(header: &ChunkHeader) -> Option<String> {
    let ChunkHeader { header_len, nbytes, cbytes, .. } = *header;
    let body = cbytes - header_len;
    if let Some(why) = wrong_special(header) {
        return Some(why);
    }
    if header.has_variable_blocks && !header.has_table() {
        return Some("has blocks of any length, but none is compressed".into());
    }
    match header.special {
        Some(Special::Value) => {
            let fits = body > 0 && nbytes % body == 0;
            (!fits).then(|| format!("repeats a value of {body} bytes, which does not fit {nbytes} bytes"))
        }
        Some(special) => Some(format!("is stored, but has no data: it is of the kind {}", special.name())),
        None if header.special_bits != 0 => {
            let bits = header.special_bits;
            Some(format!("has the special value {bits} to C-Blosc2, which cannot read it"))
        }
        None if header.is_uncompressed => {
            (body != nbytes).then(|| format!("is not compressed, but has {body} bytes for {nbytes} of data"))
        }
        None => match header.table_len() {
            Some(length) if length <= body => None,
            _ => Some(format!("has no room for the offsets of its blocks in {cbytes} bytes")),
        },
    }
}

/// What the chunks of a frame have in common if its writer did nothing unusual.
struct Usual {
    /// The bytes of an item, where they are known.
    itemsize: Option<usize>,
    /// The filters in use.
    filters: Option<Vec<Filter>>,
}

impl Usual {
    /// Only of an array something is known.
    fn new(header: &Header, is_array: bool) -> Self {
        // A lost type size is 1.
        let itemsize = usize::try_from(header.typesize).ok().filter(|&size| is_array && size > 1);
        Self { itemsize, filters: is_array.then(|| header.pipeline().collect()) }
    }

    /// What is wrong with a chunk of one value, which is an item.
    fn wrong_value(&self, header: &ChunkHeader) -> Option<String> {
        let body = header.cbytes.saturating_sub(header.header_len);
        let itemsize = self.itemsize.filter(|&itemsize| itemsize != body)?;
        (header.special == Some(Special::Value))
            .then(|| format!("repeats a value of {body} bytes, but items have {itemsize}"))
    }

    /// The filters of a chunk, if they are not those of the frame or not known.
    fn other_filters(&self, header: &ChunkHeader) -> Option<String> {
        if !header.has_table() || header.header_len < ChunkHeader::MAX_LEN {
            return None;
        }
        let filters = || header.filters.iter().filter(|filter| filter.id != 0);
        let is_other = match &self.filters {
            Some(expected) => !filters().eq(expected),
            None => filters().any(|filter| filter.name().is_none() && filter.id < FIRST_OF_USERS),
        };
        is_other.then(|| list(filters()))
    }
}

fn list<'f>(filters: impl Iterator<Item = &'f Filter>) -> String {
    let names: Vec<String> = filters.map(ToString::to_string).collect();
    if names.is_empty() { "no filter".into() } else { names.join(", ") }
}

/// The bytes of a chunk, to compare it with the others.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
    number: u64,
}

/// What is found, of which not too much is kept.
#[derive(Default)]
struct Found {
    kept: Vec<Finding>,
    /// How many more there are of a code.
    left_out: Vec<(Code, u64)>,
    /// First that some could not be decompressed, if so.
    unchecked: Vec<Unchecked>,
}

impl Found {
    fn push(&mut self, finding: Finding) {
        let code = finding.code();
        if self.kept.iter().filter(|kept| kept.code() == code).count() < MAX_FINDINGS {
            self.kept.push(finding);
        } else if let Some((_, count)) = self.left_out.iter_mut().find(|(other, _)| *other == code) {
            *count += 1;
        } else {
            self.left_out.push((code, 1));
        }
    }

    fn not_decompressed(&mut self, entry: &ChunkEntry, why: &str) {
        if let Some(first) = self.unchecked.first_mut() {
            first.chunks = first.chunks.map(|count| count + 1);
        } else {
            let why = format!("chunk {} {why}", entry.number);
            self.unchecked.push(Unchecked { what: Aspect::Data, chunks: Some(1), why });
        }
    }

    /// Says that of `all` chunks this one was not looked at, and none after it.
    fn not_looked_at(&mut self, entry: &ChunkEntry, all: u64) {
        let why = format!("from chunk {} on, as those before it share their bytes", entry.number);
        let chunks = Some(all.saturating_sub(entry.number));
        self.unchecked.push(Unchecked { what: Aspect::Chunks, chunks, why });
    }

    /// Says that of all stored chunks only the first ones were compared.
    fn not_compared(&mut self, all: u64) {
        let compared = MAX_COMPARED as u64;
        if let Some(rest) = all.checked_sub(compared).filter(|&rest| rest > 0) {
            let why = format!("only the first {compared} stored chunks are");
            self.unchecked.push(Unchecked { what: Aspect::SharedBytes, chunks: Some(rest), why });
        }
    }
}

/// Adds to a report what is wrong with the chunks. What a check of the index finds is not reported again.
pub(super) fn check<R: Read + Seek>(
    frame: &mut Frame<R>,
    depth: Depth,
    progress: &mut Progress<'_>,
    report: &mut Report<R>,
) -> Result<(), Error> {
    match look(frame, depth, progress) {
        Ok(Found { kept, left_out, unchecked }) => {
            report.findings.extend(kept);
            report.findings.extend(left_out.into_iter().map(|(code, count)| {
                let text = format!("{count} more findings about chunks are left out");
                Finding::new(code, Place::Chunk).text(text)
            }));
            report.unchecked = unchecked;
        }
        Err(error) if error.kind() == ErrorKind::Malformed => {}
        Err(error) if error.kind() == ErrorKind::Refused => {
            report.unchecked.push(Unchecked { what: Aspect::Chunks, chunks: None, why: error.to_string() });
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn look<R: Read + Seek>(
    frame: &mut Frame<R>,
    depth: Depth,
    progress: &mut Progress<'_>,
) -> Result<Found, Error> {
    let is_array = frame.is_array();
    let (rules, usual) = (Rules::new(frame.header(), is_array), Usual::new(frame.header(), is_array));
    let header = frame.header().clone();
    // An index can name a million files that do not exist.
    let listed = chunk_file::directory(frame).and_then(|directory| chunk_files::list(directory).ok());
    let mut chunks = frame.chunks()?;
    if chunks.is_lost() {
        return Err(Error::refused(
            "the chunk files of a sparse frame are read only from a folder: open it by its path",
        ));
    }
    let is_repeated = chunks.is_repeated();
    let mut found = Found::default();
    let mut survey = Survey::new(depth, chunks_len(&header).saturating_mul(MAX_LOOKS));
    loop {
        let entry = match chunks.next().transpose() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::Malformed => {
                survey.is_whole = false;
                break;
            }
            Err(error) => return Err(error),
        };
        let is_missing = match (entry.place, &listed) {
            // The check of the index reports missing files.
            (ChunkPlace::File(number), Some(listed)) => listed.binary_search(&number).is_err(),
            _ => false,
        };
        if is_missing {
            survey.is_whole = false;
        } else if let Err(finding) = survey.take(&mut chunks, (&rules, &usual), &entry, &mut found)? {
            survey.is_whole = false;
            found.push(finding);
        }
        if survey.is_over {
            found.not_looked_at(&entry, chunks.len());
            break;
        }
        progress.show(entry.number + 1)?;
        // All entries are the same: a few bytes can claim millions of them.
        if is_repeated {
            survey.is_whole = false;
            break;
        }
    }
    // Before what may be left out.
    if let Some(finding) = survey.total(&header) {
        found.push(finding);
    }
    survey.compare(&mut chunks, &mut found)?;
    found.not_compared(survey.nstored);
    if let Some((count, number, filters)) = survey.other_filters {
        let first = format!("chunk {number} has {filters}");
        let text = match &usual.filters {
            Some(filters) => {
                format!("{first}, but the frame has {}; such chunks: {count}", list(filters.iter()))
            }
            None => format!("{first}, which is not known; such chunks: {count}"),
        };
        found.push(Finding::new(Code::ChunkFilters, Place::Chunk).of_chunk(number).text(text));
    }
    Ok(found)
}

/// What the headers of all chunks say.
struct Survey {
    depth: Depth,
    /// Of those in a contiguous frame.
    spans: Vec<Span>,
    /// How many chunks could be among them.
    nstored: u64,
    nbytes: u64,
    /// Chunks with other filters than the frame: how many, the number of the first one, and its filters.
    other_filters: Option<(u64, u64, String)>,
    /// Whether all chunks are stored and have a good header.
    is_whole: bool,
    /// The bytes of chunks in the frame that may still be looked at.
    left: u64,
    /// The files that have been looked at.
    files: BTreeSet<u64>,
    /// Whether too few bytes were left for a chunk.
    is_over: bool,
}

impl Survey {
    fn new(depth: Depth, left: u64) -> Self {
        Self {
            depth,
            spans: Vec::new(),
            nstored: 0,
            nbytes: 0,
            other_filters: None,
            is_whole: true,
            left,
            files: BTreeSet::new(),
            is_over: false,
        }
    }

    /// Whether these bytes of a chunk may be looked at. A file is looked at once, whatever it has.
    fn may_look(&mut self, entry: &ChunkEntry, bytes: usize) -> bool {
        if matches!(entry.place, ChunkPlace::Frame(_)) {
            let left = self.left.checked_sub(bytes as u64);
            self.is_over = left.is_none();
            self.left = left.unwrap_or_default();
        }
        !self.is_over
    }

    fn take<R: Read + Seek>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        (rules, usual): (&Rules, &Usual),
        entry: &ChunkEntry,
        found: &mut Found,
    ) -> Result<Result<(), Finding>, Error> {
        let has_own_file = matches!(entry.place, ChunkPlace::File(_));
        // The check of the index reports missing files, and two chunks in one.
        let is_again = matches!(entry.place, ChunkPlace::File(number) if !self.files.insert(number));
        if !entry.is_stored() || is_again || !self.may_look(entry, ChunkHeader::MAX_LEN) {
            self.is_whole = false;
            return Ok(Ok(()));
        }
        let length = if self.depth >= Depth::ChunkData && has_own_file { PIECE as u64 } else { FIRST_READ };
        let Ok((bytes, room)) = chunks.bytes(entry, 0, length)? else {
            self.is_whole = false;
            return Ok(Ok(()));
        };
        let Some(header) = ChunkHeader::parse(&bytes) else { return Ok(Err(not_a_chunk(entry))) };
        let violation = rules.violation(&header, entry.nbytes, room);
        if let Some(why) = violation.or_else(|| usual.wrong_value(&header)) {
            return Ok(Err(wrong(entry, &why)));
        }
        if !self.may_look(entry, header.cbytes.saturating_sub(ChunkHeader::MAX_LEN)) {
            self.is_whole = false;
            return Ok(Ok(()));
        }
        let why = check_table(chunks, entry, &header, &bytes)?;
        if let Some(why) = why {
            return Ok(Err(wrong(entry, &why)));
        }
        self.nbytes = self.nbytes.saturating_add(header.nbytes as u64);
        if let Some(filters) = usual.other_filters(&header) {
            self.other_filters.get_or_insert((0, entry.number, filters)).0 += 1;
        }
        match entry.place {
            ChunkPlace::Frame(start) => {
                let end = start.saturating_add(header.cbytes as u64);
                self.keep(Span { start, end, number: entry.number });
            }
            ChunkPlace::File(_) if header.cbytes as u64 != room => {
                if let Some(end) = streams_end(chunks, entry)?.filter(|&end| end != header.cbytes as u64) {
                    return Ok(Err(wrong(entry, &wrong_end(&header, end))));
                }
            }
            _ => {}
        }
        if self.depth >= Depth::ChunkData {
            match chunk_data::check(chunks, entry, &header)? {
                Ok(()) => {}
                Err(Fault::Damaged(why)) => {
                    let text = format!("chunk {} cannot be decompressed: {why}", entry.number);
                    // Its header is good all the same, and counts.
                    found.push(about(Code::ChunkData, entry).text(text));
                }
                Err(Fault::NotTried(why)) => found.not_decompressed(entry, &why),
            }
        }
        Ok(Ok(()))
    }

    /// Keeps the bytes of a chunk to compare them with the others, as long as it is not one of too many.
    fn keep(&mut self, span: Span) {
        self.nstored += 1;
        if self.spans.len() < MAX_COMPARED {
            self.spans.push(span);
        }
    }

    /// Whether chunks share bytes. If there is a hole after a chunk, it may be because its length is wrong.
    fn compare<R: Read + Seek>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        found: &mut Found,
    ) -> Result<(), Error> {
        self.spans.sort_unstable_by_key(|span| span.start);
        let last = chunks.end();
        for (index, span) in self.spans.iter().enumerate() {
            let next = self.spans.get(index + 1);
            let next_start = next.map_or(last, |next| next.start);
            // `check` reports the same offset twice.
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
                found.push(about(Code::ChunkOverlap, &entry).numbers(next.start, span.end).text(text));
            } else if next_start > span.end {
                let header = chunks.header(&entry)?;
                let end = streams_end(chunks, &entry)?;
                if let Some((header, end)) =
                    header.zip(end).filter(|(header, end)| header.cbytes as u64 != *end)
                {
                    found.push(wrong(&entry, &wrong_end(&header, end)));
                }
            }
        }
        Ok(())
    }

    /// Whether chunks of different sizes are as long as the frame says.
    fn total(&self, header: &Header) -> Option<Finding> {
        let is_known = self.is_whole && header.nchunks().is_none();
        let (expected, found) = (u64::try_from(header.nbytes).ok()?, self.nbytes);
        (is_known && expected != found).then(|| {
            let text = format!("the chunks have {found} bytes of data, but nbytes is {expected}");
            Finding::new(Code::ChunkHeader, Place::Chunk).numbers(expected, found).text(text)
        })
    }
}

/// The finding that something is wrong with a chunk.
fn wrong(entry: &ChunkEntry, why: &str) -> Finding {
    about(Code::ChunkHeader, entry).text(match entry.file_name() {
        Some(name) => format!("chunk {}, in {name}, {why}", entry.number),
        None => format!("chunk {} {why}", entry.number),
    })
}

fn wrong_end(header: &ChunkHeader, end: u64) -> String {
    format!("has {} bytes, but its last block ends at byte {end} of it", header.cbytes)
}

/// What is wrong with the table that says where the blocks of a chunk begin. The bytes are the first ones of the chunk.
fn check_table<R: Read + Seek>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    header: &ChunkHeader,
    bytes: &[u8],
) -> Result<Option<String>, Error> {
    let mut table = Table::new(header);
    if header.has_table() {
        each_block(chunks, entry, header, bytes, |number, start| table.take(number, start))?;
    }
    Ok(table.wrong)
}

/// The same for a chunk that is there as a whole.
pub(crate) fn wrong_table(header: &ChunkHeader, chunk: &[u8]) -> Option<String> {
    let mut table = Table::new(header);
    if header.has_table() {
        let bytes = chunk.get(header.header_len..).unwrap_or_default();
        let length = header.table_len().unwrap_or_default();
        blocks(bytes.get(..length).unwrap_or_default())
            .zip(0..)
            .for_each(|(start, number)| table.take(number, start));
    }
    table.wrong
}

/// A table of blocks, of which one start is looked at after the other.
struct Table {
    /// Where the table ends.
    end: usize,
    cbytes: usize,
    has_variable_blocks: bool,
    /// The least start that a block of different size can have: after that of the block before it.
    after: usize,
    wrong: Option<String>,
}

impl Table {
    fn new(header: &ChunkHeader) -> Self {
        let ChunkHeader { header_len, cbytes, has_variable_blocks, .. } = *header;
        let end = header_len + header.table_len().unwrap_or_default();
        Self { end, cbytes, has_variable_blocks, after: 0, wrong: None }
    }

    fn take(&mut self, number: usize, start: i32) {
        let (end, cbytes) = (self.end, self.cbytes);
        let least = if self.has_variable_blocks { end.max(self.after) } else { end };
        match usize::try_from(start) {
            Ok(start) if start >= least && start < cbytes => self.after = start + 1,
            _ if self.wrong.is_none() => {
                self.wrong = Some(format!(
                    "has block {number} at byte {start} of it, but must have it at {least} or after, and before {cbytes}"
                ));
            }
            _ => {}
        }
    }
}

/// The starts of blocks in a part of a table.
fn blocks(table: &[u8]) -> impl Iterator<Item = i32> {
    table.chunks_exact(INT32).filter_map(<[u8]>::first_chunk).map(|start| i32::from_le_bytes(*start))
}

/// Goes through the table of blocks, which follows the header. If the file ends before it does, so does this.
fn each_block<R: Read + Seek>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    header: &ChunkHeader,
    bytes: &[u8],
    mut receive: impl FnMut(usize, i32),
) -> Result<(), Error> {
    let length = header.table_len().unwrap_or_default() as u64;
    let start = header.header_len as u64;
    let mut number = 0;
    let mut receive = |piece: &[u8]| {
        for start in blocks(piece) {
            receive(number, start);
            number += 1;
        }
    };
    let at_hand =
        usize::try_from(length).ok().and_then(|length| bytes.get(header.header_len..)?.get(..length));
    if let Some(table) = at_hand {
        receive(table);
        return Ok(());
    }
    for done in (0..length).step_by(PIECE) {
        let piece = (PIECE as u64).min(length - done);
        let Ok((bytes, _)) = chunks.bytes(entry, start + done, piece)? else { break };
        if bytes.is_empty() {
            break;
        }
        receive(&bytes);
    }
    Ok(())
}

/// Where the last block of a compressed chunk ends, counted from the start of the chunk; `None` if that is not known.
fn streams_end<R: Read + Seek>(chunks: &mut Chunks<'_, R>, entry: &ChunkEntry) -> Result<Option<u64>, Error> {
    let Ok((bytes, _)) = chunks.bytes(entry, 0, FIRST_READ)? else { return Ok(None) };
    let header =
        ChunkHeader::parse(&bytes).filter(|header| header.has_table() && !header.has_variable_blocks);
    let Some(header) = header else { return Ok(None) };
    let mut last = (0, 0);
    each_block(chunks, entry, &header, &bytes, |number, start| last = last.max((start, number)))?;
    let (start, number) = last;
    // Of all blocks, only the last one can be shorter.
    let before = header.blocksize.saturating_mul(number);
    let length = header.nbytes.saturating_sub(before).min(header.blocksize);
    let Ok(mut end) = u64::try_from(start) else { return Ok(None) };
    for _ in 0..header.nstreams(length) {
        let Ok((length, _)) = chunks.bytes(entry, end, INT32 as u64)? else { return Ok(None) };
        let Some(&length) = length.first_chunk() else { return Ok(None) };
        end = end.saturating_add((INT32 + stream_len(i32::from_le_bytes(length))) as u64);
    }
    Ok(Some(end))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{self, Cursor};

    use super::*;

    #[test]
    fn chunks_that_are_too_many_to_be_compared_are_not_passed_over_in_silence() {
        let compared = "611392 chunks not compared with the others: only the first 8388608 stored chunks are";
        let mut found = Found::default();
        found.not_compared(8_388_608);
        assert_eq!(found.unchecked, []);
        found.not_compared(9_000_000);
        assert_eq!(found.unchecked[0].to_string(), compared);

        let mut found = Found::default();
        let entry = ChunkEntry { number: 7, nbytes: None, place: ChunkPlace::Frame(97) };
        found.not_decompressed(&entry, "has another codec");
        found.not_decompressed(&entry, "has a third one");
        found.not_looked_at(&entry, 10);
        found.not_compared(9_000_000);
        let says: Vec<String> = found.unchecked.iter().map(ToString::to_string).collect();
        let data = "2 chunks not decompressed: chunk 7 has another codec";
        let rest = "3 chunks not checked: from chunk 7 on, as those before it share their bytes";
        assert_eq!(says, [data, rest, compared]);
    }

    /// A file that counts its seeks.
    struct Counting<'f> {
        file: Cursor<&'f [u8]>,
        count: usize,
    }

    impl Read for Counting<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.file.read(buffer)
        }
    }

    impl Seek for Counting<'_> {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.count += 1;
            self.file.seek(to)
        }
    }

    #[test]
    fn a_table_of_blocks_is_read_to_the_end_of_the_file_and_no_further() {
        let file = fs::read("tests/data/int32_3x5.b2nd").unwrap();
        let entry = ChunkEntry { number: 0, nbytes: None, place: ChunkPlace::Frame(165) };
        let (nbytes, blocksize, cbytes) = (1_u32 << 28, 1_u32, 1_u32 << 30);
        let sizes = [nbytes, blocksize, cbytes].map(u32::to_le_bytes).concat();
        let bytes = [&[5, 1, 5, 1], &sizes[..], &[0; 16]].concat();
        let header = ChunkHeader::parse(&bytes).unwrap();
        assert_eq!(header.table_len(), Some(1 << 30));
        let mut frame = Frame::read_at(Counting { file: Cursor::new(&file), count: 0 }, 0).unwrap();
        each_block(&mut frame.chunks().unwrap(), &entry, &header, &bytes, |_, _| {}).unwrap();
        let count = frame.reader.count;
        assert!(count < 20, "{count}");
    }

    #[test]
    fn of_any_number_of_chunks_192_mebibytes_are_kept() {
        let mut survey = Survey::new(Depth::ChunkHeaders, 0);
        let count = MAX_COMPARED as u64 + 1;
        (0..count).for_each(|number| survey.keep(Span { start: number, end: number, number }));
        assert_eq!((survey.spans.len(), survey.nstored), (MAX_COMPARED, count));
        assert_eq!(size_of_val(&survey.spans[..]), 192 << 20);
    }
}
