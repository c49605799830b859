//! The seeds of the targets: the inputs that are tried first, and then mutated.

use std::fs;
use std::path::{Path, PathBuf};

use b2nd_frame::Frame;

use crate::root;

/// The maximum length of a file that becomes a seed. Longer files are slow, and test nothing that short files do not
/// test.
const LONGEST: u64 = 8192;

/// All files below a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("a readable file")
}

/// The inputs in `corpus` for a target. Each of them once found a fault.
pub fn kept(target: &str) -> Vec<Vec<u8>> {
    files(&root().join("fuzz/corpus").join(target)).iter().map(|path| read(path)).collect()
}

fn data(is_wanted: impl Fn(&Path) -> bool) -> Vec<Vec<u8>> {
    let is_short = |path: &PathBuf| path.metadata().is_ok_and(|metadata| metadata.len() <= LONGEST);
    let wanted =
        files(&root().join("frame/tests/data")).into_iter().filter(is_short).filter(|path| is_wanted(path));
    wanted.map(|path| read(&path)).collect()
}

/// Whole frames.
pub fn frames() -> Vec<Vec<u8>> {
    let mut frames = data(|_| true);
    frames.retain(|bytes| Frame::parse(bytes).is_ok());
    frames
}

/// Zip files with frames, and frames with other bytes before and after them.
pub fn containers() -> Vec<Vec<u8>> {
    let zips = data(|path| path.extension().is_some_and(|extension| extension == "b2z"));
    let frames = frames();
    let pairs = frames.chunks(2).map(|pair| [b"before", &pair.concat()[..], b"b2frame\0"].concat());
    zips.into_iter().chain(pairs).collect()
}

/// Array metalayers of all layouts.
pub fn metalayers() -> Vec<Vec<u8>> {
    let mut layers = Vec::new();
    for frame in frames().iter().filter_map(|bytes| Frame::parse(bytes).ok()) {
        let Ok(Some(array)) = frame.array() else { continue };
        layers.push(array.metalayer().bytes().to_vec());
        let other = b2nd_serde::Layout::ALL
            .iter()
            .filter_map(|&layout| array.meta().clone().with_layout(layout).ok());
        layers.extend(other.map(|meta| b2nd_serde::to_vec(&meta).expect("a layout that the metalayer fits")));
    }
    layers.sort();
    layers.dedup();
    layers
}

/// The chunks of vlmetalayers, and the first data chunk of each frame.
pub fn chunks() -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    for bytes in frames() {
        let Ok(frame) = Frame::read_at(&bytes, 0) else { continue };
        if let Ok(trailer) = frame.trailer() {
            chunks.extend(trailer.vlmetalayers().iter().map(|layer| layer.chunk().to_vec()));
        }
        let first = bytes.get(frame.header().header_len..).unwrap_or_default();
        if let Some(header) = b2nd_frame::ChunkHeader::parse(first) {
            chunks.extend(first.get(..header.cbytes()).map(<[u8]>::to_vec));
        }
    }
    chunks.sort();
    chunks.dedup();
    chunks
}

/// Texts of dtypes. Some are from real files. The others are written by hand, several for each kind of dtype.
pub fn dtypes() -> Vec<Vec<u8>> {
    let real = read(&root().join("tests/data/dtypes/real_files.txt"));
    let lines = real.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec);
    let forms = [
        "<i4",
        "|u1",
        ">f8",
        "|S7",
        "<U3",
        "|V16",
        "<M8[25ns]",
        "<m8[D]",
        "bool",
        "float64",
        "datetime64[ns]",
        "bfloat16",
        "(2,)<f4",
        "('<f4', (2, 3))",
        "[('x', '<f4'), ('y', '>i2', (3,))]",
        "[(('title', 'name'), '|b1')]",
        "[('a', [('b', '<c16'), ('', '|V2')])]",
        "(numpy.record, [('r', '|u1')])",
        "{'names': ['a', 'b'], 'formats': ['<i4', '|u1'], 'offsets': [0, 8], 'itemsize': 16}",
        "{'names':['a'],'formats':['<i4'],'offsets':[4],'titles':['t'],'itemsize':8,'aligned':True}",
    ];
    lines.chain(forms.map(|form| form.as_bytes().to_vec())).collect()
}

/// Inputs of a target that makes choices. Each input begins with `count` random bytes for the choices, and ends with
/// one of the `rests`. Without `rests`, an input has only these bytes, and in the first input they are zeros.
pub fn choices(count: usize, rests: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut rng = fastrand::Rng::with_seed(16);
    let mut random =
        || (0..count).map(|_| if rng.bool() { rng.u8(0..8) } else { rng.u8(..) }).collect::<Vec<u8>>();
    if rests.is_empty() {
        return std::iter::once(vec![0; count]).chain((0..40).map(|_| random())).collect();
    }
    rests.iter().map(|rest| [&random()[..], rest].concat()).collect()
}
