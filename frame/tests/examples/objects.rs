//! The example `read_object`, which reads from an `object_store`, gives the same items as `Slice::read`. So does a
//! `SlicePlan` that gets its bytes from another kind of asynchronous reader.

#[path = "../../examples/read_object.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod read_object;

use std::fs;
use std::future::ready;
use std::io;
use std::ops::Range;
use std::path::Path;

use b2nd_frame::b2nd_serde::{Meta, Shapes};
use b2nd_frame::{Array, Frame, FrameBuilder};
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path as Key;

use super::data;

/// A reader with the method `get_byte_ranges`, like the trait `AsyncFileReader` in `parquet` and in `async-tiff`.
struct Reader(Vec<u8>);

impl Reader {
    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> impl Future<Output = io::Result<Vec<Vec<u8>>>> {
        let place = |offset| usize::try_from(offset).unwrap();
        let bytes = |range: Range<u64>| self.0.get(place(range.start)..place(range.end)).map(<[u8]>::to_vec);
        let wave: Option<_> = ranges.into_iter().map(bytes).collect();
        ready(wave.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
    }
}

/// Reads a slice of a file twice, with `read_object` and with a plan that gets its bytes from `Reader`. Asserts that
/// both give the items of `Slice::read`. The plan asks for its byte ranges in waves: it needs the bytes of one wave to
/// compute the ranges of the next wave. Returns the number of ranges in each wave.
async fn is_read(file: &Path, slice: &[Range<u64>]) -> Vec<usize> {
    let expected = Array::open(file).unwrap().slice(slice).read().unwrap();
    let bytes = fs::read(file).unwrap();

    let (store, key) = (InMemory::new(), Key::from("folder/array.b2nd"));
    store.put(&key, bytes.clone().into()).await.unwrap();
    let slice = slice.to_vec();
    let mut plan = Array::new(Frame::parse(&bytes).unwrap()).unwrap().slice(&slice).plan().unwrap();
    // A server may continue a task in another thread, so the future must be `Send`. `spawn` compiles only if the future
    // is `Send`.
    let task = tokio::spawn(async move { read_object::read_object(&store, &key, &slice).await });
    assert!(task.await.unwrap().unwrap() == expected, "object_store: {}", file.display());

    let (mut reader, mut waves) = (Reader(bytes), Vec::new());
    while !plan.ranges().is_empty() {
        waves.push(plan.ranges().len());
        plan.take(reader.get_byte_ranges(plan.ranges().to_vec()).await.unwrap()).unwrap();
    }
    assert!(plan.finish().unwrap() == expected, "get_byte_ranges: {}", file.display());
    waves
}

#[tokio::test]
async fn the_items_of_an_object_are_those_of_the_file() {
    for name in ["int32_3x5.b2nd", "rank16.b2nd", "scalar.b2nd", "struct_long.b2nd", "stars/stars.b2nd"] {
        let file = data().join(name);
        let shape = Array::open(&file).unwrap().shape().to_vec();
        let whole: Vec<Range<u64>> = shape.iter().map(|&len| 0..len.cast_unsigned()).collect();
        let middle: Vec<_> = whole.iter().map(|range| range.end / 3..range.end.div_ceil(2)).collect();
        is_read(&file, &whole).await;
        is_read(&file, &middle).await;
    }
}

#[tokio::test]
async fn a_long_header_is_read_again_and_distant_chunks_are_of_one_wave() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.b2nd");
    let shapes = Shapes { shape: &[400, 400], chunkshape: &[200, 200], blockshape: &[50, 200] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<u4").unwrap());
    let mut writer = builder.metalayer("notes", &"long ".repeat(2000)).create(&path).unwrap();
    for chunk in 0..4_u32 {
        let items: Vec<u8> = (chunk..chunk + 200 * 200).flat_map(u32::to_le_bytes).collect();
        writer.write_uncompressed(chunk.into(), &items).unwrap();
    }
    let frame = writer.finish().unwrap().persist().unwrap();
    assert!(frame.header().header_len > 8192, "{}", frame.header().header_len);

    let waves = is_read(&path, &[0..400, 3..4]).await;
    assert!(waves.iter().any(|&ranges| ranges > 1), "{waves:?}");
}

#[tokio::test]
async fn a_cut_or_absent_object_is_an_error() {
    let (store, key) = (InMemory::new(), Key::from("cut.b2nd"));
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    store.put(&key, file[..100].to_vec().into()).await.unwrap();
    let error = read_object::read_object(&store, &key, &[0..1, 0..1]).await.unwrap_err();
    assert_eq!(error.to_string(), "incomplete: at least 165 bytes are needed");
    let error = read_object::read_object(&store, &"nowhere".into(), &[]).await.unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}
