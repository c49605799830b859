//! `read_object` reads the items that `Slice::read` does, whatever gives the bytes.

#[path = "../../examples/read_object.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod read_object;

use std::fs;
use std::future::ready;
use std::ops::Range;

use b2nd_frame::b2nd_serde::{Meta, Shapes};
use b2nd_frame::{Frame, FrameBuilder};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::data;

/// A reader with the method of `parquet`'s `AsyncFileReader`.
struct Reader {
    file: Vec<u8>,
    waves: Vec<Vec<Range<u64>>>,
}

impl Reader {
    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> impl Future<Output = std::io::Result<Vec<Vec<u8>>>> {
        let place = |place: u64| usize::try_from(place).unwrap().min(self.file.len());
        let wave =
            ranges.iter().map(|range| self.file[place(range.start)..place(range.end)].to_vec()).collect();
        self.waves.push(ranges);
        ready(Ok(wave))
    }
}

/// Compares a slice that is read by waves with that of the file, and returns the waves.
async fn waves(file: &std::path::Path, slice: &[Range<u64>]) -> Vec<Vec<Range<u64>>> {
    let expected = Frame::open(file).unwrap().slice(&slice.to_vec()).read().unwrap();
    let bytes = fs::read(file).unwrap();

    let (store, path) = (InMemory::new(), Path::from("folder/array.b2nd"));
    store.put(&path, bytes.clone().into()).await.unwrap();
    let slice_of_task = slice.to_vec();
    // A server does this in any of its threads.
    let task = tokio::spawn(async move {
        read_object::read_object(async |ranges| store.get_ranges(&path, &ranges).await, &slice_of_task).await
    });
    assert!(task.await.unwrap().unwrap() == expected, "object_store: {slice:?} of {file:?}");

    let mut reader = Reader { file: bytes, waves: Vec::new() };
    let read = read_object::read_object(async |ranges| reader.get_byte_ranges(ranges).await, slice).await;
    assert!(read.unwrap() == expected, "get_byte_ranges: {slice:?} of {file:?}");
    reader.waves
}

#[tokio::test]
async fn the_items_are_those_of_the_file() {
    for name in ["int32_3x5.b2nd", "rank16.b2nd", "scalar.b2nd", "struct_long.b2nd", "stars/stars.b2nd"] {
        let file = data().join(name);
        let shape = Frame::open(&file).unwrap().array().unwrap().unwrap().shape().to_vec();
        let whole: Vec<_> = shape.iter().map(|&len| 0..len).collect();
        let middle: Vec<_> = shape.iter().map(|&len| len / 3..len.div_ceil(2)).collect();
        for slice in [whole, middle] {
            waves(&file, &slice).await;
        }
    }
}

#[tokio::test]
async fn a_long_header_is_read_again_and_distant_chunks_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.b2nd");
    let shapes = Shapes { shape: &[400, 400], chunkshape: &[200, 200], blockshape: &[50, 200] };
    let meta = Meta::new(shapes, "<u4").unwrap();
    let builder = FrameBuilder::new(meta).metalayer("notes", &"long ".repeat(2000));
    let mut writer = builder.create(&path).unwrap();
    for chunk in 0..4 {
        let items = (0..200 * 200_u32).map(|item| item * 7 + chunk);
        let bytes: Vec<u8> = items.flat_map(u32::to_le_bytes).collect();
        writer.write_uncompressed(chunk.into(), &bytes).unwrap();
    }
    let frame = writer.finish().unwrap().persist().unwrap();
    let header_len = frame.header().header_len;

    let waves = waves(&path, &[0..400, 3..4]).await;
    assert_eq!(waves[0], [0..8192]);
    assert_eq!(waves[1], [0..header_len as u64]);
    assert!(waves.iter().any(|ranges| ranges.len() > 1), "{waves:?}");
}

#[tokio::test]
async fn what_is_no_array_ends_with_its_error() {
    for (file, expected) in [
        (&b""[..], "the frame has only 0 bytes"),
        (b"text that is longer than the first fields of a header", "not a frame"),
    ] {
        let mut reader = Reader { file: file.into(), waves: Vec::new() };
        let read = read_object::read_object(async |ranges| reader.get_byte_ranges(ranges).await, &[]).await;
        assert_eq!(read.unwrap_err().to_string(), expected);
    }
}
