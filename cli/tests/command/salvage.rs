//! `b2nd salvage`: new frames, reports and exit status; and the output of `rewrite` and `check` about damage.

use std::fs;

use crate::run::{folder, objects, run, run_with, screen, snapshot, text};
use b2nd_lab::data;

/// A folder with damaged copies of `int32_3x5.b2nd`, whose chunks of 64 bytes begin at byte 165.
fn damaged() -> tempfile::TempDir {
    let folder = folder();
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let with = |changes: &[(usize, u8)]| {
        let mut file = whole.clone();
        for &(at, byte) in changes {
            file[at] = byte;
        }
        file
    };
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("header.b2nd", &with(&[(2, b'x'), (61, 7), (53, 0xd3), (38, 0)]));
    write("chunk.b2nd", &with(&[(229 + 2, 0x95)]));
    write("short.b2nd", &whole[..360]);
    write("longer.b2nd", &[&whole[..], b"more"].concat());
    let mut shape = whole.clone();
    let at = whole.windows(9).position(|bytes| *bytes == [0xd3, 0, 0, 0, 0, 0, 0, 0, 5]).unwrap();
    shape[at + 8] = 9;
    write("resized.b2nd", &shape);
    folder
}

#[test]
fn a_salvage_says_what_was_restored_assumed_and_lost() {
    let folder = damaged();
    let mut screens = Vec::new();
    for arguments in [
        &["salvage", "header.b2nd", "new_header.b2nd"][..],
        &["salvage", "--dry-run", "chunk.b2nd", "new_chunk.b2nd"],
        &["salvage", "chunk.b2nd", "new_chunk.b2nd"],
        &["salvage", "chunk.b2nd", "new_chunk.b2nd"],
        &["salvage", "short.b2nd", "new_short.b2nd"],
        &["salvage", "--assume-order", "short.b2nd", "new_short.b2nd"],
        &["salvage", "--fill", "nan", "chunk.b2nd", "nan.b2nd"],
        &["salvage", "resized.b2nd", "new_resized.b2nd"],
        &["salvage", "resized.b2nd", "new_resized.b2nd", "--shape", "3,5"],
        &["salvage", "tree.b2z:group/small.b2nd", "member.b2nd"],
        &["salvage", "tree.b2z", "zip.b2nd"],
        &["salvage", "none", "new.b2nd"],
        &["salvage", "chunk.b2nd"],
        &["check", "new_chunk.b2nd", "new_header.b2nd"],
    ] {
        screens.push(format!("$ b2nd {}\n{}", arguments.join(" "), screen(&run(folder.path(), arguments))));
    }
    snapshot("salvage", &screens.concat());
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    assert_eq!(fs::read(folder.path().join("new_header.b2nd")).unwrap().len(), whole.len());
    assert_eq!(fs::read(folder.path().join("new_resized.b2nd")).unwrap().len(), whole.len());
    assert!(!folder.path().join("nan.b2nd").exists() && !folder.path().join("zip.b2nd").exists());
}

#[test]
fn a_folder_is_salvaged_into_another_with_the_same_names() {
    let folder = damaged();
    let output =
        run(folder.path(), &["salvage", "--into", "saved", "--json", "images", "chunk.b2nd", "short.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    let objects = objects(&output);
    assert_eq!(objects.len(), 5);
    assert_eq!(objects.iter().filter(|object| object.get("error").is_some()).count(), 1);
    for path in ["2024/a.b2nd", "2024/b.b2nd", "named_otherwise.bin", "chunk.b2nd"] {
        assert!(folder.path().join("saved").join(path).exists(), "{path}");
    }
    let again = run(folder.path(), &["salvage", "--into", "saved", "images"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("already exists"), "{}", screen(&again));
    assert!(text(&again.stderr).contains("0 frames salvaged, 0 whole, 3 failures"), "{}", screen(&again));
    let whole = run(folder.path(), &["salvage", "--into", "other", "images"]);
    assert_eq!(whole.status.code(), Some(0), "{}", screen(&whole));
}

#[test]
fn only_damaged_frames_are_salvaged_if_asked() {
    let folder = damaged();
    let given = ["salvage", "--damaged", "--into", "saved", "images", "chunk.b2nd", "header.b2nd"];
    let output = run(folder.path(), &given);
    assert_eq!(output.status.code(), Some(1), "{}", screen(&output));
    let last = text(&output.stderr).lines().last().unwrap();
    assert_eq!(last, "b2nd: 2 frames salvaged, 1 whole, 3 undamaged files passed over");
    let mut names: Vec<_> =
        fs::read_dir(folder.path().join("saved")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["chunk.b2nd", "header.b2nd"]);
}

#[test]
fn standard_input_is_salvaged_too() {
    let folder = damaged();
    let bytes = fs::read(folder.path().join("chunk.b2nd")).unwrap();
    let output = run_with(&bytes, folder.path(), &["salvage", "-", "new.b2nd"]);
    assert_eq!(output.status.code(), Some(1), "{}", screen(&output));
    assert!(text(&output.stdout).starts_with("- -> new.b2nd: 3 of 4 chunks saved\n"), "{}", screen(&output));
}

#[test]
fn other_commands_name_what_mends() {
    let folder = damaged();
    let mut screens = Vec::new();
    for arguments in [
        &["rewrite", "chunk.b2nd", "new.b2nd"][..],
        &["rewrite", "longer.b2nd", "new.b2nd"],
        &["rewrite", "longer.b2nd", "longer.b2nd"],
        &["rewrite", "tree.b2z:group/small.b2nd", "member.b2nd"],
        &["rewrite", "tree.b2z:group/small.b2nd", "tree.b2z"],
        &["rewrite", "resized.b2nd", "undone.b2nd", "--shape", "3,5"],
        &["set", "resized.b2nd", "--shape", "3,12"],
        &["set", "resized.b2nd", "--shape", "3,5"],
        &["check", "--chunks", "chunk.b2nd", "resized.b2nd"],
    ] {
        screens.push(format!("$ b2nd {}\n{}", arguments.join(" "), screen(&run(folder.path(), arguments))));
    }
    snapshot("mended", &screens.concat());
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    for name in ["new.b2nd", "undone.b2nd", "resized.b2nd"] {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), whole, "{name}");
    }
}
