//! Reads any bytes as a frame: as a whole, in pieces, and inside of other bytes. Then reads each part of the frame.

use b2nd_frame::{
    Check, CheckDepth, ChunkPlace, Error, ErrorKind, Frame, Generation, Place, Report, Salvage,
    SalvageReport, Severity, Trailer, dump_header,
};
use b2nd_lab::{rows, rows_until};
use b2nd_serde::to_vec;
use serde::de::IgnoredAny;

use super::assert_rows;

/// The maximum number of chunks that are read from a frame, and of rows that are read from a dump of chunks.
const SOME: usize = 1000;

pub fn run(bytes: &[u8]) {
    let whole = Frame::parse(bytes);
    in_pieces(bytes, &whole);
    let rows = rows(|receive| dump_header(bytes).rows(receive));
    match &whole {
        Ok(frame) => {
            let header = frame.header_bytes();
            assert!(bytes.starts_with(header) && header.len() == frame.header().header_len);
            let has_fault = assert_rows(&rows, 0, header);
            // If only unused bytes of a header are damaged, the header parses, but its dump has a fault. Then a check
            // must have a finding.
            assert!(
                !has_fault || !frame.check_header().findings.is_empty(),
                "a good header has a fault: {:?}",
                rows.last()
            );
            parts(frame, bytes);
        }
        Err(error) => {
            assert!(assert_rows(&rows, 0, bytes), "a bad header has no fault");
            let offset = error.finding().and_then(b2nd_frame::Finding::offset);
            assert!(offset.is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
        }
    }
    inside(bytes, &whole);
}

/// Asserts that parsing a frame piece by piece gives the same result as parsing it at once, for several lengths of the
/// first piece.
fn in_pieces(bytes: &[u8], whole: &Result<Frame<()>, Error>) {
    for start in [0, 1, 9, 10, 16, 24, 64, 90, 165, bytes.len() / 2] {
        let mut length = start.min(bytes.len());
        let last = loop {
            let parsed = Frame::parse(&bytes[..length]);
            match parsed.as_ref().err().and_then(Error::needed) {
                Some(needed) => {
                    assert!(needed > length, "{length} bytes need {needed}");
                    if needed > bytes.len() {
                        assert!(whole.is_err());
                        break parsed;
                    }
                    length = needed;
                }
                None => break parsed,
            }
        };
        match (&last, whole) {
            (Ok(frame), Ok(whole)) => assert_eq!(frame.header_bytes(), whole.header_bytes()),
            (Err(last), Err(whole)) => {
                let is_malformed = |error: &Error| error.kind() == ErrorKind::Malformed;
                assert!(!is_malformed(last) || is_malformed(whole), "{last} in pieces, {whole} whole");
            }
            (last, whole) => panic!("{:?} in pieces, {:?} whole", last.as_ref().err(), whole.as_ref().err()),
        }
    }
}

/// Asserts that the content of each metalayer is at its offset. Reads all parts of the frame header, which must not
/// panic.
fn parts(frame: &Frame<()>, bytes: &[u8]) {
    for layer in frame.metalayers() {
        let content = layer.offset()..layer.offset() + layer.bytes().len();
        assert_eq!(bytes.get(content), Some(layer.bytes()));
        drop(layer.decode::<serde_json::Value>());
        drop(layer.decode::<IgnoredAny>());
    }
    assert!(!frame.kind().name().is_empty());
    if let Ok(Some(array)) = frame.array() {
        let written = to_vec(array.meta()).expect("what was read");
        assert_eq!([&written, array.stale_tail()].concat(), array.metalayer().bytes());
        drop(array.meta().parse_dtype());
        drop(array.geometry());
    }
    for finding in frame.check_header().findings {
        assert!(finding.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{finding}");
    }
}

fn inside(bytes: &[u8], whole: &Result<Frame<()>, Error>) {
    let before = b"before ";
    let file = [&before[..], bytes].concat();
    let offset = before.len() as u64;
    let saved = Salvage::read_at(&file, offset).and_then(|salvage| {
        // Inputs of an even length are salvaged with an assumed order, inputs of an odd length without.
        if bytes.len().is_multiple_of(2) { salvage.assume_order().preview() } else { salvage.preview() }
    });
    let Ok(frame) = Frame::read_at(&file, offset) else {
        assert!(
            whole.as_ref().is_ok_and(|whole| whole.header().frame_len > bytes.len() as u64) || whole.is_err()
        );
        return;
    };
    let whole = whole.as_ref().expect("a header that can be read");
    assert_eq!((frame.header_bytes(), frame.offset()), (whole.header_bytes(), offset));
    assert!(frame.header().frame_len <= bytes.len() as u64);

    let [shallow, deep, data] =
        [CheckDepth::Frame, CheckDepth::ChunkHeaders, CheckDepth::ChunkData].map(|depth| {
            let frame = Frame::read_at(&file, offset).expect("the same file");
            Check::new(depth).run(&frame).expect("a file in memory")
        });
    for finding in &shallow.findings {
        assert!(deep.findings.contains(finding), "not found with the headers of chunks: {finding}");
    }
    // A check keeps only 20 findings about chunks for each code, so the reports of two depths can keep different
    // findings.
    let is_cut = data.findings.iter().filter(|finding| finding.place() == Place::Chunk).count() > 20;
    for finding in &deep.findings {
        assert!(is_cut || data.findings.contains(finding), "not found with the data of chunks: {finding}");
    }
    for finding in &data.findings {
        // The claimed offset of a chunk or of the chunk index may be outside the file.
        let is_claimed = matches!(finding.place(), Place::Chunk | Place::ChunkIndex);
        let is_inside = finding.offset().is_none_or(|offset| offset <= bytes.len() as u64);
        assert!(is_inside || is_claimed, "{:?}: {finding}", finding.offset());
        assert!(!finding.message().is_empty() && !finding.code().advice().is_empty());
    }
    let is_good =
        |report: &Report| report.findings.iter().all(|finding| finding.severity() != Severity::Error);
    let is_sparse = frame.header().is_sparse();
    if data.findings.is_empty() && data.skipped.is_empty() {
        undamaged(&frame, bytes, &data, saved);
    }
    trailer(&frame, bytes, is_good(&shallow));
    let frame = Frame::read_at(&file, offset).expect("the same file");
    if is_good(&deep)
        && let Some(array) = frame.array().expect("no error was found")
    {
        let geometry = array.geometry().expect("no error was found");
        let counted = deep.counts.map(|counts| counts.total());
        assert!(
            counted.is_none_or(|chunks| chunks == geometry.nchunks()),
            "{counted:?} chunks in {geometry:?}"
        );
    }
    chunks(&frame, bytes, is_good(&deep) && !is_sparse);
    // A constant chunk index can claim any number of chunks, so only the first rows are read.
    let rows = rows_until(SOME, |receive| drop(frame.dump_chunks(receive)));
    for row in rows.iter().filter(|_| !is_sparse) {
        let start = usize::try_from(row.offset).unwrap_or(usize::MAX);
        let same = bytes.get(start..start.saturating_add(row.bytes.len())) == Some(&row.bytes);
        assert!(row.bytes.is_empty() || same, "{row:?}");
    }
}

/// Asserts that a salvage of an undamaged array loses no chunk. Frames for which this is not promised are skipped.
fn undamaged<R>(frame: &Frame<R>, bytes: &[u8], report: &Report, saved: Result<SalvageReport, Error>) {
    // `saved` is from a frame inside another file. There, a salvage treats the next magic as the start of another
    // frame, and ignores all bytes from that magic on. So only inputs with one magic are tried.
    let is_alone = bytes.windows(8).filter(|bytes| bytes == b"b2frame\0").count() == 1;
    // A check ignores unused bits of special entries, but a salvage takes them for damage. So this test needs a frame
    // in which all chunks are stored.
    let is_stored = report.counts.is_some_and(|counts| counts.stored == counts.total());
    let is_present = frame.header().generation == Generation::Present;
    if frame.array_metalayer().is_some() && is_alone && is_stored && is_present {
        let saved = saved.expect("an undamaged array");
        assert_eq!(saved.lost_count(), 0, "{saved:?}");
    }
}

fn trailer(frame: &Frame<&Vec<u8>>, bytes: &[u8], is_good: bool) {
    let frame_len = usize::try_from(frame.header().frame_len).expect("within the file");
    let frame_bytes = &bytes[..frame_len];
    let read = frame.trailer();
    // Parses the trailer again and again. Each time, `Trailer::parse` gets exactly the number of bytes that its
    // previous error asked for.
    let mut length = 0;
    let in_pieces = loop {
        let parsed = Trailer::parse(frame.header(), &frame_bytes[frame_len - length..]);
        match parsed.as_ref().err().and_then(Error::needed) {
            Some(needed) if needed <= frame_len => {
                assert!(needed > length, "{length} bytes need {needed}");
                length = needed;
            }
            _ => break parsed,
        }
    };
    assert_eq!(read.as_ref().ok(), in_pieces.as_ref().ok());
    assert!(!is_good || read.is_ok(), "no error was found, but {:?}", read.err());
    let rows = rows(|receive| frame.dump_trailer(receive).expect("a file in memory"));
    let Ok(trailer) = read else {
        assert!(rows.last().is_some_and(|row| row.fault.is_some()), "a bad trailer has no fault");
        return;
    };
    assert!(frame_bytes.ends_with(trailer.bytes()));
    assert_eq!(trailer.offset(), (frame_len - trailer.bytes().len()) as u64);
    assert!(!assert_rows(&rows, trailer.offset(), trailer.bytes()), "a good trailer has a fault");
    for layer in trailer.vlmetalayers() {
        let start = usize::try_from(layer.offset()).expect("within the file");
        assert_eq!(bytes.get(start..start + layer.chunk().len()), Some(layer.chunk()));
        if let Ok(value) = layer.value() {
            assert_eq!(Some(value.len()), layer.nbytes());
        }
        drop(layer.decode::<serde_json::Value>());
    }
    drop(trailer.embedded());
}

fn chunks(frame: &Frame<&Vec<u8>>, bytes: &[u8], is_good: bool) {
    let count = frame.count_chunks().ok();
    let Ok(chunks) = frame.chunks() else {
        assert!(!is_good || count.is_none());
        return;
    };
    let mut entries = Vec::new();
    for entry in chunks.take(SOME) {
        let Ok(entry) = entry else { break };
        assert_eq!(entry.number, entries.len() as u64);
        entries.push(entry);
    }
    if let Some(count) = count.filter(|_| entries.len() < SOME) {
        assert_eq!(count.total(), entries.len() as u64);
    }
    let mut chunks = frame.chunks().expect("as before");
    for entry in entries.iter().take(50) {
        let header = chunks.header(entry);
        let (true, ChunkPlace::Frame(start)) = (is_good, entry.place) else { continue };
        let header = header.expect("no error was found").expect("a stored chunk");
        assert!(
            start + header.cbytes() as u64 <= bytes.len() as u64,
            "chunk {} ends after the file",
            entry.number
        );
    }
}
