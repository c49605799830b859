//! The entries of the chunk index: whether they are in order, and whether the data was ever written.

use std::io::{Read, Seek};
use std::path::Path;

use crate::check::chunk_files::{self, Fault};
use crate::chunks::{ChunkPlace, max_offset};
use crate::find::chunk_file;
use crate::finding::{Code, Finding, Place};
use crate::format::header::Header;
use crate::{ChunkCounts, Error, ErrorKind, Frame};

/// The most chunks that are compared with each other: their offsets in 64 MiB of memory, where they begin and end in 192 MiB.
/// Of more, each is only looked at alone.
pub(super) const MAX_COMPARED: usize = 1 << 23;

/// What the entries of an index have in common.
#[derive(Default)]
struct Survey {
    counts: ChunkCounts,
    /// Offsets, or numbers of files.
    stored: Vec<u64>,
    /// How many are stored before the first special one.
    nfirst: u64,
    /// Whether a stored one follows a special one.
    is_mixed: bool,
    /// The largest entry that is neither.
    invalid: Option<i64>,
}

impl Survey {
    fn take(&mut self, place: ChunkPlace, header: &Header) {
        match place {
            ChunkPlace::Frame(offset) => self.store(offset.saturating_sub(header.header_len as u64)),
            ChunkPlace::File(number) => self.store(number),
            ChunkPlace::Special(_) => {}
            ChunkPlace::Invalid(value) => self.invalid = self.invalid.max(Some(value)),
        }
        *self.counts.of(place) += 1;
    }

    fn store(&mut self, number: u64) {
        if self.stored.len() < MAX_COMPARED {
            self.stored.push(number);
        }
        if self.counts.special() == 0 {
            self.nfirst += 1;
        } else {
            self.is_mixed = true;
        }
    }
}

/// The findings and the counts of the index, which begins at this byte of the frame. One that this crate cannot read is not
/// a fault.
pub(super) fn check<R: Read + Seek>(
    frame: &mut Frame<R>,
    start: u64,
) -> Result<(Vec<Finding>, Option<ChunkCounts>), Error> {
    let about = |code| Finding::new(code, Place::ChunkIndex).at(start);
    let mut survey = match survey(frame) {
        Ok(survey) => survey,
        Err(error) if error.kind() == ErrorKind::Refused => return Ok((Vec::new(), None)),
        Err(error) => return Ok(([error.into_finding()?].into(), None)),
    };
    survey.stored.sort_unstable();
    let header = frame.header();
    let mut findings: Vec<Finding> = offsets(&survey, header, about(Code::ChunkOffset)).into_iter().collect();
    if header.is_sparse() && findings.is_empty() {
        if let Some(directory) = chunk_file::directory(frame) {
            survey.stored.dedup();
            findings.extend(files(&survey.stored, directory, about(Code::ChunkFile))?);
        }
    }
    let (special, total) = (survey.counts.special(), survey.counts.total());
    if header.nchunks().is_none() && special > 0 {
        findings.push(about(Code::LostChunkLength).text(format!(
            "{special} of {total} chunks are one value, but how many items they have is not stored"
        )));
    }
    // What is computed or fetched when it is read has no chunks before.
    if frame.kind().holds_data() {
        findings.extend(unwritten(frame, &survey, about));
    }
    Ok((findings, Some(survey.counts)))
}

fn survey<R: Read + Seek>(frame: &mut Frame<R>) -> Result<Survey, Error> {
    let header = frame.header().clone();
    let chunks = frame.chunks()?;
    let (len, is_repeated) = (chunks.len(), chunks.is_repeated());
    let mut survey = Survey::default();
    // Two that are the same tell as much as many.
    for entry in chunks.take(if is_repeated { 2 } else { usize::MAX }) {
        let place = entry?.place;
        survey.take(place, &header);
        if is_repeated {
            *survey.counts.of(place) = len;
        }
    }
    Ok(survey)
}

/// Whether the data was ever written. There is no certain sign of it.
fn unwritten<R>(frame: &Frame<R>, survey: &Survey, about: impl Fn(Code) -> Finding) -> Option<Finding> {
    let (count, nfirst) = (survey.counts.total(), survey.nfirst);
    if survey.invalid.is_some() || survey.counts.special() == 0 || survey.is_mixed {
        return None;
    }
    if nfirst > 0 {
        let stored = match nfirst {
            1 => "first".into(),
            _ => format!("first {nfirst}"),
        };
        let verb = if nfirst == 1 { "is" } else { "are" };
        let text = format!("only the {stored} of {count} chunks {verb} stored");
        let geometry = frame.array().ok().flatten().and_then(|array| array.geometry().ok());
        let text = match geometry.as_ref().and_then(|geometry| geometry.chunk(nfirst)) {
            Some(chunk) => format!("{text}, none from coordinate {:?} of the grid on", chunk.coordinate()),
            None => text,
        };
        return Some(about(Code::NeverWritten).numbers(count, nfirst).text(text));
    }
    let text = match count {
        1 => "the only chunk is not stored".into(),
        _ => format!("none of {count} chunks is stored"),
    };
    Some(about(Code::NoData).numbers(count, 0).text(text))
}

/// The first chunk of a sparse frame whose file is missing or not whole, so that C-Blosc2 cannot read it.
fn files(numbers: &[u64], directory: &Path, finding: Finding) -> Result<Option<Finding>, Error> {
    let faults = chunk_files::faults(numbers, directory)?;
    Ok(faults.first.map(|(number, fault)| {
        let (all, whole) = (numbers.len(), numbers.len() - faults.count);
        let why = match fault {
            Fault::Missing => "is missing".into(),
            Fault::NotAChunk => "is not a chunk".into(),
            Fault::Short { cbytes, length } => format!("has {length} bytes, but its chunk needs {cbytes}"),
        };
        let name = chunk_file::name(number);
        let text = format!("only {whole} of {all} chunk files are whole; for example {name} {why}");
        finding.numbers(all, whole).text(text)
    }))
}

/// The first entry that C-Blosc2 does not accept, and why.
fn offsets(survey: &Survey, header: &Header, finding: Finding) -> Option<Finding> {
    if let Some(value) = survey.invalid {
        return Some(match (u64::try_from(value), max_offset(header)) {
            (Err(_), _) => {
                let byte = value >> 56 & 0xff;
                finding.text(format!("an entry ends with {byte:#04x}, which is not a special value"))
            }
            (Ok(offset), Some(most)) => {
                let text = format!("a chunk has the offset {offset}, but must have at most {most}");
                finding.numbers(most, offset).text(text)
            }
            (Ok(offset), None) => {
                let length = header.cbytes;
                let text = format!(
                    "a chunk has the offset {offset}, but all chunks have {length} bytes, too few for one"
                );
                finding.text(text)
            }
        });
    }
    let last = survey.stored.last().copied().filter(|_| header.is_sparse());
    let most = chunk_file::last_number(header.cbytes);
    if let Some(last) = last.filter(|&last| i128::from(last) > most.into()) {
        let (name, cbytes) = (chunk_file::name(last), header.cbytes);
        let text = format!(
            "a chunk is in {name}, number {last}, but with {cbytes} bytes of chunks C-Blosc2 opens numbers up to {most}"
        );
        return Some(finding.numbers(most, last).text(text));
    }
    let twice = survey.stored.windows(2).find_map(|pair| match pair {
        [a, b] if a == b => Some(*a),
        _ => None,
    })?;
    let what = if header.is_sparse() { "file number" } else { "offset" };
    Some(finding.text(format!("two chunks have the {what} {twice}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_number_of_chunks_64_mebibytes_are_kept() {
        let mut survey = Survey::default();
        let count = MAX_COMPARED as u64 + 1;
        (0..count).for_each(|number| survey.store(number));
        assert_eq!((survey.stored.len(), survey.nfirst), (MAX_COMPARED, count));
        assert_eq!(size_of_val(&survey.stored[..]), 64 << 20);
    }
}
