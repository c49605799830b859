//! What several tests need: structs as a user would derive them, and the folders of real files.

#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]

use std::fs;
use std::path::{Path, PathBuf};

use b2nd_serde::{Meta, Shapes};
use serde_derive::{Deserialize, Serialize};
use serde_json::Value;

/// All entries, each in the most common Rust type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seven {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunkshape: Vec<i32>,
    pub blockshape: Vec<i32>,
    pub dtype_format: u8,
    pub dtype: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Six {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunkshape: Vec<i32>,
    pub blockshape: Vec<i32>,
    pub dtype: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Five {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunkshape: Vec<i32>,
    pub blockshape: Vec<i32>,
}

/// The seven entries of the worked example.
pub fn seven() -> Seven {
    Seven {
        version: 0,
        ndim: 2,
        shape: vec![3, 5],
        chunkshape: vec![2, 3],
        blockshape: vec![1, 2],
        dtype_format: 0,
        dtype: "<i4".into(),
    }
}

pub fn six() -> Six {
    let Seven { version, ndim, shape, chunkshape, blockshape, .. } = seven();
    Six { version, ndim, shape, chunkshape, blockshape, dtype: "int32".into() }
}

pub fn five() -> Five {
    let Seven { version, ndim, shape, chunkshape, blockshape, .. } = seven();
    Five { version, ndim, shape, chunkshape, blockshape }
}

/// A `Meta` of a rank, whose values tell entries and dimensions apart.
pub fn meta_of_rank(ndim: u8, dtype: &str) -> Meta {
    let shape: Vec<i64> = (0..ndim).map(|i| 0x0100_0000_0000 + i64::from(i)).collect();
    let chunkshape: Vec<i32> = (0..ndim).map(|i| 0x0200_0000 + i32::from(i)).collect();
    let blockshape: Vec<i32> = (0..ndim).map(|i| 0x0300 + i32::from(i)).collect();
    Meta::new(Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape }, dtype).unwrap()
}

/// A structured dtype of some 3 kB.
pub fn long_dtype() -> String {
    let fields: Vec<String> = (0..145).map(|i| format!("('field_{i:03}', '<f8')")).collect();
    format!("[{}]", fields.join(", "))
}

pub fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// The file of a frame that has its header.
pub fn header_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("chunks.b2frame") } else { path.to_owned() }
}

/// The offset of the number in the index of a header that says where the metalayer of this name has its content.
pub fn offset_field(header: &[u8], name: &str) -> usize {
    let entry = [&[0xa0 + u8::try_from(name.len()).unwrap()], name.as_bytes(), &[0xd2]].concat();
    header.windows(entry.len()).position(|bytes| bytes == entry).unwrap() + entry.len()
}

/// The folder of the library's package. The tests of the command are in a package below it.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    if package.ends_with("cli") { package.parent().unwrap() } else { package }
}

/// The folder of real files of this project.
pub fn data() -> PathBuf {
    root().join("tests/data")
}

/// The folder of a larger corpus of real files, and its manifest, where there is one: `B2ND_CORPUS` names it.
pub fn corpus() -> Option<(PathBuf, Vec<Value>)> {
    let beside = || root().join("../shared/corpus");
    let folder = std::env::var_os("B2ND_CORPUS").map_or_else(beside, PathBuf::from);
    let Ok(manifest) = fs::read_to_string(folder.join("manifest.json")) else {
        eprintln!("no corpus here: B2ND_CORPUS can name one");
        return None;
    };
    Some((folder, serde_json::from_str(&manifest).unwrap()))
}

/// Copies a file, or a folder with what is in it.
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

/// A copy of a frame of the project with so many bytes put before its trailer, so that it takes longer to copy.
pub fn with_gap(folder: &Path, name: &str, gap: usize) -> PathBuf {
    let path = folder.join(name);
    copy_tree(&data().join(name), &path);
    let mut file = fs::read(header_file(&path)).unwrap();
    let trailer = file.len() - 35;
    file.splice(trailer..trailer, std::iter::repeat_n(0xaa, gap));
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    fs::write(header_file(&path), file).unwrap();
    path
}

/// Removes a file, or a folder with what is in it.
pub fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

/// Holds a text against the snapshot of this name, in the folder `snapshots`.
#[track_caller]
pub fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => root().join("snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}
