//! `b2nd check`: its findings, output and exit status.

use std::collections::BTreeSet;
use std::fs;

use crate::json::schema;
use crate::run::{as_on_linux, folder, objects, run, screen, snapshot, text};
use b2nd_lab::{corpus, data};

/// Removes the quotes that a path with `\` gets on Windows.
fn unquoted(text: &str) -> String {
    if cfg!(windows) { text.replace('"', "") } else { text.into() }
}

#[test]
fn findings_are_told_with_their_advice() {
    let folder = folder();
    snapshot("check", &unquoted(&screen(&run(folder.path(), &["check"]))));
}

#[test]
fn a_summary_counts_the_frames_with_each_code() {
    let folder = folder();
    let output = run(folder.path(), &["check", "--summary", ".", "none"]);
    snapshot("check_summary", &screen(&output));
    let summary = objects(&run(folder.path(), &["check", "--summary", "--json", "."])).remove(0);
    let mut counts: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    let lines = objects(&run(folder.path(), &["check", "--json", "."]));
    for line in &lines {
        let findings = line["findings"].as_array();
        let mut codes: BTreeSet<_> = findings
            .into_iter()
            .flatten()
            .map(|finding| &finding["code"])
            .map(|code| code.as_str().unwrap())
            .collect();
        codes.extend(line["error"]["kind"].as_str());
        for code in codes {
            *counts.entry(code.into()).or_default() += 1;
        }
    }
    let told = summary["codes"].as_array().unwrap().iter();
    let told = told.map(|code| (code["code"].as_str().unwrap().to_owned(), code["count"].as_u64().unwrap()));
    assert_eq!(told.collect::<std::collections::BTreeMap<_, _>>(), counts);
    assert_eq!(summary["checked_frames"], lines.iter().filter(|line| line["container"].is_string()).count());
    let only = objects(&run(folder.path(), &["check", "--summary", "--json", "--ignore", "truncated", "."]));
    assert_eq!((&only[0]["ignored_findings"], only.len()), (&1.into(), 1));
}

#[test]
fn quiet_has_the_findings_and_the_totals_without_explanations() {
    let folder = folder();
    let [full, quiet] = [&["check"][..], &["check", "-q"]].map(|arguments| run(folder.path(), arguments));
    assert_eq!(text(&quiet.stdout), text(&full.stdout));
    assert_eq!(text(&quiet.stderr).lines().count(), 1);
    assert_eq!(text(&quiet.stderr).lines().last(), text(&full.stderr).lines().last());
    assert_eq!(quiet.status.code(), full.status.code());
}

#[test]
fn a_good_file_is_silent_on_stdout() {
    let output = run(&data(), &["check", "int32_3x5.b2nd"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), ""));
    assert_eq!(text(&output.stderr), "b2nd: 1 frame, no errors or warnings; chunks not read (--chunks)\n");
}

#[test]
fn the_checksum_of_a_zip_file_is_compared_with_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = fs::read(data().join("tree.b2z")).unwrap();
    let check = |depth: &str| {
        let output = run(folder.path(), &["check", depth, "a.b2z"]);
        (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    fs::write(folder.path().join("a.b2z"), &file).unwrap();
    let says = "no errors or warnings; Blosc2 has no checksums, so not every change of the data is found\n";
    let (status, stdout, stderr) = check("--data");
    assert_eq!((status, &*stdout), (Some(0), ""));
    assert!(stderr.ends_with(says), "{stderr}");
    // Damages the dtype of a member: `<i8` becomes `<u8`.
    let at = file.windows(3).position(|bytes| bytes == b"<i8").unwrap();
    file[at + 1] = b'u';
    fs::write(folder.path().join("a.b2z"), &file).unwrap();
    assert_eq!(check("--chunks").0, Some(0));
    let (status, stdout, _) = check("--data");
    assert!(status == Some(1) && stdout.contains(": error: zip-checksum: "), "{stdout}");
    // A check of one member reports only the damage to that member.
    for (name, status) in [("group/large.b2nd", 1), ("/group/large", 1), ("group/small.b2nd", 0)] {
        let output = run(folder.path(), &["check", "--data", &format!("a.b2z:{name}")]);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stdout));
        assert_eq!(text(&output.stdout).contains(": error: zip-checksum: "), status == 1, "{name}");
    }
}

#[test]
fn an_array_whose_name_is_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[95] ^= 1;
    fs::write(folder.path().join("a.b2nd"), file).unwrap();
    let output = run(folder.path(), &["check", "--strict", "a.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).starts_with("a.b2nd: warning: misnamed-array: "),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn what_cannot_be_checked_counts_only_when_strict() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = fs::read(data().join("peers/many_blocks.b2nd")).unwrap();
    let chunk = b2nd_frame::Frame::parse(&file).unwrap().header().header_len;
    // The flags of the first chunk now say that byte 22 is the number of the codec. Codec number 33 is zfp_acc.
    file[chunk + 2] = file[chunk + 2] & 0x1f | 0xc0;
    file[chunk + 22] = 33;
    fs::write(folder.path().join("zfp.b2nd"), file).unwrap();
    for (options, status) in [(&["--data"][..], 0), (&["--data", "--strict"], 1)] {
        let output = run(folder.path(), &[&["check", "zfp.b2nd"], options].concat());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(status), ""));
    }
}

#[test]
fn warnings_count_only_when_strict() {
    for (file, plain, strict) in [("int32_3x5.b2nd", 0, 0), ("rank16.b2nd", 0, 1), ("squeezed.caterva", 0, 1)]
    {
        assert_eq!(run(&data(), &["check", file]).status.code(), Some(plain), "{file}");
        assert_eq!(run(&data(), &["check", "--strict", file]).status.code(), Some(strict), "{file}");
    }
}

#[test]
fn errors_and_failures_are_status_1() {
    let folder = folder();
    for file in ["bad/resized.b2nd", "bad/cut.b2nd", "bad/not_a_zip.b2z", "none"] {
        assert_eq!(run(folder.path(), &["check", file]).status.code(), Some(1), "{file}");
    }
    let output = run(folder.path(), &["check", "bad/resized.b2nd"]);
    assert!(text(&output.stdout).contains("error: interrupted-resize"), "{}", text(&output.stdout));
}

#[test]
fn ignored_findings_do_not_count() {
    let folder = folder();
    let check = |arguments: &[&str]| run(folder.path(), &[&["check"], arguments].concat());
    let codes = |output: &std::process::Output| -> Vec<String> {
        let lines = text(&output.stdout).lines().filter(|line| !line.contains(": to mend it: "));
        lines.map(|line| line.split(": ").nth(2).unwrap().to_owned()).collect()
    };
    let all = codes(&check(&[]));
    let failures: BTreeSet<String> = objects(&check(&["--json"]))
        .iter()
        .filter_map(|object| Some(object["error"]["kind"].as_str()?.to_owned()))
        .collect();
    assert!(failures.contains("truncated") && failures.contains("not-a-frame"), "{failures:?}");
    for code in all.iter().collect::<BTreeSet<_>>() {
        let with = |is_wanted: &dyn Fn(&String) -> bool| -> Vec<String> {
            all.iter().filter(|other| is_wanted(other)).cloned().collect()
        };
        let only = check(&["--only", code]);
        assert_eq!(codes(&only), with(&|other| other == code || failures.contains(other)));
        assert_eq!(only.status.code(), Some(1), "a file that cannot be read may have it");
        assert_eq!(codes(&check(&["--ignore", code])), with(&|other| other != code));
    }
    for (file, code, is_mended) in
        [("squeezed.caterva", "stale-tail", true), ("images/named_otherwise.bin", "no-data", false)]
    {
        let named = check(&[file, "--only", code]);
        assert_eq!(text(&named.stdout).contains("to mend it"), is_mended, "{}", text(&named.stdout));
    }
    let objects = objects(&check(&["--json", "--only", "truncated", "bad"]));
    let read = objects.iter().filter(|object| object["error"].is_null()).count();
    assert_eq!((objects.len(), read), (6, 1), "the failures, and the frame that can be read");
    let store = data().join("nested.b2z");
    assert_eq!(
        check(&["--strict", "--ignore", "active-object", store.to_str().unwrap()]).status.code(),
        Some(0)
    );
}

#[test]
fn the_last_line_counts_the_ignored_findings() {
    let folder = folder();
    for (arguments, status, last) in [
        (&["squeezed.caterva", "--strict"][..], 1, "1 frame, 1 with warnings"),
        (
            &["squeezed.caterva", "--strict", "--ignore", "old-layout"],
            1,
            "1 frame, 1 with warnings; 1 finding ignored",
        ),
        (
            &["squeezed.caterva", "--strict", "--ignore", "old-layout,stale-tail"],
            0,
            "1 frame, no errors or warnings; 2 findings ignored; chunks not read (--chunks)",
        ),
        (
            &["bad/resized.b2nd", "--ignore", "old-layout", "--ignore", "interrupted-resize"],
            0,
            "1 frame, no errors or warnings; 1 finding ignored; chunks not read (--chunks)",
        ),
        (&["bad/empty.b2nd", "--ignore", "not-a-frame"], 0, "0 frames; 1 finding ignored"),
        (&["bad/empty.b2nd", "--only", "old-layout"], 1, "0 frames, 1 failure"),
        (
            &["bad/empty.b2nd", "--only", "old-layout", "--ignore", "not-a-frame"],
            0,
            "0 frames; 1 finding ignored",
        ),
        (&["none", "--ignore", "not-a-frame", "--only", "truncated"], 1, "0 frames, 1 failure"),
        (
            &["bad/resized.b2nd", "--only", "interrupted-resize", "--ignore", "interrupted-resize"],
            0,
            "1 frame, no errors or warnings; 1 finding ignored; chunks not read (--chunks)",
        ),
    ] {
        let output = run(folder.path(), &[&["check"], arguments].concat());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert_eq!(text(&output.stderr).lines().last(), Some(&*format!("b2nd: {last}")), "{arguments:?}");
    }
}

#[test]
fn an_unknown_code_is_refused() {
    let output = run(folder().path(), &["check", "--ignore", "old-layot"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("`old-layot` is not the code of a finding"), "{said}");
    assert!(said.contains("`b2nd explain` lists the codes") && said.len() < 300, "{said}");
}

#[test]
fn a_code_that_is_asked_for_is_looked_for_as_deep_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    // Damages the length of the first stream of the second chunk. Only decompression detects this damage.
    let mut data_damaged = fs::read(data().join("peers/hole_at_end.b2frame")).unwrap();
    data_damaged[249 + 36] = 96;
    fs::write(folder.path().join("data.b2frame"), data_damaged).unwrap();
    let mut header_damaged = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    header_damaged[229 + 15] = 0x40;
    fs::write(folder.path().join("header.b2nd"), header_damaged).unwrap();
    for (file, code) in [("data.b2frame", "chunk-data"), ("header.b2nd", "chunk-header")] {
        assert_eq!(run(folder.path(), &["check", file]).status.code(), Some(0));
        let output = run(folder.path(), &["check", "--only", code, file]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert!(text(&output.stdout).contains(&format!("error: {code}: ")), "{}", text(&output.stdout));
    }
    let output = run(folder.path(), &["check", "--only", "chunk-overlap,chunk-data", "data.b2frame"]);
    assert_eq!(output.status.code(), Some(1));
    let output = run(&data(), &["check", "--only", "chunk-filters", "int32_3x5.b2nd"]);
    let says = "b2nd: 1 frame, no errors or warnings; data of chunks not read (--data)\n";
    assert_eq!(text(&output.stderr), says);
}

#[test]
fn every_released_package_wrote_files_without_errors() {
    let Some((folder, _)) = corpus() else { return };
    let output = run(&folder, &["check", "--json"]);
    let mut with_errors = Vec::new();
    let objects = objects(&output);
    for object in &objects {
        let errors = object["findings"]
            .as_array()
            .is_some_and(|findings| findings.iter().any(|finding| finding["severity"] == "error"));
        if errors {
            with_errors.push(object["path"].as_str().unwrap());
        }
        // Frames of 2019, by C-Blosc2 2.0 beta 1 and Caterva 0.1, cannot be read.
        let is_of_2019 = object["path"].as_str().unwrap().contains("caterva-c-v0.1.");
        let is_known = |error: &serde_json::Value| error["kind"] == "not-a-frame" || is_of_2019;
        assert!(object.get("error").is_none_or(is_known), "{object}");
    }
    assert!(objects.len() > 200);
    // Two files were squeezed by python-caterva, so their metalayers contradict their data. A third file stores only
    // the addresses of Python objects.
    let (squeezed, objects): (Vec<&str>, Vec<&str>) =
        with_errors.into_iter().partition(|path| path.ends_with("slice_int.cat"));
    assert_eq!(squeezed.len(), 2);
    assert!(matches!(objects[..], [path] if path.ends_with("object.b2nd")), "{objects:?}");
}

#[test]
fn the_command_that_check_names_mends_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, options, status) in
        [("squeezed.caterva", " --dtype DTYPE  # of 2 bytes", 0), ("peers/lost_typesize_record.b2nd", "", 1)]
    {
        let from = format!("it's {}", name.rsplit('/').next().unwrap());
        fs::copy(data().join(name), folder.path().join(&from)).unwrap();
        let output = run(folder.path(), &["check", &from]);
        assert_eq!(output.status.code(), Some(status));
        let named = text(&output.stdout).lines().last().unwrap();
        let (_, command) = named.split_once(": to mend it: b2nd ").expect(named);
        let to = from.replace(".caterva", ".b2nd");
        let quoted = |name: &str| {
            if cfg!(windows) { format!("\"{name}\"") } else { format!("'{}'", name.replace('\'', r"'\''")) }
        };
        assert_eq!(command, format!("rewrite {} {}{options}", quoted(&from), quoted(&to)));
        let object = objects(&run(folder.path(), &["check", "--json", &from])).remove(0);
        assert_eq!(object["mend"], format!("b2nd {command}"));
        assert!(schema().is_valid(&object), "{object}");
        let command = [env!("CARGO_BIN_EXE_b2nd"), command].join(" ");
        if cfg!(unix) {
            let runs = |command: &str| {
                std::process::Command::new("sh")
                    .args(["-c", command])
                    .current_dir(folder.path())
                    .output()
                    .unwrap()
                    .status
                    .success()
            };
            if !options.is_empty() {
                assert!(!runs(&command), "the dtype is not guessed");
                assert!(!folder.path().join(&to).exists());
            }
            assert!(runs(&command.replace("DTYPE", "uint16")), "{command}");
            let mended = run(folder.path(), &["check", &to]);
            assert_eq!(mended.status.code(), Some(0), "{}", text(&mended.stdout));
            assert!(!text(&mended.stdout).contains("to mend it"), "{}", text(&mended.stdout));
            let again = run(folder.path(), &["check", &from]);
            assert!(!text(&again.stdout).contains("to mend it"), "{}", text(&again.stdout));
        }
    }
}

#[test]
fn no_command_is_named_where_none_mends() {
    let folder = folder();
    let output = run(folder.path(), &["check"]);
    let lines = unquoted(&as_on_linux(text(&output.stdout)));
    let named: Vec<_> = lines.lines().filter(|line| line.contains("to mend it")).collect();
    // No command is suggested for a file with several faults, or for a member of a zip file.
    let files: Vec<_> = named.iter().filter_map(|line| line.split_once(": ")).map(|(file, _)| file).collect();
    assert_eq!(files, ["bad/cut.b2nd", "bad/marker.b2nd", "bad/resized.b2nd", "squeezed.caterva"]);
    let follow = |line: &str| {
        let (_, command) = line.split_once(": to mend it: b2nd ").unwrap();
        let (command, _) = command.split_once("  # ").unwrap();
        run(folder.path(), &command.replace("SHAPE", "3,5").split(' ').collect::<Vec<_>>())
    };
    // The first file has lost all its chunks except one.
    let saved = follow(named[0]);
    assert_eq!(saved.status.code(), Some(1), "{}", screen(&saved));
    // The second file cannot be opened, but a salvage saves all its chunks.
    let saved = follow(named[1]);
    assert_eq!(saved.status.code(), Some(0), "{}", text(&saved.stdout));
    let edited = follow(named[2]);
    assert_eq!(edited.status.code(), Some(0), "{}", screen(&edited));
    assert_eq!(run(folder.path(), &["check", "--data", "bad/resized.b2nd"]).status.code(), Some(0));
    assert_eq!(run(folder.path(), &["check", "--data", "bad/marker.salvaged.b2nd"]).status.code(), Some(0));
    // A second check suggests no salvage of these files: the salvage would fail, because its new file already exists.
    let again = run(folder.path(), &["check", "bad/cut.b2nd", "bad/marker.b2nd"]);
    assert!(!text(&again.stdout).contains("to mend it"), "{}", text(&again.stdout));
}

#[test]
fn where_there_is_no_frame_nothing_was_checked() {
    let folder = folder();
    fs::create_dir(folder.path().join("texts")).unwrap();
    fs::write(folder.path().join("texts/notes.txt"), "no array").unwrap();
    for arguments in [
        &["check", "texts"][..],
        &["check", "none"],
        &["check", "--json", "texts"],
        &["check", "--summary", "texts"],
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{}", screen(&output));
    }
    assert!(text(&run(folder.path(), &["check", "texts"]).stderr).contains("no frame was found"));
}
