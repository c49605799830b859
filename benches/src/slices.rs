//! Reads slices for `benches/src/sections.py`, and measures how long each read takes.
//!
//! Each line of standard input has a path, a number of threads, and ranges such as 0:24, separated by tabs. For each
//! line, the program prints three numbers. The first is the seconds to open the file and read the slice into new
//! memory. The second is the seconds to open the file again and read the slice into a reused buffer. The third is the
//! sum of the bytes.

use std::io::{BufRead, Write};
use std::ops::Range;
use std::time::Instant;

use b2nd_frame::Array;

fn range(text: &str) -> Range<u64> {
    let (start, stop) = text.split_once(':').expect("a range");
    start.parse().expect("a number")..stop.parse().expect("a number")
}

fn main() {
    let mut buffer = Vec::<u8>::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let parts: Vec<&str> = line.split('\t').collect();
        let &[path, threads, ref ranges @ ..] = &parts[..] else { panic!("a path, threads and ranges") };
        let ranges: Vec<_> = ranges.iter().copied().map(range).collect();
        let threads = threads.parse().expect("a number");
        let open = || Array::open(path).expect("an array");
        let start = Instant::now();
        let items = open().slice(&ranges).threads(threads).read().expect("items");
        let fresh = start.elapsed().as_secs_f64();
        buffer.resize(items.len(), 0);
        let start = Instant::now();
        open().slice(&ranges).threads(threads).read_into(&mut buffer).expect("items");
        let kept = start.elapsed().as_secs_f64();
        assert_eq!(items, buffer, "both ways read the same");
        let sum: u64 = buffer.iter().map(|&byte| u64::from(byte)).sum();
        println!("{fresh} {kept} {sum}");
        std::io::stdout().flush().expect("standard output");
    }
}
