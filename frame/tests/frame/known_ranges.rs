//! A program that fetches only the ranges in errors gets the same results as with the whole file, in few rounds.

use std::cell::Cell;
use std::fmt::Debug;
use std::fs;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "decompress")]
use b2nd_frame::{Array, EmbeddedFrames};
use b2nd_frame::{
    Check, CheckDepth, Error, ErrorKind, Frame, FrameBuilder, KnownRanges, ReadAt, Store, zip_member,
    zip_members,
};
use b2nd_lab::data;
use b2nd_serde::{Meta, Shapes};

/// A file on a server: the ranges of it that are known, and the number of rounds of requests so far.
struct Remote {
    file: Arc<Vec<u8>>,
    known: Arc<KnownRanges>,
    rounds: Cell<usize>,
}

impl Remote {
    fn new(file: Vec<u8>) -> Self {
        let known = Arc::new(KnownRanges::new(file.len() as u64));
        Self { known, file: Arc::new(file), rounds: Cell::new(0) }
    }

    /// Makes a call again and again, until all ranges that it needs are known.
    fn ask<T>(&self, call: impl Fn(&Arc<KnownRanges>) -> Result<T, Error>) -> Result<T, Error> {
        loop {
            let error = match call(&self.known) {
                Err(error) if error.kind() == ErrorKind::Incomplete && !error.ranges().is_empty() => error,
                result => return result,
            };
            for range in error.ranges() {
                assert!(self.known.read_at(&mut [0], range.start).is_err(), "{range:?} is known");
                let [start, end] = [range.start, range.end].map(|byte| usize::try_from(byte).unwrap());
                self.known.insert(range.start, &self.file[start..end]);
            }
            self.rounds.set(self.rounds.get() + 1);
        }
    }

    /// Asserts that a call has the same result as with the whole file, after at most `most` rounds.
    #[track_caller]
    fn agrees<T: Debug>(
        &self,
        most: usize,
        with_known: impl Fn(&Arc<KnownRanges>) -> Result<T, Error>,
        with_file: impl Fn(&Arc<Vec<u8>>) -> Result<T, Error>,
    ) {
        self.rounds.set(0);
        let text = |result: Result<T, Error>| match result {
            Ok(value) => format!("{value:?}"),
            Err(error) => error.to_string(),
        };
        let (found, expected) = (text(self.ask(with_known)), text(with_file(&self.file)));
        assert!(found == expected, "{found} is not {expected}");
        assert!(self.rounds.get() <= most, "{} rounds, more than {most}", self.rounds.get());
    }
}

/// Calls a function for each frame in the test data, with its path and a remote file of the frame.
fn each_frame(mut call: impl FnMut(&str, Remote)) {
    let mut count = 0;
    for folder in [data(), data().join("geometry"), data().join("peers")] {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_frame = |path: &PathBuf| {
            path.is_file()
                && path.extension().is_some_and(|extension| extension != "json" && extension != "items")
        };
        for path in paths.filter(is_frame) {
            call(path.to_str().unwrap(), Remote::new(fs::read(&path).unwrap()));
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

/// Passes the same call for both kinds of sources.
macro_rules! agrees {
    ($remote:expr, $most:expr, |$source:ident| $call:expr) => {
        $remote.agrees($most, |$source| $call, |$source| $call)
    };
}

#[test]
fn a_frame_its_trailer_and_its_index_take_few_rounds() {
    each_frame(|_, remote| {
        agrees!(remote, 2, |source| Frame::read_at(source, 0).map(|frame| frame.header().clone()));
        agrees!(remote, 2, |source| Frame::read_at(source, 0)?.trailer());
        agrees!(remote, 4, |source| Frame::read_at(source, 0)?.count_chunks());
    });
}

#[test]
fn checks_and_dumps_say_the_same_of_known_ranges() {
    each_frame(|_, remote| {
        for depth in [CheckDepth::Frame, CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
            agrees!(remote, 200, |source| Check::new(depth).run(&Frame::read_at(source, 0)?));
        }
        agrees!(remote, 10, |source| {
            let mut rows = Vec::new();
            Frame::read_at(source, 0)?.dump_trailer(|row| {
                rows.push(format!("{row:?}"));
                ControlFlow::Continue(())
            })?;
            Ok(rows)
        });
    });
}

#[test]
fn the_headers_of_256_chunks_take_one_round() {
    // A round has the headers of at most 256 chunks.
    for (count, rounds) in [(200, 1), (600, 3)] {
        let shape = [3000 * i64::try_from(count).unwrap()];
        let shapes = Shapes { shape: &shape, chunkshape: &[3000], blockshape: &[3000] };
        let meta = Meta::new(shapes, "|u1").unwrap();
        let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
        for chunk in 0..count {
            writer.write_uncompressed(chunk, &[7; 3000]).unwrap();
        }
        let remote = Remote::new(writer.finish().unwrap().into_inner());
        // The header of the frame, the chunk index, and the headers of all chunks.
        agrees!(remote, 3 + rounds, |source| {
            let frame = Frame::read_at(source, 0)?;
            let mut chunks = frame.chunks()?;
            let mut lengths = Vec::new();
            while let Some(entry) = chunks.next().transpose()? {
                lengths.push(chunks.checked_header(&entry)?.map(|header| header.cbytes()));
            }
            Ok(lengths)
        });
        // Each header of 32 bytes contains two of the tested bytes.
        let tested = (0..remote.file.len() as u64).step_by(16);
        let known = 16 * tested.filter(|&at| remote.known.read_at(&mut [0], at).is_ok()).count() as u64;
        assert!(known < 50 * count, "{known} bytes");
    }
}

#[cfg(feature = "decompress")]
#[test]
fn an_array_its_attributes_and_its_slices_take_few_rounds() {
    each_frame(|name, remote| {
        agrees!(remote, 2, |source| Ok(Array::new(Frame::read_at(source, 0)?)?.shape().to_vec()));
        let whole = Frame::read_at(&remote.file, 0).and_then(Array::new);
        let array = Frame::read_at(&remote.known, 0).and_then(Array::new);
        let (Ok(whole), Ok(array)) = (whole, array) else { return };
        remote.agrees(2, |_| array.attributes(), |_| whole.attributes());
        let middle: Vec<_> = whole
            .shape()
            .iter()
            .map(|items| items.unsigned_abs())
            .map(|items| items / 3..items.div_ceil(2))
            .collect();
        // The chunk index, a block of it, the starts of chunks, and their blocks.
        remote.agrees(4, |_| array.slice(&middle).read(), |_| whole.slice(&middle).read());
        remote.agrees(4, |_| array.whole().read(), |_| whole.whole().read());
        // The array keeps its index and the tables of blocks, so a second read of a slice needs only the blocks.
        remote.known.clear();
        remote.agrees(2, |_| array.slice(&middle).read(), |_| whole.slice(&middle).read());
        println!("{name}");
    });
}

#[test]
fn stores_and_zip_files_take_few_rounds() {
    for name in ["tree.b2z", "table.b2z", "nested.b2z", "remote/table.b2z"] {
        let file = || fs::read(data().join(name)).unwrap();
        // The directory, the local headers of all members, and the headers of all frames.
        agrees!(Remote::new(file()), 3, |source| zip_members(source));
        agrees!(Remote::new(file()), 3, |source| zip_member(source, "group/large.b2nd"));
        // This call also reads trailers.
        agrees!(Remote::new(file()), 5, |source| {
            let store = Store::read_zip(Arc::clone(source), name)?.map(|store| {
                let tables: Vec<_> =
                    store.tables().map(|(key, trailer)| (key.to_owned(), trailer.clone())).collect();
                (store.kind(), store.members().to_vec(), tables, store.remote_schema().map(str::to_owned))
            });
            Ok(store)
        });
    }
}

#[cfg(feature = "decompress")]
#[test]
fn arrays_of_a_store_take_few_rounds() {
    for key in ["/group/large", "/group/small", "/group/none"] {
        let remote = Remote::new(fs::read(data().join("tree.b2z")).unwrap());
        agrees!(remote, 8, |source| {
            let store = Store::read_zip(Arc::clone(source), "tree.b2z")?.expect("a store");
            let array = store.array(key)?;
            Ok((array.attributes()?, array.whole().read()?))
        });
    }
}

#[cfg(feature = "decompress")]
#[test]
fn embedded_frames_take_few_rounds() {
    let remote = Remote::new(fs::read(data().join("peers/store.b2e")).unwrap());
    let keys = EmbeddedFrames::new(Frame::read_at(&remote.file, 0).unwrap()).unwrap().keys();
    assert!(!keys.is_empty());
    agrees!(remote, 3, |source| Ok(EmbeddedFrames::new(Frame::read_at(source, 0)?)?.keys()));
    for key in keys {
        agrees!(remote, 20, |source| {
            let mut frames = EmbeddedFrames::new(Frame::read_at(source, 0)?)?;
            assert!(frames.select(&key)?);
            Frame::read_at(&frames, 0)?.trailer()?;
            Array::new(Frame::read_at(&frames, 0)?)?.whole().read()
        });
    }
}
