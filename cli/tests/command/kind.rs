//! Frames with other contents than a plain array: stores, tables, lazy objects.

use std::path::Path;

use crate::run::{as_on_linux, objects, run, screen, snapshot, text, transcript};
use b2nd_lab::data;

#[test]
fn info_says_what_a_frame_holds() {
    let names =
        ["lazy_expression.b2nd", "proxy.b2nd", "batch_array.b2frame", "object_array.b2frame", "store.b2e"];
    let output = run(&data().join("peers"), &[&["info"], &names[..]].concat());
    snapshot("info_kinds", &screen(&output));
}

#[test]
fn ls_says_of_an_array_that_it_has_no_data_of_its_own() {
    let peers = data().join("peers");
    let names = ["two_filters.b2nd", "lazy_expression.b2nd", "proxy.b2nd"];
    snapshot("ls_kinds", &screen(&run(&peers, &[&["ls"], &names[..]].concat())));

    let output = run(&peers, &[&["ls", "--json"], &names[..]].concat());
    let kinds: Vec<_> = objects(&output).iter().map(|object| object["kind"].clone()).collect();
    assert_eq!(kinds, ["NDArray", "LazyExpr", "Proxy"]);
}

#[test]
fn all_lists_frames_without_an_array_and_without_it_they_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let names =
        ["batch_array.b2frame", "object_array.b2frame", "hole_at_end.b2frame", "store.b2e", "proxy.b2nd"];
    for name in names {
        std::fs::copy(data().join("peers").join(name), folder.path().join(name)).unwrap();
    }
    let output = run(folder.path(), &["ls"]);
    assert_eq!(text(&output.stdout).lines().count(), 3);
    let said = "b2nd: 2 arrays, 1 store, 3 frames without an array; --all lists frames without an array\n";
    assert_eq!(text(&output.stderr), said);
    snapshot("ls_all", &screen(&run(folder.path(), &["ls", "--all", "--bytes"])));
    snapshot("ls_all_long", &screen(&run(folder.path(), &["ls", "-al", "--sort", "nbytes"])));

    let all = objects(&run(folder.path(), &["ls", "--all", "--json"]));
    // There is one object more than there are names, because the data of the store contains another array.
    assert_eq!(all.len(), names.len() + 1);
    let schema = crate::json::schema();
    for object in &all {
        assert!(schema.is_valid(object), "{object}");
        if object["container"].is_null() {
            continue;
        }
        let info = &objects(&run(folder.path(), &["info", "--json", object["address"].as_str().unwrap()]))[0];
        for field in ["kind", "nchunks", "typesize", "stored_nbytes", "cbytes"] {
            assert_eq!(object[field], info[field], "{field} of {object}");
        }
    }
    let addresses = run(folder.path(), &["ls", "--all", "--print0"]);
    assert_eq!(text(&addresses.stdout).split_terminator('\0').count(), names.len() + 1);
    assert_eq!(run(folder.path(), &["ls", "--all", "--summary"]).status.code(), Some(2));
}

#[test]
fn check_warns_of_what_a_reader_must_evaluate_or_fetch() {
    let output = run(&data().join("peers"), &["check", "--json", "proxy.b2nd", "two_filters.b2nd"]);
    let codes: Vec<_> = objects(&output).iter().map(|object| object["findings"][0]["code"].clone()).collect();
    assert_eq!(codes, ["active-object".into(), serde_json::Value::Null]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn info_says_what_a_store_holds() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree.b2d");
    std::fs::create_dir(&tree).unwrap();
    for name in ["embed.b2e", "array.b2nd"] {
        std::fs::copy(data().join("int32_3x5.b2nd"), tree.join(name)).unwrap();
    }
    let output = run(folder.path(), &["info", "tree.b2d"]);
    let page = "path    : tree.b2d\ntype    : DictStore\nholds   : /array\n";
    assert_eq!((text(&output.stdout), text(&output.stderr)), (page, ""));

    let output = run(&data(), &["info", "table.b2z"]);
    snapshot("info_table", text(&output.stdout));

    let objects = objects(&run(&data(), &["info", "--json", "table.b2z"]));
    assert_eq!(objects[0]["columns"][1], serde_json::json!({ "name": "name", "type": "<U4" }));
    assert_eq!(objects.len(), 1, "the members are not told, as those of a folder are not");
}

#[test]
fn a_store_that_cannot_be_read_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("embed.b2e"), "not a frame").unwrap();
    let output = run(folder.path(), &["info", "."]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not a Blosc2 frame"), "{}", text(&output.stderr));
}

/// A folder with two copies of a store that contains a table. One copy is a zip file, and the other copy is a folder.
fn nested() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let zip = data().join("nested.b2z");
    std::fs::copy(&zip, folder.path().join("zip.b2z")).unwrap();
    unpack(&zip, &folder.path().join("folder.b2d"));
    folder
}

/// Writes the members of a zip file into a folder.
fn unpack(zip: &Path, folder: &Path) {
    let bytes = std::fs::read(zip).unwrap();
    for member in b2nd_frame::zip_members(std::io::Cursor::new(&bytes)).unwrap() {
        let path = folder.join(member.name());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let start = usize::try_from(member.offset()).unwrap();
        std::fs::write(path, &bytes[start..][..usize::try_from(member.len()).unwrap()]).unwrap();
    }
}

#[test]
fn ls_has_an_entry_for_a_store_and_for_each_table_in_it() {
    let folder = nested();
    snapshot("ls_stores", &screen(&run(folder.path(), &["ls"])));
    snapshot("ls_stores_long", &screen(&run(folder.path(), &["ls", "--long", "folder.b2d"])));
    for arguments in [&["ls", "-j", "1"][..], &["ls", "."], &["ls", "folder.b2d", "zip.b2z"]] {
        assert_eq!(text(&run(folder.path(), arguments).stdout), text(&run(folder.path(), &["ls"]).stdout));
    }
    let within = run(&folder.path().join("folder.b2d"), &["ls"]);
    assert!(text(&within.stdout).contains("  array.b2nd\n"), "{}", text(&within.stdout));
    // With --ext, no store is listed, and the files in its folder are listed as in any folder.
    let output = run(folder.path(), &["ls", "--ext", "b2nd"]);
    assert_eq!(text(&output.stdout).lines().count(), 4, "{}", text(&output.stdout));

    let objects = objects(&run(folder.path(), &["ls", "--json"]));
    let keys = |object: &serde_json::Value| {
        (as_on_linux(object["path"].as_str().unwrap()), object["member"].clone())
    };
    let expected = [
        ("folder.b2d", None),
        ("folder.b2d/group/table", None),
        ("folder.b2d/array.b2nd", None),
        ("zip.b2z", None),
        ("zip.b2z", Some("group/table")),
        ("zip.b2z", Some("array.b2nd")),
    ];
    assert_eq!(
        objects.iter().map(keys).collect::<Vec<_>>(),
        expected.map(|(path, member)| (path.into(), member.into()))
    );
    assert_eq!(objects[1]["rows"], 3);
    assert_eq!(objects[1]["columns"], objects[4]["columns"]);

    let summary = text(&run(folder.path(), &["ls", "--summary"]).stdout).to_owned();
    assert!(summary.starts_with("2 arrays, 2 stores, 2 tables, 2 frames without an array\n"), "{summary}");
}

#[test]
fn what_info_says_that_a_store_holds_is_an_address() {
    let folder = nested();
    let address = |found: &serde_json::Value| as_on_linux(found["address"].as_str().unwrap());
    for (store, array, table) in [
        ("zip.b2z", "zip.b2z:/array", "zip.b2z:group/table"),
        ("folder.b2d", "folder.b2d/array.b2nd", "folder.b2d/group/table"),
    ] {
        let page = text(&run(folder.path(), &["info", store]).stdout).to_owned();
        assert!(page.contains("\nholds   : /array, /group/objects, /group/table\n"), "{page}");
        let keys = ["array", "group/table"].map(|key| format!("{store}:/{key}"));
        for command in ["info", "ls", "check"] {
            let found = objects(&run(folder.path(), &[command, "--json", &keys[0]])).remove(0);
            assert_eq!((address(&found), &found["ndim"]), (array.into(), &2.into()), "{command}");
            let found = objects(&run(folder.path(), &[command, "--json", &keys[1]])).remove(0);
            assert_eq!((address(&found), &found["kind"]), (table.into(), &"CTable".into()), "{command}");
        }
        let objects = run(folder.path(), &["info", &format!("{store}:/group/objects")]);
        assert!(text(&objects.stdout).contains("type    : ObjectArray\n"), "{}", text(&objects.stderr));
        let items = run(folder.path(), &["cat", &keys[0]]);
        assert!(items.status.success(), "{}", text(&items.stderr));
        let none = run(folder.path(), &["info", &format!("{store}:/none")]);
        assert_eq!(none.status.code(), Some(1));
    }
}

/// A folder with three stores. One is a single file, and the other two have the same tree, one in a zip file and one in
/// a folder. In each store, some arrays are no members of their own: they are in the compressed data.
fn embedded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(data().join("embedded/store.b2e"), folder.path().join("store.b2e")).unwrap();
    let zip = folder.path().join("zip.b2z");
    std::fs::copy(data().join("embedded/tree.b2z"), &zip).unwrap();
    unpack(&zip, &folder.path().join("folder.b2d"));
    folder
}

#[test]
fn arrays_in_the_data_of_a_store_are_listed_and_checked_as_its_other_members_are() {
    let folder = embedded();
    snapshot("ls_embedded", &screen(&run(folder.path(), &["ls", "--all"])));
    let checked = run(folder.path(), &["check", "--data", "."]);
    assert!(
        text(&checked.stderr).starts_with("b2nd: 12 frames, 2 stores, no errors"),
        "{}",
        screen(&checked)
    );
    let summary = run(folder.path(), &["ls", "--summary", "--json", "store.b2e"]);
    assert_eq!(objects(&summary)[0]["arrays"], 2);
    // An array that cannot be read is a failure, and the other arrays of the store are still listed.
    let file = folder.path().join("store.b2e");
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.windows(7).rposition(|bytes| bytes == b"b2frame").unwrap();
    bytes[last] = b'c';
    std::fs::write(&file, bytes).unwrap();
    for command in ["ls", "check"] {
        let output = run(folder.path(), &[command, "store.b2e"]);
        assert_eq!(output.status.code(), Some(1));
        let message = "store.b2e:/noted: error: not-a-frame: ";
        let message = if command == "ls" {
            message.replace("error: not-a-frame: ", "not a Blosc2 frame")
        } else {
            message.into()
        };
        assert!(screen(&output).contains(&message), "{}", screen(&output));
        assert!(
            command == "check" || screen(&output).contains("store.b2e:/z/numbers"),
            "{}",
            screen(&output)
        );
    }
}

#[test]
fn damage_to_the_data_of_a_store_keeps_its_code() {
    let folder = embedded();
    let file = folder.path().join("store.b2e");
    let mut bytes = std::fs::read(&file).unwrap();
    let header_len = usize::from(bytes[14]);
    bytes[header_len..header_len + 32].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    for command in ["info", "dump"] {
        let output = run(folder.path(), &[command, "--json", "store.b2e:/z/numbers"]);
        assert_eq!(objects(&output)[0]["error"]["kind"], "chunk-header", "{}", screen(&output));
    }
}

#[test]
fn the_key_of_an_array_in_the_data_of_a_store_is_an_address() {
    let folder = embedded();
    let keys =
        ["zip.b2z:/group/small", "folder.b2d:/group/small", "store.b2e:/z/numbers", "store.b2e:/noted"];
    for address in keys {
        for command in ["info", "ls", "check"] {
            let output = run(folder.path(), &[command, "--json", address]);
            let object = &objects(&output)[0];
            assert_eq!(
                (&object["address"], &object["kind"]),
                (&address.into(), &"NDArray".into()),
                "{command}"
            );
            assert_eq!((&object["offset"], output.status.code()), (&0.into(), Some(0)));
            assert!(crate::json::schema().is_valid(object), "{object}");
        }
        for command in ["dump", "cat", "chunks"] {
            let output = run(folder.path(), &[command, address]);
            assert_eq!(output.status.code(), Some(0), "{}", screen(&output));
        }
        // The chunks of this array are inside the compressed data of the store, so they have no place in a file.
        let chunk = objects(&run(folder.path(), &["chunks", "--json", address])).remove(0);
        assert_eq!((&chunk["file"], &chunk["offset"]), (&serde_json::Value::Null, &serde_json::Value::Null));
        let copy = format!("{}.b2nd", address.replace(['/', ':'], "_"));
        assert!(run(folder.path(), &["rewrite", address, &copy]).status.success());
        assert_eq!(
            screen(&run(folder.path(), &["diff", "--data", address, &copy])),
            "status 0\n--- stdout\n--- stderr\n"
        );
        let items = |from: &str| run(folder.path(), &["cat", "--npy", from]).stdout;
        assert_eq!(items(address), items(&copy));
    }
    // The addresses also work if the store is the current folder.
    let store = folder.path().join("folder.b2d");
    let listed = objects(&run(&store, &["ls", "--json"]));
    let addresses: Vec<_> = listed.iter().map(|object| object["address"].as_str().unwrap()).collect();
    assert!(addresses.contains(&".:/group/small"), "{addresses:?}");
    let output = run(&store, &[&["info"], &addresses[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", screen(&output));
    let commands = [
        &["cat", "store.b2e:/z/numbers", "--slice", "3:5,2:4"][..],
        &["cat", "folder.b2d:/group/small"],
        &["cat", "store.b2e"],
        &["cat", "store.b2e:/far"],
        &["info", "store.b2e:/none", "zip.b2z:/none", "folder.b2d:/none"],
        &["set", "store.b2e:/noted", "--shape", "4,2"],
    ];
    snapshot("embedded", &transcript(folder.path(), &commands));
}

#[test]
fn cat_of_a_store_names_the_members_to_choose_from() {
    let folder = embedded();
    let [in_zip, in_folder] = ["zip.b2z", "folder.b2d"].map(|store| {
        let output = run(folder.path(), &["cat", store]);
        assert_eq!(output.status.code(), Some(1));
        let said = as_on_linux(text(&output.stderr)).replace("zip.b2z:", "folder.b2d:");
        let mut lines: Vec<_> = said.lines().map(|line| line.replace("folder.b2d/", "folder.b2d:")).collect();
        lines.sort();
        lines
    });
    assert_eq!(in_folder, in_zip);
}

#[test]
fn a_table_in_a_folder_is_what_it_is_in_a_zip_file() {
    let folder = nested();
    for command in [&["ls"][..], &["check", "--data"], &["info"]] {
        let shown = |address: &str| screen(&run(folder.path(), &[command, &[address]].concat()));
        let in_zip = shown("zip.b2z:/group/table").replace("zip.b2z:group", "folder.b2d/group");
        let in_zip = in_zip.replace("zip.b2z\nmember  : ", "folder.b2d/");
        assert_eq!(shown("folder.b2d:/group/table"), in_zip);
        assert_eq!(shown("folder.b2d/group/table"), in_zip);
        // The same is shown if the store is the current folder.
        let here = run(&folder.path().join("folder.b2d"), &[command, &["group/table"]].concat());
        assert_eq!(screen(&here), in_zip.replace("folder.b2d/", "./"));
    }
    let checked = run(folder.path(), &["check", "zip.b2z:/group/table"]);
    assert!(!text(&checked.stderr).contains(" 0 frames"), "{}", text(&checked.stderr));
}

#[test]
fn a_store_is_one_item_that_does_not_hide_what_cannot_be_read() {
    let folder = nested();
    std::fs::write(folder.path().join("folder.b2d/array.b2nd"), "not a frame").unwrap();
    let output = run(folder.path(), &["ls"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(screen(&output).contains("folder.b2d/array.b2nd: not a Blosc2 frame"), "{}", screen(&output));
    assert!(text(&output.stdout).contains("zip.b2z:array.b2nd"));
    // Without a valid embed.b2e, the folder is not a store, but an ordinary folder.
    std::fs::write(folder.path().join("folder.b2d/embed.b2e"), "not a frame").unwrap();
    let output = run(folder.path(), &["ls", "folder.b2d"]);
    assert_eq!((output.status.code(), text(&output.stdout).lines().count()), (Some(1), 3));
    assert!(screen(&output).contains("folder.b2d/embed.b2e: not a Blosc2 frame"), "{}", screen(&output));
}

#[test]
fn a_table_whose_columns_are_computed_is_warned_of() {
    let folder = nested();
    for name in ["folder.b2d", "zip.b2z"] {
        let output = run(folder.path(), &["check", name]);
        assert!(
            text(&output.stdout).contains("group/table: warning: active-object: "),
            "{}",
            text(&output.stdout)
        );
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(run(folder.path(), &["check", "--strict", name]).status.code(), Some(1));
        let output = run(folder.path(), &["info", name]);
        assert!(text(&output.stdout).contains("warning : active-object, the table has columns"), "{name}");
    }
    assert_eq!(run(&data(), &["check", "--strict", "table.b2z"]).status.code(), Some(0));
}

#[test]
fn a_store_with_members_that_have_no_data_of_their_own_says_which() {
    let folder = nested();
    let expression = data().join("peers/lazy_expression.b2nd");
    std::fs::copy(expression, folder.path().join("folder.b2d/group/lazy.b2nd")).unwrap();
    let page = text(&run(folder.path(), &["info", "folder.b2d"]).stdout).to_owned();
    let warning = "must evaluate or fetch what these files describe: group/lazy.b2nd (LazyExpr)\n";
    assert!(page.contains(warning), "{page}");
}

#[test]
fn a_folder_with_an_embed_store_among_its_files_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(data().join("peers/store.b2e"), folder.path().join("embed.b2e")).unwrap();
    std::fs::copy(data().join("int32_3x5.b2nd"), folder.path().join("a.b2nd")).unwrap();
    let output = run(folder.path(), &["ls", "--json", "."]);
    let found: Vec<_> = objects(&output).iter().map(|object| object["address"].clone()).collect();
    assert_eq!(found, ["a.b2nd", "embed.b2e", "embed.b2e:/node"]);
    assert_eq!(objects(&output)[1]["members"], serde_json::json!(["/node"]));
}

#[test]
fn stores_beside_an_embed_store_or_in_a_store_are_stores() {
    let folder = nested();
    let alone = text(&run(folder.path(), &["ls"]).stdout).to_owned();
    let addresses = |folder: &Path| {
        let json = objects(&run(folder, &["ls", "--json"]));
        json.iter().map(|object| (object["address"].clone(), object["kind"].clone())).collect::<Vec<_>>()
    };
    let mut expected = addresses(folder.path());
    assert_eq!(expected.len(), alone.lines().count());
    std::fs::copy(data().join("peers/store.b2e"), folder.path().join("embed.b2e")).unwrap();
    let embedded = [("embed.b2e", "EmbedStore"), ("embed.b2e:/node", "NDArray")];
    expected.splice(0..0, embedded.map(|(address, kind)| (address.into(), kind.into())));
    assert_eq!(addresses(folder.path()), expected);
    let output = run(folder.path(), &["info", "."]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert!(text(&output.stderr).contains("`b2nd ls` lists the arrays in a folder"));

    let (zip, inner) = (folder.path().join("zip.b2z"), folder.path().join("folder.b2d/zip.b2z"));
    std::fs::rename(zip, inner).unwrap();
    let (json, stores) = (addresses(folder.path()), |json: &[(_, serde_json::Value)]| {
        json.iter().filter(|(_, kind)| kind == "TreeStore" || kind == "CTable").count()
    });
    assert_eq!((json.len(), stores(&json)), (expected.len(), 4), "{json:?}");
}

#[test]
fn a_table_that_was_not_closed_is_warned_of_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    // The entry with the number of rows gets another name. So the number of rows is missing, as in the file of a writer
    // that was killed.
    let mut zip = std::fs::read(data().join("table.b2z")).unwrap();
    let at = zip.windows(8).position(|bytes| bytes == b"\"n_rows\"").unwrap();
    zip[at..][..8].copy_from_slice(b"\"N_rows\"");
    std::fs::write(folder.path().join("open.b2z"), zip).unwrap();
    let output = run(folder.path(), &["check", "open.b2z"]);
    let warning =
        "open.b2z: warning: unclosed-table: the table was not closed: its number of rows is missing\n";
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), warning));
    let last = text(&output.stderr).lines().last().unwrap();
    assert_eq!(last, "b2nd: 5 frames, 1 table, 1 with warnings; chunks not read (--chunks)");
    let page = text(&run(folder.path(), &["info", "open.b2z"]).stdout).to_owned();
    assert!(page.contains("rows    : unknown, ") && page.contains("warning : unclosed-table, "), "{page}");
}

#[test]
fn a_store_elsewhere_has_the_members_that_its_list_names() {
    for command in ["info", "ls"] {
        let arguments = [command, "--json", "--all", "remote/store.b2z", "remote/table.b2z"];
        let arguments: Vec<&str> =
            arguments.into_iter().filter(|argument| command == "ls" || *argument != "--all").collect();
        let objects = objects(&run(&data(), &arguments));
        let schema = crate::json::schema();
        assert!(objects.iter().all(|object| schema.is_valid(object)), "{objects:?}");
        let stores = objects.iter().filter(|object| object.get("members").is_some());
        let found: Vec<_> = stores.map(|store| format!("{} {}", store["kind"], store["members"])).collect();
        assert_eq!(
            found,
            [r#""RemoteStore" ["/a","/tab"]"#, r#""RemoteCTable" ["/_valid_rows"]"#],
            "{command}"
        );
        let table = objects.iter().find(|object| object["kind"] == "RemoteCTable").unwrap();
        let columns =
            serde_json::json!([{ "name": "number", "type": "int64" }, { "name": "half", "type": "float64" }]);
        assert_eq!((&table["rows"], &table["columns"]), (&5.into(), &columns), "{command}");
    }
}
