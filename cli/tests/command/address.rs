//! Commands accept the addresses that `ls` prints.

use std::fs;
use std::path::Path;

use crate::run::{b2nd, folder, objects, run, run_with, screen, snapshot, text, transcript};
use b2nd_frame::{Store, zip_members};
use b2nd_lab::{copy_tree, data};
use serde_json::{Value, json};

/// The addresses in the JSON of a listing.
fn addresses(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = run(folder, &[&["ls", "--json"], arguments].concat());
    objects(&output).into_iter().filter(|object| object.get("error").is_none()).collect()
}

/// A folder with files of every kind, some with names that are hard to parse as addresses.
fn hard_names() -> tempfile::TempDir {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let copies = [
        ("table.b2z", "table.b2z"),
        ("nested.b2z", "nested.b2z"),
        ("scalar.b2nd", "-"),
        ("scalar.b2nd", "-dash.b2nd"),
        ("tree.b2z", "-dash.b2z"),
        ("scalar.b2nd", "c@7.b2nd"),
        ("tree.b2z", "tree@5.b2z"),
        ("scalar.b2nd", "two words.b2nd"),
    ];
    // Windows does not allow the file names of these copies.
    let copies_of_unix =
        [("scalar.b2nd", "a:b.b2nd"), ("tree.b2z", "tree:2@5.b2z"), ("scalar.b2nd", "line\nbreak.b2nd")];
    for (from, to) in copies.into_iter().chain(copies_of_unix.into_iter().filter(|_| cfg!(unix))) {
        fs::copy(data().join(from), at(to)).unwrap();
    }
    let frame = fs::read(data().join("scalar.b2nd")).unwrap();
    fs::write(at("inside.h5"), [&[7; 100][..], &frame].concat()).unwrap();
    folder
}

#[test]
fn every_address_of_a_listing_is_that_of_the_same_array_to_the_other_commands() {
    let folder = hard_names();
    let absolute = ["tree.b2z", "inside.h5"].map(|name| folder.path().join(name).display().to_string());
    let mut count = 0;
    let listings: [&[&str]; 6] = [
        &["."],
        &["./"],
        &["--scan", "."],
        &["tree.zip", "./tree.b2z"],
        &["--scan", "./inside.h5"],
        // On Windows, these absolute paths have the `:` of a drive.
        &["--scan", &absolute[0], &absolute[1]],
    ];
    for listing in listings {
        for listed in addresses(folder.path(), listing) {
            let address = listed["address"].as_str().unwrap();
            let shown = &objects(&run(folder.path(), &["info", "--json", address]))[0];
            for key in ["member", "kind", "offset", "shape", "rows", "frame_len"] {
                let is_scanned = listing[0] == "--scan" && key == "member";
                assert!(is_scanned || shown.get(key) == listed.get(key), "{address}: {key}: {shown}");
            }
            assert_eq!(
                run(folder.path(), &["check", address]).status.code(),
                Some(i32::from(address.contains("resized"))),
                "{address}"
            );
            if listed["container"].is_string() {
                for command in [&["chunks", address][..], &["dump", address], &["diff", address, address]] {
                    let output = run(folder.path(), command);
                    assert!(matches!(output.status.code(), Some(0)), "{command:?}: {}", screen(&output));
                }
            }
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn an_address_with_a_key_names_the_frame_that_the_library_opens() {
    let folder = tempfile::tempdir().unwrap();
    let zips = ["tree", "table", "nested", "embedded/tree", "stores/attributes", "remote/store"];
    let mut stores = vec![data().join("embedded/store.b2e"), data().join("peers/store.b2e")];
    for (number, name) in zips.iter().enumerate() {
        let zip = data().join(format!("{name}.b2z"));
        // The same store as a folder.
        let unpacked = folder.path().join(format!("{number}.b2d"));
        let bytes = fs::read(&zip).unwrap();
        for member in zip_members(&bytes).unwrap() {
            let file = unpacked.join(member.name());
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let [start, len] = [member.offset(), member.len()].map(|byte| usize::try_from(byte).unwrap());
            fs::write(file, &bytes[start..start + len]).unwrap();
        }
        stores.extend([zip, unpacked]);
    }
    let mut count = 0;
    for path in stores {
        let store = Store::open(&path).unwrap().expect("a store");
        for key in store.members() {
            let address = format!("{}:{key}", path.display());
            // The command also shows a table, which is not a single frame.
            let Ok(frame) = store.frame(key) else { continue };
            let shown = &objects(&run(folder.path(), &["info", "--json", &address]))[0];
            let shape = frame.array().unwrap().map(|array| array.shape().to_vec());
            assert_eq!(shown["shape"], json!(shape), "{address}");
            assert_eq!(shown["frame_len"], frame.header().frame_len, "{address}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn a_frame_in_a_zip_file_is_read_by_its_offset() {
    let folder = folder();
    let listed = addresses(folder.path(), &["--scan", "tree.zip"]);
    let arrays: Vec<_> = listed.iter().filter(|listed| listed["shape"].is_array()).collect();
    assert_eq!(arrays.len(), 2);
    for array in arrays {
        let address = array["address"].as_str().unwrap();
        let output = run(folder.path(), &["cat", address]);
        assert!(
            address.starts_with("tree.zip@") && output.status.success(),
            "{address}: {}",
            screen(&output)
        );
    }
    let output = run(folder.path(), &["cat", "tree.zip"]);
    assert!(text(&output.stderr).contains("a store: name one of its members"), "{}", screen(&output));
}

#[test]
fn a_listing_with_nul_bytes_is_read_back_as_a_list() {
    let folder = hard_names();
    let listed = run(folder.path(), &["ls", "--print0"]);
    let addresses: Vec<_> = listed.stdout.split_inclusive(|&byte| byte == 0).collect();
    assert!(addresses.contains(&&b"./-\0"[..]) && addresses.contains(&&b"two words.b2nd\0"[..]));
    assert_eq!(cfg!(unix), addresses.contains(&&b"line\nbreak.b2nd\0"[..]));
    let again = run_with(&listed.stdout, folder.path(), &["ls", "--print0", "-0", "--files-from", "-"]);
    let unique = |bytes: &[u8]| {
        let lines: std::collections::BTreeSet<_> =
            bytes.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
        lines
    };
    assert_eq!(unique(&again.stdout), unique(&listed.stdout));
}

#[test]
fn a_zip_file_on_standard_input_is_refused_with_what_to_do() {
    let zip = fs::read(data().join("tree.b2z")).unwrap();
    let advice = "it is a zip file, which cannot be read from standard input: save it, and name the file";
    for arguments in
        [&["info", "-"][..], &["ls", "-"], &["check", "-"], &["chunks", "-"], &["dump"], &["dump", "-"]]
    {
        let output = run_with(&zip, &data(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = [text(&output.stdout), text(&output.stderr)].concat();
        assert!(said.contains(advice), "{arguments:?}: {said}");
    }
    let output = run_with(&zip, &data(), &["diff", "-", "scalar.b2nd"]);
    assert!(text(&output.stderr).contains(advice));
}

#[test]
fn a_command_says_what_it_cannot_use() {
    let folder = hard_names();
    let cases = [
        &["info", "tree.b2z:group/none.b2nd"][..],
        &["info", "inside.h5@99", "inside.h5@5000", "none.h5@1"],
        &["diff", "tree.b2z", "scalar.b2nd"],
        &["ls", "--scan", "-"],
        &["set", "tree.b2z:group/small.b2nd", "--shape", "4"],
        &["set", "inside.h5@100", "--dtype", "float64"],
        &["set", "-", "--dtype", "float64"],
        &["rewrite", "scalar.b2nd", "-"],
        &["rewrite", "scalar.b2nd", "tree.b2z:new.b2nd"],
        &["rewrite", "scalar.b2nd", "s3://bucket/new.b2nd"],
        &["convert", "scalar.b2nd", "--into", "s3://bucket/new"],
    ];
    snapshot("address_refused", &transcript(folder.path(), &cases));
    let output = run_with(b"-\n", folder.path(), &["ls", "--files-from", "-"]);
    assert!(text(&output.stderr).starts_with("b2nd: -: standard input must be given as an argument"));
}

#[test]
fn standard_input_is_a_frame_to_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let frame = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    fs::write(folder.path().join("a.b2nd"), &frame).unwrap();
    for command in
        [&["info"][..], &["ls"], &["check"], &["chunks"], &["dump", "--trailer"], &["diff", "a.b2nd"]]
    {
        let piped = run_with(&frame, folder.path(), &[command, &["-"]].concat());
        let named = run(folder.path(), &[command, &["a.b2nd"]].concat());
        assert_eq!(piped.status.code(), Some(0), "{}", screen(&piped));
        let shown = text(&named.stdout).replace("a.b2nd\n", "-\n");
        assert_eq!(text(&piped.stdout), shown, "{command:?}");
    }
    let empty = run_with(b"", folder.path(), &["info", "-"]);
    assert_eq!(text(&empty.stderr), "b2nd: -: standard input is empty\n");
    let cut = run_with(&frame[..300], folder.path(), &["info", "-"]);
    assert!(text(&cut.stderr).starts_with("b2nd: -: cut short"), "{}", text(&cut.stderr));
}

#[test]
fn after_two_dashes_or_a_dot_an_argument_is_a_path() {
    let folder = hard_names();
    let first = |arguments: &[&str]| objects(&run_with(b"", folder.path(), arguments)).remove(0);
    let names = ["-", "-dash.b2nd", "c@7.b2nd", "a:b.b2nd"];
    for path in names.into_iter().filter(|name| cfg!(unix) || !name.contains(':')) {
        assert_eq!(first(&["info", "--json", "--", path])["path"], path);
        assert_eq!(first(&["ls", "--json", "--", path])["shape"], serde_json::json!([]));
    }
    for arguments in [&["--", "tree.b2z:group/small.b2nd"][..], &["./tree.b2z:group/small.b2nd"]] {
        let object = first(&[&["info", "--json"], arguments].concat());
        assert_eq!((&object["error"]["kind"], &object["member"]), (&"io".into(), &Value::Null));
        assert_eq!(object["path"], *arguments.last().unwrap());
    }
}

#[test]
fn a_drive_of_windows_is_not_a_file_with_a_member() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(data().join("tree.b2z"), folder.path().join("c")).unwrap();
    for (address, member) in [("c:/none", "/none"), ("c:none@5", "none@5")] {
        let object = objects(&run(folder.path(), &["info", "--json", address])).remove(0);
        let expected = if cfg!(windows) { (address, Value::Null) } else { ("c", member.into()) };
        assert_eq!((object["path"].as_str().unwrap(), object["member"].clone()), expected, "{object}");
    }
    // `c://` does not begin a URL, because the scheme of a URL has more than one letter.
    let object = objects(&run(folder.path(), &["info", "--json", "c://group/small.b2nd"])).remove(0);
    assert_eq!(object["member"].is_null(), cfg!(windows), "{object}");
}

#[test]
fn a_table_in_a_store_has_an_address() {
    let folder = tempfile::tempdir().unwrap();
    copy_tree(&data(), &folder.path().join("data"));
    for listed in addresses(folder.path(), &["data/nested.b2z", "data/peers"]) {
        if listed["rows"].is_u64() {
            let address = listed["address"].as_str().unwrap();
            let shown = &objects(&run(folder.path(), &["info", "--json", address]))[0];
            assert_eq!(
                (&shown["rows"], &shown["columns"]),
                (&listed["rows"], &listed["columns"]),
                "{address}"
            );
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_path_that_is_not_utf_8_has_its_bytes_in_json() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let name = OsStr::from_bytes(b"a\xff.b2nd");
    fs::copy(data().join("scalar.b2nd"), folder.path().join(name)).unwrap();
    let listed = run(folder.path(), &["ls", "--print0"]);
    assert_eq!(listed.stdout, b"a\xff.b2nd\0");
    for command in ["ls", "check", "chunks", "dump"] {
        let mut command = b2nd(folder.path(), &[command, "--json"]);
        let object = &objects(&command.arg(name).output().unwrap())[0];
        assert_eq!(object["path"], "a\u{fffd}.b2nd");
        assert_eq!(object["path_bytes"], "61ff2e62326e64");
        assert!(crate::json::schema().is_valid(object), "{object}");
    }
    let plain = &objects(&run(&data(), &["ls", "--json", "scalar.b2nd"]))[0];
    assert!(plain.get("path_bytes").is_none());
}
