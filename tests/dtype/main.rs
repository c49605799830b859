//! The dtypes: what their strings mean.

mod any_string;
mod as_numpy;
mod errors;
mod in_serde;
mod nesting;
mod printing;
mod real_files;
