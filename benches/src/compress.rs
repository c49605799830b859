//! Compresses data for `benches/src/sections.py`, which compares the times with those of C-Blosc2.
//!
//! Each line of standard input has the number of a codec, a level, an item size, a block size (0 for the default), and
//! the path of the data. For each line, the program prints the processor time in seconds to compress the data, and the
//! length of the chunk.

use std::fs;
use std::io::{BufRead, Write};

use b2nd_chunk::{CParams, Codec, Compressor};
use cpu_time::ThreadTime;

fn main() {
    let mut chunk = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let [codec, level, typesize, blocksize, path] =
            line.splitn(5, ' ').collect::<Vec<_>>().try_into().expect("five words");
        let data = fs::read(path).expect("data");
        let mut params = CParams::new(typesize.parse().expect("an item size"));
        params.codec = Codec(codec.parse().expect("a codec"));
        params.clevel = level.parse().expect("a level");
        params.blocksize = blocksize.parse().expect("a block size");
        let mut compressor = Compressor::new(params).expect("parameters");
        // The faster of two runs counts, because the first run includes the cost of new memory.
        let mut seconds = f64::MAX;
        for _ in 0..2 {
            let start = ThreadTime::now();
            compressor.compress_into(&data, &mut chunk).expect("data");
            seconds = seconds.min(start.elapsed().as_secs_f64());
        }
        println!("{seconds} {}", chunk.len());
        std::io::stdout().flush().expect("standard output");
    }
}
