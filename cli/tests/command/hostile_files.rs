//! Hostile files. They are small, but if the command trusted them, their text or lists could take any amount of memory,
//! stack or time.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Output;

use b2nd_frame::{FrameBuilder, SpecialValue};
use b2nd_lab::data;
use b2nd_serde::{Meta, Shapes};

use crate::run::{b2nd_under, run, text};

/// Shell commands that limit the memory, in KiB, and the CPU time, in seconds. On macOS, the memory cannot be limited.
const LIMITS: &str =
    if cfg!(target_os = "linux") { "ulimit -v 2000000 && ulimit -t 20" } else { "ulimit -t 20" };

fn run_under_limits(folder: &Path, arguments: &[&str]) -> Output {
    // glibc reserves an address range for each thread, and the limit counts these ranges. One range is enough here.
    b2nd_under(LIMITS, folder, arguments).env("MALLOC_ARENA_MAX", "1").output().unwrap()
}

/// An array of zeros. No chunk of it is stored.
fn array(shape: &[i64], chunkshape: &[i32], dtype: &str) -> Vec<u8> {
    let meta = Meta::new(Shapes { shape, chunkshape, blockshape: chunkshape }, dtype).unwrap();
    let mut writer = FrameBuilder::new(meta).write_to(std::io::Cursor::new(Vec::new())).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_small_file_takes_little_memory_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    // Two arrays: one with items of 2 bytes that contain 2^31 empty lists, and one with items of 1 MB. The 200 fields
    // of such an item overlap, so each byte of an item would be printed 200 times.
    write("lists.b2nd", &array(&[3], &[3], "[('a', '<f4', (2147483647, 0)), ('b', '<u2')]"));
    let (names, formats, offsets): (Vec<_>, Vec<_>, Vec<_>) =
        (0..200).map(|field| (format!("'f{field}'"), "('u1', (1000000,))", "0")).collect();
    let (names, formats, offsets) = (names.join(", "), formats.join(", "), offsets.join(", "));
    let dtype = format!(
        "{{'names': [{names}], 'formats': [{formats}], 'offsets': [{offsets}], 'itemsize': 1000000}}"
    );
    write("overlaps.b2nd", &array(&[1], &[1], &dtype));
    write("no_items.b2nd", &array(&[1 << 40, 0], &[1, 1], "|u1"));
    write("slice.b2nd", &array(&[1 << 40, 1], &[1 << 28, 1], "|u1"));
    write(
        "accents.b2nd",
        &array(&[1], &[1], &format!("[('{}abcdefgh', 'u1')]", "\u{301}".repeat(1_000_000))),
    );
    let frame = fs::read(data().join("scalar.b2nd")).unwrap();
    write("deep.zip", &crate::chunks::zip([(format!("{}x.b2nd", "a/".repeat(30_000)), &*frame)]));
    let ones = |count| vec!["1"; count].join(", ");
    write("dimensions.b2nd", &array(&[2], &[2], &format!("(('|u1', ({})), ({}))", ones(64), ones(30))));

    let cases = [
        (&["cat", "lists.b2nd"][..], Some(1), "the text of an item would be too long"),
        (&["cat", "--json", "lists.b2nd"], Some(1), "the text of an item would be too long"),
        (&["cat", "overlaps.b2nd"], Some(1), "the text of an item would be too long"),
        (&["cat", "--json", "overlaps.b2nd"], Some(1), "the text of an item would be too long"),
        (&["cat", "no_items.b2nd"], Some(0), "[]\n"),
        (&["cat", "--json", "no_items.b2nd"], Some(1), "1099511627776 empty lists"),
        (&["cat", "--json", "--slice", ":,0:0", "slice.b2nd"], Some(1), "1099511627776 empty lists"),
        (&["ls", "accents.b2nd"], Some(0), "…"),
        (&["cat", "dimensions.b2nd"], Some(0), "0]]]]]]]"),
    ];
    let failures = cases.into_iter().filter_map(|(arguments, status, words)| {
        let output = run_under_limits(folder.path(), arguments);
        let said = text(&output.stdout).to_owned() + text(&output.stderr);
        let is_good = output.status.code() == status && said.contains(words);
        (!is_good).then(|| format!("{arguments:?}: {} {:.400}", output.status, said))
    });
    assert_eq!(failures.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_few_empty_lists_are_printed_as_numpy_prints_them() {
    let folder = tempfile::tempdir().unwrap();
    for (shape, printed, json) in [
        ("3, 0", "[[], [], []]", "[[],[],[]]"),
        ("0, 3", "[]", "[]"),
        ("2, 0, 2", "[[], []]", "[[],[]]"),
        ("2, 3, 0", "[[[], [], []], [[], [], []]]", "[[[],[],[]],[[],[],[]]]"),
        ("2, 1", "[[0.0], [0.0]]", "[[0.0],[0.0]]"),
    ] {
        let dtype = format!("[('a', '<f4', ({shape})), ('b', '<u2')]");
        fs::write(folder.path().join("a.b2nd"), array(&[2], &[2], &dtype)).unwrap();
        let output = run(folder.path(), &["cat", "a.b2nd"]);
        assert_eq!(text(&output.stdout), format!("[({printed}, 0) ({printed}, 0)]\n"));
        let output = run(folder.path(), &["cat", "--json", "a.b2nd"]);
        let item = format!(r#"{{"a":{json},"b":0}}"#);
        assert!(
            text(&output.stdout).ends_with(&format!("\"values\":[{item},{item}]}}\n")),
            "{}",
            text(&output.stdout)
        );
    }
}
