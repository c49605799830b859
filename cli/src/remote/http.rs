//! Requests over HTTP: connections, the rules for redirects, and the limits of answers.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, HeaderValue, LOCATION, RANGE};
use reqwest::{Certificate, Client, Method, NoProxy, Proxy, StatusCode, Url};

use super::runtime::TIMEOUT;

/// The maximum number of redirects of a request.
const MAX_REDIRECTS: u32 = 10;

/// The hosts that give a machine at Amazon, Google or Microsoft its credentials.
const MACHINE_HOSTS: [&str; 2] = ["169.254.169.254", "metadata.google.internal"];

/// The maximum number of bytes to read of the answer to a failed request. Object stores send about 400 bytes.
const MAX_REFUSAL: usize = 16 << 10;

/// The maximum length of the answer to a request without a range: a page of a listing, or credentials. The longest page
/// of any store, 5000 keys of 1024 characters, is shorter.
const MAX_PAGE: usize = 16 << 20;

/// The maximum length of a value in a page or in credentials: a text between two tags or in quotes. A key has at most
/// 1024 characters, and a token for the next page is only a little longer. The limit is needed because `object_store`
/// panics if an escaped token does not fit in a URL of 64 KiB. Escapes make a token at most three times as long.
const MAX_VALUE: usize = 16 << 10;

/// The `<?` of an XML declaration begins before this offset: at byte 0, or at byte 3 after a byte order mark.
const FIRST_TAG: usize = 4;

/// The maximum length of an error code, so that no other text is printed as a code. The longest code of S3 has 51
/// characters.
const MAX_CODE: usize = 64;

/// The reason why a request has no usable answer.
#[derive(Debug)]
pub(super) enum Unusable {
    /// A status that is not a success, and the server's code for the error: a single word, or empty. A redirect without
    /// a location also counts as refused.
    Refused { status: u16, code: String },
    /// A redirect that was not followed: it leads to another server, exceeds the limit of redirects, or answers a
    /// request other than GET.
    Redirected,
    /// An answer, or a value in it, is longer than its limit.
    TooLong { what: &'static str, max: usize },
    /// A page contains an XML comment or instruction.
    Comment,
    /// The server answers a range request with the whole object.
    WholeObject,
    /// There are no credentials. The user has set none, so `object_store` asked the metadata service of a machine at
    /// Amazon, Google or Microsoft (`MACHINE_HOSTS`). This service has given none.
    NoCredentials,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { what, max } => {
                write!(f, "the server sent {what} of more than {max} bytes, which no object store does")
            }
            Self::Comment => f.write_str(
                "the server sent a page with comments or instructions, like a web page; object stores send none",
            ),
            // `Service::explain` has the messages for the other reasons.
            other => fmt::Debug::fmt(other, f),
        }
    }
}

impl StdError for Unusable {}

impl From<Unusable> for HttpError {
    fn from(error: Unusable) -> Self {
        // `object_store` does not retry errors of this kind.
        Self::new(HttpErrorKind::Unknown, error)
    }
}

/// Makes the connections of `object_store`.
#[derive(Debug)]
pub(super) struct Connector {
    /// Whether redirects to another server are followed. The other server would receive the credentials of the request,
    /// so this field is true only if requests have no credentials.
    pub(super) may_leave: bool,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client =
            client(options).map_err(|error| Error::Generic { store: "HTTP", source: error.into() })?;
        Ok(HttpClient::new(Connection { client, may_leave: self.may_leave }))
    }
}

/// The time limit of an attempt: half the time limit of a request, so that an attempt that hangs is retried once.
fn attempt_limit() -> Duration {
    Duration::from_millis(*TIMEOUT * 500)
}

/// A client that follows no redirects, with the options of the environment.
fn client(options: &ClientOptions) -> reqwest::Result<Client> {
    let option = |key| options.get_config_value(&key);
    let mut builder = Client::builder()
        .user_agent(concat!("b2nd/", env!("CARGO_PKG_VERSION")))
        .timeout(attempt_limit())
        .redirect(reqwest::redirect::Policy::none())
        // Only HTTP/1.1 is used, as by `object_store` itself: HTTP/2 would send all requests over one connection, which
        // is slower.
        .http1_only();
    // `object_store` gives the time limit as text: `5s`, or `1s` for the metadata service of a machine.
    let seconds =
        option(ClientConfigKey::ConnectTimeout).and_then(|time| time.strip_suffix('s')?.parse().ok());
    if let Some(seconds) = seconds {
        builder = builder.connect_timeout(Duration::from_secs(seconds));
    }
    if option(ClientConfigKey::AllowInvalidCertificates).as_deref() == Some("true") {
        // Invalid certificates are accepted only if the user has set this option, for example for a server that has
        // signed its own certificate.
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    if let Some(url) = option(ClientConfigKey::ProxyUrl) {
        let excluded = option(ClientConfigKey::ProxyExcludes);
        let excluded = excluded.and_then(|hosts| NoProxy::from_string(&hosts));
        builder = builder.proxy(Proxy::all(url)?.no_proxy(excluded));
        if let Some(certificate) = option(ClientConfigKey::ProxyCaCertificate) {
            builder = builder.tls_certs_merge([Certificate::from_pem(certificate.as_bytes())?]);
        }
    }
    builder.build()
}

#[derive(Debug)]
struct Connection {
    client: Client,
    may_leave: bool,
}

impl HttpService for Connection {
    fn call<'c, 'f>(&'c self, request: HttpRequest) -> BoxFuture<'f, Result<HttpResponse, HttpError>>
    where
        'c: 'f,
        Self: 'f,
    {
        Box::pin(async {
            // The client applies this time limit to each request separately. With redirects, an attempt consists of
            // several requests. The limit here is for all requests of the attempt together.
            let answer = tokio::time::timeout(attempt_limit(), self.answer(request)).await;
            answer.unwrap_or_else(|late| Err(HttpError::new(HttpErrorKind::Timeout, late)))
        })
    }
}

impl Connection {
    /// Adds headers that are missing in the answer to a range request, because `object_store` needs them. A chunked
    /// answer has no length, so the length of the range is added. If a server does not give the length of the object
    /// (`Content-Range: bytes 0-99/*`), this function requests that length.
    async fn completed(&self, mut answer: HttpResponse, mut request: HttpRequest) -> HttpResponse {
        let Some(ContentRange { first, last, len }) = ContentRange::of(answer.headers()) else {
            return answer;
        };
        if !answer.headers().contains_key(CONTENT_LENGTH) {
            answer.headers_mut().insert(CONTENT_LENGTH, (last - first + 1).into());
        }
        if len.is_none() {
            *request.method_mut() = Method::HEAD;
            request.headers_mut().remove(RANGE);
            let head = HttpService::call(&self.client, request).await;
            let head = head.ok().filter(|head| head.status().is_success());
            let len =
                head.and_then(|head| head.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok());
            let range = len.map(|len| format!("bytes {first}-{last}/{len}"));
            if let Some(Ok(range)) = range.map(|range| HeaderValue::from_str(&range)) {
                answer.headers_mut().insert(CONTENT_RANGE, range);
            }
        }
        answer
    }

    /// The answer to a request, after redirects. An answer that is not a success becomes an [`Unusable`].
    async fn answer(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let asked = url(&request);
        let host = asked.as_ref().and_then(Url::host_str);
        let is_for_credentials = host.is_some_and(|host| MACHINE_HOSTS.contains(&host));
        let (mut redirects, mut is_from_origin) = (0, true);
        loop {
            let answer = HttpService::call(&self.client, request.clone()).await;
            let answer = answer.map_err(|error| match error.kind() {
                // The kind of the error is kept, because `object_store` retries a request only after errors of some
                // kinds.
                kind if is_for_credentials => HttpError::new(kind, Unusable::NoCredentials),
                _ => error,
            })?;
            if answer.status().is_success() {
                // The answer to a range request is read by `Bucket::get`, which stops at the end of the range.
                return match (request.headers().contains_key(RANGE), answer.status()) {
                    (true, StatusCode::PARTIAL_CONTENT) => Ok(self.completed(answer, request).await),
                    (true, _) => Err(Unusable::WholeObject.into()),
                    (false, _) => whole(answer).await,
                };
            }
            // `object_store` uses PUT to ask the metadata service of Amazon's machines for a token. If the variable
            // `AWS_IMDSV1_FALLBACK` is set, `object_store` continues without a token after a refusal. For this, it must
            // receive the refusal as an answer, not as an error. A refusal of a PUT by any other host is returned in
            // the same way.
            let has_fallback = || std::env::var_os("AWS_IMDSV1_FALLBACK").is_some();
            if request.method() == Method::PUT && (!is_for_credentials || has_fallback()) {
                return Ok(truncated(answer).await);
            }
            if is_for_credentials {
                return Err(HttpError::new(error_kind(answer.status()), Unusable::NoCredentials));
            }
            let location = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection());
            let Some(location) = location else { return Err(refusal(answer, is_from_origin).await) };
            let target = url(&request).and_then(|url| url.join(location.to_str().ok()?).ok());
            let stays = |target: &Url| asked.as_ref().is_some_and(|url| url.origin() == target.origin());
            let is_allowed = |target: &Url| {
                redirects < MAX_REDIRECTS
                    // Only a GET is sent again to the target of a redirect: a request with another method, such as
                    // PUT, could change something there.
                    && request.method() == Method::GET
                    && (stays(target) || self.may_leave && ["http", "https"].contains(&target.scheme()))
            };
            let target = target.filter(is_allowed).and_then(|url| Some((url.as_str().parse().ok()?, url)));
            let Some((uri, target)) = target else { return Err(Unusable::Redirected.into()) };
            is_from_origin = stays(&target);
            redirects += 1;
            *request.uri_mut() = uri;
        }
    }
}

fn url(request: &HttpRequest) -> Option<Url> {
    Url::parse(&request.uri().to_string()).ok()
}

/// The header `Content-Range` of the answer to a range request.
struct ContentRange {
    first: u64,
    last: u64,
    /// The length of the object; `None` if the server does not give it.
    len: Option<u64>,
}

impl ContentRange {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (range, len) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        let len = if len == "*" { None } else { Some(len.parse().ok()?) };
        (first <= last && last < u64::MAX).then_some(Self { first, last, len })
    }
}

/// The whole answer to a request without a range.
async fn whole(answer: HttpResponse) -> Result<HttpResponse, HttpError> {
    let too_long = |what, max| Err(Unusable::TooLong { what, max }.into());
    let (parts, body) = answer.into_parts();
    let (page, has_more) = start(body, MAX_PAGE).await;
    if has_more? {
        return too_long("a page", MAX_PAGE);
    }
    // If a value contains a comment or an instruction, the parser of `object_store` joins the text before it and the
    // text after it. `longest_value` would measure the two texts separately, so the joined value could exceed
    // `MAX_VALUE`.
    let after_first = page.get(FIRST_TAG..).unwrap_or_default();
    if page.windows(2).any(|pair| pair == b"<!") || after_first.windows(2).any(|pair| pair == b"<?") {
        return Err(Unusable::Comment.into());
    }
    if longest_value(&page) > MAX_VALUE {
        return too_long("a value", MAX_VALUE);
    }
    Ok(HttpResponse::from_parts(parts, page.into()))
}

/// The length of the longest value: the text between two tags in XML, or between quotes in JSON, the format of
/// credentials.
fn longest_value(page: &[u8]) -> usize {
    let is_json = page.trim_ascii_start().starts_with(b"{");
    let (mut longest, mut start, mut before) = (0, 0, 0);
    for (at, &byte) in page.iter().enumerate() {
        // In JSON, a quote ends a value unless it follows a backslash. In XML, quotes are a part of the value.
        let is_end = if is_json { byte == b'"' && before != b'\\' } else { b"<>".contains(&byte) };
        if is_end {
            longest = longest.max(at - start);
            start = at + 1;
        }
        before = byte;
    }
    longest.max(page.len() - start)
}

/// Cuts the body of an answer to at most `MAX_REFUSAL` bytes.
async fn truncated(answer: HttpResponse) -> HttpResponse {
    let (parts, body) = answer.into_parts();
    let (bytes, _) = start(body, MAX_REFUSAL).await;
    HttpResponse::from_parts(parts, bytes.into())
}

/// The error for an answer that is not a success. Only the text of the XML element `Code` is kept from the body. It is
/// kept only if the answer is from the server to which the request was addressed. After a redirect, another server
/// could send any text.
async fn refusal(answer: HttpResponse, is_from_origin: bool) -> HttpError {
    let status = answer.status();
    let (bytes, _) = start(answer.into_body(), MAX_REFUSAL).await;
    let code = Some(bytes).filter(|_| is_from_origin).and_then(|bytes| code(&bytes)).unwrap_or_default();
    HttpError::new(error_kind(status), Unusable::Refused { status: status.as_u16(), code })
}

/// The error kind for a status. `object_store` uses it to decide whether to retry.
fn error_kind(status: StatusCode) -> HttpErrorKind {
    // Status 408 is a timeout, and status 429 asks for fewer requests.
    let may_change = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
    if may_change { HttpErrorKind::Request } else { HttpErrorKind::Unknown }
}

/// The text of the XML element `Code`; `None` if it is not a single word.
fn code(body: &[u8]) -> Option<String> {
    let body = String::from_utf8_lossy(body);
    let (_, rest) = body.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = code.len() <= MAX_CODE && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| code.into())
}

/// Reads at most `max` bytes of the body of an answer. The second value is whether more bytes follow, or the error that
/// ended the body early.
async fn start(body: HttpResponseBody, max: usize) -> (Vec<u8>, Result<bool, HttpError>) {
    let (mut bytes, mut parts) = (Vec::new(), body.bytes_stream());
    while let Some(part) = parts.next().await {
        match part {
            Ok(part) => bytes.extend_from_slice(&part),
            Err(error) => return (bytes, Err(error)),
        }
        if bytes.len() > max {
            bytes.truncate(max);
            return (bytes, Ok(true));
        }
    }
    (bytes, Ok(false))
}
