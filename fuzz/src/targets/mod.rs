//! The targets.

use b2nd_lab::Kept;

use crate::seeds;

mod change;
mod chunk;
mod compress;
mod containers;
mod dtype;
mod frame;
mod geometry;
mod items;
mod meta;
mod plan;
mod slices;
mod vlmeta;
mod write;
mod zstd;

/// A fuzz target.
#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    /// Asserts the promises that hold for any bytes.
    pub run: fn(&[u8]),
    /// The number of mutations that `cargo test` tries.
    pub runs: u64,
    made: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// The seeds of this target: first the inputs in `corpus`, then the others.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = seeds::kept(self.name);
        seeds.extend((self.made)());
        seeds
    }
}

pub static TARGETS: [Target; 14] = [
    Target { name: "meta", run: meta::run, runs: 20_000, made: seeds::metalayers },
    Target { name: "frame", run: frame::run, runs: 5000, made: seeds::frames },
    Target { name: "chunk", run: chunk::run, runs: 20_000, made: chunk::seeds },
    Target { name: "compress", run: compress::run, runs: 10_000, made: compress::seeds },
    Target { name: "zstd", run: zstd::run, runs: 3000, made: zstd::seeds },
    Target { name: "slices", run: slices::run, runs: 4000, made: slices::seeds },
    Target { name: "plan", run: plan::run, runs: 4000, made: plan::seeds },
    Target { name: "change", run: change::run, runs: 2000, made: change::seeds },
    Target { name: "write", run: write::run, runs: 4000, made: write::seeds },
    Target { name: "containers", run: containers::run, runs: 4000, made: seeds::containers },
    Target { name: "vlmeta", run: vlmeta::run, runs: 5000, made: seeds::chunks },
    Target { name: "dtype", run: dtype::run, runs: 20_000, made: seeds::dtypes },
    Target { name: "items", run: items::run, runs: 5000, made: items::seeds },
    Target { name: "geometry", run: geometry::run, runs: 5000, made: geometry::seeds },
];

/// Asserts that the rows show the input from its start, without a gap, and that no row before the last has a fault. If
/// there is no fault, the rows must show the whole input. Returns whether there is a fault.
fn assert_rows(rows: &[Kept], start: u64, input: &[u8]) -> bool {
    let mut shown = Vec::new();
    for row in rows {
        assert!(
            row.bytes.is_empty() || row.offset == start + shown.len() as u64,
            "{row:?} after {} bytes",
            shown.len()
        );
        assert_eq!(Some(&*row.cells.concat()), row.line.lines().next());
        assert_eq!(row.line.lines().count(), 1 + usize::from(row.fault.is_some()));
        shown.extend_from_slice(&row.bytes);
    }
    assert!(input.starts_with(&shown), "rows of other bytes than the input");
    let faults = rows.iter().filter(|row| row.fault.is_some()).count();
    assert!(
        faults == 0 || faults == 1 && rows.last().is_some_and(|row| row.fault.is_some()),
        "a fault is last"
    );
    assert!(faults == 1 || shown.len() == input.len(), "{} of {} bytes are shown", shown.len(), input.len());
    faults == 1
}
