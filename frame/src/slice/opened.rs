//! What is known of an open array, without a reader: what was checked once, and what was read of its index and chunks.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use b2nd_chunk::ChunkHeader;
use b2nd_serde::{Dtype, Geometry, Meta};

use crate::chunk::chunk_rules::ChunkRules;
use crate::error::Error;
use crate::finding::first_error;
use crate::header::array_rules::{agreement, valid_geometry};
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::header::header_rules;
use crate::header::object_kind::ObjectKind;
use crate::index::index_reader::Index;
use crate::slice::cache::Cache;
use crate::slice::scratch::Scratch;
use crate::slice::window::Window;

/// The largest size of all kept pages of the chunk index, and of all kept starts of chunks, in bytes.
pub(crate) const CACHE_LEN: usize = 1 << 22;

/// The largest size of the kept memory for decompressing, in bytes.
pub(crate) const SCRATCH_LEN: usize = 1 << 24;

/// An open array, which any number of threads use.
pub(crate) struct Opened {
    pub(super) header: Header,
    pub(super) meta: Meta,
    pub(super) geometry: Geometry,
    /// The dtype; `None` if the layout has none. The error is a text.
    pub(super) dtype: Result<Option<Dtype>, String>,
    /// The item size in bytes, at least 1.
    pub(super) typesize: usize,
    pub(super) rules: ChunkRules,
    index: OnceLock<(Index, Window)>,
    pages: Mutex<Cache<Arc<Vec<u8>>>>,
    starts: Mutex<Cache<ChunkStart>>,
    scratch: Mutex<Vec<Scratch>>,
}

/// The first bytes of a chunk, up to the end of its table of blocks, and the header in them, which has been checked.
#[derive(Clone, Debug)]
pub(super) struct ChunkStart {
    pub(super) header: ChunkHeader,
    pub(super) bytes: Arc<[u8]>,
}

impl Opened {
    /// The array of a frame. An error if the frame has no array, if the data is not in this frame, if the items are Python
    /// objects, or if the header breaks a rule.
    pub(crate) fn new<R>(frame: &Frame<R>) -> Result<Self, Error> {
        let kind = frame.kind();
        if let Some(action) = kind.action() {
            let why = match kind {
                ObjectKind::Proxy => "is a cache, which may lack a part of it",
                _ => "is not here",
            };
            return Err(Error::unsupported(format_args!(
                "the data of this {kind} {why}: a reader must {action}"
            )));
        }
        let array = frame.array()?.filter(|_| kind == ObjectKind::NDArray);
        let array = array.ok_or_else(|| {
            Error::unsupported(format_args!("the frame has no array: it is of the kind {kind}"))
        })?;
        let dtype = array.meta().parse_dtype().map_err(|error| error.to_string());
        if dtype.as_ref().is_ok_and(|dtype| dtype.as_ref().is_some_and(Dtype::has_objects)) {
            return Err(Error::unsupported(
                "the items are pointers to Python objects, which were lost with the process that wrote them",
            ));
        }
        let mut findings = header_rules::check(frame);
        findings.extend(agreement(&array, frame.header()));
        if let Some(finding) = first_error(&findings) {
            return Err(Error::malformed(finding.clone()));
        }
        Ok(Self {
            geometry: valid_geometry(&array)?,
            meta: array.meta().clone(),
            dtype,
            // The typesize is at least 1, because `agreement` refuses a smaller one.
            typesize: usize::try_from(frame.header().typesize).unwrap_or_default().max(1),
            rules: ChunkRules::new(frame.header(), true),
            header: frame.header().clone(),
            index: OnceLock::new(),
            pages: Mutex::new(Cache::new(CACHE_LEN)),
            starts: Mutex::new(Cache::new(CACHE_LEN)),
            scratch: Mutex::default(),
        })
    }

    /// The chunk index with its first bytes, if they have been read.
    pub(super) fn index(&self) -> Option<&(Index, Window)> {
        self.index.get()
    }

    /// Keeps the first bytes of the chunk index.
    pub(super) fn set_index(&self, start: Window) -> Result<(), Error> {
        if self.index.get().is_none() {
            let index = Index::parse(&self.header, start.rest().to_vec())?;
            // Another thread may have read the same bytes meanwhile.
            let _ = self.index.set((index, start));
        }
        Ok(())
    }

    /// A page of the chunk index, if it is kept.
    pub(super) fn page(&self, number: u64) -> Option<Arc<Vec<u8>>> {
        locked(&self.pages).get(number)
    }

    pub(super) fn keep_page(&self, number: u64, page: &Arc<Vec<u8>>) {
        locked(&self.pages).insert(number, Arc::clone(page), page.len());
    }

    /// The start of a chunk, if it is kept.
    pub(super) fn start(&self, chunk: u64) -> Option<ChunkStart> {
        locked(&self.starts).get(chunk)
    }

    pub(super) fn keep_start(&self, chunk: u64, start: &ChunkStart) {
        let nbytes = start.bytes.len() + size_of::<ChunkStart>();
        locked(&self.starts).insert(chunk, start.clone(), nbytes);
    }

    /// Takes memory for decompressing.
    pub(super) fn scratch(&self) -> Scratch {
        locked(&self.scratch).pop().unwrap_or_default()
    }

    /// Keeps memory for decompressing, for the next slice.
    pub(super) fn keep_scratch(&self, scratch: Scratch) {
        let mut kept = locked(&self.scratch);
        let nbytes: usize = kept.iter().chain([&scratch]).map(Scratch::nbytes).sum();
        if nbytes <= SCRATCH_LEN {
            kept.push(scratch);
        }
    }
}

/// Locks a mutex. If a thread has panicked with it, a value may be missing in it, but all values in it are right.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
