//! Objects in object stores and on web servers: listed by prefix, and read by ranges.
//!
//! The crate `object_store` finds credentials, signs requests and tries them again. It is asynchronous; nothing outside of
//! this file is.

use std::collections::BTreeMap;
use std::convert::identity;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::iter;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{ClientConfigKey, Error, GetOptions, GetRange, ObjectStore, RetryConfig};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::failure::Problem;

/// Bytes of the first request. All headers of 348 real frames fit; the longest has 3144 bytes.
const FIRST: u64 = 4096;

/// Bytes of a later request, at least: a round trip takes longer than to send them. The chunk index is before the trailer,
/// so one request at the end of an object mostly has both.
const NEXT: u64 = 16 << 10;

/// Requests that go on where the last one ended double up to this number of bytes.
const MOST: u64 = 1 << 20;

/// Keys of a listing that wait for their turn: a page of S3, so that the next page is fetched meanwhile.
const PAGE: usize = 1000;

/// A server that has failed this many requests in a row, each with its retries, is not asked again.
const MOST_FAILURES: u32 = 64;

/// How long a request is tried, with its retries, unless `B2ND_TIMEOUT` says so.
const PATIENCE: Duration = Duration::from_secs(60);

/// The file in the directory of a sparse frame that has the header.
const SPARSE_INDEX: &str = "chunks.b2frame";

/// What all requests share.
struct Client {
    runtime: Runtime,
    stores: Mutex<BTreeMap<String, Arc<Store>>>,
}

static CLIENT: LazyLock<io::Result<Client>> = LazyLock::new(|| {
    // Fails only if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    Ok(Client { runtime, stores: Mutex::default() })
});

fn client() -> Result<&'static Client, Problem> {
    CLIENT.as_ref().map_err(|error| Problem::new("io", error.to_string()))
}

/// A bucket or a server.
struct Store {
    service: Service,
    objects: Box<dyn ObjectStore>,
    /// Failures of the server since the last answer.
    failures: AtomicU32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Service {
    S3,
    Google,
    Azure,
    Web,
}

impl Service {
    const fn of(scheme: &str) -> Option<Self> {
        Some(match scheme.as_bytes() {
            b"s3" | b"s3a" => Self::S3,
            b"gs" => Self::Google,
            b"az" | b"azure" | b"abfs" | b"abfss" | b"adl" => Self::Azure,
            b"http" | b"https" => Self::Web,
            _ => return None,
        })
    }

    /// What it calls what has the objects.
    fn bucket(self) -> &'static str {
        if self == Self::Azure { "container" } else { "bucket" }
    }

    /// How to log in.
    fn login(self) -> &'static str {
        match self {
            Self::S3 => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (`aws configure export-credentials --format env` prints them), or AWS_SKIP_SIGNATURE=true for a public bucket"
            }
            Self::Google => {
                "set GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket"
            }
            Self::Azure => {
                "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_SKIP_SIGNATURE=true for a public container"
            }
            Self::Web => "the server wants a login, which this command cannot give",
        }
    }
}

/// Where an object is, or what is below a prefix.
#[derive(Clone)]
struct Place {
    store: Arc<Store>,
    /// The URL up to the key, such as `s3://bucket`.
    root: String,
    key: Key,
}

impl Place {
    fn of(url: &FilePath) -> Result<Self, Problem> {
        let refused = |message: String| Problem::new("refused", message);
        let parts = url.to_str().and_then(|url| url.split_once("://"));
        let (scheme, rest) = parts.ok_or_else(|| refused("not a URL in UTF-8".into()))?;
        let service = Service::of(scheme).ok_or_else(|| {
            refused(format!(
                "URLs of the scheme {scheme} cannot be read, only s3, gs, az, http and https; a path can begin with ./"
            ))
        })?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() {
            return Err(refused(format!("the URL names no {}", service.bucket())));
        }
        let root = format!("{scheme}://{host}");
        // Keys are as they are, as in the tools of the stores; the URLs of the web have escapes and a query.
        let (key, query) = if service == Service::Web {
            let path = path.split('#').next().unwrap_or_default();
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            (Key::from_url_path(path), query)
        } else {
            (Key::parse(path), "")
        };
        let key = key.map_err(|error| refused(format!("not the name of an object: {error}")))?;
        // The query of a signed URL is that of one object, so its store is not kept.
        let store = match query {
            "" => Store::at(&root, service)?,
            query => Arc::new(Store::new(&format!("{root}/?{query}"), service)?),
        };
        Ok(Self { store, root, key })
    }

    fn has_sparse_frame(&self) -> Self {
        Self { key: self.key.clone().join(SPARSE_INDEX), ..self.clone() }
    }
}

impl Store {
    /// The bucket or server at this URL, the same one each time, so that connections are used again.
    fn at(base: &str, service: Service) -> Result<Arc<Self>, Problem> {
        let mut stores = client()?.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores.get(base) {
            return Ok(store.clone());
        }
        let store = Arc::new(Self::new(base, service)?);
        stores.insert(base.into(), store.clone());
        Ok(store)
    }

    fn new(base: &str, service: Service) -> Result<Self, Problem> {
        let objects = build(base, service).map_err(|error| {
            let message = match innermost(&error) {
                missing if missing.starts_with("Missing") => format!("{missing}: {}", service.login()),
                message => message,
            };
            Problem::new("refused", message)
        })?;
        Ok(Self { service, objects, failures: AtomicU32::default() })
    }

    fn is_given_up(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= MOST_FAILURES
    }
}

/// What the environment says of a store, and how long a request may take.
fn build(base: &str, service: Service) -> Result<Box<dyn ObjectStore>, Error> {
    let seconds = std::env::var("B2ND_TIMEOUT").ok().and_then(|seconds| seconds.parse().ok());
    let patience = seconds.filter(|&seconds| seconds > 0).map_or(PATIENCE, Duration::from_secs);
    let retry = RetryConfig { retry_timeout: patience, ..RetryConfig::default() };
    let options = [
        (ClientConfigKey::Timeout, format!("{} ms", patience.as_millis() / 2)),
        // Only an endpoint that was asked for is without TLS.
        (ClientConfigKey::AllowHttp, "true".into()),
    ];
    // The builders have the same methods, but no trait.
    macro_rules! built {
        ($builder:expr, $key:path) => {{
            let mut builder = $builder.with_url(base).with_retry(retry);
            for (key, value) in options {
                builder = builder.with_config($key(key), value);
            }
            Box::new(builder.build()?)
        }};
    }
    Ok(match service {
        Service::S3 => built!(AmazonS3Builder::from_env(), AmazonS3ConfigKey::Client),
        Service::Google => built!(GoogleCloudStorageBuilder::from_env(), GoogleConfigKey::Client),
        Service::Azure => built!(MicrosoftAzureBuilder::from_env(), AzureConfigKey::Client),
        Service::Web => built!(HttpBuilder::new(), identity),
    })
}

/// Bytes of an object, and where they begin.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// The bytes from this position on.
    fn from(&self, position: u64) -> Option<&[u8]> {
        let skipped = usize::try_from(position.checked_sub(self.start)?).ok()?;
        self.bytes.get(skipped..).filter(|bytes| !bytes.is_empty())
    }
}

/// An object, read by ranges.
pub(crate) struct Object {
    place: Place,
    len: u64,
    /// The state of its content, if the server names it.
    tag: Option<String>,
    /// Its first bytes, which a check reads twice.
    head: Window,
    last: Window,
    position: u64,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("key", &self.place.key).finish_non_exhaustive()
    }
}

/// Opens an object by one request, of its first bytes. What ends with a slash, or is not there, may be a sparse frame.
pub(crate) fn open(url: &FilePath) -> Result<Object, Problem> {
    let place = Place::of(url)?;
    let sparse = place.has_sparse_frame();
    let is_folder = url.as_os_str().as_encoded_bytes().ends_with(b"/") || place.key.as_ref().is_empty();
    let opened = if is_folder {
        Object::open(sparse).map_err(|fault| {
            let message = format!(
                "not a sparse frame, as there is no {SPARSE_INDEX} below it; `b2nd ls` lists the arrays below a prefix"
            );
            if fault.is_missing { Fault::missing(message) } else { fault }
        })
    } else {
        Object::open(place).or_else(|fault| {
            if !fault.is_missing {
                return Err(fault);
            }
            Object::open(sparse).map_err(|other| if other.is_missing { fault } else { other })
        })
    };
    opened.map_err(|fault| Problem::new("io", fault.message))
}

impl Object {
    fn open(place: Place) -> Result<Self, Fault> {
        let mut object =
            Self { place, len: 0, tag: None, head: Window::default(), last: Window::default(), position: 0 };
        object.head = object.fetch(0, FIRST)?;
        Ok(object)
    }

    /// Requests these bytes, or as many of them as there are.
    fn fetch(&mut self, start: u64, end: u64) -> Result<Window, Fault> {
        let Place { store, key, .. } = &self.place;
        if store.is_given_up() {
            let message =
                format!("not asked for: {MOST_FAILURES} requests to the server have failed in a row");
            return Err(Fault::new(message));
        }
        let range = Some(GetRange::Bounded(start..end));
        // A weak tag matches nothing.
        let if_match = self.tag.clone().filter(|tag| !tag.starts_with("W/"));
        let options = GetOptions { range, if_match, ..GetOptions::default() };
        let request = async {
            let answer = store.objects.get_opts(key, options).await?;
            let (len, tag, range) = (answer.meta.size, answer.meta.e_tag.clone(), answer.range.clone());
            Ok::<_, Error>((len, tag, range, answer.bytes().await?))
        };
        let runtime = &client().map_err(|problem| Fault::new(problem.message.into()))?.runtime;
        let (len, tag, range, bytes) = match runtime.block_on(request) {
            Ok(answer) => answer,
            // An empty object has no first byte.
            Err(error) if start == 0 && status(&error) == Some(416) => return Ok(Window::default()),
            Err(error) => return Err(Fault::of(&error, &self.place)),
        };
        store.failures.store(0, Ordering::Relaxed);
        if bytes.len() as u64 != range.end.saturating_sub(range.start) {
            let message = format!("the server sent {} of {} bytes", bytes.len(), range.end - range.start);
            return Err(Fault::new(message));
        }
        let is_first = self.head.bytes.is_empty();
        if !is_first && (len, &tag) != (self.len, &self.tag) {
            return Err(Fault::new(CHANGED.into()));
        }
        (self.len, self.tag) = (len, tag);
        Ok(Window { start, bytes: bytes.into() })
    }
}

impl Read for Object {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let position = self.position;
        if position >= self.len {
            return Ok(0);
        }
        if self.head.from(position).is_none() && self.last.from(position).is_none() {
            let goes_on = position == self.last.end();
            let ahead = if goes_on { (2 * self.last.bytes.len() as u64).clamp(NEXT, MOST) } else { NEXT };
            let end = position.saturating_add(ahead.max(out.len() as u64)).min(self.len);
            let start = position.min(end.saturating_sub(NEXT));
            self.last = self.fetch(start, end).map_err(|fault| io::Error::other(fault.message))?;
        }
        let mut bytes = self.head.from(position).or_else(|| self.last.from(position)).unwrap_or_default();
        let read = bytes.read(out)?;
        self.position = position.saturating_add(read as u64);
        Ok(read)
    }
}

impl Seek for Object {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let position = match position {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// The URLs of the objects below a prefix, in the order of the store. They are fetched while they are used.
pub(crate) struct Objects {
    place: Place,
    keys: mpsc::Receiver<Result<Key, Error>>,
    /// How many there were.
    count: u64,
    has_failed: bool,
}

/// Lists what is below a prefix.
pub(crate) fn list(url: &FilePath) -> Result<Objects, Problem> {
    let place = Place::of(url)?;
    if place.store.service == Service::Web {
        let message = "a web server has no list of what is below a URL; give the URLs of the arrays, for example with --files-from";
        return Err(Problem::new("refused", message));
    }
    let (sender, keys) = mpsc::channel(PAGE);
    let listed = place.clone();
    client()?.runtime.spawn(async move {
        let prefix = Some(&listed.key).filter(|key| !key.as_ref().is_empty());
        let mut objects = listed.store.objects.list(prefix);
        while let Some(object) = objects.next().await {
            if sender.send(object.map(|object| object.location)).await.is_err() {
                break;
            }
        }
    });
    Ok(Objects { place, keys, count: 0, has_failed: false })
}

impl Objects {
    /// Whether there was none so far, and no error.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && !self.has_failed
    }
}

impl Iterator for Objects {
    type Item = Result<PathBuf, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.keys.blocking_recv()? {
            Ok(key) => {
                self.count += 1;
                Ok(format!("{}/{key}", self.place.root).into())
            }
            Err(error) => {
                self.has_failed = true;
                let message = Fault::of(&error, &self.place).message;
                let message = match self.count {
                    0 => format!("cannot be listed: {message}"),
                    count => format!("not all is listed, but only {count} objects: {message}"),
                };
                Err(Problem::new("io", message))
            }
        })
    }
}

const CHANGED: &str = "the object was changed while it was read; try again";

/// Why a request failed.
struct Fault {
    message: String,
    /// Whether there is no such object.
    is_missing: bool,
}

impl Fault {
    fn new(message: String) -> Self {
        Self { message, is_missing: false }
    }

    fn missing(message: String) -> Self {
        Self { message, is_missing: true }
    }

    /// What an error of the crate says, in the words of this command: what it is, and what to try.
    fn of(error: &Error, place: &Place) -> Self {
        let Place { store, root, .. } = place;
        let service = store.service;
        let sources: Vec<_> = sources(error).collect();
        let text = sources.iter().map(ToString::to_string).max_by_key(String::len).unwrap_or_default();
        // What the server calls it.
        let code = between(&text, "<Code>", "</Code>").unwrap_or_default();
        let status = status(error);
        let answer = match status {
            Some(status) if code.is_empty() => format!(" (status {status})"),
            Some(status) => format!(" (status {status}, {code})"),
            None => String::new(),
        };
        let retries = between(&text, ", after ", " retries").and_then(|retries| retries.parse::<u32>().ok());
        let tried =
            retries.map_or(String::new(), |retries| format!(", asked {} times", retries.saturating_add(1)));
        let kind = sources.iter().find_map(|error| Some(error.downcast_ref::<HttpError>()?.kind()));
        let is_server = matches!(status, Some(429 | 500..)) || status.is_none() && kind.is_some();
        if is_server {
            store.failures.fetch_add(1, Ordering::Relaxed);
        }
        if ["NoSuchBucket", "ContainerNotFound"].contains(&code) {
            return Self::new(format!("there is no {} {root}", service.bucket()));
        }
        // Without credentials, those of a machine at Amazon, Google or Microsoft are looked for.
        if ["169.254.169.254", "metadata.google.internal"].iter().any(|host| text.contains(host)) {
            return Self::new(format!("there are no credentials: {}", service.login()));
        }
        if text.contains("redirect without LOCATION") {
            return Self::new("the bucket is in another region: set AWS_REGION".into());
        }
        if ["Received non-partial response", "Range request not supported"]
            .iter()
            .any(|said| text.contains(said))
        {
            return Self::new("the server sends files only as a whole; download this one".into());
        }
        Self::new(match (status, kind) {
            (Some(404), _) => return Self::missing("no such object".into()),
            (Some(401 | 403), _) => format!("the server refuses access{answer}: {}", service.login()),
            (Some(412), _) => CHANGED.into(),
            (Some(429 | 503), _) => format!(
                "the server asks for fewer requests{answer}{tried}; try again later, or with fewer at a time, as in `-j 8`"
            ),
            (Some(500..), _) => format!("the server has failed{answer}{tried}; try again later"),
            (Some(_), _) => format!("the server refuses the request{answer}"),
            (None, Some(HttpErrorKind::Timeout)) => {
                format!("the server does not answer{tried}; B2ND_TIMEOUT=300 waits up to 300 seconds")
            }
            (None, Some(HttpErrorKind::Connect)) => {
                format!("there is no connection to the server{tried}: {}", innermost(error))
            }
            (None, Some(HttpErrorKind::Interrupted | HttpErrorKind::Request | HttpErrorKind::Decode)) => {
                format!("the connection ended before the answer did{tried}; try again")
            }
            _ => innermost(error),
        })
    }
}

fn sources<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    iter::successors(Some(error), |error| error.source())
}

/// The message of the first cause.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    sources(error).last().map(ToString::to_string).unwrap_or_default()
}

/// The status of the answer. The crate has it only in its messages.
fn status(error: &Error) -> Option<u16> {
    let mut texts = sources(error).map(ToString::to_string);
    texts.find_map(|text| between(&text, "status code: ", " ")?.parse().ok())
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}
