//! What several tests need: structs as a user would derive them, and the folders of real files.

#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use b2nd_serde::{Meta, Shapes};
use serde_derive::{Deserialize, Serialize};
use serde_json::Value;

pub mod vectors;

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
    if env!("CARGO_PKG_NAME") == "b2nd" { package.parent().unwrap() } else { package }
}

/// The folder of real files of this project.
pub fn data() -> PathBuf {
    root().join("tests/data")
}

/// Whether this is the package as it is published, which leaves this file or folder of the repository out. The test
/// ends then, and is named: past libtest, which shows nothing of a test that does not fail.
pub fn is_left_out(path: &str) -> bool {
    // Cargo puts this file into every package, and git does not have it.
    let is_package = root().join("Cargo.toml.orig").exists();
    let is_left_out = is_package && !root().join(path).exists();
    if is_left_out {
        let test = std::thread::current();
        let test = test.name().unwrap_or("a test");
        let mut past_libtest = io::stderr().lock();
        writeln!(past_libtest, "{test}: skipped from here on, as the package has no {path}").unwrap();
    }
    is_left_out
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

/// A frame without chunks, with these metalayers and, in its trailer, these chunks.
pub fn frame_of(metalayers: &[(&str, &[u8])], vlmetalayers: &[(&str, &[u8])]) -> Vec<u8> {
    const SECTION: usize = 87;
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap()[..SECTION].to_vec();
    file.extend(section(SECTION, metalayers));
    let header_len = i32::try_from(file.len()).unwrap();
    let mut trailer = vec![0x94, 0x01];
    trailer.extend(section(2, vlmetalayers));
    let trailer_len = u32::try_from(trailer.len() + 23).unwrap();
    trailer.push(0xce);
    trailer.extend(trailer_len.to_be_bytes());
    trailer.push(0xd8);
    trailer.extend([0; 17]);
    file.extend(trailer);
    let frame_len = file.len() as u64;
    file[11..15].copy_from_slice(&header_len.to_be_bytes());
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file[30..38].fill(0);
    file[39..47].fill(0);
    file[68] = if vlmetalayers.is_empty() { 0xc2 } else { 0xc3 };
    file
}

/// Metalayers as they stand in a header or a trailer, `start` bytes after its first one.
fn section(start: usize, layers: &[(&str, &[u8])]) -> Vec<u8> {
    let count = u16::try_from(layers.len()).unwrap().to_be_bytes();
    let list: usize = 7 + layers.iter().map(|(name, _)| 1 + name.len() + 5).sum::<usize>();
    let mut bytes = vec![0x93, 0xcd];
    bytes.extend(u16::try_from(list & 0xffff).unwrap().to_be_bytes());
    bytes.push(0xde);
    bytes.extend(count);
    let mut offset = start + list + 3;
    for (name, content) in layers {
        bytes.push(0xa0 + u8::try_from(name.len()).unwrap());
        bytes.extend(name.as_bytes());
        bytes.push(0xd2);
        bytes.extend(i32::try_from(offset).unwrap().to_be_bytes());
        offset += 5 + content.len();
    }
    bytes.push(0xdc);
    bytes.extend(count);
    for (_, content) in layers {
        bytes.push(0xc6);
        bytes.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
        bytes.extend(*content);
    }
    bytes
}

/// A Blosc2 chunk of these bytes, not compressed.
pub fn stored_chunk(data: &[u8]) -> Vec<u8> {
    let mut chunk = chunk_header(data.len(), 32 + data.len());
    chunk[2] |= 0x02;
    chunk.extend(data);
    chunk
}

/// A frame without an array, of these bytes of chunks, which begin at these bytes of them. Each chunk has `nbytes` of data.
pub fn frame_of_chunks(chunks: &[u8], starts: &[usize], nbytes: usize) -> Vec<u8> {
    let mut file = frame_of(&[], &[]);
    let header_len = u32::from_be_bytes(file[11..15].try_into().unwrap()) as usize;
    let offsets: Vec<u8> = starts.iter().flat_map(|&start| (start as u64).to_le_bytes()).collect();
    let body = [chunks, &stored_chunk(&offsets)].concat();
    file.splice(header_len..header_len, body);
    for (at, number) in [(16, file.len()), (30, nbytes * starts.len()), (39, chunks.len())] {
        file[at..at + 8].copy_from_slice(&(number as u64).to_be_bytes());
    }
    file[58..62].copy_from_slice(&u32::try_from(nbytes).unwrap().to_be_bytes());
    file
}

/// A chunk of blocks of 8 bytes, all of them the same zeros.
pub fn chunk_with_a_table(blocks: usize) -> Vec<u8> {
    let end = 36 + 4 * blocks;
    let mut chunk = vec![0; end];
    chunk[..4].copy_from_slice(&[5, 1, 0x35, 1]);
    let starts = std::iter::repeat_n(end - 4, blocks);
    for (at, number) in
        [8 * blocks, 8, end].into_iter().chain(std::iter::repeat_n(0, 4)).chain(starts).enumerate()
    {
        chunk[4 + 4 * at..8 + 4 * at].copy_from_slice(&u32::try_from(number).unwrap().to_le_bytes());
    }
    chunk
}

/// A Blosc2 chunk of 32 bytes that stands for any number of zeros, in blocks of 97.
pub fn chunk_of_zeros(nbytes: usize) -> Vec<u8> {
    let mut chunk = chunk_header(nbytes, 32);
    chunk[31] = 0x10;
    chunk
}

fn chunk_header(nbytes: usize, cbytes: usize) -> Vec<u8> {
    let mut header = vec![0; 32];
    header[..4].copy_from_slice(&[5, 1, 0x05, 1]);
    for (at, number) in [(4, nbytes), (8, 97.min(nbytes)), (12, cbytes)] {
        header[at..at + 4].copy_from_slice(&i32::try_from(number).unwrap().to_le_bytes());
    }
    header
}

/// A copy of a file or folder of the project, which may be changed.
pub fn copy(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(Path::new(name).file_name().unwrap());
    copy_tree(&data().join(name), &path);
    (folder, path)
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

/// A copy of a frame of the project with this number of bytes put before its trailer, so that it takes longer to copy.
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

/// Shows something in every length that is too short for it. The error of the writer comes back, after all that fits.
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

/// Holds a text against the snapshot of this name, in the folder `snapshots`.
#[track_caller]
pub fn snapshot(name: &str, text: &str) {
    if is_left_out(&format!("snapshots/{name}.snap")) {
        return;
    }
    insta::with_settings!({
        snapshot_path => root().join("snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}
