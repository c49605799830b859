//! Stores of python-blosc2: folders and zip files of frames.
//!
//! | file | what |
//! |---|---|
//! | `embed.b2e` | the frame whose metalayer says which store it is; it can hold members in its data |
//! | `deep/name.b2nd`, `.b2f`, `.b2b` | a member, whose key is `/deep/name` |
//! | `deep/__vlmeta__.b2f` | the attributes of the group `/deep`, or of the whole store |
//! | `_meta.b2f` | in a table only: its vlmetalayer `kind` is `ctable` |

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::Path;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use crate::frame::find::open::is_sparse_frame;
use crate::frame::find::zip::zip_members;
use crate::frame::{Error, Frame, Kind, Trailer};

/// The frame whose metalayer says which store it is.
const EMBED: &str = "embed.b2e";

/// The frame that makes a table of a tree.
const TABLE: &str = "_meta.b2f";

/// The extensions of members.
const EXTENSIONS: [&str; 3] = [".b2nd", ".b2f", ".b2b"];

/// The name of what holds attributes, which is not a member.
const ATTRIBUTES: &str = "__vlmeta__";

/// A store of python-blosc2: a folder (`.b2d`) or a zip file (`.b2z`) of frames.
///
/// ```
/// use b2nd_serde::frame::{Kind, Store};
///
/// let store = Store::open("tests/data/tree.b2z")?.expect("a store");
/// assert_eq!(store.kind(), Kind::TreeStore);
/// assert_eq!(store.members(), ["/group/large", "/group/small"]);
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    kind: Kind,
    schema: Option<String>,
    members: Vec<String>,
}

impl Store {
    /// Opens a store by the path of its folder or zip file; `None` if there is no `embed.b2e` in it that makes it one.
    ///
    /// It reads `embed.b2e` and, to recognize a table, `_meta.b2f`. Other members are found by their names.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or `embed.b2e` is not a frame. For a file, as
    /// [`zip_members`](crate::frame::zip_members).
    ///
    /// ```
    /// use b2nd_serde::frame::Store;
    ///
    /// assert!(Store::open("tests/data")?.is_none());
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let path = path.as_ref();
        if path.is_dir() { Self::of_folder(path) } else { Self::of_zip(path) }
    }

    fn of_folder(path: &Path) -> Result<Option<Self>, Error> {
        let embed = path.join(EMBED);
        if !embed.is_file() {
            return Ok(None);
        }
        let frame = Frame::open(embed)?;
        let table = path.join(TABLE);
        let table = if table.is_file() { Some(Frame::open(table)?) } else { None };
        let names = files(path).map_err(|error| Error::io("read", path, error))?;
        Ok(Self::new(path, frame, table, &names))
    }

    fn of_zip(path: &Path) -> Result<Option<Self>, Error> {
        let file = File::open(path).map_err(|error| Error::io("read", path, error))?;
        let members = zip_members(&file)?;
        let member = |name: &str| {
            let member = members.iter().find(|member| member.name() == name && member.frame().is_some());
            member.map(|member| Frame::read_at(&file, member.offset())).transpose()
        };
        let Some(frame) = member(EMBED)? else { return Ok(None) };
        let names: Vec<String> = members.iter().map(|member| member.name().into()).collect();
        Ok(Self::new(path, frame, member(TABLE)?, &names))
    }

    /// The store with these files, one of which is `embed.b2e`, and perhaps another one `_meta.b2f`.
    fn new<R: Read + Seek>(
        path: &Path,
        mut embed: Frame<R>,
        table: Option<Frame<R>>,
        names: &[String],
    ) -> Option<Self> {
        let has_extension =
            |extension| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
        let table = table.and_then(|mut frame| frame.trailer().ok()).filter(is_table);
        let kind = match embed.kind() {
            Kind::TreeStore if table.is_some() => Kind::CTable,
            kind if kind.is_store() => kind,
            // Without a metalayer that tells, python-blosc2 goes by the extension.
            _ if has_extension("b2d") => Kind::DictStore,
            _ if has_extension("b2z") => Kind::TreeStore,
            _ => return None,
        };
        let key = |name: &String| {
            let stem = EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension))?;
            let is_member = stem != ATTRIBUTES && !stem.ends_with(&format!("/{ATTRIBUTES}"));
            is_member.then(|| format!("/{stem}"))
        };
        let mut members: Vec<String> = names.iter().filter_map(key).collect();
        if let Ok(trailer) = embed.trailer() {
            members.extend(trailer.embedded());
        }
        members.sort_unstable();
        members.dedup();
        let schema = table.and_then(|trailer| trailer.vlmetalayer("schema")?.decode().ok());
        Some(Self { kind, schema, members })
    }

    /// What the store is: [`DictStore`](Kind::DictStore), [`TreeStore`](Kind::TreeStore), [`CTable`](Kind::CTable), …
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What a table says about its columns and rows: JSON, as python-blosc2 writes it. `None` if the store is not a table, or
    /// if the JSON is compressed and the feature `decompress` is off.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The keys of its members, sorted. They begin with `/`. Attributes are left out, and so are keys that only a
    /// compressed list has, if the feature `decompress` is off.
    #[must_use]
    pub fn members(&self) -> &[String] {
        &self.members
    }
}

/// Whether this trailer of `_meta.b2f` is that of a table.
fn is_table(trailer: &Trailer) -> bool {
    let kind = trailer.vlmetalayer("kind").and_then(|layer| layer.decode::<String>().ok());
    kind.is_some_and(|kind| kind == "ctable")
}

/// The names of all files in a folder, with `/` between the folders in it. A sparse frame is one name.
fn files(root: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folders = vec![(root.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            // Links are not followed, as they can lead back.
            if entry.file_type()?.is_dir() && !is_sparse_frame(entry.path()) {
                folders.push((entry.path(), format!("{name}/")));
            } else {
                names.push(name);
            }
        }
    }
    Ok(names)
}
