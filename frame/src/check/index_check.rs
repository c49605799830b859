//! The check of the entries of the chunk index.

use std::path::Path;

use crate::check::chunk_files;
use crate::chunk::entry::ChunkCounts;
use crate::chunk_file;
use crate::code::FindingCode;
use crate::error::{Error, ErrorKind};
use crate::finding::Finding;
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::index::index_rules::{IndexScan, about};
use crate::progress::{ENTRIES_BETWEEN_STOPS, Progress};
use crate::source::ReadAt;

/// Returns the findings about the entries, and the counts of chunks. If this crate cannot read the index, this is not
/// an error in the frame, so there are no findings and no counts.
pub(super) fn check<R: ReadAt>(
    frame: &Frame<R>,
    progress: &mut Progress<'_>,
) -> Result<(Vec<Finding>, Option<ChunkCounts>), Error> {
    let mut scan = match scan(frame, progress) {
        Ok(scan) => scan,
        Err(error) if error.kind() == ErrorKind::Stopped => return Err(error),
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::TooLarge) => {
            return Ok((Vec::new(), None));
        }
        Err(error) => return Ok(([error.into_finding()?].into(), None)),
    };
    scan.stored.sort_unstable();
    let header = frame.header();
    let mut findings: Vec<Finding> = scan.wrong_offset(header).into_iter().collect();
    if header.is_sparse()
        && findings.is_empty()
        && let Some(directory) = frame.directory()
    {
        scan.stored.dedup();
        findings.extend(files(&scan.stored, directory, header)?);
    }
    findings.extend(scan.lost_length(header));
    // Missing data is reported only for a frame that should hold its own data. A lazy or remote object has no stored
    // chunks until its data has been computed or fetched.
    if frame.kind().holds_data() {
        let geometry = || frame.read_array().ok().flatten().and_then(|array| array.geometry().ok());
        findings.extend(scan.unwritten(header, geometry));
    }
    Ok((findings, Some(scan.counts)))
}

fn scan<R: ReadAt>(frame: &Frame<R>, progress: &mut Progress<'_>) -> Result<IndexScan, Error> {
    let header = frame.header().clone();
    let mut chunks = frame.open_chunks()?;
    let (len, is_repeated) = (chunks.len(), chunks.is_repeated());
    let mut scan = IndexScan::default();
    // If all entries are equal, two of them are enough: the second entry shows whether an offset is repeated.
    let most = if is_repeated { 2 } else { u64::MAX };
    while let Some(entry) = chunks.next().transpose()?.filter(|entry| entry.number < most) {
        scan.take(&entry, chunks.other_bits(&entry), &header);
        if entry.number % ENTRIES_BETWEEN_STOPS == ENTRIES_BETWEEN_STOPS - 1 {
            progress.show(0)?;
        }
        if is_repeated {
            *scan.counts.count_mut(entry.place) = len;
        }
    }
    Ok(scan)
}

/// The finding for chunk files that are missing or incomplete, so C-Blosc2 cannot read their chunks.
fn files(numbers: &[u64], directory: &Path, header: &Header) -> Result<Option<Finding>, Error> {
    let faults = chunk_files::faults(numbers, directory)?;
    Ok(faults.first.map(|(number, why)| {
        let (all, whole) = (numbers.len(), numbers.len() - faults.count);
        let name = chunk_file::name(number);
        let text = format!("only {whole} of {all} chunk files are whole; for example {name} {why}");
        about(FindingCode::ChunkFile, header).numbers(all, whole).text(text)
    }))
}
