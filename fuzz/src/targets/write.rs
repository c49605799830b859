//! New frames with any metalayers, and with chunks in any order. A check of the finished frame finds no errors, and the
//! frame has the chunks that the writer has accepted.

use std::collections::HashMap;
use std::io::{Cursor, Seek, Write};
use std::path::Path;

use b2nd_frame::{
    Check, CheckDepth, Codec, Filter, Frame, FrameBuilder, FrameWriter, NewFrame, ReadAt, Severity,
    SpecialValue, SplitMode,
};
use b2nd_serde::{Meta, Shapes};

use crate::choices::Choices;
use crate::{folder, seeds};

const COUNT: usize = 200;

const DTYPES: [&str; 8] =
    ["|u1", "<i4", "<f8", "|b1", "<U3", "[('x', '<i2'), ('y', '|u1')]", "|S300", "what"];

const SPECIAL: [SpecialValue; 4] =
    [SpecialValue::Zeros, SpecialValue::Nan, SpecialValue::Uninitialized, SpecialValue::Value];

pub fn seeds() -> Vec<Vec<u8>> {
    let mut all = seeds::choices(COUNT, &seeds::chunks());
    all.extend(seeds::choices(COUNT, &[]));
    all
}

/// The chunks that a writer was given and has accepted.
#[derive(Default)]
struct Given {
    chunks: HashMap<u64, Vec<u8>>,
    /// Whether the writer was given a chunk from the input. The data of such a chunk may be invalid.
    has_foreign: bool,
}

pub fn run(data: &[u8]) {
    let (mut choices, foreign) = Choices::split(data, COUNT);
    let ndim = choices.below(4);
    let shape: Vec<i64> =
        (0..ndim).map(|_| i64::from(choices.byte() % 9) - i64::from(choices.byte() > 250)).collect();
    let chunkshape: Vec<i32> = (0..ndim).map(|_| i32::from(choices.byte() % 6)).collect();
    let blockshape: Vec<i32> = (0..ndim).map(|_| i32::from(choices.byte() % 4)).collect();
    let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
    let meta = Meta::new(shapes, choices.one(&DTYPES)).expect("few dimensions");
    let mut builder = with_any_options(FrameBuilder::new(meta.clone()), &mut choices);
    let (mut layers, mut vlmetalayers) = (Vec::new(), Vec::new());
    for number in 0..choices.below(4) {
        let long = choices.below(40);
        let name = format!("{number}{}", "é".repeat(long / 2));
        let value = choices.bytes(long).to_vec();
        builder = builder.metalayer_bytes(&name, &value).vlmetalayer(&name, &value);
        layers.push((name.clone(), value.clone()));
        vlmetalayers.push((name, value));
    }
    match choices.below(8) {
        0 | 1 => {
            let folder = folder();
            let path = folder.path().join("new.b2nd");
            let is_sparse = choices.flag();
            let writer = if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) };
            let Ok(mut writer) = writer else {
                assert!(is_empty(folder.path()), "something is left of a frame that was refused");
                return;
            };
            let given = write(&mut choices, &mut writer, foreign);
            let Ok(frame) = writer.finish().and_then(NewFrame::persist) else {
                assert!(is_empty(folder.path()), "something is left of a frame that was not finished");
                return;
            };
            drop(frame);
            let frame = || Frame::open(&path).expect("what was written");
            holds(frame, &given, &meta, &layers, &vlmetalayers);
        }
        _ => {
            let before = choices.bytes(3).to_vec();
            let mut to = Cursor::new(before.clone());
            to.set_position(before.len() as u64);
            let Ok(mut writer) = builder.write_to(to) else { return };
            let given = write(&mut choices, &mut writer, foreign);
            let Ok(written) = writer.finish() else { return };
            assert_eq!(written.position(), written.get_ref().len() as u64);
            let file = written.into_inner();
            assert!(file.starts_with(&before));
            let frame = || Frame::read_at(&file, before.len() as u64).expect("what was written");
            holds(frame, &given, &meta, &layers, &vlmetalayers);
        }
    }
}

/// Sets a codec, filters and a typesize, each only in some of the runs. The values come from the choices, and may be
/// invalid.
fn with_any_options(mut builder: FrameBuilder, choices: &mut Choices<'_>) -> FrameBuilder {
    if choices.below(4) == 0 {
        builder = builder.codec(Codec(choices.byte())).codec_meta(choices.byte()).level(choices.byte() % 12);
    }
    if choices.below(4) == 0 {
        let filters: Vec<Filter> =
            (0..choices.below(8)).map(|_| Filter { id: choices.byte(), meta: choices.byte() }).collect();
        builder = builder.filters(&filters).uses_dictionary(choices.flag()).split_mode(SplitMode::Never);
    }
    if choices.below(8) == 0 {
        builder = builder.typesize(choices.below(40));
    }
    builder
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("a folder").next().is_none()
}

/// Gives chunks to a writer in any order. Many of the chunks are invalid, and are refused.
fn write<W: Write + Seek>(choices: &mut Choices<'_>, writer: &mut FrameWriter<W>, foreign: &[u8]) -> Given {
    let mut given = Given::default();
    let (nchunks, nbytes) = (writer.nchunks(), writer.chunk_nbytes());
    while !choices.is_over() {
        let number = u64::from(choices.byte()) % (nchunks + 1);
        let length = if choices.byte() > 240 { nbytes + 1 } else { nbytes };
        let value = choices.byte();
        let mut items: Vec<u8> = (0..7).cycle().take(length).map(|at| value.wrapping_add(at)).collect();
        let accepted = match choices.below(8) {
            0..4 => writer.write_uncompressed(number, &items),
            4 => writer.write_special(number, choices.one(&SPECIAL)).inspect(|()| items.clear()),
            5 => {
                let item = vec![value; choices.below(16)];
                writer.write_repeated(number, &item).inspect(|()| items.clear())
            }
            6 if !foreign.is_empty() => {
                let mut chunk = foreign.to_vec();
                let at = usize::from(choices.byte()) % chunk.len().min(32);
                if choices.flag() {
                    chunk[at] = choices.byte();
                }
                writer.write_chunk(number, &chunk).inspect(|()| {
                    given.has_foreign = true;
                    items.clear();
                })
            }
            _ => {
                // Fills only chunks that were not written before.
                let _ = writer.fill_missing(choices.one(&SPECIAL));
                continue;
            }
        };
        if accepted.is_ok() {
            assert!(number < nchunks, "chunk {number} of {nchunks} was accepted");
            assert!(given.chunks.insert(number, items).is_none(), "chunk {number} was accepted twice");
        }
    }
    if choices.is_over() && nchunks > 0 {
        let _ = writer.fill_missing(SpecialValue::Zeros);
    }
    given
}

fn holds<R: ReadAt>(
    open: impl Fn() -> Frame<R>,
    given: &Given,
    meta: &Meta,
    layers: &[(String, Vec<u8>)],
    vlmetalayers: &[(String, Vec<u8>)],
) {
    let frame = open();
    let array = frame.array().expect("what was written").expect("an array");
    assert_eq!(array.meta(), meta);
    let nchunks = array.geometry().expect("what was accepted").nchunks();
    for (name, value) in layers {
        assert_eq!(frame.metalayer(name).map(b2nd_frame::Metalayer::bytes), Some(&value[..]));
    }
    let trailer = frame.trailer().expect("what was written");
    assert_eq!(trailer.vlmetalayers().len(), vlmetalayers.len());
    for (name, value) in vlmetalayers {
        let layer = trailer.vlmetalayer(name).expect("what was written");
        assert_eq!(&layer.decode::<Vec<u8>>().expect("what was written"), value);
    }
    let counts = frame.count_chunks().expect("what was written");
    assert_eq!(counts.total(), nchunks);

    let depth = if given.has_foreign { CheckDepth::ChunkHeaders } else { CheckDepth::ChunkData };
    let is_sparse = frame.header().is_sparse();
    let report = Check::new(if is_sparse { CheckDepth::ChunkHeaders } else { depth })
        .run(&open())
        .expect("nobody writes");
    let errors: Vec<_> =
        report.findings.iter().filter(|finding| finding.severity() == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");

    let entries: Vec<_> = frame.chunks().expect("an index").collect::<Result<_, _>>().expect("an index");
    let mut chunks = frame.chunks().expect("an index");
    for entry in &entries {
        let header = chunks.header(entry).expect("what was written");
        let Some(items) = given.chunks.get(&entry.number).filter(|items| !items.is_empty()) else { continue };
        let header = header.expect("items that were stored");
        assert!(header.is_uncompressed() && header.nbytes() == items.len());
    }
}
