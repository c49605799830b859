//! The remedy for the findings in a file: a command, or advice.

use std::path::Path;

use b2nd_frame::{
    Array, CheckDepth, Error, ErrorKind, Finding, FindingCode, Frame, ObjectKind, ReadAt, Remedy, Rewrite,
    Salvage, SalvageReport,
};
use b2nd_serde::Entry;

use crate::input::{Address, Failure, Inside, Location};
use crate::names::is_named_blosc2;
use crate::terminal::remark;
use crate::text::{count, short};

/// The remedy for the findings of a frame.
pub(crate) enum Mend {
    /// A command. The end of the line can be a shell comment.
    Command(String),
    /// Advice for the user, if no command mends the frame.
    Advice(String),
}

impl Mend {
    pub(crate) fn command(self) -> Option<String> {
        match self {
            Self::Command(command) => Some(command),
            Self::Advice(_) => None,
        }
    }
}

/// The remedy for the findings of a frame. `None` if no remedy is known. A rewrite is suggested only if its preview
/// succeeds. The preview fails if the new file would replace a file other than the damaged one. The preview of a
/// salvage decompresses chunks only if the check did so too.
pub(crate) fn mend(location: Location<'_>, findings: &[Finding], depth: CheckDepth) -> Option<Mend> {
    let path = location.path;
    let has = |remedy| findings.iter().any(|finding| finding.code().remedy() == Some(remedy));
    // A salvage is preferred to a rewrite, because a rewrite would refuse a damaged frame.
    if has(Remedy::Salvage) || has_lost_start(findings) && is_named_blosc2(path) {
        return salvage(location, findings, depth);
    }
    if location.inside != Inside::Whole {
        let why = "extract it first, because a frame inside another file cannot be changed there";
        return (has(Remedy::Edit) || has(Remedy::Rewrite)).then(|| Mend::Advice(why.into()));
    }
    if has(Remedy::Edit) {
        return edit(path).map(Mend::Command);
    }
    let has_wrong_dtype = findings
        .iter()
        .any(|finding| matches!(finding.code(), FindingCode::DtypeMismatch | FindingCode::UnknownDtype));
    if has(Remedy::Rewrite) { rewrite(path, has_wrong_dtype).map(Mend::Command) } else { None }
}

/// Whether the file is not recognized as a frame, for example because its first bytes are lost. The rest of the file
/// may be undamaged.
fn has_lost_start(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.code() == FindingCode::NotAFrame)
}

/// The command that salvages the frame, or advice. The new file is in the folder of the damaged file, or in the current
/// folder for a frame inside another file. A shell comment at the end of the command counts the lost chunks or
/// metalayers.
fn salvage(location: Location<'_>, findings: &[Finding], depth: CheckDepth) -> Option<Mend> {
    let path = location.path;
    let to = match location.inside {
        Inside::Whole => path,
        Inside::Member(member) => Path::new(Path::new(member).file_name()?),
        Inside::Offset(_) => Path::new(path.file_name()?),
        // No command is suggested for standard input or for a URL. Standard input can be read only once. Requesting the
        // bytes at a URL again is expensive.
        Inside::Stdin | Inside::Url(_) => return None,
    };
    let to = to.with_extension("salvaged.b2nd");
    if to.symlink_metadata().is_ok() {
        return Some(Mend::Advice(format!(
            "look at {}, which exists: it may be the salvaged frame",
            quoted(&to)
        )));
    }
    let (from, result) = if location.inside == Inside::Whole {
        (quoted(path), preview(Salvage::open(path).ok()?, depth))
    } else {
        let place = Address::from(location).place("the bytes of a frame").ok()?;
        let from = String::from_utf8(location.address()).ok()?;
        (quoted(Path::new(&from)), preview(Salvage::read_at(place.reader, place.offset).ok()?, depth))
    };
    let has_wrong_sizes = findings.iter().any(|finding| finding.code().makes_sizes_uncertain());
    let command = format!("b2nd salvage {from} {}", quoted(&to));
    let report = match result {
        Ok(Some(report)) => report,
        Ok(None) => return Some(Mend::Command(format!("{command}  # --dry-run shows what is lost"))),
        Err(error) => {
            let command = match error.kind() {
                // With `--assume-order`, the positions of the chunks in the array depend on sizes in the header, such
                // as the shape. If these sizes may be wrong, no command is suggested.
                ErrorKind::OrderUnknown if has_wrong_sizes => None,
                ErrorKind::OrderUnknown => Some(format!(
                    "{command} --assume-order  # without a chunk index, chunks can get wrong positions"
                )),
                // The option has a placeholder, such as `--shape SHAPE`, because only the user knows the right value.
                // Until the placeholder is replaced, the command fails. `wrong_entry` can only open a path, so no
                // command is suggested for a frame inside another file.
                ErrorKind::ArrayUnknown if location.inside != Inside::Whole => None,
                ErrorKind::ArrayUnknown => {
                    wrong_entry(path, findings).map(|option| format!("{command} {option}"))
                }
                ErrorKind::Unsupported | ErrorKind::Malformed if !has_lost_start(findings) => {
                    return Some(Mend::Advice(match instead_of_salvage(&Address::from(location)) {
                        Some(instead) => format!("the frame has no array, so it cannot be salvaged{instead}"),
                        None => format!("restore it from another copy, because {error}"),
                    }));
                }
                _ => None,
            };
            return command.map(Mend::Command);
        }
    };
    let (lost, layers) = (report.lost_count(), report.lost_metalayers.len() as u64);
    Some(Mend::Command(match (lost, layers) {
        (0, 0) => command,
        (0, _) => format!("{command}  # loses {}", count(layers, "metalayer")),
        _ => format!("{command}  # loses {} of {}", lost, count(report.counts.total(), "chunk")),
    }))
}

/// The advice for a damaged super-chunk, as the end of a message. `None` for any other frame.
pub(crate) fn instead_of_salvage(from: &Address) -> Option<&'static str> {
    let frame = from.open().ok().filter(|frame| frame.kind() == ObjectKind::SChunk)?;
    // `b2nd convert --slice` needs the chunk index and the trailer.
    let trailer = frame.trailer().ok().filter(|_| frame.chunks().is_ok());
    let has_items = trailer.is_some_and(|trailer| Array::with_trailer(frame, &trailer).is_ok());
    Some(if has_items {
        "; `b2nd convert --slice` saves items whose chunks are not damaged"
    } else {
        "; restore it from another copy"
    })
}

/// The advice for a damaged frame, as the end of a message.
const NEXT_STEP: &str = "; `b2nd check --data` shows the damage and what `b2nd salvage` can save";

/// Whether a damaged frame caused a failure.
pub(crate) fn is_damage(failure: &Failure) -> bool {
    let code = failure.error.finding.as_ref().map(|finding| finding.code());
    code.and_then(FindingCode::remedy) == Some(Remedy::Salvage)
}

/// If a damaged frame caused a failure, adds a hint that names the next command.
pub(crate) fn with_salvage(mut failure: Failure) -> Failure {
    if is_damage(&failure) {
        failure.error.hint = instead_of_salvage(&failure.address).or(Some(NEXT_STEP));
    }
    failure
}

/// Names the next command once, after all failures, because a hint for each failure would repeat the same text.
pub(crate) fn remark_next_step() {
    remark(&NEXT_STEP.trim_start_matches("; "));
}

/// Previews the salvage, and returns its report or its error. A preview decompresses all chunks, so it is made only if
/// the check has also read the data of the chunks. Otherwise, this function only searches for the array and its chunks,
/// and returns `Ok(None)` if it finds them.
fn preview<R: ReadAt>(salvage: Salvage<'_, R>, depth: CheckDepth) -> Result<Option<SalvageReport>, Error> {
    if depth < CheckDepth::ChunkData { salvage.locate().map(|()| None) } else { salvage.preview().map(Some) }
}

/// The options of `b2nd salvage` that replace the wrong entry of the array's metalayer, or all entries if the metalayer
/// cannot be read. `None` if no entry is known to be wrong. Also `None` if the metalayer cannot be read and the file is
/// cut off, because few chunks can be left in such a file.
fn wrong_entry(path: &Path, findings: &[Finding]) -> Option<&'static str> {
    const ALL: &str = "--shape SHAPE --chunks CHUNKS --blocks BLOCKS --dtype DTYPE";
    let has = |code| findings.iter().any(|finding| finding.code() == code);
    let frame = Frame::open(path);
    let Some(array) = frame.as_ref().ok().and_then(|frame| frame.array().ok()) else {
        return (!has(FindingCode::Truncated)).then_some(ALL);
    };
    let header = frame.as_ref().ok()?.header();
    let typesize = usize::try_from(header.typesize).ok()?;
    let geometry = array?.geometry().and_then(|geometry| geometry.chunk_nbytes(typesize).map(|_| geometry));
    let geometry = match geometry {
        Ok(geometry) => geometry,
        Err(error) => {
            return match error.entry()? {
                Entry::Shape => Some("--shape SHAPE"),
                Entry::Chunkshape => Some("--chunks CHUNKS"),
                Entry::Blockshape => Some("--blocks BLOCKS"),
                _ => None,
            };
        }
    };
    if has(FindingCode::ChunksizeMismatch) {
        return Some("--chunks CHUNKS  # or --blocks BLOCKS, whichever is wrong");
    }
    let blocksize = geometry.block_nitems().saturating_mul(typesize as u64);
    let has_other_blocks = header.blocksize.is_some_and(|found| u64::try_from(found) != Ok(blocksize));
    has_other_blocks.then_some("--blocks BLOCKS")
}

/// The command that changes the shape. The command has a placeholder for the new shape, which only the user knows.
/// Until the placeholder is filled in, the command fails. A shell comment at the end of the line shows the number of
/// chunks that the new shape must have.
fn edit(path: &Path) -> Option<String> {
    let frame = Frame::open(path).ok()?;
    let header = frame.header();
    let nchunks = u64::try_from(header.nbytes.checked_div(header.chunksize.into())?).ok()?;
    let geometry = frame.array().ok()??.geometry().ok()?;
    let (chunks, chunkshape) = (count(nchunks, "chunk"), short(&geometry.chunkshape()));
    let command = format!("b2nd set {} --shape SHAPE  # with {chunks} of {chunkshape}", quoted(path));
    (nchunks > 0).then_some(command)
}

/// The command that rewrites the frame. The path of the new file is the old path with the extension `b2nd`. If the old
/// path has this extension already, the new file replaces the old one. If the new file would replace another file, no
/// command is suggested: the other file is probably the mended frame.
fn rewrite(path: &Path, has_wrong_dtype: bool) -> Option<String> {
    let frame = Frame::open(path).ok()?;
    let needs_dtype = has_wrong_dtype || frame.array().ok()?.is_some_and(|array| array.dtype().is_none());
    let typesize = frame.header().typesize;
    let to = path.with_extension("b2nd");
    let rewrite = Rewrite::new(path, &to);
    let rewrite = if needs_dtype { rewrite.dtype(format!("V{typesize}")) } else { rewrite };
    rewrite.preview().ok()?;
    let command = format!("b2nd rewrite {} {}", quoted(path), quoted(&to));
    Some(if needs_dtype {
        // Only the user knows the dtype, and a guess could change the meaning of the bytes. So the command has the
        // placeholder DTYPE, and fails until the user replaces it. The rest of the line is a shell comment.
        format!("{command} --dtype DTYPE  # of {typesize} bytes")
    } else {
        command
    })
}

/// A path quoted for a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    // A path must not look like an option.
    let text = if text.starts_with('-') { format!("./{text}") } else { text.into_owned() };
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%:=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else if cfg!(windows) {
        format!("\"{text}\"")
    } else if path.to_str().is_some_and(|path| !path.contains(char::is_control)) {
        format!("'{}'", text.replace('\'', r"'\''"))
    } else {
        // bash, ksh and zsh read `$'…'` with an escape `\xHH` for each byte.
        let bytes = path.as_os_str().as_encoded_bytes();
        let start = if bytes.starts_with(b"-") { "./" } else { "" };
        let escaped: Vec<String> = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("$'{start}{}'", escaped.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_shell_reads_a_quoted_path_back() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        for (path, expected) in [
            (&b"data/a-b_1.b2nd"[..], "data/a-b_1.b2nd"),
            (b"-x.b2nd", "./-x.b2nd"),
            (b"two words", "'two words'"),
            (b"it's", r"'it'\''s'"),
            (b"$HOME`x`", "'$HOME`x`'"),
            (b"a\nb", r"$'\x61\x0a\x62'"),
            (b"\xff", r"$'\xff'"),
            (b"", "''"),
        ] {
            assert_eq!(quoted(Path::new(OsStr::from_bytes(path))), expected);
        }
    }
}
