//! Addresses of frames: parsed from arguments, and printed.
//!
//! | address | what it is |
//! |---|---|
//! | `PATH` | a file, a sparse frame or a folder |
//! | `FILE:MEMBER` | a member of a zip file, by its name or its key in a store |
//! | `FOLDER:/KEY` | a member of a store that is a folder: a file or folder in it, or an array in `embed.b2e` |
//! | `FILE.b2e:/KEY` | an array in the data of a store in a single file |
//! | `FILE@OFFSET` | a frame at this byte of any file |
//! | `-` | standard input |
//! | `scheme://…` | an object in an object store, or all objects below a prefix |
//! | `scheme://….b2z:MEMBER`, `….b2e:/KEY` | a member of a zip file or store, in an object store or on the web; the query of the URL follows the member |
//!
//! An existing path wins over a member or an offset. If an address can be split in several ways, the longest file name
//! wins. An argument that begins with `./`, or comes after `--`, is a path.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{self, Component, Path, PathBuf};

use b2nd_frame::{Store, is_store_folder};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::names::{file_of, folder_or_here, indexed_array, is_url, split_query};
use crate::text;

/// The help for an argument that takes the address of one frame.
pub(crate) const FRAME: &str =
    "FILE, sparse frame (directory), `FILE:MEMBER`, `FILE@OFFSET`, URL, or - (standard input)";

/// The part of a file that an address selects. `S` is the type of a member's name: an owned or a borrowed string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Inside<S> {
    /// The file or folder itself.
    Whole,
    Member(S),
    Offset(u64),
    /// Standard input. The path of the address is `-`.
    Stdin,
    /// An object in an object store or on the web, or a member of such an object. The path of the address is the URL of
    /// the object.
    Url(Option<S>),
}

impl<S> Inside<S> {
    /// Converts the name of a member to another type.
    fn map<'s, T>(&'s self, name: impl FnOnce(&'s S) -> T) -> Inside<T> {
        match self {
            Self::Whole => Inside::Whole,
            Self::Member(member) => Inside::Member(name(member)),
            Self::Offset(offset) => Inside::Offset(*offset),
            Self::Stdin => Inside::Stdin,
            Self::Url(member) => Inside::Url(member.as_ref().map(name)),
        }
    }
}

impl Inside<String> {
    pub(crate) fn borrowed(&self) -> Inside<&str> {
        self.map(String::as_str)
    }
}

/// A parsed address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) path: PathBuf,
    pub(crate) inside: Inside<String>,
}

/// Parses the arguments of the command line as addresses. An argument after `--` is always a path.
pub(crate) fn given(arguments: Vec<PathBuf>) -> impl Iterator<Item = Address> + Send {
    // clap does not report which arguments follow `--`. But these are always the last arguments, so it is enough to
    // count them.
    let paths = std::env::args_os().skip_while(|argument| argument != "--").skip(1).count();
    let first_path = arguments.len().saturating_sub(paths);
    let read = move |(index, path)| if index < first_path { Address::read(path) } else { Address::new(path) };
    arguments.into_iter().enumerate().map(read)
}

/// Parses the positional arguments of a command that has exactly `N` of them.
pub(crate) fn given_all<const N: usize>(arguments: [&PathBuf; N]) -> [Address; N] {
    let mut addresses = given(arguments.map(Clone::clone).to_vec());
    // `given` yields one address per argument, so the fallback is never used.
    arguments.map(|path| addresses.next().unwrap_or_else(|| Address::new(path.clone())))
}

impl From<Location<'_>> for Address {
    fn from(Location { path, inside }: Location<'_>) -> Self {
        Self { path: path.into(), inside: inside.map(|&name| name.into()) }
    }
}

impl Address {
    /// Standard input.
    pub(crate) fn stdin() -> Self {
        Self { path: "-".into(), inside: Inside::Stdin }
    }

    /// The address of a file or folder.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, inside: Inside::Whole }
    }

    /// Parses an address. If the text can be split in several ways, the existing files determine the split.
    pub(crate) fn read(text: PathBuf) -> Self {
        let bytes = text.as_os_str().as_encoded_bytes();
        if starts_as_path(bytes) {
            return Self::new(text);
        }
        if is_url(bytes) {
            return Self::url(text);
        }
        if bytes == b"-" {
            return Self::stdin();
        }
        // Most arguments contain neither `:` nor `@`, so they are paths. For these arguments, the disk is not accessed.
        if !bytes.iter().any(|byte| b":@".contains(byte)) || fs::symlink_metadata(&text).is_ok() {
            return Self::new(text);
        }
        // Splits are tried from the end of the text, so the longest file name that exists wins.
        let place = (drive_len(&text) + 1..bytes.len()).rev().find_map(|at| {
            let (path, rest) = bytes.split_at(at);
            let inside = inside(rest)?;
            let path = path_from_bytes(path.to_vec());
            match inside {
                inside if path.is_file() => Some(Self { path, inside }),
                Inside::Member(key) => Self::in_store(path, key),
                _ => None,
            }
        });
        place.unwrap_or_else(|| Self::new(text))
    }

    /// The address of a member of a store that is a folder. `None` if the folder is not a store, or if the key of the
    /// member does not begin with a slash.
    fn in_store(folder: PathBuf, key: String) -> Option<Self> {
        let name = key.strip_prefix('/').filter(|_| is_store_folder(&folder))?;
        // In the folder of a store, the array with the key `/a/b` is a file such as `a/b.b2nd`. A table with this key
        // is the folder `a/b`.
        let file = Store::file_names(&key)
            .chain([name.into()])
            .map(|name| folder.join(name))
            .find(|file| file.exists());
        Some(file.map_or(Self { path: folder, inside: Inside::Member(key) }, Self::new))
    }

    /// Parses a URL as an address. Only a URL with `.b2z:` or `.b2e:` in it can name a member. The name of the member
    /// is before the query of the URL.
    fn url(text: PathBuf) -> Self {
        const ENDS: [&str; 2] = [".b2z:", ".b2e:"];
        let Some((scheme, rest)) = text.to_str().and_then(|url| url.split_once("://")) else {
            return Self { path: text, inside: Inside::Url(None) };
        };
        let url = format!("{}://{rest}", scheme.to_ascii_lowercase());
        let (file, query) = split_query(&url);
        let end = ENDS.iter().filter_map(|end| Some(file.find(end)? + end.len())).min();
        match end.and_then(|end| Some((file.get(..end)?.strip_suffix(':')?, file.get(end..)?))) {
            Some((path, member)) if !member.is_empty() => {
                Self { path: [path, query].concat().into(), inside: Inside::Url(Some(member.into())) }
            }
            _ => Self { path: url.into(), inside: Inside::Url(None) },
        }
    }

    pub(crate) fn location(&self) -> Location<'_> {
        Location { path: &self.path, inside: self.inside.borrowed() }
    }
}

fn starts_as_path(text: &[u8]) -> bool {
    matches!(text, [b'.', separator, ..] if path::is_separator(char::from(*separator)))
}

/// The length of the drive, such as `C:`, at the start of a Windows path. The `:` of a drive does not separate a path
/// from the name of a member.
fn drive_len(path: &Path) -> usize {
    match path.components().next() {
        Some(Component::Prefix(drive)) => drive.as_os_str().len(),
        _ => 0,
    }
}

/// Parses the `:MEMBER` or `@OFFSET` after a path.
fn inside(rest: &[u8]) -> Option<Inside<String>> {
    match rest {
        [b':', name @ ..] if !name.is_empty() => {
            Some(Inside::Member(String::from_utf8_lossy(name).into_owned()))
        }
        [b'@', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => {
            Some(Inside::Offset(str::from_utf8(digits).ok()?.parse().ok()?))
        }
        _ => None,
    }
}

/// The bytes of a path as hexadecimal digits; `None` if the path is UTF-8.
pub(crate) fn path_hex(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| text::hex(path.as_os_str().as_encoded_bytes()))
}

#[cfg(unix)]
pub(crate) fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
pub(crate) fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    OsString::from(String::from_utf8_lossy(&bytes).into_owned()).into()
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.location().serialize(serializer)
    }
}

/// A borrowed address, for printing.
#[derive(Clone, Copy)]
pub(crate) struct Location<'p> {
    pub(crate) path: &'p Path,
    pub(crate) inside: Inside<&'p str>,
}

impl<'p> Location<'p> {
    pub(crate) fn new(path: &'p Path) -> Self {
        Self { path, inside: Inside::Whole }
    }

    /// The location of an object at a URL, or of all objects whose URLs begin with this URL.
    pub(crate) fn of_url(path: &'p Path) -> Self {
        Self { path, inside: Inside::Url(None) }
    }

    /// The location of the frame at an offset of this file. Offset 0 is the file itself. A location that is not a whole
    /// file is returned unchanged.
    pub(crate) fn at(self, offset: u64) -> Self {
        match self.inside {
            Inside::Whole if offset > 0 => Self { inside: Inside::Offset(offset), ..self },
            _ => self,
        }
    }

    /// The location of a frame that is embedded in the compressed data of a store. `self` is the location of the file
    /// with this data, and `key` is the key of the frame. `None` if no address can name the frame. `is_alone` means
    /// that the store is this file alone, not the folder that contains the file.
    pub(crate) fn in_store(self, key: &'p str, is_alone: bool) -> Option<Self> {
        let is_store_file = |name: &Path| name.file_name().is_some_and(|name| name == Store::FILE);
        let inside = match self.inside {
            Inside::Member(Store::FILE) | Inside::Whole => Inside::Member(key),
            Inside::Url(None | Some(Store::FILE)) => Inside::Url(Some(key)),
            _ => return None,
        };
        let folder = self
            .path
            .parent()
            .map(folder_or_here)
            .filter(|_| !is_alone && self.inside == Inside::Whole && is_store_file(self.path));
        Some(Self { path: folder.unwrap_or(self.path), inside })
    }

    pub(crate) fn member(self) -> Option<&'p str> {
        match self.inside {
            Inside::Member(name) => Some(name),
            Inside::Url(member) => member,
            _ => None,
        }
    }

    /// The name of the array that this file or member indexes. `None` if the file or member is not an index of
    /// python-blosc2 (`a.__index__.….b2nd`).
    pub(crate) fn indexed_array(self) -> Option<&'p str> {
        indexed_array(self.member().map_or_else(|| file_of(self.path), Path::new))
    }

    /// The command-line argument that names this location. Parsing it returns the same location, for any file name.
    pub(crate) fn address(self) -> Vec<u8> {
        let path = self.path.as_os_str().as_encoded_bytes();
        // Without `./` before it, a special path would be read as an option, as standard input or as a URL.
        let is_special = |path: &[u8]| path.starts_with(b"-") || is_url(path);
        let rest = match self.inside {
            Inside::Whole if is_special(path) => return [b"./", path].concat(),
            Inside::Whole | Inside::Stdin | Inside::Url(None) => return path.to_vec(),
            Inside::Url(Some(member)) => {
                let (file, query) = path.split_at(file_of(self.path).as_os_str().len());
                return [file, b":", member.as_bytes(), query].concat();
            }
            Inside::Member(name) => format!(":{name}"),
            Inside::Offset(offset) => format!("@{offset}"),
        };
        // A `./` is removed, because `:MEMBER` and `@OFFSET` are not parsed in an argument that begins with `./`. So
        // special paths cannot be marked with `./` here, and become absolute paths instead. On Windows, a path of one
        // letter becomes absolute too, because the letter and the `:` of `:MEMBER` would be read as a drive.
        let path =
            if starts_as_path(path) { self.path.strip_prefix(".").unwrap_or(self.path) } else { self.path };
        let is_drive =
            |path: &[u8]| cfg!(windows) && matches!(path, [letter] if letter.is_ascii_alphabetic());
        let bytes = path.as_os_str().as_encoded_bytes();
        let path = if is_special(bytes) || is_drive(bytes) {
            Cow::Owned(path::absolute(path).unwrap_or_else(|_| path.into()))
        } else {
            Cow::Borrowed(path)
        };
        [path.as_os_str().as_encoded_bytes(), rest.as_bytes()].concat()
    }

    /// Writes the JSON fields that locate a frame, with the bytes of the path if the path is not UTF-8.
    pub(crate) fn write<M: SerializeMap>(self, fields: &mut M) -> Result<(), M::Error> {
        fields.serialize_entry("path", &self.path.to_string_lossy())?;
        if let Some(bytes) = path_hex(self.path) {
            fields.serialize_entry("path_bytes", &bytes)?;
        }
        fields.serialize_entry("address", &String::from_utf8_lossy(&self.address()))?;
        fields.serialize_entry("member", &self.member())
    }
}

/// The address, safe to print on a terminal.
impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::clean(&String::from_utf8_lossy(&self.address())))
    }
}

impl Serialize for Location<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        self.write(&mut fields)?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_path_first_and_then_the_longest_file() {
        let folder = tempfile::tempdir().unwrap();
        // On Windows, `Path::join` would read the `a:` of a name as a drive.
        let at = |name: &str| PathBuf::from(format!("{}/{name}", folder.path().display()));
        // Windows allows no `:` in the name of a file.
        let has_colons = cfg!(unix);
        let names = ["a", "c@1", "a:b", "a:b@7"];
        for name in names.into_iter().filter(|name| has_colons || !name.contains(':')) {
            fs::write(at(name), "").unwrap();
        }
        fs::create_dir_all(at("folder/a")).unwrap();
        fs::create_dir_all(at("store.b2d/t")).unwrap();
        let data = b2nd_lab::data();
        fs::copy(data.join("int32_3x5.b2nd"), at("store.b2d/embed.b2e")).unwrap();
        fs::write(at("store.b2d/t/x.b2nd"), "").unwrap();
        let member = |name: &str| Inside::Member(name.to_owned());
        let with_colons = [
            ("a:b", "a:b", Inside::Whole),
            ("a:b@7", "a:b@7", Inside::Whole),
            ("a:b@8", "a:b", Inside::Offset(8)),
            ("a:b@7@07", "a:b@7", Inside::Offset(7)),
            ("a:b:c/d", "a:b", member("c/d")),
        ];
        let cases = [
            ("a", "a", Inside::Whole),
            ("a:c:d@5", "a", member("c:d@5")),
            ("c@1", "c@1", Inside::Whole),
            ("c@1@07", "c@1", Inside::Offset(7)),
            ("c@1:d", "c@1", member("d")),
            // These are paths: the text before the `:` or `@` is not a file, or the text after it is not a name or an
            // offset.
            ("c@2", "c@2", Inside::Whole),
            ("a:", "a:", Inside::Whole),
            ("a@", "a@", Inside::Whole),
            ("a@x", "a@x", Inside::Whole),
            ("a@99999999999999999999", "a@99999999999999999999", Inside::Whole),
            ("folder:x", "folder:x", Inside::Whole),
            // Only a store has keys, and this folder is not a store.
            ("folder:/a", "folder:/a", Inside::Whole),
            ("store.b2d:/t/x", "store.b2d/t/x.b2nd", Inside::Whole),
            ("store.b2d:/t", "store.b2d/t", Inside::Whole),
            ("store.b2d:/none", "store.b2d", member("/none")),
            ("store.b2d:t/x", "store.b2d:t/x", Inside::Whole),
        ];
        for (text, path, inside) in with_colons.into_iter().filter(|_| has_colons).chain(cases) {
            let read = Address::read(at(text));
            assert_eq!(read, Address { path: at(path), inside }, "{text}");
        }
        for (text, inside) in [
            ("-", Inside::Stdin),
            ("./-", Inside::Whole),
            ("./s3://x", Inside::Whole),
            ("s3://x/y", Inside::Url(None)),
            ("s3://x/y.b2z:", Inside::Url(None)),
            ("HTTPS://x/y.b2z?a=.b2z:b", Inside::Url(None)),
            ("C://x/y.b2nd", Inside::Whole),
        ] {
            assert_eq!(Address::read(text.into()).inside, inside, "{text}");
        }
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let whole = |path| Location::new(Path::new(path)).to_string();
        assert_eq!(["a", "./a", "-", "-x", "s3://x"].map(whole), ["a", "./a", "./-", "./-x", "./s3://x"]);
        let inner = |path, inside| Location { path: Path::new(path), inside }.to_string();
        assert_eq!(inner("./a.b2z", Inside::Member("x/y")), "a.b2z:x/y");
        assert_eq!(inner("../a", Inside::Offset(3)), "../a@3");
        assert_eq!(inner("c", Inside::Member("x")) == "c:x", cfg!(not(windows)));
        assert!(path::is_separator(inner("-a", Inside::Offset(3)).chars().next().unwrap()) || cfg!(windows));
        assert_eq!(inner("-", Inside::Stdin), "-");
        assert_eq!(inner("s3://x", Inside::Url(None)), "s3://x");
        for url in ["http://h:80/x.b2z", "http://h/x.b2z?se=10:30&sig=1", "s3://b/x.b2e"] {
            let member = inner(url, Inside::Url(Some("y/z.b2nd")));
            let read = Address::read(member.into());
            assert_eq!(read.path, Path::new(url));
            assert_eq!(read.inside, Inside::Url(Some("y/z.b2nd".into())));
        }
    }
}
