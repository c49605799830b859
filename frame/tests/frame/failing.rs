//! An I/O error at any call of a reader or writer is returned: it is neither lost nor reported as damage. Short reads,
//! short writes and interruptions change no result. If a file is replaced while it is read, nothing panics, and the
//! only errors are Malformed and Changing.

use std::cell::Cell;
use std::fmt::Debug;
use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;

use crate::findings;
use b2nd_frame::{
    Check, CheckDepth, Error, ErrorKind, Frame, FrameBuilder, ReadAt, Rewrite, Seekable, SpecialValue, scan,
    zip_member, zip_members,
};
use b2nd_lab::{data, frame_of, stored_chunk};
use b2nd_serde::{Meta, Shapes};

/// A file that fails at one call, or at this call and all later calls.
#[derive(Debug)]
struct Failing {
    file: Cursor<Vec<u8>>,
    kind: io::ErrorKind,
    /// The number of calls before the failing one.
    calls: Cell<usize>,
    is_lasting: bool,
    has_failed: Cell<bool>,
}

impl Failing {
    fn new(file: &[u8], calls: usize) -> Self {
        let (file, kind) = (Cursor::new(file.to_vec()), io::ErrorKind::TimedOut);
        Self { file, kind, calls: calls.into(), is_lasting: false, has_failed: false.into() }
    }

    fn call(&self) -> io::Result<()> {
        if self.calls.get() > 0 || (self.has_failed.get() && !self.is_lasting) {
            self.calls.set(self.calls.get().saturating_sub(1));
            return Ok(());
        }
        self.has_failed.set(true);
        Err(self.kind.into())
    }
}

impl ReadAt for Failing {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.call()?;
        self.file.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.call()?;
        self.file.size()
    }
}

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.call()?;
        self.file.read(buffer)
    }
}

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call()
    }
}

impl Seek for Failing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.call()?;
        self.file.seek(to)
    }
}

/// A file that reads or writes one byte per call. An interruption comes before each of these calls.
struct Slow {
    file: Cursor<Vec<u8>>,
    is_interrupted: Cell<bool>,
}

impl Slow {
    fn new(file: &[u8]) -> Self {
        Self { file: Cursor::new(file.to_vec()), is_interrupted: false.into() }
    }

    fn interrupt(&self) -> io::Result<()> {
        self.is_interrupted.set(!self.is_interrupted.get());
        if self.is_interrupted.get() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

impl ReadAt for Slow {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.interrupt()?;
        let length = buffer.len().min(1);
        self.file.read_at(&mut buffer[..length], offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupt()?;
        self.file.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Slow {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

trait File: ReadAt + Write + Seek {}

impl<F: ReadAt + Write + Seek> File for F {}

/// An operation on a file. It returns its result as text.
type Action = fn(&mut dyn File) -> Result<String, Error>;

fn text(result: impl Debug) -> String {
    format!("{result:?}")
}

/// All operations that read a frame.
const READS: [(&str, Action); 10] = [
    ("open", |file| Ok(text(Frame::read_at(file, 0)?.map_reader(drop)))),
    ("trailer", |file| Ok(text(Frame::read_at(file, 0)?.trailer()?))),
    ("count", |file| Ok(text(Frame::read_at(file, 0)?.count_chunks()?))),
    ("chunks", |file| {
        let frame = Frame::read_at(file, 0)?;
        let mut chunks = frame.chunks()?;
        let mut all = Vec::new();
        while let Some(entry) = chunks.next().transpose()? {
            all.push(text((chunks.header(&entry)?, chunks.compressed(&entry)?)));
        }
        Ok(all.concat())
    }),
    ("check of the frame", |file| check(file, CheckDepth::Frame)),
    ("check of the chunks", |file| check(file, CheckDepth::ChunkHeaders)),
    ("check of the data", |file| check(file, CheckDepth::ChunkData)),
    ("dump of the chunks", |file| {
        let mut rows = Vec::new();
        Frame::read_at(file, 0)?.dump_chunks(|row| {
            rows.push(format!("{row:?}"));
            ControlFlow::Continue(())
        })?;
        Ok(rows.concat())
    }),
    ("dump of the trailer", |file| {
        let mut rows = Vec::new();
        Frame::read_at(file, 0)?.dump_trailer(|row| {
            rows.push(format!("{row:?}"));
            ControlFlow::Continue(())
        })?;
        Ok(rows.concat())
    }),
    ("embedded", |file| Ok(text(Frame::read_at(file, 0)?.trailer()?.embedded()))),
];

fn check(file: &mut dyn File, depth: CheckDepth) -> Result<String, Error> {
    let report = Check::new(depth).run(&Frame::read_at(file, 0)?)?;
    Ok(text((report.findings, report.counts, report.skipped)))
}

/// Runs the operation on a file that fails at the first call, then on a file that fails at the second call, and so on.
/// At the end, runs the operation on a slow file.
fn at_each_call(name: &str, file: &[u8], action: Action, says: &str) {
    // The expected result can be an error: without the feature `decompress`, a compressed index is refused.
    let outcome = |file: &mut dyn File| action(file).map_err(|error| error.to_string());
    let whole = outcome(&mut Cursor::new(file.to_vec()));
    // A damaged file can make this crate read at an invalid offset, and this read fails with the kind `InvalidInput`.
    // So the crate could mistake any I/O error of this kind for damage of the file, and the test uses this kind too.
    let kinds = [io::ErrorKind::TimedOut, io::ErrorKind::InvalidInput];
    let ways = |calls| kinds.into_iter().flat_map(move |kind| [(calls, kind, true), (calls, kind, false)]);
    for (calls, kind, is_lasting) in (0..).flat_map(ways) {
        let mut failing = Failing { kind, is_lasting, ..Failing::new(file, calls) };
        let result = action(&mut failing);
        if !failing.has_failed.get() {
            assert!(result.map_err(|error| error.to_string()) == whole, "{name}, call {calls}");
            break;
        }
        let Err(error) = result else { panic!("{name}: the error of call {calls} is lost") };
        let reason = error.io_error().unwrap();
        assert_eq!(error.to_string(), format!("{says}: {reason}"), "{name}, call {calls}");
        assert_eq!((error.path(), error.finding(), error.needed()), (None, None, None), "{name}");
        assert_eq!(reason.kind(), kind, "{name}, call {calls}");
    }
    assert!(outcome(&mut Slow::new(file)) == whole, "{name}");
    assert!(whole.is_ok() || cfg!(not(feature = "decompress")), "{name}: {whole:?}");
}

#[test]
fn an_error_of_the_reader_comes_back_from_every_call_of_every_method() {
    for name in [
        "int32_3x5.b2nd",
        "vlmetalayers.b2nd",
        "struct_long.b2nd",
        "empty.b2nd",
        "geometry/d3_f4_awkward.b2nd",
        "peers/blocks_of_any_length.b2frame",
        "peers/hole_at_middle.b2frame",
        "peers/many_blocks.b2nd",
        "peers/special_some.b2nd",
        "peers/store.b2e",
    ] {
        let file = fs::read(data().join(name)).unwrap();
        for (action_name, action) in READS {
            at_each_call(&format!("{name}, {action_name}"), &file, action, "cannot read the file");
        }
    }
}

#[test]
fn an_error_of_the_reader_comes_back_from_every_call_of_the_preview_of_a_rewrite() {
    let preview: Action = |file| {
        let folder = tempfile::tempdir().unwrap();
        Ok(text(Rewrite::read_at(file, 0, folder.path().join("new")).preview()?))
    };
    // The second frame has a hole, and the rewrite leaves it out.
    for name in ["int32_3x5.b2nd", "peers/hole_at_middle.b2frame"] {
        let file = fs::read(data().join(name)).unwrap();
        at_each_call(name, &file, preview, "cannot read the file");
    }
}

#[test]
fn an_error_of_the_reader_names_the_file_that_the_frame_was_opened_from() {
    let path = data().join("int32_3x5.b2nd");
    let file = fs::read(&path).unwrap();
    let open = || Frame::open(&path).unwrap().map_reader(|_| Failing::new(&file, 0));
    for error in [
        open().trailer().unwrap_err(),
        open().count_chunks().unwrap_err(),
        Check::default().run(&open()).unwrap_err(),
        Check::new(CheckDepth::ChunkData).run(&open()).unwrap_err(),
    ] {
        let says = format!("cannot read {}: {}", path.display(), error.io_error().unwrap());
        assert_eq!((error.to_string(), error.path()), (says, Some(&*path)));
    }
}

#[test]
fn an_error_of_a_reader_with_a_position_comes_back_from_every_read_and_every_seek() {
    let file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let read = |failing: &mut Failing| Frame::read_at(Seekable::new(failing), 0)?.trailer();
    let whole = read(&mut Failing::new(&file, usize::MAX)).unwrap();
    for calls in 0.. {
        let mut failing = Failing::new(&file, calls);
        match read(&mut failing) {
            Ok(trailer) => {
                assert!(!failing.has_failed.get() && calls > 4, "the error of call {calls} is lost");
                assert_eq!(trailer, whole);
                break;
            }
            Err(error) => assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::TimedOut),
        }
    }
}

#[test]
fn an_error_of_the_reader_comes_back_from_a_scan_and_from_a_zip_file() {
    let list: Action = |file| Ok(text(zip_members(file)?));
    let one: Action = |file| Ok(text(zip_member(file, "group/large.b2nd")?));
    for name in ["tree.b2z", "table.b2z", "nested.b2z"] {
        let zip = fs::read(data().join(name)).unwrap();
        at_each_call(name, &zip, list, "cannot read the file");
        at_each_call(name, &zip, one, "cannot read the file");
    }

    // A header begins just before the end of the first read.
    let frame = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let file = [&vec![0; 65_536 - 100], &frame[..], &frame].concat();
    let offsets = |file: &mut dyn File| -> Result<Vec<u64>, Error> {
        let mut scan = scan(file);
        let mut offsets = Vec::new();
        while let Some(frame) = scan.next() {
            match frame {
                Ok(frame) => offsets.push(frame.offset()),
                Err(error) => {
                    assert!(scan.next().is_none(), "an error is the last item");
                    return Err(error);
                }
            }
        }
        Ok(offsets)
    };
    let start = 65_536 - 100;
    for calls in 0.. {
        let mut failing = Failing::new(&file, calls);
        match offsets(&mut failing) {
            Ok(found) => {
                assert!(!failing.has_failed.get() && calls > 4, "the error of call {calls} is lost");
                assert_eq!(found, [start, start + frame.len() as u64]);
                break;
            }
            Err(error) => assert_eq!(error.io_error().map(io::Error::kind), Some(io::ErrorKind::TimedOut)),
        }
    }
}

/// Writes a frame with a chunk of each kind.
fn write(file: &mut dyn File) -> Result<String, Error> {
    let meta = Meta::new(Shapes { shape: &[9, 4], chunkshape: &[3, 4], blockshape: &[2, 3] }, "<i4").unwrap();
    let mut writer = FrameBuilder::new(meta).metalayer("m", "v").vlmetalayer("vl", "value").write_to(file)?;
    writer.write_uncompressed(2, &[7; 96])?;
    writer.write_repeated(0, &5_i32.to_le_bytes())?;
    writer.write_special(1, SpecialValue::Zeros)?;
    writer.finish()?;
    Ok(String::new())
}

#[test]
fn an_error_of_the_writer_comes_back_from_every_call() {
    at_each_call("write", &[], write, "cannot write the file");
    let mut whole = Cursor::new(Vec::new());
    write(&mut whole).unwrap();
    let mut slow = Slow::new(&[]);
    write(&mut slow).unwrap();
    assert_eq!(slow.file.get_ref(), whole.get_ref());
    assert_eq!(findings(&Frame::read_at(whole.clone(), 0).unwrap()), []);

    // After a failed call, the file has either no frame or the whole frame. It has the whole frame if all bytes were
    // written before the failed call.
    let mut frames = 0;
    for calls in 0.. {
        let mut failing = Failing::new(&[], calls);
        if write(&mut failing).is_ok() {
            break;
        }
        if Frame::read_at(failing.file.clone(), 0).is_ok() {
            assert_eq!(failing.file.get_ref(), whole.get_ref());
            frames += 1;
        }
    }
    assert!(frames > 0);
}

#[test]
fn a_chunk_can_be_given_again_whatever_call_has_failed() {
    // Writes chunks that are longer than the buffer of the writer.
    let meta = Meta::new(Shapes { shape: &[4 << 17], chunkshape: &[1 << 17], blockshape: &[1 << 12] }, "|u1");
    let meta = meta.unwrap();
    let write = |file: &mut Failing| -> Result<usize, Error> {
        let mut writer = FrameBuilder::new(meta.clone()).write_to(file)?;
        let mut failures = 0;
        for number in 0..4_u8 {
            while writer.write_uncompressed(number.into(), &vec![number; 1 << 17]).is_err() {
                failures += 1;
            }
        }
        writer.finish().map(|_| failures)
    };
    let mut whole = Failing::new(&[], usize::MAX);
    assert_eq!(write(&mut whole).unwrap(), 0);
    let mut failures = 0;
    for calls in 0.. {
        let mut failing = Failing::new(&[], calls);
        // If the failing call is made while the frame is started or finished, the test cannot repeat it, because no
        // writer is left.
        let Ok(failed) = write(&mut failing) else { continue };
        assert!(failing.file.get_ref() == whole.file.get_ref(), "call {calls}");
        failures += failed;
        if !failing.has_failed.get() {
            break;
        }
    }
    assert!(failures >= 4, "{failures}");
}

/// A file that panics at one call of `write`, after it has written half of the bytes.
struct Panicking {
    file: Cursor<Vec<u8>>,
    /// The number of calls before the panic.
    calls: usize,
}

impl Write for Panicking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(calls) = self.calls.checked_sub(1) else {
            self.calls = usize::MAX;
            self.file.write_all(&bytes[..bytes.len() / 2])?;
            panic!("on purpose");
        };
        self.calls = calls;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Panicking {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn a_frame_is_not_finished_after_a_write_has_panicked() {
    // Two chunks fit into the buffer of the writer. The third chunk makes it write them.
    let meta = Meta::new(Shapes { shape: &[90_000], chunkshape: &[30_000], blockshape: &[30_000] }, "|u1");
    let file = Panicking { file: Cursor::new(Vec::new()), calls: 0 };
    let mut writer = FrameBuilder::new(meta.unwrap()).write_to(file).unwrap();
    let items = vec![1; 30_000];
    for number in [0, 1] {
        writer.write_uncompressed(number, &items).unwrap();
    }
    let mut write = || writer.write_uncompressed(2, &items);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut write)).is_err());
    let message = "an earlier write has panicked, so the frame cannot be finished";
    assert_eq!(write().unwrap_err().to_string(), message);
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    assert_eq!(writer.finish().map(drop).unwrap_err().to_string(), message);
}

/// A file whose content is replaced after `reads` reads.
struct Replaced<'f> {
    files: [&'f [u8]; 2],
    reads: Cell<usize>,
}

impl<'f> Replaced<'f> {
    fn new(files: [&'f [u8]; 2], reads: usize) -> Self {
        Self { files, reads: reads.into() }
    }

    /// The old file before the replacement, and the new file after it.
    fn file(&self) -> &'f [u8] {
        let [old, new] = self.files;
        if self.reads.get() > 0 { old } else { new }
    }
}

impl ReadAt for Replaced<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let file = self.file();
        self.reads.set(self.reads.get().saturating_sub(1));
        file.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.file().size()
    }
}

impl Write for Replaced<'_> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        unreachable!("it is only read")
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Replaced<'_> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        unreachable!("it is only read")
    }
}

#[test]
fn a_trailer_that_is_replaced_while_it_is_read_is_one_of_both_or_changing() {
    // Both frames have the same length and the same header. The trailer of the old frame is longer.
    let value = stored_chunk(&[0xc0; 1000]);
    let old = frame_of(&[], &[("v", &value)]);
    let mut new = old.clone();
    let (start, end) = (Frame::parse(&old).unwrap().header().header_len, old.len());
    let trailer = frame_of(&[], &[("v", &value[..900])]);
    let trailer = &trailer[start..];
    new[end - trailer.len()..].copy_from_slice(trailer);
    let trailers = [&old, &new].map(|file| Frame::read_at(file, 0).unwrap().trailer().unwrap());
    assert_ne!(trailers[0].bytes().len(), trailers[1].bytes().len());
    let mut seen = [0; 3];
    for reads in 0..5 {
        let frame = Frame::read_at(Replaced::new([&old, &new], reads), 0).unwrap();
        match frame.trailer() {
            Ok(trailer) => {
                let which = trailers.iter().position(|one| one.bytes() == trailer.bytes());
                seen[which.expect("a mixture")] += 1;
            }
            Err(error) => {
                assert_eq!((error.kind(), error.finding()), (ErrorKind::Changing, None));
                seen[2] += 1;
            }
        }
    }
    assert!(seen.iter().all(|&times| times > 0), "{seen:?}");
}

/// The test ignores successful results, because they can have values of both files.
#[test]
fn an_error_of_a_file_that_is_replaced_while_it_is_read_is_malformed_or_changing() {
    let mut changing = 0;
    for name in [
        "int32_3x5.b2nd",
        "geometry/d3_f4_awkward.b2nd",
        "peers/blocks_of_any_length.b2frame",
        "peers/many_blocks.b2nd",
    ] {
        let file = fs::read(data().join(name)).unwrap();
        let header_len = Frame::parse(&file).unwrap().header().header_len;
        let changed = |change: fn(u8) -> u8| {
            let (header, rest) = file.split_at(header_len);
            [header, &rest.iter().map(|&byte| change(byte)).collect::<Vec<_>>()].concat()
        };
        let cut = file[..file.len() / 2].to_vec();
        for new in [cut, changed(|byte| byte ^ 0x55), changed(|_| 0xff), vec![0; file.len()]] {
            for (action_name, action) in READS {
                for reads in 0..30 {
                    let mut replaced = Replaced::new([&file, &new], reads);
                    let Err(error) = action(&mut replaced) else { continue };
                    let is_expected = matches!(error.kind(), ErrorKind::Changing | ErrorKind::Malformed);
                    assert!(
                        is_expected || cfg!(not(feature = "decompress")),
                        "{name}, {action_name}: {error}"
                    );
                    changing += usize::from(error.kind() == ErrorKind::Changing);
                }
            }
        }
    }
    assert!(changing > 50, "{changing}");
}
