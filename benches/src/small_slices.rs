//! Reads many small slices of open arrays for `benches/src/sections.py`, and measures how long they take.
//!
//! Each line of standard input has one of these words, the path of an array, and the path of a file, separated by tabs.
//! Each line of the file has the ranges of a slice, such as `0:24`, separated by tabs.
//!
//! | word | the slices are read by | the answer |
//! |---|---|---|
//! | `sum` | one thread | the sum of all bytes |
//! | `one` | one thread | the processor time in seconds |
//! | `shared` | two threads that share the array, half of the slices each | the seconds |
//! | `apart` | two threads, each with an open array of its own | the seconds |
//! | `bytes` | one thread, in an array that was just opened | the number of bytes of each slice |
//!
//! An array stays open, so its slices are warm from the second line on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Instant, SystemTime};

use b2nd_frame::{Array, Frame, ReadAt};
use cpu_time::ThreadTime;

type Ranges = Vec<Range<u64>>;

fn ranges(line: &str) -> Ranges {
    let range = |text: &str| {
        let (start, stop) = text.split_once(':').expect("a range");
        start.parse().expect("a number")..stop.parse().expect("a number")
    };
    line.split('\t').map(range).collect()
}

/// Reads slices into one buffer, and passes each to a function.
fn read(array: &Array, slices: &[Ranges], nbytes: usize, mut receive: impl FnMut(&[u8])) {
    let mut buffer = vec![0; nbytes];
    for slice in slices {
        array.slice(slice).read_into(&mut buffer).expect("items");
        receive(&buffer);
    }
}

/// Reads half of the slices in each array, in two threads. Returns the seconds.
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

/// A file that counts the bytes that were read.
struct Counted {
    file: File,
    bytes: AtomicU64,
}

impl ReadAt for Counted {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = self.file.read_at(buffer, offset)?;
        self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn modified(&self) -> Option<SystemTime> {
        self.file.modified()
    }
}

/// The number of bytes that each slice reads in an array that was just opened.
fn bytes(path: &str, slices: &[Ranges]) -> String {
    let counted = Counted { file: File::open(path).expect("a file"), bytes: AtomicU64::new(0) };
    let array = Array::new(Frame::read_at(counted, 0).expect("a frame")).expect("an array");
    let taken = slices.iter().map(|slice| {
        let before = array.frame().reader().bytes.load(Ordering::Relaxed);
        array.slice(slice).read().expect("items");
        (array.frame().reader().bytes.load(Ordering::Relaxed) - before).to_string()
    });
    taken.collect::<Vec<_>>().join(" ")
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
            "apart" => in_two_threads([first, second], &slices, nbytes).to_string(),
            _ => bytes(path, &slices),
        };
        println!("{answer}");
        io::stdout().flush().expect("standard output");
    }
}
