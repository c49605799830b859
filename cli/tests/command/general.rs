//! The command line: output, streams and exit status.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use crate::run::{as_on_linux, b2nd, folder, run_with, text};
use b2nd_lab::{data, root};

fn here() -> PathBuf {
    root().join("frame")
}

/// Runs the command in the folder of the package b2nd-frame, which contains the real files of the tests.
fn run(arguments: &[&str]) -> Output {
    crate::run::run(&here(), arguments)
}

#[test]
fn info_shows_an_array_as_python_blosc2_does() {
    let output = run(&["info", "tests/data/int32_3x5.b2nd"]);
    crate::run::snapshot("info", text(&output.stdout));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    let readme = fs::read_to_string(root().join("cli/README.md")).unwrap();
    let (_, block) = readme.split_once("```console\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let mut printed = String::new();
    for command in block.lines().filter_map(|line| line.strip_prefix("$ b2nd ")) {
        let output = crate::run::run(&data(), &command.split(' ').collect::<Vec<_>>());
        printed += &["$ b2nd ", command, "\n", text(&output.stdout)].concat();
    }
    assert_eq!(block, printed);
}

#[test]
fn info_shows_several_arrays_with_their_paths() {
    let output = run(&[
        "info",
        "tests/data/scalar.b2nd",
        "tests/data/sparse.b2nd",
        "tests/data/struct_non_ascii.b2nd",
        "tests/data/empty.b2nd",
        "tests/data/rank16.b2nd",
        "tests/data/squeezed.caterva",
    ]);
    crate::run::snapshot("info_several", text(&output.stdout));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_file_that_is_no_array_gets_one_line_on_stderr_and_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let cases: [(&str, &[u8]); 9] = [
        ("empty.b2nd", b""),
        ("zeroed.b2nd", &[0; 600]),
        ("text.b2nd", b"not an array"),
        ("cut_in_magic.b2nd", &file[..5]),
        ("cut_in_header.b2nd", &file[..100]),
        ("cut_in_data.b2nd", &file[..300]),
        ("bad_offset.b2nd", &with(100, &[0x7f])),
        ("bad_metalayer.b2nd", &with(116, &[0xd2])),
        ("bad_header.b2nd", &with(87, &[0x94])),
    ];
    let mut lines = String::new();
    for (name, bytes) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let output = run(&["info", path.to_str().unwrap()]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{name}");
        let stderr = text(&output.stderr).replace(folder.path().to_str().unwrap(), "FOLDER");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        lines += &stderr;
    }
    let output = run(&["info", "tests/data/none.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    lines += text(&output.stderr);
    crate::run::snapshot("info_failures", &as_on_linux(&lines));
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let output = run(&["info", "Cargo.toml", "tests/data/scalar.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("dtype   : float64"));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn a_frame_without_an_array_shows_its_super_chunk() {
    let folder = folder();
    let output = crate::run::run(folder.path(), &["info", "chunks_only.b2frame"]);
    crate::run::snapshot("info_super_chunk", text(&output.stdout));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn the_values_of_other_metalayers_have_a_line_each_and_with_meta_are_whole() {
    let output = run(&["info", "tests/data/vlmetalayers.b2nd"]);
    crate::run::snapshot("info_meta", text(&output.stdout));
    assert!(text(&output.stdout).lines().all(|line| line.chars().count() <= 80));
    let output = run(&["info", "--meta", "tests/data/vlmetalayers.b2nd"]);
    assert!(text(&output.stdout).contains(&format!("note = \"{}\"\n", "x".repeat(1000))));
}

#[test]
fn info_shows_a_zip_file_as_a_store_and_a_member_where_it_is_named() {
    let output = run(&["info", "tests/data/tree.b2z"]);
    let page = "path    : tests/data/tree.b2z\ntype    : TreeStore\nholds   : /group/large, /group/small\n";
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), page));
    for member in ["group/large.b2nd", "group/small.b2nd", "embed.b2e"] {
        let output = run(&["info", &format!("tests/data/tree.b2z:{member}")]);
        assert!(text(&output.stdout).contains(&format!("member  : {member}\n")), "{}", text(&output.stdout));
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn control_characters_do_not_get_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[162..165].copy_from_slice(b"\x1b[m");
    // Windows does not allow an escape character in a file name.
    let name = if cfg!(unix) { "\x1b[2J.b2nd" } else { "plain.b2nd" };
    fs::write(folder.path().join(name), file).unwrap();
    // A zip file with a member whose name contains an escape sequence. The local header of that member is damaged.
    let zip = fs::read(data().join("tree.b2z")).unwrap();
    let member = b"group/large.b2nd";
    let mut bad = zip.clone();
    for at in 0..zip.len() - member.len() {
        if zip[at..].starts_with(member) {
            bad[at..at + member.len()].copy_from_slice(b"group/\x1b[2Jx.b2nd");
        }
    }
    let local_header = zip.windows(member.len()).position(|bytes| bytes == member).unwrap() - 30;
    bad[local_header] = 0;
    fs::write(folder.path().join("bad.b2z"), bad).unwrap();
    let names = ["info", name, name, "bad.b2z"];
    for arguments in [&names[..], &["ls"], &["check"], &["dump", name], &["ls", "--scan"]] {
        // `--color always` is needed, because without it the command removes every escape sequence from its output to a
        // pipe.
        let output = crate::run::run(folder.path(), &[&["--color", "always"], arguments].concat());
        for printed in [&output.stdout, &output.stderr] {
            assert!(
                !text(printed).contains("\x1b[2J") && !text(printed).contains("\x1b[m"),
                "{arguments:?}: {}",
                text(printed)
            );
        }
    }
    let output = crate::run::run(folder.path(), &["ls", "bad.b2z"]);
    assert!(text(&output.stderr).contains("[2Jx.b2nd"), "it is told: {}", text(&output.stderr));
}

#[test]
fn colour_is_only_where_it_is_wanted() {
    let folder = folder();
    let arguments = ["check", "bad/resized.b2nd"];
    let is_coloured = |options: &[&str], variables: &[(&str, &str)]| {
        let mut command = b2nd(folder.path(), options);
        command.args(arguments);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(!is_coloured(&[], &[]), "into a pipe");
    assert!(is_coloured(&["--color", "always"], &[]));
    assert!(is_coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[], &[("NO_COLOR", "1")]));
}

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let help = run(&["--help"]);
    let (_, list) = text(&help.stdout).split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    // If the description of a command has several lines, only the first line begins with the name. The other lines are
    // indented more.
    let names =
        lines.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|&name| name != "help").map(String::from).collect()
}

#[test]
fn version_names_the_features_of_the_build() {
    let (version, sign) = (env!("CARGO_PKG_VERSION"), if cfg!(feature = "remote") { '+' } else { '-' });
    assert_eq!(text(&run(&["--version"]).stdout), format!("b2nd {version}\nfeatures: {sign}remote\n"));
    assert_eq!(text(&run(&["-V"]).stdout), format!("b2nd {version}\n"));
}

#[test]
fn every_command_has_help_with_an_example_and_a_manual_page() {
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in &commands {
        let help = run(&[command, "--help"]);
        assert_eq!(help.status.code(), Some(0));
        let help = text(&help.stdout);
        assert!(help.contains(&format!("Usage: b2nd {command}")), "{help}");
        crate::run::snapshot(&format!("help_{command}"), help);
        let example = help.split("Example").nth(1).unwrap_or_default();
        assert!(example.contains(&format!("b2nd {command}")), "{help}");
        let short = run(&[command, "-h"]);
        let options = text(&short.stdout)
            .lines()
            .filter(|line| line.trim_start().starts_with('-') && line.contains("  "))
            .count();
        assert!((1..=12).contains(&options), "{options} in {}", text(&short.stdout));
        let page = run(&["man", command]);
        assert_eq!(page.status.code(), Some(0));
        let page = text(&page.stdout);
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
        // An option is a line after `.TP`, and its description is the next line, which is empty if it has none.
        let lines: Vec<_> = page.lines().collect();
        let bare = lines.windows(3).find(|lines| lines[0] == ".TP" && lines[2].is_empty());
        assert_eq!(bare, None, "b2nd man {command}");
    }
    let help = run(&["--help"]);
    crate::run::snapshot("help", text(&help.stdout));
}

#[test]
fn the_command_alone_fits_a_screen() {
    let (alone, short) = (run(&[]), run(&["-h"]));
    assert_eq!((alone.status.code(), short.status.code()), (Some(2), Some(0)));
    let screen = text(&short.stdout);
    assert_eq!(text(&alone.stderr), screen);
    assert!(
        screen.lines().count() <= 24 && screen.lines().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    for command in commands() {
        assert!(screen.contains(&command), "{command}");
    }
    crate::run::snapshot("overview", screen);
}

#[test]
fn all_manual_pages_are_written_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    let output = run(&["man", "--dir", pages.to_str().unwrap()]);
    assert_eq!((output.status.code(), text(&output.stdout), text(&output.stderr)), (Some(0), "", ""));
    for command in &commands() {
        let page = fs::read(pages.join(format!("b2nd-{command}.1"))).unwrap();
        assert_eq!(page, run(&["man", command]).stdout, "{command}");
    }
    assert_eq!(fs::read(pages.join("b2nd.1")).unwrap(), run(&["man"]).stdout);
    assert_eq!(
        fs::read_dir(&pages).unwrap().count(),
        commands().len() + 1,
        "one for each command of the help"
    );
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(run(&["man", "--dir", file.to_str().unwrap()]).status.code(), Some(1));
}

#[test]
fn completions_offer_values_and_not_files() {
    let script = run(&["completions", "bash"]).stdout;
    let of = |option: &str| {
        let (_, rest) = text(&script).split_once(&format!("                {option})\n")).unwrap();
        rest.lines().next().unwrap().trim().to_owned()
    };
    assert_eq!(
        of("--layout"),
        r#"COMPREPLY=($(compgen -W "b2nd b2nd-mismarked b2nd-six caterva" -- "${cur}"))"#
    );
    assert!(of("--dtype").contains("int8 int16"), "{}", of("--dtype"));
    for option in ["--shape", "--blocks", "--hex", "--jobs", "--ext"] {
        assert!(!of(option).contains("compgen -f"), "{option}: {}", of(option));
    }
    assert!(of("--files-from").contains("compgen -f"));
    assert!(text(&script).contains("interrupted-resize"), "the codes to explain");
    assert!(of("--only").contains("interrupted-resize") && of("--ignore").contains("interrupted-resize"));
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("unordered"), "{shell}");
    }
}

#[test]
fn the_examples_of_encode_and_decode_run_as_they_stand() {
    let help = run(&["encode", "--help"]);
    let line = text(&help.stdout).lines().find(|line| line.contains("b2nd encode --shape 400,3")).unwrap();
    let line = line.replace('\'', "");
    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    let hex = run(&arguments);
    assert_eq!(hex.status.code(), Some(0));
    let decoded = run_with(&hex.stdout, &here(), &["decode"]);
    assert!(text(&decoded.stdout).contains("shape   : (400, 3)\n"));
}

#[test]
fn wrong_usage_is_status_2() {
    for arguments in [
        &[][..],
        &["info"],
        &["inform", "x"],
        &["info", "--no-such-option", "x"],
        &["ls", "--long", "--summary"],
        &["ls", "-0"],
        &["ls", "-j", "0"],
        &["encode", "--shape", "1"],
        &["encode", "--shape", "a", "--chunks", "1", "--blocks", "1", "--dtype", "|u1"],
        &["decode", "--hex", "970"],
        &["dump", "--hex", "zz"],
        &["set", "array.b2nd"],
        &["rewrite", "array.b2nd"],
        &["salvage", "array.b2nd"],
        &["salvage", "a.b2nd", "b.b2nd", "--fill", "value"],
        &["man", "no-such-command"],
        &["explain", "no-such-code"],
        &["diff", "array.b2nd"],
        &["convert", "array.npy"],
        &["convert", "--npy", "array.b2nd", "array.npy"],
        &["convert", "--codec", "gzip", "array.npy", "array.b2nd"],
        &["convert", "--filters", "shuffle:x", "array.npy", "array.b2nd"],
        &["completions", "no-such-shell"],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = b2nd(&here(), &["info"])
        .args(vec!["tests/data/struct_long.b2nd"; 200])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_closed_pipe_is_trouble_where_the_status_is_a_verdict() {
    let folder = folder();
    for (arguments, status) in [
        (&["ls", "images"][..], 0),
        (&["check", "bad"], 1),
        (&["salvage", "--dry-run", "scalar.b2nd", "new.b2nd"], 1),
        (&["diff", "scalar.b2nd", "rank16.b2nd"], 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = b2nd(folder.path(), arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(status), ""), "{arguments:?}");
        // A closed pipe is an error for some commands only. A full disk is an error for all.
        if cfg!(target_os = "linux") {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = b2nd(folder.path(), arguments).stdout(full).output().unwrap();
            assert_eq!(output.status.code(), Some(status.max(1)), "{arguments:?}");
        }
    }
}
