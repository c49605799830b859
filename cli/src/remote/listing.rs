//! The objects below a prefix.

use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use object_store::Error;
use object_store::path::Path as Key;
use tokio::sync::mpsc;

use super::bucket::{MOST_FAILURES, ObjectUrl};
use super::runtime::{runtime, wait};
use crate::problem::Problem;
use crate::text;

/// The maximum number of keys in the queue: as many as a page of S3 has. So the queue has room for a whole page, and
/// the next page is fetched while the caller takes the keys of this page.
const QUEUE_LEN: usize = 1000;

/// The URLs of the objects below a prefix, in the order of the store. They are fetched on demand.
pub(crate) struct Objects {
    prefix: ObjectUrl,
    /// The queue. `None` marks the end; a queue that ends without this mark was interrupted.
    keys: mpsc::Receiver<Result<Option<Key>, Error>>,
    /// The number of URLs that were returned so far.
    count: u64,
    is_over: bool,
}

/// Lists the objects below a prefix.
pub(crate) fn list(url: &Path) -> Result<Objects, Problem> {
    let prefix = ObjectUrl::parse(url)?;
    if prefix.is_web() {
        let message =
            "a web server cannot list files; give the URLs of the arrays, for example with --files-from";
        return Err(Problem::new("invalid-input", message));
    }
    let (sender, keys) = mpsc::channel(QUEUE_LEN);
    let ObjectUrl { bucket, root, key } = prefix.clone();
    runtime()?.spawn(async move {
        let mut objects = bucket.objects.list(Some(&key).filter(|key| !key.as_ref().is_empty()));
        while let Some(object) = bucket.wait_for_answer(&root, objects.next()).await {
            // Some tools mark a folder by an empty object with the key of the folder.
            let is_mark = object.as_ref().is_ok_and(|object| object.size == 0);
            if !is_mark && sender.send(object.map(|object| Some(object.location))).await.is_err() {
                // Nobody reads the queue any more.
                return;
            }
        }
        // An error means that nobody reads the queue any more. Then no mark of the end is needed.
        let _ = sender.send(Ok(None)).await;
    });
    Ok(Objects { prefix, keys, count: 0, is_over: false })
}

impl Iterator for Objects {
    type Item = Result<PathBuf, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let failure = if self.prefix.bucket.is_given_up() {
            format!("{MOST_FAILURES} requests to the server have failed in a row").into()
        } else {
            match wait(self.keys.recv()).ok()?? {
                Some(Ok(Some(key))) => {
                    self.count += 1;
                    return Some(Ok(format!("{}/{key}", self.prefix.root).into()));
                }
                Some(Ok(None)) => {
                    self.is_over = true;
                    return None;
                }
                Some(Err(error)) => {
                    let problem = self.prefix.problem(&error);
                    if self.count == 0 {
                        self.is_over = true;
                        let message = format!("cannot be listed: {}", problem.message);
                        return Some(Err(Problem::new(problem.code, message)));
                    }
                    problem.message
                }
                None => "the next page cannot be requested".into(),
            }
        };
        self.is_over = true;
        let count = text::count(self.count, "object");
        let message = format!("the listing is incomplete: it ended after {count}: {failure}");
        Some(Err(Problem::new("partial-listing", message)))
    }
}
