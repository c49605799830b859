//! Arrays that `ArrayUpdate` and python-blosc2 change in turns.

use std::ops::Range;

use b2nd_frame::{Array, ArrayUpdate, Check, CheckDepth, Severity};
use serde_json::Value;

use crate::{cases, converse, python, seed};

fn bytes(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().unwrap().as_bytes();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn ranges(list: &Value) -> Vec<Range<u64>> {
    let bounds: Vec<[u64; 2]> = serde_json::from_value(list.clone()).unwrap();
    bounds.into_iter().map(|[start, stop]| start..stop).collect()
}

pub(crate) fn commit(path: &str, changes: &Value) {
    let mut update = ArrayUpdate::open(path).unwrap();
    for change in changes.as_array().unwrap() {
        let field = |name: &str| change.get(name);
        if let Some(region) = field("write") {
            update.write(&ranges(region), &bytes(&change["items"])).unwrap();
        } else if let Some(axis) = field("append") {
            let axis = axis.as_u64().unwrap().try_into().unwrap();
            update.append(axis, &bytes(&change["items"])).unwrap();
        } else if let Some(shape) = field("resize") {
            update.resize(&serde_json::from_value::<Vec<i64>>(shape.clone()).unwrap()).unwrap();
        } else if let Some(name) = field("set") {
            update.set_vlmetalayer(name.as_str().unwrap(), &change["value"]).unwrap();
        } else {
            update.remove_vlmetalayer(change["remove"].as_str().unwrap());
        }
    }
    update.flush().unwrap();
}

#[test]
fn arrays_that_both_sides_change_by_turns_are_the_same_for_both() {
    let (folder, seed, count) = (tempfile::tempdir().unwrap(), seed(), cases(500));
    let (mut commits, mut checked) = (0, 0);
    converse(python("updating.py").arg(folder.path()).args([count.to_string(), seed.to_string()]), |line| {
        let path = line["path"].as_str().unwrap();
        if let Some(changes) = line.get("changes") {
            commit(path, changes);
            commits += 1;
        } else {
            let array = Array::open(path).unwrap();
            let shape: Vec<i64> = serde_json::from_value(line["shape"].clone()).unwrap();
            assert_eq!(array.shape(), shape, "{path}");
            assert_eq!(array.whole().read().unwrap(), bytes(&line["items"]), "{path}");
            let findings = Check::new(CheckDepth::ChunkData).run_path(path).unwrap().findings;
            assert!(findings.iter().all(|finding| finding.severity() == Severity::Warning), "{findings:?}");
            checked += 1;
        }
        String::new()
    });
    println!("{count} arrays, {commits} commits, {checked} times the same for both");
}
