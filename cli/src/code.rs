//! The codes of failures that are not findings. `b2nd explain` describes each of them, and scripts rely on them.

pub(crate) const IO: &str = "io";
pub(crate) const COMPRESSED_MEMBER: &str = "compressed-member";
pub(crate) const MALFORMED: &str = "malformed";
pub(crate) const DECODE: &str = "decode";
pub(crate) const CHANGING: &str = "changing";
pub(crate) const LOCKED: &str = "locked";
pub(crate) const INVALID_INPUT: &str = "invalid-input";
pub(crate) const UNSUPPORTED: &str = "unsupported";
pub(crate) const TOO_LARGE: &str = "too-large";
pub(crate) const ARRAY_UNKNOWN: &str = "array-unknown";
pub(crate) const ORDER_UNKNOWN: &str = "order-unknown";
pub(crate) const EXISTS: &str = "exists";
pub(crate) const STOPPED: &str = "stopped";
pub(crate) const MISSING: &str = "missing";
pub(crate) const NO_BUCKET: &str = "no-bucket";
pub(crate) const NO_ACCESS: &str = "no-access";
pub(crate) const THROTTLED: &str = "throttled";
pub(crate) const PARTIAL_LISTING: &str = "partial-listing";
