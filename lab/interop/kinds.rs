//! This project gives every kind of file and store the name of the class in python-blosc2.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use crate::python;
use b2nd_frame::{Check, EmbeddedFrames, FindingCode, Frame, ObjectKind, Store, is_sparse_frame};
use serde_json::Value;

/// The class of the object that python-blosc2 opens from a file. python-blosc2 refuses some files unless the caller
/// trusts them; for such a file, this is the class of the object that a trusting caller gets.
fn class(line: &Value) -> &str {
    match line["refuses"].as_str() {
        None => line["python"].as_str().unwrap(),
        Some("proxy") => "Proxy",
        // python-blosc2 cannot open this object even if it trusts the file, because the server of the object does not
        // exist.
        Some("c2array") => "C2Array",
        Some(_) => line["full"]["python"].as_str().unwrap(),
    }
}

/// The reason why this project gives a frame another name than python-blosc2, or `None` if the names should be the
/// same.
fn exception(path: &Path, kind: ObjectKind, class: &str) -> Option<&'static str> {
    let name = path.file_name().unwrap().to_str().unwrap();
    match (kind, class) {
        (ObjectKind::NDArray, "SChunk") if name.starts_with("caterva") => Some("an array of Caterva"),
        (ObjectKind::EmbedStore, "SChunk") if path.extension().is_none_or(|extension| extension != "b2e") => {
            Some("an embed store by another extension")
        }
        (kind, "BadZipFile") if kind.is_store() && name == "embed.b2e" => {
            Some("a part of a store, opened by itself")
        }
        _ => None,
    }
}

/// Compares the members of a store with its keys in python-blosc2. In a `DictStore`, the two lists must be equal. In a
/// `TreeStore`, a key can also be the name of a group, so each member must be a key or be below a key. For a table, the
/// columns and rows are compared instead.
fn agrees(line: &Value, store: &Store) -> bool {
    let keys: Vec<&str> =
        line["keys"].as_array().map_or(Vec::new(), |keys| keys.iter().filter_map(Value::as_str).collect());
    let members = store.members();
    let elsewhere = if line["path"] == "treestore-remote-member.b2d" { &["/mount"][..] } else { &[] };
    assert_eq!(store.mounts(), elsewhere, "{line}");
    match store.kind() {
        ObjectKind::DictStore => members == keys,
        ObjectKind::TreeStore => members.iter().all(|member| {
            let is_in = |key: &&str| {
                member.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            keys.iter().any(is_in)
        }),
        ObjectKind::CTable => {
            let columns = line["columns"].as_array().unwrap();
            let (_, trailer) = store.tables().next().unwrap();
            let schema: String = trailer.vlmetalayer("schema").unwrap().decode().unwrap();
            let schema: Value = serde_json::from_str(&schema).unwrap();
            let names =
                ["columns", "computed_columns"].into_iter().filter_map(|list| schema[list].as_array());
            names.flatten().map(|column| &column["name"]).eq(columns) && schema["n_rows"] == line["rows"]
        }
        // python-blosc2 lists only top-level keys, which can be groups. Each member must be below a key. Each key must
        // have a member, except the group `nothing`, which has no arrays.
        ObjectKind::RemoteStore => {
            let is_in = |member: &String, key: &str| {
                let rest = member.strip_prefix('/').and_then(|member| member.strip_prefix(key));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let has_members = |key: &str| members.iter().any(|member| is_in(member, key));
            members.iter().all(|member| keys.iter().any(|key| is_in(member, key)))
                && keys.iter().all(|&key| key == "nothing" || has_members(key))
        }
        _ => true,
    }
}

#[test]
fn files_and_stores_of_every_kind_are_named_as_python_blosc2_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let output = python("kinds.py").arg(folder.path()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines();

    let (mut kinds, mut exceptions) = (BTreeMap::new(), BTreeMap::new());
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        let path = folder.path().join(line["path"].as_str().unwrap());
        let is_folder = path.is_dir() && !is_sparse_frame(&path);
        let frame = if is_folder { None } else { Frame::open(&path).ok() };
        let kind = if let Some(frame) = &frame {
            frame.kind()
        } else {
            let store = Store::open(&path).unwrap().expect("a store");
            assert!(agrees(&line, &store), "{line}: {store:?}");
            store.kind()
        };
        if kind.name() == class(&line) {
            *kinds.entry(kind).or_insert(0) += 1;
        } else {
            let why = exception(&path, kind, class(&line)).unwrap_or_else(|| panic!("{kind}: {line}"));
            *exceptions.entry(why).or_insert(0) += 1;
        }
        let is_elsewhere = matches!(kind, ObjectKind::RemoteStore | ObjectKind::RemoteCTable);
        // python-blosc2 opens a remote store without being told to trust it. But this project calls the store active,
        // because python-blosc2 fetches the members of the store when they are read.
        let is_refused = !line["refuses"].is_null();
        assert_eq!(kind.is_active(), is_refused || is_elsewhere, "{kind}: {line}");
        if let Some(frame) = frame {
            let warns = Check::default()
                .run(&frame)
                .unwrap()
                .findings
                .iter()
                .any(|finding| finding.code() == FindingCode::ActiveObject);
            assert_eq!(warns, kind.is_active(), "{line}");
            if line["python"] == "EmbedStore" {
                let keys: Vec<_> =
                    line["keys"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                assert_eq!(frame.trailer().unwrap().embedded(), keys, "{line}");
                let mut frames = EmbeddedFrames::new(frame).unwrap();
                for key in keys {
                    assert!(frames.select(key).unwrap(), "{line}");
                    let frame = Frame::read_at(&mut frames, 0).unwrap();
                    assert_eq!(Check::default().run(&frame).unwrap().findings, [], "{key} of {line}");
                }
            }
        }
    }
    println!("named as python-blosc2 names them: {kinds:?}");
    println!("named otherwise: {exceptions:?}");
    let missing: Vec<_> = ObjectKind::ALL.iter().filter(|kind| !kinds.contains_key(kind)).collect();
    assert_eq!(missing, [&ObjectKind::UnknownObject]);
}
