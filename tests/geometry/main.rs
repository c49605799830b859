//! The geometry: chunks, blocks, positions, slices, resizing.

mod c_blosc2;
mod default;
mod model;
mod never_panics;
mod rules;
mod walks;
