//! The Rust contenders of the benchmarks in `sections.py`: the writer of `b2nd-frame`, and bare loops of system calls.
//! The program prints the seconds of each contender.
//!
//! ```text
//! bare read FOLDER THREADS             opens each file below FOLDER, reads its start, and closes it
//! bare write CHUNKS COUNT LEN TURNS    a file of COUNT ready chunks, each of LEN bytes: four contenders take turns
//! ```

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, thread};

use b2nd_frame::FrameBuilder;
use b2nd_serde::{Meta, Shapes};

/// The number of bytes to read from each file.
const READ: usize = 512;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["read", folder, threads] => println!("{}", read(&files(Path::new(folder)), number(threads))),
        ["write", chunks, count, len, turns] => {
            write(Path::new(chunks), number(count), number(len), number(turns));
        }
        _ => panic!("which contender?"),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder).unwrap();
    let files = folders.flat_map(|inner| fs::read_dir(inner.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

/// Opens each file and reads its first bytes, with the files divided among the threads. Returns the elapsed seconds.
fn read(paths: &[PathBuf], threads: usize) -> f64 {
    time(|| {
        thread::scope(|scope| {
            for paths in paths.chunks(paths.len().div_ceil(threads)) {
                scope.spawn(move || {
                    for path in paths {
                        let mut bytes = [0; READ];
                        assert!(File::open(path).unwrap().read(&mut bytes).unwrap() > 0);
                    }
                });
            }
        });
    })
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    Duration::as_secs_f64(&start.elapsed())
}

fn builder(len: usize, count: usize) -> FrameBuilder {
    let shape = [i64::try_from(len * count).unwrap()];
    let [chunkshape, blockshape] = [len, len.min(1 << 15)].map(|len| [i32::try_from(len).unwrap()]);
    let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
    FrameBuilder::new(Meta::new(shapes, "|u1").unwrap())
}

/// Lets the contenders write the same chunks to a file, one contender after the other. Prints a line for each turn,
/// with the seconds of each contender.
fn write(ready: &Path, count: usize, len: usize, turns: usize) {
    let bytes = fs::read(ready).unwrap();
    let chunks: Vec<&[u8]> = bytes.chunks_exact(bytes.len() / count).collect();
    let path = ready.with_extension("new");
    let contenders: [&dyn Fn(); 4] = [
        &|| {
            let mut writer = builder(len, count).write_to(File::create(&path).unwrap()).unwrap();
            for (number, chunk) in (0..).zip(&chunks) {
                writer.write_chunk(number, chunk).unwrap();
            }
            writer.finish().unwrap();
        },
        &|| bare(&chunks, &path, false),
        &|| {
            let mut writer = builder(len, count).create(&path).unwrap();
            for (number, chunk) in (0..).zip(&chunks) {
                writer.write_chunk(number, chunk).unwrap();
            }
            writer.finish().unwrap().persist().unwrap();
        },
        &|| bare(&chunks, &path, true),
    ];
    for turn in 0..turns {
        let seconds = contenders.map(|contender| {
            let _ = fs::remove_file(&path);
            time(contender).to_string()
        });
        println!("{}", seconds.join(" "));
        // After the last turn, the first contender writes its frame once more, so that `b2nd check` can check the
        // frame.
        if turn + 1 == turns {
            fs::remove_file(&path).unwrap();
            contenders[0]();
        }
    }
}

fn bare(chunks: &[&[u8]], path: &Path, syncs: bool) {
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path).unwrap());
    for chunk in chunks {
        file.write_all(chunk).unwrap();
    }
    let file = file.into_inner().unwrap();
    if syncs {
        file.sync_all().unwrap();
    }
}
