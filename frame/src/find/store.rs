//! Stores of python-blosc2: folders and zip files of frames.
//!
//! | file | meaning |
//! |---|---|
//! | `embed.b2e` | the frame whose metalayer determines the kind of store; it can hold members in its data |
//! | `deep/name.b2nd`, `.b2f`, `.b2b` | a member with the key `/deep/name` |
//! | `deep/__vlmeta__.b2f` | the attributes of the group `/deep`, or of the whole store |
//! | `deep/_meta.b2f` | marks the folder `deep`, or the whole store, as a table: its vlmetalayer `kind` is `ctable` |

use core::fmt;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::{Error, ErrorKind};
use crate::find::member::{Container, MemberSource, STORE_FILE};
use crate::find::zip::members_to_read;
use crate::finding::Escaped;
use crate::header::frame::Frame;
use crate::header::object_kind::ObjectKind;
use crate::header::section::{map_value, values_of};
use crate::read::open::{is_sparse_frame, not_a_file, open_at_once, open_frame};
use crate::read::trailer::trailer_or_changing;
#[cfg(feature = "decompress")]
use crate::slice::array::Array;
use crate::source::ReadAt;
use crate::trailer::frame_trailer::Trailer;

/// The text that python-blosc2 writes as the kind of a table.
const TABLE_KIND: &str = "ctable";

/// The extensions of the files that are members of a store.
const EXTENSIONS: [&str; 3] = [".b2nd", ".b2f", ".b2b"];

/// The name, without its extension, of a file with attributes. Such a file is not a member of the store.
const ATTRIBUTES: &str = "__vlmeta__";

/// A store of python-blosc2: a folder (`.b2d`) or a zip file (`.b2z`) of frames, or a single frame (`.b2e`) whose data
/// contains the member frames.
///
/// ```
/// use b2nd_frame::{ObjectKind, Store};
///
/// let store = Store::open("tests/data/tree.b2z")?.expect("a store");
/// assert_eq!(store.kind(), ObjectKind::TreeStore);
/// assert_eq!(store.members(), ["/group/large", "/group/small"]);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    container: Container,
    kind: ObjectKind,
    members: Vec<String>,
    tables: BTreeMap<String, Trailer>,
    mounts: Vec<String>,
    remote_schema: Option<String>,
}

impl Store {
    /// The name of the file that determines the kind of a store. It is in the folder or zip file of the store, and its
    /// data can hold small arrays of the store.
    #[doc(hidden)]
    pub const FILE: &'static str = STORE_FILE;

    /// The name of the file that marks a folder as a table. It is in that folder.
    #[doc(hidden)]
    pub const TABLE_FILE: &'static str = "_meta.b2f";

    /// Opens a store by the path of its folder, zip file or frame; `None` if it is not a store.
    ///
    /// A folder or zip file that is a store has a file `embed.b2e`. The metalayers of that file identify the kind of
    /// store. If none of them does, the extension of `path` (`.b2d`, `.b2z`) determines the kind. If `embed.b2e` holds
    /// an [`EmbedStore`](ObjectKind::EmbedStore), the result is `None`: that file alone is a store, and the folder or
    /// zip file around it is not.
    ///
    /// The call reads `embed.b2e` and, to recognize tables, files with the name `_meta.b2f`. It finds all other members
    /// by their names, without reading them.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) if a file cannot be read, [`Malformed`](crate::ErrorKind::Malformed) if the
    /// `embed.b2e` in a folder is not a frame. (If the `embed.b2e` in a zip file is not a frame, the result is `None`.)
    /// A file that is not the frame of a store is read as a zip file, so the errors of
    /// [`zip_members`](crate::zip_members) are possible too.
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// assert!(Store::open("tests/data")?.is_none());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let path = path.as_ref();
        if path.is_dir() {
            return Self::open_folder(path);
        }
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(not_a_file(path));
        }
        if let Ok(frame) = open_frame(path)
            && frame.kind().is_store()
        {
            let (container, kind) = (Container::Alone(path.into()), frame.kind());
            return Self::new(container, kind, Some(&trailer_or_changing(&frame)?), &[], |_| Ok(None))
                .map(Some);
        }
        Self::read_zip(open_at_once(path).map_err(|error| Error::io("read", path, error))?, path)
    }

    fn open_folder(path: &Path) -> Result<Option<Self>, Error> {
        if !path.join(Store::FILE).is_file() {
            return Ok(None);
        }
        let embed = open_frame(&path.join(Store::FILE))?;
        let Some(kind) = store_kind(path, &embed) else { return Ok(None) };
        let names = files(path).map_err(|error| Error::io("read", path, error))?;
        let trailer_of = |name: &str| {
            unless_damaged(open_frame(&path.join(name)).and_then(|frame| trailer_or_changing(&frame)))
        };
        let trailer = unless_damaged(trailer_or_changing(&embed))?;
        Self::new(Container::Folder(path.into()), kind, trailer.as_ref(), &names, trailer_of).map(Some)
    }

    /// Reads a store from a reader of its zip file, for example if the zip file is on a server and has no path. `name`
    /// is the name of the zip file. If no metalayer identifies the kind of store, the extension of `name` determines
    /// the kind.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// let zip = std::fs::read("tests/data/tree.b2z")?;
    /// let store = Store::read_zip(zip, "tree.b2z")?.expect("a store");
    /// assert_eq!(store.members(), ["/group/large", "/group/small"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_zip(
        reader: impl ReadAt + Send + Sync + 'static,
        name: impl AsRef<Path>,
    ) -> Result<Option<Self>, Error> {
        let reader = MemberSource::new(reader);
        let members = members_to_read(&reader, |name| name == Store::FILE || table_key(name).is_some())?;
        // If several members have the same name, the last one counts, as in `zip_member`.
        let by_name: HashMap<_, _> = members.iter().map(|member| (member.name(), member)).collect();
        let frame = |name: &str| by_name.get(name).and_then(|member| member.frame());
        let Some(embed) = frame(Store::FILE) else { return Ok(None) };
        let Some(kind) = store_kind(name.as_ref(), embed) else { return Ok(None) };
        let names: Vec<String> = members.iter().map(|member| member.name().into()).collect();
        let trailer_of = |name: &str| match frame(name) {
            Some(frame) => unless_damaged(trailer_or_changing(&frame.clone().map_reader(|()| &reader))),
            None => Ok(None),
        };
        let trailer = trailer_of(Store::FILE)?;
        Self::new(Container::Zip(reader.clone()), kind, trailer.as_ref(), &names, trailer_of).map(Some)
    }

    /// Makes a store of this kind. `names` are the names of all files in its folder or zip file, including `embed.b2e`.
    /// `trailer` is the trailer of `embed.b2e`, or `None` if that trailer is damaged. In this case, the members that
    /// only the trailer lists are missing in the store.
    fn new(
        container: Container,
        kind: ObjectKind,
        trailer: Option<&Trailer>,
        names: &[String],
        mut trailer_of: impl FnMut(&str) -> Result<Option<Trailer>, Error>,
    ) -> Result<Self, Error> {
        let mut tables = BTreeMap::new();
        if kind == ObjectKind::TreeStore {
            for name in names {
                let Some(key) = table_key(name) else { continue };
                let Some(trailer) = trailer_of(name)?.filter(is_table) else { continue };
                tables.insert(key, trailer);
            }
        }
        // A store that is a table is identified by its file `_meta.b2f`, not by the header of `embed.b2e`.
        let kind = if tables.contains_key("/") { ObjectKind::CTable } else { kind };
        let elsewhere = trailer.filter(|_| kind == ObjectKind::RemoteStore).and_then(manifest);
        if let Some(Manifest { is_table, schema, members }) = elsewhere {
            let kind = if is_table { ObjectKind::RemoteCTable } else { kind };
            return Ok(Self { container, kind, members, tables, mounts: Vec::new(), remote_schema: schema });
        }
        let mounts = trailer.map(mounts).unwrap_or_default();
        let key = |name: &String| {
            let stem = EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension))?;
            (!is_attributes(stem)).then(|| format!("/{stem}"))
        };
        let mut members: Vec<String> = names.iter().filter_map(key).collect();
        if kind != ObjectKind::CTable && !tables.is_empty() {
            // In a tree store, each table is one member. The files of its columns are not members.
            members.retain(|key| !is_in_table(&tables, key));
            members.extend(tables.keys().cloned());
        }
        members.extend(trailer.into_iter().flat_map(Trailer::embedded));
        members.extend(mounts.iter().cloned());
        members.sort_unstable();
        members.dedup();
        Ok(Self { container, kind, members, tables, mounts, remote_schema: None })
    }

    /// The kind of store: [`DictStore`](ObjectKind::DictStore), [`TreeStore`](ObjectKind::TreeStore),
    /// [`CTable`](ObjectKind::CTable), …
    #[must_use]
    pub fn kind(&self) -> ObjectKind {
        self.kind
    }

    /// Opens the array with this key.
    ///
    /// # Errors
    ///
    /// The errors of [`frame`](Self::frame) and of [`Array::new`].
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// let store = Store::open("tests/data/tree.b2z")?.expect("a store");
    /// let array = store.array("/group/small")?;
    /// assert_eq!(array.shape(), [4]);
    /// let error = store.array("/group/none").unwrap_err();
    /// assert_eq!(error.to_string(), "the store has no member with the key /group/none; it has /group/large, /group/small");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[cfg(feature = "decompress")]
    pub fn array(&self, key: &str) -> Result<Array<MemberSource>, Error> {
        Array::of_opened(self.frame(key)?)
    }

    /// Opens the frame with this key. In a zip file, each call reads the directory of the zip file again. Without the
    /// feature `decompress`, frames in the compressed data of the store cannot be opened.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput) if the store has no member with this key.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if the member is a table, which has many frames, or is on a
    ///   server, or is compressed in the zip file.
    /// - The errors of [`Frame::open`] and of [`zip_member`](crate::zip_member).
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// let store = Store::open("tests/data/tree.b2z")?.expect("a store");
    /// assert!(store.frame("/group/small")?.array()?.is_some());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn frame(&self, key: &str) -> Result<Frame<MemberSource>, Error> {
        self.find(key)?.ok_or_else(|| self.missing(key))
    }

    /// Reads the attributes of the group with this key; `/` is the whole store. `None` if the group has no attributes.
    ///
    /// # Errors
    ///
    /// The errors of [`Frame::trailer`], and those of [`frame`](Self::frame), except the one for a missing key.
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// let store = Store::open("tests/data/tree.b2z")?.expect("a store");
    /// let attributes = store.attributes("/group")?;
    /// assert!(attributes.is_none());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn attributes(&self, key: &str) -> Result<Option<Trailer>, Error> {
        let key = format!("{}/{ATTRIBUTES}", key.trim_end_matches('/'));
        self.find(&key)?.map(|frame| trailer_or_changing(&frame)).transpose()
    }

    fn find(&self, key: &str) -> Result<Option<Frame<MemberSource>>, Error> {
        if !key.starts_with('/') {
            return Ok(None);
        }
        let found = self.container.frame(Self::file_names(key))?;
        #[cfg(feature = "decompress")]
        if found.is_none() {
            return self.container.embedded(key);
        }
        Ok(found)
    }

    /// The error for a key without a frame.
    fn missing(&self, key: &str) -> Error {
        const MAX_LISTED: usize = 5;
        let key = Escaped(key);
        if self.tables.contains_key(key.0) {
            return Error::unsupported(format_args!(
                "the member {key} is a table: each of its columns is an array"
            ));
        }
        let is_below = |member: &String| member.strip_prefix(key.0).is_some_and(|rest| rest.starts_with('/'));
        if self.members.iter().any(is_below) {
            return Error::invalid_input(format_args!("{key} is a group of members, not a member"));
        }
        if self.members.iter().any(|member| member == key.0) {
            return Error::unsupported(format_args!("the data of {key} is not in the store"));
        }
        let listed: Vec<_> =
            self.members.iter().take(MAX_LISTED).map(|member| Escaped(member).to_string()).collect();
        let more = if self.members.len() > MAX_LISTED { ", …" } else { "" };
        let listed = if listed.is_empty() { "no members".into() } else { listed.join(", ") };
        Error::invalid_input(format_args!(
            "the store has no member with the key {key}; it has {listed}{more}"
        ))
    }

    /// The keys of the store's members, sorted. Each key begins with `/`. If a tree store has a table, the table is one
    /// member. If the whole store is a table, its members are the parts of the table. A remote store that is mounted at
    /// a key of this store is one member. Of the members of the remote store, only those that are cached in this store
    /// are listed. Attributes are not members. The trailer of `embed.b2e` can have a compressed list of further keys.
    /// Without the feature `decompress`, those keys are missing.
    #[must_use]
    pub fn members(&self) -> &[String] {
        &self.members
    }

    /// The tables in the store, each with its key and the trailer of its file `_meta.b2f`. The key is `/` if the whole
    /// store is a table. The vlmetalayers in the trailer describe the table: `schema` is a JSON text with the names and
    /// types of the columns, and usually the number of rows.
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// let store = Store::open("tests/data/table.b2z")?.expect("a store");
    /// let (key, trailer) = store.tables().next().expect("a table");
    /// assert_eq!(key, "/");
    /// let schema: String = trailer.vlmetalayer("schema").expect("a schema").decode()?;
    /// assert!(schema.contains(r#""name": "number""#));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn tables(&self) -> impl Iterator<Item = (&str, &Trailer)> {
        self.tables.iter().map(|(key, trailer)| (key.as_str(), trailer))
    }

    /// The keys of the members that are remote stores. The content of a remote store is not in this store: a reader
    /// must fetch it.
    #[doc(hidden)]
    #[must_use]
    pub fn mounts(&self) -> &[String] {
        &self.mounts
    }

    /// The schema of a remote table: a JSON text with the names and types of the columns. `None` if the store is not a
    /// remote table, or has no schema.
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// let store = Store::open("tests/data/remote/table.b2z")?.expect("a store");
    /// # #[cfg(feature = "decompress")]
    /// assert!(store.remote_schema().expect("a schema").contains(r#""name": "half""#));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn remote_schema(&self) -> Option<&str> {
        self.remote_schema.as_deref()
    }

    /// The possible file names of the member with this key. The names are relative to the folder or zip file of the
    /// store.
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// assert!(Store::file_names("/group/large").any(|name| name == "group/large.b2nd"));
    /// ```
    #[doc(hidden)]
    pub fn file_names(key: &str) -> impl Iterator<Item = String> {
        let stem = key.trim_start_matches('/').to_owned();
        EXTENSIONS.iter().map(move |extension| format!("{stem}{extension}"))
    }

    /// Whether a file belongs to the store or to a table in it, but is not a member. `name` is relative to the folder
    /// or zip file of the store.
    ///
    /// ```
    /// use b2nd_frame::Store;
    ///
    /// let store = Store::open("tests/data/tree.b2z")?.expect("a store");
    /// assert!(store.is_part("embed.b2e") && !store.is_part("group/large.b2nd"));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn is_part(&self, name: &str) -> bool {
        let is_in_table = || is_in_table(&self.tables, &format!("/{name}"));
        name == Store::FILE || name.strip_suffix(".b2f").is_some_and(is_attributes) || is_in_table()
    }
}

/// A trailer; `None` if it is damaged. A folder with a damaged `_meta.b2f` does not count as a table, but the store can
/// still be opened.
fn unless_damaged(trailer: Result<Trailer, Error>) -> Result<Option<Trailer>, Error> {
    match trailer {
        Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Incomplete | ErrorKind::Changing) => {
            Err(error)
        }
        trailer => Ok(trailer.ok()),
    }
}

/// Whether a folder is a [`Store`]. It must have a file `embed.b2e`, and this file or the extension of the folder
/// (`.b2d`, `.b2z`) must identify a kind of store. Only the header of `embed.b2e` is read. If this header cannot be
/// read, or if `embed.b2e` is an `EmbedStore`, the result is false.
///
/// ```
/// use b2nd_frame::is_store_folder;
///
/// assert!(!is_store_folder("tests/data"));
/// ```
pub fn is_store_folder(path: impl AsRef<Path>) -> bool {
    let (path, embed) = (path.as_ref(), path.as_ref().join(Store::FILE));
    embed.is_file() && open_frame(&embed).is_ok_and(|embed| store_kind(path, &embed).is_some())
}

/// The kind of the store at `path`; `None` if it is not a store. `embed` is its file `embed.b2e`. If that file is an
/// embed store, the folder or zip file around it is not a store, as in python-blosc2.
fn store_kind<R>(path: &Path, embed: &Frame<R>) -> Option<ObjectKind> {
    let has_extension = |extension| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
    match embed.kind() {
        ObjectKind::EmbedStore => None,
        kind if kind.is_store() => Some(kind),
        // If no metalayer identifies a store, python-blosc2 uses the extension.
        _ if has_extension("b2d") => Some(ObjectKind::DictStore),
        _ if has_extension("b2z") => Some(ObjectKind::TreeStore),
        _ => None,
    }
}

/// Whether a file contains the attributes of a group. A group is a folder of the store, or the whole store. `stem` is
/// the name of the file with its folders, but without its extension.
fn is_attributes(stem: &str) -> bool {
    stem.strip_suffix(ATTRIBUTES).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// Whether the object with this key is inside one of these tables. If the whole store is a table (`/`), each object is
/// inside it. Otherwise a table must be one of the folders in the key: `/a/b` is inside the table `/a`. The function
/// looks up each of these folders in the map, so even with many tables it takes little time.
fn is_in_table(tables: &BTreeMap<String, Trailer>, key: &str) -> bool {
    let folders = key.match_indices('/').filter_map(|(at, _)| key.get(..at));
    tables.contains_key("/") || folders.into_iter().any(|folder| tables.contains_key(folder))
}

/// The key of the table to which a file `_meta.b2f` belongs. `name` is the path of that file in the store:
/// `deep/_meta.b2f` gives the key `/deep`. `None` if `name` is the name of another file.
fn table_key(name: &str) -> Option<String> {
    let folder = name.strip_suffix(Store::TABLE_FILE)?;
    match folder.strip_suffix('/') {
        Some(folder) => Some(format!("/{folder}")),
        None => folder.is_empty().then(|| "/".into()),
    }
}

/// The texts that this module reads from the MessagePack maps in vlmetalayers of python-blosc2: the kind of an object,
/// the path of a remote store in its source, and the schema of a table. Each map contains only some of these texts.
struct MapTexts {
    kind: Option<String>,
    dataset: Option<String>,
    schema: Option<String>,
}

impl<'m> Deserialize<'m> for MapTexts {
    fn deserialize<D: Deserializer<'m>>(deserializer: D) -> Result<Self, D::Error> {
        let [kind, dataset, schema] = values_of(["kind", "dataset", "schema"], deserializer)?;
        Ok(Self { kind, dataset, schema })
    }
}

/// The keys of the remote stores that are mounted in a store.
fn mounts(trailer: &Trailer) -> Vec<String> {
    // A store has no frame for a remote store that is mounted in it. But the vlmetalayer `_object_registry` of the
    // store lists the key and the kind of each mounted remote store.
    let objects = trailer
        .list("_object_registry")
        .and_then(|list| rmp_serde::from_slice::<BTreeMap<String, MapTexts>>(&list).ok());
    let objects = objects.unwrap_or_default().into_iter();
    objects.filter(|(_, object)| object.kind.as_deref() == Some("remote_store")).map(|(key, _)| key).collect()
}

/// The content of a remote store.
struct Manifest {
    /// Whether the store is a single table.
    is_table: bool,
    /// The schema of the table, if the store is a single table.
    schema: Option<String>,
    members: Vec<String>,
}

/// Reads the manifest that python-blosc2 saves for a remote store. In the manifest, `source.dataset` is the path of the
/// remote store in its source. In the map `nodes`, each key is the path of an object, and its value is a list with the
/// kind of the object.
fn manifest(trailer: &Trailer) -> Option<Manifest> {
    /// An object of the store. In the manifest, `nodes` has a list for each object. The list begins with the kind of
    /// the object. If the object is a table, a map with the schema of the table follows. If the list was a tuple in
    /// Python, the text `__tuple__` precedes the kind.
    struct Node {
        kind: String,
        schema: Option<String>,
    }

    impl<'m> Deserialize<'m> for Node {
        fn deserialize<D: Deserializer<'m>>(deserializer: D) -> Result<Self, D::Error> {
            struct NodeVisitor;

            impl<'m> Visitor<'m> for NodeVisitor {
                type Value = Node;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a list that begins with a kind")
                }

                fn visit_seq<A: SeqAccess<'m>>(self, mut list: A) -> Result<Node, A::Error> {
                    let mut kind: Option<String> = list.next_element()?;
                    if kind.as_deref() == Some("__tuple__") {
                        kind = list.next_element()?;
                    }
                    let is_table = kind.as_deref() == Some(TABLE_KIND);
                    let table: Option<MapTexts> = if is_table { list.next_element()? } else { None };
                    while list.next_element::<IgnoredAny>()?.is_some() {}
                    Ok(Node { kind: kind.unwrap_or_default(), schema: table.and_then(|table| table.schema) })
                }
            }

            deserializer.deserialize_seq(NodeVisitor)
        }
    }

    let value = trailer.list("b2remote_manifest")?;
    let mut nodes: BTreeMap<String, Node> = map_value(&value, "nodes")?;
    let root = map_value(&value, "source").and_then(|source: MapTexts| source.dataset).unwrap_or_default();
    let key = |path: &str| {
        let path = path.strip_prefix(&root)?;
        let path = if root.is_empty() { path } else { path.strip_prefix('/')? };
        (!path.is_empty()).then(|| format!("/{path}"))
    };
    let members = nodes.iter().filter(|(_, node)| node.kind != "group").filter_map(|(path, _)| key(path));
    let members = members.collect();
    let table = nodes.remove(&root).filter(|node| node.kind == TABLE_KIND);
    Some(Manifest { is_table: table.is_some(), schema: table.and_then(|table| table.schema), members })
}

/// Whether the trailer of a `_meta.b2f` describes a table.
pub(crate) fn is_table(trailer: &Trailer) -> bool {
    let kind = trailer.vlmetalayer("kind").and_then(|layer| layer.decode::<String>().ok());
    kind.is_some_and(|kind| kind == TABLE_KIND)
}

/// The names of all files below a folder, with `/` between folders. A sparse frame counts as one file.
fn files(root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folders = vec![(root.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            // Links to folders are not followed, because they can form a cycle.
            if entry.file_type()?.is_dir() && !is_sparse_frame(entry.path()) {
                folders.push((entry.path(), format!("{name}/")));
            } else {
                names.push(name);
            }
        }
    }
    Ok(names)
}
