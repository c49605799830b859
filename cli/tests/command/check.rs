//! `b2nd check`: what it finds, and what it makes of it.

use std::collections::BTreeSet;

use crate::common::{corpus, data, snapshot};
use crate::json::schema;
use crate::run::{folder, objects, run, screen, text};

#[test]
fn findings_are_told_with_their_advice() {
    let folder = folder();
    snapshot("check", &screen(&run(folder.path(), &["check"])));
}

#[test]
fn a_good_file_is_silent_on_stdout() {
    let output = run(&data(), &["check", "int32_3x5.b2nd"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), ""));
    assert_eq!(text(&output.stderr), "b2nd: 1 frame, no errors or warnings; chunks not read (--chunks)\n");
}

#[test]
fn an_array_whose_name_is_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = std::fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[95] ^= 1;
    std::fs::write(folder.path().join("a.b2nd"), file).unwrap();
    let output = run(folder.path(), &["check", "--strict", "a.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).starts_with("a.b2nd: warning: misnamed-array: "),
        "{}",
        text(&output.stdout)
    );
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
    for code in all.iter().collect::<BTreeSet<_>>() {
        let with =
            |wanted: bool| all.iter().filter(|other| (*other == code) == wanted).cloned().collect::<Vec<_>>();
        assert_eq!(codes(&check(&["--only", code])), with(true));
        assert_eq!(codes(&check(&["--ignore", code])), with(false));
    }
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
        (&["none", "--ignore", "not-a-frame", "--only", "truncated"], 1, "0 frames, 1 failure"),
        (
            &["bad/resized.b2nd", "--only", "interrupted-resize", "--ignore", "interrupted-resize"],
            0,
            "1 frame, no errors or warnings; 1 finding ignored; chunks not read (--chunks)",
        ),
    ] {
        let output = check(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert_eq!(text(&output.stderr).lines().last(), Some(&*format!("b2nd: {last}")), "{arguments:?}");
    }
    let named = check(&["squeezed.caterva", "--only", "stale-tail"]);
    assert!(!text(&named.stdout).contains("to mend it"), "{}", text(&named.stdout));
    let objects = objects(&check(&["--json", "--only", "truncated", "bad"]));
    assert_eq!(objects.len(), 2, "the failure of this code, and the frame that can be read");
    let store = data().join("nested.b2z");
    assert_eq!(
        check(&["--strict", "--ignore", "active-object", store.to_str().unwrap()]).status.code(),
        Some(0)
    );

    let output = check(&["--ignore", "old-layot"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("a similar value exists: 'old-layout'"),
        "{}",
        text(&output.stderr)
    );
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
        assert!(object.get("error").is_none_or(|error| error["kind"] == "not-a-frame"), "{object}");
    }
    assert!(objects.len() > 200);
    // Squeezed by python-caterva: metalayer and data disagree.
    assert!(with_errors.iter().all(|path| path.ends_with("slice_int.cat")), "{with_errors:?}");
    assert_eq!(with_errors.len(), 2);
}

#[test]
fn the_command_that_check_names_mends_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, options, status) in [
        ("squeezed.caterva", " --dtype DTYPE  # of 2 bytes: int16, uint16, float16", 0),
        ("peers/lost_typesize_record.b2nd", "", 1),
    ] {
        let from = format!("it's {}", name.rsplit('/').next().unwrap());
        std::fs::copy(data().join(name), folder.path().join(&from)).unwrap();
        let output = run(folder.path(), &["check", &from]);
        assert_eq!(output.status.code(), Some(status));
        let named = text(&output.stdout).lines().last().unwrap();
        let (_, command) = named.split_once(": to mend it: b2nd ").expect(named);
        let to = from.replace(".caterva", ".b2nd");
        let quoted = |name: &str| format!("'{}'", name.replace('\'', r"'\''"));
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
    let named: Vec<_> = text(&output.stdout).lines().filter(|line| line.contains("to mend it")).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(named[0].starts_with("squeezed.caterva: "), "not a resize, nor what is in a zip file: {named:?}");
}
