//! Decompresses chunks for `benches/src/sections.py`, which compares the times with those of C-Blosc2.
//!
//! Each line of standard input is the path of a file that contains a chunk. For each line, the program prints the
//! number of seconds to decompress the chunk, and the sum of the decompressed bytes. One `Decompressor` decompresses
//! all chunks.

use std::fs;
use std::io::{BufRead, Write};
use std::time::Instant;

use b2nd_chunk::{Chunk, Decompressor};

fn main() {
    let mut decompressor = Decompressor::new();
    let mut data = Vec::new();
    for path in std::io::stdin().lock().lines() {
        let chunk = fs::read(path.expect("a line")).expect("a chunk");
        let chunk = Chunk::parse(&chunk).expect("a chunk");
        data.resize(chunk.header().nbytes(), 0);
        // The faster of two runs counts, because the first run includes the cost of new memory.
        let mut seconds = f64::MAX;
        for _ in 0..2 {
            let start = Instant::now();
            decompressor.decompress_into(&chunk, &mut data).expect("data");
            seconds = seconds.min(start.elapsed().as_secs_f64());
        }
        let sum: u64 = data.iter().map(|&byte| u64::from(byte)).sum();
        println!("{seconds} {sum}");
        std::io::stdout().flush().expect("standard output");
    }
}
