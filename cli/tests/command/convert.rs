//! `convert`: conversion between NumPy files and arrays, and recompression.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use b2nd_frame::{Array, Check, CheckDepth, Codec, Filter, Finding, Frame, FrameBuilder, Severity};
use b2nd_serde::{Meta, Shapes};

#[cfg(unix)]
use crate::run::b2nd_under;
use crate::run::{folder, header, npy, run, run_with, screen, snapshot, text};

/// The items of a test array: the numbers 0 to 14, as int32.
fn items() -> Vec<u8> {
    (0_i32..15).flat_map(i32::to_le_bytes).collect()
}

/// Runs `convert`, and returns the items of the new array.
fn converted(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = run(folder, &[&["convert"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    read(&folder.join(arguments[arguments.len() - 1]))
}

/// Checks that an array has no errors, and returns its items.
fn read(path: &Path) -> Vec<u8> {
    let check = Check::new(CheckDepth::ChunkData).run_path(path).unwrap();
    // For an array of zeros, a check warns that no chunk is stored. Such warnings are ignored here.
    let is_error = |finding: &Finding| finding.severity() == Severity::Error;
    assert!(!check.findings.iter().any(is_error), "{}: {check:?}", path.display());
    Array::open(path).unwrap().whole().read().unwrap()
}

#[test]
fn an_array_becomes_the_file_that_numpy_writes_and_an_array_again() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let output = run(folder.path(), &["convert", "images/2024/a.b2nd", "items.npy"]);
    assert_eq!(text(&output.stdout), "images/2024/a.b2nd -> items.npy: 60 B\n");
    let file = fs::read(at("items.npy")).unwrap();
    let (start, rest) = file.split_at(128);
    let expected = b"\x93NUMPY\x01\0\x76\0{'descr': '<i4', 'fortran_order': False, 'shape': (3, 5), }";
    assert!(start.starts_with(expected));
    assert_eq!(rest, items());
    assert_eq!(run(folder.path(), &["cat", "--npy", "images/2024/a.b2nd"]).stdout, file);

    assert_eq!(converted(folder.path(), &["items.npy", "again.b2nd"]), items());
    let again = Frame::open(at("again.b2nd")).unwrap();
    let array = again.array().unwrap().unwrap();
    assert_eq!((array.shape(), array.dtype()), (&[3, 5][..], Some("<i4")));
    let stdin = run_with(&file, folder.path(), &["convert", "-", "stdin.b2nd"]);
    assert!(stdin.status.success());
    assert_eq!(fs::read(at("stdin.b2nd")).unwrap(), fs::read(at("again.b2nd")).unwrap());
}

#[test]
fn a_filter_that_python_blosc2_cannot_open_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("large.npy"), npy(&header("'|V128'", "(4,)"), &[7; 512])).unwrap();
    let mut shown = String::new();
    for filters in ["shuffle,bytedelta", "bitshuffle:128", "trunc_prec:-10", "shuffle,bytedelta:64"] {
        let output = run(folder.path(), &["convert", "--filters", filters, "large.npy", "large.b2nd"]);
        writeln!(shown, "$ b2nd convert --filters {filters} large.npy large.b2nd\n{}", screen(&output))
            .unwrap();
    }
    snapshot("convert_filters", &shown);
}

#[test]
fn a_repack_changes_no_item_whatever_filters_the_header_has() {
    let folder = folder();
    let items: Vec<u8> = (0..400_i32).flat_map(|item| (f64::from(item) / 3.0).to_be_bytes()).collect();
    let shapes = Shapes { shape: &[400], chunkshape: &[400], blockshape: &[100] };
    let truncating = [Filter { meta: 10, ..Filter::TRUNC_PREC }, Filter::SHUFFLE];
    // The filter truncates nothing, because the chunk is stored uncompressed.
    let builder = FrameBuilder::new(Meta::new(shapes, ">f8").unwrap()).level(0).filters(&truncating);
    let mut writer = builder.create(folder.path().join("old.b2nd")).unwrap().into_array_writer().unwrap();
    writer.write(std::slice::from_ref(&(0..400)), &items).unwrap();
    writer.finish().unwrap().persist().unwrap();
    assert!(converted(folder.path(), &["old.b2nd", "new.b2nd"]) == items);
    assert!(converted(folder.path(), &["--level", "7", "old.b2nd", "other.b2nd"]) == items);
}

#[test]
fn a_repacked_array_has_what_the_options_say_and_else_what_it_had() {
    let folder = folder();
    let old = folder.path().join("old.b2nd");
    let shapes = Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[2, 2] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<i4").unwrap()).codec(Codec::LZ4).level(3);
    let builder =
        builder.filters(&[Filter::BITSHUFFLE]).metalayer("vendor", &7).vlmetalayer("unit", "kelvin");
    let mut writer = builder.create(&old).unwrap().into_array_writer().unwrap();
    writer.write(&[0..3, 0..5], &items()).unwrap();
    writer.finish().unwrap().persist().unwrap();

    let facts = |path: &str| {
        let frame = Frame::open(folder.path().join(path)).unwrap();
        let trailer = frame.trailer().unwrap();
        assert_eq!(frame.metalayer("vendor").unwrap().decode::<u8>().unwrap(), 7);
        assert_eq!(trailer.vlmetalayer("unit").unwrap().decode::<String>().unwrap(), "kelvin");
        let array = frame.array().unwrap().unwrap();
        let (header, filters) = (frame.header(), frame.header().pipeline().map(|filter| filter.to_string()));
        format!(
            "{:?} {:?} {} {} {:?}",
            array.chunkshape(),
            array.meta().blockshape(),
            header.codec,
            header.level,
            filters.collect::<Vec<_>>(),
        )
    };
    assert_eq!(facts("old.b2nd"), r#"[2, 3] [2, 2] lz4 3 ["bitshuffle"]"#);
    for (options, expected) in [
        (&[][..], r#"[2, 3] [2, 2] lz4 3 ["bitshuffle"]"#),
        (&["--codec", "zlib", "--level", "9"], r#"[2, 3] [2, 2] zlib 9 ["bitshuffle"]"#),
        (&["--filters", "none"], "[2, 3] [2, 2] lz4 3 []"),
        (&["--filters", "delta,shuffle", "-j", "3"], r#"[2, 3] [2, 2] lz4 3 ["delta", "shuffle"]"#),
        (&["--chunks", "3,5"], r#"[3, 5] [3, 5] lz4 3 ["bitshuffle"]"#),
        (&["--blocks", "1,3"], r#"[2, 3] [1, 3] lz4 3 ["bitshuffle"]"#),
    ] {
        assert_eq!(converted(folder.path(), &[options, &["old.b2nd", "new.b2nd"]].concat()), items());
        assert_eq!(facts("new.b2nd"), expected, "{options:?}");
        fs::remove_file(folder.path().join("new.b2nd")).unwrap();
    }
    // The slice selects the third row and drops the first dimension, so the chunk shape of the new array has only one
    // number.
    let row = &items()[10 * 4..];
    assert_eq!(converted(folder.path(), &["--slice", "-1", "old.b2nd", "row.b2nd"]), row);
    assert_eq!(facts("row.b2nd"), r#"[3] [2] lz4 3 ["bitshuffle"]"#);
    assert_eq!(converted(folder.path(), &["--sparse", "old.b2nd", "folder.b2nd"]), items());
    assert!(folder.path().join("folder.b2nd").is_dir());
    // A NumPy file has no place for metalayers.
    let output = run(folder.path(), &["convert", "old.b2nd", "old.npy"]);
    let said = "b2nd: old.b2nd: a NumPy file has no place for metalayers: vendor, unit\n";
    assert_eq!((text(&output.stderr), output.status.code()), (said, Some(0)));
}

#[test]
fn every_form_of_a_numpy_header_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let dtype_of = |file: &[u8]| {
        fs::write(&path, file).unwrap();
        let items = converted(folder.path(), &["a.npy", "a.b2nd"]);
        let frame = Frame::open(folder.path().join("a.b2nd")).unwrap();
        fs::remove_file(folder.path().join("a.b2nd")).unwrap();
        let array = frame.array().unwrap().unwrap();
        (array.dtype().unwrap().to_owned(), array.shape().to_vec(), items)
    };
    let bytes: Vec<u8> = (1..=16).collect();
    // A struct with a title, a subarray, a nested struct, and padding. Padding is written as fields without names, also
    // at the end.
    let padded =
        "[('a', '|u1'), ('', '|V1'), (('title', 'b'), '<u2', (2,)), ('c', [('d', '|i1')]), ('', '|V1')]";
    let expected = "{'names': ['a', 'b', 'c'], 'formats': ['u1', ('<u2', (2,)), [('d', 'i1')]], \
        'offsets': [0, 2, 6], 'titles': [None, 'title', None], 'itemsize': 8}";
    let found = dtype_of(&npy(&header(padded, "(2,)"), &bytes));
    assert_eq!(found, (expected.into(), vec![2], bytes.clone()));
    // In this header, the keys are in another order, a name is in double quotes, the numbers are long integers of
    // Python 2, and no comma is at the end.
    let other = r#"{ 'shape': (4L, 2L), 'fortran_order': False, 'descr': [("it's: {", '>i2')]}"#;
    assert_eq!(dtype_of(&npy(other, &bytes)), ("[(\"it's: {\", '>i2')]".into(), vec![4, 2], bytes.clone()));
    // Fortran order: the first index varies fastest.
    let fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 4, 2), }";
    let transposed = vec![1, 9, 3, 11, 5, 13, 7, 15, 2, 10, 4, 12, 6, 14, 8, 16];
    assert_eq!(dtype_of(&npy(fortran, &bytes)), ("|u1".into(), vec![2, 4, 2], transposed));
    assert_eq!(dtype_of(&npy(&header("'|S16'", "()"), &bytes)), ("|S16".into(), vec![], bytes.clone()));
    // In version 3.0, the header is UTF-8, and its length takes 4 bytes.
    let text = header("[('größe', '<f8')]", "(2,)");
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    let file = [b"\x93NUMPY\x03\0", &length[..], text.as_bytes(), &bytes].concat();
    assert_eq!(dtype_of(&file).0, "[('größe', '<f8')]");
}

#[test]
fn what_cannot_be_converted_says_why_and_leaves_nothing() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let mut damaged = fs::read(at("images/2024/a.b2nd")).unwrap();
    damaged[229 + 4] ^= 1;
    fs::write(at("damaged.b2nd"), damaged).unwrap();
    fs::create_dir(at("in")).unwrap();
    let files: [(&str, Vec<u8>); 12] = [
        ("text", b"no numbers\n".into()),
        ("short", b"\x93NUMPY\x01".into()),
        ("version", b"\x93NUMPY\x04\0\x10\0{}".into()),
        ("long", b"\x93NUMPY\x02\0\xff\xff\xff\xff{}".into()),
        ("list", npy("[]", &[])),
        ("empty", npy("{}", &[])),
        ("entry", npy("{'descr': '<i4', 'order': 'C'}", &[])),
        ("dtype", npy(&header("'<i5'", "(3,)"), &[0; 15])),
        ("shape", npy(&header("'<i4'", "(3, -1)"), &[0; 12])),
        ("cut", npy(&header("'<i4'", "(3, 5)"), &[0; 59])),
        ("huge", npy(&header("'<i4'", "(4611686018427387904, 4)"), &[0; 16])),
        ("objects", npy(&header("'|O'", "(3,)"), &[0; 24])),
    ];
    let mut commands: Vec<Vec<String>> = Vec::new();
    for (name, file) in &files {
        fs::write(at(&format!("in/{name}.npy")), file).unwrap();
        commands.push(vec![format!("in/{name}.npy"), "new.b2nd".into()]);
    }
    fs::write(at("table.csv"), "a,b\n1,2\n").unwrap();
    let more: [&[&str]; 13] = [
        &["table.csv", "new.b2nd"],
        &["images/2024/a.b2nd", "new.h5"],
        &["images/2024/a.b2nd", "scalar.b2nd"],
        &["images/2024/a.b2nd", "no folder/new.npy"],
        &["images/2024/a.b2nd", "s3://bucket/new.npy"],
        &["images/2024/a.b2nd", "new.npy", "--slice", "3"],
        &["images/2024/a.b2nd", "new.b2nd", "--chunks", "2"],
        &["images/2024/a.b2nd", "new.b2nd", "--chunks", "2,2", "--blocks", "3,2"],
        &["images/2024/a.b2nd", "new.b2nd", "--codec", "lz4hc"],
        &["damaged.b2nd", "new.npy"],
        &["damaged.b2nd", "new.b2nd"],
        &["squeezed.caterva", "new.b2nd"],
        &["tree.b2z", "new.b2nd"],
    ];
    commands.extend(more.map(|arguments| arguments.iter().map(ToString::to_string).collect()));
    let before = fs::read_dir(folder.path()).unwrap().count();
    let mut screens = String::new();
    for arguments in &commands {
        let arguments: Vec<&str> =
            ["convert"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let output = run(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before, "{arguments:?}");
        writeln!(screens, "$ b2nd {}\n{}", arguments.join(" "), screen(&output)).unwrap();
    }
    snapshot("convert_refused", &screens);
}

#[test]
fn convert_skip_existing_skips_inputs_that_have_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    for name in ["a", "b"] {
        fs::write(folder.path().join(format!("in/{name}.npy")), npy(&header("'|u1'", "(1,)"), b"x")).unwrap();
    }
    let convert = |arguments: &[&str]| {
        let output = run(folder.path(), &[&["convert", "--skip-existing"], arguments].concat());
        (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    assert_eq!(convert(&["in/a.npy", "out/a.b2nd"]).0, Some(1), "no folder");
    assert_eq!(convert(&["--into", "out", "in/a.npy"]).2, "b2nd: 1 file converted\n");
    let (status, stdout, stderr) = convert(&["--into", "out", "in"]);
    assert_eq!((status, stderr.as_str()), (Some(0), "b2nd: 1 file converted, 1 skipped\n"));
    assert!(stdout.contains("b.npy") && !stdout.contains("a.npy"), "{stdout}");
    assert_eq!(
        convert(&["in/a.npy", "out/a.b2nd"]),
        (Some(0), String::new(), "b2nd: 0 files converted, 1 skipped\n".into())
    );
    let json = run(folder.path(), &["convert", "--skip-existing", "--json", "--into", "out", "in"]);
    assert_eq!((json.status.code(), text(&json.stdout), text(&json.stderr)), (Some(0), "", ""));
}

#[test]
fn convert_skip_existing_trusts_only_a_whole_array_of_the_same_shape_and_dtype() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.npy"), npy(&header("'<i4'", "(2, 3)"), &[0; 24])).unwrap();
    let convert = |from: &str, to: &str| {
        let output = run(folder.path(), &["convert", "--skip-existing", from, to]);
        (output.status.code(), text(&output.stderr).to_owned())
    };
    assert_eq!(convert("a.npy", "a.b2nd").0, Some(0));
    assert_eq!(convert("a.b2nd", "b.npy").0, Some(0));
    let skipped = (Some(0), "b2nd: 0 files converted, 1 skipped\n".to_owned());
    assert_eq!(convert("a.npy", "a.b2nd"), skipped);
    assert_eq!(convert("a.b2nd", "b.npy"), skipped);

    let whole = fs::read(at("a.b2nd")).unwrap();
    fs::write(at("cut.b2nd"), &whole[..whole.len() - 1]).unwrap();
    fs::write(at("text.b2nd"), "text").unwrap();
    fs::copy(b2nd_lab::data().join("int32_3x5.b2nd"), at("shape.b2nd")).unwrap();
    fs::write(at("dtype.npy"), npy(&header("'<u4'", "(2, 3)"), &[0; 24])).unwrap();
    fs::write(at("cut.npy"), npy(&header("'<i4'", "(2, 3)"), &[0; 23])).unwrap();
    for (from, to) in [
        ("a.npy", "cut.b2nd"),
        ("a.npy", "text.b2nd"),
        ("a.npy", "shape.b2nd"),
        ("a.b2nd", "dtype.npy"),
        ("a.b2nd", "cut.npy"),
    ] {
        let before = fs::read(at(to)).unwrap();
        let message = format!(
            "b2nd: {to}: already exists; TO must be a new path, and it is not a whole array of the shape and dtype of FROM\n"
        );
        assert_eq!(convert(from, to), (Some(1), message), "{from} {to}");
        assert_eq!(fs::read(at(to)).unwrap(), before);
    }
}

#[test]
fn convert_skip_existing_does_not_skip_an_input_for_the_file_of_another_one() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("x.npy"), npy(&header("'|u1'", "(1,)"), b"x")).unwrap();
    }
    let output =
        run(folder.path(), &["convert", "--skip-existing", "-j", "1", "--into", "out", "a/x.npy", "b/x.npy"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("exists") && stderr.contains("1 file converted, 1 failure"), "{stderr}");
}

#[test]
fn info_stats_of_the_largest_numbers_have_a_mean() {
    let folder = tempfile::tempdir().unwrap();
    let most = f64::MAX;
    for (items, mean, std) in [
        (vec![-most; 10], format!("{:?}", -most), "0.0"),
        (vec![1e200; 3], "1e200".into(), "0.0"),
        (vec![-most, most, -most, most], "0.0".into(), "\"Infinity\""),
    ] {
        let path = folder.path().join("a.npy");
        let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
        fs::write(&path, npy(&header("'<f8'", &format!("({},)", items.len())), &bytes)).unwrap();
        let to = folder.path().join("a.b2nd");
        let _ = fs::remove_file(&to);
        run(folder.path(), &["convert", "a.npy", "a.b2nd"]);
        let output = run(folder.path(), &["info", "--stats", "--json", "a.b2nd"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let stats = &json["stats"];
        assert_eq!(stats["mean"].as_f64(), mean.parse().ok(), "{stats}");
        assert_eq!(stats["std"].to_string(), std, "{stats}");
    }
}

#[test]
fn convert_names_a_negative_length_of_a_chunk() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.npy"), npy(&header("'|u1'", "(1, 2)"), b"xy")).unwrap();
    let output = run(folder.path(), &["convert", "--chunks", "1,-1", "a.npy", "a.b2nd"]);
    let message = "b2nd: a.npy: --chunks: -1 is negative; give the number of items along each dimension\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), message));
}

/// A `.npz` as `numpy.savez_compressed` writes it: `np.arange(12, dtype="<i2").reshape(3, 4)` as `x.npy`.
#[test]
fn convert_reads_a_compressed_member_of_a_npz() {
    let folder = tempfile::tempdir().unwrap();
    let mut npz = b2nd_lab::unhex(concat!(
        "504b0304140000000800000021009e79e93a5e0000009800000005000000782e6e70799bec17ea1b10c9c850c650ad9e",
        "925a9c5ca46ea5a06e9369a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac63a0a26",
        "9a3a0ab50a64032e060646062606660616065606360676060e064e062e066e0600504b01021403140000000800000021",
        "009e79e93a5e00000098000000050000000000000000000000800100000000782e6e7079504b05060000000001000100",
        "33000000810000000000"
    ));
    let convert = |npz: &[u8], to: &str| {
        fs::write(folder.path().join("a.npz"), npz).unwrap();
        run(folder.path(), &["convert", "a.npz:x.npy", to])
    };
    assert!(convert(&npz, "a.b2nd").status.success());
    // Without the extension, as `np.load("a.npz")["x"]`.
    let short = run(folder.path(), &["convert", "a.npz:x", "short.b2nd"]);
    assert!(short.status.success(), "{}", text(&short.stderr));
    assert_eq!(
        fs::read(folder.path().join("short.b2nd")).unwrap(),
        fs::read(folder.path().join("a.b2nd")).unwrap()
    );
    let cat = run(folder.path(), &["cat", "--csv", "a.b2nd"]);
    assert_eq!(text(&cat.stdout), "0,1,2,3\n4,5,6,7\n8,9,10,11\n");
    // A byte of the compressed items.
    let cat = run(folder.path(), &["cat", "a.npz"]);
    let message =
        "b2nd: a.npz: NumPy files in a zip file: `b2nd convert FILE:NAME TO` converts one of them\n";
    assert_eq!((cat.status.code(), text(&cat.stderr)), (Some(1), message));
    npz[60] ^= 1;
    let output = convert(&npz, "b.b2nd");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).starts_with("b2nd: a.npz:x.npy: the compressed member "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn convert_fails_if_there_is_nothing_to_convert() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/notes.txt"), "none").unwrap();
    let output = run(folder.path(), &["convert", "--into", "out", "in"]);
    let message = "b2nd: nothing to convert: no array and no NumPy file found\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), message));
}

#[test]
fn all_files_of_a_folder_are_converted_into_another_one() {
    let folder = folder();
    fs::write(folder.path().join("images/c.npy"), npy(&header("'<i4'", "(3, 5)"), &items())).unwrap();
    let convert = |options: &[&str]| run(folder.path(), &[&["convert"], options].concat());
    let output = convert(&["--into", "new", "images"]);
    let names = ["2024/a", "2024/b", "c", "named_otherwise"];
    assert_eq!(text(&output.stderr), "b2nd: 4 files converted\n");
    assert_eq!(output.status.code(), Some(0));
    for name in names {
        read(&folder.path().join("new").join(name).with_extension("b2nd"));
    }
    // A second run overwrites no existing file.
    let again = convert(&["--into", "new", "images"]);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(text(&again.stdout), "");
    assert!(
        text(&again.stderr).ends_with("b2nd: 0 files converted, 4 failures\n"),
        "{}",
        text(&again.stderr)
    );

    let output = convert(&["--npy", "--into", "npy", "images/2024"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read(folder.path().join("npy/a.npy")).unwrap().len(), 128 + 60);
}

#[test]
fn bytes_after_the_items_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let two = [npy(&header("'<i4'", "(3, 5)"), &items()), npy(&header("'|u1'", "()"), b"1")].concat();
    fs::write(folder.path().join("two.npy"), &two).unwrap();
    let output = run(folder.path(), &["convert", "--level", "7", "two.npy", "two.b2nd"]);
    let rest = two.len() - npy(&header("'<i4'", "(3, 5)"), &items()).len();
    assert_eq!(
        text(&output.stderr),
        format!("b2nd: two.npy: the {rest} bytes after the items are not converted\n")
    );
    assert_eq!(read(&folder.path().join("two.b2nd")), items());
}

#[test]
fn a_level_is_recorded_and_means_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: Vec<u8> = (0..60_000_u32).flat_map(|number| (number * number / 7).to_le_bytes()).collect();
    fs::write(folder.path().join("a.npy"), npy(&header("'<i4'", "(60000,)"), &numbers)).unwrap();
    let lengths = ["0", "1", "5", "9"].map(|level| {
        let name = format!("{level}.b2nd");
        let output = run(folder.path(), &["convert", "--level", level, "a.npy", &name]);
        assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
        let path = folder.path().join(&name);
        assert!(read(&path) == numbers, "level {level}");
        let bytes = fs::read(&path).unwrap();
        assert_eq!(Frame::parse(&bytes).unwrap().header().level.to_string(), level);
        bytes.len()
    });
    assert!(lengths.is_sorted_by(|low, high| low > high), "{lengths:?}");
}

/// A file of a few hundred bytes must not make the command allocate memory for all items of its chunks.
#[test]
fn memory_is_bounded_by_the_bytes_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes { shape: &[1 << 30], chunkshape: &[1 << 30], blockshape: &[1 << 20] };
    let writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(folder.path().join("a.b2nd"));
    let mut writer = writer.unwrap().into_array_writer().unwrap();
    writer.fill_with_zeros().unwrap();
    writer.finish().unwrap().persist().unwrap();
    let output = run(folder.path(), &["convert", "a.b2nd", "b.b2nd"]);
    assert_eq!(
        text(&output.stderr),
        "b2nd: a.b2nd: chunks of 1073741824 bytes (1 GiB) are too large: the limit for this frame is 67108864 bytes (64 MiB); use --chunks\n"
    );
    let output = run(folder.path(), &["convert", "--slice", ":100", "a.b2nd", "b.b2nd"]);
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
}

#[test]
fn items_are_appended_along_a_dimension() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let append = |arguments: &[&str]| run(folder.path(), &[&["convert", "--append"], arguments].concat());
    fs::copy(at("images/2024/a.b2nd"), at("week.b2nd")).unwrap();

    let output = append(&["0", "images/2024/a.b2nd", "week.b2nd"]);
    assert!(text(&output.stdout).starts_with("images/2024/a.b2nd -> week.b2nd: 60 B in "));
    assert_eq!(read(&at("week.b2nd")), items().repeat(2));
    // The new items are an array of one dimension. They are appended along dimension 0 of an array of two dimensions,
    // as a row.
    let row: Vec<u8> = (20_i32..25).flat_map(i32::to_le_bytes).collect();
    fs::write(at("row.npy"), npy(&header("'<i4'", "(5,)"), &row)).unwrap();
    assert!(append(&["0", "row.npy", "week.b2nd"]).status.success());
    assert_eq!(read(&at("week.b2nd")), [items(), items(), row].concat());
    assert!(append(&["1", "--slice", ":,:1", "week.b2nd", "week.b2nd"]).status.success(), "to itself");
    assert_eq!(read(&at("week.b2nd"))[20..24], read(&at("week.b2nd"))[..4]);

    let before = fs::read(at("week.b2nd")).unwrap();
    fs::write(at("wide.npy"), npy(&header("'<f4'", "(5,)"), &[0; 20])).unwrap();
    let cases: [&[&str]; 7] = [
        &["0", "images/2024/a.b2nd", "week.b2nd"],
        &["2", "images/2024/a.b2nd", "week.b2nd"],
        &["0", "wide.npy", "week.b2nd"],
        &["0", "row.npy", "squeezed.caterva"],
        &["0", "row.npy", "none.b2nd"],
        &["0", "row.npy", "row.npy"],
        &["0", "--codec", "lz4", "row.npy", "week.b2nd"],
    ];
    let mut messages = String::new();
    for arguments in cases {
        let output = append(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let _ =
            write!(messages, "$ b2nd convert --append {}\n{}\n", arguments.join(" "), text(&output.stderr));
    }
    assert_eq!(fs::read(at("week.b2nd")).unwrap(), before);
    snapshot("append_refused", &messages);
}

/// A NumPy file does not record that a dtype is aligned, so its items have another dtype than those of the array.
#[test]
fn append_accepts_a_dtype_that_differs_only_by_its_alignment() {
    let folder = tempfile::tempdir().unwrap();
    let descr = "[('a', '|i1'), ('', '|V3'), ('b', '<i4')]";
    let item = [1, 0, 0, 0, 2, 0, 0, 0];
    fs::write(folder.path().join("items.npy"), npy(&header(descr, "(1,)"), &item)).unwrap();
    let with_offsets = |b: u8| {
        format!(
            "{{'names': ['a', 'b'], 'formats': ['i1', '<i4'], 'offsets': [0, {b}], 'itemsize': 8, 'aligned': True}}"
        )
    };
    let append = |dtype: &str, to: &str| {
        for arguments in
            [&["convert", "items.npy", "a.b2nd"][..], &["rewrite", "a.b2nd", to, "--dtype", dtype]]
        {
            assert!(run(folder.path(), arguments).status.success());
        }
        fs::remove_file(folder.path().join("a.b2nd")).unwrap();
        run(folder.path(), &["convert", "--append", "0", "items.npy", to])
    };
    let output = append(&with_offsets(4), "aligned.b2nd");
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    assert_eq!(read(&folder.path().join("aligned.b2nd")), item.repeat(2));
    let output = append("[('a', 'i1'), ('other', 'V3'), ('b', '<i4')]", "other.b2nd");
    assert_eq!(output.status.code(), Some(1), "other fields");
}

/// python-blosc2 stores the padding of an aligned struct as fields, which NumPy names by their numbers. A NumPy file has
/// the same bytes without these fields.
#[test]
fn append_accepts_a_dtype_that_differs_only_by_padding() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, descr: &str, items: &[u8]| {
        fs::write(folder.path().join(name), npy(&header(descr, "(1,)"), items)).unwrap();
    };
    let item = [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
    write("items.npy", "[('a', '|i1'), ('', '|V3'), ('b', '<i4'), ('', '|V4')]", &item);
    for (fields, is_same) in [
        ("('a', '|i1'), ('f1', '|V3'), ('b', '<i4'), ('f3', '|V4')", true),
        ("('a', '|i1'), ('f1', '|V3'), ('b', '<i4'), ('x', '|V4')", false),
        ("('a', '|i1'), ('f1', '|V3'), ('b', '<i4'), ('f3', '<i4')", false),
        ("('a', '|i1'), ('f1', '|V3'), ('c', '<i4'), ('f3', '|V4')", false),
        ("('a', '|i1'), ('f1', '|V3'), ('b', '<u4'), ('f3', '|V4')", false),
        ("('a', '|i1'), ('f1', '|V7'), ('b', '<i4')", false),
        ("('a', '|i1'), ('f1', '|V3'), ('b', '<i4')", false),
    ] {
        write("padded.npy", &format!("[{fields}]"), &item);
        assert!(run(folder.path(), &["convert", "padded.npy", "padded.b2nd"]).status.success(), "{fields}");
        let output = run(folder.path(), &["convert", "--append", "0", "items.npy", "padded.b2nd"]);
        assert_eq!(output.status.success(), is_same, "{fields}: {}", text(&output.stderr));
        if is_same {
            assert_eq!(read(&folder.path().join("padded.b2nd")), item.repeat(2));
            write("named.npy", &format!("[{fields}]"), &item);
            assert!(run(folder.path(), &["convert", "items.npy", "gaps.b2nd"]).status.success());
            let output = run(folder.path(), &["convert", "--append", "0", "named.npy", "gaps.b2nd"]);
            assert_eq!(text(&output.stderr), "");
        }
        fs::remove_file(folder.path().join("padded.b2nd")).unwrap();
    }
}

/// As with any program, the umask determines who can read a new file.
#[cfg(unix)]
#[test]
fn new_files_have_the_permissions_that_the_umask_leaves() {
    use std::os::unix::fs::PermissionsExt;

    for (umask, expected) in [("umask 022", 0o644), ("umask 027", 0o640), ("umask 002", 0o664)] {
        let folder = folder();
        for (to, arguments) in [
            ("new.npy", &["convert", "images/2024/a.b2nd", "new.npy"][..]),
            ("new.b2nd", &["convert", "images/2024/a.b2nd", "new.b2nd"]),
            ("new.png", &["view", "-o", "new.png", "images/2024/a.b2nd"]),
        ] {
            let output = b2nd_under(umask, folder.path(), arguments).output().unwrap();
            assert_eq!(text(&output.stderr), "");
            let mode = fs::metadata(folder.path().join(to)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, expected, "{to} under {umask}");
        }
    }
}
