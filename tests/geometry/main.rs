//! The geometry: chunks, blocks, positions, slices, resizing.

mod c_blosc2;
mod model;
mod never_panics;
mod real_data;
mod rules;
mod walks;
