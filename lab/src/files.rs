//! Real files: their folders, and copies that a test may change.

use std::path::{Path, PathBuf};
use std::{env, fmt, fs};

use serde_json::Value;

/// The folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The folder of the real files in this repository.
pub fn data() -> PathBuf {
    root().join("frame/tests/data")
}

/// The folder and the manifest of a larger corpus of real files. The environment variable `B2ND_CORPUS` names the
/// folder. Its default is `../shared/corpus`, relative to the repository. `None` if the folder has no manifest. The
/// files of Caterva 0.1 (2019) are left out, because the library refuses them.
pub fn corpus() -> Option<(PathBuf, Vec<Value>)> {
    let (folder, mut entries) = whole_corpus()?;
    entries.retain(|entry| !is_of_2019(entry));
    Some((folder, entries))
}

/// The paths of the files of Caterva 0.1 in the corpus, if there is a corpus.
pub fn corpus_of_2019() -> Option<Vec<PathBuf>> {
    let (folder, entries) = whole_corpus()?;
    let path = |entry: &Value| folder.join(entry["file"].as_str().unwrap());
    Some(entries.iter().filter(|entry| is_of_2019(entry)).map(path).collect())
}

fn is_of_2019(entry: &Value) -> bool {
    entry["layout"].as_str().is_some_and(|layout| layout.starts_with("caterva-3"))
}

fn whole_corpus() -> Option<(PathBuf, Vec<Value>)> {
    let beside = || root().join("../shared/corpus");
    let folder = env::var_os("B2ND_CORPUS").map_or_else(beside, PathBuf::from);
    let Ok(manifest) = fs::read_to_string(folder.join("manifest.json")) else {
        eprintln!("no corpus here: B2ND_CORPUS can name one");
        return None;
    };
    Some((folder, serde_json::from_str(&manifest).unwrap()))
}

pub fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// The path of the file that contains the header of a frame. For a sparse frame, this is `chunks.b2frame` in its
/// directory.
pub fn header_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("chunks.b2frame") } else { path.to_owned() }
}

/// Copies a file or folder of the test data into a temporary folder, so that a test can change it. Returns the
/// temporary folder and the path of the copy.
pub fn copy(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(Path::new(name).file_name().unwrap());
    copy_tree(&data().join(name), &path);
    (folder, path)
}

/// Copies a file, or a folder with its contents.
pub fn copy_tree(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy_tree(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

/// The length of a trailer without vlmetalayers.
const TRAILER_LEN: usize = 35;

/// Copies a frame of the test data, and inserts `gap` bytes before the trailer of the copy. A large gap makes the frame
/// slow to copy. The frame must not have vlmetalayers.
pub fn with_gap(folder: &Path, name: &str, gap: usize) -> PathBuf {
    let path = folder.join(name);
    copy_tree(&data().join(name), &path);
    let mut file = fs::read(header_file(&path)).unwrap();
    let trailer = file.len() - TRAILER_LEN;
    file.splice(trailer..trailer, std::iter::repeat_n(0xaa, gap));
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    fs::write(header_file(&path), file).unwrap();
    path
}

/// Removes a file, or a folder with its contents.
pub fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

/// Formats a value into writers that are too small for its text: one writer for each length below the length of the
/// text. Asserts that each writer receives a prefix of the text, and that its error is returned.
#[track_caller]
pub fn shows_as_much_as_fits(shown: &dyn fmt::Display) {
    struct Room(String, usize);

    impl fmt::Write for Room {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            if self.0.len() + part.len() > self.1 {
                return Err(fmt::Error);
            }
            self.0.push_str(part);
            Ok(())
        }
    }

    let whole = shown.to_string();
    for length in 0..whole.len() {
        let mut room = Room(String::new(), length);
        assert_eq!(fmt::Write::write_fmt(&mut room, format_args!("{shown}")), Err(fmt::Error), "{length}");
        assert!(whole.starts_with(&room.0), "{length}: {}", room.0);
    }
}
