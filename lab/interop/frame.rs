//! Reads frames that python-blosc2 has written, and frames to which it writes at the same time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{cases, is_long, python, seed};
use b2nd_frame::{Check, CheckDepth, ChunkEntry, ChunkHeader, ChunkPlace, Report, SpecialValue};
use b2nd_frame::{Error, ErrorKind, Finding, FindingCode, Frame, Severity, check};
use serde_json::{Value, json};

/// A process that resizes an array again and again. It ends when this value is dropped.
struct Resizing(Child);

impl Resizing {
    fn begin(path: &Path, shapes: &[[i64; 2]], is_sparse: bool, locking: bool) -> Self {
        let mut command = python("resize_on_and_on.py");
        command
            .arg(path)
            .arg(json!(shapes).to_string())
            .arg(if is_sparse { "sparse" } else { "contiguous" })
            .env("BLOSC_LOCKING", if locking { "1" } else { "0" });
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        Self(child)
    }
}

impl Drop for Resizing {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// Opens an array while another process resizes it, and counts the outcomes: a shape that the array has between two
/// resizes, an inconsistent shape, or an error of the kind "changing".
fn watch(shapes: &[[i64; 2]], is_sparse: bool, locking: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    let resizing = Resizing::begin(&path, shapes, is_sparse, locking);
    let sidecar = if is_sparse { "array.b2nd/.b2lock" } else { "array.b2nd.b2lock" };
    assert_eq!(folder.path().join(sidecar).exists(), locking);

    let mut at_rest = shapes.to_vec();
    if !locking {
        // python-blosc2 first shrinks the array and then grows it. Without a lock, other processes also see the shape
        // between these two steps.
        let next = shapes.iter().cycle().skip(1);
        at_rest.extend(shapes.iter().zip(next).map(|(a, b)| [a[0].min(b[0]), a[1].min(b[1])]));
    }
    let (mut single, mut stable, mut checked) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let start = Instant::now();
    let (enough, most) = (Duration::from_millis(cases(2000) as u64), Duration::from_secs(120));
    // On a busy machine the writer may hold the lock nearly all the time. So the loop goes on until it has seen the
    // array at rest.
    while start.elapsed() < enough || !stable.contains_key("at rest") && start.elapsed() < most {
        let seen = Frame::open(&path).map(|frame| is_at_rest(&frame, &at_rest));
        *single.entry(word(&seen)).or_insert(0) += 1;
        let seen =
            Frame::open_stable(&path, Duration::from_secs(2)).map(|frame| is_at_rest(&frame, &at_rest));
        assert!(!matches!(seen, Ok(false)), "a shape that never was");
        *stable.entry(word(&seen)).or_insert(0) += 1;
        // A check waits between its reads, so it runs only in one of 256 rounds.
        if fastrand::u8(..) == 0 {
            // Chunks of zeros are not stored, so the check may warn that chunks were never written.
            let is_warning = |finding: &Finding| finding.severity() == Severity::Warning;
            let seen = check(&path).map(|report| report.findings.iter().all(is_warning));
            assert!(!matches!(seen, Ok(false)), "{:?}", check(&path));
            *checked.entry(word(&seen)).or_insert(0) += 1;
        }
    }
    drop(resizing);
    println!(
        "{shapes:?}, sparse {is_sparse}, locking {locking}: open {single:?}, open_stable {stable:?}, check {checked:?}"
    );
    assert!(stable["at rest"] > 0);
    // After the writer has ended, the array opens without waiting.
    assert!(is_at_rest(&Frame::open_stable(&path, Duration::ZERO).unwrap(), &at_rest));
}

fn word(seen: &Result<bool, Error>) -> &'static str {
    match seen {
        Ok(true) => "at rest",
        Ok(false) => "never was",
        Err(error) => match error.kind() {
            ErrorKind::Changing => "changing",
            ErrorKind::Locked => "locked",
            _ => "refused",
        },
    }
}

/// Returns true if the array has one of these shapes, and as many chunks as this shape needs.
fn is_at_rest<R>(frame: &Frame<R>, shapes: &[[i64; 2]]) -> bool {
    let Ok(Some(array)) = frame.array() else { return false };
    let nchunks = array.geometry().map(|geometry| geometry.nchunks()).ok();
    shapes.iter().any(|shape| array.shape() == shape) && nchunks == frame.header().nchunks()
}

#[test]
fn an_array_that_is_being_resized_is_seen_at_rest_or_not_at_all() {
    let all = [(false, false), (true, true), (false, true), (true, false)];
    let (first, second) = if is_long() { (&all[..], &all[..]) } else { all.split_at(2) };
    // A short run tries each kind of file with one of the two lists of shapes. The shapes of the first list need the
    // same number of chunks along each dimension, so a resize changes only the shape. The shapes of the second list
    // need different numbers of chunks, so a resize adds or removes many chunks.
    for (shapes, kinds) in
        [(&[[261, 261], [263, 264]][..], first), (&[[40, 40], [120, 80], [8, 200]], second)]
    {
        for &(is_sparse, locking) in kinds {
            watch(shapes, is_sparse, locking);
        }
    }
}

#[test]
fn vlmetalayers_have_the_values_that_python_blosc2_reads() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stored, mut decompressed) = (0, 0);
    let seed = u64::from(seed());
    for file in 0..10 {
        let path = folder.path().join(format!("{file}.b2nd"));
        let seed = (seed + file).to_string();
        let output = python("vlmeta.py").arg(&path).arg(&seed).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success());
        let expected: BTreeMap<String, Value> = serde_json::from_slice(&output.stdout).unwrap();

        let trailer = Frame::open(&path).unwrap().trailer().unwrap();
        assert_eq!(trailer.vlmetalayers().len(), expected.len());
        for layer in trailer.vlmetalayers() {
            assert_eq!(
                layer.decode::<Value>().unwrap(),
                expected[layer.name()],
                "{}, seed {seed}",
                layer.name()
            );
            let is_stored = matches!(layer.value().unwrap(), Cow::Borrowed(_));
            *if is_stored { &mut stored } else { &mut decompressed } += 1;
        }
    }
    println!("vlmetalayers as python-blosc2 reads them: {stored} stored, {decompressed} decompressed");
    assert!(stored > 10 && decompressed > 10);
}

/// A chunk as `chunks.py` describes it.
fn as_told(entry: &ChunkEntry, header: Option<ChunkHeader>) -> Value {
    let (kind, place) = match entry.place {
        ChunkPlace::Frame(place) | ChunkPlace::File(place) => {
            (header.and_then(|header| header.special()).map_or("stored", SpecialValue::name), place)
        }
        ChunkPlace::Special(value) => (value.name(), 0),
        _ => panic!("{entry:?}"),
    };
    let nbytes = header.map(|header| header.nbytes() as u64);
    assert!(nbytes.is_none() || entry.nbytes.is_none() || nbytes == entry.nbytes);
    let mut chunk = json!({ "kind": kind, "nbytes": nbytes.or(entry.nbytes) });
    if let Some(header) = header {
        chunk["cbytes"] = header.cbytes().into();
    }
    if kind == "stored" {
        chunk["place"] = place.into();
    }
    chunk
}

#[test]
fn chunks_are_what_python_blosc2_says_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let seed = seed().to_string();
    let output = python("chunks.py")
        .arg(folder.path())
        .args(["300", &seed])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "seed {seed}");
    let mut kinds = BTreeMap::new();
    let (mut files, mut all, mut unread, mut with_dictionary, mut missed) = (0, 0, 0, 0, 0);
    for line in output.stdout.lines() {
        let told: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let path = told["path"].as_str().unwrap();
        let frame = Frame::open(path).unwrap();
        let expected = told["chunks"].as_array().unwrap();
        let mut chunks = frame.chunks().unwrap();
        let mut found = Vec::new();
        while let Some(entry) = chunks.next().transpose().unwrap() {
            let chunk = as_told(&entry, chunks.header(&entry).unwrap());
            *kinds.entry(chunk["kind"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            found.push(chunk);
        }
        assert_eq!(&found, expected, "{path}, seed {seed}");
        let Report { findings: errors, counts, skipped, .. } =
            Check::new(CheckDepth::ChunkData).run_path(path).unwrap();
        assert_eq!(skipped, [], "{path}, seed {seed}");
        assert_eq!(counts.unwrap().total(), found.len() as u64, "{path}, seed {seed}");
        let errors: Vec<_> = errors.iter().filter(|finding| finding.severity() == Severity::Error).collect();
        // C-Blosc2 sets the flag of a dictionary in some chunks that are not compressed, and then mostly cannot read
        // these chunks: docs/upstream/incompressible_dictionary.md.
        let is_known = errors.iter().all(|finding| finding.code() == FindingCode::ChunkDictionary);
        assert!(is_known, "{path}, seed {seed}: {errors:?}");
        let flagged: Vec<_> = errors.iter().filter_map(|finding| finding.chunk()).collect();
        let cannot_read = told["unread"].as_array().unwrap();
        let is_found = cannot_read.iter().all(|number| flagged.contains(&number.as_u64().unwrap()));
        assert!(is_found, "{path}, seed {seed}: {flagged:?}, but python-blosc2 cannot read {cannot_read:?}");
        if told["without"].is_object() {
            missed += usize::from(is_file_missed(&told["without"]));
        }
        unread += cannot_read.len();
        with_dictionary += flagged.len();
        files += 1;
        all += found.len();
    }
    println!("{files} files with {all} chunks are told as python-blosc2 tells them: {kinds:?}");
    println!(
        "{with_dictionary} have the flag of a dictionary without one; python-blosc2 cannot read {unread} of them"
    );
    println!("{missed} copies miss a chunk file");
    assert!(files == 300 && kinds.len() == 5 && missed >= 30);
}

/// Returns true if a check reports the chunk file that was removed from a copy. python-blosc2 must fail to read a chunk
/// of the copy if, and only if, the check reports the file.
fn is_file_missed(copy: &Value) -> bool {
    let findings = check(copy["path"].as_str().unwrap()).unwrap().findings;
    let is_missed = findings.iter().any(|finding| finding.code() == FindingCode::ChunkFile);
    assert_eq!(is_missed, copy["unread"] != json!([]), "{copy}: {findings:?}");
    is_missed
}
