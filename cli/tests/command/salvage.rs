//! `b2nd salvage`: new frames, reports and exit status; and the output of `rewrite` and `check` about damage.

use std::fs;
use std::path::Path;

use crate::run::{folder, objects, run, run_with, screen, snapshot, text, transcript};
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
    let commands = [
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
    ];
    snapshot("salvage", &transcript(folder.path(), &commands));
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    assert_eq!(fs::read(folder.path().join("new_header.b2nd")).unwrap().len(), whole.len());
    assert_eq!(fs::read(folder.path().join("new_resized.b2nd")).unwrap().len(), whole.len());
    assert!(!folder.path().join("nan.b2nd").exists() && !folder.path().join("zip.b2nd").exists());
}

#[test]
fn a_salvage_names_the_option_that_saves_chunks_with_wrong_entries() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // The entries of chunks 1 and 2 begin at byte 461. Each gets an offset beyond the chunks.
    file[461 + 6] = 1;
    file[469 + 6] = 1;
    fs::write(folder.path().join("index.b2nd"), file).unwrap();
    let output = run(folder.path(), &["salvage", "index.b2nd", "new.b2nd"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("  --assume-order saves 2 of the 2 lost chunks\n"), "{text}");
    let output = run(folder.path(), &["salvage", "--assume-order", "index.b2nd", "ordered.b2nd"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let assumed = "  assumed: the order of the chunks: the chunk index has no right entry for 2 of the 4 chunks in the file\n";
    assert!(text.contains(assumed) && !text.contains("lost"), "{text}");
}

#[test]
fn check_names_the_entries_of_the_metalayer_that_a_salvage_needs() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // The last byte of blockshape[0] is byte 150. The offset of the metalayer and its content begin at byte 100.
    let (mut blocks, mut lost) = (whole.clone(), whole);
    blocks[150] = 2;
    lost[100..165].fill(0xff);
    let all = " --shape SHAPE --chunks CHUNKS --blocks BLOCKS --dtype DTYPE";
    for (name, file, expected) in [
        ("blocks", &blocks[..], Some(" --blocks BLOCKS")),
        ("lost", &lost, Some(all)),
        ("cut", &lost[..90], None),
    ] {
        let (from, to) = (format!("{name}.b2nd"), format!("{name}.salvaged.b2nd"));
        fs::write(folder.path().join(&from), file).unwrap();
        for depth in ["--chunks", "--data"] {
            let output = run(folder.path(), &["check", depth, &from]);
            let named = text(&output.stdout).lines().find_map(|line| line.split_once(": to mend it: b2nd "));
            let expected = expected.map(|options| format!("salvage {from} {to}{options}"));
            assert_eq!(named.map(|(_, command)| command), expected.as_deref(), "{}", screen(&output));
        }
        let Some(options) = expected else { continue };
        let values = [("SHAPE", "3,5"), ("CHUNKS", "2,3"), ("BLOCKS", "1,2"), ("DTYPE", "int32")];
        let options =
            values.iter().fold(options.to_owned(), |options, (name, value)| options.replace(name, value));
        let arguments: Vec<&str> =
            ["salvage", &from, &to].into_iter().chain(options.split_whitespace()).collect();
        let output = run(folder.path(), &arguments);
        assert!(text(&output.stdout).contains("4 of 4 chunks saved"), "{}", screen(&output));
    }
}

#[test]
fn json_lists_each_chunk_that_is_not_verified_with_its_items() {
    let folder = damaged();
    let output = run(folder.path(), &["salvage", "--dry-run", "--json", "chunk.b2nd", "new.b2nd"]);
    let found = &objects(&output)[0]["unverified"];
    let chunks: Vec<_> = found.as_array().unwrap().iter().map(|chunk| &chunk["first"]).collect();
    assert_eq!(chunks, [0, 2, 3], "{found}");
    assert_eq!((&found[1]["start"], &found[1]["stop"]), (&[2, 0].into(), &[3, 3].into()), "{found}");
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
    assert!(text(&output.stdout).starts_with("- -> new.b2nd: 3 of 4 chunks saved"), "{}", screen(&output));
}

#[test]
fn other_commands_name_what_mends() {
    let folder = damaged();
    let commands = [
        &["rewrite", "chunk.b2nd", "new.b2nd"][..],
        &["rewrite", "longer.b2nd", "new.b2nd"],
        &["rewrite", "longer.b2nd", "longer.b2nd"],
        &["rewrite", "tree.b2z:group/small.b2nd", "member.b2nd"],
        &["rewrite", "tree.b2z:group/small.b2nd", "tree.b2z"],
        &["rewrite", "resized.b2nd", "undone.b2nd", "--shape", "3,5"],
        &["set", "resized.b2nd", "--shape", "3,12"],
        &["set", "resized.b2nd", "--shape", "3,5"],
        &["check", "--chunks", "chunk.b2nd", "resized.b2nd"],
    ];
    snapshot("mended", &transcript(folder.path(), &commands));
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    for name in ["new.b2nd", "undone.b2nd", "resized.b2nd"] {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), whole, "{name}");
    }
}

/// The names of all files and folders below a folder, in order.
fn names_below(folder: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(folder).min_depth(1).sort_by_file_name();
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
    entries.into_iter().map(|entry| name(entry.unwrap().path())).collect()
}

#[test]
fn folders_of_a_list_are_salvaged_into_the_folder_and_nowhere_else() {
    let folder = damaged();
    let here = folder.path().join("here");
    fs::create_dir(&here).unwrap();
    let list = format!("../images\n{}\n../chunk.b2nd\n", folder.path().join("images/2024").display());
    let output = run_with(list.as_bytes(), &here, &["salvage", "--into", "saved", "--files-from", "-"]);
    assert!(text(&output.stderr).contains("6 frames salvaged, 5 whole"), "{}", screen(&output));
    let names =
        ["saved", "saved/2024", "saved/2024/a.b2nd", "saved/2024/b.b2nd", "saved/a.b2nd", "saved/b.b2nd"];
    assert_eq!(names_below(&here), [&names[..], &["saved/chunk.b2nd", "saved/named_otherwise.bin"]].concat());
    assert_eq!(names_below(&folder.path().join("images/2024")), ["a.b2nd", "b.b2nd"]);
}

#[cfg(feature = "remote")]
#[test]
fn objects_get_their_names_below_the_url_and_never_lead_out_of_the_folder() {
    let array = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let saved_from = |keys: &[&str], url: &str| {
        let objects = keys.iter().map(|key| (format!("bucket/{key}"), array.clone()));
        let server = crate::server::Server::with(objects.collect());
        let saved = folder.path().join("in/saved");
        server.run(&["salvage", "--into", saved.to_str().unwrap(), url]);
        let names = names_below(folder.path());
        let _ = fs::remove_dir_all(saved);
        names
    };
    let names = ["in", "in/saved", "in/saved/b", "in/saved/b/x.b2nd", "in/saved/y.b2nd"];
    assert_eq!(saved_from(&["a/b/x.b2nd", "a/y.b2nd"], "s3://bucket/a"), names);
    assert_eq!(saved_from(&["a/b/x.b2nd"], "s3://bucket/a/b/x.b2nd"), ["in", "in/saved", "in/saved/x.b2nd"]);
    for name in saved_from(&["a/y.b2nd", "a/../../z.b2nd", "a/..", "a//z.b2nd"], "s3://bucket/a/") {
        assert!(name == "in" || name.starts_with("in/saved"), "{name}");
    }
}

#[test]
fn a_sparse_frame_that_is_the_current_folder_keeps_its_name() {
    let folder = folder();
    let output = run(&folder.path().join("sparse.b2nd"), &["salvage", "--into", "../saved", "."]);
    assert_eq!(output.status.code(), Some(0), "{}", screen(&output));
    let new = run(folder.path(), &["check", "--data", "saved/sparse.b2nd"]);
    assert_eq!(new.status.code(), Some(0), "{}", screen(&new));
}

#[test]
fn new_files_are_not_salvaged_again() {
    let folder = folder();
    let images = folder.path().join("images");
    let first = run(&images, &["salvage", "--into", "saved"]);
    assert_eq!(first.status.code(), Some(0), "{}", screen(&first));
    let names = names_below(&images);
    let second = run(&images, &["salvage", "--into", "../images/saved", "."]);
    assert!(text(&second.stderr).contains("0 frames salvaged, 0 whole, 3 failures"), "{}", screen(&second));
    assert_eq!(names_below(&images), names);
    // The folder of the new files may also contain the folder of the old files.
    let above = run(&images, &["salvage", "--into", ".", "2024"]);
    assert!(text(&above.stderr).contains("2 frames salvaged, 2 whole"), "{}", screen(&above));
    assert!(images.join("a.b2nd").exists());
}

#[test]
fn folders_without_a_frame_are_not_left_behind() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("texts/2024/deep")).unwrap();
    fs::write(folder.path().join("texts/2024/deep/notes.txt"), "no array").unwrap();
    let output = run(folder.path(), &["salvage", "--into", "new/none", "texts"]);
    assert_eq!(output.status.code(), Some(0), "{}", screen(&output));
    assert!(!folder.path().join("new").exists());
    fs::create_dir(folder.path().join("old")).unwrap();
    run(folder.path(), &["salvage", "--into", "old", "texts"]);
    assert_eq!(names_below(&folder.path().join("old")), [""; 0]);
    let output = run(folder.path(), &["salvage", "--into", "saved", "texts", "images"]);
    assert_eq!(output.status.code(), Some(0), "{}", screen(&output));
    let names = ["2024", "2024/a.b2nd", "2024/b.b2nd", "named_otherwise.bin"];
    assert_eq!(names_below(&folder.path().join("saved")), names);
}

#[test]
fn an_existing_file_has_the_code_that_explain_knows() {
    let folder = folder();
    for command in ["salvage", "rewrite"] {
        let output = run(folder.path(), &[command, "--json", "images/2024/a.b2nd", "scalar.b2nd"]);
        assert_eq!(objects(&output)[0]["error"]["kind"], "exists", "{}", screen(&output));
    }
    assert_eq!(run(folder.path(), &["explain", "exists"]).status.code(), Some(0));
}

#[test]
fn salvage_and_its_preview_refuse_a_path_at_which_no_file_can_be_created() {
    let folder = damaged();
    fs::write(folder.path().join("there"), "").unwrap();
    for (arguments, says) in [
        (&["chunk.b2nd", "there"][..], "b2nd: there: already exists; TO must be a new path\n"),
        (&["chunk.b2nd", "there/a"], "b2nd: there/a: cannot create a file in there: not a folder\n"),
        (&["chunk.b2nd", "none/a"], "b2nd: none/a: cannot create a file in none: no such folder\n"),
        (&["--into", "there", "chunk.b2nd"], "b2nd: there: not a folder\n"),
    ] {
        for options in [&["salvage", "--dry-run"][..], &["salvage"]] {
            let output = run(folder.path(), &[options, arguments].concat());
            assert_eq!(output.status.code(), Some(1), "{arguments:?}");
            let said = text(&output.stderr);
            assert!(said.starts_with(says), "{said}");
        }
    }
}

#[test]
fn a_shape_may_begin_with_a_hyphen_and_is_refused_for_what_it_is() {
    let folder = damaged();
    for option in ["--shape", "--chunks", "--blocks"] {
        let output = run(folder.path(), &["salvage", "header.b2nd", "new.b2nd", option, "-1,2"]);
        assert_eq!(output.status.code(), Some(1), "{}", screen(&output));
        assert!(text(&output.stderr).contains("-1"), "{}", screen(&output));
    }
}

/// A wrong shape with the same grid of chunks contradicts nothing in the file, so the user must check the shape.
#[test]
fn a_salvage_that_finds_no_damage_says_what_to_check() {
    let folder = folder();
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let at = file.windows(9).position(|bytes| *bytes == [0xd3, 0, 0, 0, 0, 0, 0, 0, 5]).unwrap();
    file[at + 8] = 6;
    fs::write(folder.path().join("in_grid.b2nd"), &file).unwrap();
    let output = run(folder.path(), &["salvage", "in_grid.b2nd", "new.b2nd"]);
    let expected = "in_grid.b2nd -> new.b2nd: 4 of 4 chunks saved\n  no damage found; check these values, which nothing else in the file \
                    confirms: shape (3, 6), chunks (2, 3), dtype int32\n";
    assert_eq!(text(&output.stdout), expected);
    // With a 0 in the shape, the array has no items, so nbytes must be 0. But nbytes in the header is 128. Nothing is
    // saved.
    file[at + 8] = 0;
    fs::write(folder.path().join("empty.b2nd"), &file).unwrap();
    let output = run(folder.path(), &["salvage", "empty.b2nd", "none.b2nd"]);
    assert_eq!(output.status.code(), Some(1), "{}", screen(&output));
    assert!(text(&output.stderr).contains("nbytes is 128"), "{}", screen(&output));
    assert!(!folder.path().join("none.b2nd").exists());
}

#[test]
fn a_salvage_says_that_bytes_belong_to_no_entry() {
    let folder = folder();
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // The last chunk gets a special value, so 64 bytes belong to no entry. The chunk index begins at byte 421.
    let mut special = file.clone();
    special[421 + 32 + 24..421 + 32 + 32].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0x81]);
    fs::write(folder.path().join("special.b2nd"), &special).unwrap();
    let output = run(folder.path(), &["salvage", "special.b2nd", "new.b2nd"]);
    let expected = "  unowned: byte 357 of the frame: 64 bytes belong to no entry of the chunk index, the first ones here: \
                    chunks were replaced or deleted, or an entry is wrong, and its chunk may be in the wrong place or out \
                    of date\n";
    assert!(text(&output.stdout).contains(expected), "{}", screen(&output));
    let output = run(folder.path(), &["salvage", "--json", "--dry-run", "special.b2nd", "other.b2nd"]);
    let unowned = "\"unowned\":\"byte 357 of the frame: 64 bytes belong to no entry";
    assert!(text(&output.stdout).contains(unowned), "{}", screen(&output));
}

#[test]
fn an_empty_file_is_not_asked_for_its_shape() {
    let folder = folder();
    fs::write(folder.path().join("empty.b2nd"), "").unwrap();
    let output = run(folder.path(), &["salvage", "empty.b2nd", "new.b2nd"]);
    assert_eq!(output.status.code(), Some(1), "{}", screen(&output));
    assert!(
        text(&output.stderr).contains("empty") && !text(&output.stderr).contains("--shape"),
        "{}",
        screen(&output)
    );
}

#[test]
fn a_file_that_ends_in_its_header_is_not_asked_for_its_shape() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    for length in [8, 40, 100, 164] {
        fs::write(folder.path().join("cut.b2nd"), &whole[..length]).unwrap();
        let output = run(folder.path(), &["salvage", "cut.b2nd", "new.b2nd"]);
        assert_eq!(output.status.code(), Some(1));
        let error = text(&output.stderr);
        assert!(error.starts_with("b2nd: cut.b2nd: nothing could be saved: the file "), "{error}");
        assert!(!error.contains("--shape"), "{error}");
        let checked = run(folder.path(), &["check", "cut.b2nd"]);
        let advice =
            "cut.b2nd: what to do: restore it from another copy, because nothing could be saved: the file ";
        assert!(text(&checked.stdout).replace("\n    ", " ").contains(advice), "{}", text(&checked.stdout));
    }
}

#[test]
fn a_damaged_frame_inside_a_file_gets_a_command_that_runs() {
    let folder = damaged();
    let mut file = fs::read(folder.path().join("tree.b2z")).unwrap();
    let name = file.windows(16).position(|bytes| bytes == b"group/small.b2nd").unwrap();
    let start = name + file[name..].windows(9).position(|bytes| bytes == b"\x9e\xa8b2frame").unwrap();
    // Damages the marker of the flags in the header.
    file[start + 24] ^= 1;
    fs::write(folder.path().join("tree.b2z"), file).unwrap();
    let chunk = fs::read(folder.path().join("chunk.b2nd")).unwrap();
    fs::write(folder.path().join("two.bin"), [b"other bytes", &chunk[..]].concat()).unwrap();
    for (from, member, says) in [
        (
            "tree.b2z",
            "tree.b2z:group/small.b2nd small.salvaged.b2nd",
            "the marker of flags: byte 24 was 0xa5",
        ),
        ("two.bin@11", "two.bin@11 two.salvaged.b2nd", "3 of 4 chunks saved"),
    ] {
        let output = run(folder.path(), &["check", "--chunks", from]);
        let mut commands =
            text(&output.stdout).lines().filter_map(|line| line.split_once("to mend it: b2nd "));
        let (_, command) = commands.next().unwrap_or_else(|| panic!("{}", screen(&output)));
        assert_eq!(command, format!("salvage {member}  # --dry-run shows what is lost"));
        let arguments: Vec<&str> = command.split("  #").next().unwrap().split(' ').collect();
        let output = run(folder.path(), &arguments);
        assert!(text(&output.stdout).contains(says), "{}", screen(&output));
    }
}
