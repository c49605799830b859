//! Tests of `b2nd set` and `b2nd rewrite`. With `--dry-run`, these commands change nothing.

use std::fmt::Write as _;
use std::fs;

use crate::run::{as_on_linux, objects, run, screen, snapshot, text, transcript};
use b2nd_frame::{Frame, check};
use b2nd_lab::{copy_tree, data};

/// A folder with copies of real files.
fn copies() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["int32_3x5.b2nd", "uint16_6x8.caterva", "squeezed.caterva"] {
        fs::copy(data().join(file), folder.path().join(file)).unwrap();
    }
    folder
}

#[test]
fn shape_and_dtype_change_in_place() {
    let folder = copies();
    let file = folder.path().join("int32_3x5.b2nd");
    let before = fs::read(&file).unwrap();
    let arguments = ["set", "int32_3x5.b2nd", "--shape", "4,6", "--dtype", "<f4"];

    let dry = run(folder.path(), &[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(fs::read(&file).unwrap(), before, "a dry run writes nothing");
    let output = run(folder.path(), &arguments);
    snapshot("set", &(screen(&dry) + &screen(&output)));
    assert_eq!(dry.stdout, output.stdout);

    let frame = Frame::open(&file).unwrap();
    let array = frame.array().unwrap().unwrap();
    assert_eq!((array.shape(), array.dtype()), (&[4, 6][..], Some("<f4")));
    assert_eq!(check(&file).unwrap().findings, []);
    let after = fs::read(&file).unwrap();
    assert_eq!(after[165..], before[165..], "the data is not touched");
}

#[test]
fn unowned_bytes_are_shown_and_a_rewrite_leaves_them_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(data().join("peers/hole_at_middle.b2frame"), folder.path().join("hole.b2frame")).unwrap();
    let json =
        |arguments: &[&str]| objects(&run(folder.path(), arguments)).remove(0)["unowned_bytes"].clone();
    assert_eq!(json(&["info", "--json", "hole.b2frame"]), 152);
    assert_eq!(json(&["ls", "--all", "--long", "--json", "hole.b2frame"]), 152);
    let page = run(folder.path(), &["info", "hole.b2frame"]);
    assert!(text(&page.stdout).contains("\nunowned : 152 bytes, which `b2nd rewrite` leaves out\n"));
    let dry = run(folder.path(), &["rewrite", "--dry-run", "hole.b2frame", "new.b2frame"]);
    assert!(text(&dry.stdout).contains("\nholes     : 152 bytes left out\n"), "{}", text(&dry.stdout));
    assert!(run(folder.path(), &["rewrite", "hole.b2frame", "new.b2frame"]).status.success());
    assert_eq!(json(&["info", "--json", "new.b2frame"]), 0);
}

#[test]
fn what_cannot_be_changed_says_why_and_stays() {
    let folder = copies();
    let before = fs::read(folder.path().join("int32_3x5.b2nd")).unwrap();
    fs::write(folder.path().join("longer.b2nd"), [&before[..], b"more"].concat()).unwrap();
    fs::write(folder.path().join("there"), "precious").unwrap();
    let cases: [&[&str]; 12] = [
        &["set", "int32_3x5.b2nd", "--shape", "5,5"],
        &["set", "int32_3x5.b2nd", "--shape", "4,6", "--dtype", "<f8"],
        &["set", "int32_3x5.b2nd", "--dtype", "[('x', '<i4')]"],
        &["set", "int32_3x5.b2nd", "--dtype", "int33"],
        &["set", "uint16_6x8.caterva", "--dtype", "<u2"],
        &["set", "longer.b2nd", "--shape", "4,6"],
        &["rewrite", "uint16_6x8.caterva", "new.b2nd"],
        &["rewrite", "none.b2nd", "new.b2nd"],
        &["rewrite", "longer.b2nd", "longer.b2nd"],
        &["rewrite", "int32_3x5.b2nd", "there"],
        &["rewrite", "int32_3x5.b2nd", "no folder/new.b2nd"],
        &["rewrite", "int32_3x5.b2nd", "there/new.b2nd"],
    ];
    let mut messages = String::new();
    for arguments in cases {
        for option in [&[][..], &["--dry-run"]] {
            let output = run(folder.path(), &[arguments, option].concat());
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{arguments:?}");
            if option.is_empty() {
                messages += text(&output.stderr);
            } else {
                assert!(messages.ends_with(text(&output.stderr)), "a dry run is refused as the change is");
            }
        }
    }
    snapshot("set_refused", &as_on_linux(&messages));
    assert_eq!(fs::read(folder.path().join("int32_3x5.b2nd")).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
}

#[test]
fn a_rewrite_changes_the_frame_type_and_needs_no_array() {
    let folder = copies();
    let copy = |from: &str, to: &str| fs::copy(data().join(from), folder.path().join(to)).unwrap();
    copy("peers/last_chunk_is_short.b2frame", "plain.b2frame");
    copy("vlmetalayers.b2nd", "layers.b2nd");
    let mut text = String::new();
    for arguments in [
        &["rewrite", "--sparse", "--dry-run", "layers.b2nd", "sparse.b2nd"][..],
        &["rewrite", "--sparse", "layers.b2nd", "sparse.b2nd"],
        &["rewrite", "--contiguous", "sparse.b2nd", "back.b2nd"],
        &["rewrite", "--sparse", "--dtype", "<u2", "uint16_6x8.caterva", "old.b2nd"],
        &["rewrite", "--contiguous", "plain.b2frame", "copy.b2frame"],
        &["rewrite", "plain.b2frame", "refused.b2frame"],
        &["rewrite", "--sparse", "layers.b2nd", "layers.b2nd"],
        &["rewrite", "--sparse", "layers.b2nd", "back.b2nd"],
        &["rewrite", "--sparse", "--contiguous", "layers.b2nd", "new.b2nd"],
    ] {
        let output = run(folder.path(), arguments);
        writeln!(text, "$ b2nd {}\n{}", arguments.join(" "), screen(&output)).unwrap();
    }
    snapshot("rewrite_frame_type", &text);
    for name in ["sparse.b2nd", "back.b2nd", "copy.b2frame", "old.b2nd"] {
        assert_eq!(check(folder.path().join(name)).unwrap().findings, [], "{name}");
    }
    assert!(!folder.path().join("new.b2nd").exists());
}

#[test]
fn a_zip_file_cannot_be_changed_and_a_message_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(data().join("tree.b2z"), folder.path().join("tree.b2z")).unwrap();
    for arguments in [&["set", "tree.b2z", "--shape", "4"][..], &["rewrite", "tree.b2z", "new.b2nd"]] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1));
        let hint = "; it is a zip file: `b2nd rewrite FILE:MEMBER TO` copies a frame out of it\n";
        assert!(text(&output.stderr).ends_with(hint), "{}", text(&output.stderr));
    }
}

#[test]
fn a_dtype_goes_by_any_of_its_names() {
    let folder = copies();
    let file = folder.path().join("int32_3x5.b2nd");
    for (given, written) in [("float32", "<f4"), ("uint32", "<u4"), (">i4", ">i4"), ("i4", "<i4")] {
        let output = run(folder.path(), &["set", "int32_3x5.b2nd", "--dtype", given]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(Frame::open(&file).unwrap().array().unwrap().unwrap().dtype(), Some(written));
    }
    let output = run(folder.path(), &["rewrite", "uint16_6x8.caterva", "new.b2nd", "--dtype", "uint16"]);
    assert!(text(&output.stdout).contains("none -> <u2\n"));
}

#[test]
fn where_nothing_changes_it_says_what_was_done() {
    let folder = copies();
    let said = |arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), ""), "{arguments:?}");
        text(&output.stderr).to_owned()
    };
    let set = ["set", "int32_3x5.b2nd", "--dtype", "int32"];
    assert_eq!(said(&set), "b2nd: nothing to change\n");
    assert_eq!(said(&[&set[..], &["--dry-run"]].concat()), "b2nd: nothing would change\n");
    let rewrite = ["rewrite", "int32_3x5.b2nd", "new.b2nd"];
    let dry = said(&[&rewrite[..], &["--dry-run"]].concat());
    assert_eq!(dry, "b2nd: the copy would be the same; nothing was written\n");
    assert!(!folder.path().join("new.b2nd").exists());
    assert_eq!(said(&rewrite), "b2nd: wrote new.b2nd\n");
    assert!(folder.path().join("new.b2nd").exists());
}

#[test]
fn a_lock_that_another_process_holds_is_respected_and_a_dry_run_takes_none() {
    let folder = copies();
    let lock = fs::File::create(folder.path().join("int32_3x5.b2nd.b2lock")).unwrap();
    lock.try_lock().unwrap();
    for arguments in
        [&["set", "int32_3x5.b2nd", "--dtype", "<f4"][..], &["rewrite", "int32_3x5.b2nd", "new.b2nd"]]
    {
        let output = run(folder.path(), &[arguments, &["--no-wait"]].concat());
        let expected = "b2nd: int32_3x5.b2nd: another process holds the lock int32_3x5.b2nd.b2lock\n";
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), expected));
        let output = run(folder.path(), &[arguments, &["--dry-run"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn an_error_about_a_lock_file_names_it() {
    let folder = copies();
    fs::create_dir(folder.path().join("int32_3x5.b2nd.b2lock")).unwrap();
    for arguments in [
        ["set", "int32_3x5.b2nd", "--dtype", "<f4"],
        ["rewrite", "int32_3x5.b2nd", "int32_3x5.b2nd", "--json"],
    ] {
        let output = run(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stdout).to_owned() + text(&output.stderr);
        assert!(said.contains("cannot open the lock file int32_3x5.b2nd.b2lock: "), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_of_standard_output_says_that_the_change_was_made() {
    let folder = copies();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (arguments, done) in [
        (["set", "int32_3x5.b2nd", "--dtype", "<f4"], "but int32_3x5.b2nd was changed"),
        (["rewrite", "int32_3x5.b2nd", "new.b2nd", "--json"], "but new.b2nd was written"),
    ] {
        let output = crate::run::b2nd(folder.path(), &arguments).stdout(full()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        assert!(said.starts_with("b2nd: standard output: ") && said.contains(done), "{said}");
    }
    assert!(folder.path().join("new.b2nd").exists());
    let dry = ["set", "int32_3x5.b2nd", "--dtype", "<i4", "--dry-run"];
    let output = crate::run::b2nd(folder.path(), &dry).stdout(full()).output().unwrap();
    assert!(!text(&output.stderr).contains("but"), "{}", text(&output.stderr));
}

#[test]
fn the_temporary_file_of_a_killed_rewrite_is_skipped() {
    let folder = copies();
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    fs::write(folder.path().join(".b2nd-AbCdEf.tmp"), &file[..300]).unwrap();
    fs::create_dir(folder.path().join(".b2nd-GhIjKl.tmp")).unwrap();
    fs::write(folder.path().join(".b2nd-GhIjKl.tmp/chunks.b2frame"), &file[..300]).unwrap();
    for command in ["ls", "check"] {
        let output = run(folder.path(), &[command]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!text(&output.stdout).contains(".tmp"));
        for name in [".b2nd-AbCdEf.tmp", ".b2nd-GhIjKl.tmp"] {
            let hint = format!(
                "b2nd: {name}: skipped: the temporary file of a command that was killed or is still running\n"
            );
            assert!(text(&output.stderr).contains(&hint), "{}", text(&output.stderr));
        }
    }
    // A leftover temporary file is read only if its path is given.
    assert_eq!(run(folder.path(), &["info", ".b2nd-AbCdEf.tmp"]).status.code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_becomes_longer_than_allowed_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    with_hole(&folder.path().join("old.b2nd"), 1 << 24);
    let arguments = ["rewrite", "old.b2nd", "new.b2nd"];
    let output = crate::run::b2nd_under("ulimit -f 64", folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{:?}", output.status);
    assert!(text(&output.stderr).starts_with("b2nd: new.b2nd: File too large"), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_rewrite_is_an_array_in_the_present_format() {
    let folder = copies();
    let arguments = ["rewrite", "squeezed.caterva", "new.b2nd", "--dtype", "<u2"];
    let dry = run(folder.path(), &[&arguments[..], &["--dry-run"]].concat());
    assert!(!folder.path().join("new.b2nd").exists(), "a dry run writes nothing");
    let output = run(folder.path(), &arguments);
    snapshot("rewrite", &(screen(&dry) + &screen(&output)));
    assert_eq!(dry.stdout, output.stdout);
    assert_eq!(check(folder.path().join("new.b2nd")).unwrap().findings, []);

    let again = run(folder.path(), &arguments);
    assert_eq!(again.status.code(), Some(1), "nothing is written over");
    let in_place = run(folder.path(), &["rewrite", "--json", "new.b2nd", "new.b2nd", "--dtype", "<i2"]);
    let object = &objects(&in_place)[0];
    assert_eq!((&object["path"], &object["dtype"]), (&"new.b2nd".into(), &"<i2".into()));
}

#[test]
fn what_json_prints_is_as_the_schema_says() {
    let folder = copies();
    let schema = crate::json::schema();
    let cases: [(&[&str], &str, &str); 5] = [
        (&["set", "--dry-run", "int32_3x5.b2nd", "--shape", "4,6"], "int32_3x5.b2nd", "shape"),
        (&["set", "int32_3x5.b2nd", "--shape", "4,6"], "int32_3x5.b2nd", "shape"),
        (&["set", "int32_3x5.b2nd", "--shape", "4,7"], "int32_3x5.b2nd", "error"),
        (&["rewrite", "squeezed.caterva", "new.b2nd", "--dtype", "<u2"], "new.b2nd", "shape"),
        (&["rewrite", "none.b2nd", "newer.b2nd"], "none.b2nd", "error"),
    ];
    for (arguments, path, key) in cases {
        let output = run(folder.path(), &[arguments, &["--json"]].concat());
        let [object] = &objects(&output)[..] else { panic!("{}", text(&output.stdout)) };
        assert!(schema.is_valid(object), "{object}");
        assert_eq!(object["path"], path);
        assert!(object.get(key).is_some(), "{object}");
    }
}

/// Writes a frame of this length; most of the file is a hole.
#[cfg(target_os = "linux")]
fn with_hole(path: &std::path::Path, length: u64) {
    use std::io::{Seek, SeekFrom, Write};
    let mut bytes = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    bytes[16..24].copy_from_slice(&length.to_be_bytes());
    let (start, trailer) = bytes.split_at(bytes.len() - 35);
    let mut file = fs::File::create(path).unwrap();
    file.write_all(start).unwrap();
    file.seek(SeekFrom::Start(length - 35)).unwrap();
    file.write_all(trailer).unwrap();
}

/// The server with the frame delays its answer until the signal was sent. So the signal arrives in the middle of the
/// copy, even on a slow machine.
#[cfg(all(unix, feature = "remote"))]
#[test]
fn a_new_file_whose_writer_is_interrupted_is_not_there() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Duration;

    use crate::remote::large_array;
    use crate::server::{Objects, Server, answer};

    #[derive(PartialEq)]
    enum Copy {
        Reads,
        WaitsForSignal,
        MayGoOn,
    }

    let signals = [2, 15, 1, 24];
    crate::run::let_through(&signals);
    let objects: Arc<Objects> = Arc::new([("bucket/old.b2nd".into(), large_array())].into());
    // The signals are INT, TERM, HUP and XCPU.
    let rewrites = signals.map(|signal| (signal, "rewrite", "new.b2nd"));
    for (signal, subcommand, name) in
        rewrites.into_iter().chain([(15, "convert", "new.b2nd"), (15, "convert", "new.npy")])
    {
        let folder = tempfile::tempdir().unwrap();
        let files = |folder: &std::path::Path| fs::read_dir(folder).unwrap().count();
        let copy = Arc::new((Mutex::new(Copy::Reads), Condvar::new()));
        let (shared, objects, path) = (copy.clone(), objects.clone(), folder.path().to_owned());
        let server = Server::start(move |name, range| {
            let (copy, changed) = &*shared;
            let mut now = copy.lock().unwrap();
            // At this request, the new file exists already, but its data has not been copied.
            if *now == Copy::Reads && files(&path) > 0 {
                *now = Copy::WaitsForSignal;
                changed.notify_all();
            }
            drop(changed.wait_while(now, |now| *now == Copy::WaitsForSignal).unwrap());
            answer(&objects, 100, name, range)
        });
        let to = folder.path().join(name);
        let mut command = server.command(&[subcommand, "s3://bucket/old.b2nd", to.to_str().unwrap()]);
        command.env("B2ND_TIMEOUT", "3600").stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();

        let (copy, changed) = &*copy;
        let (long, reads) = (Duration::from_secs(600), |now: &mut Copy| *now == Copy::Reads);
        let (mut now, waited) = changed.wait_timeout_while(copy.lock().unwrap(), long, reads).unwrap();
        assert!(!waited.timed_out(), "no data was read after the new file was there");
        crate::run::send(signal, &child);
        *now = Copy::MayGoOn;
        drop(now);
        changed.notify_all();

        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{}", text(&output.stderr));
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("", ""));
        assert_eq!(files(folder.path()), 0);
    }
}

#[test]
fn vlmetalayers_are_set_and_removed() {
    let folder = copies();
    let set = |arguments: &[&str]| run(folder.path(), &[&["set", "int32_3x5.b2nd"], arguments].concat());
    let values = || {
        let output = run(folder.path(), &["info", "--json", "int32_3x5.b2nd"]);
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        record["vlmetalayers"].to_string()
    };
    let output = set(&["--vlmeta", r#"unit="mm""#, "--vlmeta", r#"scan={"z":[1,0.5],"a":null}"#]);
    let mut screens = screen(&output) + &values() + "\n";
    screens += &screen(&set(&["--remove-vlmeta", "unit", "--vlmeta", "scan=-7"]));
    screens += &(values() + "\n");
    let before = fs::read(folder.path().join("int32_3x5.b2nd")).unwrap();
    for refused in [
        &["--remove-vlmeta", "unit"][..],
        &["--remove-vlmeta", "scna"],
        &["--vlmeta", "scan=1", "--remove-vlmeta", "none"],
        &["--vlmeta", "unit=mm"],
        &["--vlmeta", "unit"],
        &["--vlmeta", "unit=1", "--shape", "3,5"],
    ] {
        let output = set(refused);
        assert!(!output.status.success(), "{refused:?}");
        screens += &screen(&output);
    }
    assert_eq!(fs::read(folder.path().join("int32_3x5.b2nd")).unwrap(), before);
    assert!(set(&["--remove-vlmeta", "scan"]).status.success());
    assert_eq!(values(), "[]");
    screens += &screen(&set(&["--remove-vlmeta", "scan"]));
    snapshot("set_vlmeta", &screens);
}

#[test]
fn a_command_says_which_indexes_are_no_longer_valid() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["a.b2nd", "b.b2nd", "c.b2nd"] {
        fs::copy(data().join("indexed/array.b2nd"), at(name)).unwrap();
    }
    copy_tree(&data().join("indexed/table"), &at("table"));
    let mut damaged = fs::read(at("a.b2nd")).unwrap();
    let start = Frame::parse(&damaged).unwrap().header().header_len;
    damaged[start..start + 16].fill(0xff);
    fs::write(at("damaged.b2nd"), damaged).unwrap();
    let dtype = "[('a', '<f8'), ('b', '<u8')]";
    let commands = [
        &["set", "--dry-run", "a.b2nd", "--dtype", dtype][..],
        &["set", "a.b2nd", "--dtype", dtype],
        &["set", "b.b2nd", "--vlmeta", "unit=1"],
        &["rewrite", "b.b2nd", "new.b2nd"],
        &["rewrite", "b.b2nd", "b.b2nd", "--shape", "99"],
        &["convert", "c.b2nd", "copy.b2nd"],
        &["convert", "--append", "0", "c.b2nd", "c.b2nd"],
        &["convert", "c.b2nd", "copy.npy"],
        &["salvage", "damaged.b2nd", "saved.b2nd"],
        &["set", "table/_cols/x.b2nd", "--dtype", "<i8"],
        &["convert", "--append", "0", "table/_cols/x.b2nd", "table/_cols/x.b2nd"],
    ];
    snapshot("outdated", &transcript(folder.path(), &commands));
}

/// The value of a vlmetalayer has a codec of its own, so the codec and the filters of the array do not matter.
#[test]
fn set_vlmeta_needs_no_codec_and_no_filter_of_the_array() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["peers/plugin_codec.b2nd", "plugins/int_trunc.b2nd"] {
        let path = folder.path().join("a.b2nd");
        fs::copy(data().join(name), &path).unwrap();
        let before = run(folder.path(), &["chunks", "--json", "a.b2nd"]).stdout;
        let output = run(folder.path(), &["set", "--vlmeta", "unit=\"m\"", "a.b2nd"]);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{name}");
        let object = objects(&run(folder.path(), &["info", "--json", "--meta", "a.b2nd"])).remove(0);
        let layers = object["vlmetalayers"].as_array().unwrap();
        assert!(layers.iter().any(|layer| layer["name"] == "unit" && layer["value"] == "m"), "{name}");
        assert_eq!(run(folder.path(), &["chunks", "--json", "a.b2nd"]).stdout, before, "{name}");
        assert_eq!(run(folder.path(), &["check", "--chunks", "a.b2nd"]).status.code(), Some(0), "{name}");
    }
}
