//! `read_slice` reads the arrays that `b2nd_frame::write_array` writes.

#[path = "../../examples/read_slice.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod read_slice;

use ndarray::{Array2, s};

#[test]
fn a_slice_of_a_written_array_has_its_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("waves.b2nd");
    let items = (0..180_000).map(|number| f64::from(number).sin()).collect();
    let written = Array2::from_shape_vec((600, 300), items).unwrap();
    b2nd_frame::write_array(&path, written.view()).unwrap();

    for [rows, columns] in [[0_usize..600, 0..300], [249..252, 248..300], [599..600, 0..1], [7..7, 0..300]] {
        let slice = [rows.clone(), columns.clone()].map(|range| range.start as u64..range.end as u64);
        let read = read_slice::read_slice(&path, &slice).unwrap();
        assert_eq!(read, written.slice(s![rows, columns]).into_dyn());
    }
    let error = read_slice::read_slice(&path, &[0..601, 0..1]).unwrap_err();
    assert_eq!(error.to_string(), "slice[0] stops at 601, but shape[0] is 600");
}
