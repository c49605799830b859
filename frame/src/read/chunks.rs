//! The chunks of a frame: their places, headers and bytes.

use core::iter::FusedIterator;
use core::ops::Range;

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::internals::clear_lazy;

use crate::chunk::chunk_rules::{ChunkRules, missing, not_a_chunk, wrong};
use crate::chunk::entry::{ChunkCounts, ChunkEntry, ChunkPlace, ENTRY_LEN, EntryValue, index_start};
use crate::chunk::special_item::has_item;
use crate::error::{Error, ErrorKind};
use crate::header::fields::Generation;
use crate::header::frame::Frame;
use crate::index::index_reader::Index;
use crate::read::chunk_file_bytes::ChunkBytes;
use crate::read::frame_state::ChunkFileState;
use crate::source::ReadAt;
use crate::spans::{gaps, merged};

/// An iterator over the entries of the chunk index, from [`Frame::chunks`]. After an error, the iterator returns no
/// more entries.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let mut chunks = frame.chunks()?;
/// // A `for` loop would borrow `chunks`, but the call of `header` also needs `chunks`. So this is a `while` loop.
/// while let Some(entry) = chunks.next().transpose()? {
///     if let Some(header) = chunks.header(&entry)? {
///         println!("chunk {}: {} bytes", entry.number, header.cbytes());
///     }
/// }
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Debug)]
pub struct Chunks<'f, R> {
    pub(crate) frame: &'f Frame<R>,
    /// `None` if the frame has no chunks, or after an error.
    index: Option<Index>,
    next: u64,
    page: Vec<u8>,
    /// The number of the index page that `page` holds; `None` before the first page is read.
    page_number: Option<u64>,
    lookahead: Lookahead,
    /// The numbers of the chunks whose first bytes were announced to the source.
    announced: Range<u64>,
    /// The rules for chunk headers, created on first use.
    rules: Option<ChunkRules>,
    /// The chunk file that was read last.
    chunk_file: Option<ChunkFileState>,
    /// Whether, after the next error, this frame is compared with the frame at its path. If they differ, the error
    /// becomes `Changing`.
    is_compared: bool,
}

/// The bytes of the last read, kept because the next read often needs some of them. If small chunks are near each
/// other, a read is longer than requested (a look-ahead read), so that it covers the headers of many chunks.
#[derive(Debug, Default)]
struct Lookahead {
    start: u64,
    bytes: Vec<u8>,
    /// The highest offset at which a look-ahead read has ended. A later read becomes a look-ahead read only if its
    /// requested bytes end beyond this offset. Bytes before this offset are never read ahead again.
    furthest: u64,
}

impl Lookahead {
    /// The largest gap for a look-ahead read. If the next read begins more than this number of bytes after the end of
    /// the last read, only the requested bytes are read.
    // A gap between two headers holds the data of a chunk. If the gap is larger than this, a longer read would mostly
    // read the data of chunks, and few headers.
    const DISTANCE: u64 = 1 << 11;

    /// The number of bytes of a look-ahead read.
    // Such a read covers the headers of 16 chunks of 2 KiB, or of more chunks if they are smaller. It takes hardly
    // longer than a read of 32 bytes.
    const LEN: u64 = 1 << 15;

    /// The kept bytes from `start` on.
    fn from(&self, start: u64) -> &[u8] {
        let from = start.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        from.and_then(|from| self.bytes.get(from..)).unwrap_or_default()
    }

    fn get(&self, start: u64, length: u64) -> Option<&[u8]> {
        self.from(start).get(..usize::try_from(length).ok()?)
    }

    /// The number of bytes to read at `start`, if `length` bytes are requested.
    fn length(&self, start: u64, length: u64) -> u64 {
        let end = self.start.saturating_add(self.bytes.len() as u64);
        let is_near = start >= self.start && start <= end.saturating_add(Self::DISTANCE);
        let is_new = start.saturating_add(length) > self.furthest;
        if is_near && is_new { length.max(Self::LEN) } else { length }
    }
}

/// The maximum number of chunks whose first bytes are announced to the source at a time.
const MOST_ANNOUNCED: u64 = 256;

/// The maximum number of bytes that are announced for each chunk. A longer read is not announced.
const MOST_EACH: u64 = 1 << 12;

/// Counts the stored and the special chunks.
pub(crate) fn count<R: ReadAt>(frame: &Frame<R>) -> Result<ChunkCounts, Error> {
    let mut counts = ChunkCounts::default();
    let mut chunks = Chunks::open_or_changing(frame)?;
    let (len, is_repeated) = (chunks.len(), chunks.is_repeated());
    while let Some(entry) = chunks.next().transpose()? {
        let count = counts.count_mut(entry.place);
        if is_repeated {
            *count = len;
            break;
        }
        *count += 1;
    }
    Ok(counts)
}

/// When this number of byte ranges of chunks is reached, ranges that touch or overlap are joined for the first time. A
/// range takes 16 bytes of memory.
const LEAST_JOINED: usize = 1 << 12;

/// Counts the bytes between the header and the chunk index that belong to no chunk.
pub(crate) fn unowned_bytes<R: ReadAt>(frame: &Frame<R>) -> Result<u64, Error> {
    let (mut spans, mut most) = (Vec::new(), LEAST_JOINED);
    let mut chunks = Chunks::open_or_changing(frame)?;
    // A frame without data has no index. python-blosc2 can leave an old `cbytes` in the header of such a frame, and
    // then `chunks.end()` would be wrong.
    if chunks.len() == 0 || frame.header().is_sparse() {
        return Ok(0);
    }
    let is_repeated = chunks.is_repeated();
    while let Some(entry) = chunks.next().transpose()? {
        if let (ChunkPlace::Frame(start), Some(header)) = (entry.place, chunks.checked_header(&entry)?) {
            spans.push(start..start.saturating_add(header.cbytes() as u64));
            // Many entries can point to the same chunk. So the ranges are joined, which leaves at most as many ranges
            // as chunks fit in the frame. Joining sorts all ranges, so it is repeated only when their number has
            // doubled.
            if spans.len() >= most {
                spans = merged(spans);
                most = (2 * spans.len()).max(LEAST_JOINED);
            }
        }
        if is_repeated {
            break;
        }
    }
    let within = frame.header().header_len as u64..chunks.end();
    Ok(gaps(merged(spans), within).map(|gap| gap.end - gap.start).sum())
}

impl<R: ReadAt> Frame<R> {
    /// Reads the chunk index. An error of the index or of a chunk is not replaced by `Changing`, even if a writer may
    /// have caused the error.
    pub(crate) fn open_chunks(&self) -> Result<Chunks<'_, R>, Error> {
        let index = self.index()?;
        Ok(Chunks::new(self, index))
    }

    /// Reads the chunk index for a salvage. If the chunk header of the index has the flag of a lazily loaded chunk, the
    /// flag is cleared in memory.
    pub(crate) fn open_salvaged_chunks(&self) -> Result<Chunks<'_, R>, Error> {
        let has_chunks = self.header().nbytes > 0;
        let index = has_chunks.then(|| {
            let mut first = self.index_bytes(self.header().frame_len)?;
            clear_lazy(&mut first);
            Index::parse(self.header(), first)
        });
        Ok(Chunks::new(self, index.transpose()?))
    }

    fn index(&self) -> Result<Option<Index>, Error> {
        if self.header().nbytes > 0 { self.open_index().map(Some) } else { Ok(None) }
    }

    fn open_index(&self) -> Result<Index, Error> {
        let first = match self.header().generation {
            Generation::Present => self.index_bytes(self.header().frame_len)?,
            // `Index::parse` refuses a frame of the older generation, so nothing needs to be read.
            _ => Vec::new(),
        };
        Index::parse(self.header(), first)
    }

    /// Reads the first [`Index::START_LEN`] bytes of the chunk index. Reads no byte from `end` on, because the index
    /// must end at `end` or before.
    pub(crate) fn index_bytes(&self, end: u64) -> Result<Vec<u8>, Error> {
        let start = index_start(self.header());
        let length = end.saturating_sub(start).min(Index::START_LEN as u64);
        if length > 0 { self.read_range(start, length) } else { Ok(Vec::new()) }
    }
}

impl<'f, R> Chunks<'f, R> {
    fn new(frame: &'f Frame<R>, index: Option<Index>) -> Self {
        Self {
            frame,
            index,
            next: 0,
            page: Vec::new(),
            page_number: None,
            lookahead: Lookahead::default(),
            announced: 0..0,
            rules: None,
            chunk_file: None,
            is_compared: false,
        }
    }
}

impl<'f, R: ReadAt> Chunks<'f, R> {
    /// Reads the chunk index of a frame. An error of the index or of a chunk is replaced by `Changing` if a writer may
    /// have caused the error.
    pub(crate) fn open_or_changing(frame: &'f Frame<R>) -> Result<Self, Error> {
        match frame.index() {
            Ok(index) => Ok(Self { is_compared: true, ..Self::new(frame, index) }),
            Err(error) => Err(frame.or_changing(error, None)),
        }
    }

    /// Replaces an error by `Changing` if a writer may have caused it.
    pub(crate) fn or_changing<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        let Err(error) = result else { return result };
        if !self.is_compared {
            return Err(error);
        }
        let error = self.frame.or_changing(error, self.chunk_file.as_ref());
        // A comparison reads the header, the index and the trailer at least twice. In a damaged frame, each chunk can
        // have an error. So after a comparison that finds no change, there are no further comparisons.
        self.is_compared = error.kind() == ErrorKind::Changing;
        Err(error)
    }

    /// Reads the entry of a chunk by its number; `None` if the frame has no chunk with this number. The position of the
    /// iterator does not change.
    ///
    /// Entries can be read in any order. Each call reads a page of the index, unless the entry is in the page that was
    /// read last.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if the page of the index is damaged. After an error, this call and
    /// the iterator return no more entries.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let mut chunks = frame.chunks()?;
    /// let third = chunks.get(2)?.expect("a chunk");
    /// let second = chunks.get(1)?.expect("a chunk");
    /// assert_eq!((third.number, second.number), (2, 1));
    /// assert_eq!(chunks.get(4)?, None);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn get(&mut self, number: u64) -> Result<Option<ChunkEntry>, Error> {
        let entry = self.entry(number);
        if entry.is_err() {
            self.index = None;
        }
        self.or_changing(entry)
    }

    /// Reads the header of a chunk; `None` if the chunk is not stored. The values in the header may be wrong:
    /// [`checked_header`] compares them with the frame.
    ///
    /// [`checked_header`]: Self::checked_header
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if the bytes are not a chunk header, or the chunk file of a sparse
    /// frame is missing. [`InvalidInput`](crate::ErrorKind::InvalidInput) for a sparse frame that was not opened by its
    /// path.
    ///
    /// ```
    /// use b2nd_frame::{Frame, SpecialValue};
    ///
    /// let frame = Frame::open("tests/data/peers/special_full.b2nd")?;
    /// let mut chunks = frame.chunks()?;
    /// while let Some(entry) = chunks.next().transpose()? {
    ///     let header = chunks.header(&entry)?.expect("a stored chunk");
    ///     assert_eq!(header.special(), Some(SpecialValue::Value));
    /// }
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn header(&mut self, entry: &ChunkEntry) -> Result<Option<ChunkHeader>, Error> {
        if !entry.is_stored() {
            return Ok(None);
        }
        let header = self.unchecked_header(entry).map(|(header, _)| Some(header));
        self.or_changing(header)
    }

    /// Reads the header of a stored chunk, without comparing it with the frame. Also returns the room for the chunk
    /// (see [`ChunkBytes`]).
    pub(crate) fn unchecked_header(&mut self, entry: &ChunkEntry) -> Result<(ChunkHeader, u64), Error> {
        let ChunkBytes { bytes, room, .. } = self.stored_bytes(entry, ChunkHeader::MAX_LEN as u64)?;
        let header = ChunkHeader::parse(&bytes).ok_or_else(|| Error::malformed(not_a_chunk(entry)))?;
        Ok((header, room))
    }

    /// Reads the header of a chunk, as [`header`](Self::header) does, and compares it with the frame.
    ///
    /// # Errors
    ///
    /// The errors of [`header`](Self::header), and [`Malformed`](crate::ErrorKind::Malformed) if the sizes in the
    /// header contradict the frame or each other. The error for such sizes has the same finding as a check with depth
    /// [`CheckDepth::ChunkHeaders`](crate::CheckDepth::ChunkHeaders).
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// // Chunk 1 of this file begins at byte 229. Bytes 12 to 15 of a chunk record its length.
    /// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// file[229 + 15] = 0x40;
    /// let frame = Frame::read_at(file, 0)?;
    /// let mut chunks = frame.chunks()?;
    /// let second = chunks.get(1)?.expect("a chunk");
    /// assert_eq!(chunks.header(&second)?.expect("a stored chunk").cbytes(), 1073741888);
    /// let error = chunks.checked_header(&second).unwrap_err();
    /// let finding = error.finding().expect("what is wrong");
    /// assert_eq!(finding.message(), "chunk 1 has 1073741888 bytes, but at most 192 are left for it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_header(&mut self, entry: &ChunkEntry) -> Result<Option<ChunkHeader>, Error> {
        if !entry.is_stored() {
            return Ok(None);
        }
        // The rules are kept for later calls, because creating them parses the array's metalayer.
        let frame = self.frame;
        let rules = self.rules.take().unwrap_or_else(|| ChunkRules::new(frame.header(), frame.is_array()));
        let header = self.valid_header(entry, &rules);
        self.rules = Some(rules);
        self.or_changing(header.map(Some))
    }

    /// Reads the header of a stored chunk, and returns an error if the header breaks one of `rules`.
    pub(crate) fn valid_header(
        &mut self,
        entry: &ChunkEntry,
        rules: &ChunkRules,
    ) -> Result<ChunkHeader, Error> {
        let (header, room) = self.unchecked_header(entry)?;
        let wrong = |why: String| Error::malformed(wrong(entry, &why));
        rules.check(&header, entry.nbytes, room).map(|()| header).map_err(wrong)
    }

    /// Reads the stored bytes of a chunk, for a Blosc2 decompressor; `None` if the chunk is not stored. A chunk is not
    /// stored if it is special, or if its entry in the chunk index is invalid.
    ///
    /// This call compares the header with the frame, as [`checked_header`](Self::checked_header) does. It does not
    /// check the bytes after the header, so they may be damaged.
    ///
    /// # Errors
    ///
    /// The errors of [`checked_header`](Self::checked_header), and [`Malformed`](crate::ErrorKind::Malformed) if the
    /// file has become shorter since it was opened.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/sparse.b2nd")?;
    /// let mut chunks = frame.chunks()?;
    /// let first = chunks.next().expect("a chunk")?;
    /// let chunk = chunks.compressed(&first)?.expect("a stored chunk");
    /// assert_eq!(chunk, std::fs::read("tests/data/sparse.b2nd/00000000.chunk")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compressed(&mut self, entry: &ChunkEntry) -> Result<Option<Vec<u8>>, Error> {
        let Some(header) = self.checked_header(entry)? else { return Ok(None) };
        let cbytes = header.cbytes();
        let chunk = self.range(entry, 0..cbytes, cbytes).map(Some);
        self.or_changing(chunk)
    }

    /// Reads the bytes of a stored chunk that are in `range`. `cbytes` is the length of the chunk according to its
    /// header.
    pub(super) fn range(
        &mut self,
        entry: &ChunkEntry,
        range: Range<usize>,
        cbytes: usize,
    ) -> Result<Vec<u8>, Error> {
        let read = self.bytes(entry, range.start as u64, range.len() as u64)?;
        let bytes = read.ok_or_else(|| Error::malformed(missing(entry)))?.bytes;
        if bytes.len() < range.len() {
            let found = range.start + bytes.len();
            let why = format!("has {cbytes} bytes, but only {found} can be read");
            return Err(Error::malformed(wrong(entry, &why)));
        }
        Ok(bytes)
    }

    /// Reads the first `length` bytes of a stored chunk, or all its bytes if it has fewer. A missing chunk file is an
    /// error.
    pub(crate) fn stored_bytes(&mut self, entry: &ChunkEntry, length: u64) -> Result<ChunkBytes, Error> {
        self.bytes(entry, 0, length)?.ok_or_else(|| Error::malformed(missing(entry)))
    }

    /// Reads up to `length` bytes of a stored chunk, beginning at byte `from` of the chunk; `None` if the chunk file of
    /// a sparse frame is missing.
    pub(crate) fn bytes(
        &mut self,
        entry: &ChunkEntry,
        from: u64,
        length: u64,
    ) -> Result<Option<ChunkBytes>, Error> {
        match entry.place {
            ChunkPlace::Frame(start) => {
                let room = self.end().saturating_sub(start);
                let length = length.min(room.saturating_sub(from));
                if from == 0 && length <= MOST_EACH {
                    self.announce(entry, length)?;
                }
                let bytes = self.near(start.saturating_add(from), length)?;
                Ok(Some(ChunkBytes { bytes, room, version: None }))
            }
            ChunkPlace::File(number) => {
                let read = self.frame.file_bytes(number, from, length)?;
                let version = read.as_ref().and_then(|read| read.version);
                self.chunk_file = Some(ChunkFileState { number, version });
                Ok(read)
            }
            ChunkPlace::Special(_) | ChunkPlace::Invalid(_) => {
                Ok(Some(ChunkBytes { bytes: Vec::new(), room: 0, version: None }))
            }
        }
    }

    /// The offset of a stored chunk in its file. If the frame is inside another file, this is the offset in that other
    /// file, not in the frame.
    pub(crate) fn offset_in_file(&self, entry: &ChunkEntry) -> u64 {
        match entry.place {
            ChunkPlace::Frame(start) => self.frame.offset().saturating_add(start),
            _ => 0,
        }
    }

    /// Returns `length` bytes of the frame from `start` on, which must lie before the end of the chunks. If the last
    /// read covers these bytes, they are not read again.
    fn near(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        if let Some(bytes) = self.lookahead.get(start, length) {
            return Ok(bytes.to_vec());
        }
        let ahead = if self.announced.is_empty() { self.lookahead.length(start, length) } else { length };
        let longest = ahead.min(self.end().saturating_sub(start));
        let mut bytes = self.lookahead.from(start).to_vec();
        let known = bytes.len() as u64;
        bytes.append(&mut self.frame.read_range(start + known, longest - known)?);
        // Do not keep this many bytes: copying them takes longer than a separate read of the next header.
        if length > Lookahead::LEN {
            return Ok(bytes);
        }
        let furthest = self.lookahead.furthest.max(if longest > length { start + longest } else { 0 });
        self.lookahead = Lookahead { start, bytes, furthest };
        Ok(self.lookahead.get(start, length).unwrap_or_default().to_vec())
    }

    /// If requests to the source have a delay, announces the first `length` bytes of a chunk, and of the chunks after
    /// it in the index. The source can then request the headers of many chunks at the same time. The source may keep
    /// the bytes only until the next announcement. So if chunks are not read in the order of the index, some bytes are
    /// announced again.
    fn announce(&mut self, entry: &ChunkEntry, length: u64) -> Result<(), Error> {
        if self.announced.contains(&entry.number) || self.frame.reader().bytes_per_round_trip() == 0 {
            return Ok(());
        }
        let (Some(index), Some(page)) = (&self.index, self.page_number) else { return Ok(()) };
        let page_end = page.saturating_add(1).saturating_mul(index.page_len()).min(index.len());
        let end = page_end.min(entry.number.saturating_add(MOST_ANNOUNCED));
        if entry.number / index.page_len() != page {
            return Ok(());
        }
        let entries = (entry.number..end).map(|number| index.entry(number, &self.page, self.frame.header()));
        let starts = entries.filter_map(|entry| match entry.place {
            ChunkPlace::Frame(start) if start < self.end() => Some(start),
            _ => None,
        });
        let mut starts: Vec<_> = starts.chain([self.end()]).collect();
        starts.sort_unstable();
        starts.dedup();
        let ends = starts.iter().skip(1);
        let first = |(&start, &next): (&u64, &u64)| start..start.saturating_add(length).min(next);
        self.frame.read_ahead(starts.iter().zip(ends).map(first))?;
        self.announced = entry.number..end;
        Ok(())
    }

    /// The number of chunks.
    pub(crate) fn len(&self) -> u64 {
        self.index.as_ref().map_or(0, Index::len)
    }

    /// Whether the index stores one value for all entries, instead of an entry for each chunk.
    pub(crate) fn is_repeated(&self) -> bool {
        self.index.as_ref().is_some_and(Index::is_repeated)
    }

    /// The offset in the frame at which the chunks end.
    pub(crate) fn end(&self) -> u64 {
        index_start(self.frame.header())
    }

    /// The chunk index; `None` if there are no chunks.
    pub(crate) fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// The 8 bytes of an entry. The page of this entry must be the page that was read last.
    pub(crate) fn entry_bytes(&self, number: u64) -> [u8; ENTRY_LEN] {
        self.index.as_ref().map(|index| index.entry_bytes(number, &self.page)).unwrap_or_default()
    }

    /// The int64 of an entry that has a special value, but also bits that do not belong to this value; `None` for any
    /// other entry. `entry` must be the entry that was read last.
    // No writer sets such bits. If the high byte of an entry was damaged, these bits can be the offset of a stored
    // chunk. C-Blosc2 ignores these bits, so it then reads a special chunk instead of the stored chunk.
    pub(crate) fn other_bits(&self, entry: &ChunkEntry) -> Option<i64> {
        let ChunkPlace::Special(special) = entry.place else { return None };
        let value = i64::from_le_bytes(self.entry_bytes(entry.number));
        (EntryValue::Special(special).value() != value).then_some(value)
    }

    /// Whether an entry has a special value that is possible for the item size, and no bits that do not belong to this
    /// value. `entry` must be the entry that was read last.
    pub(crate) fn is_special(&self, entry: &ChunkEntry) -> bool {
        let ChunkPlace::Special(special) = entry.place else { return false };
        self.other_bits(entry).is_none() && has_item(special, self.frame.header().typesize.into())
    }

    fn entry(&mut self, number: u64) -> Result<Option<ChunkEntry>, Error> {
        let Some(index) = &self.index else { return Ok(None) };
        if number >= index.len() {
            return Ok(None);
        }
        let page_number = number / index.page_len();
        // Only the page that was read last is kept, so memory does not grow with the length of the index.
        if self.page_number != Some(page_number) {
            self.page = index.page(page_number, |start, length| self.frame.read_range(start, length))?;
            self.page_number = Some(page_number);
        }
        Ok(Some(index.entry(number, &self.page, self.frame.header())))
    }
}

impl<R: ReadAt> Iterator for Chunks<'_, R> {
    type Item = Result<ChunkEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.get(self.next).transpose();
        self.next = self.next.saturating_add(1);
        entry
    }

    fn nth(&mut self, count: usize) -> Option<Self::Item> {
        self.next = self.next.saturating_add(count as u64);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.index.as_ref().map_or(0, |index| index.len().saturating_sub(self.next));
        // An error ends the iteration, and the next item can be an error. So only one item is certain, even if many
        // entries are left.
        (usize::from(left > 0), usize::try_from(left).ok())
    }
}

impl<R: ReadAt> FusedIterator for Chunks<'_, R> {}
