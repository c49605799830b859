//! The part of an open array that needs no reader: the checked header, and the bytes of the index and the chunks that
//! the array keeps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use b2nd_chunk::CheckedHeader;
use b2nd_serde::{Dtype, Geometry, Meta, Shapes, dtype};

use crate::chunk::chunk_rules::ChunkRules;
use crate::error::{Error, ErrorKind};
use crate::file_version::StampHash;
use crate::finding::{Finding, first_error};
use crate::header::array_header::ArrayHeader;
use crate::header::array_rules::{agreement, valid_geometry};
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::header::header_rules;
use crate::index::index_reader::Index;
use crate::slice::cache::Cache;
use crate::slice::linear::Linear;
use crate::slice::scratch::Scratch;
use crate::slice::window::Window;
use crate::trailer::frame_trailer::Trailer;
use crate::trailer::packed_tensor::{checked_tensor, item_size};

/// The maximum size in bytes of all kept pages of the chunk index together. The same limit applies to all kept starts
/// of chunks.
pub(crate) const CACHE_LEN: usize = 1 << 22;

/// The maximum size in bytes of the kept memory for decompressing.
pub(crate) const SCRATCH_LEN: usize = 1 << 24;

/// An open array, which any number of threads can use.
pub(crate) struct SharedArray {
    pub(super) header: Header,
    pub(super) layout: ChunkLayout,
    /// The positions of the items. For a super-chunk, only the shape has a meaning: all numbers in the chunk shape and
    /// the block shape are 1.
    pub(crate) geometry: Geometry,
    /// The dtype; `None` if the layout has none. If the dtype is invalid, the error is the message about it.
    pub(crate) dtype: Result<Option<Dtype>, String>,
    /// The item size in bytes, at least 1.
    pub(crate) typesize: usize,
    pub(super) rules: ChunkRules,
    index: OnceLock<(Index, Window)>,
    pages: Mutex<Cache<Arc<Vec<u8>>>>,
    starts: Mutex<Cache<ChunkStart>>,
    scratch: Mutex<Vec<Scratch>>,
    /// Whether a slice has found that the file was changed. The array may then keep bytes that were read during the
    /// change, so all later slices fail, even if the change was undone.
    has_changed: AtomicBool,
}

/// How the items are divided into chunks.
pub(super) enum ChunkLayout {
    Grid(Meta),
    Linear { shape: Vec<i64>, dtype: String, linear: Linear },
}

/// The first bytes of a chunk, up to the end of its table of blocks, and the header in these bytes. The header and the
/// table have been checked.
#[derive(Clone, Debug)]
pub(super) struct ChunkStart {
    pub(super) header: CheckedHeader,
    pub(super) bytes: Arc<[u8]>,
    /// The version of the chunk file; `None` for a chunk in the frame, or if the version is not known.
    pub(super) version: Option<StampHash>,
}

impl SharedArray {
    /// The array of a frame. An error if the frame has no array, if the data is not in this frame, if the items are
    /// Python objects, or if the header breaks a rule. If no metalayer describes an array, the trailer may describe it.
    pub(crate) fn new<R>(frame: &Frame<R>, trailer: Option<&Trailer>) -> Result<Self, Error> {
        frame.kind().refuse_without_items()?;
        match frame.array()? {
            Some(header) => Self::grid(frame, &header),
            None => Self::linear(frame, trailer),
        }
    }

    /// An array with a metalayer.
    fn grid<R>(frame: &Frame<R>, array: &ArrayHeader<'_>) -> Result<Self, Error> {
        let dtype = array.meta().parse_dtype().map_err(|error| error.to_string());
        check_header(frame, &dtype, agreement(array, frame.header()))?;
        let (geometry, layout) = (valid_geometry(array)?, ChunkLayout::Grid(array.meta().clone()));
        // The typesize is at least 1, because `agreement` refuses a smaller one.
        let typesize = usize::try_from(frame.header().typesize).unwrap_or_default().max(1);
        Ok(Self::of_layout(frame.header(), layout, geometry, dtype, typesize))
    }

    /// The array of a super-chunk, as its trailer describes it. If the trailer describes no array, the array has one
    /// dimension.
    fn linear<R>(frame: &Frame<R>, trailer: Option<&Trailer>) -> Result<Self, Error> {
        let header = frame.header();
        if header.has_vlmetalayers && trailer.is_none() {
            return Err(Error::unsupported(
                "the header has no array, but the trailer may have one: open the frame with its trailer",
            ));
        }
        let tensor = trailer.map_or(Ok(None), |trailer| checked_tensor(trailer, header))?;
        let (shape, dtype) =
            tensor.map_or_else(|| one_dimension(header), |tensor| (tensor.shape, tensor.dtype));
        let parsed = dtype.parse().map(Some).map_err(|error: dtype::Error| error.to_string());
        check_header(frame, &parsed, Vec::new())?;
        let nbytes = u64::try_from(header.nbytes).unwrap_or_default();
        let chunksize = u64::try_from(header.chunksize).ok().filter(|&chunksize| chunksize > 0);
        if chunksize.is_none() && nbytes > 0 {
            return Err(Error::unsupported(
                "the chunks have different sizes, so the places of the items are not known; the chunks can be read one by one",
            ));
        }
        let ones = vec![1; shape.len()];
        let shapes = Shapes { shape: &shape, chunkshape: &ones, blockshape: &ones };
        let geometry = Geometry::new(shapes).map_err(Error::geometry)?;
        let typesize = item_size(&dtype, header);
        let linear = Linear { chunksize: chunksize.unwrap_or(1), nbytes };
        let layout = ChunkLayout::Linear { shape, dtype, linear };
        Ok(Self::of_layout(header, layout, geometry, parsed, typesize))
    }

    fn of_layout(
        header: &Header,
        layout: ChunkLayout,
        geometry: Geometry,
        dtype: Result<Option<Dtype>, String>,
        typesize: usize,
    ) -> Self {
        let is_grid = matches!(layout, ChunkLayout::Grid(_));
        Self {
            // If the type size is 1, `ChunkRules::new` takes the item size as unknown, because the type size may be
            // wrong. But a slice needs an item size, so it takes even a type size of 1 as the item size. In a
            // super-chunk, the type size need not be the item size, so the rules require no item size.
            rules: ChunkRules { itemsize: is_grid.then_some(typesize), ..ChunkRules::new(header, is_grid) },
            header: header.clone(),
            layout,
            geometry,
            dtype,
            typesize,
            index: OnceLock::new(),
            pages: Mutex::new(Cache::new(CACHE_LEN)),
            starts: Mutex::new(Cache::new(CACHE_LEN)),
            scratch: Mutex::default(),
            has_changed: AtomicBool::new(false),
        }
    }

    pub(super) fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Acquire)
    }

    /// Fails if a slice has found that the file was changed.
    pub(super) fn check_unchanged(&self) -> Result<(), Error> {
        if self.has_changed() { Err(Error::changing(None)) } else { Ok(()) }
    }

    /// Records that the file was changed, if the error of a slice is `Changing`.
    pub(super) fn record_change(&self, error: &Error) {
        if error.kind() == ErrorKind::Changing {
            self.has_changed.store(true, Ordering::Release);
        }
    }

    /// The metalayer of the array; `None` if it has no grid of chunks.
    pub(crate) fn meta(&self) -> Option<&Meta> {
        match &self.layout {
            ChunkLayout::Grid(meta) => Some(meta),
            ChunkLayout::Linear { .. } => None,
        }
    }

    pub(crate) fn shape(&self) -> &[i64] {
        match &self.layout {
            ChunkLayout::Grid(meta) => meta.shape(),
            ChunkLayout::Linear { shape, .. } => shape,
        }
    }

    /// The block shape; `None` if the array has no grid of chunks. An array without blocks has one block in each chunk,
    /// so its block shape is the chunk shape.
    pub(crate) fn blockshape(&self) -> Option<&[i32]> {
        let meta = self.meta()?;
        let blocks = self.geometry.blockshape();
        let is_stored = meta
            .blockshape()
            .iter()
            .zip(blocks.iter())
            .all(|(&stored, &items)| i64::from(stored).try_into() == Ok(items));
        Some(if is_stored { meta.blockshape() } else { meta.chunkshape() })
    }

    /// The dtype as text; `None` if the layout of the metalayer has none.
    pub(crate) fn dtype_text(&self) -> Option<&str> {
        match &self.layout {
            ChunkLayout::Grid(meta) => meta.dtype(),
            ChunkLayout::Linear { dtype, .. } => Some(dtype),
        }
    }

    /// The size of the items that a special chunk repeats.
    pub(super) fn special_size(&self) -> usize {
        usize::try_from(self.header.typesize).unwrap_or(1)
    }

    /// The chunk index and its first bytes; `None` if they have not been read yet.
    pub(super) fn index(&self) -> Option<&(Index, Window)> {
        self.index.get()
    }

    /// Keeps the first bytes of the chunk index.
    pub(super) fn set_index(&self, start: Window) -> Result<(), Error> {
        if self.index.get().is_none() {
            let index = Index::parse(&self.header, start.rest().to_vec())?;
            // `set` fails if another thread has set the index since the check above. Both threads have read the same
            // bytes.
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

    /// Returns memory for decompressing: kept memory of an earlier slice, or new memory.
    pub(super) fn scratch(&self) -> Scratch {
        locked(&self.scratch).pop().unwrap_or_default()
    }

    /// Keeps memory for decompressing for a later slice, up to [`SCRATCH_LEN`] bytes together.
    pub(super) fn keep_scratch(&self, scratch: Scratch) {
        let mut kept = locked(&self.scratch);
        let nbytes: usize = kept.iter().chain([&scratch]).map(Scratch::nbytes).sum();
        if nbytes <= SCRATCH_LEN {
            kept.push(scratch);
        }
    }
}

/// Refuses Python objects as items, and a header that breaks a rule. `findings` are the findings about the array's
/// metalayer, and an error among them is returned too.
fn check_header<R>(
    frame: &Frame<R>,
    dtype: &Result<Option<Dtype>, String>,
    findings: Vec<Finding>,
) -> Result<(), Error> {
    if dtype.as_ref().is_ok_and(|dtype| dtype.as_ref().is_some_and(Dtype::has_objects)) {
        return Err(Error::unsupported(
            "the items are pointers to Python objects, which were lost with the process that wrote them",
        ));
    }
    let findings = [header_rules::check(frame), findings].concat();
    first_error(&findings).map_or(Ok(()), |finding| Err(Error::malformed(finding.clone())))
}

/// The shape and dtype of a super-chunk without a description. Only the size of its items is known, not their type. If
/// the last item is not complete, the items are bytes.
fn one_dimension(header: &Header) -> (Vec<i64>, String) {
    let typesize = i64::from(header.typesize.max(1));
    if typesize == 1 || header.nbytes % typesize != 0 {
        return (vec![header.nbytes.max(0)], "|u1".into());
    }
    (vec![header.nbytes.max(0) / typesize], format!("|V{typesize}"))
}

/// Locks a mutex. If a thread panicked while it held the lock, a kept value may be missing, but no kept value is wrong.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
