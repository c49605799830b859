//! `b2nd ls`: the files it finds, their order, and the output about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::run::{as_on_linux, b2nd, folder, header, npy, objects, run, run_with, screen, snapshot, text};
use b2nd_lab::{corpus, data};
use serde_json::{Value, json};

pub(crate) fn paths(objects: &[Value]) -> Vec<String> {
    let path = |object: &Value| {
        let path = as_on_linux(object["path"].as_str().unwrap());
        object["member"].as_str().map_or(path.clone(), |member| format!("{path} {member}"))
    };
    objects.iter().map(path).collect()
}

/// The arrays and failures in a listing of the test folder, in the order of the listing.
const FOUND: [&str; 16] = [
    "bad/cut.b2nd",
    "bad/empty.b2nd",
    "bad/marker.b2nd",
    "bad/not_a_zip.b2z",
    "bad/resized.b2nd",
    "bad/zeroed.b2nd",
    "images/2024/a.b2nd",
    "images/2024/b.b2nd",
    "images/named_otherwise.bin",
    "rank16.b2nd",
    "scalar.b2nd",
    "sparse.b2nd",
    "squeezed.caterva",
    "tree.b2z",
    "tree.b2z group/large.b2nd",
    "tree.b2z group/small.b2nd",
];

#[test]
fn one_line_for_each_array() {
    let folder = folder();
    snapshot("ls", &screen(&run(folder.path(), &["ls"])));
}

#[test]
fn a_sparse_frame_that_lost_its_header_is_told() {
    let folder = folder();
    fs::remove_file(folder.path().join("sparse.b2nd/chunks.b2frame")).unwrap();
    fs::create_dir(folder.path().join("a_folder.b2nd")).unwrap();
    let output = run(folder.path(), &["ls", "--json"]);
    let objects = objects(&output);
    let lost = objects.iter().find(|object| object["path"] == "sparse.b2nd").unwrap();
    assert_eq!(lost["error"]["message"], "a directory without chunks.b2frame, so not a sparse frame");
    assert!(!paths(&objects).contains(&"a_folder.b2nd".into()));
    for command in ["ls", "check"] {
        assert_eq!(run(folder.path(), &[command, "sparse.b2nd"]).status.code(), Some(1), "given by name");
    }
    let info = run(folder.path(), &["info", "sparse.b2nd"]);
    assert!(text(&info.stderr).ends_with("so not a sparse frame\n"), "{}", text(&info.stderr));
}

#[test]
fn a_file_that_was_given_is_told_where_to_look() {
    let folder = folder();
    for (arguments, expected) in [
        (["ls", "images/notes.txt"], "; `b2nd ls --scan` looks for frames inside\n"),
        (["info", "images"], "; `b2nd ls` lists the arrays in a folder\n"),
        (["info", "tree.b2z"], ""),
        (["ls", "bad/zeroed.b2nd"], "\n"),
    ] {
        let output = run(folder.path(), &arguments);
        assert!(text(&output.stderr).ends_with(expected), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr).contains(';'), expected.contains(';'), "{}", text(&output.stderr));
    }
}

#[test]
fn a_summary_counts() {
    let folder = folder();
    let output = run(folder.path(), &["ls", "--summary"]);
    snapshot("ls_summary", &screen(&output));
    let output =
        run(folder.path(), &["ls", "--summary", "--json", "images", "scalar.b2nd", "chunks_only.b2frame"]);
    let summary = &objects(&output)[0];
    assert_eq!((&summary["arrays"], &summary["frames_without_array"]), (&4.into(), &1.into()));
    let codec = serde_json::json!({ "codec": "zstd", "count": 4, "nbytes": 196, "cbytes": 424 });
    assert_eq!(summary["codecs"], serde_json::json!([codec]));
    let dtypes = summary["dtypes"].as_array().unwrap();
    for size in ["nbytes", "cbytes"] {
        let sum: u64 = dtypes.iter().map(|dtype| dtype[size].as_u64().unwrap()).sum();
        assert_eq!(summary[size], sum);
    }
    assert_eq!(summary["layouts"], serde_json::json!([{ "layout": "b2nd", "count": 4 }]));
    let rank1 = &summary["ranks"][1];
    assert_eq!((&rank1["ndim"], &rank1["count"]), (&1.into(), &2.into()));
    assert_eq!((&rank1["least"], &rank1["largest"]), (&serde_json::json!([5]), &serde_json::json!([6])));
}

#[test]
fn the_sums_of_a_summary_are_those_of_the_lines() {
    let folder = folder();
    let lines = objects(&run(folder.path(), &["ls", "--json"]));
    let output = run(folder.path(), &["ls", "--json", "--summary"]);
    let all = objects(&output);
    // Each failure has a line before the summary.
    let (summary, failures) = all.split_last().unwrap();
    let sizes = ["nbytes", "stored_nbytes", "cbytes"];
    let is_whole = |line: &&Value| sizes.iter().all(|&size| line[size].is_i64());
    for size in sizes {
        let sum: i64 = lines.iter().filter(is_whole).filter_map(|line| line[size].as_i64()).sum();
        assert_eq!(summary[size], sum, "{size}");
    }
    let [stored, cbytes] = ["stored_nbytes", "cbytes"].map(|size| summary[size].as_f64().unwrap());
    assert_eq!(summary["cratio"], stored / cbytes);
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for failure in failures {
        *codes.entry(failure["error"]["kind"].as_str().unwrap()).or_default() += 1;
    }
    let told = summary["failure_codes"].as_array().unwrap().iter();
    let told = told.map(|line| (line["code"].as_str().unwrap(), line["count"].as_u64().unwrap()));
    assert_eq!(told.collect::<BTreeMap<_, _>>(), codes);
    assert_eq!(codes.values().sum::<u64>(), 5);
}

#[test]
fn long_lines_have_ratio_codec_level_and_stored_chunks() {
    let folder = folder();
    let paths = ["images", "sparse.b2nd", "squeezed.caterva", "tree.b2z"];
    snapshot("ls_long", &screen(&run(folder.path(), &[&["ls", "--long"], &paths[..]].concat())));
}

/// `lab/interop/values.py` compares the statistics of random arrays with NumPy.
#[test]
fn stats_are_the_ends_and_counts_of_all_items() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, descr: &str, items: &[u8]| {
        let nitems = items.len() / usize::from(descr.as_bytes()[3] - b'0');
        fs::write(folder.path().join("items.npy"), npy(&header(descr, &format!("({nitems},)")), items))
            .unwrap();
        let convert = ["convert", "items.npy", name, "--chunks", "4", "--blocks", "2"];
        assert!(run(folder.path(), &convert).status.success());
    };
    let floats = [0.1, f32::NAN, -0.0, f32::INFINITY, f32::NEG_INFINITY, -2.5];
    // Some chunks have only zeros or only NaN, so they are special chunks.
    let floats = [&[0.0; 8], &floats[..], &[f32::NAN; 10]].concat();
    write("floats.b2nd", "'<f4'", &floats.iter().flat_map(|float| float.to_le_bytes()).collect::<Vec<_>>());
    write("nan.b2nd", "'<f4'", &[f32::NAN; 6].map(f32::to_le_bytes).concat());
    write("big.b2nd", "'>i8'", &[i64::MIN, 0, i64::MAX].map(i64::to_be_bytes).concat());
    write("bool.b2nd", "'|b1'", &[1, 1, 0]);
    write("text.b2nd", "'|S2'", b"abc\0\0\0");
    fs::write(folder.path().join("damaged.b2nd"), {
        let mut bytes = fs::read(data().join("int32_3x5.b2nd")).unwrap();
        // Damages the item size in the header of the first chunk.
        bytes[168] ^= 0x40;
        bytes
    })
    .unwrap();
    fs::remove_file(folder.path().join("items.npy")).unwrap();
    let listed = run(folder.path(), &["ls", "--stats"]);
    assert_eq!(listed.status.code(), Some(1));
    let page = run(folder.path(), &["info", "--stats", "floats.b2nd"]);
    let line = text(&page.stdout).lines().find(|line| line.starts_with("items")).unwrap();
    snapshot("ls_stats", &format!("{}{line}\n", screen(&listed)));

    let objects = objects(&run(folder.path(), &["ls", "--stats", "--json"]));
    let stats: BTreeMap<_, _> =
        objects.iter().map(|object| (object["path"].as_str().unwrap(), &object["stats"])).collect();
    let finite = |min: Value,
                  max: Value,
                  [mean, std]: [f64; 2],
                  [nan, infinite, zeros]: [u64; 3],
                  first: Value| {
        json!({ "min": min, "max": max, "mean": mean, "std": std, "nan": nan, "infinite": infinite, "zeros": zeros, "first_nan": first })
    };
    // The numbers are those of NumPy, of the finite items.
    let floats = finite(
        json!(-2.5),
        json!(f64::from(0.1_f32)),
        [-0.218_181_818_046_353_1, 0.722_140_985_813_705_2],
        [11, 2, 9],
        json!([9]),
    );
    assert_near(stats["floats.b2nd"], &floats);
    let none = json!({ "min": null, "max": null, "mean": null, "std": null, "nan": 6, "infinite": 0, "zeros": 0, "first_nan": [0] });
    assert_eq!(*stats["nan.b2nd"], none);
    let (big, std) = (i64::MAX, 7.530_851_732_716_321e18);
    assert_near(stats["big.b2nd"], &finite(json!(i64::MIN), json!(big), [0.0, std], [0, 0, 1], json!(null)));
    assert_near(
        stats["bool.b2nd"],
        &finite(json!(false), json!(true), [2.0 / 3.0, 0.471_404_520_8], [0, 0, 1], json!(null)),
    );
    let texts = json!({ "min": null, "max": null, "mean": null, "std": null, "nan": 0, "infinite": 0, "zeros": 1, "first_nan": null, "lengths": [0, 2] });
    assert_eq!(*stats["text.b2nd"], texts);
    assert!(stats["damaged.b2nd"].is_null());
    assert!(objects.iter().all(|object| crate::json::schema().is_valid(object)));
}

/// Compares two JSON objects. Floats are equal if they differ by at most a billionth.
fn assert_near(found: &Value, expected: &Value) {
    let (found, expected) = (found.as_object().unwrap(), expected.as_object().unwrap());
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, found) in found {
        let numbers = [found, &expected[name]].map(Value::as_f64);
        match numbers {
            [Some(a), Some(b)] => assert!((a - b).abs() <= 1e-9 * b.abs(), "{name}: {a}, {b}"),
            _ => assert_eq!(*found, expected[name], "{name}"),
        }
    }
}

#[test]
fn stats_of_complex_numbers_dates_and_durations_are_those_of_numpy() {
    let folder = tempfile::tempdir().unwrap();
    let stats = |descr: &str, items: &[u8], shape: &str| {
        fs::write(folder.path().join("items.npy"), npy(&header(descr, shape), items)).unwrap();
        let _ = fs::remove_file(folder.path().join("a.b2nd"));
        assert!(run(folder.path(), &["convert", "items.npy", "a.b2nd"]).status.success());
        let object = objects(&run(folder.path(), &["info", "--stats", "--json", "a.b2nd"])).remove(0);
        assert!(crate::json::schema().is_valid(&object), "{object}");
        object["stats"].clone()
    };
    let bytes = |items: &[i64]| items.iter().copied().flat_map(i64::to_le_bytes).collect::<Vec<u8>>();
    let complex: Vec<u8> = [1.0, 2.0, 3.0, -2.0, f64::NAN, 0.0].map(f64::to_le_bytes).concat();
    assert_eq!(
        stats("'<c16'", &complex, "(3,)"),
        json!({ "min": null, "max": null, "mean": [2.0, 0.0], "std": 5_f64.sqrt(), "nan": 1, "infinite": 0, "zeros": 0, "first_nan": [2] })
    );
    assert_eq!(
        stats("'<M8[D]'", &bytes(&[20_000, i64::MIN, -1, i64::MIN]), "(2, 2)"),
        json!({ "min": "1969-12-31", "max": "2024-10-04", "mean": null, "std": null, "nan": 2, "infinite": 0, "zeros": 0, "first_nan": [0, 1] })
    );
    assert_eq!(
        stats("'<m8[s]'", &bytes(&[1, 3, 0, 4]), "(4,)"),
        json!({ "min": 0, "max": 4, "mean": 2.0, "std": 2.5_f64.sqrt(), "nan": 0, "infinite": 0, "zeros": 1, "first_nan": null })
    );
    let texts: Vec<u8> = "äb\0abc".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    assert_eq!(stats("'<U3'", &texts, "(2,)")["lengths"], json!([2, 3]));
    // Numbers far from 0, whose squares have no digits left for their distances.
    let far = stats("'<i8'", &bytes(&[1_000_000_000_000_001, 1_000_000_000_000_003]), "(2,)");
    assert_eq!((&far["mean"], &far["std"]), (&json!(1_000_000_000_000_002.0), &json!(1.0)));
}

#[test]
fn info_values_counts_each_value_up_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let convert = |descr: &str, shape: &str, items: &[u8]| {
        fs::write(folder.path().join("items.npy"), npy(&header(descr, shape), items)).unwrap();
        let _ = fs::remove_file(folder.path().join("a.b2nd"));
        let arguments = ["convert", "--chunks", "4", "--blocks", "2", "items.npy", "a.b2nd"];
        assert!(run(folder.path(), &arguments).status.success());
    };
    let values = |option: &str| {
        let object = objects(&run(folder.path(), &["info", option, "--json", "a.b2nd"])).remove(0);
        assert!(crate::json::schema().is_valid(&object), "{object}");
        object["stats"]["values"].clone()
    };
    // The first two chunks are constant.
    convert("'|i1'", "(14,)", &[0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 255, 2, 0, 2]);
    let count = |value: Value, count: u64| json!({ "value": value, "count": count });
    let labels = [(-1, 1), (0, 5), (2, 2), (9, 6)].map(|(value, number)| count(json!(value), number));
    assert_eq!(values("--values"), json!(labels));
    assert_eq!((values("--values=4"), values("--values=3")), (json!(labels), json!(null)));
    let page = run(folder.path(), &["info", "--values", "a.b2nd"]);
    let lines = "value   : -1, 1 times\nvalue   : 0, 5 times\nvalue   : 2, 2 times\nvalue   : 9, 6 times\n";
    assert!(text(&page.stdout).contains(lines), "{}", text(&page.stdout));
    convert("'|S1'", "(3,)", b"bab");
    assert_eq!(values("--values").as_array().unwrap().len(), 2);
    convert("'<f4'", "(1,)", &[0; 4]);
    assert_eq!(values("--values"), json!(null));
    // Each byte of a bool except 0 is True.
    convert("'|b1'", "(6,)", &[0, 1, 2, 255, 2, 1]);
    assert_eq!(values("--values=2"), json!([count(json!(false), 1), count(json!(true), 5)]));
    // The different values that are counted have at most 16 MiB in total.
    let texts: Vec<u8> =
        (b'a'..=b'd').flat_map(|letter| [vec![letter], vec![0; 4_999_999]].concat()).collect();
    convert("'|S5000000'", "(3,)", &texts[..15_000_000]);
    assert_eq!(values("--values").as_array().unwrap().len(), 3);
    convert("'|S5000000'", "(4,)", &texts);
    assert_eq!(values("--values"), json!(null));
}

#[test]
fn exact_bytes_are_those_of_json() {
    let folder = folder();
    let output = run(folder.path(), &["ls", "--bytes", "images", "squeezed.caterva"]);
    let objects = objects(&run(folder.path(), &["ls", "--json", "images", "squeezed.caterva"]));
    assert_eq!(text(&output.stdout).lines().count(), objects.len());
    for (line, object) in text(&output.stdout).lines().zip(objects) {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert!(cells.contains(&&*object["nbytes"].to_string()), "{line}");
        assert!(cells.contains(&&*object["cbytes"].to_string()), "{line}");
    }
}

/// The numbers by which `--sort` orders the arrays: an array with smaller numbers is listed first. Sizes and ratios are
/// negated, because the largest is listed first. `None` if the array has no value for the key.
fn sorted_by(object: &Value, key: &str) -> Option<Vec<f64>> {
    let number = |field: &str| object[field].as_f64();
    match key {
        "nbytes" => Some(vec![-number("nbytes")?]),
        "cbytes" => Some(vec![-number("cbytes")?]),
        "ratio" => Some(vec![-number("cratio")?]),
        "shape" => {
            let shape = object["shape"].as_array()?;
            let items = shape.iter().map(|items| items.as_f64().unwrap());
            Some([number("ndim")?].into_iter().chain(items).collect())
        }
        _ => Some(Vec::new()),
    }
}

#[test]
fn sorted_arrays_have_the_order_of_the_key() {
    let folder = folder();
    let is_array = |object: &Value| object.get("ndim").is_some();
    for key in ["path", "nbytes", "cbytes", "ratio", "shape"] {
        let all = objects(&run(folder.path(), &["ls", "--json", "--unordered", "--sort", key]));
        assert_eq!(all.len(), FOUND.len(), "{key}");
        let arrays: Vec<Value> = all.iter().filter(|object| is_array(object)).cloned().collect();
        let known = arrays.iter().filter(|object| sorted_by(object, key).is_some()).count();
        assert!(known >= 8 && arrays[known..].iter().all(|object| sorted_by(object, key).is_none()), "{key}");
        let named = |object: &Value| (sorted_by(object, key), paths(std::slice::from_ref(object)));
        assert!(arrays[..known].is_sorted_by_key(named), "{key}");
        let store = all.iter().position(|object| object["kind"] == "TreeStore").unwrap();
        assert!(key == "path" || store >= all.len() - 2, "a store has no {key}, so it is at the end");

        let first = objects(&run(folder.path(), &["ls", "--json", "--sort", key, "-n", "3"]));
        let first: Vec<Value> = first.into_iter().filter(|object| object.get("error").is_none()).collect();
        assert_eq!(first[..], arrays[..3], "{key}");

        let reverse = objects(&run(folder.path(), &["ls", "--json", "--sort", key, "--reverse"]));
        let reverse: Vec<Value> = reverse.into_iter().filter(is_array).collect();
        assert!(reverse[..known].iter().eq(arrays[..known].iter().rev()), "{key}");
    }
    let output = run(folder.path(), &["ls", "--print0", "--sort", "nbytes", "-n", "2"]);
    assert_eq!(text(&output.stdout), "tree.b2z:group/large.b2nd\0sparse.b2nd\0");
    snapshot("ls_sorted", &screen(&run(folder.path(), &["ls", "--sort", "nbytes", "-n", "4", "--bytes"])));
}

#[test]
fn sorting_by_path_gives_the_order_of_a_plain_listing() {
    let folder = folder();
    let plain = run(folder.path(), &["ls", "images", "rank16.b2nd", "tree.b2z"]);
    let sorted = run(folder.path(), &["ls", "--sort", "path", "tree.b2z", "rank16.b2nd", "images"]);
    assert_eq!(text(&sorted.stdout), text(&plain.stdout));
}

#[test]
fn options_of_an_order_need_one() {
    let folder = folder();
    for arguments in [
        &["-n", "3"][..],
        &["--reverse"],
        &["--sort", "nbytes", "-n", "0"],
        &["--sort", "age"],
        &["--sort", "nbytes", "--summary"],
        &["--bytes", "--json"],
    ] {
        let output = run(folder.path(), &[&["ls"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn files_are_found_by_their_first_bytes_and_those_named_blosc2_must_be_frames() {
    let folder = folder();
    let output = run(folder.path(), &["ls", "--json"]);
    assert_eq!(paths(&objects(&output)), FOUND);
    assert_eq!(output.status.code(), Some(1));
    let failed: Vec<bool> = objects(&output).iter().map(|object| object.get("error").is_some()).collect();
    assert_eq!(failed, FOUND.map(|path| path.starts_with("bad/") && path != "bad/resized.b2nd"));
    assert_eq!(
        text(&output.stderr),
        "b2nd: 10 arrays, 1 store, 1 frame without an array, 5 failures; --all lists frames without an array\n"
    );
}

#[test]
fn the_order_is_that_of_the_paths_however_many_threads() {
    let folder = folder();
    for jobs in ["1", "2", "7", "64"] {
        let output = run(folder.path(), &["ls", "--json", "-j", jobs]);
        assert_eq!(paths(&objects(&output)), FOUND, "{jobs}");
    }
    let output = run(folder.path(), &["ls", "--json", "scalar.b2nd", "images", "rank16.b2nd"]);
    let given = [&FOUND[10], &FOUND[6], &FOUND[7], &FOUND[8], &FOUND[9]].map(ToString::to_string);
    assert_eq!(paths(&objects(&output)), given, "the paths that are given keep their order");
}

#[test]
fn unordered_prints_the_same_objects() {
    let folder = folder();
    let lines = |arguments: &[&str]| -> BTreeSet<String> {
        text(&run(folder.path(), arguments).stdout).lines().map(String::from).collect()
    };
    assert_eq!(lines(&["ls", "--json"]), lines(&["ls", "--json", "--unordered"]));
    let one = text(&run(folder.path(), &["ls", "--unordered"]).stdout).lines().count();
    assert_eq!(one, FOUND.len() - 5);
}

#[test]
fn names_narrow_what_is_found_in_folders() {
    let folder = folder();
    let found = |arguments: &[&str]| paths(&objects(&run(folder.path(), arguments)));
    assert_eq!(found(&["ls", "--json", "--ext", "b2z,bin", "images", "tree.b2z"]).len(), 4);
    assert_eq!(found(&["ls", "--json", "--ext", ".caterva"]), ["squeezed.caterva"]);
    assert!(found(&["ls", "--json", "--ext", "b2nd"]).contains(&"sparse.b2nd".to_owned()));
    assert_eq!(found(&["ls", "--json", "--ext", "b2z", "scalar.b2nd"]), ["scalar.b2nd"], "given by hand");
    fs::copy(folder.path().join("scalar.b2nd"), folder.path().join("SCALAR.OF.B2ND")).unwrap();
    assert_eq!(
        found(&["ls", "--json", "--ext", "of.b2nd"]),
        ["SCALAR.OF.B2ND"],
        "in large letters, and in parts"
    );
    assert_eq!(run(folder.path(), &["ls", "--ext", "*.b2nd"]).status.code(), Some(2), "no pattern");
}

#[test]
fn a_zip_file_is_opened_if_it_is_given() {
    let folder = folder();
    let output = run(folder.path(), &["ls", "--json", "tree.zip"]);
    assert_eq!(paths(&objects(&output)), ["tree.zip group/large.b2nd", "tree.zip group/small.b2nd"]);
    assert_eq!(output.status.code(), Some(0));
    let output = run(folder.path(), &["ls", "images/notes.txt"]);
    assert_eq!(output.status.code(), Some(1), "any other file that is given must be a frame");
}

#[test]
fn paths_come_from_a_list() {
    let folder = folder();
    let lines = b"scalar.b2nd\nimages/2024\n";
    let expected = ["scalar.b2nd", "images/2024/a.b2nd", "images/2024/b.b2nd"];
    let found =
        |input: &[u8], arguments: &[&str]| paths(&objects(&run_with(input, folder.path(), arguments)));
    assert_eq!(found(lines, &["ls", "--json", "--files-from", "-"]), expected);
    let nul = b"scalar.b2nd\0images/2024\0";
    assert_eq!(found(nul, &["ls", "--json", "--files-from", "-", "-0"]), expected);
    fs::write(folder.path().join("list"), lines).unwrap();
    assert_eq!(found(b"", &["ls", "--json", "--files-from", "list"]), expected);
    let windows = b"scalar.b2nd\r\n\r\nimages/2024\r\n";
    assert_eq!(found(windows, &["ls", "--json", "--files-from", "-"]), expected);
    for list in ["none", "images"] {
        for command in ["ls", "check"] {
            let output = run(folder.path(), &[command, "--json", "--files-from", list]);
            assert_eq!(paths(&objects(&output)), [list], "told like any other failure");
            assert_eq!(output.status.code(), Some(1));
        }
    }
    assert_eq!(run(folder.path(), &["ls", "-0", "images"]).status.code(), Some(2), "-0 without a list");
}

#[cfg(unix)]
#[test]
fn links_are_followed_only_when_asked_or_given() {
    let folder = folder();
    let images = folder.path().join("images");
    std::os::unix::fs::symlink("../scalar.b2nd", images.join("link.b2nd")).unwrap();
    std::os::unix::fs::symlink("..", images.join("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", images.join("broken.b2nd")).unwrap();
    let count = |arguments: &[&str]| objects(&run(folder.path(), arguments)).len();
    assert_eq!(count(&["ls", "--json", "images"]), 3);
    assert_eq!(count(&["ls", "--json", "images/link.b2nd"]), 1);
    let output = run(folder.path(), &["ls", "--json", "-L", "images"]);
    let paths = paths(&objects(&output));
    assert!(paths.contains(&"images/link.b2nd".to_owned()));
    assert!(paths.contains(&"images/broken.b2nd".to_owned()), "reported");
    assert!(text(&output.stdout).contains("loop"), "the loop is reported, and ends");
}

#[cfg(unix)]
#[test]
fn links_that_are_skipped_are_counted() {
    let folder = folder();
    let links = folder.path().join("links");
    fs::create_dir(&links).unwrap();
    for name in ["a.b2nd", "b.b2nd", "c.txt"] {
        std::os::unix::fs::symlink("../scalar.b2nd", links.join(name)).unwrap();
    }
    let said = |arguments: &[&str]| text(&run(folder.path(), arguments).stderr).to_owned();
    assert_eq!(said(&["ls", "links"]), "b2nd: 3 links skipped; -L follows them\nb2nd: no array found\n");
    assert_eq!(
        said(&["check", "links"]),
        "b2nd: 3 links skipped; -L follows them\nb2nd: no frame was found\n"
    );
    assert!(said(&["ls", "--ext", "b2nd", "links"]).contains("2 links skipped"));
    assert_eq!(said(&["ls", "-L", "links"]), "");
    assert_eq!(said(&["ls", "links/a.b2nd"]), "");
}

#[cfg(unix)]
#[test]
fn a_fifo_is_an_error_and_does_not_block() {
    let folder = folder();
    let pipe = folder.path().join("images/pipe.b2nd");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(objects(&run(folder.path(), &["ls", "--json", "images"])).len(), 3);
    assert_eq!(run(folder.path(), &["ls", "images/pipe.b2nd"]).status.code(), Some(1));
}

#[test]
fn what_cannot_be_read_is_reported_and_the_rest_goes_on() {
    let folder = folder();
    let output = run(folder.path(), &["ls", "none", "scalar.b2nd"]);
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert!(text(&output.stderr).contains("none"));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_scan_finds_frames_inside_any_file() {
    let folder = folder();
    let mut file = vec![7; 100_000];
    let offset = file.len() as u64;
    file.extend(fs::read(data().join("int32_3x5.b2nd")).unwrap());
    file.extend([7; 100]);
    fs::write(folder.path().join("data.h5"), file).unwrap();
    let output = run(folder.path(), &["ls", "--json", "--scan", "data.h5", "tree.b2z"]);
    let objects = objects(&output);
    assert_eq!(paths(&objects), ["data.h5", "tree.b2z group/large.b2nd", "tree.b2z group/small.b2nd"]);
    assert_eq!((&objects[0]["offset"], &objects[0]["shape"]), (&offset.into(), &serde_json::json!([3, 5])));
    assert_eq!(output.status.code(), Some(0));
    let output = run(folder.path(), &["ls", "data.h5"]);
    assert_eq!(output.status.code(), Some(1), "without a scan it is no frame");
    // A zip file that is cut short has no directory, so a scan looks at its bytes.
    let store = fs::read(folder.path().join("tree.b2z")).unwrap();
    fs::write(folder.path().join("cut.b2z"), &store[..store.len() - 30]).unwrap();
    let cut = crate::run::objects(&run(folder.path(), &["ls", "--json", "--scan", "cut.b2z"]));
    assert!(cut.iter().any(|object| object["shape"].is_array()), "{cut:?}");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    for number in 0..2000 {
        fs::write(folder.path().join(format!("{number}.b2nd")), &file).unwrap();
    }
    for (arguments, status) in [
        (&["ls"][..], 0),
        (&["ls", "--json"], 0),
        (&["ls", "--unordered"], 0),
        // For `check`, the status is 1, because not all files were checked.
        (&["check", "--json"], 1),
        (&["chunks"], 0),
    ] {
        let mut child =
            b2nd(folder.path(), arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(status), ""), "{arguments:?}");
    }
}

#[test]
fn many_files_are_listed_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read(data().join("scalar.b2nd")).unwrap();
    let mut expected = Vec::new();
    for number in 0..3000 {
        let part = folder.path().join(format!("{:02}", number / 150));
        if number % 150 == 0 {
            fs::create_dir(&part).unwrap();
        }
        let name = format!("{number:05}.b2nd");
        fs::write(part.join(&name), &file).unwrap();
        expected.push(format!("{:02}/{name}", number / 150));
    }
    let output = run(folder.path(), &["ls"]);
    let lines = as_on_linux(text(&output.stdout));
    let listed: Vec<&str> = lines.lines().map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(listed, expected);
    let output = run(folder.path(), &["ls", "--json", "--unordered"]);
    let mut unordered = paths(&objects(&output));
    unordered.sort();
    assert_eq!(unordered, expected);
}

#[test]
fn every_array_of_the_corpus_is_listed_with_what_it_says() {
    let Some((folder, entries)) = corpus() else { return };
    let output = run(&folder, &["ls", "--json"]);
    let objects = objects(&output);
    let by_path = |path: &str, offset: u64| {
        objects.iter().find(|object| object["path"] == path && object["offset"] == offset)
    };
    let mut scanned = 0;
    for entry in &entries {
        let name = entry["file"].as_str().unwrap();
        if entry["expected"].is_null() {
            // This entry is a frame without an array.
            continue;
        }
        let offset = entry["frame_offset"].as_u64().unwrap_or(0);
        let scan = |path: &str| crate::run::objects(&run(&folder, &["ls", "--json", "--scan", path]));
        let own = by_path(name, offset).cloned();
        let found = own.or_else(|| {
            scanned += 1;
            scan(name).into_iter().find(|object| object["offset"] == offset)
        });
        let object = found.unwrap_or_else(|| panic!("{name} is not listed"));
        let expected = &entry["expected"];
        assert_eq!(object["shape"], expected["shape"], "{name}");
        assert_eq!(object["chunks"], expected["chunkshape"], "{name}");
        assert_eq!(object["dtype"], expected["dtype"], "{name}");
        let frame = &entry["frame"];
        for (key, field) in
            [("header_len", "header_len"), ("frame_len", "frame_len"), ("typesize", "typesize")]
        {
            assert_eq!(object[key], frame[field], "{name}: {key}");
        }
        assert_eq!(object["cbytes"], frame["cbytes"]);
        // In two files, the metalayer and the header contradict each other about the size.
        let is_known = !name.ends_with("slice_int.cat");
        assert_eq!(
            object["stored_nbytes"],
            if is_known { frame["nbytes"].clone() } else { Value::Null },
            "{name}"
        );
    }
    assert!(entries.len() > 200 && scanned < 40, "{scanned}");
}

#[test]
fn ls_and_info_of_several_damaged_files_name_the_next_step_once() {
    let folder = folder();
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    for (name, length) in [("a.b2nd", 100), ("b.b2nd", 300), ("c.b2nd", 520)] {
        fs::write(folder.path().join(name), &whole[..length]).unwrap();
    }
    fs::write(folder.path().join("text.b2nd"), "text").unwrap();
    let step = "b2nd: `b2nd check --data` shows the damage and what `b2nd salvage` can save\n";
    for (arguments, is_named) in [
        (&["ls", "a.b2nd", "b.b2nd", "c.b2nd"][..], true),
        (&["ls", "a.b2nd"], true),
        (&["info", "a.b2nd", "b.b2nd", "c.b2nd"], true),
        (&["ls", "c.b2nd", "text.b2nd"], false),
        (&["info", "c.b2nd", "text.b2nd"], false),
        (&["info", "--json", "a.b2nd", "b.b2nd"], false),
        (&["ls", "--json", "a.b2nd", "b.b2nd"], false),
    ] {
        let output = run(folder.path(), arguments);
        let error = text(&output.stderr);
        assert_eq!(error.matches("b2nd check").count(), usize::from(is_named), "{arguments:?}: {error}");
        assert_eq!(error.ends_with(step), is_named, "{arguments:?}: {error}");
    }
}
