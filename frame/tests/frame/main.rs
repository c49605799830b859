//! The frame: finding, reading, checking and changing it.

mod change;
mod check;
mod chunk_data;
mod chunk_files;
mod chunk_headers;
mod chunk_vectors;
mod chunks;
mod dump;
mod failing;
mod frame_type;
mod geometry;
mod inside;
mod kind;
mod magic;
mod peers;
mod reading;
mod real_files;
mod rewrite;
mod store;
mod vectors;
mod writing;

/// Compares a text with the snapshot of this name.
#[track_caller]
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}
