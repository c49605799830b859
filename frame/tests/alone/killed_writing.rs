//! If a process is killed while it writes a new frame, there is a complete frame at the destination, or none.
//!
//! The kill comes from another process at a random moment, so no assertion may depend on the moment.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Cursor, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::killed::files;
use crate::writes::Writes;
use b2nd_frame::{Check, CheckDepth, Frame, FrameBuilder, FrameWriter, SpecialValue};
use b2nd_lab::remove;
use b2nd_serde::{Meta, Shapes};

/// The builder of an array of 100 chunks of 16 KiB.
fn builder() -> FrameBuilder {
    let shapes = Shapes { shape: &[100 << 14], chunkshape: &[1 << 14], blockshape: &[1 << 12] };
    FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).vlmetalayer("unit", "kelvin")
}

fn fill<W: Write + Seek>(mut writer: FrameWriter<W>) -> W {
    for number in (0..writer.nchunks()).rev().step_by(2) {
        writer.write_uncompressed(number, &vec![u8::try_from(number).unwrap(); 1 << 14]).unwrap();
    }
    writer.write_repeated(0, &[7]).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap()
}

/// Like `fill`, but passes items to the writer instead of chunks. Two threads compress the items.
#[cfg(feature = "compress")]
fn fill_with_items<W: Write + Seek + Send>(writer: FrameWriter<W>) -> W {
    let mut writer = writer.into_array_writer().unwrap().threads(2);
    let fill = |ranges: &[std::ops::Range<u64>], items: &mut [u8]| {
        items.fill(u8::try_from(ranges[0].start >> 14).unwrap());
        Ok::<_, b2nd_frame::Error>(())
    };
    for half in [50 << 14..100 << 14, 0..50 << 14] {
        writer.write_from(std::slice::from_ref(&half), fill).unwrap();
    }
    writer.finish().unwrap()
}

#[cfg(not(feature = "compress"))]
fn fill_with_items<W: Write + Seek>(writer: FrameWriter<W>) -> W {
    fill(writer)
}

const NAMES: [&str; 4] = ["contiguous.b2nd", "sparse.b2nd", "items.b2nd", "sparse_items.b2nd"];

fn write(path: &Path) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let writer =
        if name.starts_with("sparse") { builder().create_sparse(path) } else { builder().create(path) };
    let fill = if name.ends_with("items.b2nd") { fill_with_items } else { fill };
    fill(writer.unwrap()).persist().unwrap();
}

/// The process that the test below kills.
#[test]
fn the_process_that_writes() {
    let Some(path) = env::var_os("B2ND_NEW_FRAME").map(PathBuf::from) else { return };
    println!("begins");
    write(&path);
    println!("has ended");
}

/// Starts the process, and reads its output up to the line `begins`. Returns the process and the rest of its output.
fn begin(path: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "killed_writing::the_process_that_writes", "--nocapture"]);
    let command = command.env("B2ND_NEW_FRAME", path).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.ends_with("begins\n") {
        assert!(lines.read_line(&mut line).unwrap() > 0);
    }
    (child, lines)
}

/// The time that the process needs to write the frame if it is not killed.
fn time_to_write(path: &Path) -> Duration {
    let (mut child, mut lines) = begin(path);
    let start = Instant::now();
    let mut line = String::new();
    while !line.contains("has ended") {
        assert!(lines.read_line(&mut line).unwrap() > 0);
    }
    let time = start.elapsed();
    io::copy(&mut lines, &mut io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
    time
}

/// The number of killed processes with each result.
#[derive(Debug, Default)]
struct Left {
    nothing: usize,
    /// A file or directory under a temporary name that is not a frame yet.
    temporary: usize,
    /// A complete frame under a temporary name. If the frame is sparse, there may also be an empty directory at the
    /// destination.
    almost: usize,
    whole: usize,
}

/// For more kills, set for example `B2ND_KILLS=200`.
#[test]
fn a_frame_whose_writer_is_killed_is_whole_or_not_there() {
    let kills = env::var("B2ND_KILLS").map_or(20, |kills| kills.parse().unwrap());
    for name in NAMES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write(&path);
        let whole = files(&path);
        assert_eq!(Check::new(CheckDepth::ChunkHeaders).run_path(&path).unwrap().findings, []);
        remove(&path);
        let times = (0..5).map(|_| {
            let time = time_to_write(&path);
            remove(&path);
            time
        });
        let time = times.min().unwrap();
        let mut left = Left::default();
        for _ in 0..kills {
            let (mut child, _lines) = begin(&path);
            thread::sleep(time.mul_f64(fastrand::f64()));
            child.kill().unwrap();
            child.wait().unwrap();
            let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
            let (final_name, temporary): (Vec<OsString>, Vec<OsString>) =
                names.partition(|other| *other == *name);
            assert!(temporary.len() <= 1, "{temporary:?}");
            let is_named = !final_name.is_empty();
            match temporary.first() {
                Some(other) => {
                    let text = other.to_str().unwrap();
                    assert!(text.starts_with(".b2nd-"), "{text}");
                    assert!(!is_named || files(&path).is_empty(), "it has two names");
                    let other = folder.path().join(other);
                    let is_whole = files(&other) == whole;
                    assert!(is_whole || Frame::open(&other).is_err(), "a part of a frame that opens");
                    *(if is_whole || is_named { &mut left.almost } else { &mut left.temporary }) += 1;
                    remove(&other);
                }
                None if is_named => {
                    assert!(files(&path) == whole, "a part of a frame under its name");
                    left.whole += 1;
                }
                None => left.nothing += 1,
            }
            if is_named {
                remove(&path);
            }
        }
        println!("{name} killed within {time:?}: {left:?}");
    }
}

#[test]
fn nothing_is_a_frame_before_the_last_write_is_whole() {
    for of_items in [false, true] {
        let mut writes = Vec::new();
        let remember = |position, bytes: &[u8]| writes.push((position, bytes.to_vec()));
        let frame = builder().write_to(Writes::to(remember)).unwrap();
        if of_items {
            fill_with_items(frame)
        } else {
            fill(frame)
        };
        is_no_frame_before_the_last(&writes);
    }
}

fn is_no_frame_before_the_last(writes: &[(u64, Vec<u8>)]) {
    let mut file = Cursor::new(Vec::new());
    let (last, others) = writes.split_last().unwrap();
    for (position, bytes) in others {
        // If a process is killed during a write, only a part of the bytes may be written.
        for part in [&bytes[..bytes.len() / 2], bytes] {
            file.set_position(*position);
            file.write_all(part).unwrap();
            assert!(Frame::read_at(&mut file, 0).is_err(), "{part:?} at {position}");
        }
    }
    for len in 0..=last.1.len() {
        file.set_position(last.0);
        file.write_all(&last.1[..len]).unwrap();
        let frame = Frame::read_at(&mut file, 0);
        let is_healthy = frame
            .is_ok_and(|frame| Check::default().run(&frame).is_ok_and(|report| report.findings.is_empty()));
        assert_eq!(is_healthy, len == last.1.len(), "{len} bytes of the header");
    }
}
