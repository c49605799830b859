//! Checks what follows the header: the chunk index and the trailer.

use std::format;
use std::io::{Read, Seek};
use std::path::Path;
use std::vec::Vec;

use crate::frame::check::chunk_files::{self, Fault};
use crate::frame::find::open::{SPARSE_INDEX, folder_of};
use crate::frame::finding::{Code, Finding, Place};
use crate::frame::format::chunk::ChunkHeader;
use crate::frame::format::fields::{Field, Generation};
use crate::frame::{Error, Frame, Trailer};

/// Bytes of the chunk index for each chunk.
const OFFSET_NBYTES: u64 = 8;

/// The longest chunk index whose offsets are checked.
const LONGEST_INDEX: usize = 1 << 20;

/// The longest chunk index, decompressed, whose offsets are checked.
const LONGEST_OFFSETS: usize = 1 << 26;

/// Checks what follows the header, in a file that is not shorter than the frame.
pub(super) fn check<R: Read + Seek>(frame: &mut Frame<R>) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    let mut end = None;
    match frame.trailer() {
        Ok(trailer) => {
            end = Some(trailer.offset());
            findings.extend(check_trailer(frame, &trailer));
        }
        Err(error) if error.is_about(Code::Truncated) => return Err(error),
        Err(error) => findings.push(error.into_finding()?),
    }
    if frame.header().nbytes > 0 {
        findings.extend(check_index(frame, end)?);
    }
    Ok(findings)
}

fn check_trailer<R>(frame: &Frame<R>, trailer: &Trailer) -> Vec<Finding> {
    let header = frame.header();
    let about = |code| Finding::new(code, Place::Trailer).at(trailer.offset());
    let mut findings = Vec::new();
    let (expected, found) = (header.header_len as u64, trailer.offset());
    if header.nbytes == 0 && expected != found {
        let text = format!(
            "the frame has no chunks, so the trailer must begin at byte {expected}, but it begins at {found}"
        );
        findings.push(about(Code::TrailerPlace).numbers(expected, found).text(text));
    }
    let count = trailer.vlmetalayers().len();
    if header.has_vlmetalayers == (count == 0) {
        let flag = header.has_vlmetalayers;
        let text = format!("has_vlmetalayers is {flag}, but the trailer has {count} vlmetalayers");
        let at = header.range(Field::HasVlmetalayers).map_or(0, |range| range.start);
        findings.push(Finding::new(Code::VlmetalayerFlag, Place::Header).at(at as u64).text(text));
    }
    for layer in trailer.vlmetalayers().iter().filter(|layer| layer.nbytes().is_none()) {
        let (name, length) = (layer.name(), layer.chunk().len());
        let text = format!("the {length} bytes of vlmetalayer {name} are not a Blosc2 chunk");
        findings.push(Finding::new(Code::VlmetalayerChunk, Place::Trailer).at(layer.offset()).text(text));
    }
    findings
}

/// The chunk index, which ends where the trailer begins, if that is known.
fn check_index<R: Read + Seek>(frame: &mut Frame<R>, trailer: Option<u64>) -> Result<Option<Finding>, Error> {
    let header = frame.header();
    // The chunks of a sparse frame are in other files. The rules of the header report a negative cbytes.
    let stored = if header.is_sparse() { Ok(0) } else { u64::try_from(header.cbytes) };
    let Ok(stored) = stored else { return Ok(None) };
    let start = (header.header_len as u64).saturating_add(stored);
    let left = trailer.unwrap_or(header.frame_len).saturating_sub(start);
    let nchunks = header.nchunks();
    let is_present = header.generation == Generation::Present;
    let is_in_frame = !header.is_sparse() && is_present;
    let about = |code| Finding::new(code, Place::ChunkIndex).at(start);

    let length = left.min(ChunkHeader::MAX_LEN as u64);
    let bytes = if length > 0 { frame.bytes_at(start, length)? } else { Vec::new() };
    let Some(index) = ChunkHeader::parse(&bytes).filter(|index| index.cbytes as u64 <= left) else {
        let text = match left {
            0 => "no bytes are left for the chunk index, which should begin here".into(),
            _ => {
                format!("the chunk index should begin here, but the next {left} bytes are not a whole chunk")
            }
        };
        return Ok(Some(about(Code::ChunkIndexPlace).text(text)));
    };
    if let Some(nchunks) = nchunks.filter(|n| n.checked_mul(OFFSET_NBYTES) != Some(index.nbytes as u64)) {
        let found = index.nbytes as u64 / OFFSET_NBYTES;
        let text = format!("the chunk index has {found} chunks, but nbytes and chunksize give {nchunks}");
        return Ok(Some(about(Code::ChunkIndexCount).numbers(nchunks, found).text(text)));
    }
    let gap = left.saturating_sub(index.cbytes as u64);
    let has_gap = trailer.is_some() && gap > 0;
    if has_gap && stored == 0 && is_in_frame {
        let text =
            format!("cbytes is 0, so the chunk index should be all that is here, but {gap} bytes follow it");
        return Ok(Some(about(Code::ChunkIndexPlace).text(text)));
    }
    let odd = has_gap.then(|| {
        let text = format!("{gap} bytes lie between the chunk index and the trailer");
        about(Code::ChunkIndexGap).numbers(0, gap).text(text)
    });
    if !is_present || index.cbytes > LONGEST_INDEX {
        return Ok(odd);
    }
    let chunk = frame.bytes_at(start, index.cbytes as u64)?;
    let wrong = if is_in_frame {
        index.stored(&chunk).and_then(|offsets| check_offsets(offsets, stored, about(Code::ChunkOffset)))
    } else {
        match (directory(frame), index.data(&chunk, LONGEST_OFFSETS)) {
            (Some(directory), Ok(offsets)) => check_files(&offsets, directory, about(Code::ChunkFile))?,
            _ => None,
        }
    };
    Ok(wrong.or(odd))
}

/// The offsets of chunks. A negative one means a chunk of one repeated value, which takes no bytes.
fn offsets(index: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let offset = |bytes: &[u8]| u64::try_from(i64::from_le_bytes(*bytes.first_chunk()?)).ok();
    index.chunks_exact(8).filter_map(offset)
}

/// The directory of a sparse frame, if it is in one.
fn directory<R>(frame: &Frame<R>) -> Option<&Path> {
    let path = frame.path().filter(|path| path.file_name().is_some_and(|name| name == SPARSE_INDEX))?;
    Some(folder_of(path))
}

/// The first chunk of a sparse frame whose file is missing or not whole, so that C-Blosc2 cannot read it.
fn check_files(index: &[u8], directory: &Path, finding: Finding) -> Result<Option<Finding>, Error> {
    let mut numbers: Vec<u64> = offsets(index).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let faults = chunk_files::faults(&numbers, directory)?;
    Ok(faults.first.map(|(number, fault)| {
        let (all, whole) = (numbers.len(), numbers.len() - faults.count);
        let why = match fault {
            Fault::Missing => "is missing".into(),
            Fault::NotAChunk => "is not a chunk".into(),
            Fault::Short { cbytes, length } => format!("has {length} bytes, but its chunk needs {cbytes}"),
        };
        let name = chunk_files::name(number);
        let text = format!("only {whole} of {all} chunk files are whole; for example {name} {why}");
        finding.numbers(all, whole).text(text)
    }))
}

/// The first offset that C-Blosc2 does not accept, and why.
fn check_offsets(index: &[u8], stored: u64, finding: Finding) -> Option<Finding> {
    let mut offsets: Vec<u64> = offsets(index).collect();
    offsets.sort_unstable();
    let twice = offsets.windows(2).find_map(|pair| match pair {
        [a, b] if a == b => Some(*a),
        _ => None,
    });
    if let Some(offset) = twice {
        return Some(finding.text(format!("two chunks have the offset {offset}")));
    }
    let last = offsets.last().copied()?;
    match stored.checked_sub(ChunkHeader::MAX_LEN as u64) {
        Some(most) if last <= most => None,
        Some(most) => {
            let text = format!("a chunk has the offset {last}, but must have at most {most}");
            Some(finding.numbers(most, last).text(text))
        }
        None => {
            let text =
                format!("a chunk has the offset {last}, but all chunks have {stored} bytes, too few for one");
            Some(finding.text(text))
        }
    }
}
