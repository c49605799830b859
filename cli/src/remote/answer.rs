//! Answers of servers, of which no more is taken than is used.

use std::error::Error;
use std::fmt;

use futures_util::StreamExt;
use object_store::client::{HttpError, HttpErrorKind, HttpResponse};

/// Bytes that are read of the answer to a failed request. Those of object stores have some 400.
const MAX_REFUSAL: usize = 16 << 10;

/// Bytes of an answer without a range: a page of a listing, or credentials. The longest page of all stores, of 5000 keys of
/// 1024 characters, has less.
const MAX_PAGE: usize = 16 << 20;

/// Bytes between two tags of such an answer. A key has at most 1024 characters, and a token for the next page not many more:
/// where it does not fit a URL of 64 KiB, with escapes, `object_store` panics.
const MAX_VALUE: usize = 16 << 10;

/// Characters of an error's code, so that nothing else is printed for one. The longest of S3 has 51.
const MAX_CODE: usize = 64;

/// An answer that is no success.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// What the server calls it, a word.
    pub(super) code: String,
    pub(super) redirect: Redirect,
}

/// Where an answer that is no success sends those who ask.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    None,
    /// Somewhere else, which it does not name: a bucket in another region.
    Unnamed,
    /// To another server, or further than redirects are followed.
    TooFar,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)
    }
}

impl Error for Refusal {}

/// An answer that is longer than it can be.
#[derive(Debug)]
struct TooLong {
    what: &'static str,
    max: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, max } = self;
        write!(f, "the server sends {what} of more than {max} bytes, as no object store does")
    }
}

impl Error for TooLong {}

/// The answer to a request without a range, with all bytes of it.
pub(super) async fn whole(answer: HttpResponse) -> Result<HttpResponse, HttpError> {
    let too_long = |what, max| Err(HttpError::new(HttpErrorKind::Unknown, TooLong { what, max }));
    let (parts, body) = answer.into_parts();
    let start = Start::of(body, MAX_PAGE).await;
    if let Some(failure) = start.failure {
        return Err(failure);
    }
    if start.has_more {
        return too_long("a page", MAX_PAGE);
    }
    if start.bytes.split(|byte| b"<>\"".contains(byte)).any(|value| value.len() > MAX_VALUE) {
        return too_long("a value", MAX_VALUE);
    }
    Ok(HttpResponse::from_parts(parts, start.bytes.into()))
}

/// The answer with as much of its body as is read of one that is no success.
pub(super) async fn shortened(answer: HttpResponse) -> HttpResponse {
    let (parts, body) = answer.into_parts();
    let bytes = Start::of(body, MAX_REFUSAL).await.bytes;
    HttpResponse::from_parts(parts, bytes.into())
}

/// The error that an answer is which is no success. Of what a server says that was not asked, nothing is kept.
pub(super) async fn refusal(answer: HttpResponse, redirect: Redirect, was_asked: bool) -> HttpError {
    let status = answer.status();
    let start = Start::of(answer.into_body(), MAX_REFUSAL).await;
    let code = Some(start.bytes).filter(|_| was_asked).and_then(|bytes| code(&bytes)).unwrap_or_default();
    // These kinds tell `object_store` whether it should ask again.
    let may_change = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
    let kind = if may_change { HttpErrorKind::Request } else { HttpErrorKind::Unknown };
    HttpError::new(kind, Refusal { status: status.as_u16(), code, redirect })
}

/// The word in the element `Code`.
fn code(body: &[u8]) -> Option<String> {
    let body = String::from_utf8_lossy(body);
    let (_, rest) = body.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = code.len() <= MAX_CODE && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| code.into())
}

/// The start of a body.
struct Start {
    bytes: Vec<u8>,
    has_more: bool,
    /// Why there is no more, if the body has not ended.
    failure: Option<HttpError>,
}

impl Start {
    async fn of(body: object_store::client::HttpResponseBody, max: usize) -> Self {
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
