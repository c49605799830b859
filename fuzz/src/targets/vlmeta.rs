//! Writes vlmetalayers and reads them again. The input is first used as the chunk of a vlmetalayer. It is then used as
//! the value of new vlmetalayers and of a new metalayer.

use b2nd_frame::{Check, CheckDepth, ChunkHeader, Frame, FrameBuilder, Severity};
use b2nd_serde::{Meta, Shapes};
use serde::de::IgnoredAny;

use super::assert_rows;

/// The maximum size of a value is 1024 bytes for each byte of its chunk, plus this number of bytes.
const MOST: usize = 1 << 20;

fn builder() -> FrameBuilder {
    let shapes = Shapes { shape: &[0], chunkshape: &[0], blockshape: &[0] };
    FrameBuilder::new(Meta::new(shapes, "|u1").expect("one dimension"))
}

pub fn run(bytes: &[u8]) {
    let chunk = ChunkHeader::parse(bytes).filter(|header| header.cbytes() == bytes.len());
    let made = builder().vlmetalayer_chunk("chunk", bytes).to_vec([[]; 0]);
    // The writer checks more of the header than `ChunkHeader::parse`, so it may refuse a parsed chunk.
    assert!(made.is_err() || chunk.is_some(), "{made:?}");
    if let (Ok(file), Some(header)) = (made, chunk) {
        let frame = Frame::read_at(&file, 0).expect("what was written");
        let trailer = frame.trailer().expect("what was written");
        let [layer] = trailer.vlmetalayers() else { panic!("one was written") };
        assert_eq!((layer.name(), layer.chunk(), layer.nbytes()), ("chunk", bytes, Some(header.nbytes())));
        let offset = usize::try_from(layer.offset()).expect("a small file");
        assert_eq!(file.get(offset..offset + bytes.len()), Some(bytes));
        match layer.value() {
            Ok(value) => {
                assert_eq!(value.len(), header.nbytes());
                assert!(value.len() <= MOST + 1024 * bytes.len(), "{} bytes of {}", value.len(), bytes.len());
                assert_eq!(layer.value().expect("the same").as_ref(), value.as_ref());
            }
            Err(error) => assert!(layer.decode::<IgnoredAny>().is_err(), "{error}"),
        }
        // The value may be of another type than the requested type. Decoding the value must not panic.
        drop((
            layer.decode::<serde_json::Value>(),
            layer.decode::<String>(),
            layer.decode::<(u8, Vec<u32>)>(),
        ));
        let rows = b2nd_lab::rows(|receive| frame.dump_trailer(receive).expect("a file in memory"));
        assert!(!assert_rows(&rows, trailer.offset(), trailer.bytes()), "a good trailer has a fault");
        let report = Check::new(CheckDepth::ChunkHeaders).run(&frame).expect("a file in memory");
        assert!(
            report.findings.iter().all(|finding| finding.severity() != Severity::Error),
            "{:?}",
            report.findings
        );
    }

    // A written value can be read.
    let text = String::from_utf8_lossy(bytes);
    let file = builder()
        .vlmetalayer("bytes", bytes)
        .vlmetalayer("text", &*text)
        .metalayer("text", &*text)
        .to_vec([[]; 0]);
    let frame = Frame::read_at(file.expect("short values"), 0).expect("what was written");
    let trailer = frame.trailer().expect("what was written");
    let [as_bytes, as_text] = trailer.vlmetalayers() else { panic!("two were written") };
    assert_eq!(as_bytes.decode::<Vec<u8>>().expect("what was written"), bytes);
    assert_eq!(as_text.decode::<String>().expect("what was written"), text);
    assert_eq!(frame.metalayer("text").expect("what was written").decode::<&str>().expect("a string"), text);
    assert_eq!(Check::default().run(&frame).expect("a file in memory").findings, []);
}
