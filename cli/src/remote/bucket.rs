//! Buckets and web servers, and parsed URLs of objects in them.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use b2nd_frame::SPARSE_INDEX;
use object_store::path::Path as Key;
use object_store::{Error, ObjectStore};

use super::failed_request::{FailedRequest, innermost};
use super::runtime::runtime;
use super::service::Service;
use crate::pool::lock;
use crate::problem::Problem;
use crate::terminal::remark;
use crate::text;

/// After this number of failed requests in a row, each with its retries, a server gets no more requests.
pub(super) const MOST_FAILURES: u32 = 64;

/// After this time without an answer, the command tells a user at a terminal which server it waits for.
const SILENCE: Duration = Duration::from_secs(2);

/// The buckets used so far, by their URLs. They are kept so that their connections are used again.
static BUCKETS: Mutex<BTreeMap<String, Arc<Bucket>>> = Mutex::new(BTreeMap::new());

/// A bucket, a container or a web server.
pub(super) struct Bucket {
    pub(super) service: Service,
    pub(super) objects: Box<dyn ObjectStore>,
    /// Whether the server has answered, or the user has been told that the server is slow.
    has_reported: AtomicBool,
    /// The number of failed requests since the last answer of the server.
    failures: AtomicU32,
}

impl Bucket {
    /// The bucket at a URL. All calls with the same URL return the same bucket.
    fn at(url: &str, service: Service) -> Result<Arc<Self>, Problem> {
        let mut buckets = lock(&BUCKETS);
        if let Some(bucket) = buckets.get(url) {
            return Ok(bucket.clone());
        }
        let bucket = Arc::new(Self::new(url, service)?);
        buckets.insert(url.into(), bucket.clone());
        Ok(bucket)
    }

    fn new(url: &str, service: Service) -> Result<Self, Problem> {
        // A connection needs the TLS provider, which the runtime installs.
        runtime()?;
        let objects = service.connect(url).map_err(|error| {
            let message = match service {
                // The hint for logging in is omitted, because no environment variable sets credentials for a web
                // server.
                Service::Web => innermost(&error),
                _ => format!("{}: {}", innermost(&error), service.login()),
            };
            Problem::new("invalid-input", message)
        })?;
        Ok(Self { service, objects, has_reported: AtomicBool::default(), failures: AtomicU32::default() })
    }

    /// Waits for an answer. At a terminal, a slow first answer is announced.
    pub(super) async fn wait_for_answer<T>(&self, root: &str, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        if let Ok(answer) = tokio::time::timeout(SILENCE, &mut answer).await {
            self.has_reported.store(true, Ordering::Relaxed);
            return answer;
        }
        if !self.has_reported.swap(true, Ordering::Relaxed) && io::stderr().is_terminal() {
            remark(&format_args!("waiting for {}", text::clean(root)));
        }
        answer.await
    }

    /// Sets the number of failures in a row to 0, because the server works.
    pub(super) fn reset_failures(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= MOST_FAILURES
    }
}

/// The parsed URL of an object or a prefix.
#[derive(Clone)]
pub(super) struct ObjectUrl {
    pub(super) bucket: Arc<Bucket>,
    /// The URL up to the key, such as `s3://bucket`.
    pub(super) root: String,
    pub(super) key: Key,
}

impl ObjectUrl {
    pub(super) fn parse(url: &Path) -> Result<Self, Problem> {
        let invalid = |message: String| Problem::new("invalid-input", message);
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
        let root = format!("{scheme}://{host}");
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
        // The query of a signed URL is valid for one object only, so a bucket with a query is not kept in `BUCKETS`.
        let bucket = match query {
            "" => Bucket::at(&root, service)?,
            query => Arc::new(Bucket::new(&format!("{root}/?{query}"), service)?),
        };
        Ok(Self { bucket, root, key })
    }

    pub(super) fn is_web(&self) -> bool {
        self.bucket.service == Service::Web
    }

    pub(super) fn index_of_sparse_frame(&self) -> Self {
        Self { key: self.key.clone().join(SPARSE_INDEX), ..self.clone() }
    }

    /// The failure of a request. Failures of the server are counted.
    pub(super) fn problem(&self, error: &Error) -> Problem {
        let failed = FailedRequest::from(error);
        if failed.is_of_server() {
            self.bucket.failures.fetch_add(1, Ordering::Relaxed);
        } else if failed.status().is_some() {
            // Even a refusal shows that the server works.
            self.bucket.reset_failures();
        }
        failed.problem(self.bucket.service, &self.root)
    }
}
