//! Stores: folders and zip files of frames.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use b2nd_frame::{ObjectKind, ReadAt, Store, Trailer, is_store_folder};
use b2nd_lab::{data, frame_of, stored_chunk};
use rawzip::{RECOMMENDED_BUFFER_SIZE, ZipArchive};
use tempfile::TempDir;

/// Unpacks a store into a folder whose name has this ending.
fn folder(zip: &str, end: &str) -> TempDir {
    let folder = tempfile::Builder::new().suffix(end).tempdir().unwrap();
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(File::open(data().join(zip)).unwrap(), &mut buffer).unwrap();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().unwrap() {
        let path = folder.path().join(std::str::from_utf8(entry.file_path().as_bytes()).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = Vec::new();
        archive.get_entry(entry.wayfinder()).unwrap().reader().read_to_end(&mut bytes).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

/// The JSON text that describes the columns and rows of a table. It is in the trailer of the table.
fn schema(trailer: &Trailer) -> String {
    trailer.vlmetalayer("schema").unwrap().decode().unwrap()
}

/// The content of a store: its kind, members and tables, and what it records about remote stores.
fn listing(store: &Store) -> impl PartialEq + std::fmt::Debug + use<> {
    let tables: Vec<_> = store.tables().map(|(key, trailer)| (key.to_owned(), trailer.clone())).collect();
    let elsewhere = (store.mounts().to_vec(), store.remote_schema().map(str::to_owned));
    (store.kind(), store.members().to_vec(), tables, elsewhere)
}

fn open(path: &Path) -> Option<(ObjectKind, Vec<String>)> {
    Store::open(path).unwrap().map(|store| (store.kind(), store.members().to_vec()))
}

/// This test needs the feature `decompress`, because the list of members is compressed in these stores.
#[cfg(feature = "decompress")]
#[test]
fn a_store_elsewhere_has_the_members_that_its_list_names() {
    for (name, kind, members) in [
        ("remote/store.b2z", ObjectKind::RemoteStore, &["/a", "/tab"][..]),
        ("remote/table.b2z", ObjectKind::RemoteCTable, &["/_valid_rows"]),
    ] {
        let (found, keys) = open(&data().join(name)).unwrap();
        assert_eq!(found, kind, "{name}");
        assert_eq!(keys, members, "{name}");
        assert!(kind.is_active() && kind.is_store() && !kind.holds_data());
    }
}

#[test]
fn a_folder_is_the_store_that_its_zip_file_is() {
    for (name, kind, members) in [
        ("tree.b2z", ObjectKind::TreeStore, &["/group/large", "/group/small"][..]),
        ("table.b2z", ObjectKind::CTable, &["/_cols/name", "/_cols/number", "/_meta", "/_valid_rows"]),
    ] {
        let zip = Store::open(data().join(name)).unwrap().unwrap();
        assert_eq!(
            (zip.kind(), zip.members()),
            (kind, &members.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
        );
        for end in [".b2d", ""] {
            let folder = folder(name, end);
            let store = Store::open(folder.path()).unwrap().unwrap();
            assert_eq!(listing(&store), listing(&zip), "{name} {end}");
        }
        let table = zip.tables().next();
        assert_eq!(
            table.is_some_and(|(key, trailer)| key == "/" && schema(trailer).contains("\"number\"")),
            kind == ObjectKind::CTable
        );
    }
}

#[test]
fn a_zip_file_is_a_store_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("store.zip");
    for name in ["tree.b2z", "table.b2z", "nested.b2z"] {
        fs::copy(data().join(name), &copy).unwrap();
        let [copy, store] = [&copy, &data().join(name)].map(|path| Store::open(path).unwrap().unwrap());
        assert_eq!(listing(&copy), listing(&store), "{name}");
    }
}

#[test]
fn stores_elsewhere_are_members_and_mounts() {
    let folder = folder("tree.b2z", ".b2d");
    let objects = serde_json::json!({
        "/far/b": {"kind": "remote_store", "url": "https://example.org"},
        "/far/a": {"kind": "remote_store"},
        "/near": {"kind": "another"},
        "/unknown": {},
    });
    let registry = stored_chunk(&rmp_serde::to_vec(&objects).unwrap());
    let embed = frame_of(&[("b2tree", b"\xc0")], &[("_object_registry", &registry)]);
    fs::write(folder.path().join("embed.b2e"), embed).unwrap();
    let store = Store::open(folder.path()).unwrap().unwrap();
    assert_eq!(store.mounts(), ["/far/a", "/far/b"]);
    assert_eq!(store.members(), ["/far/a", "/far/b", "/group/large", "/group/small"]);
}

#[test]
fn a_table_in_a_tree_is_one_member() {
    let zip = Store::open(data().join("nested.b2z")).unwrap().unwrap();
    assert_eq!(zip.kind(), ObjectKind::TreeStore);
    assert_eq!(zip.members(), ["/array", "/group/objects", "/group/table"]);
    let [(key, trailer)] = zip.tables().collect::<Vec<_>>()[..] else { panic!("{zip:?}") };
    assert_eq!(key, "/group/table");
    assert!(schema(trailer).contains("\"double\""));
    for (name, is_part) in [
        ("embed.b2e", true),
        ("group/__vlmeta__.b2f", true),
        ("group/table/_cols/ratio.b2nd", true),
        ("group/table.b2nd", false),
        ("group/tables/a.b2nd", false),
        ("group/embed.b2e", false),
    ] {
        assert_eq!(zip.is_part(name), is_part, "{name}");
    }
    let folder = folder("nested.b2z", ".b2d");
    assert!(is_store_folder(folder.path()) && !is_store_folder(folder.path().join("group")));
    assert_eq!(listing(&Store::open(folder.path()).unwrap().unwrap()), listing(&zip));
    assert_eq!(zip.mounts(), [""; 0]);
}

#[test]
fn a_tree_is_a_table_only_if_it_says_so() {
    let folder = folder("table.b2z", ".b2d");
    fs::copy(data().join("vlmetalayers.b2nd"), folder.path().join("_meta.b2f")).unwrap();
    assert_eq!(open(folder.path()).unwrap().0, ObjectKind::TreeStore);
    fs::remove_file(folder.path().join("_meta.b2f")).unwrap();
    assert_eq!(open(folder.path()).unwrap().0, ObjectKind::TreeStore);
}

#[test]
fn members_are_frames_by_their_names_but_not_attributes_or_other_files() {
    let folder = folder("tree.b2z", ".b2d");
    let at = |name: &str| folder.path().join(name);
    for name in ["b.b2f", "c.b2b", "__vlmeta__.b2f", "group/__vlmeta__.b2f", "d.tmp", "embed.b2e.b2lock"] {
        fs::write(at(name), "").unwrap();
    }
    b2nd_lab::copy_tree(&data().join("sparse.b2nd"), &at("sparse.b2nd"));
    let members = ["/b", "/c", "/group/large", "/group/small", "/sparse"].map(String::from);
    assert_eq!(open(folder.path()).unwrap().1, members);
}

#[test]
#[cfg(feature = "decompress")]
fn members_in_the_data_of_the_store_are_told_too() {
    let folder = folder("tree.b2z", ".b2d");
    let mut embed = fs::read(data().join("peers/store.b2e")).unwrap();
    let at = embed.windows(7).position(|name| name == b"b2embed").unwrap();
    embed[at..][..7].copy_from_slice(b"b2other");
    fs::write(folder.path().join("embed.b2e"), embed).unwrap();
    let members = ["/group/large", "/group/small", "/node"].map(String::from);
    assert_eq!(open(folder.path()), Some((ObjectKind::DictStore, members.to_vec())));
}

#[test]
fn an_embed_store_makes_no_store_of_its_folder() {
    for end in ["", ".b2d"] {
        let folder = folder("tree.b2z", end);
        assert!(is_store_folder(folder.path()));
        fs::copy(data().join("peers/store.b2e"), folder.path().join("embed.b2e")).unwrap();
        assert!(!is_store_folder(folder.path()));
        assert_eq!(open(folder.path()), None);
    }
}

#[test]
fn without_a_telling_metalayer_the_extension_tells_the_store() {
    for (end, kind) in
        [(".b2d", Some(ObjectKind::DictStore)), (".B2Z", Some(ObjectKind::TreeStore)), ("", None)]
    {
        let folder = folder("tree.b2z", end);
        fs::copy(data().join("int32_3x5.b2nd"), folder.path().join("embed.b2e")).unwrap();
        assert_eq!(open(folder.path()).map(|store| store.0), kind, "{end:?}");
        fs::remove_file(folder.path().join("embed.b2e")).unwrap();
        assert_eq!(open(folder.path()), None, "{end:?}");
    }
    assert_eq!(open(&data().join("sparse.b2nd")), None);
}

#[test]
fn what_cannot_be_read_is_an_error() {
    assert!(Store::open("no such folder").is_err());
    assert!(Store::open(data().join("int32_3x5.b2nd")).is_err(), "not a zip file");
    let folder = folder("tree.b2z", ".b2d");
    fs::write(folder.path().join("embed.b2e"), "not a frame").unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    assert_eq!(error.finding().unwrap().code().name(), "not-a-frame");
}

/// The items of the array with a key.
#[cfg(feature = "decompress")]
fn items(store: &Store, key: &str) -> Vec<u8> {
    store.array(key).unwrap().whole().read().unwrap()
}

#[cfg(feature = "decompress")]
#[test]
fn array_opens_a_member_by_its_key_in_a_zip_file_a_folder_or_the_data_of_a_store() {
    let bytes = |items: &[i64]| items.iter().flat_map(|item| item.to_le_bytes()).collect::<Vec<_>>();
    let folder = folder("tree.b2z", ".b2d");
    for path in [&data().join("tree.b2z"), folder.path()] {
        let store = Store::open(path).unwrap().unwrap();
        for key in store.members() {
            let file = folder.path().join(format!("{}.b2nd", key.trim_start_matches('/')));
            let expected = b2nd_frame::Array::open(file).unwrap().whole().read().unwrap();
            assert_eq!(items(&store, key), expected, "{key}");
        }
    }
    let store = Store::open(data().join("peers/store.b2e")).unwrap().unwrap();
    assert_eq!((store.kind(), store.members()), (ObjectKind::EmbedStore, &["/node".to_owned()][..]));
    assert_eq!(items(&store, "/node"), bytes(&[0, 1, 2]));

    // Small arrays are in the data of `embed.b2e`.
    let tree = self::folder("tree.b2z", ".b2d");
    fs::copy(data().join("peers/store.b2e"), tree.path().join("embed.b2e")).unwrap();
    assert!(Store::open(tree.path()).unwrap().is_none(), "an embed store is a store alone");
}

#[cfg(feature = "decompress")]
#[test]
fn frame_names_the_members_of_the_store_if_there_is_none_with_the_key() {
    let message = |store: &str, key: &str| {
        let store = Store::open(data().join(store)).unwrap().unwrap();
        store.frame(key).unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        [
            message("tree.b2z", "/group"),
            message("tree.b2z", "group/large"),
            message("tree.b2z", "/group/../group/large"),
            message("nested.b2z", "/group/table"),
            message("remote/store.b2z", "/a"),
        ]
        .join("\n"),
        @"
    /group is a group of members, not a member
    the store has no member with the key group/large; it has /group/large, /group/small
    the store has no member with the key /group/../group/large; it has /group/large, /group/small
    the member /group/table is a table: each of its columns is an array
    the data of /a is not in the store
    "
    );
}

#[test]
fn attributes_are_those_of_the_store_or_of_a_group() {
    let folder = folder("tree.b2z", ".b2d");
    let attributes = |key: &str| {
        let store = Store::open(folder.path()).unwrap().unwrap();
        store.attributes(key).unwrap().map(|trailer| trailer.vlmetalayers().len())
    };
    assert_eq!(attributes("/"), None);
    for (file, key) in [("__vlmeta__.b2f", "/"), ("group/__vlmeta__.b2f", "/group")] {
        fs::copy(data().join("vlmetalayers.b2nd"), folder.path().join(file)).unwrap();
        assert_eq!(attributes(key), Some(2), "{key}");
    }
    assert_eq!(attributes("/group/large"), None);
    assert_eq!(open(folder.path()).unwrap().1, ["/group/large", "/group/small"]);
}

/// A file in memory that counts how many times its length is asked for.
struct CountingSizes(Vec<u8>, Arc<AtomicUsize>);

impl ReadAt for CountingSizes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.size()
    }
}

/// A member can have one of three extensions. Each read of the directory asks for the length of the file.
#[test]
fn frame_reads_the_directory_of_a_zip_file_once_for_all_extensions() {
    let sizes = Arc::new(AtomicUsize::new(0));
    let zip = CountingSizes(fs::read(data().join("tree.b2z")).unwrap(), Arc::clone(&sizes));
    let store = Store::read_zip(zip, "tree.b2z").unwrap().unwrap();
    let sizes_of = |key: &str| {
        let before = sizes.load(Ordering::Relaxed);
        drop(store.frame(key));
        sizes.load(Ordering::Relaxed) - before
    };
    // The store has no such member, neither as a file nor in the data of `embed.b2e`. That file is a member too.
    let embed_of = usize::from(cfg!(feature = "decompress")) * sizes_of("/group/small");
    assert_eq!(sizes_of("/none"), 1 + embed_of);
}
