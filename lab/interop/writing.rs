//! This project writes frames, which python-blosc2 and C-Blosc2 read and change.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use crate::{converse, python, seed};
use b2nd_chunk::{CParams, Compressor};
use b2nd_frame::{
    Check, CheckDepth, Codec, Filter, Finding, FindingCode, Frame, FrameBuilder, FrameWriter, Severity,
    SpecialValue, SplitMode,
};
use b2nd_lab::vectors::hex;
use b2nd_lab::{remove, unhex};
use b2nd_serde::{Meta, Shapes};
use fastrand::Rng;
use serde_json::Value;

/// The offset of a frame that is written into a file after other bytes.
const OFFSET: u64 = 100;

/// An array that `writing.py` asks for.
struct Asked<'a>(&'a Value);

impl Asked<'_> {
    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap()
    }

    fn number<N: TryFrom<u64, Error: std::fmt::Debug>>(&self, name: &str) -> N {
        self.0[name].as_u64().unwrap().try_into().unwrap()
    }

    fn dimensions<N: TryFrom<i64, Error: std::fmt::Debug>>(&self, name: &str) -> Vec<N> {
        let dimensions = self.0[name].as_array().unwrap().iter();
        dimensions.map(|dimension| dimension.as_i64().unwrap().try_into().unwrap()).collect()
    }

    fn meta(&self) -> Meta {
        let [chunkshape, blockshape] = ["chunkshape", "blockshape"].map(|name| self.dimensions(name));
        let shapes =
            Shapes { shape: &self.dimensions("shape"), chunkshape: &chunkshape, blockshape: &blockshape };
        Meta::new(shapes, self.text("dtype")).unwrap()
    }

    fn filters(&self) -> Vec<u8> {
        self.dimensions("filters")
    }

    fn split_mode(&self) -> SplitMode {
        match self.number("split_mode") {
            1 => SplitMode::Always,
            2 => SplitMode::Never,
            3 => SplitMode::Auto,
            4 => SplitMode::ForwardCompatible,
            other => panic!("split mode {other}"),
        }
    }

    fn builder(&self) -> FrameBuilder {
        let filters: Vec<_> = self.filters().into_iter().map(|id| Filter { id, meta: 0 }).collect();
        let meta = self.meta();
        let is_known = meta.parse_dtype().is_ok_and(|dtype| dtype.is_some());
        let mut builder = FrameBuilder::new(meta);
        if !is_known {
            builder = builder.typesize(self.number("typesize"));
        }
        builder = builder
            .codec(Codec(self.number("codec")))
            .level(self.number("level"))
            .split_mode(self.split_mode())
            .filters(&filters)
            .uses_dictionary(self.0["uses_dictionary"].as_bool().unwrap());
        for layer in self.0["metalayers"].as_array().unwrap() {
            let name = layer["name"].as_str().unwrap();
            builder = match layer["bytes"].as_str() {
                Some(bytes) => builder.metalayer_bytes(name, &unhex(bytes)),
                None => builder.metalayer(name, &layer["value"]),
            };
        }
        for layer in self.0["vlmetalayers"].as_array().unwrap() {
            let name = layer["name"].as_str().unwrap();
            builder = match layer["bytes"].as_str() {
                Some(chunk) => builder.vlmetalayer_chunk(name, &unhex(chunk)),
                None => builder.vlmetalayer(name, &layer["value"]),
            };
        }
        builder
    }

    /// The items of a chunk, block after block.
    fn chunk(&self, number: u64) -> Vec<u8> {
        let typesize = self.number("typesize");
        let geometry = self.meta().geometry().unwrap();
        let mut chunk = vec![0; geometry.chunk_nbytes(typesize).unwrap()];
        let items = unhex(self.text("items"));
        geometry.chunk(number).unwrap().gather(&items, typesize, &mut chunk).unwrap();
        chunk
    }

    fn compressed(&self, number: u64) -> Vec<u8> {
        let typesize: usize = self.number("typesize");
        let block_items = usize::try_from(self.meta().geometry().unwrap().block_nitems()).unwrap();
        let mut params = CParams::new(typesize);
        params.blocksize = block_items * typesize;
        params.codec = match Codec(self.number("codec")) {
            Codec::LZ4HC => Codec::LZ4,
            codec => codec,
        };
        params.clevel = self.number("level");
        params.splitmode = self.split_mode();
        params.filters = Default::default();
        for (slot, id) in params.filters.iter_mut().rev().zip(self.filters().into_iter().rev()) {
            slot.id = id;
        }
        let mut chunk = Vec::new();
        Compressor::new(params).unwrap().compress_into(&self.chunk(number), &mut chunk).unwrap();
        chunk
    }

    /// The ready-made chunk that a step writes, compressed by python-blosc2 or by this project, or `None` if the step
    /// writes no such chunk.
    fn ready(&self, step: &Value) -> Option<Vec<u8>> {
        match step[1].as_str().unwrap() {
            "chunk" => Some(unhex(step[2].as_str().unwrap())),
            "compressed" => Some(self.compressed(step[0].as_u64().unwrap())),
            _ => None,
        }
    }

    fn fill<W: Write + Seek + Send>(&self, mut writer: FrameWriter<W>) -> W {
        if let Some(seed) = self.0["regions"].as_u64() {
            return self.fill_by_regions(writer, &mut Rng::with_seed(seed));
        }
        for step in self.0["steps"].as_array().unwrap() {
            let number = step[0].as_u64().unwrap();
            if let Some(chunk) = self.ready(step) {
                writer.write_chunk(number, &chunk).unwrap();
                continue;
            }
            match (step[1].as_str().unwrap(), step[2].as_str()) {
                ("stored", None) => writer.write_uncompressed(number, &self.chunk(number)).unwrap(),
                ("repeat", Some(item)) => writer.write_repeated(number, &unhex(item)).unwrap(),
                ("special", Some(name)) => writer.write_special(number, special(name)).unwrap(),
                _ => panic!("{step}"),
            }
        }
        if let Some(name) = self.0["fill"].as_str() {
            writer.fill_missing(special(name)).unwrap();
        }
        writer.finish().unwrap()
    }

    fn fill_by_regions<W: Write + Seek + Send>(&self, writer: FrameWriter<W>, rng: &mut Rng) -> W {
        let items = unhex(self.text("items"));
        let mut array = writer.into_array_writer().unwrap().threads(rng.usize(1..4));
        let shape: Vec<u64> = self.dimensions("shape");
        let mut regions = vec![shape.iter().map(|&items| 0..items).collect::<Vec<Range<u64>>>()];
        // The region of an array without dimensions has only one item, so it is not cut into smaller regions.
        let ncuts = if shape.is_empty() { 0 } else { rng.usize(..8) };
        for _ in 0..ncuts {
            let region = regions.swap_remove(rng.usize(..regions.len()));
            let axis = rng.usize(..region.len());
            let cut = rng.u64(region[axis].start..=region[axis].end);
            let (mut first, mut second) = (region.clone(), region);
            (first[axis].end, second[axis].start) = (cut, cut);
            regions.extend([first, second]);
        }
        rng.shuffle(&mut regions);
        for region in regions {
            let of_region = slice_of(&items, &shape, &region);
            array.write(&region, &of_region).unwrap();
        }
        array.finish().unwrap()
    }

    fn write(&self) {
        let (builder, path) = (self.builder(), self.text("path"));
        match self.text("into") {
            "file" => drop(self.fill(builder.create(path).unwrap()).persist().unwrap()),
            "directory" => drop(self.fill(builder.create_sparse(path).unwrap()).persist().unwrap()),
            "vec" => {
                let mut steps: Vec<_> = self.0["steps"].as_array().unwrap().iter().collect();
                steps.sort_by_key(|step| step[0].as_u64());
                let frame = builder.to_vec(steps.into_iter().map(|step| self.ready(step).unwrap())).unwrap();
                fs::write(path, frame).unwrap();
            }
            into => {
                let mut file = File::create_new(path).unwrap();
                if into == "offset" {
                    file.seek(SeekFrom::Start(OFFSET)).unwrap();
                }
                let mut file = self.fill(builder.write_to(file).unwrap());
                let after = file.stream_position().unwrap();
                assert_eq!(after, file.metadata().unwrap().len(), "the position is after the frame");
            }
        }
    }
}

/// The items of a region of an array.
fn slice_of(items: &[u8], shape: &[u64], region: &[Range<u64>]) -> Vec<u8> {
    let Some((range, inner)) = region.split_first() else { return items.into() };
    let row = items.len() / usize::try_from(shape[0]).unwrap().max(1);
    let rows = items.chunks(row.max(1)).enumerate();
    let rows = rows.filter(|(index, _)| range.contains(&(*index as u64)));
    rows.flat_map(|(_, row)| slice_of(row, &shape[1..], inner)).collect()
}

fn special(name: &str) -> SpecialValue {
    match name {
        "zeros" => SpecialValue::Zeros,
        "nan" => SpecialValue::Nan,
        "uninitialized" => SpecialValue::Uninitialized,
        other => panic!("{other}"),
    }
}

/// Asserts that a check that decompresses every chunk finds nothing, or only warnings that are expected.
fn assert_healthy(path: &Path, offset: u64, may_warn: bool) {
    let check = Check::new(CheckDepth::ChunkData);
    let report = if offset == 0 {
        check.run_path(path).unwrap()
    } else {
        check.run(&Frame::read_at(File::open(path).unwrap(), offset).unwrap()).unwrap()
    };
    let counts =
        |finding: &Finding| !(may_warn && finding.severity() == Severity::Warning || is_allowed(finding));
    let findings: Vec<_> = report.findings.iter().filter(|finding| counts(finding)).collect();
    assert!(findings.is_empty() && report.skipped.is_empty(), "{findings:?}, {:?}", report.skipped);
}

/// Whether a warning is expected: some arrays have many dimensions, or chunks that are never written.
fn is_allowed(finding: &Finding) -> bool {
    [FindingCode::NeverWritten, FindingCode::NoData, FindingCode::HighRank].contains(&finding.code())
}

/// How often each value of a field occurred in a test, such as each number of dimensions, or the name of each
/// operation.
type Counts = BTreeMap<String, usize>;

fn count(counts: &mut Counts, names: &Value) {
    let names = names.as_array().map_or_else(|| vec![names], |names| names.iter().collect());
    for name in names {
        let name = name.as_str().map_or_else(|| name.to_string(), Into::into);
        *counts.entry(name).or_default() += 1;
    }
}

/// `B2ND_CASES=5000 lab/run interop` tries more arrays. `B2ND_SEED=...` tries the same arrays again, and
/// `B2ND_FIRST=...` begins at the array with this number.
#[test]
fn arrays_that_are_written_here_are_read_and_changed_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let cases = env::var("B2ND_CASES").unwrap_or_else(|_| "400".into());
    let seed = seed();
    let mut script = python("writing.py");
    script.arg(folder.path()).args([&cases, &seed.to_string()]).args(env::var_os("B2ND_FIRST"));
    let mut counts = ["ndim", "into", "source", "kinds", "done"].map(|name| (name, Counts::new()));
    converse(&mut script, |line| {
        if let Some(path) = line["verified"].as_str().map(Path::new) {
            let offset = if line["into"] == "offset" { OFFSET } else { 0 };
            assert_healthy(path, offset, true);
            for (name, counts) in &mut counts {
                count(counts, &line[*name]);
            }
            remove(path);
        } else {
            let asked = Asked(&line);
            asked.write();
            let offset = if asked.text("into") == "offset" { OFFSET } else { 0 };
            assert_healthy(Path::new(asked.text("path")), offset, false);
        }
        String::new()
    });
    println!("{cases} arrays of seed {seed}: {counts:?}");
}

/// A frame of one chunk, as HDF5 stores it.
fn frame_for_hdf5(asked: &Asked) -> Vec<u8> {
    if asked.0["is_stored"] == false {
        return FrameBuilder::new(asked.meta()).to_vec([asked.compressed(0)]).unwrap();
    }
    let mut writer = FrameBuilder::new(asked.meta()).write_to(Cursor::new(Vec::new())).unwrap();
    writer.write_uncompressed(0, &asked.chunk(0)).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn frames_of_one_chunk_are_chunks_of_hdf5() {
    let folder = tempfile::tempdir().unwrap();
    let seed = seed().to_string();
    let mut chunks = 0;
    let mut script = python("hdf5.py");
    script.arg(folder.path().join("chunks.h5")).args(["60", &seed]);
    converse(&mut script, |line| {
        chunks += 1;
        hex(&frame_for_hdf5(&Asked(&line)))
    });
    println!("{chunks} frames of seed {seed} in HDF5");
}
