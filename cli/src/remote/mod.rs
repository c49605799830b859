//! Objects in object stores and on web servers: listed by prefix, and read by ranges.
//!
//! The crate `object_store` finds credentials, signs requests and retries them. `object_store` is asynchronous, but
//! code outside this folder is not. So the functions of this module wait for the results.

mod runtime;

mod http;

mod service;

mod request_error;

mod bucket;

mod listing;
mod object;

pub(crate) use listing::{Objects, list};
pub(crate) use object::{Object, open};
pub(crate) use runtime::stop;
