//! The command, run as its users run it.

mod address;
mod bytes;
mod change;
mod check;
mod chunks;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod diff;
mod general;
mod interop;
mod json;
mod kind;
mod ls;
mod picture;
mod remote;
mod run;
mod terminal;
mod values;
