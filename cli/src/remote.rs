//! Objects in object stores and on web servers: listed by prefix, and read by ranges.
//!
//! The crate `object_store` finds credentials, signs requests and tries them again. It is asynchronous; nothing outside of
//! this file is.

use std::collections::BTreeMap;
use std::convert::identity;
use std::fmt;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::iter;
use std::path::{Path as FilePath, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::error::ErrorKind as UsageError;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{ClientConfigKey, Error, GetOptions, GetRange, ObjectStore, RetryConfig};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use crate::address::{self, SPARSE_INDEX};
use crate::failure::Problem;
use crate::output::{remark, wrong_usage};
use crate::text;

/// Bytes of the first request. All headers of 348 real frames fit; the longest has 3144 bytes.
const FIRST_LEN: u64 = 4096;

/// Bytes of a later request, at least: a round trip takes longer than to send them. The chunk index is before the trailer,
/// so one request at the end of an object mostly has both.
const MIN_LEN: u64 = 16 << 10;

/// Requests that go on where the last one ended double up to this number of bytes.
const MAX_LEN: u64 = 1 << 20;

/// Keys of a listing that wait for their turn: a page of S3, so that the next page is fetched meanwhile.
const QUEUE_LEN: usize = 1000;

/// A server that has failed this many requests in a row, each with its retries, is not asked again.
const MOST_FAILURES: u32 = 64;

/// For how many seconds a request is tried, with its retries.
static TIMEOUT: LazyLock<u64> = LazyLock::new(timeout);

const MAX_TIMEOUT: u64 = 24 * 60 * 60;

/// A server that has not answered for so long is named on a terminal.
const SILENCE: Duration = Duration::from_secs(2);

/// Whether answers are no longer wanted.
static STOPPED: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::channel(false).0);

/// What all requests share.
struct Client {
    runtime: Runtime,
    stores: Mutex<BTreeMap<String, Arc<Store>>>,
    /// What `is_prefix` has opened, or tried to, by the URL, until it is read.
    opened: Mutex<BTreeMap<PathBuf, Result<Object, RequestError>>>,
}

static CLIENT: LazyLock<io::Result<Client>> = LazyLock::new(|| {
    // Fails only if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    Ok(Client { runtime, stores: Mutex::default(), opened: Mutex::default() })
});

/// What `B2ND_TIMEOUT` says.
fn timeout() -> u64 {
    let Some(text) = std::env::var_os("B2ND_TIMEOUT").filter(|text| !text.is_empty()) else { return 60 };
    let seconds = text.to_str().and_then(|text| text.parse().ok());
    seconds.filter(|seconds| (1..=MAX_TIMEOUT).contains(seconds)).unwrap_or_else(|| {
        let message = format!(
            "B2ND_TIMEOUT is {}; it must be a number of seconds from 1 to {MAX_TIMEOUT}\n",
            text.display()
        );
        wrong_usage(&clap::Error::raw(UsageError::ValueValidation, message))
    })
}

/// Ends all requests, because the reader of the output is gone.
pub(crate) fn stop() {
    STOPPED.send_replace(true);
}

fn client() -> Result<&'static Client, Problem> {
    CLIENT.as_ref().map_err(|error| Problem::new("io", error.to_string()))
}

/// No state is left half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// Waits for this; `None` if it was stopped.
    fn wait<T>(&self, awaited: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            let mut stopped = STOPPED.subscribe();
            match select(pin!(awaited), pin!(stopped.wait_for(|&stopped| stopped))).await {
                Either::Left((done, _)) => Some(done),
                Either::Right(_) => None,
            }
        })
    }
}

/// A bucket or a server.
struct Store {
    service: Service,
    objects: Box<dyn ObjectStore>,
    /// Whether it has answered, or a person has been told that it has not.
    is_heard_of: AtomicBool,
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
        match self {
            Self::Azure => "container",
            Self::S3 | Self::Google => "bucket",
            Self::Web => "host",
        }
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
            Self::Web => "this command cannot log in; a signed URL works",
        }
    }
}

/// Where an object is, or what is below a prefix.
#[derive(Clone)]
struct Spot {
    store: Arc<Store>,
    /// The URL up to the key, such as `s3://bucket`.
    root: String,
    key: Key,
}

impl Spot {
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
        // It would be printed with each address.
        if service == Service::Web && host.contains('@') {
            let message =
                "a URL with a user's name or password is not read, as it would be printed with each array";
            return Err(refused(message.into()));
        }
        if host.is_empty() {
            return Err(refused(format!("the URL names no {}", service.bucket())));
        }
        let root = format!("{scheme}://{host}");
        // Keys are as they are, as in the tools of the stores; the URLs of the web have escapes and a query.
        let (key, query) = if service == Service::Web {
            let path = path.split('#').next().unwrap_or_default();
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            if path.to_ascii_lowercase().contains("%2f") {
                return Err(refused(
                    "an escaped slash, %2F, in the name of an object cannot be asked for".into(),
                ));
            }
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

    fn index_of_sparse_frame(&self) -> Self {
        Self { key: self.key.clone().join(SPARSE_INDEX), ..self.clone() }
    }
}

impl Store {
    /// The bucket or server at this URL, the same one each time, so that connections are used again.
    fn at(base: &str, service: Service) -> Result<Arc<Self>, Problem> {
        let mut stores = lock(&client()?.stores);
        if let Some(store) = stores.get(base) {
            return Ok(store.clone());
        }
        let store = Arc::new(Self::new(base, service)?);
        stores.insert(base.into(), store.clone());
        Ok(store)
    }

    fn new(base: &str, service: Service) -> Result<Self, Problem> {
        // A store needs the provider of TLS.
        client()?;
        let objects = build(base, service).map_err(|error| {
            let message = match service {
                Service::Web => innermost(&error),
                _ => format!("{}: {}", innermost(&error), service.login()),
            };
            Problem::new("refused", message)
        })?;
        Ok(Self { service, objects, is_heard_of: AtomicBool::default(), failures: AtomicU32::default() })
    }

    /// Waits for an answer. At a terminal it says so if the first one takes long.
    async fn heard<T>(&self, root: &str, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        if let Ok(answer) = tokio::time::timeout(SILENCE, &mut answer).await {
            self.is_heard_of.store(true, Ordering::Relaxed);
            return answer;
        }
        if !self.is_heard_of.swap(true, Ordering::Relaxed) && io::stderr().is_terminal() {
            remark(&format_args!("waiting for {}", text::clean(root)));
        }
        answer.await
    }

    fn is_given_up(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= MOST_FAILURES
    }
}

/// What the environment says of a store, and how long a request may take.
fn build(base: &str, service: Service) -> Result<Box<dyn ObjectStore>, Error> {
    let retry = RetryConfig { retry_timeout: Duration::from_secs(*TIMEOUT), ..RetryConfig::default() };
    let options = [
        (ClientConfigKey::Timeout, format!("{} ms", *TIMEOUT * 500)),
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
    spot: Spot,
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
        f.debug_struct("Object").field("key", &self.spot.key).finish_non_exhaustive()
    }
}

/// Opens an object by one request, of its first bytes. What ends with a slash, or is not there, may be a sparse frame.
pub(crate) fn open(url: &FilePath) -> Result<Object, Problem> {
    let spot = Spot::of(url)?;
    let sparse = spot.index_of_sparse_frame();
    let is_folder = address::is_folder(url) || spot.key.as_ref().is_empty();
    let is_web = spot.store.service == Service::Web;
    let opened = if is_folder {
        let opened = lock(&client()?.opened).remove(url);
        opened.unwrap_or_else(|| Object::open(sparse)).map_err(|failure| {
            let message = format!(
                "not a sparse frame, as there is no {SPARSE_INDEX} below it; `b2nd ls` lists the arrays below a prefix"
            );
            if failure.is_missing() { RequestError::new(MISSING, message) } else { failure }
        })
    } else {
        Object::open(spot).or_else(|failure| {
            if !failure.is_missing() {
                return Err(failure);
            }
            let hint = if is_web { "" } else { "; `b2nd ls` lists what is below a prefix" };
            let message = failure.message + hint;
            Object::open(sparse)
                .map_err(|other| if other.is_missing() { RequestError::new(MISSING, message) } else { other })
        })
    };
    opened.map_err(|failure| Problem::new(failure.kind, failure.message))
}

impl Object {
    /// Its first bytes.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head.bytes
    }

    fn open(spot: Spot) -> Result<Self, RequestError> {
        let mut object =
            Self { spot, len: 0, tag: None, head: Window::default(), last: Window::default(), position: 0 };
        object.head = object.fetch(0, FIRST_LEN)?;
        Ok(object)
    }

    /// Requests these bytes, or as many of them as there are.
    fn fetch(&mut self, start: u64, end: u64) -> Result<Window, RequestError> {
        let Spot { store, root, key } = &self.spot;
        if store.is_given_up() {
            let message =
                format!("not asked for: {MOST_FAILURES} requests to the server have failed in a row");
            return Err(RequestError::new("io", message));
        }
        let range = Some(GetRange::Bounded(start..end));
        // A weak tag matches nothing.
        let if_match = self.tag.clone().filter(|tag| !tag.starts_with("W/"));
        let options = GetOptions { range, if_match, ..GetOptions::default() };
        let request = async {
            let answer = store.objects.get_opts(key, options).await?;
            let (len, tag, range) = (answer.meta.size, answer.meta.e_tag.clone(), answer.range.clone());
            let (mut bytes, mut parts) = (Vec::new(), answer.into_stream());
            // A server may send more than was asked for.
            while let Some(part) = parts.next().await
                && (bytes.len() as u64) < end.saturating_sub(start)
            {
                bytes.extend_from_slice(&part?);
            }
            Ok::<_, Error>((len, tag, range, bytes))
        };
        let client = client().map_err(|problem| RequestError::new(problem.kind, problem.message.into()))?;
        let (len, tag, range, bytes) = match client.wait(store.heard(root, request)) {
            Some(Ok(answer)) => answer,
            // An empty object has no first byte.
            Some(Err(error)) if start == 0 && status(&error) == Some(416) => return Ok(Window::default()),
            Some(Err(error)) => return Err(RequestError::of(&error, &self.spot)),
            None => return Err(RequestError::new("stopped", "nobody waits for it any more".into())),
        };
        store.failures.store(0, Ordering::Relaxed);
        if bytes.len() as u64 != range.end.saturating_sub(range.start) {
            let message = format!("the server sent {} of {} bytes", bytes.len(), range.end - range.start);
            return Err(RequestError::new("io", message));
        }
        let is_first = self.head.bytes.is_empty();
        if !is_first && (len, &tag) != (self.len, &self.tag) {
            return Err(RequestError::new("changing", CHANGED.into()));
        }
        (self.len, self.tag) = (len, tag);
        Ok(Window { start, bytes })
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
            let ahead =
                if goes_on { (2 * self.last.bytes.len() as u64).clamp(MIN_LEN, MAX_LEN) } else { MIN_LEN };
            let end = position.saturating_add(ahead.max(out.len() as u64)).min(self.len);
            let start = position.min(end.saturating_sub(MIN_LEN));
            self.last = self.fetch(start, end).map_err(|failure| io::Error::other(failure.message))?;
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
    spot: Spot,
    keys: mpsc::Receiver<Result<Key, Error>>,
    /// How many there were.
    count: u64,
    has_failed: bool,
}

/// Whether a URL that ends with a slash is not that of a sparse frame, but of a prefix. The answer to the one request is
/// kept for `open`.
pub(crate) fn is_prefix(url: &FilePath) -> bool {
    let (Ok(client), Ok(spot)) = (client(), Spot::of(url)) else { return false };
    if spot.store.service == Service::Web {
        return false;
    }
    let opened = Object::open(spot.index_of_sparse_frame());
    let is_missing = opened.as_ref().is_err_and(RequestError::is_missing);
    if !is_missing {
        lock(&client.opened).insert(url.into(), opened);
    }
    is_missing
}

/// Lists what is below a prefix.
pub(crate) fn list(url: &FilePath) -> Result<Objects, Problem> {
    let spot = Spot::of(url)?;
    if spot.store.service == Service::Web {
        let message = "a web server has no list of what is below a URL; give the URLs of the arrays, for example with --files-from";
        return Err(Problem::new("refused", message));
    }
    let (sender, keys) = mpsc::channel(QUEUE_LEN);
    let listed = spot.clone();
    client()?.runtime.spawn(async move {
        let prefix = Some(&listed.key).filter(|key| !key.as_ref().is_empty());
        let mut objects = listed.store.objects.list(prefix);
        while let Some(object) = listed.store.heard(&listed.root, objects.next()).await {
            // Some tools mark a folder by an object without bytes, whose key is that of the folder.
            let is_mark = object.as_ref().is_ok_and(|object| object.size == 0);
            if !is_mark && sender.send(object.map(|object| object.location)).await.is_err() {
                break;
            }
        }
    });
    Ok(Objects { spot, keys, count: 0, has_failed: false })
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
        if self.has_failed {
            return None;
        }
        let failure = if self.spot.store.is_given_up() {
            format!("{MOST_FAILURES} requests to the server have failed in a row")
        } else {
            match client().ok()?.wait(self.keys.recv())?? {
                Ok(key) => {
                    self.count += 1;
                    return Some(Ok(format!("{}/{key}", self.spot.root).into()));
                }
                Err(error) => {
                    let failure = RequestError::of(&error, &self.spot);
                    if self.count == 0 {
                        self.has_failed = true;
                        let message = format!("cannot be listed: {}", failure.message);
                        return Some(Err(Problem::new(failure.kind, message)));
                    }
                    failure.message
                }
            }
        };
        self.has_failed = true;
        let count = text::count(self.count, "object");
        let message = format!("not all is listed, but only {count}: {failure}");
        Some(Err(Problem::new("partial-listing", message)))
    }
}

/// The kind of failure of an object that is not there. It may be a prefix, or the directory of a sparse frame.
const MISSING: &str = "missing";

const CHANGED: &str = "the object was changed while it was read; try again";

/// Why a request failed.
struct RequestError {
    kind: &'static str,
    message: String,
}

impl RequestError {
    fn new(kind: &'static str, message: String) -> Self {
        Self { kind, message }
    }

    /// Whether there is no such object.
    fn is_missing(&self) -> bool {
        self.kind == MISSING
    }

    /// What an error of the crate says, in the words of this command: what it is, and what to try.
    fn of(error: &Error, spot: &Spot) -> Self {
        let Spot { store, root, .. } = spot;
        let service = store.service;
        let sources: Vec<_> = sources(error).collect();
        // The message of an error has those of its sources, or not: the longest has the most to find.
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
        } else if status.is_some() {
            store.failures.store(0, Ordering::Relaxed);
        }
        if sources.iter().any(|error| error.is::<object_store::path::Error>()) {
            let message = format!("{}; list the prefixes beside it one by one", innermost(error));
            return Self::new("refused", message);
        }
        if ["NoSuchBucket", "ContainerNotFound"].contains(&code) {
            return Self::new("no-bucket", format!("there is no {} {root}", service.bucket()));
        }
        // Without credentials, those of a machine at Amazon, Google or Microsoft are looked for.
        if ["169.254.169.254", "metadata.google.internal"].iter().any(|host| text.contains(host)) {
            return Self::new("no-access", format!("there are no credentials: {}", service.login()));
        }
        if text.contains("redirect without LOCATION") {
            return Self::new("refused", "the bucket is in another region: set AWS_REGION".into());
        }
        if ["Received non-partial response", "Range request not supported"]
            .iter()
            .any(|said| text.contains(said))
        {
            let message = match service {
                Service::Web => "the server sends files only as a whole; download this one",
                _ => {
                    "the server sends objects only as a whole, as no object store does; is the endpoint that of one?"
                }
            };
            return Self::new("io", message.into());
        }
        let (kind, message) = match (status, kind) {
            (Some(404), _) => (MISSING, "no such object".into()),
            (Some(401 | 403), _) => {
                ("no-access", format!("the server refuses access{answer}: {}", service.login()))
            }
            (Some(412), _) => ("changing", CHANGED.into()),
            (Some(429 | 503), _) => {
                let what = "try again later, or with fewer at a time, as in `-j 8`";
                ("throttled", format!("the server asks for fewer requests{answer}{tried}; {what}"))
            }
            (Some(500..), _) => ("io", format!("the server has failed{answer}{tried}; try again later")),
            (Some(_), _) => ("refused", format!("the server refuses the request{answer}")),
            (None, Some(HttpErrorKind::Timeout)) => {
                let longer = (5 * *TIMEOUT).min(MAX_TIMEOUT);
                let what = format!("B2ND_TIMEOUT={longer} waits up to {longer} seconds");
                ("io", format!("the server does not answer{tried}; {what}"))
            }
            (None, Some(HttpErrorKind::Connect)) => {
                ("io", format!("there is no connection to the server{tried}: {}", innermost(error)))
            }
            (None, Some(HttpErrorKind::Interrupted | HttpErrorKind::Request | HttpErrorKind::Decode)) => {
                ("io", format!("the connection ended before the answer did{tried}; try again"))
            }
            _ => ("io", innermost(error)),
        };
        Self::new(kind, message)
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
