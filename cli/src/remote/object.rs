//! Objects, read by ranges.

use std::io::{self, Read};
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use b2nd_frame::{BYTES_PER_ROUND_TRIP, ReadAt, SPARSE_INDEX};
use futures_util::{StreamExt, TryStreamExt, future, stream};

use super::bucket::{Answer, ObjectUrl};
use super::request_error::CHANGED;
use crate::code;
use crate::names::ends_with_slash;
use crate::pool::lock;
use crate::problem::Problem;

/// The length of the first request. All headers of 348 real frames fit; the longest has 3144 bytes.
const FIRST_LEN: u64 = 4096;

/// The minimum length of a later request. A round trip takes longer than sending these bytes. The chunk index precedes
/// the trailer, so one request at the end of an object usually covers both.
const MIN_LEN: u64 = 16 << 10;

/// The maximum length of a request that reads ahead. Sequential requests double in length up to this limit.
const MAX_LEN: u64 = 1 << 20;

/// The maximum number of parallel requests.
const MOST_REQUESTS: usize = 64;

/// The maximum length of one of the parallel requests. A longer range is split into several requests, because servers
/// limit the speed of each connection.
const MOST_AT_ONCE: u64 = 1 << 22;

/// Bytes of an object, and the offset of the first byte.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// The bytes of a range, if all of them are in the window.
    fn get(&self, range: &Range<u64>) -> Option<&[u8]> {
        let within = |position: u64| usize::try_from(position.checked_sub(self.start)?).ok();
        self.bytes.get(within(range.start)?..within(range.end)?)
    }

    /// The bytes from this position on.
    fn from(&self, position: u64) -> Option<&[u8]> {
        let skipped = usize::try_from(position.checked_sub(self.start)?).ok()?;
        self.bytes.get(skipped..).filter(|bytes| !bytes.is_empty())
    }
}

/// A byte range of a file. The file is the open object itself or, if there is a name, the object with this name in the
/// same folder.
pub(crate) type FileRange = (Option<String>, Range<u64>);

/// The requests for byte ranges, sorted by file and offset. Two ranges of a file become one request if the gap between
/// them has at most [`MIN_LEN`] bytes.
fn merge(ranges: &[FileRange]) -> Vec<FileRange> {
    let mut ranges = ranges.to_vec();
    ranges.sort_unstable_by(|(file, range), (other, next)| (file, range.start).cmp(&(other, next.start)));
    ranges.dedup_by(|(file, range), (before, merged)| {
        let is_near = file == before && range.start <= merged.end.saturating_add(MIN_LEN);
        if is_near {
            merged.end = merged.end.max(range.end);
        }
        is_near
    });
    ranges
}

/// An object, read by ranges.
pub(crate) struct Object {
    url: ObjectUrl,
    len: u64,
    /// The `ETag` of the object, if the server sends one. Another tag in a later answer means that the object has
    /// changed, which is an error.
    tag: Option<String>,
    /// The first bytes of the object, kept because a check reads them twice.
    head: Window,
    /// Only one thread at a time reads an object, so no thread waits for this mutex.
    windows: Mutex<Windows>,
}

/// The bytes that were read and may be needed again.
#[derive(Default)]
struct Windows {
    /// The bytes of the last request.
    last: Window,
    /// The bytes that were read ahead, in the order of their offsets.
    ahead: Vec<Window>,
}

fn changed() -> Problem {
    Problem::new(code::CHANGING, CHANGED)
}

fn is_missing(problem: &Problem) -> bool {
    problem.code == code::MISSING
}

/// Opens an object with one request for its first bytes. If the URL ends with a slash, or if there is no object at the
/// URL, opens the sparse frame at the URL.
pub(crate) fn open(url: &Path) -> Result<Object, Problem> {
    let object = ObjectUrl::parse(url)?;
    let sparse = object.index_of_sparse_frame();
    if ends_with_slash(url) || object.key.as_ref().is_empty() {
        return Object::open(sparse).map_err(|problem| {
            let message = format!(
                "not a sparse frame, as there is no {SPARSE_INDEX} below it; `b2nd ls` lists the arrays below a prefix"
            );
            if is_missing(&problem) { Problem::new(code::MISSING, message) } else { problem }
        });
    }
    let hint = if object.is_web() { "" } else { "; `b2nd ls` lists the objects below a prefix" };
    Object::open(object).or_else(|problem| {
        if !is_missing(&problem) {
            return Err(problem);
        }
        let missing = |_: &Problem| Problem::new(code::MISSING, format!("{}{hint}", problem.message));
        Object::open(sparse).map_err(|other| if is_missing(&other) { missing(&other) } else { other })
    })
}

impl Object {
    fn open(url: ObjectUrl) -> Result<Self, Problem> {
        let Answer { len, tag, bytes } =
            url.bucket.wait_for(url.bucket.get(&url.key, 0..FIRST_LEN, None))??;
        Ok(Self { url, len, tag, head: Window { start: 0, bytes }, windows: Mutex::default() })
    }

    /// Reads byte ranges. Ranges whose bytes are still in memory are not requested again. [`merge`] joins near ranges,
    /// and the requests run in parallel.
    pub(crate) fn fetch_all(&self, ranges: &[FileRange]) -> Result<Vec<Vec<u8>>, Problem> {
        self.with_windows(|windows| {
            let known = |(file, range): &FileRange| {
                if file.is_none() { self.known(windows, range) } else { None }
            };
            let unknown: Vec<_> = ranges.iter().filter(|range| known(range).is_none()).cloned().collect();
            let requests = merge(&unknown);
            let answers = self.request_all(&requests)?;
            if requests == ranges {
                return Ok(answers);
            }
            let cut = |(file, range): &FileRange| {
                let before = |(other, request): &FileRange| (other, request.start) <= (file, range.start);
                let number = requests.partition_point(before).checked_sub(1)?;
                let within = |byte: u64| usize::try_from(byte - requests.get(number)?.1.start).ok();
                let bytes = answers.get(number)?;
                // An answer can be short, because a chunk file can end within the range.
                bytes.get(within(range.start)?..within(range.end)?.min(bytes.len()))
            };
            let bytes = |range| known(range).or_else(|| cut(range)).unwrap_or_default().to_vec();
            Ok(ranges.iter().map(bytes).collect())
        })
    }

    /// The bytes of a range of this object, if all of them are still in memory.
    fn known<'w>(&'w self, windows: &'w Windows, range: &Range<u64>) -> Option<&'w [u8]> {
        [&self.head, &windows.last].into_iter().find_map(|window| window.get(range))
    }

    /// Requests byte ranges in parallel.
    fn request_all(&self, ranges: &[FileRange]) -> Result<Vec<Vec<u8>>, Problem> {
        let requests = ranges.iter().enumerate().flat_map(|(number, (file, range))| {
            // A range of a chunk file is not split. The file can be shorter than the range, and a later part of the
            // range could then begin after the end of the file.
            let length = if file.is_none() { MOST_AT_ONCE } else { u64::MAX };
            let starts = range.clone().step_by(usize::try_from(length).unwrap_or(usize::MAX));
            starts.map(move |start| {
                let part = start..start.saturating_add(length).min(range.end);
                async move { Ok((number, self.request(file.as_deref(), part).await?)) }
            })
        });
        let answers = stream::iter(requests).buffered(MOST_REQUESTS);
        let answers = answers.try_fold(vec![Vec::new(); ranges.len()], |mut answers, (number, mut bytes)| {
            match answers.get_mut(number) {
                Some(answer) if answer.is_empty() => *answer = bytes,
                Some(answer) => answer.append(&mut bytes),
                None => {}
            }
            future::ready(Ok(answers))
        });
        self.url.bucket.wait_for(answers)?
    }

    /// Fails if the object has changed since it was opened. Requests for other objects, such as chunk files, do not
    /// show such a change. The first bytes are compared too, because some servers send no tag.
    pub(crate) fn check_unchanged(&self) -> Result<(), Problem> {
        let head = self.url.bucket.wait_for(self.request(None, 0..self.head.end()))??;
        if head == self.head.bytes { Ok(()) } else { Err(changed()) }
    }

    /// Requests a byte range of this object, or of the named object in the same folder.
    async fn request(&self, file: Option<&str>, range: Range<u64>) -> Result<Vec<u8>, Problem> {
        let ObjectUrl { bucket, key } = &self.url;
        let Some(name) = file else {
            // A weak tag is not sent, because `If-Match` never matches it.
            let tag = self.tag.clone().filter(|tag| !tag.starts_with("W/"));
            let answer = bucket.get(key, range, tag).await?;
            // The length and the tag are compared here too, because some servers ignore `If-Match`.
            if (answer.len, &answer.tag) != (self.len, &self.tag) {
                return Err(changed());
            }
            return Ok(answer.bytes);
        };
        let Some(key) = self.url.chunk_file(name) else {
            let message = "the chunks of a sparse frame are only found beside its index, in a folder";
            return Err(Problem::new(code::UNSUPPORTED, message));
        };
        match bucket.get(&key, range, None).await {
            Ok(answer) => Ok(answer.bytes),
            // For a missing file, no bytes are returned. The library then reports the chunk that should be in the file.
            Err(problem) if is_missing(&problem) => Ok(Vec::new()),
            Err(problem) => Err(problem.at(Path::new(name))),
        }
    }

    /// Calls `read` with the bytes in memory. The lock is not held during the call, because `read` waits for the
    /// server.
    fn with_windows<T>(&self, read: impl FnOnce(&mut Windows) -> T) -> T {
        let mut windows = mem::take(&mut *lock(&self.windows));
        let result = read(&mut windows);
        *lock(&self.windows) = windows;
        result
    }
}

impl ReadAt for Object {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.len {
            return Ok(0);
        }
        if let Some(mut bytes) = self.head.from(offset) {
            return bytes.read(out);
        }
        self.with_windows(|windows| {
            let Windows { last, ahead } = windows;
            let before = ahead.partition_point(|window| window.start <= offset).checked_sub(1);
            if let Some(mut bytes) = before.and_then(|number| ahead.get(number)?.from(offset)) {
                return bytes.read(out);
            }
            if last.from(offset).is_none() {
                // If the reads are sequential, each request is twice as long as the request before it. After a jump, a
                // request is short, because probably few of the next bytes are needed.
                let goes_on = offset == last.end();
                let ahead =
                    if goes_on { (2 * last.bytes.len() as u64).clamp(MIN_LEN, MAX_LEN) } else { MIN_LEN };
                let end = offset.saturating_add(ahead.max(out.len() as u64)).min(self.len);
                // A read at the end of the object is usually for the trailer, and the chunk index before the trailer is
                // then needed too. So the request also covers bytes before `offset`.
                let start = offset.min(end.saturating_sub(MIN_LEN));
                let request = self.request(None, start..end);
                let bytes = self.url.bucket.wait_for(request).flatten().map_err(io::Error::other)?;
                *last = Window { start, bytes };
            }
            last.from(offset).unwrap_or_default().read(out)
        })
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn bytes_per_round_trip(&self) -> u64 {
        BYTES_PER_ROUND_TRIP
    }

    fn read_ahead(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        self.with_windows(|windows| {
            // The bytes of the previous call of `read_ahead` are no longer needed. They are dropped first, so that
            // memory never holds the bytes of two calls.
            windows.ahead.clear();
            let within = ranges.iter().map(|range| range.start..range.end.min(self.len));
            let unknown = within.filter(|range| !range.is_empty() && self.known(windows, range).is_none());
            let requests = merge(&unknown.map(|range| (None, range)).collect::<Vec<_>>());
            let answers = self.request_all(&requests).map_err(io::Error::other)?;
            let read = requests.into_iter().zip(answers);
            windows.ahead = read.map(|((_, range), bytes)| Window { start: range.start, bytes }).collect();
            Ok(())
        })
    }
}
