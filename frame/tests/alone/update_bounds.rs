//! The memory of `ArrayUpdate` is bounded: complete chunks are compressed at once, and open chunks have at most 64 MiB
//! together.

use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::slice::from_ref;
use std::{env, fs};

use allocation_counter::measure;
use b2nd_frame::{Array, ArrayUpdate, ErrorKind, FrameBuilder, SpecialValue};
use b2nd_serde::{Meta, Shapes};

/// The maximum number of bytes of all open chunks.
const OPEN: u64 = 1 << 26;

/// The number of bytes of a chunk.
const CHUNK: u64 = 1 << 20;

/// The memory for anything else: some chunks that are read, changed and compressed, and the compressor.
const OTHER: u64 = 8 * CHUNK;

/// An array of zeros with 100 chunks in one row of chunks.
fn wide(path: &Path, rows: i64) {
    let shapes = Shapes { shape: &[rows, 100 * 4096], chunkshape: &[256, 4096], blockshape: &[32, 4096] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).level(1).create(path).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
}

#[test]
fn changes_of_many_chunks_take_a_bounded_number_of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.b2nd");
    wide(&path, 1);
    let row = vec![1; 100 * 4096];
    let taken = measure(|| {
        let mut update = ArrayUpdate::open(&path).unwrap();
        // Each row is in all 100 chunks.
        for _ in 0..2 {
            update.append(0, &row).unwrap();
        }
        update.write(&[0..1, 0..100 * 4096], &row).unwrap();
        update.flush().unwrap();
        // The second write is in chunks that are all open.
        for chunks in [0..60, 0..60, 60..100] {
            let columns = 4096 * chunks.start..4096 * chunks.end;
            let count = usize::try_from(columns.end - columns.start).unwrap();
            update.write(&[0..1, columns], &row[..count]).unwrap();
        }
        update.flush().unwrap();
    });
    assert!(taken.bytes_max <= OPEN + OTHER, "{} bytes", taken.bytes_max);
    let items = Array::open(&path).unwrap().slice(&[0..3, 0..100 * 4096]).read().unwrap();
    assert!(items.iter().all(|&item| item == 1));
}

#[test]
fn complete_chunks_take_only_their_compressed_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.b2nd");
    wide(&path, 256);
    let chunk = vec![1; 1 << 20];
    let taken = measure(|| {
        let mut update = ArrayUpdate::open(&path).unwrap();
        for number in 0..100 {
            update.write(&[0..256, 4096 * number..4096 * (number + 1)], &chunk).unwrap();
        }
        update.flush().unwrap();
    });
    assert!(taken.bytes_max <= OTHER, "{} bytes", taken.bytes_max);
}

#[test]
fn an_update_takes_at_most_200_bytes_for_each_chunk_of_the_array() {
    const COUNT: u64 = 1 << 16;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.b2nd");
    let shapes = Shapes { shape: &[2 << 16], chunkshape: &[2], blockshape: &[2] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(&path).unwrap();
    for number in 0..COUNT {
        writer.write_uncompressed(number, &[1, 2]).unwrap();
    }
    writer.finish().unwrap().persist().unwrap();
    // The second commit finds the record of holes of the first commit.
    for item in [3, 4] {
        let taken = measure(|| {
            let mut update = ArrayUpdate::open(&path).unwrap();
            update.write(from_ref(&(5..6)), &[item]).unwrap();
            update.flush().unwrap();
        });
        println!("{} bytes for each chunk", taken.bytes_max / COUNT);
        assert!(taken.bytes_max <= 200 * COUNT + OTHER, "{} bytes", taken.bytes_max);
    }
}

#[test]
fn open_of_an_update_takes_no_memory_for_the_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.b2nd");
    let shapes = Shapes { shape: &[4 << 20], chunkshape: &[1 << 20], blockshape: &[1 << 20] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(&path).unwrap();
    for number in 0..4 {
        writer.write_uncompressed(number, &vec![1; 1 << 20]).unwrap();
    }
    writer.finish().unwrap().persist().unwrap();
    let taken = measure(|| drop(ArrayUpdate::open(&path).unwrap()));
    assert!(taken.bytes_total < CHUNK, "{} bytes", taken.bytes_total);
}

#[test]
fn append_of_a_row_does_not_look_at_all_chunks_of_the_array() {
    const COUNT: i64 = 1 << 16;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.b2nd");
    let shapes = Shapes { shape: &[0], chunkshape: &[3], blockshape: &[3] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    builder.create(&path).unwrap().finish().unwrap().persist().unwrap();
    let nbytes = |count: i64| {
        let mut update = ArrayUpdate::open(&path).unwrap();
        update.resize(&[3 * count]).unwrap();
        update.append(0, &[1]).unwrap();
        let taken = measure(|| (0..100).for_each(|_| update.append(0, &[1]).unwrap()));
        assert_eq!(update.meta().shape(), [3 * count + 101]);
        taken.bytes_total
    };
    let (few, many) = (nbytes(1 << 6), nbytes(COUNT));
    // The list of all chunks may move once, to get room for more chunks.
    assert!(many <= few + 32 * COUNT.unsigned_abs(), "{many} bytes, but {few} for a short array");
}

/// The process that the test below starts with a limit on its memory, in which no chunk of the array has room.
#[test]
fn the_process_without_memory_for_a_chunk() {
    let Some(path) = env::var_os("B2ND_NO_MEMORY") else { return };
    let mut update = ArrayUpdate::open(&path).unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(update.append(0, &[7; 16]).unwrap_err().kind(), ErrorKind::TooLarge);
    #[cfg(feature = "ndarray")]
    {
        let row = ndarray::array![7_i64].into_dyn();
        assert_eq!(update.append_array(0, row.view()).unwrap_err().kind(), ErrorKind::TooLarge);
    }
    assert_eq!(update.meta().shape(), [0]);
    // As nothing is changed, nothing is written.
    update.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);

    update.resize(&[2]).unwrap();
    assert_eq!(update.write(from_ref(&(0..1)), &[7; 8]).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(update.resize(&[3]).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(update.append(0, &[7; 8]).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(update.meta().shape(), [2]);
    update.flush().unwrap();
    assert_eq!(Array::open(&path).unwrap().shape(), [2]);

    // A changed chunk, which is compressed, does not fit any more when it is changed again.
    let small = Path::new(&path).with_file_name("small.b2nd");
    let mut update = ArrayUpdate::open(&small).unwrap();
    update.write(from_ref(&(0..1 << 24)), &vec![7; 1 << 24]).unwrap();
    // Room for all that is small, such as the error.
    let spare = Vec::<u8>::with_capacity(1 << 20);
    let mut taken = Vec::new();
    loop {
        let mut part = Vec::<u8>::new();
        if part.try_reserve_exact(1 << 22).is_err() {
            break;
        }
        taken.push(part);
    }
    drop(spare);
    assert_eq!(update.write(from_ref(&(0..1)), &[8]).unwrap_err().kind(), ErrorKind::TooLarge);
    drop(taken);
    update.write(from_ref(&(1..2)), &[9]).unwrap();
    update.flush().unwrap();
    let items = Array::open(&small).unwrap().slice(from_ref(&(0..4))).read().unwrap();
    assert_eq!(items, [7, 9, 7, 7]);
    println!("all failed");
}

#[cfg(target_os = "linux")]
#[test]
fn a_change_without_memory_for_a_chunk_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.b2nd");
    // A chunk has 512 MiB.
    let shapes = Shapes { shape: &[0], chunkshape: &[1 << 26], blockshape: &[1 << 16] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<i8").unwrap());
    builder.create(&path).unwrap().finish().unwrap().persist().unwrap();
    // A chunk has 16 MiB.
    let shapes = Shapes { shape: &[1 << 24], chunkshape: &[1 << 24], blockshape: &[1 << 16] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let mut writer = builder.create(folder.path().join("small.b2nd")).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 400000 && exec \"$0\" \"$@\""]).arg(env::current_exe().unwrap());
    limited.args(["--exact", "update_bounds::the_process_without_memory_for_a_chunk", "--nocapture"]);
    let output = limited.env("B2ND_NO_MEMORY", &path).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("all failed"), "{output:?}");
}

#[test]
fn append_of_a_row_does_not_read_the_note_of_a_salvage() {
    #[derive(serde::Serialize)]
    struct Note {
        lost: Vec<(u64, u64)>,
        fill: &'static str,
        assumed_order: bool,
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("salvaged.b2nd");
    let shapes = Shapes { shape: &[30_001], chunkshape: &[3], blockshape: &[3] };
    let lost = (0..5000).map(|number| (2 * number, 1)).collect();
    let note = Note { lost, fill: "zeros", assumed_order: false };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).vlmetalayer("b2nd_salvage", &note);
    let mut writer = builder.create(&path).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.append(0, &[1]).unwrap();
    let taken = measure(|| (0..10).for_each(|_| update.append(0, &[1]).unwrap()));
    // The ranges of the note take 80 kB in memory each time they are read.
    assert!(taken.bytes_total < 10 * 80_000, "{} bytes", taken.bytes_total);
}
