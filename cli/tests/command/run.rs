//! Running the command.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
#[cfg(unix)]
use std::{process::Child, sync::Arc, sync::atomic::AtomicBool};

use serde_json::Value;

use b2nd_lab::data;

/// Makes these signals end the commands that are started from now on, even if this process ignores these signals.
///
/// A shell without job control makes its background processes ignore SIGINT, and `nohup` makes a process ignore SIGHUP.
/// A child process inherits an ignored signal. But if its parent handles the signal, the child process starts with the
/// default action, which ends it. So this function sets a handler in this process, which also ends this process.
#[cfg(unix)]
pub(crate) fn let_through(signals: &[i32]) {
    let always = Arc::new(AtomicBool::new(true));
    for &signal in signals {
        signal_hook::flag::register_conditional_default(signal, always.clone()).unwrap();
    }
}

/// Sends a signal to a process.
#[cfg(unix)]
pub(crate) fn send(signal: i32, child: &Child) {
    let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

/// The command with arguments, in a folder.
pub(crate) fn b2nd(folder: &Path, arguments: &[&str]) -> Command {
    in_folder(Command::new(env!("CARGO_BIN_EXE_b2nd")), folder, arguments)
}

/// The same command, under a limit that a shell sets, such as `ulimit -f 64`.
#[cfg(unix)]
pub(crate) fn b2nd_under(limit: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limit}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_b2nd")]);
    in_folder(shell, folder, arguments)
}

fn in_folder(mut command: Command, folder: &Path, arguments: &[&str]) -> Command {
    command.args(arguments).current_dir(folder);
    // People set these variables for their terminals, and they would change the output.
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(variable);
    }
    // A proxy, set by `HTTP_PROXY` or `http_proxy`, would answer instead of a test's server.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().to_uppercase().ends_with("_PROXY") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs the command in a folder.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    b2nd(folder, arguments).output().unwrap()
}

/// Runs the command with bytes on its standard input.
pub(crate) fn run_with(input: &[u8], folder: &Path, arguments: &[&str]) -> Output {
    let mut child = b2nd(folder, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    })
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Turns a text that the command has printed on any system into the text that it prints on Linux: with `/` between
/// folders, and with the message of Linux for a missing file. The backslash in the magic bytes of a NumPy file stays.
pub(crate) fn as_on_linux(text: &str) -> String {
    if !cfg!(windows) {
        return text.into();
    }
    let missing = io::Error::from_raw_os_error(2).to_string();
    let text = text.replace('\\', "/").replace("/x93NUMPY", "\\x93NUMPY");
    text.replace(&missing, "No such file or directory (os error 2)")
}

/// The exit status, standard output and standard error of a run, as Linux prints them.
pub(crate) fn screen(output: &Output) -> String {
    as_on_linux(&raw_screen(output))
}

/// Returns the same text as `screen`, but without replacing `\`: for output in which `\` does not separate folders.
pub(crate) fn raw_screen(output: &Output) -> String {
    format!(
        "status {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr)
    )
}

/// Runs these command lines. Returns each command line with its output.
pub(crate) fn transcript(folder: &Path, commands: &[&[&str]]) -> String {
    let shown =
        |arguments: &&[&str]| format!("$ b2nd {}\n{}", arguments.join(" "), screen(&run(folder, arguments)));
    commands.iter().map(shown).collect()
}

/// The JSON objects on standard output, one per line.
pub(crate) fn objects(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A folder with real files: arrays in folders, a frame without an array, a zip file, a sparse frame, and bad files in
/// `bad`.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in ["bad", "images/2024", "sparse.b2nd"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    let copies = [
        ("int32_3x5.b2nd", "images/2024/a.b2nd"),
        ("vlmetalayers.b2nd", "images/2024/b.b2nd"),
        ("struct_non_ascii.b2nd", "images/named_otherwise.bin"),
        ("scalar.b2nd", "scalar.b2nd"),
        ("squeezed.caterva", "squeezed.caterva"),
        ("rank16.b2nd", "rank16.b2nd"),
        ("tree.b2z", "tree.b2z"),
        ("tree.b2z", "tree.zip"),
    ];
    for (from, to) in copies {
        fs::copy(data().join(from), at(to)).unwrap();
    }
    for file in fs::read_dir(data().join("sparse.b2nd")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), at("sparse.b2nd").join(file.file_name())).unwrap();
    }
    let good = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let with = |position: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[position..position + bytes.len()].copy_from_slice(bytes);
        file
    };
    fs::write(at("images/notes.txt"), "no array").unwrap();
    fs::write(at("images/x"), "x").unwrap();
    // This frame has no array: its metalayer gets another name and another content.
    let mut chunks_only = with(95, b"x2nd");
    chunks_only[112] = 0xc0;
    fs::write(at("chunks_only.b2frame"), chunks_only).unwrap();
    fs::write(at("bad/cut.b2nd"), &good[..300]).unwrap();
    fs::write(at("bad/empty.b2nd"), b"").unwrap();
    fs::write(at("bad/marker.b2nd"), with(116, &[0xd2])).unwrap();
    fs::write(at("bad/not_a_zip.b2z"), b"not a zip").unwrap();
    fs::write(at("bad/resized.b2nd"), with(124, &[9])).unwrap();
    fs::write(at("bad/zeroed.b2nd"), [0; 600]).unwrap();
    folder
}

/// Compares a text with the snapshot of this name.
#[track_caller]
pub(crate) fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

/// A NumPy file of version 1.0 with this header.
pub(crate) fn npy(header: &str, items: &[u8]) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), items].concat()
}

/// The header of a NumPy file.
pub(crate) fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n")
}
