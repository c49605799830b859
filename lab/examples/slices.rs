//! Reads slices for `lab/studies/values.py`, which measures how long it takes.
//!
//! Each line of standard input has a path, a number of threads, and ranges such as 0:24, separated by tabs. The answer is the
//! seconds that it took to open the file and to read the slice, and the sum of its bytes.

use std::io::{BufRead, Write};
use std::ops::Range;
use std::time::Instant;

use b2nd_frame::Frame;

fn range(text: &str) -> Range<u64> {
    let (start, stop) = text.split_once(':').expect("a range");
    start.parse().expect("a number")..stop.parse().expect("a number")
}

fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let parts: Vec<&str> = line.split('\t').collect();
        let [path, threads, ranges @ ..] = &parts[..] else { panic!("a path, threads and ranges") };
        let ranges: Vec<_> = ranges.iter().copied().map(range).collect();
        let threads = threads.parse().expect("a number");
        let start = Instant::now();
        let mut frame = Frame::open(path).expect("a frame");
        let items = frame.slice(&ranges).threads(threads).read().expect("items");
        let seconds = start.elapsed().as_secs_f64();
        let sum: u64 = items.iter().map(|&byte| u64::from(byte)).sum();
        println!("{seconds} {sum}");
        std::io::stdout().flush().expect("standard output");
    }
}
