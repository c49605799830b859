//! What `write_array` writes, `read_slice` reads.

#[path = "../../examples/read_slice.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod read_slice;
#[path = "../../examples/write_array.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod write_array;

use ndarray::{Array2, array, s};

use super::data;

#[test]
fn a_slice_of_a_written_array_has_its_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("waves.b2nd");
    let items = (0..180_000).map(|number| f64::from(number).sin()).collect();
    let written = Array2::from_shape_vec((600, 300), items).unwrap();
    write_array::write_array(&path, &written).unwrap();

    for [rows, columns] in [[0_usize..600, 0..300], [249..252, 248..300], [599..600, 0..1], [7..7, 0..300]] {
        let slice = [rows.clone(), columns.clone()].map(|range| range.start as u64..range.end as u64);
        let bytes = read_slice::read_slice(&path, &slice).unwrap();
        let read = read_slice::array(&bytes, &slice, f64::from_le_bytes).unwrap();
        assert_eq!(read, written.slice(s![rows, columns]).into_dyn());
    }
    let error = read_slice::read_slice(&path, &[0..601, 0..1]).unwrap_err();
    assert_eq!(error.to_string(), "slice[0] stops at 601, but shape[0] is 600");
}

#[test]
fn sparse_arrays_and_chunks_of_one_value_are_read() {
    let read = |name: &str, slice: &[_]| read_slice::read_slice(&data().join(name), slice).unwrap();
    let slice = [1..3, 2..5];
    let items = read_slice::array(&read("int32_3x5.b2nd", &slice), &slice, i32::from_le_bytes).unwrap();
    assert_eq!(items, array![[7, 8, 9], [12, 13, 14]].into_dyn());
    // Big-endian.
    assert_eq!(read("sparse.b2nd", &[1..2, 1..3]), [0, 9, 0, 10]);

    let item = |name| f64::from_le_bytes(read(name, &[39..40, 39..40]).try_into().unwrap());
    assert!(item("peers/special_nans.b2nd").is_nan());
    assert_eq!(
        [item("peers/special_zeros.b2nd"), item("peers/special_full.b2nd")].map(f64::to_bits),
        [0.0, 2.5].map(f64::to_bits)
    );
}
