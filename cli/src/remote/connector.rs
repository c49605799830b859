//! Connections to servers, and the rules for redirects.

use std::time::Duration;

use futures_util::future::BoxFuture;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderValue, LOCATION, RANGE};
use reqwest::{Certificate, Client, Method, NoProxy, Proxy, StatusCode, Url};

use super::answer::{ContentRange, Redirect, Unusable, error_kind, refusal, truncated, whole};
use super::runtime::TIMEOUT;

/// The maximum number of redirects of a request.
const MAX_REDIRECTS: u32 = 10;

/// The hosts that give a machine at Amazon, Google or Microsoft its credentials.
const MACHINE_HOSTS: [&str; 2] = ["169.254.169.254", "metadata.google.internal"];

/// Makes the connections of `object_store`.
#[derive(Debug)]
pub(super) struct Connector {
    /// Whether redirects to another server are followed. The other server would receive the credentials of the request,
    /// so this field is set only if requests have no credentials.
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
            // The client has the same time limit, but for each request alone. With redirects, an attempt has several
            // requests. The limit here is for all of them together.
            let answer = tokio::time::timeout(attempt_limit(), self.answer(request)).await;
            answer.unwrap_or_else(|late| Err(HttpError::new(HttpErrorKind::Timeout, late)))
        })
    }
}

impl Connection {
    /// Adds the headers to the answer of a range request that `object_store` needs. A chunked answer has no length, and a
    /// server may not give the length of the object: `Content-Range: bytes 0-99/*`. Then this function asks for it.
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

    /// The answer to a request, after redirects. An answer that is not a success becomes a `Refusal`.
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
                // The answer to a range request is read by `Object::request`, which stops at the end of the range.
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
            if !answer.status().is_redirection() {
                return Err(refusal(answer, Redirect::None, is_from_origin).await);
            }
            let Some(location) = answer.headers().get(LOCATION) else {
                return Err(refusal(answer, Redirect::Unnamed, is_from_origin).await);
            };
            let target = url(&request).and_then(|url| url.join(location.to_str().ok()?).ok());
            let stays = |target: &Url| asked.as_ref().is_some_and(|url| url.origin() == target.origin());
            let is_allowed = |target: &Url| {
                redirects < MAX_REDIRECTS
                    // Only a GET is sent again to the target of a redirect: a request with another method, such as
                    // PUT, could change something there.
                    && request.method() == Method::GET
                    && (stays(target) || self.may_leave && ["http", "https"].contains(&target.scheme()))
            };
            let Some(target) = target.filter(is_allowed) else {
                return Err(refusal(answer, Redirect::TooFar, is_from_origin).await);
            };
            let Ok(uri) = target.as_str().parse() else {
                return Err(refusal(answer, Redirect::TooFar, is_from_origin).await);
            };
            is_from_origin = stays(&target);
            redirects += 1;
            *request.uri_mut() = uri;
        }
    }
}

fn url(request: &HttpRequest) -> Option<Url> {
    Url::parse(&request.uri().to_string()).ok()
}
