//! Data that python-blosc2 has computed from the items of an array: indexes, results of queries, and columns of tables.
//! No change of the items may leave such data valid.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
#[cfg(feature = "compress")]
use std::slice::from_ref;

#[cfg(feature = "compress")]
use b2nd_frame::ArrayUpdate;
use b2nd_frame::{
    Check, CheckDepth, ChunkPlace, Edit, Error, ErrorKind, Frame, FrameBuilder, Rewrite, Salvage, Vlmetalayer,
};
use b2nd_lab::{copy, data, header_file};
use b2nd_serde::to_vec;
use serde_json::Value;

use crate::refused;

/// The dtype of the array, and another one whose items and text have the same length.
const DTYPES: [&str; 2] = ["[('a', '<f8'), ('b', '<i8')]", "[('a', '<f8'), ('b', '<u8')]"];

/// The array `indexed/array.b2nd` as a contiguous or a sparse frame, with results of queries and an attribute of a
/// user.
fn indexed(folder: &Path, is_sparse: bool) -> PathBuf {
    let old = Frame::open(data().join("indexed/array.b2nd")).unwrap();
    let meta = old.array().unwrap().unwrap().meta().clone();
    let mut builder = FrameBuilder::new(meta).vlmetalayer("unit", "metre");
    for layer in old.trailer().unwrap().vlmetalayers() {
        assert!(layer.is_derived());
        builder = builder.vlmetalayer_chunk(layer.name(), layer.chunk());
    }
    builder = builder.vlmetalayer("_blosc2_query_cache", &["a query"]);
    let path = folder.join("array.b2nd");
    let writer = if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) };
    let mut writer = writer.unwrap();
    for number in 0..2 {
        writer
            .write_uncompressed(number, &vec![u8::try_from(number).unwrap(); writer.chunk_nbytes()])
            .unwrap();
    }
    writer.finish().unwrap().persist().unwrap();
    path
}

/// The value `stale` of each index in the frame; `None` if it has no vlmetalayer with indexes.
fn stale(path: &Path) -> Option<Vec<bool>> {
    let trailer = Frame::open(path).unwrap().trailer().unwrap();
    let indexes: Value = trailer.vlmetalayer("blosc2_indexes")?.decode().unwrap();
    Some(
        indexes["indexes"]
            .as_object()
            .unwrap()
            .values()
            .map(|index| index["stale"].as_bool().unwrap())
            .collect(),
    )
}

/// Asserts that the indexes are stale, or removed if they cannot be read, and that there are no results of queries.
/// Otherwise only the header of the frame may have changed.
#[track_caller]
fn is_outdated(path: &Path) {
    if cfg!(feature = "decompress") {
        assert_eq!(stale(path), Some(vec![true, true]));
    } else {
        assert_eq!(stale(path), None);
    }
    let frame = Frame::open(path).unwrap();
    let trailer = frame.trailer().unwrap();
    assert_eq!(trailer.vlmetalayer("unit").unwrap().decode::<String>().unwrap(), "metre");
    assert!(trailer.vlmetalayer("_blosc2_query_cache").is_none());
    let mut chunks = frame.chunks().unwrap();
    for number in [0, 1] {
        let entry = chunks.get(number).unwrap().unwrap();
        let chunk = chunks.compressed(&entry).unwrap().unwrap();
        assert!(chunk[32..].iter().all(|&byte| u64::from(byte) == number));
    }
    assert_eq!(Check::new(CheckDepth::ChunkHeaders).run_path(path).unwrap().findings, []);
}

/// Asserts that a new frame has the other vlmetalayers, but no derived data.
#[track_caller]
fn has_none(path: &Path) {
    let trailer = Frame::open(path).unwrap().trailer().unwrap();
    assert!(!trailer.vlmetalayers().iter().any(Vlmetalayer::is_derived), "{trailer:?}");
    assert_eq!(trailer.vlmetalayer("unit").unwrap().decode::<String>().unwrap(), "metre");
}

fn trailer(path: &Path) -> Vec<u8> {
    Frame::open(path).unwrap().trailer().unwrap().bytes().to_vec()
}

/// Calls `test` with the path of a contiguous and of a sparse frame.
fn each_type(test: impl Fn(&Path)) {
    for is_sparse in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        test(&indexed(folder.path(), is_sparse));
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn edit_outdates_derived_data_with_the_items() {
    each_type(|path| {
        let mut frame = Frame::open(path).unwrap();
        let expected = frame.edit().dtype(DTYPES[1]).preview().unwrap();
        frame.edit().dtype(DTYPES[1]).apply().unwrap();
        is_outdated(path);
        // The changed frame and the preview equal the frame in the file.
        let file = fs::read(header_file(path)).unwrap();
        assert_eq!(frame.header_bytes(), &file[..frame.header().header_len]);
        assert_eq!(frame.header_bytes(), expected.header_bytes());
        assert_eq!(frame.header().frame_len, file.len() as u64);
        assert_eq!(frame.trailer().unwrap().bytes(), trailer(path));
        // A second change is a single write of the header again.
        frame.edit().dtype(DTYPES[0]).apply().unwrap();
        assert_eq!(fs::read(header_file(path)).unwrap().len(), file.len());
        is_outdated(path);
    });
    let shape = |edit: Edit<'_, fs::File>| edit.shape(&[99]).apply();
    let metalayer = |edit: Edit<'_, fs::File>| {
        let array = Frame::open(data().join("indexed/array.b2nd")).unwrap();
        let meta = array.array().unwrap().unwrap().meta().clone().with_shape(&[98]).unwrap();
        edit.metalayer("b2nd", &to_vec(&meta).unwrap()).apply()
    };
    type Change<'c> = &'c dyn Fn(Edit<'_, fs::File>) -> Result<(), Error>;
    for change in [&shape as Change<'_>, &metalayer] {
        each_type(|path| {
            change(Frame::open(path).unwrap().edit()).unwrap();
            is_outdated(path);
        });
    }
}

#[test]
fn edit_keeps_derived_data_if_no_item_changes() {
    each_type(|path| {
        let before = fs::read(header_file(path)).unwrap();
        Frame::open(path).unwrap().edit().shape(&[100]).dtype(DTYPES[0]).apply().unwrap();
        assert_eq!(fs::read(header_file(path)).unwrap(), before);
        // The same dtype, with its spaces in other places.
        let (old_trailer, respelled) = (trailer(path), "[('a','<f8'),  ('b', '<i8')]");
        Frame::open(path).unwrap().edit().dtype(respelled).apply().unwrap();
        let frame = Frame::open(path).unwrap();
        assert_eq!(frame.array().unwrap().unwrap().dtype(), Some(respelled));
        assert_eq!(trailer(path), old_trailer);
    });
}

/// An edit that outdates derived data writes a copy of the chunk index and a new trailer after the frame, and then the
/// header.
#[test]
fn an_edit_that_ends_at_any_write_leaves_no_valid_index_of_other_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = indexed(folder.path(), false);
    let before = fs::read(&path).unwrap();
    Frame::open(&path).unwrap().edit().dtype(DTYPES[1]).apply().unwrap();
    let after = fs::read(&path).unwrap();
    let cut = folder.path().join("cut.b2nd");
    // The mark of an unfinished commit has 16 bytes. After these, a few lengths are enough.
    let lengths = (before.len() + 1..=after.len()).filter(|len| *len <= before.len() + 17 || len % 50 == 0);
    for len in lengths.chain([after.len()]) {
        fs::write(&cut, [&before, &after[before.len()..len]].concat()).unwrap();
        let mut frame = Frame::open(&cut).unwrap();
        assert_eq!(frame.array().unwrap().unwrap().dtype(), Some(DTYPES[0]));
        assert_eq!(frame.trailer().unwrap().bytes(), trailer_of(&before));
        // The next edit removes the bytes after the frame.
        frame.edit().dtype(DTYPES[1]).apply().unwrap();
        assert!(fs::read(&cut).unwrap() == after, "{len}");
    }
    let header_len = Frame::parse(&before).unwrap().header().header_len;
    assert_eq!(before[header_len..], after[header_len..before.len()], "no byte of the old frame changes");
    assert_eq!(Check::new(CheckDepth::ChunkHeaders).run_path(&path).unwrap().findings, []);
    // Bytes of another program are not removed.
    let more = [&before[..], b"more"].concat();
    fs::write(&cut, &more).unwrap();
    refused(ErrorKind::Unsupported, Frame::open(&cut).unwrap().edit().dtype(DTYPES[1]).apply());
    assert_eq!(fs::read(&cut).unwrap(), more);
}

fn trailer_of(file: &[u8]) -> Vec<u8> {
    crate::opened(file).trailer().unwrap().bytes().to_vec()
}

#[cfg(feature = "compress")]
#[test]
fn array_update_outdates_derived_data_with_the_items() {
    let row = [0, 1].repeat(8);
    let write = |update: &mut ArrayUpdate| update.write(from_ref(&(3..4)), &row);
    let append = |update: &mut ArrayUpdate| update.append(0, &row);
    let resize = |update: &mut ArrayUpdate| update.resize(&[99]);
    type Change<'c> = &'c dyn Fn(&mut ArrayUpdate) -> Result<(), Error>;
    for change in [&write as Change<'_>, &append, &resize] {
        each_type(|path| {
            let before = trailer(path);
            let mut update = ArrayUpdate::open(path).unwrap();
            change(&mut update).unwrap();
            assert_eq!(trailer(path), before);
            update.flush().unwrap();
            assert_eq!(stale(path), Some(vec![true, true]));
            assert!(
                Frame::open(path).unwrap().trailer().unwrap().vlmetalayer("_blosc2_query_cache").is_none()
            );
            let findings = Check::new(CheckDepth::ChunkData).run_path(path).unwrap().findings;
            assert_eq!(findings, []);
        });
    }
}

#[cfg(feature = "compress")]
#[test]
fn array_update_keeps_derived_data_if_no_item_changes() {
    each_type(|path| {
        let mut update = ArrayUpdate::open(path).unwrap();
        update.set_vlmetalayer("unit", "inch").unwrap();
        update.flush().unwrap();
        assert_eq!(stale(path), Some(vec![false, false]));
        let trailer = Frame::open(path).unwrap().trailer().unwrap();
        assert!(trailer.vlmetalayer("_blosc2_query_cache").is_some());
        // The vlmetalayer that the caller sets last is kept.
        update.resize(&[99]).unwrap();
        update.set_vlmetalayer("blosc2_indexes", "mine").unwrap();
        update.flush().unwrap();
        let trailer = Frame::open(path).unwrap().trailer().unwrap();
        assert_eq!(trailer.vlmetalayer("blosc2_indexes").unwrap().decode::<String>().unwrap(), "mine");
    });
}

#[test]
fn rewrite_outdates_derived_data_with_the_items() {
    each_type(|path| {
        let copy = path.with_file_name("copy.b2nd");
        drop(Rewrite::new(path, &copy).dtype(DTYPES[1]).apply().unwrap());
        has_none(&copy);
        // A longer dtype.
        drop(Rewrite::new(path, path).dtype("[('first', '<f8'), ('b', '<i8')]").apply().unwrap());
        is_outdated(path);
    });
    each_type(|path| {
        drop(Rewrite::new(path, path).shape(&[99]).apply().unwrap());
        is_outdated(path);
    });
}

#[test]
fn rewrite_keeps_derived_data_if_no_item_changes() {
    each_type(|path| {
        let before = trailer(path);
        let copies = [true, false].map(|is_sparse| {
            let copy = path.with_file_name(format!("{is_sparse}.b2nd"));
            drop(Rewrite::new(path, &copy).dtype(DTYPES[0]).sparse(is_sparse).apply().unwrap());
            copy
        });
        drop(Rewrite::new(path, path).shape(&[100]).apply().unwrap());
        for path in copies.iter().map(|copy| &**copy).chain([path]) {
            assert_eq!(trailer(path), before);
        }
    });
}

#[test]
fn salvage_keeps_derived_data_only_if_no_item_can_have_changed() {
    each_type(|path| {
        let copy = |name: &str| path.with_file_name(name);
        let (_, report) = Salvage::open(path).unwrap().apply(copy("whole.b2nd")).unwrap();
        assert_eq!(report.outdated, [""; 0]);
        assert_eq!(trailer(&copy("whole.b2nd")), trailer(path));

        let outdated = ["blosc2_indexes", "_blosc2_query_cache"];
        let (_, report) = Salvage::open(path).unwrap().dtype(DTYPES[1]).apply(copy("given.b2nd")).unwrap();
        assert_eq!((report.lost_count(), report.outdated), (0, outdated.map(String::from).into()));
        has_none(&copy("given.b2nd"));

        // Damages the header of chunk 1.
        let entry = Frame::open(path).unwrap().chunks().unwrap().get(1).unwrap().unwrap();
        let (file, at) = match entry.place {
            ChunkPlace::Frame(start) => (path.to_owned(), usize::try_from(start).unwrap()),
            _ => (path.join("00000001.chunk"), 0),
        };
        let mut chunk = fs::read(&file).unwrap();
        chunk[at..at + 16].fill(0xff);
        fs::write(&file, chunk).unwrap();
        let (_, report) = Salvage::open(path).unwrap().apply(copy("lossy.b2nd")).unwrap();
        assert_eq!((report.lost_count(), &*report.lost_metalayers), (1, &[][..]));
        assert_eq!(report.outdated, outdated);
        has_none(&copy("lossy.b2nd"));
    });
}

#[test]
fn items_of_a_table_with_derived_data_are_not_changed() {
    for (table, derived) in [("table", "indexes"), ("generated", "generated columns")] {
        let (_folder, path) = copy(&format!("indexed/{table}"));
        let column = path.join("_cols/x.b2nd");
        let before = fs::read(&column).unwrap();
        let is_refused = |result: Result<(), Error>| {
            let message = refused(ErrorKind::Unsupported, result);
            // Without the feature, the kind of derived data cannot be read.
            assert!(
                !cfg!(feature = "decompress") || message.contains(&format!("whose {derived} ")),
                "{message}"
            );
        };
        is_refused(Frame::open(&column).unwrap().edit().dtype("<i8").preview().map(drop));
        is_refused(Frame::open(&column).unwrap().edit().dtype("<i8").apply());
        is_refused(Rewrite::new(&column, &column).dtype("<i8").apply().map(drop));
        #[cfg(feature = "compress")]
        {
            let mut update = ArrayUpdate::open(&column).unwrap();
            is_refused(update.write(from_ref(&(0..1)), &[0; 8]));
            is_refused(update.append(0, &[0; 8]));
            is_refused(update.resize(&[1]));
            update.flush().unwrap();
        }
        assert_eq!(fs::read(&column).unwrap(), before);

        #[cfg(unix)]
        {
            // A column on another disk.
            let elsewhere = path.join("elsewhere.b2nd");
            fs::rename(&column, &elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, &column).unwrap();
            is_refused(Frame::open(&column).unwrap().edit().dtype("<i8").apply());
            fs::rename(&elsewhere, &column).unwrap();
        }

        // A change that leaves the items as they are is allowed, and a copy does not belong to the table.
        let copy = path.join("copy.b2nd");
        drop(Rewrite::new(&column, &copy).dtype("<i8").apply().unwrap());
        Frame::open(&copy).unwrap().edit().dtype("<u8").apply().unwrap();
        drop(Rewrite::new(&column, &column).apply().unwrap());
        #[cfg(feature = "compress")]
        {
            let mut update = ArrayUpdate::open(&column).unwrap();
            update.set_vlmetalayer("unit", "metre").unwrap();
            update.flush().unwrap();
        }
    }
}

#[test]
fn items_of_other_folders_with_the_names_of_a_table_are_changed() {
    let (_folder, path) = copy("indexed/table");
    let column = path.join("_cols/x.b2nd");
    // A file that is not a table, and a table without derived data.
    fs::copy(data().join("indexed/array.b2nd"), path.join("_meta.b2f")).unwrap();
    Frame::open(&column).unwrap().edit().dtype("<i8").apply().unwrap();
    fs::remove_file(path.join("_meta.b2f")).unwrap();
    Frame::open(&column).unwrap().edit().dtype("<f8").apply().unwrap();
    #[cfg(feature = "decompress")]
    {
        let zip = fs::read(data().join("table.b2z")).unwrap();
        let member = b2nd_frame::zip_member(&zip, "_meta.b2f").unwrap().unwrap();
        let start = usize::try_from(member.offset()).unwrap();
        let length = usize::try_from(Frame::parse(&zip[start..]).unwrap().header().frame_len).unwrap();
        fs::write(path.join("_meta.b2f"), &zip[start..start + length]).unwrap();
        Frame::open(&column).unwrap().edit().dtype("<i8").apply().unwrap();
    }
}

#[cfg(feature = "compress")]
#[test]
fn flush_changes_no_item_of_a_table_that_has_got_an_index_since_the_write() {
    let (folder, path) = copy("indexed/table");
    let (column, table, away) =
        (path.join("_cols/x.b2nd"), path.join("_meta.b2f"), folder.path().join("away"));
    let before = fs::read(&column).unwrap();
    for resizes in [false, true] {
        fs::rename(&table, &away).unwrap();
        let mut update = ArrayUpdate::open(&column).unwrap();
        if resizes {
            update.resize(&[1]).unwrap();
        } else {
            update.write(from_ref(&(0..1)), &[7; 8]).unwrap();
        }
        fs::rename(&away, &table).unwrap();
        assert!(refused(ErrorKind::Unsupported, update.flush()).contains("whose indexes "));
        assert_eq!(fs::read(&column).unwrap(), before);
    }
    // A vlmetalayer may change. The items may change when the table has no index any more.
    let mut update = ArrayUpdate::open(&column).unwrap();
    update.set_vlmetalayer("unit", "metre").unwrap();
    update.flush().unwrap();
    refused(ErrorKind::Unsupported, update.write(from_ref(&(0..1)), &[7; 8]));
    fs::rename(&table, &away).unwrap();
    update.write(from_ref(&(0..1)), &[7; 8]).unwrap();
    update.flush().unwrap();
    fs::rename(&away, &table).unwrap();
    update.set_vlmetalayer("unit", "second").unwrap();
    update.flush().unwrap();
}

#[test]
fn rewrite_changes_no_item_of_a_table_that_gets_an_index_meanwhile() {
    let (folder, path) = copy("indexed/table");
    let (column, table, away) =
        (path.join("_cols/x.b2nd"), path.join("_meta.b2f"), folder.path().join("away"));
    let before = fs::read(&column).unwrap();
    fs::rename(&table, &away).unwrap();
    let rewrite = Rewrite::new(&column, &column).dtype("<i8").on_progress(|_| {
        if away.exists() {
            fs::rename(&away, &table).unwrap();
        }
        ControlFlow::Continue(())
    });
    refused(ErrorKind::Unsupported, rewrite.apply());
    assert_eq!(fs::read(&column).unwrap(), before);
}

/// The error says what is wrong, and does not outlast it.
#[cfg(feature = "compress")]
#[test]
fn write_asks_again_whether_the_table_has_indexes() {
    let (_folder, path) = copy("indexed/table");
    let (column, table) = (path.join("_cols/x.b2nd"), path.join("_meta.b2f"));
    fs::write(&table, []).unwrap();
    let mut update = ArrayUpdate::open(&column).unwrap();
    refused(ErrorKind::Malformed, update.write(from_ref(&(0..1)), &[7; 8]));
    fs::remove_file(&table).unwrap();
    update.write(from_ref(&(0..1)), &[7; 8]).unwrap();
    update.flush().unwrap();
}

/// If the system does not let a process keep the owner of a file, the new file belongs to the process, and its mode can
/// forbid this owner to read it.
#[cfg(unix)]
#[test]
fn no_change_fails_after_the_rename_because_the_new_file_is_unreadable() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    const FOLDER: &str = "B2ND_TEST_FOLDER";
    if let Some(folder) = std::env::var_os(FOLDER) {
        let path = |name| Path::new(&folder).join(name).join("array.b2nd");
        let mut edited = Frame::open(path("edit")).unwrap();
        edited.edit().dtype(DTYPES[1]).apply().unwrap();
        edited.trailer().unwrap();
        Rewrite::new(path("rewrite"), path("rewrite")).dtype(DTYPES[1]).apply().unwrap().trailer().unwrap();
        return;
    }
    let (owner, writer, group) = (65533, 65532, 65534);
    let folder = tempfile::tempdir().unwrap();
    let mut headers = Vec::new();
    for (name, is_sparse) in [("edit", true), ("rewrite", false)] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let path = indexed(&folder.path().join(name), is_sparse);
        headers.push(header_file(&path));
        let files = fs::read_dir(&path).into_iter().flatten().map(|entry| entry.unwrap().path());
        for file in files.chain((!is_sparse).then_some(path)) {
            if chown(&file, Some(owner), Some(group)).is_err() {
                println!("not root, so no file can be given away");
                return;
            }
            fs::set_permissions(&file, fs::Permissions::from_mode(0o060)).unwrap();
        }
    }
    let exe = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    let headers_and_folders = headers.iter().filter_map(|file| file.parent()).chain([folder.path()]);
    for directory in headers_and_folders {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let name = "derived::no_change_fails_after_the_rename_because_the_new_file_is_unreadable";
    let mut child = std::process::Command::new(exe);
    child.args(["--exact", name]).env(FOLDER, folder.path()).current_dir("/").uid(writer).gid(group);
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    for file in headers {
        let metadata = fs::metadata(file).unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (writer, 0o060));
    }
}
