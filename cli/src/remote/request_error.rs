//! Explains the errors of object stores and web servers, with advice for the user.

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

use super::http::Unusable;
use super::runtime::{MAX_TIMEOUT, TIMEOUT};
use super::service::Service;
use crate::code;
use crate::problem::{Problem, sources};
use crate::text::shortened;

pub(super) const CHANGED: &str = "the object was changed while it was read; try again";

/// The maximum width of a message that quotes a server.
const MAX_QUOTED: usize = 200;

impl Service {
    /// A hint on how to log in.
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

    /// The message about a redirect that was not followed.
    fn redirected(self) -> &'static str {
        match self {
            Self::S3 => {
                "the server redirects to another server, to which no credentials are sent: set AWS_REGION, or set AWS_ENDPOINT_URL to that server"
            }
            Self::Google | Self::Azure => {
                "the server redirects to another server, to which no credentials are sent"
            }
            Self::Web => "too many redirects, or a redirect to a URL that is not http(s)",
        }
    }

    /// The message about a server that answers a range request with the whole object.
    fn without_ranges(self) -> &'static str {
        match self {
            Self::Web => "the server sends files only as a whole; download this one",
            _ => "the server ignores byte ranges, which every object store supports; check the endpoint",
        }
    }

    /// The error if no connection can be made with this URL and the settings of the environment.
    pub(super) fn unusable_settings(self, error: &Error) -> Problem {
        // No environment variable sets credentials for a web server.
        let hint = if self == Self::Web { String::new() } else { format!(": {}", self.login()) };
        Problem::new(code::INVALID_INPUT, innermost(error) + &hint)
    }

    /// The code and the message for a failed request. `root` is the URL of the bucket.
    pub(super) fn explain(self, root: &str, error: &Error) -> (&'static str, String) {
        match (unusable(error), http_error(error)) {
            (Some(Unusable::Refused { status, code }), _) => self.refused(root, *status, code),
            (Some(Unusable::Redirected), _) => (code::INVALID_INPUT, self.redirected().into()),
            (Some(Unusable::WholeObject), _) => (code::IO, self.without_ranges().into()),
            (Some(Unusable::NoCredentials), _) => {
                (code::NO_ACCESS, format!("there are no credentials: {}", self.login()))
            }
            (None, Some(HttpErrorKind::Timeout)) => {
                let longer = (5 * *TIMEOUT).min(MAX_TIMEOUT);
                let what = format!("B2ND_TIMEOUT={longer} waits up to {longer} seconds");
                (code::IO, format!("the server does not answer; {what}"))
            }
            (None, Some(HttpErrorKind::Connect)) => {
                (code::IO, format!("there is no connection to the server: {}", innermost(error)))
            }
            (None, Some(HttpErrorKind::Interrupted | HttpErrorKind::Request | HttpErrorKind::Decode)) => {
                (code::IO, "the connection ended before the answer was complete; try again".into())
            }
            // A listing has a key that cannot be requested.
            _ if find::<object_store::path::Error>(error).is_some() => {
                (code::UNSUPPORTED, format!("{}; list the other prefixes one by one", innermost(error)))
            }
            _ => (code::IO, innermost(error)),
        }
    }

    /// The code and the message for an answer whose status is not a success. `code` is the server's code for the error.
    fn refused(self, root: &str, status: u16, code: &str) -> (&'static str, String) {
        let answer =
            if code.is_empty() { format!("status {status}") } else { format!("status {status}, {code}") };
        match status {
            _ if ["NoSuchBucket", "ContainerNotFound"].contains(&code) => {
                (code::NO_BUCKET, format!("there is no {} {root}", self.noun()))
            }
            300..=399 if self == Self::S3 => {
                (code::INVALID_INPUT, "the bucket is in another region: set AWS_REGION".into())
            }
            404 => (code::MISSING, "no such object".into()),
            401 | 403 => (code::NO_ACCESS, format!("the server refuses access ({answer}): {}", self.login())),
            // The tag of the object differs from the tag in `If-Match`.
            412 => (code::CHANGING, CHANGED.into()),
            429 | 503 => {
                let what = "try again later, or with fewer requests at a time: `-j 8`";
                (code::THROTTLED, format!("the server asks for fewer requests ({answer}); {what}"))
            }
            500.. => (code::IO, format!("the server has failed ({answer}); try again later")),
            _ => (code::INVALID_INPUT, format!("the server refuses the request ({answer})")),
        }
    }
}

/// The first error of the type `E` among an error and its sources.
fn find<E: std::error::Error + 'static>(error: &Error) -> Option<&E> {
    sources(error).find_map(|error| error.downcast_ref())
}

pub(super) fn unusable(error: &Error) -> Option<&Unusable> {
    find(error)
}

/// The kind of an HTTP error, such as a failure of the connection.
fn http_error(error: &Error) -> Option<HttpErrorKind> {
    find::<HttpError>(error).map(HttpError::kind)
}

/// Whether the server failed or cannot be reached.
pub(super) fn is_of_server(error: &Error) -> bool {
    match unusable(error) {
        Some(Unusable::Refused { status, .. }) => matches!(status, 429 | 500..),
        Some(Unusable::Redirected | Unusable::WholeObject) => false,
        Some(_) => true,
        None => http_error(error).is_some(),
    }
}

/// The message of the innermost cause of an error. A message can quote a server, so a long message is cut.
fn innermost(error: &Error) -> String {
    let message = sources(error).last().map(ToString::to_string).unwrap_or_default();
    shortened(&message, MAX_QUOTED)
}
