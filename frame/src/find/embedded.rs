//! The frames in the compressed data of a store.

use core::ops::Range;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use crate::chunk::expansion::expansion_limit;
use crate::error::Error;
use crate::file_version::FileVersion;
use crate::finding::Escaped;
use crate::header::frame::Frame;
use crate::read::chunks::Chunks;
use crate::read::trailer::trailer_or_changing;
use crate::source::ReadAt;
use crate::trailer::embed_list::EmbedPlace;

/// Reads the frames in the compressed data of a store, one at a time. The store is a `.b2e` file, or the `embed.b2e` in
/// a folder or zip file. [`keys`](Self::keys) lists these frames. [`Trailer::embedded`](crate::Trailer::embedded) also
/// lists the keys of arrays on a server, which have no frame in the store.
///
/// An `EmbeddedFrames` is the source of the [selected](Self::select) frame, which begins at offset 0. It decompresses
/// one chunk of the store at a time, and keeps the last one. Only one thread reads at a time; other threads wait. The
/// total number of bytes that an `EmbeddedFrames` decompresses is at most the [expansion limit](expansion_limit()) of
/// the store. The frames of a [`Store`](crate::Store) can be read any number of times, so a `Store` applies this limit
/// only to each single chunk.
///
/// ```
/// use b2nd_frame::{EmbeddedFrames, Frame};
///
/// let mut frames = EmbeddedFrames::new(Frame::open("tests/data/peers/store.b2e")?)?;
/// assert_eq!(frames.keys(), ["/node"]);
/// assert!(frames.select("/node")?);
/// let frame = Frame::read_at(&mut frames, 0)?;
/// assert_eq!(frame.array()?.expect("an array").shape(), [3]);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Debug)]
pub struct EmbeddedFrames<R> {
    store: Frame<R>,
    places: BTreeMap<String, EmbedPlace>,
    selected: Range<u64>,
    data: Mutex<StoreData>,
}

/// The decompressed data of a store.
#[derive(Debug)]
struct StoreData {
    /// The number and the data of the most recently decompressed chunk.
    chunk: Option<(u64, Vec<u8>)>,
    /// The number of bytes that may still be decompressed; `None` if only the size of each single chunk is limited.
    /// Only the last chunk is kept, so a chunk that is needed again later is decompressed again. Without this limit,
    /// many frames in a hostile store could make us decompress the same chunks many times.
    left: Option<u64>,
}

impl<R: ReadAt> EmbeddedFrames<R> {
    /// Reads the list of the frames that are in the data of a store. The list is in the trailer of the store, so the
    /// data is not read. If the store has no list, there are no frames.
    ///
    /// # Errors
    ///
    /// The errors of [`Frame::trailer`], and [`Unsupported`](crate::ErrorKind::Unsupported) if two frames share bytes.
    pub fn new(store: Frame<R>) -> Result<Self, Error> {
        let places = trailer_or_changing(&store)?.embed_map().unwrap_or_default();
        let left = Some(expansion_limit(store.header().frame_len));
        let data = Mutex::new(StoreData { chunk: None, left });
        let frames = Self { store, places, selected: 0..0, data };
        // Refuse frames that share bytes. Otherwise, a small file could make us read the same frame any number of
        // times.
        let shared = frames.in_order().windows(2).find_map(|pair| match pair {
            [(first, key), (second, other)] if second.start < first.end => Some((*key, *other)),
            _ => None,
        });
        match shared {
            Some((key, other)) => Err(Error::unsupported(format_args!(
                "{} and {} share bytes in the data of the store",
                Escaped(key),
                Escaped(other)
            ))),
            None => Ok(frames),
        }
    }

    /// Limits the size of each decompressed chunk, but not the total size. So an array can be read any number of times.
    #[doc(hidden)]
    #[must_use]
    pub fn without_total_limit(mut self) -> Self {
        self.data.get_mut().unwrap_or_else(PoisonError::into_inner).left = None;
        self
    }

    /// The byte ranges of the frames and their keys, in the order of the data.
    fn in_order(&self) -> Vec<(&Range<u64>, &str)> {
        let ranges = self.places.iter().filter_map(|(key, place)| match place {
            EmbedPlace::Data(range) => Some((range, key.as_str())),
            EmbedPlace::Server | EmbedPlace::Unknown => None,
        });
        let mut ranges: Vec<_> = ranges.collect();
        ranges.sort_unstable_by_key(|&(range, key)| (range.start, range.end, key));
        ranges
    }

    /// The keys of the frames, in the order of the data.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.in_order().into_iter().map(|(_, key)| key.into()).collect()
    }

    /// Selects the frame to read, by its key. Returns false if no frame has this key.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the store has the key, but the array of this key is on a
    /// server, or its entry in the list is damaged.
    pub fn select(&mut self, key: &str) -> Result<bool, Error> {
        let why = match self.places.get(key) {
            Some(EmbedPlace::Data(range)) => {
                // A damaged list can claim bytes that the store does not have.
                let nbytes = u64::try_from(self.store.header().nbytes).unwrap_or_default();
                self.selected = range.start.min(nbytes)..range.end.min(nbytes);
                return Ok(true);
            }
            Some(EmbedPlace::Server) => "is on a server, not in the store",
            Some(EmbedPlace::Unknown) => "has neither an offset and a length nor a URL",
            None => return Ok(false),
        };
        Err(Error::unsupported(format_args!("the data of {} {why}", Escaped(key))))
    }

    /// Reads bytes of the selected frame, starting at `offset`, until the buffer is full or the frame ends.
    fn read_data(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let Self { store, selected, data, .. } = self;
        let chunksize = u64::try_from(store.header().chunksize).ok().filter(|&size| size > 0);
        let chunksize =
            chunksize.ok_or_else(|| Error::unsupported("the chunks of the store differ in size"))?;
        let (mut opened, mut filled) = (None, 0);
        let mut data = data.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let start = selected.start.saturating_add(offset).saturating_add(filled as u64);
            let (number, within) =
                (start / chunksize, usize::try_from(start % chunksize).unwrap_or(usize::MAX));
            if start >= selected.end {
                break;
            }
            if data.chunk.as_ref().is_none_or(|&(last, _)| last != number) {
                // Read the chunk index only if a chunk other than the kept one is needed.
                let chunks = match &mut opened {
                    Some(chunks) => chunks,
                    None => opened.insert(Chunks::open_or_changing(store)?),
                };
                let Some(entry) = chunks.get(number)? else { break };
                let (nbytes, stored) = (entry.nbytes.unwrap_or(chunksize), store.header().frame_len);
                let most = data.left.unwrap_or_else(|| expansion_limit(stored));
                let left = most.checked_sub(nbytes).ok_or_else(|| {
                    Error::too_large(format_args!(
                        "chunk {number} of the store decompresses to {nbytes} bytes, but at most {most} are left for a store of {stored} bytes"
                    ))
                })?;
                data.left = data.left.map(|_| left);
                data.chunk = Some((number, chunks.decompressed(&entry)?));
            }
            let chunk = data.chunk.as_ref().and_then(|(_, chunk)| chunk.get(within..)).unwrap_or_default();
            let length =
                chunk.len().min(rest.len()).min(usize::try_from(selected.end - start).unwrap_or(usize::MAX));
            let (Some(chunk), Some(rest)) = (chunk.get(..length), rest.get_mut(..length)) else { break };
            if chunk.is_empty() {
                break;
            }
            rest.copy_from_slice(chunk);
            filled += length;
        }
        Ok(filled)
    }
}

impl<R: ReadAt> ReadAt for EmbeddedFrames<R> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_data(buffer, offset).map_err(io::Error::from)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.selected.end - self.selected.start)
    }

    fn version(&self) -> Option<FileVersion> {
        self.store.reader().version()
    }
}
