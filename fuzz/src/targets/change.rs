//! Changes contiguous and sparse frames on disk in every way. An accepted change adds no error to a frame. A refused
//! change leaves all files as they were.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use b2nd_frame::{Check, CheckDepth, ErrorKind, FindingCode, Frame, Rewrite, Severity, check};

use crate::choices::Choices;
use crate::{folder, root, seeds};

const COUNT: usize = 16;

/// New dtypes, as texts of several lengths. The last text is not a valid dtype.
const DTYPES: [&str; 9] =
    ["<i4", "<f4", ">i4", "|u1", "<u2", "int32", "uint16", "[('x', '<f4')]", "no dtype"];

/// The chunk files that are put beside an input if the input is tried as the header file of a sparse frame.
static CHUNKS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let file = |number| root().join(format!("frame/tests/data/sparse.b2nd/{number:08X}.chunk"));
    (0..8).map_while(|number| fs::read(file(number)).ok()).collect()
});

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::choices(COUNT, &seeds::frames())
}

/// The codes of all errors that a check of a frame finds, or `None` if the frame cannot be opened.
fn errors(path: &Path, depth: CheckDepth) -> Option<BTreeSet<&'static str>> {
    let report = Check::new(depth).run(&Frame::open(path).ok()?).expect("files that nobody writes");
    let errors = report.findings.iter().filter(|finding| finding.severity() == Severity::Error);
    Some(errors.map(|finding| finding.code().name()).collect())
}

/// The names and the bytes of all files in a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            files.push((name.clone(), Vec::new()));
            files.extend(
                self::files(&path).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)),
            );
        } else {
            files.push((name, fs::read(&path).expect("a readable file")));
        }
    }
    files.sort();
    files
}

pub fn run(data: &[u8]) {
    let (mut choices, bytes) = Choices::split(data, COUNT);
    let folder = folder();
    let path = folder.path().join("array.b2nd");
    let is_directory =
        Frame::parse(bytes).is_ok_and(|frame| frame.header().is_sparse()) ^ (choices.byte() > 240);
    let file = if is_directory {
        fs::create_dir(&path).expect("room");
        for (number, chunk) in (0..).zip(&*CHUNKS) {
            fs::write(path.join(format!("{number:08X}.chunk")), chunk).expect("room");
        }
        path.join("chunks.b2frame")
    } else {
        path.clone()
    };
    fs::write(&file, bytes).expect("room");
    let Ok(frame) = Frame::open(&path) else {
        // If a frame cannot be opened, `check` tries again for 10 ms. That is slow, so this target calls it for only
        // one in eight such inputs.
        if choices.below(8) == 0 {
            let report = check(&path).expect("a file that can be read");
            assert!(report.frame.is_none() && report.findings.len() == 1);
        }
        assert!(Rewrite::new(&path, folder.path().join("new")).apply().is_err());
        return;
    };
    match choices.below(4) {
        0 | 1 => edit(&mut choices, frame, &file),
        _ => rewrite(&mut choices, &frame, &path, folder.path()),
    }
}

fn edit(choices: &mut Choices<'_>, mut frame: Frame<fs::File>, file: &Path) {
    let path = if frame.path() == Some(file) { file } else { frame.path().expect("opened by its path") }
        .to_path_buf();
    let opened = path.parent().filter(|_| path.ends_with("chunks.b2frame")).unwrap_or(&path).to_path_buf();
    let (before, was) = (fs::read(file).expect("a file"), errors(&opened, CheckDepth::ChunkHeaders));
    let shape = frame.array().ok().flatten().map(|array| array.shape().to_vec());
    let layer = frame.metalayers().get(choices.below(16)).cloned();
    let (header, what) = (frame.header_bytes().to_vec(), choices.byte());
    let mut edit = frame.edit();
    let mut wanted_shape = None;
    if let Some(mut shape) = shape.filter(|_| what & 1 == 1) {
        for items in &mut shape {
            *items = items.wrapping_add([0, 1, -1, 2, 0, 0, i64::MAX, -100][choices.below(8)]);
        }
        edit = edit.shape(&shape);
        wanted_shape = Some(shape);
    }
    if what & 2 == 2 {
        edit = edit.dtype(choices.one(&DTYPES));
    }
    if let Some(layer) = layer.filter(|_| what & 4 == 4) {
        let mut value = layer.bytes().to_vec();
        if let Some(at) = value.len().checked_sub(1).map(|last| choices.below(256).min(last)) {
            value[at] = choices.byte();
        }
        edit = edit.metalayer(layer.name(), &value);
    }
    let preview = edit.preview();
    let applied = edit.apply();
    let after = fs::read(file).expect("a file");
    match (&preview, &applied) {
        (Ok(preview), Ok(())) => {
            assert_eq!(preview.header_bytes(), frame.header_bytes());
            assert!(after.starts_with(preview.header_bytes()) && after.len() == before.len());
            assert_eq!(after[header.len()..], before[header.len()..], "only the header changes");
            let now = errors(&opened, CheckDepth::ChunkHeaders).expect("a changed frame can be opened");
            let was = was.expect("an opened frame");
            assert!(now.is_subset(&was), "{now:?} after a change, before {was:?}");
            if let Some(shape) = wanted_shape {
                assert_eq!(frame.array().ok().flatten().map(|array| array.shape().to_vec()), Some(shape));
            }
        }
        (Err(preview), Err(applied)) => {
            assert_eq!(preview.to_string(), applied.to_string());
            assert_eq!(after, before, "{applied}");
        }
        (preview, applied) => panic!("{:?} in the preview, then {applied:?}", preview.as_ref().err()),
    }
}

fn rewrite(choices: &mut Choices<'_>, frame: &Frame<fs::File>, path: &Path, folder: &Path) {
    let new = if choices.below(3) == 0 { path.to_path_buf() } else { folder.join("new.b2nd") };
    let types = [None, None, Some(false), Some(true)];
    let (is_sparse, dtype) = (choices.one(&types), (choices.below(3) > 0).then(|| choices.one(&DTYPES)));
    let rewrite = |from: &Path, to: &Path, is_sparse: Option<bool>| {
        let rewrite = Rewrite::new(from, to);
        let rewrite = dtype.into_iter().fold(rewrite, Rewrite::dtype);
        is_sparse.into_iter().fold(rewrite, Rewrite::sparse)
    };
    let before = files(folder);
    let was = errors(path, CheckDepth::ChunkHeaders).expect("an opened frame");
    let preview = rewrite(path, &new, is_sparse).preview();
    let made = match (preview, rewrite(path, &new, is_sparse).apply()) {
        (Ok(preview), Ok(made)) => {
            assert_eq!(preview.header_bytes(), made.header_bytes(), "the preview is another header");
            made
        }
        // A rewrite reads the chunks, but a preview does not. So a rewrite can fail although its preview succeeded.
        (_, Err(error)) => {
            assert_ne!(error.kind(), ErrorKind::Changing, "{error}");
            assert_eq!(files(folder), before, "{error}");
            return;
        }
        (Err(error), Ok(_)) => panic!("the preview says {error}, but it was rewritten"),
    };
    if new != path {
        assert!(before.iter().all(|old| files(folder).contains(old)), "the old frame has changed");
    }
    assert!(!files(folder).iter().any(|(name, _)| name.starts_with(".b2nd-")), "something is left over");
    let now = errors(&new, CheckDepth::ChunkHeaders).expect("a rewritten frame can be opened");
    assert!(now.is_subset(&was), "{now:?} after a rewrite, before {was:?}");
    assert_eq!(errors(&new, CheckDepth::Frame), Some(BTreeSet::new()), "what is rewritten has no errors");

    // Other metalayers and the vlmetalayers are unchanged.
    let other = |name: &str| !["b2nd", "caterva"].contains(&name);
    let others = |frame: &Frame<fs::File>| -> Vec<(String, Vec<u8>)> {
        let others = frame.metalayers().iter().filter(|layer| other(layer.name()));
        others.map(|layer| (layer.name().to_owned(), layer.bytes().to_vec())).collect()
    };
    assert_eq!(others(frame), others(&made));
    if was.contains(FindingCode::Truncated.name()) {
        return;
    }
    if matches!(made.array(), Ok(Some(_))) {
        // A second rewrite changes nothing.
        let again = folder.join("again.b2nd");
        let twice = rewrite(&new, &again, None).apply().expect("what was rewritten");
        assert_eq!(twice.header_bytes(), made.header_bytes());
        assert_eq!(contents(&again), contents(&new));
    }

    // Converts the frame to the other type and back. The chunks stay the same.
    let (there, back) = (folder.join("there.b2nd"), folder.join("back.b2nd"));
    let is_sparse = made.header().is_sparse();
    if rewrite(&new, &there, Some(!is_sparse)).apply().is_ok() {
        rewrite(&there, &back, Some(is_sparse)).apply().expect("what was made of the other type");
        let now = errors(&back, CheckDepth::ChunkHeaders).expect("a rewritten frame can be opened");
        assert!(now.is_subset(&was), "{now:?} after two rewrites, before {was:?}");
        assert_eq!(chunks(&new), chunks(&back));
        assert_eq!(chunks(&new).len(), chunks(&there).len());
    }
}

fn contents(path: &Path) -> Vec<(String, Vec<u8>)> {
    if path.is_dir() { files(path) } else { vec![(String::new(), fs::read(path).expect("a file"))] }
}

/// The header of each chunk, or the value of a chunk without a header.
fn chunks(path: &Path) -> Vec<String> {
    let frame = Frame::open(path).expect("a written frame");
    let entries: Vec<_> =
        frame.chunks().expect("a written index").collect::<Result<_, _>>().expect("a written index");
    let mut chunks = frame.chunks().expect("a written index");
    let header = |entry| chunks.header(entry).expect("a chunk that was copied");
    let headers: Vec<_> = entries.iter().map(header).collect();
    entries.iter().zip(headers).map(|(entry, header)| format!("{} {header:?}", entry.is_stored())).collect()
}
