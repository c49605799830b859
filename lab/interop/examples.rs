//! Compares the programs in `examples` with NumPy, python-blosc2 and h5py.

#[path = "../../frame/examples/hdf5_chunk.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod hdf5_chunk;

use std::path::Path;

use crate::{converse, python};
use ndarray::Array2;
use serde_json::Value;

fn numbers<N: TryFrom<u64, Error: std::fmt::Debug>>(list: &Value) -> Vec<N> {
    list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap().try_into().unwrap()).collect()
}

#[test]
fn the_examples_find_the_chunks_of_hdf5_and_write_what_python_blosc2_opens() {
    let folder = tempfile::tempdir().unwrap();
    let mut chunks = 0;
    converse(python("examples.py").arg(folder.path()), |line| {
        if let Some(path) = line["hdf5"].as_str() {
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
        } else {
            let [rows, columns] = numbers(&line["shape"]).try_into().unwrap();
            let items = (0_u32..).map(|number| f64::from(number) / 2.0).take(rows * columns).collect();
            let array = Array2::from_shape_vec((rows, columns), items).unwrap();
            b2nd_frame::write_array(line["write"].as_str().unwrap(), array.view()).unwrap();
        }
        String::new()
    });
    assert_eq!(chunks, 6);
}
