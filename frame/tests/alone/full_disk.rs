//! If a write fails because the disk is full, the error names the file, the old file is unchanged, and no partial file
//! is left.
//!
//! A limit on file sizes simulates a full disk. It applies to a process, so a separate process does the writing.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
#[cfg(feature = "compress")]
use std::slice;

#[cfg(feature = "compress")]
use b2nd_frame::{Array, ArrayUpdate};
use b2nd_frame::{Error, ErrorKind, Frame, FrameBuilder, Rewrite, SpecialValue};
use b2nd_lab::with_gap;
use b2nd_serde::{Meta, Shapes};

/// The number of bytes of a write that must fail, because it exceeds the limit on file sizes. The test gives the shell
/// the limits 128 and 0. Shells count this limit in units of 512 or 1024 bytes, so 128 units are 64 or 128 KiB.
const LEN: usize = 1 << 20;

/// The paths and contents of all files in a folder, including files in subdirectories.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

fn builder() -> FrameBuilder {
    let shapes = Shapes { shape: &[1 << 20], chunkshape: &[1 << 20], blockshape: &[1 << 12] };
    FrameBuilder::new(Meta::new(shapes, "|u1").unwrap())
}

/// The process that the test below starts with a limit on file sizes. It tries every kind of write that exceeds this
/// limit.
#[test]
fn the_process_without_room() {
    let Some(folder) = env::var_os("B2ND_FULL_DISK").map(PathBuf::from) else { return };
    let new = folder.join("new");
    let create = |is_sparse: bool| {
        let mut writer =
            if is_sparse { builder().create_sparse(&new) } else { builder().create(&new) }.unwrap();
        writer.write_uncompressed(0, &vec![7; LEN]).unwrap_err()
    };
    let rewrite = |from: &str, to: &Path, is_sparse: Option<bool>| {
        let rewrite = Rewrite::new(folder.join(from), to);
        let rewrite = if let Some(is_sparse) = is_sparse { rewrite.sparse(is_sparse) } else { rewrite };
        rewrite.apply().unwrap_err()
    };
    let before = files(&folder);
    let is_full = |error: Error, path: &Path| {
        assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(path)), "{error}");
        let reason = error.io_error().unwrap();
        assert_eq!(error.to_string(), format!("cannot write {}: {reason}", path.display()));
        assert_eq!(reason.kind(), io::ErrorKind::FileTooLarge, "{reason}");
        assert!(files(&folder) == before, "after: {error}");
    };
    is_full(create(false), &new);
    is_full(create(true), &new);
    for from in ["contiguous", "sparse"] {
        is_full(rewrite(from, &new, None), &new);
    }
    is_full(rewrite("contiguous", &new, Some(true)), &new);
    is_full(rewrite("sparse", &new, Some(false)), &new);
    // In a sparse frame, a rewrite replaces only the header file. The header file is shorter than the limit, unless the
    // limit is 0.
    let old = folder.join("contiguous");
    is_full(rewrite("contiguous", &old, None), &old);
    let old = folder.join("int32_3x5.b2nd");
    is_full(rewrite("int32_3x5.b2nd", &old, None), &old);
    if env::var_os("B2ND_FULL_DISK_LIMIT").is_some_and(|limit| limit == "0") {
        let index = folder.join("sparse/chunks.b2frame");
        is_full(rewrite("sparse", &folder.join("sparse"), None), &index);
        for is_sparse in [false, true] {
            let writer = if is_sparse { builder().create_sparse(&new) } else { builder().create(&new) };
            let mut writer = writer.unwrap();
            writer.fill_missing(SpecialValue::Zeros).unwrap();
            is_full(writer.finish().unwrap_err(), &new);
        }
        let set = |name: &str| {
            let mut frame = Frame::open(folder.join(name)).unwrap();
            let error = frame.edit().dtype("|i1").apply().unwrap_err();
            assert_eq!(frame.array().unwrap().unwrap().dtype(), Some("|u1"));
            error
        };
        is_full(set("contiguous"), &folder.join("contiguous"));
        // Here a lock file exists. It is written before the frame, so the error is about the lock file.
        let error = set("locked");
        let says = format!("cannot write the lock file {}: ", folder.join("locked.b2lock").display());
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().starts_with(&says), "{error}");
        assert!(files(&folder) == before);
    }
    #[cfg(feature = "compress")]
    update_without_room(&folder.join("small"), is_full);
    println!("all is as it was");
}

/// A commit that has failed can be repeated, although it has written to the file.
#[cfg(feature = "compress")]
fn update_without_room(path: &Path, is_full: impl Fn(Error, &Path)) {
    let mut update = ArrayUpdate::open(path).unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    let range = 0..LEN as u64;
    let region = slice::from_ref(&range);
    update.write(region, &(0..LEN).map(|_| rng.u8(..)).collect::<Vec<_>>()).unwrap();
    is_full(update.flush().unwrap_err(), path);
    if env::var_os("B2ND_FULL_DISK_LIMIT").is_some_and(|limit| limit == "128") {
        update.write(region, &vec![9; LEN]).unwrap();
        update.flush().unwrap();
        assert!(Array::open(path).unwrap().whole().read().unwrap() == vec![9; LEN]);
    }
}

#[test]
fn a_full_disk_leaves_the_old_frame_and_no_part_of_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    with_gap(folder.path(), "int32_3x5.b2nd", LEN);
    for (name, is_sparse) in [("contiguous", false), ("sparse", true)] {
        let path = folder.path().join(name);
        let mut writer =
            if is_sparse { builder().create_sparse(&path) } else { builder().create(&path) }.unwrap();
        writer.write_uncompressed(0, &vec![7; LEN]).unwrap();
        writer.finish().unwrap().persist().unwrap();
    }
    let mut writer = builder().create(folder.path().join("small")).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    fs::copy(folder.path().join("contiguous"), folder.path().join("locked")).unwrap();
    fs::write(folder.path().join("locked.b2lock"), [0; 8]).unwrap();
    for limit in ["128", "0"] {
        let mut command = Command::new("sh");
        // Without the trap, the signal at the limit would end the process.
        command.args(["-c", &format!("trap '' XFSZ; ulimit -f {limit}; exec \"$@\""), "sh"]);
        command.arg(env::current_exe().unwrap());
        command.args(["--exact", "full_disk::the_process_without_room", "--nocapture"]);
        command.env("B2ND_FULL_DISK", folder.path()).env("B2ND_FULL_DISK_LIMIT", limit);
        let output = command.output().unwrap();
        let says = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && says.contains("all is as it was"), "{output:?}");
    }
}
