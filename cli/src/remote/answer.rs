//! Answers of servers, read only as far as they are used.

use std::error::Error;
use std::fmt;

use futures_util::StreamExt;
use object_store::client::{HttpError, HttpErrorKind, HttpResponse};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_RANGE, HeaderMap};

/// The maximum number of bytes to read of the answer to a failed request. Object stores send about 400 bytes.
const MAX_REFUSAL: usize = 16 << 10;

/// The maximum length of the answer to a request without a range: a page of a listing, or credentials. The longest page
/// of any store, 5000 keys of 1024 characters, is shorter.
const MAX_PAGE: usize = 16 << 20;

/// The maximum length of a value in such an answer, between two tags or in quotes. A key has at most 1024 characters,
/// and a token for the next page is only a little longer. The limit is needed because `object_store` panics if an
/// escaped token does not fit in a URL of 64 KiB. Escapes make a token at most three times as long.
const MAX_VALUE: usize = 16 << 10;

/// The `<?` of an XML declaration begins before this offset: at byte 0, or at byte 3 after a byte order mark.
const FIRST_TAG: usize = 4;

/// The maximum length of an error code, so that no other text is printed as a code. The longest code of S3 has 51
/// characters.
const MAX_CODE: usize = 64;

/// An answer whose status is not a success.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The server's code for the error: a single word. Empty if the answer has no code.
    pub(super) code: String,
    pub(super) redirect: Redirect,
}

/// The redirect in an answer that is not a success.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    None,
    /// A redirect without a location. S3 sends such an answer if the bucket is in another region.
    Unnamed,
    /// The redirect was not followed: it leads to another server, exceeds the limit of redirects, or answers a request
    /// other than GET.
    TooFar,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)
    }
}

impl Error for Refusal {}

/// The reason why a request has no usable answer. The server may have answered with success nevertheless.
#[derive(Debug)]
pub(super) enum Unusable {
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
            Self::WholeObject => f.write_str("the server ignores byte ranges"),
            Self::NoCredentials => f.write_str("there are no credentials"),
        }
    }
}

impl Error for Unusable {}

impl From<Unusable> for HttpError {
    fn from(error: Unusable) -> Self {
        // `object_store` does not retry errors of this kind.
        Self::new(HttpErrorKind::Unknown, error)
    }
}

/// The header `Content-Range` of the answer to a range request.
pub(super) struct ContentRange {
    pub(super) first: u64,
    pub(super) last: u64,
    /// The length of the object; `None` if the server does not give it.
    pub(super) len: Option<u64>,
}

impl ContentRange {
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (range, len) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        let len = if len == "*" { None } else { Some(len.parse().ok()?) };
        (first <= last && last < u64::MAX).then_some(Self { first, last, len })
    }
}

/// The whole answer to a request without a range.
pub(super) async fn whole(answer: HttpResponse) -> Result<HttpResponse, HttpError> {
    let too_long = |what, max| Err(Unusable::TooLong { what, max }.into());
    let (parts, body) = answer.into_parts();
    let start = Start::read(body, MAX_PAGE).await;
    if let Some(failure) = start.failure {
        return Err(failure);
    }
    if start.has_more {
        return too_long("a page", MAX_PAGE);
    }
    // If a value contains a comment or an instruction, the parser of `object_store` joins the text before it and the
    // text after it. `longest_value` would measure the two texts separately, so the joined value could exceed
    // `MAX_VALUE`.
    let after_first = start.bytes.get(FIRST_TAG..).unwrap_or_default();
    if start.bytes.windows(2).any(|pair| pair == b"<!") || after_first.windows(2).any(|pair| pair == b"<?") {
        return Err(Unusable::Comment.into());
    }
    if longest_value(&start.bytes) > MAX_VALUE {
        return too_long("a value", MAX_VALUE);
    }
    Ok(HttpResponse::from_parts(parts, start.bytes.into()))
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

/// Cuts the body of an answer to its first bytes.
pub(super) async fn truncated(answer: HttpResponse) -> HttpResponse {
    let (parts, body) = answer.into_parts();
    let bytes = Start::read(body, MAX_REFUSAL).await.bytes;
    HttpResponse::from_parts(parts, bytes.into())
}

/// The error for an answer that is not a success. Of the body, only the text of the XML element `Code` is kept, and
/// only if the answer is from the server to which the request was addressed. After a redirect, another server could send
/// any text.
pub(super) async fn refusal(answer: HttpResponse, redirect: Redirect, is_from_origin: bool) -> HttpError {
    let status = answer.status();
    let start = Start::read(answer.into_body(), MAX_REFUSAL).await;
    let code =
        Some(start.bytes).filter(|_| is_from_origin).and_then(|bytes| code(&bytes)).unwrap_or_default();
    HttpError::new(error_kind(status), Refusal { status: status.as_u16(), code, redirect })
}

/// The error kind for a status. `object_store` uses it to decide whether to retry.
pub(super) fn error_kind(status: StatusCode) -> HttpErrorKind {
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

/// The first bytes of the body of an answer.
struct Start {
    bytes: Vec<u8>,
    has_more: bool,
    /// The error that ended the reading of the body early.
    failure: Option<HttpError>,
}

impl Start {
    async fn read(body: object_store::client::HttpResponseBody, max: usize) -> Self {
        let mut start = Self { bytes: Vec::new(), has_more: false, failure: None };
        let mut parts = body.bytes_stream();
        while let Some(part) = parts.next().await {
            match part {
                Ok(part) => start.bytes.extend_from_slice(&part),
                Err(error) => {
                    start.failure = Some(error);
                    break;
                }
            }
            if start.bytes.len() > max {
                start.bytes.truncate(max);
                start.has_more = true;
                break;
            }
        }
        start
    }
}
