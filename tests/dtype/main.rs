//! Dtypes, and the meaning of their strings.

#![cfg(feature = "dtype")]

mod any_string;
mod as_numpy;
mod errors;
mod in_serde;
mod items;
mod items_as_numpy;
mod nesting;
mod printing;
mod real_files;
