//! Dtypes, and the meaning of their strings.

mod any_string;
mod as_numpy;
mod errors;
mod in_serde;
mod nesting;
mod printing;
mod real_files;
