//! The values of metalayers, which `info --meta` shows as JSON.

use std::fs;
use std::iter;

use crate::json::schema;
use crate::run::{objects, run, text};
use b2nd_lab::{chunk_of_zeros, frame_of, stored_chunk};
use serde_json::{Value, json};

/// The maximum length in bytes of the JSON text of a value. A longer text is not shown.
const MIB: usize = 1 << 20;

/// The object of `info --json --meta` for a frame without an array.
fn info(frame: &[u8]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("frame"), frame).unwrap();
    let output = run(folder.path(), &["info", "--json", "--meta", "frame"]);
    assert_eq!(text(&output.stderr), "");
    let object = objects(&output).remove(0);
    assert!(schema().is_valid(&object), "{object}");
    object
}

/// The value of a metalayer with these bytes, or the error. A vlmetalayer with the same bytes must have the same value
/// or error.
fn show(value: &[u8]) -> Result<Value, String> {
    let object = info(&frame_of(&[("m", value)], &[("m", &stored_chunk(value))]));
    let shown = |layer: &Value| match layer.get("error") {
        None => Ok(layer["value"].clone()),
        Some(error) => Err(error.as_str().unwrap().to_owned()),
    };
    let (fixed, variable) = (shown(&object["metalayers"][0]), shown(&object["vlmetalayers"][0]));
    assert_eq!(fixed, variable);
    fixed
}

/// A MessagePack value: a marker, a length of 4 bytes, and the content.
fn long(marker: u8, count: usize, content: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut bytes = vec![marker];
    bytes.extend(u32::try_from(count).unwrap().to_be_bytes());
    bytes.extend(content);
    bytes
}

#[test]
fn what_json_lacks_says_what_it_is() {
    assert_eq!(show(b"\xc4\x02\x0a\x0b").unwrap(), "bytes:0a0b");
    assert_eq!(show(b"\xc4\x00").unwrap(), "bytes:");
    assert_eq!(show(b"\xd5\x05\x0a\x0b").unwrap(), "ext(5):0a0b");
    assert_eq!(show(b"\xd6\xff\x00\x00\x00\x01").unwrap(), "ext(-1):00000001");
    assert_eq!(show(b"\xa2\xff\xfe").unwrap(), "bytes:fffe", "a string that is not UTF-8");
    let floats = b"\x94\xcb\x7f\xf0\0\0\0\0\0\0\xca\xff\x80\0\0\xca\x7f\xc0\0\0\xca\x3f\0\0\0";
    assert_eq!(show(floats).unwrap(), json!(["inf", "-inf", "NaN", 0.5]));
    assert_eq!(show(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff").unwrap(), u64::MAX);
    assert_eq!(show(b"\xd3\x80\0\0\0\0\0\0\0").unwrap(), i64::MIN);
}

#[test]
fn keys_that_are_not_strings_are_their_text() {
    let keys = b"\x86\x01\xa1a\xc0\xa1b\xc3\xa1c\xc4\x02\x0a\x0b\xa1d\xd4\x05\x0a\xa1e\xa4text\xa1f";
    let expected =
        json!({"1": "a", "null": "b", "true": "c", "bytes:0a0b": "d", "ext(5):0a": "e", "text": "f"});
    assert_eq!(show(keys).unwrap(), expected);
}

#[test]
fn no_key_that_becomes_equal_to_another_is_lost() {
    assert_eq!(show(b"\x82\x01\xa1a\xa11\xa1b").unwrap(), json!([[1, "a"], ["1", "b"]]));
    assert_eq!(show(b"\x83\xa1k\x01\xa1k\x02\xa1l\x03").unwrap(), json!([["k", 1], ["k", 2], ["l", 3]]));
    assert_eq!(show(b"\x81\x91\x01\x02").unwrap(), json!([[[1], 2]]), "an array as a key");
}

#[test]
fn a_map_as_the_key_of_a_map_grows_with_its_depth_only() {
    let nested = |depth: usize| {
        let marks = iter::repeat_n(0x81, depth);
        marks.chain([0xa1, b'"']).chain(iter::repeat_n(0x01, depth)).collect::<Vec<_>>()
    };
    let length = |depth| show(&nested(depth)).unwrap().to_string().len();
    // Each level adds six characters: `[[` and `,1]]`.
    assert_eq!(length(45) - length(44), 6);
    assert_eq!(show(&nested(60)).unwrap_err(), "metalayer m: nested too deep to show: more than 50 levels");
}

#[test]
fn what_is_shown_is_at_most_50_levels_deep() {
    let nested = |depth| iter::repeat_n(0x91, depth).chain([0xc0]).collect::<Vec<u8>>();
    assert!(show(&nested(49)).is_ok());
    for depth in [51, 1000, 1 << 16] {
        let error = show(&nested(depth)).unwrap_err();
        assert_eq!(error, "metalayer m: nested too deep to show: more than 50 levels");
    }
}

#[test]
fn what_is_shown_of_a_value_is_at_most_a_mebibyte_of_text() {
    let too_long = "metalayer m: a text of more than 1048576 bytes is too long to show";
    let string = |length| long(0xdb, length, iter::repeat_n(b'x', length));
    assert_eq!(show(&string(MIB - 10)).unwrap().as_str().unwrap().len(), MIB - 10);
    let too_many_nils = MIB / 5 + 1;
    let too_many_pairs = MIB / 6 + 1;
    for value in [
        long(0xdb, MIB / 2, iter::repeat_n(b'\x01', MIB / 2)),
        long(0xc6, MIB / 2, iter::repeat_n(b'x', MIB / 2)),
        long(0xdd, too_many_nils, iter::repeat_n(0xc0, too_many_nils)),
        long(0xdf, too_many_pairs, iter::repeat_n(0x01, 2 * too_many_pairs)),
        iter::repeat_n(0xc1, MIB - 5).collect(),
    ] {
        assert_eq!(show(&value).unwrap_err(), too_long, "{:02x?}", &value[..6]);
    }
    let nils = long(0xdd, MIB / 6, iter::repeat_n(0xc0, MIB / 6));
    assert_eq!(show(&nils).unwrap().as_array().unwrap().len(), MIB / 6);
}

#[test]
fn all_values_of_a_trailer_are_at_most_16_mebibytes() {
    let names: Vec<String> = (0..40).map(|index| format!("m{index}")).collect();
    let counts = |chunk: &[u8]| {
        let layers: Vec<_> = names.iter().map(|name| (&**name, chunk)).collect();
        let object = info(&frame_of(&[], &layers));
        let shown = object["vlmetalayers"].as_array().unwrap().iter();
        shown.filter(|layer| layer.get("error").is_none()).count()
    };
    // The bytes of these vlmetalayers are zeros. In MessagePack, each zero byte is a value of its own, so the bytes are
    // not a single value. Such bytes are shown as hexadecimal digits.
    assert_eq!(counts(&chunk_of_zeros(MIB / 2 - 10)), 16, "by the length of their text");
    assert_eq!(counts(&chunk_of_zeros(MIB)), 0);
    assert_eq!(counts(&chunk_of_zeros(100)), 40);
}

#[test]
fn what_a_page_shows_of_a_value_is_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let nils = long(0xdd, MIB / 6, iter::repeat_n(0xc0, MIB / 6));
    let deep: Vec<u8> = iter::repeat_n(0x91, 200).chain([0xc0]).collect();
    let frame = frame_of(&[("nils", &nils), ("deep", &deep)], &[("nils", &stored_chunk(&nils))]);
    fs::write(folder.path().join("frame"), frame).unwrap();
    let output = run(folder.path(), &["info", "frame"]);
    let page = text(&output.stdout);
    let cut = format!("nils = [{}n… ({} bytes)\n", "null,".repeat(9), 5 * (MIB / 6) + 1);
    assert_eq!(page.matches(&cut).count(), 2, "{}", page.chars().take(3000).collect::<String>());
    assert!(
        page.contains("meta    : metalayer deep: nested too deep to show: more than 50 levels\n"),
        "{page}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn no_command_needs_more_memory_than_the_bytes_that_it_reads_allow() {
    let folder = tempfile::tempdir().unwrap();
    let nils = |count| long(0xdd, count, iter::repeat_n(0xc0, count));
    let maps: Vec<u8> = iter::repeat_n(0x81, 60).chain(iter::repeat_n(0x01, 61)).collect();
    let claims = long(0xdd, u32::MAX as usize, []);
    let in_trailer = chunk_of_zeros(i32::MAX as usize);
    for (name, frame) in [
        ("nils", frame_of(&[("m", &nils(1 << 23))], &[("m", &stored_chunk(&nils(1 << 23)))])),
        ("some", frame_of(&[("m", &nils(1 << 18))], &[])),
        ("maps", frame_of(&[("m", &maps)], &[("m", &stored_chunk(&maps))])),
        ("claims", frame_of(&[("m", &claims)], &[("m", &stored_chunk(&claims)), ("z", &in_trailer)])),
    ] {
        fs::write(folder.path().join(name), frame).unwrap();
    }
    for arguments in [
        &["info", "--meta", "nils", "maps", "claims"][..],
        &["info", "--meta", "--json", "nils", "maps", "claims"],
        &["check", "nils", "maps", "claims"],
        &["ls", "-j", "1", "nils", "maps", "claims"],
        &["dump", "some"],
        &["dump", "--json", "some"],
        &["decode", "nils"],
    ] {
        // The limit is 512 MiB of address space. The program and its threads need a part of it.
        let output = crate::run::b2nd_under("ulimit -v 524288", folder.path(), arguments).output().unwrap();
        assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn info_meta_with_a_name_writes_a_value_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    let text_of_3_mib = long(0xdb, 3 * MIB, iter::repeat_n(b'x', 3 * MIB));
    let layers: [(&str, &[u8]); 2] =
        [("long", &stored_chunk(&text_of_3_mib)), ("zeros", &chunk_of_zeros(1 << 28))];
    fs::write(folder.path().join("frame"), frame_of(&[("short", b"\xa2ab")], &layers)).unwrap();
    let info = |name: &str, options: &[&str]| {
        let output = run(folder.path(), &[&["info", &format!("--meta={name}"), "frame"], options].concat());
        (output.status.code(), output.stdout, text(&output.stderr).to_owned())
    };
    assert_eq!(info("long", &[]), (Some(0), text_of_3_mib, String::new()));
    let (_, json, _) = info("long", &["--json"]);
    assert_eq!(json.len(), 3 * MIB + 3, "two quotes and a line break");
    assert_eq!(info("short", &["--json"]).1, b"\"ab\"\n");
    assert_eq!(info("zeros", &[]).1.len(), 1 << 28);
    let unknown = "b2nd: frame: no metalayer 'none'; `b2nd info` lists them\n";
    assert_eq!(info("none", &[]), (Some(1), Vec::new(), unknown.into()));
    assert_eq!(run(folder.path(), &["info", "--meta=short", "frame", "frame"]).status.code(), Some(2));
    for option in ["--stats", "--values"] {
        let both = run(folder.path(), &["info", "--meta=short", option, "frame"]);
        let message =
            "b2nd: --meta=NAME writes only this metalayer: it cannot be used with --stats or --values\n";
        assert_eq!((both.status.code(), text(&both.stderr)), (Some(2), message));
    }
    let deep = [vec![0x91; 60], vec![1]].concat();
    fs::write(folder.path().join("frame"), frame_of(&[("deep", &deep)], &[])).unwrap();
    assert_eq!(run(folder.path(), &["info", "--meta=deep", "frame"]).stdout, deep);
    let page = run(folder.path(), &["info", "frame"]);
    assert!(
        text(&page.stdout).contains("nested too deep to show: more than 50 levels"),
        "{}",
        text(&page.stdout)
    );
    let failure = run(folder.path(), &["info", "--meta=deep", "--json", "frame"]);
    assert_eq!(
        (failure.status.code(), &objects(&failure)[0]["error"]["kind"]),
        (Some(1), &json!("unsupported"))
    );
}

/// `stores/make.py` writes the store and the table.
#[test]
fn info_shows_the_attributes_of_groups_and_cat_names_deleted_rows() {
    let stores = b2nd_lab::data().join("stores");
    let page = run(&stores, &["info", "attributes.b2z"]);
    let lines = "attr    : / scale = [1,2,4]\nattr    : /img unit = \"µm\"\n";
    assert!(text(&page.stdout).contains(lines), "{}", text(&page.stdout));
    let object = objects(&run(&stores, &["info", "--json", "attributes.b2z"])).remove(0);
    assert!(schema().is_valid(&object), "{object}");
    let expected = json!([
        { "key": "/", "name": "scale", "value": [1, 2, 4] },
        { "key": "/img", "name": "unit", "value": "µm" },
    ]);
    assert_eq!(object["attributes"], expected);
    let column = run(&stores, &["cat", "deleted_rows.b2z:_cols/number.b2nd"]);
    let note = "b2nd: deleted_rows.b2z:_cols/number.b2nd: of the 6 items, 2 belong to deleted or unused rows of the table; _valid_rows is true for its rows\n";
    assert_eq!(
        (column.status.code(), text(&column.stdout), text(&column.stderr)),
        (Some(0), "[0 1 2 3 4 5]\n", note)
    );
}
