//! The report of a salvage must not say that an array is whole, that a chunk is verified or that a frame can be read,
//! if this is not true.

use std::fs;
use std::io::Cursor;
use std::ops::ControlFlow;

#[cfg(feature = "decompress")]
use b2nd_frame::{Check, CheckDepth, Severity};
use b2nd_frame::{ErrorKind, Frame, FrameBuilder, Salvage, SalvageReport};
#[cfg(feature = "decompress")]
use b2nd_lab::copy;
use b2nd_lab::data;
use b2nd_serde::{Meta, Shapes};

use crate::index_start;

fn small() -> Vec<u8> {
    fs::read(data().join("int32_3x5.b2nd")).unwrap()
}

fn of(bytes: Vec<u8>) -> Salvage<'static, Vec<u8>> {
    Salvage::read_at(bytes, 0).unwrap()
}

#[test]
fn a_shape_without_items_is_refused_where_chunks_lie() {
    let mut file = small();
    let shape = file.windows(2).position(|bytes| bytes == [0x92, 0xd3]).unwrap() + 1;
    for (dimension, whole) in [(0, true), (1, true), (1, false)] {
        file[shape + 9 * dimension + 8] = 0;
        let mut file = file.clone();
        file.truncate(if whole { file.len() } else { 300 });
        for salvage in [of(file.clone()), of(file).assume_order()] {
            let error = salvage.preview().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ArrayUnknown);
            let expected = "the shape has no items, so there are no chunks, but a chunk begins at byte 165; nbytes is 128 \
                            in the header, but the array needs 0: if a shape is wrong, give the right one";
            assert_eq!(error.to_string(), expected);
        }
    }
    let meta = Meta::new(Shapes { shape: &[0], chunkshape: &[2], blockshape: &[2] }, "|u1").unwrap();
    let mut empty = FrameBuilder::new(meta).to_vec([] as [&[u8]; 0]).unwrap();
    // Sets nbytes in the header to 7, so the header claims chunks. But the shape has no items, and the file has no
    // chunk. So the report counts no chunks.
    empty[37] = 7;
    assert_eq!(of(empty).preview().unwrap().counts.total(), 0);
}

/// A file that claims `nchunks` chunks, but has only the first chunk and no chunk index.
fn claiming(nchunks: i64) -> Vec<u8> {
    let meta = Meta::new(Shapes { shape: &[64], chunkshape: &[64], blockshape: &[64] }, "|u1").unwrap();
    let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
    writer.write_uncompressed(0, &[1; 64]).unwrap();
    let mut file = writer.finish().unwrap().into_inner();
    let nbytes = (64 * nchunks).to_be_bytes();
    let shape = file.windows(2).position(|bytes| bytes == [0x91, 0xd3]).unwrap() + 1;
    file.truncate(index_start(&file));
    file[30..38].copy_from_slice(&nbytes);
    file[shape + 1..shape + 9].copy_from_slice(&nbytes);
    file
}

#[test]
fn the_order_of_one_chunk_is_known() {
    let report = of(claiming(1)).preview().unwrap();
    assert_eq!((report.lost_count(), report.assumed_order), (0, None));
    assert_eq!(report.restored[0].to_string(), "the chunk index, of one chunk");
    assert!(of(claiming(2)).preview().is_err());
}

#[test]
fn a_small_file_does_not_become_a_large_one() {
    let file = claiming(225_729_817);
    let len = file.len();
    let error = of(file).assume_order().preview().unwrap_err();
    let expected = format!(
        "the chunk index of 225729817 chunks would have 1805838568 bytes, but at most 67108864 are written for a file of \
         {len} bytes; if the shape is wrong, give the right one"
    );
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::TooLarge, expected));
    let report = of(claiming(1 << 20)).assume_order().preview().unwrap();
    assert_eq!((report.counts.stored, report.lost_count()), (1, (1 << 20) - 1));
}

/// In this array, only one of a million chunks is stored. So a salvage spends most of its time on the index of the new
/// frame: the salvage writes the index, and then checks it.
#[test]
fn a_salvage_can_be_stopped_while_it_writes_and_checks_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new.b2nd");
    let mut calls = 0;
    let salvage = of(claiming(1 << 20)).assume_order().on_progress(|_| {
        calls += 1;
        ControlFlow::Continue(())
    });
    salvage.apply(&to).unwrap();
    fs::remove_file(&to).unwrap();
    assert!(calls > 500, "{calls}");
    for stop in [calls / 4, calls * 3 / 4] {
        let mut left = stop;
        let salvage = of(claiming(1 << 20)).assume_order().on_progress(|_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(salvage.apply(&to).unwrap_err().kind(), ErrorKind::Stopped);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Entries that lead to a wrong chunk: the entry of chunk 0 was copied over that of chunk 2 and is destroyed itself, or the
/// entry of chunk 2 leads to an earlier state of the chunk. Nothing shows which entry is wrong.
#[test]
fn unowned_bytes_are_reported_where_an_entry_may_lead_to_a_wrong_chunk() {
    let file = small();
    let unowned = |report: &SalvageReport| report.unowned.as_ref().map(ToString::to_string);
    assert_eq!(unowned(&of(file.clone()).preview().unwrap()), None);
    // The index is not compressed. Its entries follow its header of 32 bytes.
    let entries = index_start(&file) + 32;
    let mut copied = file.clone();
    copied.copy_within(entries..entries + 8, entries + 16);
    copied[entries..entries + 8].fill(0x7f);
    let report = of(copied).preview().unwrap();
    let text = "byte 293 of the frame: 64 bytes belong to no entry of the chunk index, the first ones here";
    assert_eq!(unowned(&report).as_deref(), Some(text), "{report:?}");

    // An earlier state of chunk 2 is before the other chunks.
    let header_len = Frame::parse(&file).unwrap().header().header_len;
    let mut stale = file.clone();
    stale.splice(header_len..header_len, file[header_len + 128..header_len + 192].iter().copied());
    stale[16..24].copy_from_slice(&(file.len() as u64 + 64).to_be_bytes());
    let cbytes = Frame::parse(&file).unwrap().header().cbytes + 64;
    stale[39..47].copy_from_slice(&cbytes.to_be_bytes());
    for (number, offset) in [64_u64, 128, 0, 256].into_iter().enumerate() {
        let at = entries + 64 + 8 * number;
        stale[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    }
    let report = of(stale).preview().unwrap();
    let text = "byte 357 of the frame: 64 bytes belong to no entry of the chunk index, the first ones here";
    assert_eq!(unowned(&report).as_deref(), Some(text), "{report:?}");
    // Replaced chunks leave such bytes too, so they are no sign of damage.
    assert!(!report.found_damage());

    // The bytes of a damaged chunk belong to its entry.
    let mut damaged = file;
    damaged[header_len + 64 + 2] = 0x15;
    assert_eq!(unowned(&of(damaged).preview().unwrap()), None);
}

#[test]
#[cfg(feature = "decompress")]
fn a_chunk_file_without_an_entry_is_reported() {
    let (_folder, path) = copy("sparse.b2nd");
    let report = || Salvage::open(&path).unwrap().preview();
    assert_eq!(report().unwrap().unowned, None);
    fs::copy(path.join("00000001.chunk"), path.join("00000009.chunk")).unwrap();
    let report = report().unwrap();
    let text = report.unowned.as_ref().map(ToString::to_string);
    assert_eq!(text.as_deref(), Some("00000009.chunk belongs to no entry of the chunk index"), "{report:?}");
    assert!(!report.found_damage());
}

#[test]
fn an_uncompressed_chunk_is_unverified_where_other_bytes_are_damaged() {
    let whole = small();
    assert_eq!(of(whole.clone()).preview().unwrap().unverified_count(), 0);
    // Fills 64 bytes with zeros: the end of the last chunk and the start of the index.
    let mut file = whole.clone();
    let index = index_start(&file);
    file[index - 32..index + 32].fill(0);
    let report = of(file).assume_order().preview().unwrap();
    assert_eq!((report.lost_count(), report.unverified_count()), (0, 4), "{report:?}");
    let why = "damage to uncompressed data leaves no trace, and other bytes of the file are damaged";
    assert_eq!(report.unverified[0].why, why);
    // With the first change, chunk 1 is lost. The second change damages the header of chunk 1, and the salvage restores
    // this header.
    for (at, unverified) in [(2, 3), (12, 4)] {
        let mut file = whole.clone();
        file[165 + 64 + at] = 0x15;
        let report = of(file).preview().unwrap();
        assert_eq!(
            (report.lost_count(), report.unverified_count()),
            (4 - unverified, unverified),
            "{report:?}"
        );
    }
}

/// The header of a chunk gets filter 33 or 64. Filter 33 is `ndmean`, a plugin that this crate does not support. There
/// is no filter 64.
#[test]
#[cfg(feature = "decompress")]
fn a_filter_that_makes_a_chunk_unreadable_is_restored_or_costs_the_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new.b2nd");
    let errors = || {
        let findings = Check::new(CheckDepth::ChunkData).run_path(&to).unwrap().findings;
        findings.iter().filter(|finding| finding.severity() == Severity::Error).count()
    };
    let (mut restored, mut lost) = (0, 0);
    for name in
        ["peers/many_blocks.b2nd", "peers/made_in_memory.b2nd", "vlmetalayers.b2nd", "struct_long.b2nd"]
    {
        let file = fs::read(data().join(name)).unwrap();
        let frame = Frame::read_at(&file, 0).unwrap();
        let mut chunks = frame.chunks().unwrap();
        let mut starts = Vec::new();
        while let Some(entry) = chunks.next().transpose().unwrap() {
            let header = chunks.header(&entry).unwrap();
            let is_compressed = header.is_some_and(|header| header.codec().is_some());
            if let b2nd_frame::ChunkPlace::Frame(start) = entry.place
                && is_compressed
            {
                starts.push(usize::try_from(start).unwrap());
            }
        }
        for (start, slot) in starts.iter().take(3).flat_map(|start| (16..22).map(move |slot| (start, slot))) {
            for filter in [33, 64] {
                let mut damaged = file.clone();
                damaged[start + slot] = filter;
                match of(damaged).apply(&to) {
                    Ok((_, report)) => {
                        assert_eq!(errors(), 0, "{name}, {filter} at {slot}");
                        restored += u64::from(report.lost_count() == 0 && report.unverified_count() > 0);
                        lost += report.lost_count();
                        fs::remove_file(&to).unwrap();
                    }
                    Err(error) => {
                        assert!(error.to_string().starts_with("nothing could be saved"), "{error}");
                        lost += 1;
                    }
                }
            }
        }
    }
    assert!(restored > 20 && lost > 0, "{restored} restored, {lost} lost");
}

/// Some changes contradict nothing else in the file: another dtype, or another shape that needs the same chunks. A
/// salvage cannot find such damage, so the new frame has an array that differs from the original. Then the report must
/// not say that damage was found. Otherwise a user would take the array for a repaired one.
#[test]
fn no_changed_byte_of_a_header_gives_another_array_that_looks_mended() {
    let old = small();
    let array_of = |frame: &Frame<()>| {
        let array = frame.array().unwrap().unwrap();
        (array.meta().clone(), array.geometry().unwrap().nchunks())
    };
    let right = array_of(&Frame::parse(&old).unwrap());
    let mut others = 0;
    for at in 0..165 {
        for value in (0..8).map(|bit| old[at] ^ 1 << bit).chain([0, 0xff]) {
            let mut file = old.clone();
            file[at] = value;
            let Ok(report) = of(file).preview() else { continue };
            if array_of(&report.frame) != right {
                others += 1;
                assert!(!report.found_damage(), "{value:#x} at {at}: {:?}", report.restored);
            }
        }
    }
    assert!(others > 3, "{others}");
}
