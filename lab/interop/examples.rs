//! Compares the programs in `examples` with NumPy, python-blosc2 and h5py.

#[path = "../../frame/examples/hdf5_chunk.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod hdf5_chunk;
#[path = "../../frame/examples/write_array.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod write_array;

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::process::Stdio;

use crate::python;
use b2nd_frame::Frame;
use b2nd_lab::unhex;
use ndarray::Array2;
use serde_json::Value;

fn numbers<N: TryFrom<u64, Error: std::fmt::Debug>>(list: &Value) -> Vec<N> {
    list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap().try_into().unwrap()).collect()
}

#[test]
fn the_examples_read_what_numpy_reads_and_write_what_it_opens() {
    let folder = tempfile::tempdir().unwrap();
    let seed = std::env::var("B2ND_SEED").unwrap_or_else(|_| "1".into());
    let mut script = python("examples.py")
        .arg(folder.path())
        .args(["300", &seed])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = script.stdin.take().unwrap();
    let (mut slices, mut chunks) = (0, 0);
    for line in BufReader::new(script.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(path) = line["path"].as_str() {
            let slice: Vec<Range<u64>> =
                line["slice"].as_array().unwrap().iter().map(numbers).map(|cut| cut[0]..cut[1]).collect();
            let items = Frame::open(path)
                .and_then(|mut frame| frame.slice(&slice).read())
                .unwrap_or_else(|error| panic!("{path}, {slice:?}: {error}"));
            assert!(items == unhex(line["items"].as_str().unwrap()), "{path}, {slice:?}");
            slices += 1;
        } else if let Some(path) = line["hdf5"].as_str() {
            let path = Path::new(path);
            let found = hdf5_chunk::chunks(path).unwrap();
            for chunk in line["chunks"].as_array().unwrap() {
                let (offset, shape) = (chunk["offset"].as_u64().unwrap(), numbers::<i64>(&chunk["shape"]));
                let frame = found.iter().find(|frame| frame.offset() == offset).unwrap();
                assert_eq!(frame.header().frame_len, chunk["size"].as_u64().unwrap());
                if let Some(array) = frame.array().unwrap() {
                    assert_eq!(array.shape(), shape);
                } else {
                    assert_eq!(shape.len(), 1);
                }
                let alone = hdf5_chunk::chunk_at(path, offset).unwrap();
                assert_eq!(hdf5_chunk::describe(&alone).unwrap(), hdf5_chunk::describe(frame).unwrap());
                chunks += 1;
            }
            assert_eq!(found.len(), chunks);
        } else if let Some(path) = line["write"].as_str() {
            let [rows, columns] = numbers(&line["shape"]).try_into().unwrap();
            let items = (0_u32..).map(|number| f64::from(number) / 2.0).take(rows * columns).collect();
            let array = Array2::from_shape_vec((rows, columns), items).unwrap();
            write_array::write_array(Path::new(path), &array).unwrap();
            writeln!(stdin).unwrap();
        } else {
            assert_eq!(line["verified"], true);
        }
    }
    assert!(script.wait().unwrap().success());
    assert_eq!((slices, chunks), (300, 6));
}
