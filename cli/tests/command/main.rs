//! The command, run as its users run it.

mod address;
mod bytes;
mod cat;
mod change;
mod check;
mod chunks;
mod convert;
mod diff;
mod general;
mod hostile;
mod hostile_files;
mod json;
mod kind;
mod linear;
mod ls;
mod picture;
mod questions;
mod remote;
mod run;
mod salvage;
mod scarce;
mod server;
mod terminal;
mod values;
mod view;
mod waiting;
