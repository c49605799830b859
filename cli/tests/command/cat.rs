//! `cat`: the items of an array, as text, JSON and NumPy files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use b2nd_frame::{FrameBuilder, SpecialValue};
use b2nd_serde::{Dtype, Meta, Shapes};

use crate::run::{folder, header, npy, objects, raw_screen, run, screen, snapshot, text};
use b2nd_lab::data;
use serde_json::json;

#[test]
fn the_items_are_printed_as_numpy_prints_them() {
    let mut screens = String::new();
    for arguments in [
        &["cat", "int32_3x5.b2nd"][..],
        &["cat", "--slice", "1:,-1", "int32_3x5.b2nd"],
        &["cat", "--slice", "[0]", "--json", "int32_3x5.b2nd"],
        &["cat", "sparse.b2nd"],
        &["cat", "scalar.b2nd"],
        &["cat", "empty.b2nd"],
        &["cat", "squeezed.caterva"],
        &["cat", "peers/special_nans.b2nd"],
        &["cat", "geometry/d3_struct.b2nd", "--slice", "0,0"],
        &["cat", "geometry/d4_U2.b2nd", "--slice", "0,0"],
        &["cat", "geometry/d2_bool_wide.b2nd", "--slice", ":2,:7"],
        &["cat", "geometry/d2_c16_even.b2nd", "--slice", ":2,:3"],
        &["cat", "geometry/d4_M8_ones.b2nd", "--slice", "0,0"],
        &["cat", "geometry/d2_c16_even.b2nd", "--slice", "0,:2", "--json"],
    ] {
        let output = run(&data(), arguments);
        writeln!(screens, "$ b2nd {}\n{}", arguments.join(" "), raw_screen(&output)).unwrap();
    }
    snapshot("cat", &screens);
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = folder();
    let mut screens = String::new();
    for path in ["lazy_expression.b2nd", "object_array.b2frame", "remote_array.b2nd"] {
        fs::copy(data().join("peers").join(path), folder.path().join(path)).unwrap();
    }
    for arguments in [
        &["cat", "lazy_expression.b2nd"][..],
        &["cat", "remote_array.b2nd"],
        &["cat", "object_array.b2frame"],
        &["cat", "tree.b2z"],
        &["cat", "bad/resized.b2nd"],
        &["cat", "bad/cut.b2nd"],
        &["cat", "images"],
        &["cat", "scalar.b2nd", "--slice", "0"],
        &["cat", "images/2024/a.b2nd", "--slice", "3"],
        &["cat", "--json", "images/2024/a.b2nd", "--slice", "3"],
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        writeln!(screens, "$ b2nd {}\n{}", arguments.join(" "), screen(&output)).unwrap();
    }
    snapshot("cat_refused", &screens);
}

#[test]
fn an_error_about_a_damaged_array_names_the_commands_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // The first byte of the size in the header of the first chunk.
    bytes[169] ^= 1;
    fs::write(folder.path().join("a.b2nd"), bytes).unwrap();
    for arguments in [
        &["cat", "a.b2nd"][..],
        &["view", "a.b2nd"],
        &["diff", "--data", "a.b2nd", "a.b2nd"],
        &["convert", "a.b2nd", "new.b2nd"],
    ] {
        let output = run(folder.path(), arguments);
        let error = text(&output.stderr).lines().next().unwrap_or_default();
        assert!(error.starts_with("b2nd: a.b2nd: byte "), "{arguments:?}: {error}");
        assert!(
            error.ends_with("; `b2nd check --data` shows the damage and what `b2nd salvage` can save"),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn of_many_items_only_the_edges_are_read() {
    let output = run(&data(), &["cat", "peers/special_zeros.b2nd"]);
    let row = "[0. 0. 0. ... 0. 0. 0.]";
    assert_eq!(text(&output.stdout), format!("[{row}\n {row}\n {row}\n ...\n {row}\n {row}\n {row}]\n"));
    let full = run(&data(), &["cat", "--full", "peers/special_zeros.b2nd"]);
    assert_eq!(text(&full.stdout).matches("0.").count(), 1600);
    let all = run(&data(), &["cat", "--json", "peers/special_zeros.b2nd"]);
    assert_eq!(objects(&all)[0]["values"].as_array().unwrap().len(), 40);
}

/// The text is that of Python's `str`, which omits a real part of 0, but not a real part of -0.
#[test]
fn a_complex_number_by_itself_is_as_in_python() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes { shape: &[3], chunkshape: &[3], blockshape: &[3] };
    let path = folder.path().join("a.b2nd");
    let mut writer = FrameBuilder::new(Meta::new(shapes, "<c16").unwrap()).create(&path).unwrap();
    let items = [[0.0, -2.0], [-0.0, 1.5], [1.0, 0.0]].map(|parts| parts.map(f64::to_le_bytes).concat());
    writer.write_uncompressed(0, &items.concat()).unwrap();
    writer.finish().unwrap().persist().unwrap();
    for (index, expected) in [("0", "-2j\n"), ("1", "(-0+1.5j)\n"), ("2", "(1+0j)\n")] {
        let output = run(folder.path(), &["cat", "--slice", index, "a.b2nd"]);
        assert_eq!(text(&output.stdout), expected);
    }
}

/// Makes the array `a.b2nd` of these items.
fn write(folder: &Path, descr: &str, shape: &str, items: &[u8]) {
    let _ = fs::remove_file(folder.join("a.b2nd"));
    fs::write(folder.join("items.npy"), npy(&header(descr, shape), items)).unwrap();
    assert!(run(folder, &["convert", "items.npy", "a.b2nd"]).status.success());
}

#[test]
fn cat_json_prints_the_stored_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let values = |descr: &str, items: &[u8]| {
        write(folder.path(), descr, "()", items);
        objects(&run(folder.path(), &["cat", "--json", "a.b2nd"]))[0]["values"].clone()
    };
    assert_eq!(values("'<f2'", &[0xff, 0x7b]), json!(65504.0));
    assert_eq!(values("'<f4'", &123_456_792_f32.to_le_bytes()), json!(123_456_792.0));
    assert_eq!(values("'<f4'", &0.1_f32.to_le_bytes()), json!(f64::from(0.1_f32)));
    assert_eq!(
        values("'<c8'", &[0.1_f32, 2.0].map(f32::to_le_bytes).concat()),
        json!([f64::from(0.1_f32), 2.0])
    );
    // The text for people has the fewest digits.
    let output = run(folder.path(), &["cat", "a.b2nd"]);
    assert_eq!(text(&output.stdout), "(0.1+2j)\n");
    write(folder.path(), "'<f2'", "()", &[0xff, 0x7b]);
    let stats = &objects(&run(folder.path(), &["info", "--stats", "--json", "a.b2nd"]))[0]["stats"];
    assert_eq!((&stats["min"], &stats["mean"]), (&json!(65504.0), &json!(65504.0)));
}

#[test]
fn cat_json_prints_bytes_as_text_with_escapes() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "'|S5'", "(5,)", b"Z\xc3\xbcri\xff\\a\0\0C:\\y\0\\x41\0\0\0\0\0\0");
    let object = objects(&run(folder.path(), &["cat", "--json", "a.b2nd"])).remove(0);
    assert_eq!(object["values"], json!(["Züri", r"\xff\\a", r"C:\y", r"\\x41", ""]));
}

#[test]
fn cat_csv_prints_rows() {
    let folder = tempfile::tempdir().unwrap();
    let csv = |descr: &str, shape: &str, items: &[u8]| {
        write(folder.path(), descr, shape, items);
        let output = run(folder.path(), &["cat", "--csv", "a.b2nd"]);
        [text(&output.stdout), text(&output.stderr)].concat()
    };
    assert_eq!(csv("'|i1'", "(2, 3)", &[1, 2, 3, 4, 5, 255]), "1,2,3\n4,5,-1\n");
    assert_eq!(csv("'|S4'", "(3,)", b"a\0\0\0b,\"\0b\nc\0"), "a\n\"b,\"\"\"\n\"b\nc\"\n");
    assert_eq!(csv("'<f4'", "()", &f32::NAN.to_le_bytes()), "NaN\n");
    assert_eq!(csv("'<M8[D]'", "(2,)", &[i64::MIN, 1].map(i64::to_le_bytes).concat()), "\"\"\n1970-01-02\n");
    assert_eq!(csv("'|i1'", "(0, 3)", &[]), "");
    let fields = "[('a', '|b1'), ('b', [('c', '|u1'), ('d', '|i1', (2,))]), ('e', '<c8')]";
    let item = [&[1, 2, 3, 4][..], &[1.0_f32, -0.5].map(f32::to_le_bytes).concat()].concat();
    let expected = "a,b.c,b.d.0,b.d.1,e.real,e.imag\ntrue,2,3,4,1.0,-0.5\n";
    assert_eq!(csv(fields, "(1,)", &item), expected);
    let refused = "b2nd: a.b2nd: CSV has at most 2 dimensions of items, but there are 3; use --slice\n";
    assert_eq!(csv("'|i1'", "(1, 1, 1)", &[1]), refused);
    assert!(csv(fields, "(1, 1)", &item).contains("CSV has at most 1 dimensions of structs"));
}

#[test]
fn cat_cuts_the_lists_of_items_with_many_values() {
    let folder = tempfile::tempdir().unwrap();
    let cat = |arguments: &[&str]| {
        let output = run(folder.path(), &[&["cat", "a.b2nd"], arguments].concat());
        text(&output.stdout).to_owned()
    };
    let items: Vec<u8> = (0..2 * 1202_u16).flat_map(u16::to_le_bytes).collect();
    write(folder.path(), "[('a', '<u2'), ('b', '<u2', (3, 400)), ('c', '<u2')]", "(2,)", &items);
    // As NumPy prints it: of the first dimension, there are not more than 6.
    let lists = |start: u16| {
        let row = |start| {
            let [a, b, c] = [start, start + 1, start + 2];
            format!("[{a}, {b}, {c}, ..., {}, {}, {}]", start + 397, start + 398, start + 399)
        };
        format!(
            "({}, [{}, {}, {}], {})",
            start,
            row(start + 1),
            row(start + 401),
            row(start + 801),
            start + 1201
        )
    };
    assert_eq!(cat(&[]), format!("[{}\n {}]\n", lists(0), lists(1202)));
    assert_eq!(cat(&["--slice", "0"]), format!("{}\n", lists(0)));
    assert_eq!(cat(&["--full"]).matches(", ").count(), 2 * 1201);
    // 400 items of 3 values.
    let items: Vec<u8> = (0..1200_u32).map(|number| number.to_le_bytes()[0]).collect();
    write(folder.path(), "[('a', '|u1'), ('b', '|u1', (2,))]", "(400,)", &items);
    let edges =
        "[(0, [1, 2]) (3, [4, 5]) (6, [7, 8]) ... (167, [168, 169])\n (170, [171, 172]) (173, [174, 175])]\n";
    assert_eq!(cat(&[]), edges);
}

/// Writes an array of zeros without stored chunks.
fn write_zeros(path: &Path, shape: &[i64], chunkshape: &[i32], blockshape: &[i32]) {
    let shapes = Shapes { shape, chunkshape, blockshape };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(path).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
}

#[cfg(unix)]
#[test]
fn memory_does_not_depend_on_what_a_small_file_claims() {
    use std::io::Read;
    use std::process::Stdio;

    let folder = tempfile::tempdir().unwrap();
    // Three arrays: one with many chunks, one with long rows, and one with long blocks.
    write_zeros(&folder.path().join("chunks.b2nd"), &[1 << 36], &[1 << 30], &[1 << 20]);
    write_zeros(&folder.path().join("rows.b2nd"), &[4, 2, 1 << 34], &[2, 1, 1 << 29], &[2, 1, 1 << 20]);
    write_zeros(&folder.path().join("blocks.b2nd"), &[1 << 30], &[1 << 30], &[1 << 28]);
    for name in ["chunks.b2nd", "rows.b2nd", "blocks.b2nd"] {
        assert!(fs::metadata(folder.path().join(name)).unwrap().len() < 4096);
        for option in ["--json", "--npy", "--csv"] {
            if option == "--csv" && name == "rows.b2nd" {
                // CSV has at most two dimensions.
                continue;
            }
            let limit = "ulimit -v 786432";
            let mut command = crate::run::b2nd_under(limit, folder.path(), &["cat", option, name]);
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut start = vec![0; 1 << 20];
            child.stdout.take().unwrap().read_exact(&mut start).unwrap();
            let rest = child.wait_with_output().unwrap();
            assert_eq!((text(&rest.stderr), rest.status.code()), ("", Some(0)), "{option} {name}");
        }
        let full = run(folder.path(), &["cat", "--full", name]);
        let message = ") of items are too many to print: the limit for this frame is 67108864 bytes (64 MiB); use --slice, or `b2nd convert`\n";
        assert!(text(&full.stderr).ends_with(message), "{}", text(&full.stderr));
        assert_eq!((text(&full.stdout), full.status.code()), ("", Some(1)));
    }
}

#[test]
fn items_that_are_read_in_parts_are_those_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    // `cat` reads the array in pieces of about 32 MiB. Most often, pieces end where blocks end. Here, the 4 blocks side
    // by side have 80 MiB, but the expansion limit of this small file allows only pieces of 64 MiB. So each piece has
    // items of only one row, and ends within blocks.
    let path = folder.path().join("a.b2nd");
    let shapes = Shapes { shape: &[3, 40 << 20], chunkshape: &[2, 10 << 20], blockshape: &[2, 10 << 20] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(&path).unwrap();
    writer.write_repeated(1, &[7]).unwrap();
    writer.write_repeated(6, &[9]).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let npy = run(folder.path(), &["cat", "--npy", "a.b2nd"]).stdout;
    let (_, items) = npy.split_at(128);
    let row = 40 << 20;
    let chunk = |items: &[u8], column: usize, value: u8| {
        items[column * (10 << 20)..(column + 1) * (10 << 20)].iter().all(|&item| item == value)
    };
    assert_eq!(items.len(), 3 * row);
    for (number, row) in items.chunks_exact(row).enumerate() {
        let values = if number < 2 { [0, 7, 0, 0] } else { [0, 0, 9, 0] };
        assert!(values.iter().enumerate().all(|(column, &value)| chunk(row, column, value)), "{number}");
    }
    let file = run(folder.path(), &["convert", "a.b2nd", "a.npy"]);
    assert!(file.status.success(), "{}", text(&file.stderr));
    assert!(fs::read(folder.path().join("a.npy")).unwrap() == npy);
}

#[test]
fn values_are_lists_in_lists() {
    for (slice, expected) in [
        (":", "[[0,1,2,3,4],[5,6,7,8,9],[10,11,12,13,14]]"),
        ("1,:2", "[5,6]"),
        ("2,2", "12"),
        ("1:1", "[]"),
        (":2,3:3", "[[],[]]"),
        (":1", "[[0,1,2,3,4]]"),
    ] {
        let output = run(&data(), &["cat", "--json", "--slice", slice, "int32_3x5.b2nd"]);
        let end = format!("\"values\":{expected}}}\n");
        assert!(text(&output.stdout).ends_with(&end), "{slice}: {}", text(&output.stdout));
        assert_eq!(objects(&output).len(), 1);
    }
}

#[test]
fn no_character_of_json_controls_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    // The character DEL, a single character that begins a control sequence, and two characters that reverse text.
    let unsafe_text = "a\u{7f}\u{9b}2J\u{202e}\u{2066}";
    let name = if cfg!(windows) { "a.b2nd".into() } else { format!("{unsafe_text}.b2nd") };
    let dtype: Dtype = format!("[('{unsafe_text}', '<U8')]").parse().unwrap();
    let mut item = [0; 32];
    dtype.write_item(&(unsafe_text,), &mut item).unwrap();
    let shapes = Shapes { shape: &[1], chunkshape: &[1], blockshape: &[1] };
    let meta = Meta::new(shapes, &dtype.to_string()).unwrap();
    let mut writer = FrameBuilder::new(meta).create(folder.path().join(&name)).unwrap();
    writer.write_repeated(0, &item).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let output = run(folder.path(), &["cat", "--json", &name]);
    let line = text(&output.stdout);
    let escaped = r"a\u007f\u009b2J\u202e\u2066";
    let found: String = line.trim_end().escape_debug().collect();
    assert!(line.trim_end().is_ascii() && !line.contains('\u{7f}'), "{found}");
    assert!(line.ends_with(&format!("\"values\":[{{\"{escaped}\":\"{escaped}\"}}]}}\n")), "{found}");
    assert!(cfg!(windows) || line.contains(&format!("\"path\":\"{escaped}.b2nd\"")), "{found}");
    assert_eq!(objects(&output)[0]["values"][0][unsafe_text], unsafe_text);
}

/// This test has only a few slices with steps. `lab/interop/values.py` compares random ones with NumPy.
#[test]
fn a_slice_can_have_steps() {
    for (slice, printed) in [
        ("::2,0", "[ 0 10]\n"),
        ("::2,1::3", "[[ 1  4]\n [11 14]]\n"),
        ("1,::100", "[5]\n"),
        ("2:2:2", "[]\n"),
        (":,::9223372036854775807", "[[ 0]\n [ 5]\n [10]]\n"),
    ] {
        let output = run(&data(), &["cat", "--slice", slice, "int32_3x5.b2nd"]);
        assert_eq!((text(&output.stdout), text(&output.stderr)), (printed, ""), "{slice}");
    }
    let output = run(&data(), &["convert", "--slice", "::2", "int32_3x5.b2nd", "new.npy"]);
    let refused =
        "b2nd: int32_3x5.b2nd: a slice with steps is not converted; `b2nd cat --npy --slice` writes it\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), refused));
}
