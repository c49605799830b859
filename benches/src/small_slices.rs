//! Reads many small slices of open arrays for `benches/src/sections.py`, and measures how long they take.
//!
//! Each line of standard input has a word of this table, the path of an array, and the path of a file, separated by
//! tabs. Each line of the file has the ranges of a slice, such as `0:24`, separated by tabs. For each line of standard
//! input, the program prints one number.
//!
//! | word | the slices are read by | the answer |
//! |---|---|---|
//! | `sum` | one thread | the sum of all bytes |
//! | `one` | one thread | the processor time in seconds |
//! | `shared` | two threads that share the array, half of the slices each | the seconds |
//! | `apart` | two threads, each with a separate open array, half of the slices each | the seconds |
//!
//! An array stays open. So from its second line on, it has its chunk index and the positions of its blocks in memory.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::ops::Range;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use b2nd_frame::Array;
use cpu_time::ThreadTime;

type Ranges = Vec<Range<u64>>;

fn ranges(line: &str) -> Ranges {
    let range = |text: &str| {
        let (start, stop) = text.split_once(':').expect("a range");
        start.parse().expect("a number")..stop.parse().expect("a number")
    };
    line.split('\t').map(range).collect()
}

/// Reads slices into one buffer, one after the other, and passes each slice to a function.
fn read(array: &Array, slices: &[Ranges], nbytes: usize, mut receive: impl FnMut(&[u8])) {
    let mut buffer = vec![0; nbytes];
    for slice in slices {
        array.slice(slice).read_into(&mut buffer).expect("items");
        receive(&buffer);
    }
}

/// Reads the first half of the slices from the first array, and the second half from the second array, in two threads.
/// Returns the seconds.
fn in_two_threads(arrays: [&Array; 2], slices: &[Ranges], nbytes: usize) -> f64 {
    let (first, second) = slices.split_at(slices.len() / 2);
    let barrier = Barrier::new(3);
    thread::scope(|scope| {
        let threads = [(arrays[0], first), (arrays[1], second)].map(|(array, slices)| {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                read(array, slices, nbytes, |items| _ = black_box(items));
            })
        });
        barrier.wait();
        let start = Instant::now();
        for thread in threads {
            thread.join().expect("items");
        }
        start.elapsed().as_secs_f64()
    })
}

fn main() {
    let mut arrays = BTreeMap::new();
    for line in io::stdin().lock().lines() {
        let line = line.expect("a line");
        let parts: Vec<&str> = line.split('\t').collect();
        let &[how, path, list] = &parts[..] else { panic!("a word, a path and a path") };
        let slices: Vec<Ranges> = fs::read_to_string(list).expect("a file").lines().map(ranges).collect();
        let open = || Array::open(path).expect("an array");
        let [first, second] = arrays.entry(path.to_owned()).or_insert_with(|| [open(), open()]);
        let nbytes = first.slice(&slices[0]).nbytes().expect("a slice");
        let answer = match how {
            "sum" => {
                let mut sum = 0;
                let add = |items: &[u8]| sum += items.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                read(first, &slices, nbytes, add);
                sum.to_string()
            }
            "one" => {
                let start = ThreadTime::now();
                read(first, &slices, nbytes, |items| _ = black_box(items));
                start.elapsed().as_secs_f64().to_string()
            }
            "shared" => in_two_threads([first, first], &slices, nbytes).to_string(),
            _ => in_two_threads([first, second], &slices, nbytes).to_string(),
        };
        println!("{answer}");
        io::stdout().flush().expect("standard output");
    }
}
