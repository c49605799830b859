//! The objects below a prefix.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use object_store::path::Path as Key;
use tokio::sync::mpsc;

use super::bucket::{Bucket, ObjectUrl};
use super::runtime::runtime;
use crate::code;
use crate::problem::Problem;
use crate::text;

/// The maximum number of keys in the queue: as many as a page of S3 has. So the queue has room for a whole page, and
/// the next page is fetched while the caller takes the keys of this page.
const QUEUE_LEN: usize = 1000;

/// The URLs of the objects below a prefix, in the order of the store. The pages of the listing are fetched while the
/// caller reads the URLs.
pub(crate) struct Objects {
    bucket: Arc<Bucket>,
    /// The queue. `None` marks the end; a queue that ends without this mark was interrupted.
    keys: mpsc::Receiver<Result<Option<Key>, Problem>>,
    /// The number of URLs that were returned so far.
    count: u64,
    is_over: bool,
}

/// Lists the objects below a prefix.
pub(crate) fn list(url: &Path) -> Result<Objects, Problem> {
    let url = ObjectUrl::parse(url)?;
    if url.is_web() {
        let message =
            "a web server cannot list files; give the URLs of the arrays, for example with --files-from";
        return Err(Problem::new(code::INVALID_INPUT, message));
    }
    let (sender, keys) = mpsc::channel(QUEUE_LEN);
    let ObjectUrl { bucket, key } = url;
    let shared = bucket.clone();
    runtime()?.spawn(async move {
        let mut objects = bucket.objects.list(Some(&key).filter(|key| !key.as_ref().is_empty()));
        while let Some(object) = objects.next().await {
            // Some tools mark a folder by an empty object with the key of the folder.
            let is_mark = object.as_ref().is_ok_and(|object| object.size == 0);
            let key = object.map(|object| Some(object.location)).map_err(|error| bucket.failed(&error));
            if !is_mark && sender.send(key).await.is_err() {
                // Nobody reads the queue any more.
                return;
            }
        }
        // An error means that nobody reads the queue any more. Then no mark of the end is needed.
        let _ = sender.send(Ok(None)).await;
    });
    Ok(Objects { bucket: shared, keys, count: 0, is_over: false })
}

impl Iterator for Objects {
    type Item = Result<PathBuf, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let interrupted = || Err(Problem::new(code::IO, "the next page cannot be requested"));
        let key = self.bucket.wait_for(self.keys.recv());
        let problem = match key.and_then(|key| key.unwrap_or_else(interrupted)) {
            Ok(Some(key)) => {
                self.count += 1;
                return Some(Ok(format!("{}/{key}", self.bucket.root).into()));
            }
            Ok(None) => {
                self.is_over = true;
                return None;
            }
            Err(problem) => problem,
        };
        self.is_over = true;
        // The output was closed, so nobody reads more URLs.
        if problem.code == code::STOPPED {
            return None;
        }
        if self.count == 0 {
            let message = format!("cannot be listed: {}", problem.message);
            return Some(Err(Problem::new(problem.code, message)));
        }
        let count = text::count(self.count, "object");
        let message = format!("the listing is incomplete: it ended after {count}: {}", problem.message);
        Some(Err(Problem::new(code::PARTIAL_LISTING, message)))
    }
}
