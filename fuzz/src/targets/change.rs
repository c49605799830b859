//! Changes contiguous and sparse frames on disk: edits headers, rewrites frames, and updates arrays. An accepted change
//! adds no error to a frame. A refused change leaves all files as they were. After each commit of an `ArrayUpdate`, the
//! array has the same content as a `Model` with the same changes.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use b2nd_frame::{
    Array, ArrayUpdate, Check, CheckDepth, ChunkPlace, Error, ErrorKind, Filter, FindingCode, Frame, Rewrite,
    Severity, Vlmetalayer, check,
};

use crate::choices::Choices;
use crate::{folder, root, seeds};

const COUNT: usize = 64;

/// New dtypes, as texts of several lengths. The last text is not a valid dtype.
const DTYPES: [&str; 9] =
    ["<i4", "<f4", ">i4", "|u1", "<u2", "int32", "uint16", "[('x', '<f4')]", "no dtype"];

/// The chunk files that are put beside an input if the input is tried as the header file of a sparse frame.
static CHUNKS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let file = |number| root().join(format!("frame/tests/data/sparse.b2nd/{number:08X}.chunk"));
    (0..8).map_while(|number| fs::read(file(number)).ok()).collect()
});

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::choices(COUNT, &seeds::frames());
    // For each frame, there is a second seed, whose choices lead to `update`, which makes several commits.
    seeds.extend(seeds::choices(COUNT, &seeds::frames()).into_iter().map(|mut seed| {
        seed.splice(..2, [0, 4]);
        seed
    }));
    seeds
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
        // If a frame cannot be opened, `check` tries again for 10 ms. This is slow, so this target calls `check` for
        // only one in eight of these inputs.
        if choices.below(8) == 0 {
            let report = check(&path).expect("a file that can be read");
            assert!(report.frame.is_none() && report.findings.len() == 1);
        }
        assert!(Rewrite::new(&path, folder.path().join("new")).apply().is_err());
        return;
    };
    match choices.below(8) {
        0 | 1 => edit(&mut choices, frame, &file),
        4.. => update(&mut choices, &path),
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
        // A preview reads only the headers of the chunks, but a rewrite also reads their data. So a rewrite can fail
        // although its preview succeeded.
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

    // All metalayers except the array's are unchanged.
    assert_eq!(metalayers(frame), metalayers(&made));
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

/// The maximum size in bytes of all items of a model. A chunk has the same maximum size.
const MOST: i64 = 1 << 15;

/// The maximum number of items in an append, and in an array after a resize.
const MOST_NEW: u64 = 1 << 14;

/// The content that an array should have.
struct Model {
    shape: Vec<i64>,
    typesize: usize,
    /// `None` if the items cannot be read, are too many, or are changed by a filter.
    items: Option<Vec<u8>>,
    /// The name of each vlmetalayer, with the bytes of its chunk, or with the value that was set.
    vlmetalayers: Vec<(String, Result<Vec<u8>, u32>)>,
    /// All metalayers except the array's.
    metalayers: Vec<(String, Vec<u8>)>,
    /// The codes of the errors that the frame had before the changes.
    errors: BTreeSet<&'static str>,
}

fn is_array(name: &str) -> bool {
    ["b2nd", "caterva"].contains(&name)
}

fn metalayers(frame: &Frame<fs::File>) -> Vec<(String, Vec<u8>)> {
    let others = frame.metalayers().iter().filter(|layer| !is_array(layer.name()));
    others.map(|layer| (layer.name().to_owned(), layer.bytes().to_vec())).collect()
}

fn whole(shape: &[i64]) -> Vec<Range<u64>> {
    shape.iter().map(|&items| 0..items.unsigned_abs()).collect()
}

/// The position of each item of a region, in C order. `None` for an item outside the shape.
fn positions(shape: &[i64], region: &[Range<u64>]) -> Vec<Option<usize>> {
    // For an empty region, the function returns here. Such a region can have any length in its other dimensions, so the
    // code below could make too many positions.
    if region.iter().any(Range::is_empty) {
        return Vec::new();
    }
    region.iter().zip(shape).fold(vec![Some(0)], |starts, (range, &items)| {
        let position = |start: Option<usize>, at: u64| {
            let items = usize::try_from(items).expect("a small array");
            let at = usize::try_from(at).ok().filter(|&at| at < items)?;
            Some(start? * items + at)
        };
        starts.iter().flat_map(|&start| range.clone().map(move |at| position(start, at))).collect()
    })
}

impl Model {
    /// The model of the array at a path. `ArrayUpdate` must be able to open this array.
    fn of(path: &Path) -> Self {
        let errors = errors(path, CheckDepth::ChunkData).expect("an opened frame");
        let frame = Frame::open(path).expect("an opened frame");
        let shape = frame.array().expect("an array").expect("an array").shape().to_vec();
        let header = frame.header();
        let (typesize, nbytes, chunksize) = (header.typesize, header.nbytes, header.chunksize);
        let is_small = nbytes <= MOST && i64::from(chunksize) <= MOST && i64::from(typesize) <= 256;
        // These filters change items.
        let inexact = [Filter::TRUNC_PREC.id, Filter::INT_TRUNC.id];
        let is_exact = header.filters.iter().all(|filter| !inexact.contains(&filter.id));
        let items = Some(())
            .filter(|()| is_small && is_exact)
            .and_then(|()| Array::open(path).ok()?.whole().read().ok());
        let trailer = frame.trailer().expect("a checked trailer");
        let others = trailer.vlmetalayers().iter().filter(|layer| !layer.is_derived());
        Self {
            shape,
            typesize: usize::try_from(typesize).expect("a checked size"),
            items,
            vlmetalayers: others.map(|layer| (layer.name().to_owned(), Ok(layer.chunk().to_vec()))).collect(),
            metalayers: metalayers(&frame),
            errors,
        }
    }

    /// The items of a new shape. Items outside the shape of the model are zeros.
    fn resized(&self, shape: &[i64]) -> Option<Vec<u8>> {
        let size = self.typesize;
        let items = self.items.as_ref()?;
        let item = |at: Option<usize>| at.map_or(vec![0; size], |at| items[at * size..][..size].to_vec());
        Some(positions(&self.shape, &whole(shape)).into_iter().flat_map(item).collect())
    }

    fn write(&mut self, region: &[Range<u64>], new: &[u8]) {
        let Some(items) = &mut self.items else { return };
        for (at, item) in positions(&self.shape, region).into_iter().zip(new.chunks(self.typesize)) {
            let at = at.expect("a region of the array") * self.typesize;
            items[at..at + self.typesize].copy_from_slice(item);
        }
    }

    /// Asserts that the array at a path has the content of the model.
    fn check(&self, path: &Path) {
        let frame = Frame::open(path).expect("a frame after a commit");
        let array = frame.array().expect("an array").expect("an array");
        assert_eq!(array.shape(), self.shape);
        if let Some(items) = &self.items {
            let array = Array::open(path).expect("an array after a commit");
            let found = array.whole().read().expect("items after a commit");
            let other = found.iter().zip(items).position(|(found, expected)| found != expected);
            assert_eq!((found.len(), other), (items.len(), None), "other items in shape {:?}", self.shape);
        }
        assert_eq!(metalayers(&frame), self.metalayers);
        let trailer = frame.trailer().expect("a trailer after a commit");
        let has = |layer: &Vlmetalayer, (name, value): &(String, Result<Vec<u8>, u32>)| {
            layer.name() == name
                && match value {
                    Ok(chunk) => layer.chunk() == chunk,
                    Err(value) => layer.decode::<u32>().is_ok_and(|found| found == *value),
                }
        };
        let others: Vec<_> = trailer.vlmetalayers().iter().filter(|layer| !layer.is_derived()).collect();
        assert_eq!(others.len(), self.vlmetalayers.len());
        for expected in &self.vlmetalayers {
            assert!(others.iter().any(|layer| has(layer, expected)), "another vlmetalayer: {expected:?}");
        }
        let mut now = errors(path, CheckDepth::ChunkData).expect("an opened frame");
        // The errors of a damaged chunk also depend on the bytes around it in the file, so they are not compared.
        now.retain(|code| !code.starts_with("chunk-"));
        assert!(now.is_subset(&self.errors), "{now:?} after a commit, before {:?}", self.errors);
    }
}

/// Makes some commits.
fn update(choices: &mut Choices<'_>, path: &Path) {
    let before = contents(path);
    let Ok(mut update) = ArrayUpdate::open(path) else {
        assert_eq!(contents(path), before);
        return;
    };
    let mut model = Model::of(path);
    for _ in 0..3 {
        let before = contents(path);
        for _ in 0..choices.below(4) {
            if change(choices, &mut update, &mut model).is_err() {
                assert_eq!(update.meta().shape(), model.shape, "a refused change");
            }
        }
        if choices.below(8) == 0 {
            // Changes that are not committed are lost.
            drop(update);
            assert_eq!(contents(path), before);
            update = ArrayUpdate::open(path).expect("as before");
            model = Model { errors: model.errors, ..Model::of(path) };
            continue;
        }
        if let Err(error) = update.flush() {
            assert_ne!(error.kind(), ErrorKind::Changing, "{error}: {:?}", error.finding());
            assert_eq!(contents(path), before, "{error}");
            return;
        }
        assert_eq!(
            contents(path.parent().expect("a folder"))
                .iter()
                .filter(|(name, _)| name.contains(".tmp"))
                .count(),
            0
        );
        model.check(path);
    }
}

/// Makes a change of an array and of its model.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of change")]
fn change(choices: &mut Choices<'_>, update: &mut ArrayUpdate, model: &mut Model) -> Result<(), Error> {
    let (shape, size) = (model.shape.clone(), model.typesize);
    let what = choices.below(8);
    let value = choices.byte();
    let count = |region: &[Range<u64>]| {
        region.iter().fold(1, |count: u64, range| count.saturating_mul(range.end - range.start))
    };
    let bytes = |region: &[Range<u64>]| {
        let count = usize::try_from(count(region)).expect("few items") * size;
        // In half of the cases, all bytes are equal, because a chunk of equal bytes becomes a special chunk.
        (0..count)
            .map(|at| if value & 1 == 0 { value } else { (at % 251).to_le_bytes()[0] ^ value })
            .collect::<Vec<u8>>()
    };
    // The items are changed only if the model has them.
    match what {
        0..3 if model.items.is_some() => {
            let part = |&items: &i64| {
                let items = items.unsigned_abs();
                let start = choices.below(256) as u64 % (items + 1);
                start..start + choices.below(256) as u64 % (items + 1 - start)
            };
            let region: Vec<_> = shape.iter().map(part).collect();
            let items = bytes(&region);
            update.write(&region, &items)?;
            model.write(&region, &items);
        }
        3 | 4 if model.items.is_some() && !shape.is_empty() => {
            let axis = choices.below(shape.len());
            let mut region = whole(&shape);
            region[axis] = region[axis].end..region[axis].end + choices.below(4) as u64;
            // An array without items can have any length in another dimension, so an append can have too many items.
            if !(1..=MOST_NEW).contains(&count(&region)) {
                return Ok(());
            }
            let items = bytes(&region);
            update.append(axis, &items)?;
            let mut longer = shape;
            longer[axis] = i64::try_from(region[axis].end).expect("a small array");
            (model.items, model.shape) = (model.resized(&longer), longer);
            model.write(&region, &items);
        }
        5 if model.items.is_some() => {
            let other = |&items: &i64| items.saturating_add([-3, -1, 0, 1, 2][choices.below(5)]).max(0);
            let other: Vec<_> = shape.iter().map(other).collect();
            if count(&whole(&other)) > MOST_NEW {
                return Ok(());
            }
            update.resize(&other)?;
            (model.items, model.shape) = (model.resized(&other), other);
        }
        6 => {
            let name = choices.one(&["a", "b", "unit", "blosc2_test"]);
            update.set_vlmetalayer(name, &u32::from(value))?;
            let new = Err(u32::from(value));
            match model.vlmetalayers.iter_mut().find(|(other, _)| other == name) {
                Some((_, old)) => *old = new,
                None => model.vlmetalayers.push((name.into(), new)),
            }
        }
        _ => {
            let names = model.vlmetalayers.iter().map(|(name, _)| name.clone());
            let names: Vec<String> = names.chain(["none".into()]).collect();
            let name = &names[choices.below(names.len())];
            // If the name in the frame is not UTF-8 or contains a NUL, this name differs from it, and nothing is
            // removed.
            if update.remove_vlmetalayer(name) {
                let before = model.vlmetalayers.len();
                model.vlmetalayers.retain(|(other, _)| other != name);
                // In a damaged trailer, several vlmetalayers can have this name. All of them are removed.
                assert!(model.vlmetalayers.len() < before, "another vlmetalayer than {name} is removed");
            }
        }
    }
    Ok(())
}

fn contents(path: &Path) -> Vec<(String, Vec<u8>)> {
    if path.is_dir() { files(path) } else { vec![(String::new(), fs::read(path).expect("a file"))] }
}

/// For each chunk, its special value if it is not stored, and its header if it has one.
fn chunks(path: &Path) -> Vec<String> {
    let frame = Frame::open(path).expect("a written frame");
    let entries: Vec<_> =
        frame.chunks().expect("a written index").collect::<Result<_, _>>().expect("a written index");
    let mut chunks = frame.chunks().expect("a written index");
    let header = |entry| chunks.header(entry).expect("a chunk that was copied");
    let headers: Vec<_> = entries.iter().map(header).collect();
    // A chunk gets another offset or another file when it is copied.
    let special = |place| if let ChunkPlace::Special(value) = place { Some(value) } else { None };
    entries
        .iter()
        .zip(headers)
        .map(|(entry, header)| format!("{:?} {header:?}", special(entry.place)))
        .collect()
}
