//! Buckets and web servers, and parsed URLs of objects in them.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use b2nd_frame::SPARSE_INDEX;
use futures_util::StreamExt;
use object_store::path::Path as Key;
use object_store::{Error, GetOptions, GetRange, ObjectStore};

use super::http::Unusable;
use super::request_error::{is_of_server, unusable};
use super::runtime::{runtime, wait};
use super::service::Service;
use crate::code;
use crate::pool::lock;
use crate::problem::Problem;
use crate::terminal::remark;
use crate::text;

/// After this number of failed requests in a row, each with its retries, a server gets no more requests.
const MOST_FAILURES: u32 = 64;

/// After this time without an answer, the command tells a user at a terminal which server it waits for.
const SILENCE: Duration = Duration::from_secs(2);

/// The buckets used so far, by their URLs. They are kept so that their connections are used again.
static BUCKETS: Mutex<BTreeMap<String, Arc<Bucket>>> = Mutex::new(BTreeMap::new());

/// A bucket, a container or a web server.
pub(super) struct Bucket {
    service: Service,
    /// The URL up to the key, such as `s3://bucket`.
    pub(super) root: String,
    pub(super) objects: Box<dyn ObjectStore>,
    /// Whether the server has answered, or the user has been told that the server is slow.
    has_reported: AtomicBool,
    /// The number of failed requests since the last answer of the server.
    failures: AtomicU32,
}

/// The answer to a request for a byte range.
#[derive(Default)]
pub(super) struct Answer {
    /// The length of the whole object.
    pub(super) len: u64,
    pub(super) tag: Option<String>,
    pub(super) bytes: Vec<u8>,
}

impl Bucket {
    /// The bucket at a URL. All calls with the same URL without a query return the same bucket. A URL with a query
    /// always makes a new bucket, because the query of a signed URL is valid for one object only.
    fn at(service: Service, root: String, query: &str) -> Result<Arc<Self>, Problem> {
        let new = |url: &str| {
            // A connection needs the TLS provider, which the runtime installs.
            runtime()?;
            let objects = service.connect(url).map_err(|error| service.unusable_settings(&error))?;
            let (has_reported, failures) = (AtomicBool::default(), AtomicU32::default());
            Ok(Arc::new(Self { service, root: root.clone(), objects, has_reported, failures }))
        };
        if !query.is_empty() {
            return new(&format!("{root}/?{query}"));
        }
        let mut buckets = lock(&BUCKETS);
        if let Some(bucket) = buckets.get(&root) {
            return Ok(bucket.clone());
        }
        let bucket = new(&root)?;
        buckets.insert(root, bucket.clone());
        Ok(bucket)
    }

    /// Waits for requests, unless the server has failed too often. If the first answer is slow, a user at a terminal is
    /// told which server is slow.
    pub(super) fn wait_for<T>(&self, requests: impl Future<Output = T>) -> Result<T, Problem> {
        if self.failures.load(Ordering::Relaxed) >= MOST_FAILURES {
            let message =
                format!("{MOST_FAILURES} requests to the server have failed in a row, so no more are sent");
            return Err(Problem::new(code::IO, message));
        }
        let answer = wait(async {
            let mut requests = pin!(requests);
            if let Ok(answer) = tokio::time::timeout(SILENCE, &mut requests).await {
                self.has_reported.store(true, Ordering::Relaxed);
                return answer;
            }
            if !self.has_reported.swap(true, Ordering::Relaxed) && io::stderr().is_terminal() {
                remark(&format_args!("waiting for {}", text::clean(&self.root)));
            }
            requests.await
        })?;
        answer.ok_or_else(|| Problem::new(code::STOPPED, "the output was closed"))
    }

    /// Requests a byte range of an object. The range can extend beyond the end of the object. If the object has no byte
    /// of the range, the answer is empty. `tag` is the `ETag` that the object must have.
    pub(super) async fn get(
        &self,
        key: &Key,
        range: Range<u64>,
        tag: Option<String>,
    ) -> Result<Answer, Problem> {
        let most = range.end.saturating_sub(range.start);
        let options =
            GetOptions { range: Some(GetRange::Bounded(range)), if_match: tag, ..GetOptions::default() };
        let request = async {
            let answer = self.objects.get_opts(key, options).await?;
            let (len, tag, range) = (answer.meta.size, answer.meta.e_tag.clone(), answer.range.clone());
            let (mut bytes, mut parts) = (Vec::new(), answer.into_stream());
            // A server may send more than requested.
            while let Some(part) = parts.next().await
                && (bytes.len() as u64) < most
            {
                bytes.extend_from_slice(&part?);
            }
            Ok::<_, Error>((Answer { len, tag, bytes }, range.end.saturating_sub(range.start)))
        };
        let (answer, expected) = match request.await {
            // The object is empty, or ends before the range.
            Err(error) if matches!(unusable(&error), Some(Unusable::Refused { status: 416, .. })) => {
                (Answer::default(), 0)
            }
            answer => answer.map_err(|error| self.failed(&error))?,
        };
        self.failures.store(0, Ordering::Relaxed);
        if answer.bytes.len() as u64 != expected {
            let message = format!("the server sent {} of {expected} bytes", answer.bytes.len());
            return Err(Problem::new(code::IO, message));
        }
        Ok(answer)
    }

    /// Counts the failure of a request, and explains it.
    pub(super) fn failed(&self, error: &Error) -> Problem {
        if is_of_server(error) {
            self.failures.fetch_add(1, Ordering::Relaxed);
        } else if unusable(error).is_some() {
            // Even a refusal shows that the server works.
            self.failures.store(0, Ordering::Relaxed);
        }
        let (code, message) = self.service.explain(&self.root, error);
        Problem::new(code, message)
    }
}

/// The parsed URL of an object or a prefix.
#[derive(Clone)]
pub(super) struct ObjectUrl {
    pub(super) bucket: Arc<Bucket>,
    pub(super) key: Key,
}

impl ObjectUrl {
    pub(super) fn parse(url: &Path) -> Result<Self, Problem> {
        let invalid = |message: String| Problem::new(code::INVALID_INPUT, message);
        let parts = url.to_str().and_then(|url| url.split_once("://"));
        let (scheme, rest) = parts.ok_or_else(|| invalid("not a URL in UTF-8".into()))?;
        let service = Service::from_scheme(scheme).ok_or_else(|| {
            invalid(format!(
                "URLs of the scheme {scheme} cannot be read, only s3, gs, az, http and https; to name a path, begin it with ./"
            ))
        })?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A name and a password in a URL would be printed with each address.
        if service == Service::Web && host.contains('@') {
            let message =
                "a URL with a user's name or password is not read, as it would be printed with each array";
            return Err(invalid(message.into()));
        }
        if host.is_empty() {
            return Err(invalid(format!("the URL names no {}", service.noun())));
        }
        // In the URL of an object store, the key is not percent-encoded, as in `aws s3`. In the URL of a web server,
        // the path is percent-encoded, and a query can follow.
        let (key, query) = if service == Service::Web {
            let path = path.split('#').next().unwrap_or_default();
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            if path.to_ascii_lowercase().contains("%2f") {
                let message = "URLs with an escaped slash, %2F, are not supported";
                return Err(invalid(message.into()));
            }
            (Key::from_url_path(path), query)
        } else {
            (Key::parse(path), "")
        };
        let key = key.map_err(|error| invalid(format!("not the name of an object: {error}")))?;
        Ok(Self { bucket: Bucket::at(service, format!("{scheme}://{host}"), query)?, key })
    }

    pub(super) fn is_web(&self) -> bool {
        self.bucket.service == Service::Web
    }

    pub(super) fn index_of_sparse_frame(&self) -> Self {
        Self { key: self.key.clone().join(SPARSE_INDEX), ..self.clone() }
    }

    /// The key of a chunk file, if this is the URL of the index of a sparse frame.
    pub(super) fn chunk_file(&self, name: &str) -> Option<Key> {
        let parts: Vec<_> = self.key.parts().collect();
        let folder = parts.strip_suffix(&[SPARSE_INDEX.into()])?;
        Some(folder.iter().cloned().chain([name.into()]).collect())
    }
}
