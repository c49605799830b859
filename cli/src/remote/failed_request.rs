//! The failure of a request: an error of `object_store` in the words of this command.

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

use super::answer::{Redirect, Refusal, Unusable};
use super::runtime::{MAX_TIMEOUT, TIMEOUT};
use super::service::Service;
use crate::problem::{Problem, sources};
use crate::text::shortened;

/// The code for a missing object. `object::open` tests for this code: without an object at a URL, there may be a sparse
/// frame.
pub(super) const MISSING: &str = "missing";

/// The maximum width of a message that quotes a server.
const MAX_QUOTED: usize = 200;

pub(super) const CHANGED: &str = "the object was changed while it was read; try again";

/// An error of a request, with those of its causes that determine the message.
pub(super) struct FailedRequest<'e> {
    error: &'e Error,
    /// The answer of the server, if there was one and its status is not a success.
    refusal: Option<&'e Refusal>,
    unusable: Option<&'e Unusable>,
    /// The kind of the HTTP error, such as a failure of the connection.
    trouble: Option<HttpErrorKind>,
}

impl<'e> From<&'e Error> for FailedRequest<'e> {
    fn from(error: &'e Error) -> Self {
        Self {
            error,
            refusal: sources(error).find_map(|error| error.downcast_ref()),
            unusable: sources(error).find_map(|error| error.downcast_ref()),
            trouble: sources(error).find_map(|error| Some(error.downcast_ref::<HttpError>()?.kind())),
        }
    }
}

impl FailedRequest<'_> {
    /// The status of the answer, if there was one and it is not a success.
    pub(super) fn status(&self) -> Option<u16> {
        self.refusal.map(|refusal| refusal.status)
    }

    /// Whether the server failed or cannot be reached.
    pub(super) fn is_of_server(&self) -> bool {
        let is_unreachable = || self.status().is_none() && self.trouble.is_some();
        let is_whole = matches!(self.unusable, Some(Unusable::WholeObject));
        matches!(self.status(), Some(429 | 500..)) || is_unreachable() && !is_whole
    }

    /// The code and the message of this error, as a [`Problem`]. `root` is the URL of the bucket.
    pub(super) fn problem(&self, service: Service, root: &str) -> Problem {
        let (code, message) = self.by_type(service, root).unwrap_or_else(|| self.by_status(service));
        Problem::new(code, message)
    }

    /// The server's code for the error.
    fn code(&self) -> &str {
        self.refusal.map_or("", |refusal| &refusal.code)
    }

    fn redirect(&self) -> &Redirect {
        self.refusal.map_or(&Redirect::None, |refusal| &refusal.redirect)
    }

    /// The code and message, if something more exact than the status is known.
    fn by_type(&self, service: Service, root: &str) -> Option<(&'static str, String)> {
        // The order matters: the first reasons are more exact than the later ones, and all are more exact than a
        // status.
        Some(
            if sources(self.error).any(|error| error.downcast_ref::<object_store::path::Error>().is_some()) {
                ("unsupported", format!("{}; list the other prefixes one by one", innermost(self.error)))
            } else if ["NoSuchBucket", "ContainerNotFound"].contains(&self.code()) {
                ("no-bucket", format!("there is no {} {root}", service.noun()))
            } else if let Some(Unusable::NoCredentials) = self.unusable {
                ("no-access", format!("there are no credentials: {}", service.login()))
            } else if *self.redirect() == Redirect::Unnamed && service == Service::S3 {
                ("invalid-input", "the bucket is in another region: set AWS_REGION".into())
            } else if *self.redirect() == Redirect::TooFar {
                ("invalid-input", service.redirected().into())
            } else if let Some(Unusable::WholeObject) = self.unusable {
                let message = match service {
                    Service::Web => "the server sends files only as a whole; download this one",
                    _ => {
                        "the server ignores byte ranges, which every object store supports; check the endpoint"
                    }
                };
                ("io", message.into())
            } else {
                return None;
            },
        )
    }

    /// The code and message for the status. Without a status, the code and message for the kind of the HTTP error, such
    /// as a failure of the connection.
    fn by_status(&self, service: Service) -> (&'static str, String) {
        let answer = match (self.status(), self.code()) {
            (Some(status), "") => format!(" (status {status})"),
            (Some(status), code) => format!(" (status {status}, {code})"),
            (None, _) => String::new(),
        };
        match (self.status(), self.trouble) {
            (Some(404), _) => (MISSING, "no such object".into()),
            (Some(401 | 403), _) => {
                ("no-access", format!("the server refuses access{answer}: {}", service.login()))
            }
            // Status 412: the tag of the object is not the one in `If-Match`.
            (Some(412), _) => ("changing", CHANGED.into()),
            (Some(429 | 503), _) => {
                let what = "try again later, or with fewer requests at a time: `-j 8`";
                ("throttled", format!("the server asks for fewer requests{answer}; {what}"))
            }
            (Some(500..), _) => ("io", format!("the server has failed{answer}; try again later")),
            (Some(_), _) => ("invalid-input", format!("the server refuses the request{answer}")),
            (None, Some(HttpErrorKind::Timeout)) => {
                let longer = (5 * *TIMEOUT).min(MAX_TIMEOUT);
                let what = format!("B2ND_TIMEOUT={longer} waits up to {longer} seconds");
                ("io", format!("the server does not answer; {what}"))
            }
            (None, Some(HttpErrorKind::Connect)) => {
                ("io", format!("there is no connection to the server: {}", innermost(self.error)))
            }
            (None, Some(HttpErrorKind::Interrupted | HttpErrorKind::Request | HttpErrorKind::Decode)) => {
                ("io", "the connection ended before the answer did; try again".into())
            }
            _ => ("io", innermost(self.error)),
        }
    }
}

/// The message of the innermost cause of an error. A message can quote a server, so a long message is cut.
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let message = sources(error).last().map(ToString::to_string).unwrap_or_default();
    shortened(&message, MAX_QUOTED)
}
