//! The kinds of object stores: their schemes and terms, and connections to them.

use std::convert::identity;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{ClientConfigKey, Error, ObjectStore, RetryConfig};

use super::http::Connector;
use super::runtime::TIMEOUT;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Google,
    Azure,
    Web,
}

impl Service {
    pub(super) const fn from_scheme(scheme: &str) -> Option<Self> {
        Some(match scheme.as_bytes() {
            // Some of these schemes come from Hadoop and fsspec.
            b"s3" | b"s3a" => Self::S3,
            b"gs" => Self::Google,
            b"az" | b"azure" | b"abfs" | b"abfss" | b"adl" => Self::Azure,
            b"http" | b"https" => Self::Web,
            _ => return None,
        })
    }

    /// The service's word for a bucket.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Azure => "container",
            Self::S3 | Self::Google => "bucket",
            Self::Web => "host",
        }
    }

    /// The bucket or server at a URL, with the settings of the environment and the time limit of a request.
    pub(super) fn connect(self, url: &str) -> Result<Box<dyn ObjectStore>, Error> {
        let retry = RetryConfig { retry_timeout: Duration::from_secs(*TIMEOUT), ..RetryConfig::default() };
        // Requests to the web have no credentials, so redirects to other servers are safe.
        let connector = Connector { may_leave: self == Self::Web };
        // Requests without TLS are allowed, but they are made only if the user has set a URL or an endpoint with
        // `http://`.
        let (is_without_tls, allowed) = (ClientConfigKey::AllowHttp, "true");
        // This is a macro and not a function, because the builders have the same methods but no common trait.
        macro_rules! built {
            ($builder:expr, $key:path) => {{
                let builder = $builder.with_url(url).with_retry(retry).with_http_connector(connector);
                Box::new(builder.with_config($key(is_without_tls), allowed).build()?)
            }};
        }
        Ok(match self {
            Self::S3 => built!(AmazonS3Builder::from_env(), AmazonS3ConfigKey::Client),
            Self::Google => built!(GoogleCloudStorageBuilder::from_env(), GoogleConfigKey::Client),
            Self::Azure => built!(MicrosoftAzureBuilder::from_env(), AzureConfigKey::Client),
            Self::Web => built!(HttpBuilder::new(), identity),
        })
    }
}
