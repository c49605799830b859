//! Memory is bounded by the number of bytes read, whatever these bytes claim, as the docs of `b2nd-frame` promise. And a
//! slice reads only a bounded number of bytes at a time.

use std::cell::Cell;
#[cfg(feature = "decompress")]
use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::iter;
use std::ops::ControlFlow;
#[cfg(feature = "decompress")]
use std::ops::Range;
use std::time::Duration;

use crate::writes::Writes;
use allocation_counter::measure;
#[cfg(feature = "decompress")]
use b2nd_frame::{Array, ChunkHeader, SlicePlan};
use b2nd_frame::{
    Check, CheckDepth, ErrorKind, FindingCode, Frame, FrameBuilder, MemberContent, ReadAt, Rewrite, Salvage,
    Severity, SpecialValue, Trailer, check, dump_header, scan, zip_members,
};
use b2nd_lab::{
    chunk_of_zeros, chunk_with_a_table, data, frame_of, frame_of_chunks, offset_field, stored_chunk,
    with_chunks,
};
use b2nd_serde::dtype::Dtype;
use b2nd_serde::dump::Row;
use b2nd_serde::{Meta, Shapes, dump, from_reader, from_slice, take_from_slice, to_vec};
use rawzip::{CompressionMethod, ZipArchiveWriter};

/// The number of bytes of memory that any call may allocate, even if it reads nothing.
const ALWAYS: u64 = 100_000;

/// Asserts that the peak memory of a call is at most `ALWAYS + factor * read` bytes. `read` is the number of bytes that
/// the call reads.
#[track_caller]
fn bounded(what: &str, read: usize, factor: u64, run: impl FnOnce()) {
    let peak = measure(run).bytes_max;
    let most = factor * read as u64 + ALWAYS;
    assert!(peak <= most, "{what}: {peak} bytes of memory for {read} bytes, more than {most}");
}

/// An ordinary metalayer, and metalayers for which a reader could allocate too much memory: some claim more bytes than
/// they have, others are long.
fn metalayers() -> Vec<(&'static str, Vec<u8>)> {
    let shapes = Shapes { shape: &[1 << 40; 16], chunkshape: &[1 << 25; 16], blockshape: &[1 << 9; 16] };
    let with_dtype = |dtype: &str| to_vec(&Meta::new(shapes, dtype).unwrap()).unwrap();
    let ordinary = with_dtype("<i4");
    let claims = |at: usize, claim: &[u8]| {
        let mut bytes = ordinary.clone();
        bytes[at..at + claim.len()].copy_from_slice(claim);
        bytes
    };
    let length_at = ordinary.len() - 3 - 4;
    vec![
        ("ordinary", ordinary.clone()),
        ("a dtype of 2 GiB", claims(length_at, &i32::MAX.to_be_bytes())),
        ("a dtype of 4 GiB", claims(length_at, &u32::MAX.to_be_bytes())),
        ("an array of 4 G entries", claims(0, &[0xdd, 0xff, 0xff, 0xff, 0xff])),
        ("127 dimensions", claims(2, &[127])),
        ("a long dtype", with_dtype(&"a".repeat(1 << 20))),
        ("a nested dtype", with_dtype(&"[('a',".repeat(1 << 17))),
        ("old bytes after it", [&ordinary[..], &[0xc0; 1 << 20]].concat()),
        ("no metalayer", vec![0xc0; 1 << 20]),
    ]
}

/// A chunk of 32 bytes that claims almost 2 GiB of zeros.
#[test]
#[cfg(feature = "decompress")]
fn decompress_to_vec_allocates_nothing_for_more_data_than_its_limit() {
    let chunk = chunk_of_zeros(2_147_000_000);
    let memory = measure(|| {
        let error = b2nd_chunk::decompress_to_vec(&chunk, 10).unwrap_err();
        assert_eq!(error.kind(), b2nd_chunk::ErrorKind::DataTooLong);
    });
    assert_eq!(memory.bytes_total, 0);
    let memory = measure(|| drop(b2nd_chunk::decompress_to_vec(&chunk_of_zeros(97_000), 97_000).unwrap()));
    assert!(memory.bytes_total >= 97_000, "{memory:?}");
}

#[test]
fn a_metalayer_costs_what_is_there() {
    for (name, bytes) in metalayers() {
        let n = bytes.len();
        bounded(&format!("from_slice, {name}"), n, 4, || drop(from_slice::<Meta>(&bytes)));
        bounded(&format!("take_from_slice, {name}"), n, 4, || drop(take_from_slice::<Meta>(&bytes)));
        bounded(&format!("from_reader, {name}"), n, 4, || drop(from_reader::<_, Meta>(&bytes[..])));
        bounded(&format!("rows, {name}"), n, 1, || {
            dump::metalayer(&bytes).rows(|_| ControlFlow::Continue(()));
        });
    }
}

#[test]
fn a_dtype_costs_what_is_there() {
    let fields: Vec<String> = (0..20_000).map(|name| format!("('{name}','i1')")).collect();
    for (name, text) in [
        ("fields", format!("[{}]", fields.join(","))),
        ("fields without names", format!("[{}('','i1')]", "('','i1'),".repeat(50_000))),
        ("the same field", format!("[{}('a','i1')]", "('a','i1'),".repeat(50_000))),
        ("items that are huge", "[('a','V2147483647',(2147483647,2147483647))]".into()),
        ("a length with many digits", format!("V{}", "9".repeat(1 << 16))),
        ("a subarray of many dimensions", format!("[('a','i1',({}))]", "1,".repeat(1 << 18))),
        ("lists in lists", "[('a',".repeat(1 << 17)),
        ("brackets", "[".repeat(1 << 20)),
        ("parentheses", "(".repeat(1 << 20)),
        ("quotes", "'".repeat(1 << 20)),
        ("escapes", format!("[('{}','i1')]", "\\x41".repeat(1 << 18))),
        (
            "a dictionary",
            format!("{{'names':[{}],'formats':[{}]}}", "'a',".repeat(50_000), "'i1',".repeat(50_000)),
        ),
        ("dictionaries in dictionaries", "{'names':".repeat(1 << 16)),
    ] {
        bounded(name, text.len(), 64, || drop(text.parse::<Dtype>()));
    }
}

/// An ordinary frame, and frames for which a reader could allocate too much memory: some claim more bytes than they
/// have, others are long, and in others, metalayers share bytes.
fn frames() -> Vec<(String, Vec<u8>)> {
    let ordinary = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let mut frames = vec![("ordinary".to_owned(), ordinary.clone())];
    for at in (0..ordinary.len()).step_by(7) {
        let mut claims = ordinary.clone();
        let claim = claims[at..].iter_mut().take(4);
        claim.for_each(|byte| *byte = 0xff);
        frames.push((format!("ff at {at}"), claims.clone()));
        claims[at] = 0x7f;
        frames.push((format!("7f at {at}"), claims));
    }
    let one_of = |name, bytes: &[u8]| frame_of(&[(name, bytes)], &[]);
    let name = "n".repeat(31);
    let nested: Vec<u8> = iter::repeat_n(0x91, 1 << 18).collect();
    let strings = [&b"\xdd\0\x02\0\0"[..], &b"\xa1a".repeat(1 << 17)].concat();
    let chunk = stored_chunk(b"\xc0");
    let hostile = [
        ("metalayers with long names", frame_of(&[(&*name, &b"\xc0"[..]); 16], &[])),
        ("a long metalayer", one_of("m", &vec![0xc0; 1 << 18])),
        ("an array of 4 G values", one_of("m", b"\xdd\xff\xff\xff\xff\xc0")),
        ("a nested metalayer", one_of("m", &nested)),
        ("strings", one_of("m", &strings)),
        ("all metalayers in the same place", shared(&frame_of(&[("m", &vec![0xc0; 1 << 18])], &[]))),
        ("8192 vlmetalayers", frame_of(&[], &vec![("m", &chunk[..]); 8192])),
        ("8193 vlmetalayers", frame_of(&[], &vec![("m", &chunk[..]); 8193])),
    ];
    frames.extend(hostile.map(|(name, file)| (name.to_owned(), file)));
    frames.extend(
        metalayers().into_iter().map(|(name, bytes)| (format!("b2nd: {name}"), one_of("b2nd", &bytes))),
    );
    frames
}

/// A new frame with 16 metalayers. All of them have the same offset, so they share the bytes of one content. That
/// content is a copy of the content of the only metalayer of `frame`.
fn shared(frame: &[u8]) -> Vec<u8> {
    let content = Frame::parse(frame).unwrap().metalayers()[0].bytes().to_vec();
    let names: Vec<String> = ('a'..='p').map(String::from).collect();
    let mut layers: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &[][..])).collect();
    layers[15].1 = &content;
    let mut frame = frame_of(&layers, &[]);
    let parsed = Frame::parse(&frame).unwrap();
    let last = u32::try_from(parsed.metalayers()[15].offset() - 5).unwrap();
    for name in &names {
        let at = offset_field(&frame, name);
        frame[at..at + 4].copy_from_slice(&last.to_be_bytes());
    }
    frame
}

#[test]
fn a_frame_costs_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("frame"), folder.path().join("other"));
    for (name, file) in frames() {
        let n = file.len();
        let read_at = || Frame::read_at(&file[..], 0);
        fs::write(&path, &file).unwrap();
        bounded(&format!("parse, {name}"), n, 4, || {
            drop(Frame::parse(&file).map(|frame| drop(frame.array())));
        });
        bounded(&format!("read_at, {name}"), n, 8, || drop(read_at()));
        bounded(&format!("open, {name}"), n, 8, || drop(Frame::open(&path)));
        bounded(&format!("open_stable, {name}"), n, 8, || drop(Frame::open_stable(&path, Duration::ZERO)));
        bounded(&format!("trailer, {name}"), n, 8, || drop(read_at().map(|frame| frame.trailer())));
        bounded(&format!("check, {name}"), n, 8, || {
            drop(read_at().map(|frame| Check::default().run(&frame)));
        });
        let go_on = |_: &Row<'_>| ControlFlow::Continue(());
        bounded(&format!("rows, {name}"), n, 8, || dump_header(&file).rows(go_on));
        bounded(&format!("dump_trailer, {name}"), n, 8, || {
            drop(read_at().map(|frame| frame.dump_trailer(go_on)));
        });
        bounded(&format!("dump_chunks, {name}"), n, 8, || {
            drop(read_at().map(|frame| frame.dump_chunks(go_on)));
        });
        bounded(&format!("scan, {name}"), n, 8, || scan(&file[..]).for_each(drop));
        bounded(&format!("edit, {name}"), n, 8, || {
            drop(Frame::open(&path).map(|mut frame| frame.edit().shape(&[5]).dtype("<i8").apply()));
        });
        bounded(&format!("rewrite, {name}"), n, 8, || drop(Rewrite::new(&path, &other).preview()));
        if let Ok(frame) = Frame::parse(&file) {
            bounded(&format!("Trailer::parse, {name}"), n, 8, || drop(Trailer::parse(frame.header(), &file)));
        }
    }
    // A rewrite is tested only with an intact file, because it is slow: it checks a damaged file repeatedly, and syncs
    // its result to disk.
    let ordinary = &frames()[0].1;
    fs::write(&path, ordinary).unwrap();
    bounded("rewrite", ordinary.len(), 8, || assert!(Rewrite::new(&path, &other).apply().is_ok()));
    fs::remove_file(&other).unwrap();
    let rewrite = || Rewrite::new(&path, &other).sparse(true).apply();
    bounded("change of type", ordinary.len(), 16, || assert!(rewrite().is_ok()));
    bounded("check of a file", ordinary.len(), 8, || drop(check(&path)));
}

/// A zip file without members, but with an endless directory. The records of the directory are generated while they are
/// read.
struct EndlessZip {
    directory_len: u64,
    end: Vec<u8>,
    read: Cell<u64>,
}

impl EndlessZip {
    /// The number of bytes of a record.
    const RECORD: u64 = 46;
    /// The maximum number of bytes that may be read from this file. After that, each read fails.
    const PATIENCE: u64 = 1 << 28;

    fn new(records: u64) -> Self {
        let directory_len = records * Self::RECORD;
        let mut zip64 = [&b"PK\x06\x06\x2c\0\0\0\0\0\0\0"[..], &[0; 12]].concat();
        for number in [records, records, directory_len, 0] {
            zip64.extend(number.to_le_bytes());
        }
        zip64.extend(b"PK\x06\x07\0\0\0\0");
        zip64.extend(directory_len.to_le_bytes());
        zip64.extend([1, 0, 0, 0]);
        zip64.extend([&b"PK\x05\x06\0\0\0\0"[..], &[0xff; 12], &[0; 2]].concat());
        Self { directory_len, end: zip64, read: Cell::new(0) }
    }
}

impl ReadAt for EndlessZip {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read.set(self.read.get() + bytes.len() as u64);
        if self.read.get() > Self::PATIENCE {
            return Err(io::Error::other("too much is read"));
        }
        let mut count = 0;
        for (byte, position) in bytes.iter_mut().zip(offset..) {
            let record = b"PK\x01\x02".iter().chain(&[0; 42]);
            *byte = match position.checked_sub(self.directory_len).map(usize::try_from) {
                None => record.copied().nth(usize::try_from(position % Self::RECORD).unwrap()).unwrap(),
                Some(at) => match self.end.get(at.unwrap()) {
                    Some(&byte) => byte,
                    None => break,
                },
            };
            count += 1;
        }
        Ok(count)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.directory_len + self.end.len() as u64)
    }
}

#[test]
fn a_zip_file_whose_directory_never_ends_is_refused() {
    bounded("endless zip", 0, 0, || {
        let error = zip_members(EndlessZip::new(1 << 34)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(error.to_string().contains("790273982540 bytes, but at most 16777216 are read"), "{error}");
    });
    bounded("records only", 46 * 100_000, 16, || {
        assert_eq!(zip_members(EndlessZip::new(100_000)).unwrap().len(), 100_000);
    });
}

/// A zip file with these members, named by their numbers.
fn zip(members: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut file);
    for (number, member) in members.iter().enumerate() {
        let name = number.to_string();
        let (mut entry, config) =
            archive.new_file(&name).compression_method(CompressionMethod::STORE).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(member).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    file
}

/// A zip file with members that all have the same bytes. The bytes of the members are generated while they are read.
struct LongMembers {
    member: Vec<u8>,
    count: usize,
    directory: Vec<u8>,
}

impl LongMembers {
    fn new(frame: &[u8], count: usize) -> Self {
        let one = zip(&[frame]);
        let entry = memchr::memmem::rfind(&one, b"PK\x01\x02").unwrap();
        let end = memchr::memmem::rfind(&one, b"PK\x05\x06").unwrap();
        let mut directory = Vec::new();
        for number in 0..count {
            let mut record = one[entry..end].to_vec();
            // The offset of the local header.
            record[42..46].copy_from_slice(&u32::try_from(number * entry).unwrap().to_le_bytes());
            directory.extend(record);
        }
        let mut last = one[end..].to_vec();
        let number = u16::try_from(count).unwrap().to_le_bytes();
        last[8..10].copy_from_slice(&number);
        last[10..12].copy_from_slice(&number);
        last[12..16].copy_from_slice(&u32::try_from(directory.len()).unwrap().to_le_bytes());
        last[16..20].copy_from_slice(&u32::try_from(count * entry).unwrap().to_le_bytes());
        directory.extend(last);
        Self { member: one[..entry].to_vec(), count, directory }
    }
}

impl ReadAt for LongMembers {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let at = usize::try_from(offset).unwrap();
        let rest = match at.checked_sub(self.member.len() * self.count) {
            None => &self.member[at % self.member.len()..],
            Some(at) => self.directory.get(at..).unwrap_or_default(),
        };
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn size(&self) -> io::Result<u64> {
        Ok((self.member.len() * self.count + self.directory.len()) as u64)
    }
}

#[test]
fn the_headers_of_the_members_of_a_zip_file_cost_at_most_128_mebibytes() {
    let frame = frame_of(&[("m", &vec![0xc0; (1 << 20) - 200])], &[]);
    let peak = measure(|| {
        let members = zip_members(LongMembers::new(&frame, 400)).unwrap();
        let kept = members.iter().filter(|member| member.frame().is_some()).count();
        assert_eq!((members.len(), kept), (400, 128));
        let MemberContent::Broken(finding) = members[399].content() else { panic!("{:?}", members[399]) };
        assert_eq!(finding.code(), FindingCode::TooLong);
    });
    // The kept headers have at most 128 MiB together. A header has nearly 1 MiB, and while it is read, two copies of it
    // are in memory.
    assert!(peak.bytes_max < 132 << 20, "{}", peak.bytes_max);
}

#[test]
fn a_file_that_is_full_of_frames_costs_what_is_there() {
    let array = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let mut long = array[..87].to_vec();
    long[11..15].copy_from_slice(&500_000_u32.to_be_bytes());
    long[16..24].copy_from_slice(&u64::MAX.to_be_bytes());
    for file in [b"b2frame\0".repeat(1 << 14), array.repeat(1000), long.repeat(6000), vec![0; 1 << 20]] {
        bounded("scan", file.len(), 8, || scan(&file[..]).for_each(drop));
    }

    let members: Vec<&[u8]> =
        (0..10_000).map(|index| if index % 2 == 0 { &array[..] } else { b"" }).collect();
    let file = zip(&members);
    bounded("zip", file.len(), 16, || drop(zip_members(&file[..])));
    // Changes bytes of the record at the end of the zip file, so that the record claims a directory that is too large.
    for at in file.len() - 22..file.len() {
        let mut claims = file.clone();
        claims[at..].iter_mut().take(4).for_each(|byte| *byte = 0xff);
        bounded("zip that claims", file.len(), 16, || drop(zip_members(&claims[..])));
    }
}

/// Makes a frame with a vlmetalayer whose value is in `chunk`, and reads this value. Returns the length of the value,
/// or `None` if it cannot be read, and the peak memory of the read.
fn value(chunk: &[u8]) -> (Option<usize>, u64) {
    let file = frame_of(&[], &[("m", chunk)]);
    let trailer = Frame::read_at(&file[..], 0).unwrap().trailer().unwrap();
    let mut length = None;
    let peak = measure(|| length = trailer.vlmetalayers()[0].value().ok().map(|value| value.len())).bytes_max;
    (length, peak)
}

#[test]
fn the_value_of_a_vlmetalayer_is_bounded_by_its_chunk() {
    const MOST: usize = (1 << 20) + 1024 * 32;
    let is_on = cfg!(feature = "decompress");
    for length in [100, 1 << 20, MOST] {
        let (found, peak) = value(&chunk_of_zeros(length));
        assert_eq!(found, is_on.then_some(length));
        assert!(peak <= length as u64 + 1000, "{peak}");
    }
    for length in [MOST + 1, 1 << 24, i32::MAX as usize] {
        let (found, peak) = value(&chunk_of_zeros(length));
        assert!(found.is_none() && peak < 1000, "{length}: {peak}");
    }
    // An uncompressed value is borrowed from the trailer, so reading it allocates nothing.
    let (found, peak) = value(&stored_chunk(&vec![0xc0; 1 << 21]));
    assert_eq!((found, peak), (Some(1 << 21), 0));
}

#[test]
fn a_value_of_many_items_costs_what_its_type_keeps() {
    let nils = [&b"\xdd\0\x01\0\0"[..], &vec![0xc0; 1 << 16]].concat();
    let claims = b"\xdd\xff\xff\xff\xff\xc0\xc0";
    let file = frame_of(&[("nils", &nils), ("claims", claims)], &[("claims", &stored_chunk(claims))]);
    let frame = Frame::read_at(&file[..], 0).unwrap();
    let trailer = frame.trailer().unwrap();
    let (nils, claims) = (&frame.metalayers()[0], &frame.metalayers()[1]);
    bounded("nils", 1 << 16, 2 * 16, || {
        assert_eq!(nils.decode::<Vec<Option<u64>>>().unwrap().len(), 1 << 16);
    });
    // Before serde reads the elements of a `Vec`, it allocates the claimed length, but at most 1 MiB.
    let reserved = (1 << 20) + 1000;
    bounded("claims", reserved, 1, || assert!(claims.decode::<Vec<Option<u64>>>().is_err()));
    bounded("claims", reserved, 1, || {
        assert!(trailer.vlmetalayers()[0].decode::<Vec<Option<u64>>>().is_err());
    });
}

/// The chunk index is a chunk of zeros. So an index of 32 bytes can claim any number of chunks.
#[test]
fn the_check_of_a_sparse_frame_is_bounded_by_its_index_and_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chunks.b2frame");
    let sparse = fs::read(data().join("sparse.b2nd/chunks.b2frame")).unwrap();
    let frame = Frame::parse(&sparse).unwrap();
    let header = frame.header();
    for count in [1000_usize, 1 << 17, 1 << 23] {
        let mut file = sparse[..header.header_len].to_vec();
        file.extend(chunk_of_zeros(8 * count));
        file.extend(&sparse[sparse.len() - 35..]);
        let nbytes = i64::try_from(count).unwrap() * i64::from(header.chunksize);
        let frame_len = file.len() as u64;
        file[16..24].copy_from_slice(&frame_len.to_be_bytes());
        file[30..38].copy_from_slice(&nbytes.to_be_bytes());
        fs::write(&path, &file).unwrap();
        // The check needs memory for the decompressed index, and for the offsets in it.
        let index = (1 << 20) + 1024 * 32;
        bounded(&format!("{count} chunks"), index, 4, || {
            drop(Check::default().run(&Frame::open(folder.path()).unwrap()));
        });
    }
}

#[test]
fn a_new_frame_costs_8_bytes_for_each_chunk() {
    let begin = |chunks: i64| {
        let meta = Meta::new(
            Shapes { shape: &[chunks << 10], chunkshape: &[1 << 10], blockshape: &[1 << 10] },
            "|u1",
        );
        FrameBuilder::new(meta.unwrap()).write_to(Writes::to(|_, _| {})).unwrap()
    };
    let items = [7; 1 << 10];
    for chunks in [1000, 1 << 20] {
        bounded(&format!("{chunks} chunks"), usize::try_from(chunks).unwrap(), 8, || {
            let mut writer = begin(chunks);
            for number in 0..writer.nchunks() {
                writer.write_uncompressed(number, &items).unwrap();
            }
            let written = writer.finish().unwrap().position;
            assert!(written > u64::try_from(chunks).unwrap() * (1 << 10));
        });
    }
    // A writer allocates nothing for the chunks of a large array before they are written.
    bounded("268435451 chunks", 0, 0, || {
        let mut writer = begin(268_435_451);
        writer.fill_missing(SpecialValue::Zeros).unwrap();
        writer.finish().unwrap();
    });
    // If a few chunks are far apart, a writer allocates at most 16 KiB for each of them. The order does not matter.
    let few = [268_435_450, 5, 1 << 27, 1 << 20];
    bounded("4 of 268435451 chunks", few.len(), 16 << 10, || {
        let mut writer = begin(268_435_451);
        for number in few {
            writer.write_special(number, SpecialValue::Nan).unwrap_err();
            writer.write_special(number, SpecialValue::Uninitialized).unwrap();
        }
        assert_eq!(writer.first_missing(), Some(0));
    });
}

/// A source that counts the bytes read.
struct Counting<'c> {
    file: &'c [u8],
    read: Cell<usize>,
}

impl<'c> Counting<'c> {
    fn new(file: &'c [u8]) -> Self {
        Self { file, read: Cell::new(0) }
    }
}

impl ReadAt for Counting<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = self.file.read_at(buffer, offset)?;
        self.read.set(self.read.get() + length);
        Ok(length)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

/// Frames, each with a name for messages. In all frames except `backwards`, chunks share bytes. In `to and fro` and
/// `backwards`, the chunks are in the file in another order than in the chunk index.
fn frames_of_chunks() -> Vec<(&'static str, Vec<u8>)> {
    let many = 30_000;
    let table = chunk_with_a_table(250_000);
    let short = chunk_with_a_table(8000);
    // Each chunk begins where the header of the chunk before it ends, 32 bytes later. So the table of blocks of a chunk
    // consists of the headers of the next chunks.
    let nested = [short[..32].repeat(many), short[32..].to_vec()].concat();
    let small = stored_chunk(b"data");
    // The order of the chunks is 0, 40, 1, 41, 2, 42 and so on, so each chunk is far from the one before it.
    let order: Vec<usize> = (0..many).map(|at| (at / 2 + 40 * (at % 2)) * small.len()).collect();
    let back: Vec<usize> = (0..many).rev().map(|at| at * small.len()).collect();
    vec![
        ("one table for all", frame_of_chunks(&table, &vec![0; many], 2_000_000)),
        (
            "tables in a table",
            frame_of_chunks(&nested, &(0..many).map(|at| 32 * at).collect::<Vec<_>>(), 64_000),
        ),
        ("to and fro", frame_of_chunks(&small.repeat(many), &order, 4)),
        ("backwards", frame_of_chunks(&small.repeat(many), &back, 4)),
    ]
}

#[test]
fn a_check_of_chunks_reads_each_byte_a_few_times_whatever_they_share() {
    for (name, file) in frames_of_chunks() {
        for depth in [CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
            let frame = Frame::read_at(Counting::new(&file), 0).unwrap();
            let report = Check::new(depth).run(&frame).unwrap();
            let (read, most) = (frame.reader().read.get(), 8 * file.len());
            assert!(read <= most, "{name}: {read} bytes are read, more than {most}");
            // In all frames except `backwards`, chunks share bytes, and shared bytes are an error. In the frames whose
            // names contain "table", each chunk has a table of blocks. The check skips some of these chunks, and must
            // report that it skipped them.
            let is_error = report.findings.iter().any(|finding| finding.severity() == Severity::Error);
            assert!(is_error || name == "backwards", "{name}");
            assert_eq!(!report.skipped.is_empty(), name.contains("table"), "{name}: {:?}", report.skipped);
        }
    }
}

#[test]
fn a_check_of_chunks_costs_what_is_there() {
    for (name, file) in frames_of_chunks() {
        // A check of the data also allocates memory for the offsets of the blocks of the chunk that it decompresses.
        for (depth, factor) in [(CheckDepth::ChunkHeaders, 8), (CheckDepth::ChunkData, 8 + 8)] {
            bounded(name, file.len(), factor, || {
                drop(Frame::read_at(&file[..], 0).map(|frame| Check::new(depth).run(&frame)));
            });
        }
    }
}

#[test]
fn a_salvage_reads_each_byte_a_few_times_whatever_chunks_share() {
    const COUNT: usize = 30_000;
    const BLOCKS: usize = 8000;
    // Each chunk begins where the header of the chunk before it ends, 32 bytes later. So the table of blocks of a chunk
    // consists of the headers of the next chunks.
    let short = chunk_with_a_table(BLOCKS);
    let chunks = [short[..32].repeat(COUNT), short[32..].to_vec()].concat();
    let starts: Vec<usize> = (0..COUNT).map(|at| 32 * at).collect();
    let (nbytes, nchunks) = (i32::try_from(8 * BLOCKS).unwrap(), i64::try_from(COUNT).unwrap());
    let shapes = Shapes { shape: &[i64::from(nbytes) * nchunks], chunkshape: &[nbytes], blockshape: &[8] };
    let array = to_vec(&Meta::new(shapes, "|u1").unwrap()).unwrap();
    let file = with_chunks(frame_of(&[("b2nd", &array)], &[]), &chunks, &starts, 8 * BLOCKS);
    let counting = Counting::new(&file);
    bounded("salvage", file.len(), 16, || {
        let error = Salvage::read_at(&counting, 0).unwrap().preview().unwrap_err();
        assert!(error.to_string().contains("it shares bytes with another chunk"), "{error}");
    });
    let (read, most) = (counting.read.get(), 16 * file.len());
    assert!(read <= most, "{read} bytes are read, more than {most}");
}

/// A chunk of `count` blocks of `block` bytes. All bytes of its data are 7. Each block has a stream of its own, which
/// takes 5 bytes with its length. After the streams, the chunk has zeros up to `cbytes`. If the chunk would be longer
/// than `cbytes` bytes, its end is cut off.
#[cfg(feature = "decompress")]
fn chunk_of_blocks(count: usize, block: usize, cbytes: usize) -> Vec<u8> {
    const LZ4_IN_ONE_STREAM: u8 = 0x35;
    let mut chunk = vec![5, 1, LZ4_IN_ONE_STREAM, 1];
    for size in [count * block, block, cbytes] {
        chunk.extend(u32::try_from(size).unwrap().to_le_bytes());
    }
    chunk.extend([0; 16]);
    let table_end = chunk.len() + 4 * count;
    (0..count).for_each(|block| chunk.extend(u32::try_from(table_end + 5 * block).unwrap().to_le_bytes()));
    // The length -7 and a token of 1 mean that the stream repeats the byte 7.
    (0..count).for_each(|_| chunk.extend([0xf9, 0xff, 0xff, 0xff, 1]));
    chunk.resize(cbytes, 0);
    chunk
}

/// An uncompressed chunk of `nbytes` bytes, all of them 7, in blocks of `block` bytes.
#[cfg(feature = "decompress")]
fn uncompressed_chunk(nbytes: usize, block: usize) -> Vec<u8> {
    let mut chunk = stored_chunk(&vec![7; nbytes]);
    chunk[8..12].copy_from_slice(&u32::try_from(block).unwrap().to_le_bytes());
    chunk
}

/// An array whose rows are chunks of the same size. `chunks` and `starts` are as in [`frame_of_chunks`].
#[cfg(feature = "decompress")]
fn array_of_rows(chunks: &[u8], starts: &[usize]) -> Vec<u8> {
    let header = ChunkHeader::parse(chunks).unwrap();
    let (row, block) = (header.nbytes(), i32::try_from(header.blocksize()).unwrap());
    let shapes = Shapes {
        shape: &[i64::try_from(starts.len()).unwrap(), i64::try_from(row).unwrap()],
        chunkshape: &[1, i32::try_from(row).unwrap()],
        blockshape: &[1, block],
    };
    let array = to_vec(&Meta::new(shapes, "|u1").unwrap()).unwrap();
    let mut file = with_chunks(frame_of(&[("b2nd", &array)], &[]), chunks, starts, row);
    // Offsets in a header: 48 typesize, 53 blocksize.
    for (at, number) in [(48, 1), (53, block)] {
        file[at..at + 4].copy_from_slice(&number.to_be_bytes());
    }
    file
}

/// An array of `count` rows of `row` items. Each row is a chunk, and each block of the chunk has one item. All index
/// entries have the offset of the same chunk, which has `cbytes` bytes.
#[cfg(feature = "decompress")]
fn one_chunk_for_all(count: usize, row: usize, cbytes: usize) -> Vec<u8> {
    array_of_rows(&chunk_of_blocks(row, 1, cbytes), &vec![0; count])
}

/// An array of `count` rows. Each row has a copy of the chunk.
#[cfg(feature = "decompress")]
fn copies(chunk: &[u8], count: usize) -> Vec<u8> {
    let starts: Vec<usize> = (0..count).map(|number| number * chunk.len()).collect();
    array_of_rows(&chunk.repeat(count), &starts)
}

#[test]
fn unowned_bytes_takes_no_memory_for_entries_that_point_to_the_same_chunk() {
    let chunk = stored_chunk(&[7; 16]);
    let file = frame_of_chunks(&chunk, &vec![0; 1 << 17], 16);
    let frame = Frame::read_at(&file, 0).unwrap();
    bounded("unowned_bytes", file.len(), 1, || assert_eq!(frame.unowned_bytes().unwrap(), 0));
}

/// In the chunk index of this frame, each entry is in a block of its own. So a slice must read one block of the index
/// for each of its chunks.
#[cfg(feature = "decompress")]
#[test]
fn a_slice_takes_memory_for_the_bytes_of_the_index_once() {
    const COUNT: usize = 20_000;
    let mut file = one_chunk_for_all(COUNT, 1, 64);
    let start = Frame::parse(&file).unwrap().header().header_len + 64;
    // The index has 8 bytes for each entry. Here the index becomes a compressed chunk, with a block for each entry. A
    // block takes 8 bytes of this chunk too: 4 for its offset in the table of blocks, and 4 for the length of its
    // stream. The length 0 means that all bytes of the block are zeros.
    file[start + 2] = 0x35;
    file[start + 8..start + 12].copy_from_slice(&8_u32.to_le_bytes());
    let mut offsets = (0..COUNT).map(|block| u32::try_from(32 + 4 * (COUNT + block)).unwrap());
    for at in file[start + 32..].chunks_exact_mut(4).take(2 * COUNT) {
        at.copy_from_slice(&offsets.next().unwrap_or_default().to_le_bytes());
    }
    let count = COUNT as u64;
    for plans in [false, true] {
        // For each block of the index, a slice keeps the bytes of the block and their position. A plan reads this short
        // frame whole, so it plans the reads of all chunks in the same wave.
        bounded("a slice", file.len(), 75, || {
            let array = Array::new(Frame::read_at(&file, 0).unwrap()).unwrap();
            let slice = array.slice(&[0..count, 0..1]);
            let result = if plans { planned(slice.plan().unwrap(), &file) } else { slice.read() };
            assert_eq!(result.unwrap_err().finding().unwrap().code(), FindingCode::ChunkOverlap);
        });
    }
}

/// Reads a slice by a plan: gives the plan the bytes of each range of the file that the plan asks for, and returns the
/// items.
#[cfg(feature = "decompress")]
fn planned(mut plan: SlicePlan, file: &[u8]) -> Result<Vec<u8>, b2nd_frame::Error> {
    while !plan.ranges().is_empty() {
        let at = |byte: u64| usize::try_from(byte).unwrap();
        let wave: Vec<_> =
            plan.ranges().iter().map(|range| file[at(range.start)..at(range.end)].to_vec()).collect();
        plan.take(wave)?;
    }
    plan.finish()
}

#[cfg(feature = "decompress")]
#[test]
fn a_slice_reads_each_byte_a_few_times_whatever_chunks_share() {
    // In the first file, the chunk has bytes that no stream needs. In the second file, the chunk has a long table of
    // blocks, and a slice needs only one entry of it. In the third file, the chunk is not compressed.
    let tables = one_chunk_for_all(5000, 8000, 1 << 17);
    let mut stored = one_chunk_for_all(1000, 1 << 16, (1 << 16) + 32);
    let chunk = Frame::parse(&stored).unwrap().header().header_len;
    stored[chunk + 2] |= 0x02;
    for (file, count) in [(one_chunk_for_all(1000, 1, 1 << 20), 1000), (tables, 5000), (stored, 1000)] {
        let array = Array::new(Frame::read_at(Counting::new(&file), 0).unwrap()).unwrap();
        let error = array.slice(&[0..count, 0..1]).read().unwrap_err();
        let says =
            "up to chunk 1, the chunks of the slice have more bytes than the frame, so some share bytes";
        let finding = error.finding().unwrap();
        assert_eq!((finding.code(), finding.message()), (FindingCode::ChunkOverlap, says));
        let (read, most) = (array.frame().reader().read.get(), 8 * file.len());
        assert!(read <= most, "{read} bytes are read, more than {most}");
    }
}

/// The chunk is not compressed, so each of its blocks can be read alone.
#[cfg(feature = "decompress")]
#[test]
fn a_slice_of_a_chunk_file_takes_memory_only_for_the_start_of_the_chunk_and_its_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    let shapes = Shapes { shape: &[1 << 20], chunkshape: &[1 << 20], blockshape: &[1 << 12] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let mut writer = builder.create_sparse(&path).unwrap();
    writer.write_uncompressed(0, &vec![7; 1 << 20]).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let array = Array::open(&path).unwrap();
    let middle = std::slice::from_ref(&(1 << 19..(1 << 19) + 1));
    // The first read has the first 16 KiB of the chunk, and the second one a block.
    bounded("an item", (1 << 14) + (1 << 12), 1, || {
        assert_eq!(array.slice(middle).read().unwrap(), [7]);
    });
}

/// The number of bytes of the next wave of a plan.
#[cfg(feature = "decompress")]
fn next_wave(plan: &SlicePlan) -> u64 {
    plan.ranges().iter().map(|range| range.end - range.start).sum()
}

#[cfg(feature = "decompress")]
#[test]
fn a_plan_reads_the_pages_of_the_index_together_but_at_most_4_mib_of_them() {
    // The steps select one chunk of each page. The index has 128 pages.
    let file = one_chunk_for_all(1 << 20, 1, 64);
    let array = Array::new(Frame::read_at(&file, 0).unwrap()).unwrap();
    let mut plan = array.slice(&[0..1 << 20, 0..1]).steps(&[1 << 13, 1]).plan().unwrap();
    // The first wave is the start of the index.
    let [start, end] = [plan.ranges()[0].start, plan.ranges()[0].end];
    plan.take([&file[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()]]).unwrap();
    assert_eq!(next_wave(&plan), 4 << 20);

    // The array already keeps the second of three pages. The gap between the other two is short, so one range covers
    // all three.
    let file = one_chunk_for_all(3 << 13, 1, 1 << 19);
    let array = Array::new(Frame::read_at(&file, 0).unwrap()).unwrap();
    let second = array.slice(&[1 << 13..(1 << 13) + 1, 0..1]).plan().unwrap();
    assert_eq!(planned(second, &file).unwrap(), [7]);
    let plan = array.slice(&[0..3 << 13, 0..1]).steps(&[1 << 13, 1]).plan().unwrap();
    assert_eq!(next_wave(&plan), 3 << 16);
}

/// If two plans read the same chunk at the same time, both give the array the table of its blocks.
#[cfg(feature = "decompress")]
#[test]
fn array_keeps_at_most_4_mib_of_tables_even_if_two_plans_read_the_same_chunk() {
    // A table of blocks has 512 KiB.
    let file = one_chunk_for_all(10, 1 << 17, 32 + (9 << 17));
    let array = Array::new(Frame::read_at(&file, 0).unwrap()).unwrap();
    let plan = |chunk: u64| array.slice(&[chunk..chunk + 1, 0..1]).plan().unwrap();
    let kept = measure(|| {
        for chunk in 0..10 {
            for plan in [plan(chunk), plan(chunk)] {
                assert_eq!(planned(plan, &file).unwrap(), [7]);
            }
            if chunk == 2 {
                // Three tables are within the limit, so the array keeps them. Only the block of 5 bytes is read again.
                (0..3).for_each(|chunk| assert_eq!(next_wave(&plan(chunk)), 5, "{chunk}"));
            }
        }
    });
    let most = (4 << 20) + ALWAYS;
    assert!(kept.bytes_current.unsigned_abs() <= most, "{kept:?}, more than {most}");
}

#[cfg(feature = "decompress")]
#[test]
fn array_keeps_memory_for_decompressing_unless_it_is_above_16_mib() {
    // The memory for a block is five times its size.
    for (length, is_kept) in [(1 << 20, true), (4 << 20, false), (17 << 20, false)] {
        let file = copies(&chunk_of_blocks(1, length, 41), 1);
        let array = Array::new(Frame::read_at(&file, 0).unwrap()).unwrap();
        let read = || measure(|| assert_eq!(array.slice(&[0..1, 5..6]).read().unwrap(), [7]));
        let (first, most) = (read(), (16 << 20) + ALWAYS);
        assert!(first.bytes_current.unsigned_abs() <= most, "{length}: {first:?}, more than {most}");
        // The second slice needs no new memory for the block if the array has kept the memory of the first.
        let second = read();
        assert_eq!(second.bytes_total < length as u64, is_kept, "{length}: {second:?}");
    }
}

/// A source that records the number of bytes of each wave.
#[cfg(feature = "decompress")]
struct RecordsWaves<'f> {
    file: &'f [u8],
    spare: u64,
    waves: RefCell<Vec<u64>>,
}

#[cfg(feature = "decompress")]
impl ReadAt for RecordsWaves<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn bytes_per_round_trip(&self) -> u64 {
        self.spare
    }

    fn read_ahead(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        self.waves.borrow_mut().push(ranges.iter().map(|range| range.end - range.start).sum());
        Ok(())
    }
}

/// Reads every `step`-th item of these rows, and asserts that each is 7. Returns the number of bytes of each wave after
/// the first wave, which reads the index. A round trip to the source takes as long as the transfer of `spare` bytes.
#[cfg(feature = "decompress")]
fn waves(file: &[u8], spare: u64, rows: &[Range<u64>; 2], step: u64) -> Vec<u64> {
    let source = RecordsWaves { file, spare, waves: RefCell::default() };
    let array = Array::new(Frame::read_at(source, 0).unwrap()).unwrap();
    let recorded = &array.frame().reader().waves;
    recorded.borrow_mut().clear();
    let items = array.slice(rows).steps(&[1, step]).read().unwrap();
    assert!(items.iter().all(|&item| item == 7));
    recorded.borrow()[1..].to_vec()
}

#[cfg(feature = "decompress")]
#[test]
fn a_slice_of_a_file_reads_waves_of_at_most_1_mib_unless_one_read_is_longer() {
    // Of each chunk, the first 16 KiB are read, then the header and the table with 512 KiB together, then a block of 5
    // bytes. Two tables fill a wave.
    let file = copies(&chunk_of_blocks(131_064, 1, 32 + 9 * 131_064), 3);
    assert_eq!(waves(&file, 0, &[0..3, 0..1], 1), [3 << 14, 1 << 20, (1 << 19) + 10, 5]);
    // A header and a table that are longer than a wave are read alone.
    let file = copies(&chunk_of_blocks(300_000, 1, 32 + 9 * 300_000), 2);
    let both = 32 + 4 * 300_000;
    assert_eq!(waves(&file, 0, &[0..2, 0..1], 1), [2 << 14, both, both, 10]);
    // The blocks of a chunk have 40940 bytes, but the memory for planning them is 512 KiB. This memory counts toward the
    // limit.
    let file = copies(&chunk_of_blocks(8188, 1, 32 + 9 * 8188), 3);
    assert_eq!(waves(&file, 0, &[0..3, 0..8188], 1), [3 << 14, 3 * 32_784, 2 * 40_940, 40_940]);
}

#[cfg(feature = "decompress")]
#[test]
fn a_slice_of_a_file_reads_the_first_bytes_of_chunks_in_a_quarter_of_a_wave() {
    let file = copies(&uncompressed_chunk(40_000, 1000), 40);
    assert_eq!(waves(&file, 0, &[0..40, 0..40_000], 1)[0], 16 << 14);
}

#[cfg(feature = "decompress")]
#[test]
fn a_slice_of_a_file_does_not_read_a_long_gap_between_two_blocks() {
    let file = copies(&uncompressed_chunk(400_000, 1000), 1);
    assert_eq!(waves(&file, 0, &[0..1, 0..400_000], 300_000), [1 << 14, 2 * 1000]);
}

#[cfg(feature = "decompress")]
#[test]
fn a_slice_of_a_file_reads_a_short_gap_between_two_chunks() {
    // The first 16 KiB of each chunk are read. Between them is the rest of the first chunk.
    let chunk = uncompressed_chunk(18_000, 1000);
    let first = waves(&copies(&chunk, 2), 0, &[0..2, 17_500..17_501], 1)[0];
    assert_eq!(first, chunk.len() as u64 + (1 << 14));
}

#[cfg(feature = "decompress")]
#[test]
fn a_slice_from_a_server_reads_chunks_whole_up_to_an_exact_number_of_needless_bytes() {
    // The slice needs half of the chunk. The limit for the other half is 512 KiB, the bytes of a round trip, and an eighth
    // of them for the chunk. The other half has this number of bytes, or one byte more.
    let file = copies(&uncompressed_chunk(2 * 589_808, 589_808), 1);
    assert_eq!(waves(&file, 1 << 19, &[0..1, 0..1], 1), [1_179_648]);
    let file = copies(&uncompressed_chunk(2 * 589_809, 589_809), 1);
    assert_eq!(waves(&file, 1 << 19, &[0..1, 0..1], 1), [1 << 14, 589_809]);
    // A chunk has 150000 stored bytes, fewer than its data. Half of them are needless.
    let file = copies(&chunk_of_blocks(2, 100_000, 150_000), 4);
    assert_eq!(waves(&file, 1 << 19, &[0..4, 0..1], 1), [600_000]);
    assert_eq!(waves(&file, 1 << 19, &[1..2, 0..1], 1), [150_000]);
    // Each of these chunks counts as 16 KiB. All of them together are more than a quarter of a wave of 64 MiB.
    let file = copies(&uncompressed_chunk(32, 32), 2000);
    assert_eq!(waves(&file, 1, &[0..2000, 0..32], 1), [2000 * 64]);
}

#[test]
fn vlmetalayers_that_share_their_bytes_are_refused_and_lost() {
    const COUNT: usize = 8192;
    // The value is a MessagePack value of type bin32.
    let value = stored_chunk(&[&[0xc6, 0, 4, 0, 0][..], &vec![0; 1 << 18]].concat());
    let names: Vec<String> = (0..COUNT).map(|number| format!("{number:04}")).collect();
    let mut layers: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &[][..])).collect();
    layers[COUNT - 1].1 = &value;
    let shapes = Shapes { shape: &[0], chunkshape: &[8], blockshape: &[8] };
    let array = to_vec(&Meta::new(shapes, "|u1").unwrap()).unwrap();
    let mut file = frame_of(&[("b2nd", &array)], &layers);
    let read_at = |file| Frame::read_at(file, 0).unwrap();
    let trailer = read_at(file.clone()).trailer().unwrap();
    let start = usize::try_from(trailer.offset()).unwrap();
    let last = usize::try_from(trailer.vlmetalayers()[COUNT - 1].offset()).unwrap() - 5 - start;
    // The trailer begins with a marker and a version of 1 byte each. The first 7 bytes of its section of vlmetalayers
    // follow, and then the entries of the vlmetalayers, each of 10 bytes. The last 4 bytes of an entry are the offset.
    for entry in file[start + 9..].chunks_mut(10).take(COUNT) {
        entry[6..].copy_from_slice(&u32::try_from(last).unwrap().to_be_bytes());
    }
    let error = read_at(file.clone()).trailer().unwrap_err();
    assert!(error.to_string().contains("so some share bytes"), "{error}");
    let report = Check::new(CheckDepth::ChunkData).run(&read_at(file.clone())).unwrap();
    assert!(report.findings.iter().any(|finding| finding.code() == FindingCode::DamagedTrailer));
    bounded("salvage", file.len(), 16, || {
        let report = Salvage::read_at(&file, 0).unwrap().preview().unwrap();
        let missing = &report.lost_metalayers;
        assert!(missing.len() > COUNT - 8 && report.frame.header().has_vlmetalayers, "{}", missing.len());
        assert_eq!(missing[COUNT / 2].why, "it shares bytes with other vlmetalayers");
    });
}

#[test]
fn a_compressed_chunk_costs_twice_its_bytes() {
    for length in [100, 1 << 15, 1 << 24] {
        let chunk = stored_chunk(&vec![7; length]);
        let mut file = frame_of_chunks(&chunk, &[0], length);
        let read = |file: &[u8]| {
            let frame = Frame::read_at(file, 0).unwrap();
            let mut chunks = frame.chunks().unwrap();
            let first = chunks.next().unwrap().unwrap();
            chunks.compressed(&first).map(|chunk| chunk.map(|chunk| chunk.len()))
        };
        bounded("a chunk", chunk.len(), 2, || assert_eq!(read(&file).unwrap(), Some(chunk.len())));
        // The header claims more bytes than the chunk has.
        let start = Frame::parse(&file).unwrap().header().header_len;
        file[start + 12..start + 16].copy_from_slice(&i32::MAX.to_le_bytes());
        bounded("a claim", 0, 2, || assert!(read(&file).is_err()));
    }
}

#[test]
fn a_frame_that_claims_gigabytes_costs_what_is_there() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims.b2nd");
    // The claims are, in turn, the length of the header, the length of the frame, the number of metalayers, and the
    // length of the metalayer.
    for (at, claim) in [
        (11, &i32::MAX.to_be_bytes()[..]),
        (16, &u64::MAX.to_be_bytes()[..]),
        (92, &u16::MAX.to_be_bytes()[..]),
        (108, &u32::MAX.to_be_bytes()[..]),
    ] {
        let mut claims = file.clone();
        claims[at..at + claim.len()].copy_from_slice(claim);
        fs::write(&path, &claims).unwrap();
        assert!(measure(|| assert!(Frame::open(&path).is_err(), "{at}")).bytes_max < 10_000, "{at}");
    }
}

/// A constant chunk index claims a million chunks. A list of their offsets would take 8 MiB.
#[cfg(feature = "decompress")]
#[test]
fn a_change_of_type_takes_no_memory_for_chunks_that_an_index_of_one_value_claims() {
    let folder = tempfile::tempdir().unwrap();
    let (path, new) = (folder.path().join("zeros.b2nd"), folder.path().join("sparse.b2nd"));
    let meta = Meta::new(Shapes { shape: &[1 << 20], chunkshape: &[1], blockshape: &[1] }, "|u1").unwrap();
    let mut writer = FrameBuilder::new(meta).create(&path).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let rewrite = || drop(Rewrite::new(&path, &new).sparse(true).apply().unwrap());
    let taken = measure(rewrite).bytes_max;
    assert!(taken < 1_000_000, "{taken}");
}

/// A file without a chunk index has old bytes after each chunk. A salvage keeps the place of each chunk, and of the bytes
/// between the chunks, even if the array has fewer chunks. The length of the header is wrong, so the places are searched
/// twice.
#[test]
fn a_salvage_without_an_index_takes_memory_for_each_chunk_of_the_file() {
    const COUNT: usize = 33_000;
    let items: Vec<u8> = (0..97).collect();
    for nchunks in [4, COUNT] {
        let shape = [i64::try_from(97 * nchunks).unwrap()];
        let shapes = Shapes { shape: &shape, chunkshape: &[97], blockshape: &[97] };
        let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
        let mut writer = builder.write_to(io::Cursor::new(Vec::new())).unwrap();
        writer.write_uncompressed(0, &items).unwrap();
        writer.fill_missing(SpecialValue::Zeros).unwrap();
        let file = writer.finish().unwrap().into_inner();
        let start = Frame::parse(&file).unwrap().header().header_len;
        let chunk = &file[start..start + 32 + items.len()];
        let mut file = [&file[..start], &[chunk, &[0x55; 5]].concat().repeat(COUNT)].concat();
        file[14] += 5;
        let memory = measure(|| {
            let report = Salvage::read_at(&file[..], 0).unwrap().assume_order().preview().unwrap();
            assert_eq!(report.counts.stored, nchunks as u64);
        });
        let (peak, most) = (memory.bytes_max, (64 * nchunks + 200 * COUNT) as u64 + ALWAYS);
        assert!(peak <= most, "{nchunks} chunks: {peak} bytes of memory, more than {most}");
    }
}
