//! Finds frames inside other files: in zip files by the names of the members, and in any file by the magic bytes of a
//! frame.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{Recording, findings, unlock};
use b2nd_frame::{
    ErrorKind, Finding, FindingCode, Frame, MemberContent, ObjectKind, ReadAt, ZipMember, check, has_locks,
    scan, zip_member, zip_members,
};
use b2nd_lab::{corpus, data};
use rawzip::{CompressionMethod, ZipArchiveWriter};

fn file(name: &str) -> Vec<u8> {
    fs::read(data().join(name)).unwrap()
}

fn shape<R>(frame: &Frame<R>) -> Option<Vec<i64>> {
    frame.array().unwrap().map(|array| array.shape().to_vec())
}

#[test]
fn a_tree_store_lists_its_arrays_with_name_and_offset() {
    let zip = File::open(data().join("tree.b2z")).unwrap();
    let members = zip_members(&zip).unwrap();
    let mut arrays = Vec::new();
    for member in &members {
        let frame = member.frame().unwrap();
        assert_eq!(frame.offset(), member.offset());
        assert_eq!(frame.header().frame_len, member.len());
        let whole = Frame::read_at(&zip, member.offset()).unwrap();
        assert_eq!(whole.metalayers(), frame.metalayers());
        assert_eq!(findings(&whole), []);
        arrays.extend(shape(frame).map(|shape| (member.name(), shape)));
    }
    arrays.sort();
    assert_eq!(arrays, [("group/large.b2nd", vec![6, 8]), ("group/small.b2nd", vec![4])]);

    // The third member, the store's own file, is a frame without an array.
    let embed = members.iter().find(|member| member.name() == "embed.b2e").unwrap().frame().unwrap();
    assert_eq!(embed.metalayers()[0].name(), "b2tree");
    assert_eq!(embed.kind(), ObjectKind::TreeStore);
    assert!(shape(embed).is_none());
}

#[test]
fn the_zip_files_of_the_corpus_have_their_arrays_where_the_manifest_says() {
    let Some((folder, entries)) = corpus() else { return };
    let mut seen = 0;
    for entry in &entries {
        let path = folder.join(entry["file"].as_str().unwrap());
        if path.extension().is_none_or(|extension| extension != "b2z") {
            continue;
        }
        let members = zip_members(File::open(path).unwrap()).unwrap();
        let offset = entry["frame_offset"].as_u64().unwrap();
        let member = members.iter().find(|member| member.offset() == offset).unwrap();
        assert_eq!(serde_json::json!(shape(member.frame().unwrap())), entry["expected"]["shape"]);
        seen += 1;
    }
    assert_eq!(seen, 2);
}

/// A zip file with these members. The content of each member is stored as it is, whatever compression method the member
/// claims.
fn zip(members: &[(&str, CompressionMethod, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for &(name, method, content) in members {
        let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(content).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

#[test]
fn what_is_no_frame_and_what_is_compressed_is_said_to_be_so() {
    let array = file("int32_3x5.b2nd");
    let (store, deflate) = (CompressionMethod::STORE, CompressionMethod::DEFLATE);
    let bytes = zip(&[
        ("a.b2nd", store, &array),
        ("packed.b2nd", deflate, b"whatever deflate makes of it"),
        ("notes.txt", store, b"b2frame is a word"),
        ("empty", store, b""),
        ("cut.b2nd", store, &array[..300]),
    ]);
    let members = zip_members(bytes).unwrap();
    let word = |member: &ZipMember| match member.content() {
        MemberContent::Frame(_) => "frame".to_owned(),
        MemberContent::Broken(finding) => finding.code().to_string(),
        MemberContent::Compressed => "compressed".to_owned(),
        _ => "other".to_owned(),
    };
    let said: Vec<_> = members.iter().map(|member| (member.name(), word(member))).collect();
    let expected = [
        ("a.b2nd", "frame"),
        ("packed.b2nd", "compressed"),
        ("notes.txt", "other"),
        ("empty", "other"),
        ("cut.b2nd", "truncated"),
    ];
    assert_eq!(said, expected.map(|(name, word)| (name, word.to_owned())));
}

#[test]
fn a_member_is_found_by_its_name_and_of_several_it_is_the_last() {
    let (one, two, store) = (file("int32_3x5.b2nd"), file("scalar.b2nd"), CompressionMethod::STORE);
    let bytes = zip(&[("a", store, &one), ("b", store, &one), ("a", store, &two), ("a/b", store, b"x")]);
    let found = |name| zip_member(&bytes, name).unwrap();
    let shape_of = |name| found(name).and_then(|member| shape(member.frame()?));
    assert_eq!((shape_of("a"), shape_of("b")), (Some(vec![]), Some(vec![3, 5])));
    assert!(matches!(found("a/b").unwrap().content(), MemberContent::Other));
    assert!(found("A").is_none() && found("a/").is_none());
    assert!(zip_member(&b"no zip file"[..], "a").is_err());
}

fn broken(member: &ZipMember) -> Option<FindingCode> {
    match member.content() {
        MemberContent::Broken(finding) => Some(finding.code()),
        _ => None,
    }
}

#[test]
fn a_folder_in_a_zip_file_is_no_member() {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    archive.new_dir("folder/").create().unwrap();
    archive.finish().unwrap();
    assert!(zip_members(bytes).unwrap().is_empty());
}

#[test]
fn what_is_encrypted_is_closed() {
    let array = file("int32_3x5.b2nd");
    let mut bytes = zip(&[
        ("secret.b2nd", CompressionMethod::STORE, &array),
        ("a.b2nd", CompressionMethod::STORE, &array),
    ]);
    // Sets bit 0 of the flags in the first entry of the directory. This bit means that the member is encrypted.
    let entry = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    bytes[entry + 8] |= 1;
    let members = zip_members(bytes).unwrap();
    assert!(matches!(members[0].content(), MemberContent::Compressed), "{:?}", members[0]);
    assert!(members[1].frame().is_some());
}

#[test]
fn a_member_with_a_damaged_local_header_is_broken_and_the_others_are_listed() {
    let array = file("int32_3x5.b2nd");
    let (store, names) = (CompressionMethod::STORE, ["a.b2nd", "b.b2nd", "c.b2nd"]);
    let whole = zip(&names.map(|name| (name, store, &array[..])));
    let offsets: Vec<u64> = zip_members(&whole).unwrap().iter().map(ZipMember::offset).collect();
    let local = usize::try_from(offsets[1]).unwrap() - 30 - "b.b2nd".len();
    for at in [local, local + 29] {
        let mut bytes = whole.clone();
        assert_eq!(bytes[local..local + 2], *b"PK");
        bytes[at] = 0xff;
        let members = zip_members(bytes).unwrap();
        assert_eq!(members.iter().map(ZipMember::name).collect::<Vec<_>>(), names);
        assert_eq!(broken(&members[1]), Some(FindingCode::DamagedZip), "{at}: {:?}", members[1]);
        assert!(members[0].frame().is_some() && members[2].frame().is_some());
    }
}

#[test]
fn the_name_of_a_broken_member_stays_on_one_line() {
    let array = file("int32_3x5.b2nd");
    let mut bytes = zip(&[("a\nb\x1b", CompressionMethod::STORE, &array)]);
    bytes[0] = 0xff;
    let members = zip_members(bytes).unwrap();
    let MemberContent::Broken(finding) = members[0].content() else { panic!("{:?}", members[0]) };
    assert!(finding.message().starts_with("member a\\nb\\u{1b}: "), "{finding}");
}

#[test]
fn bytes_before_a_zip_file_and_descriptors_behind_its_members_do_no_harm() {
    let array = file("int32_3x5.b2nd");
    // The writer does not know the length of a member in advance, so it puts a data descriptor after each member.
    let whole = zip(&[("a.b2nd", CompressionMethod::STORE, &array)]);
    assert!(whole.windows(4).any(|bytes| bytes == b"PK\x07\x08"));
    let plain = zip_members(&whole).unwrap();
    let moved = zip_members([&[0xee; 777], &whole[..]].concat()).unwrap();
    assert_eq!(moved[0].offset(), plain[0].offset() + 777);
    assert_eq!((moved[0].len(), plain[0].len()), (520, 520));
    assert_eq!(shape(moved[0].frame().unwrap()), Some(vec![3, 5]));
}

/// A frame whose header has one long metalayer.
fn with_long_header(length: usize) -> Vec<u8> {
    let mut file = file("int32_3x5.b2nd");
    let content = u32::try_from(53 + length).unwrap();
    file.splice(165..165, std::iter::repeat_n(0, length));
    let (header_len, frame_len) = (u32::try_from(165 + length).unwrap(), file.len() as u64);
    file[11..15].copy_from_slice(&header_len.to_be_bytes());
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file[108..112].copy_from_slice(&content.to_be_bytes());
    file
}

#[test]
fn members_that_share_their_bytes_are_read_once() {
    let array = file("int32_3x5.b2nd");
    let mut bytes = zip(&[("a.b2nd", CompressionMethod::STORE, &array)]);
    let directory = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let end = bytes.windows(4).position(|bytes| bytes == b"PK\x05\x06").unwrap();
    let entry = bytes[directory..end].to_vec();
    bytes.splice(end..end, entry.repeat(999));
    let end = end + 999 * entry.len();
    for at in [8, 10] {
        bytes[end + at..end + at + 2].copy_from_slice(&1000_u16.to_le_bytes());
    }
    let size = u32::try_from(1000 * entry.len()).unwrap();
    bytes[end + 12..end + 16].copy_from_slice(&size.to_le_bytes());

    let members = zip_members(bytes).unwrap();
    assert_eq!(members.len(), 1000);
    assert!(members[0].frame().is_some());
    assert!(members[1..].iter().all(|member| broken(member) == Some(FindingCode::DamagedZip)));
}

#[test]
fn members_that_only_touch_share_nothing() {
    let (array, store) = (file("int32_3x5.b2nd"), CompressionMethod::STORE);
    let zip = zip(&[("a.b2nd", store, &array), ("b.b2nd", store, &array)]);
    let members = zip_members(&zip).unwrap();
    let between = u32::try_from(members[1].offset() - members[0].offset()).unwrap();
    let directory = zip.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    // The length of the first member is changed, so that it ends where the second member begins, or one byte later.
    for (length, code) in [(between, None), (between + 1, Some(FindingCode::DamagedZip))] {
        let mut zip = zip.clone();
        zip[directory + 20..directory + 24].copy_from_slice(&length.to_le_bytes());
        let members = zip_members(zip).unwrap();
        assert!(members[0].frame().is_some());
        assert_eq!((members[1].frame().is_none(), broken(&members[1])), (code.is_some(), code), "{length}");
    }
    // Adds an empty member with the offset of the first member.
    let mut empty = zip[directory..directory + 46 + "a.b2nd".len()].to_vec();
    empty[20..28].fill(0);
    let mut with_empty = zip;
    let added = u8::try_from(empty.len()).unwrap();
    let second = directory + empty.len();
    with_empty.splice(second..second, empty);
    let end = with_empty.len() - 22;
    for (at, more) in [(8, 1), (10, 1), (12, added)] {
        with_empty[end + at] += more;
    }
    let members = zip_members(with_empty).unwrap();
    let lengths = members.iter().map(ZipMember::len).collect::<Vec<_>>();
    assert_eq!(lengths, [array.len() as u64, 0, array.len() as u64]);
    assert!(matches!(
        [members[0].content(), members[1].content(), members[2].content()],
        [MemberContent::Frame(_), MemberContent::Other, MemberContent::Frame(_)]
    ));
}

#[test]
fn zip_member_reads_the_local_headers_of_the_members_that_can_reach_this_member() {
    let member = vec![7; 1 << 12];
    let names: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    let members: Vec<_> = names.iter().map(|name| (&**name, CompressionMethod::STORE, &member[..])).collect();
    let file = Recording::new(zip(&members));
    assert!(zip_member(&file, "200").unwrap().is_some());
    // Two lengths in a local header have 16 bits, so a member ends at most 128 KiB later than its directory shows.
    let local_headers = file.lengths().into_iter().filter(|&length| length == 30).count();
    assert!((1..40).contains(&local_headers), "{local_headers} of 300 local headers are read");
}

#[test]
fn zip_member_refuses_a_member_that_shares_bytes_with_a_member_of_another_name() {
    let (array, store) = (file("int32_3x5.b2nd"), CompressionMethod::STORE);
    let whole = zip(&[("a.b2nd", store, &array), ("b.b2nd", store, &array)]);
    let directory = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    // The first member reaches into the second one: by its length in the directory, or by the length of the extra field
    // in its local header.
    for (at, length) in [(directory + 20, 700_u16), (28, 200)] {
        let mut zip = whole.clone();
        zip[at..at + 2].copy_from_slice(&length.to_le_bytes());
        let code = |name| broken(&zip_member(&zip, name).unwrap().unwrap());
        assert_eq!(["a.b2nd", "b.b2nd"].map(code), [None, Some(FindingCode::DamagedZip)], "{at}");
    }
}

#[test]
fn a_member_with_a_header_of_more_than_a_mebibyte_is_not_read() {
    let (long, longer) = (with_long_header((1 << 20) - 165), with_long_header((1 << 20) - 164));
    let store = CompressionMethod::STORE;
    let members = zip_members(zip(&[("a", store, &long), ("b", store, &longer)])).unwrap();
    assert_eq!(shape(members[0].frame().unwrap()), Some(vec![3, 5]));
    assert_eq!(broken(&members[1]), Some(FindingCode::TooLong));
    assert!(Frame::read_at(longer, 0).is_ok());
}

#[test]
fn a_damaged_zip_file_is_refused_and_its_frames_are_found_by_a_scan() {
    let mut zip = file("tree.b2z");
    let offsets: Vec<u64> = zip_members(&zip).unwrap().iter().map(ZipMember::offset).collect();
    zip.truncate(zip.len() - 40);
    let error = zip_members(&zip).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::DamagedZip));
    assert_eq!(error.to_string(), "not a zip file, or cut short: missing end of central directory");

    let found: Vec<u64> = scan(&zip).map(|frame| frame.unwrap().offset()).collect();
    assert_eq!(found, offsets);
}

/// One member has a 64-bit offset, as members of zip files of more than 4 GiB have.
#[test]
fn a_member_at_an_offset_that_no_file_has_is_broken_and_the_others_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    let array = file("int32_3x5.b2nd");
    let store = CompressionMethod::STORE;
    let zip = zip(&[("a.b2nd", store, &array), ("b.b2nd", store, &array)]);
    let directory = zip.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let length = 46 + "a.b2nd".len() + 12;
    for offset in [1 << 40, u64::MAX] {
        let mut zip = zip.clone();
        zip.splice(
            directory + length - 12..directory + length - 12,
            [&[1, 0, 8, 0][..], &offset.to_le_bytes()].concat(),
        );
        zip[directory + 30] += 12;
        zip[directory + 42..directory + 46].fill(0xff);
        let end = zip.len() - 22;
        zip[end + 12] += 12;
        fs::write(&path, zip).unwrap();
        let members = zip_members(File::open(&path).unwrap()).unwrap();
        assert_eq!(broken(&members[0]), Some(FindingCode::DamagedZip), "{members:?}");
        assert_eq!(members[1].frame().and_then(shape), Some(vec![3, 5]));
        assert!(members[0].frame().is_none());
    }
}

#[test]
fn an_empty_zip_file_is_malformed_and_a_reader_that_fails_is_not() {
    let error = zip_members(&b""[..]).unwrap_err();
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::DamagedZip));
    assert_eq!(error.to_string(), "the file is empty");

    struct Fails(Vec<u8>);
    impl ReadAt for Fails {
        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
            Err(io::ErrorKind::PermissionDenied.into())
        }

        fn size(&self) -> io::Result<u64> {
            self.0.size()
        }
    }
    let error = zip_members(Fails(file("tree.b2z"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn a_scan_finds_every_frame_wherever_it_stands() {
    let array = file("int32_3x5.b2nd");
    // The array begins near the start of the first window that is read, near the end of this window, or in a later
    // window.
    for before in (0..40).chain(65_536 - 180..65_536 + 20).chain([200_000]) {
        let bytes = [&vec![0x62; before], &array[..], b"b2frame\0b2frame\0"].concat();
        let found: Vec<_> = scan(&bytes).map(Result::unwrap).collect();
        assert_eq!(found.len(), 1, "{before}");
        assert_eq!(found[0].offset(), before as u64);
        assert_eq!(shape(&found[0]), Some(vec![3, 5]));
    }
    // The first 200 bytes of the file have the whole frame header, so the truncated frame has a shape.
    let found: Vec<_> = scan(&array[..200]).map(Result::unwrap).collect();
    assert_eq!(shape(&found[0]), Some(vec![3, 5]));
    assert_eq!(scan(&array[..100]).count(), 0);
    assert_eq!(scan(&b""[..]).count(), 0);
}

#[test]
fn a_scan_of_nothing_but_magic_bytes_finds_nothing_and_ends() {
    // Fills the file with starts of frames. Each of them claims a header of 500,000 bytes.
    let mut one = file("int32_3x5.b2nd")[..87].to_vec();
    one[11..15].copy_from_slice(&500_000_u32.to_be_bytes());
    one[16..24].copy_from_slice(&500_000_u64.to_be_bytes());
    let bytes = one.repeat(10_000);
    assert_eq!(scan(bytes).count(), 0);
}

#[test]
fn after_64_mib_of_false_headers_a_scan_finds_only_short_ones() {
    const MIB: usize = 1 << 20;
    let mut false_header = file("int32_3x5.b2nd")[..24].to_vec();
    false_header[11..15].copy_from_slice(&u32::try_from(MIB).unwrap().to_be_bytes());
    false_header[16..24].copy_from_slice(&u64::MAX.to_be_bytes());
    let lengths = [512, 513, MIB, MIB + 1];
    let frames = lengths.map(|length| with_long_header(length - 165)).concat();
    for (count, found) in [(63, &lengths[..3]), (64, &lengths[..1])] {
        let bytes = [false_header.repeat(count), frames.clone()].concat();
        let headers = scan(bytes).map(|frame| frame.unwrap().header().header_len);
        assert_eq!(headers.collect::<Vec<_>>(), found, "{count}");
    }
}

#[test]
fn a_scan_asks_the_file_for_no_more_than_its_windows_whatever_magic_bytes_are_in_them() {
    let whole = file("int32_3x5.b2nd");
    let start = [&b"\x9e\xa8b2frame\0"[..], &whole[10..24]].concat();
    for piece in [&b"b2frame\0"[..], b"\x9e\xa8b2frame\0", &start] {
        let recording = Recording::new(piece.repeat((1 << 20) / piece.len()));
        assert_eq!(scan(&recording).count(), 0);
        // The scan reads 16 windows and the end of the file. A few headers in each window end after the window, so the
        // scan needs more reads for them.
        let calls = recording.lengths().len() + recording.sizes.get();
        assert!(calls < 17 * 40, "{piece:?}: {calls}");
    }
}

#[test]
fn the_chunks_of_hdf5_files_are_found_where_they_are() {
    let Some((folder, _)) = corpus() else { return };
    let mut seen = 0;
    for name in ["hdf5plugin", "pytables_carray"] {
        let hdf5 = fs::read(folder.join(format!("B_hdf5/{name}.h5"))).unwrap();
        let found: Vec<_> = scan(&hdf5).map(Result::unwrap).collect();
        for entry in fs::read_dir(folder.join("B_hdf5")).unwrap() {
            let path = entry.unwrap().path();
            let file_name = path.file_name().unwrap().to_str().unwrap();
            if !(file_name.starts_with(name) && file_name.ends_with(".b2frame")) {
                continue;
            }
            let chunk = fs::read(&path).unwrap();
            let at = |frame: &Frame<()>| &hdf5[usize::try_from(frame.offset()).unwrap()..];
            let frame = found.iter().find(|&frame| at(frame).starts_with(&chunk)).expect(file_name);
            assert_eq!(shape(frame), shape(&Frame::open(&path).unwrap()), "{file_name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 9);
}

#[test]
fn a_frame_at_rest_is_opened_at_once() {
    for name in ["int32_3x5.b2nd", "sparse.b2nd", "empty.b2nd", "squeezed.caterva", "struct_long.b2nd"] {
        let frame = Frame::open_stable(data().join(name), Duration::ZERO).unwrap();
        assert_eq!(shape(&frame), shape(&Frame::open(data().join(name)).unwrap()), "{name}");
    }
    let error = Frame::open_stable(data().join("make.py"), Duration::from_secs(60)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::NotAFrame));
}

#[test]
fn a_frame_left_half_changed_is_said_to_be_changing_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.b2nd");
    let mut array = file("int32_3x5.b2nd");
    array[37] = 96;
    fs::write(&path, array).unwrap();
    let error = Frame::open_stable(&path, Duration::from_millis(20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changing);
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::InterruptedResize));
    assert_eq!(check(&path).unwrap().findings[0].code(), FindingCode::InterruptedResize);
}

#[test]
fn what_keeps_a_frame_from_coming_to_rest_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.b2nd");
    let array = file("int32_3x5.b2nd");
    let mut unreadable = array.clone();
    // Damages the marker of the shape.
    unreadable[115] = 0;
    for (bytes, code, why) in [
        (&array[..300], FindingCode::Truncated, "cut short: the frame has 520 bytes, but the file only 300"),
        (&unreadable, FindingCode::DamagedArray, ""),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = Frame::open_stable(&path, Duration::from_millis(5)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changing);
        let finding = error.finding().unwrap();
        assert_eq!(finding.code(), code);
        let says = format!("the frame is being changed, or a change was interrupted: {finding}");
        assert!(error.to_string() == says && says.ends_with(why), "{error}");
    }
    let none = folder.path().join("none.b2nd");
    let error = Frame::open_stable(&none, Duration::from_secs(60)).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*none)));
}

/// By chance, two successive reads can get the same header, and then `open_stable` succeeds. So the test repeats the
/// call until it fails.
#[test]
fn a_header_that_changes_from_read_to_read_is_changing_when_patience_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changing.b2nd");
    fs::write(&path, file("int32_3x5.b2nd")).unwrap();
    let mut writer = File::options().write(true).open(&path).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Shapes of 4 and of 3 rows need the same number of chunks.
            for rows in [4, 3].into_iter().cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                writer.seek(SeekFrom::Start(124)).unwrap();
                writer.write_all(&[rows]).unwrap();
            }
        });
        let error = loop {
            if let Err(error) = Frame::open_stable(&path, Duration::ZERO) {
                break error;
            }
        };
        is_over.store(true, Ordering::Relaxed);
        assert_eq!((error.kind(), error.finding()), (ErrorKind::Changing, None));
    });
}

#[test]
fn a_lock_beside_the_frame_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let contiguous = folder.path().join("array.b2nd");
    fs::write(&contiguous, file("int32_3x5.b2nd")).unwrap();
    let sparse = folder.path().join("sparse.b2nd");
    fs::create_dir(&sparse).unwrap();
    fs::write(sparse.join("chunks.b2frame"), file("sparse.b2nd/chunks.b2frame")).unwrap();

    // This contiguous frame has the file name of a sparse frame's header file. C-Blosc2 looks only at the frame type in
    // the header.
    let named_so = folder.path().join("chunks.b2frame");
    fs::write(&named_so, file("int32_3x5.b2nd")).unwrap();

    for (path, sidecar) in [
        (&named_so, folder.path().join("chunks.b2frame.b2lock")),
        (&contiguous, folder.path().join("array.b2nd.b2lock")),
        (&sparse, sparse.join(".b2lock")),
        (&sparse.join("chunks.b2frame"), sparse.join(".b2lock")),
    ] {
        let lock = File::create(&sidecar).unwrap();
        File::lock(&lock).unwrap();
        let error = Frame::open_stable(path, Duration::from_millis(5)).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Locked, Some(&*sidecar)), "{error}");
        // `open` ignores the lock.
        assert!(Frame::open(path).is_ok());

        let waiting = std::thread::spawn({
            let path = path.clone();
            move || Frame::open_stable(path, Duration::MAX).map(drop)
        });
        std::thread::sleep(Duration::from_millis(30));
        assert!(!waiting.is_finished());
        unlock(&lock);
        waiting.join().unwrap().unwrap();

        // `open_stable` can share the lock with another reader, and releases the lock at its end.
        File::lock_shared(&lock).unwrap();
        assert!(Frame::open_stable(path, Duration::ZERO).is_ok());
        unlock(&lock);
        File::try_lock(&lock).unwrap();
    }
}

#[test]
fn a_lock_that_cannot_be_read_does_not_keep_a_frame_from_being_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    fs::write(&path, file("int32_3x5.b2nd")).unwrap();
    // Makes a lock file that nobody can open: a link to itself. A file without permissions would not be enough, because
    // root can read it.
    let sidecar = folder.path().join("array.b2nd.b2lock");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&sidecar, &sidecar).unwrap();
    assert!(File::open(&sidecar).is_err());
    assert_eq!(shape(&Frame::open_stable(&path, Duration::ZERO).unwrap()), Some(vec![3, 5]));
}

#[test]
fn has_locks_is_true_whoever_has_the_lock_and_an_error_without_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    has_locks(&path).unwrap_err();
    let file = File::create(&path).unwrap();
    assert!(has_locks(&path).unwrap());
    File::lock(&file).unwrap();
    assert!(has_locks(&path).unwrap());
}

/// Chunks have no checksum. But if a frame is in a zip file, the CRC-32 of the member covers its chunks.
#[test]
fn the_bytes_of_a_member_are_compared_with_the_zip_file() {
    let sound = fs::read(data().join("tree.b2z")).unwrap();
    let of_member = |file: &[u8]| {
        let members = zip_members(file).unwrap();
        let mut findings = Vec::new();
        for member in &members {
            findings.extend(member.check_bytes(file).unwrap());
        }
        findings
    };
    assert_eq!(of_member(&sound), []);
    let members = zip_members(&sound).unwrap();
    let member = members.iter().find(|member| member.name() == "group/small.b2nd").unwrap();
    let start = usize::try_from(member.offset()).unwrap();
    let name = "group/small.b2nd".len();
    let local = sound[..start].windows(name).rposition(|bytes| bytes == b"group/small.b2nd").unwrap();
    let record = sound.windows(name).rposition(|bytes| bytes == b"group/small.b2nd").unwrap() - 46;
    assert!(local < start && record > start && sound[record..].starts_with(b"PK\x01\x02"));
    let length = usize::try_from(member.len()).unwrap();
    for (at, says) in [
        (start, "the bytes of member group/small.b2nd have the CRC-32 "),
        (start + length / 2, "the bytes of member group/small.b2nd have the CRC-32 "),
        (start + length - 1, "the bytes of member group/small.b2nd have the CRC-32 "),
        (record + 16, "the bytes of member group/small.b2nd have the CRC-32 "),
        (record + 6, "member group/small.b2nd needs version "),
        (local, "member group/small.b2nd has the name \u{47}roup/small.b2nd in its local header"),
    ] {
        let mut file = sound.clone();
        file[at] ^= if at == record + 6 { 0x40 } else { 0x20 };
        let findings = of_member(&file);
        let [finding] = &findings[..] else { panic!("{at}: {findings:?}") };
        assert_eq!(finding.code(), FindingCode::ZipChecksum);
        assert!(finding.message().starts_with(says), "{finding}");
    }
    // The last 22 bytes of a zip file are a record with the size and the offset of the directory.
    let end = sound.len() - 22;
    for (at, bit) in [(12, 1), (13, 0x80), (14, 0xff), (15, 0x7f), (16, 1)] {
        let mut file = sound.clone();
        file[end + at] ^= bit;
        let findings = of_member(&file);
        assert_eq!(findings.len(), zip_members(&file).unwrap().len(), "{at}");
        assert!(findings[0].message().starts_with("the directory of the zip file is at bytes "), "{at}");
    }
    // Bytes before a zip file are not damage.
    assert_eq!(of_member(&[b"before", &sound[..]].concat()), []);
}
