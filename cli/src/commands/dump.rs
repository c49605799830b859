//! `b2nd dump`: the bytes of a header or metalayer, with their meaning.

use std::io::{self, BufWriter, Read, Write};
use std::mem;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::Style;
use b2nd_frame::{Error, Frame, ReadAt, dump_header};
use b2nd_serde::Deserializer;
use b2nd_serde::dump::{Row, metalayer};
use clap::{Args, ValueHint};
use serde::Serialize;

use crate::code;
use crate::input::{
    Address, Bytes, FRAME, Inside, MAX_LEN, Place, Positioned, ZIP_FILE, ZIP_ON_STDIN, begins_as_zip,
    from_text, given_all, is_zip, read_bytes,
};
use crate::output::json::{begin, write};
use crate::problem::Problem;
use crate::terminal::{BOLD, DIM, Outcome, RED, buffered_stdout, complain, remark, width, wrapped};
use crate::text::{clean, hex};

/// Show a header and its metalayers byte by byte
///
/// Each line shows the offset, the bytes, their MessagePack type, the name of the field and the value. If the bytes are
/// malformed, a line shows where and why. After a malformed chunk or block, the dump continues with the next one; after
/// any other malformed bytes, it ends. The input is a frame or a metalayer, binary or in hexadecimal digits.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd dump array.b2nd
  b2nd dump --trailer array.b2nd
  b2nd dump --chunk 7 array.b2nd
  b2nd dump --hex '97 00 01 91 d3 00 00 00 00 00 00 00 06'
  b2nd encode --shape 6 --chunks 4 --blocks 2 --dtype int32 | b2nd dump")]
pub(crate) struct Dump {
    #[arg(help = format!("{FRAME} [default: -]"), value_name = "FILE", conflicts_with = "hex")]
    file: Option<PathBuf>,
    /// Bytes to show instead of a file, as hexadecimal digits
    #[arg(long, value_name = "DIGITS", value_hint = ValueHint::Other)]
    hex: Option<Bytes>,
    /// Show the chunk index too, and for each chunk the header and the offsets of the first 256 blocks, but no data
    #[arg(long)]
    chunks: bool,
    /// Show only chunk number N
    #[arg(long, value_name = "N", conflicts_with_all = ["chunks", "trailer"], value_hint = ValueHint::Other)]
    chunk: Option<u64>,
    /// Show the trailer too, with its vlmetalayers
    #[arg(long)]
    trailer: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A function that receives the rows of a dump one at a time.
type ReceiveRow<'r> = dyn FnMut(&Row<'_>) -> ControlFlow<()> + 'r;

impl Dump {
    pub(crate) fn run(self) -> Outcome {
        // Standard input is read completely to show chunks or the trailer. To show only a header or a metalayer,
        // `MAX_LEN` bytes are enough: real headers are much shorter, although b2nd-frame reads headers of up to 64 MiB.
        let longest = if self.needs_frame() { u64::MAX } else { MAX_LEN };
        let address = match &self.file {
            Some(file) => {
                let [address] = given_all([file]);
                address
            }
            None => Address::stdin(),
        };
        let bytes = match (&self.hex, &address.inside) {
            (Some(Bytes(bytes)), _) => Ok(bytes.clone()),
            (None, Inside::Stdin) => read_bytes(&address.path, longest).map_err(Problem::from),
            _ => read(&address).and_then(|bytes| Ok(from_text(bytes)?)),
        };
        let is_zip_on_stdin = bytes.as_deref().is_ok_and(begins_as_zip) && address.inside == Inside::Stdin;
        let problem = if self.json {
            self.print_json(&address, bytes)?
        } else {
            match bytes.map(|bytes| self.print(&address, &bytes)) {
                Ok(printed) => printed?,
                Err(problem) => Some(problem),
            }
            .inspect(|error| match (&error.offset, &address.inside) {
                // A row of the dump has already shown this error.
                (Some(_), _) => {}
                (None, Inside::Stdin) => complain(error),
                _ => complain(&address.location().failure(error.clone())),
            })
        };
        if problem.is_some() && !self.json {
            if address.inside == Inside::Whole && is_zip(&address.path) {
                remark(&ZIP_FILE.trim_start_matches("; "));
            } else if is_zip_on_stdin {
                remark(&ZIP_ON_STDIN.trim_start_matches("; "));
            }
        }
        Ok(if problem.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Prints all rows as lines. Returns the same problem as `rows`.
    fn print(&self, address: &Address, bytes: &[u8]) -> io::Result<Option<Problem>> {
        let width = width(&io::stdout());
        let mut stdout = buffered_stdout();
        let mut written = Ok(());
        let problem = self.rows(address, bytes, &mut |row| {
            written = stdout.write_all(text(row, width).as_bytes());
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written.and_then(|()| stdout.flush())?;
        Ok(problem)
    }

    /// Prints a JSON object with all rows. Each row is printed as soon as it is known. Returns the problem of reading
    /// the input, or the same problem as `rows`.
    fn print_json(&self, address: &Address, bytes: Result<Vec<u8>, Problem>) -> io::Result<Option<Problem>> {
        let mut stdout = BufWriter::new(io::stdout().lock());
        stdout.write_all(&begin(address))?;
        let (mut written, mut before) = (Ok(()), ",\"values\":[");
        let mut row = |row: &Row<'_>| {
            stdout.write_all(mem::replace(&mut before, ",").as_bytes())?;
            write(&mut stdout, &RowRecord::from(row))
        };
        let problem = bytes.map_or_else(Some, |bytes| {
            self.rows(address, &bytes, &mut |next| {
                written = row(next);
                if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
        });
        written?;
        stdout.write_all(if before == "," { b"]" } else { b",\"values\":[]" })?;
        if let Some(problem) = &problem {
            stdout.write_all(b",\"error\":")?;
            write(&mut stdout, problem)?;
        }
        stdout.write_all(b"}\n")?;
        stdout.flush()?;
        Ok(problem)
    }

    /// Passes all rows to `receive`. Returns the problem that ended the dump. Without such a problem, returns the first
    /// fault that a row shows. Only a fault has an offset, so `run` can recognize it. The text output has already shown
    /// the fault below its row, so `run` does not print it again.
    fn rows(&self, address: &Address, bytes: &[u8], receive: &mut ReceiveRow<'_>) -> Option<Problem> {
        let (mut fault, mut is_over) = (None, false);
        let result = self.each(address, bytes, &mut |row| {
            // If `receive` has stopped the dump of the chunks, `rest` still starts the dump of the trailer. This dump
            // is stopped here.
            if is_over {
                return ControlFlow::Break(());
            }
            if let Some(text) = row.fault.filter(|_| fault.is_none()) {
                fault = Some(Problem {
                    offset: Some(row.offset),
                    ..Problem::new(code::MALFORMED, text.to_string())
                });
            }
            let flow = receive(row);
            is_over = flow.is_break();
            flow
        });
        // No row has shown an error in `result`. The offset of the error is removed, so that `run` prints the error.
        result.err().map(|problem| Problem { offset: None, ..problem }).or(fault)
    }

    /// Whether chunks or the trailer are shown. For them, the input must be a frame, not a metalayer.
    fn needs_frame(&self) -> bool {
        self.chunks || self.trailer || self.chunk.is_some()
    }

    fn each(&self, address: &Address, bytes: &[u8], receive: &mut ReceiveRow<'_>) -> Result<(), Problem> {
        // If a metalayer can begin with the first byte, the bytes are shown as a metalayer. Otherwise they must be a
        // frame.
        if !Deserializer::new(bytes).layout().is_err_and(|error| error.offset() == Some(0)) {
            metalayer(bytes).rows(receive);
            let more =
                Problem::new(code::INVALID_INPUT, "a metalayer by itself has no chunks and no trailer");
            return if self.needs_frame() { Err(more) } else { Ok(()) };
        }
        let mut is_bad = false;
        if self.chunk.is_none() {
            dump_header(bytes).rows(|row| {
                is_bad = row.fault.is_some();
                receive(row)
            });
        }
        // After a fault in the header, the dump ends, because the positions of the chunks and of the trailer are not
        // known.
        if !self.needs_frame() || is_bad {
            return Ok(());
        }
        // `bytes` may hold only the header, so the chunks and the trailer are read from the file. Standard input and a
        // file of hexadecimal digits cannot be opened as a frame, so only the bytes in `bytes` are shown.
        let in_file = if address.inside == Inside::Stdin { None } else { Some(address.open()) };
        match in_file {
            Some(Ok(frame)) => self.rest(&frame, receive)?,
            Some(Err(problem)) if !problem.is_not_a_frame() => return Err(problem),
            _ => self.rest(&Frame::read_at(bytes, 0)?, receive)?,
        }
        Ok(())
    }

    /// Passes the rows of the chunks and of the trailer to `receive`. The trailer is dumped even if dumping the chunks
    /// fails.
    fn rest<R: ReadAt>(&self, frame: &Frame<R>, receive: &mut ReceiveRow<'_>) -> Result<(), Error> {
        if let Some(number) = self.chunk {
            return frame.dump_chunk(number, receive);
        }
        let chunks = if self.chunks { frame.dump_chunks(&mut *receive) } else { Ok(()) };
        let trailer = if self.trailer { frame.dump_trailer(&mut *receive) } else { Ok(()) };
        chunks.and(trailer)
    }
}

/// The text of a row: a line, and below it the message about a fault, if the row has one. At a terminal, the message is
/// wrapped.
fn text(row: &Row<'_>, width: Option<usize>) -> String {
    let [offset, bytes, kind, field, value] = row.cells();
    // In the line, the bytes of the row begin at this column. The fault is shown below them.
    let start = offset.len() + bytes.len() - bytes.trim_start().len();
    let value = clean(&value);
    let (offset, kind, field) = (painted(DIM, &offset), painted(DIM, &kind), painted(BOLD, &field));
    let line = format!("{offset}{bytes}{kind}{field}{value}\n");
    match &row.fault {
        None => line,
        Some(fault) => {
            let indent = " ".repeat(start);
            let fault =
                wrapped(&clean(&fault.to_string()), width.map(|width| width.saturating_sub(start + 3)), "");
            let fault = fault.replace('\n', &format!("\n{indent}   "));
            format!("{line}{indent}{RED}^^{RED:#} {fault}\n")
        }
    }
}

/// A text in a style. The spaces at its start are not styled.
fn painted(style: Style, text: &str) -> String {
    match text.trim_start_matches(' ') {
        "" => String::new(),
        text_only => format!("{}{style}{text_only}{style:#}", &text[..text.len() - text_only.len()]),
    }
}

/// A row as a JSON object. Scripts rely on the names of these fields.
#[derive(Serialize)]
struct RowRecord {
    offset: u64,
    depth: usize,
    hex: String,
    #[serde(rename = "type")]
    kind: String,
    value: String,
    field: String,
    /// The message about a fault in the bytes of this row.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

impl From<&Row<'_>> for RowRecord {
    fn from(row: &Row<'_>) -> Self {
        Self {
            offset: row.offset,
            depth: row.depth,
            hex: hex(row.bytes),
            kind: row.kind.to_string(),
            value: row.value.to_string(),
            field: row.field.to_string(),
            fault: row.fault.map(ToString::to_string),
        }
    }
}

/// The length of the first read. Nearly every header is shorter.
const FIRST_LEN: u64 = 1 << 12;

/// Reads the first bytes at an address: enough for any real header or metalayer.
fn read(address: &Address) -> Result<Vec<u8>, Problem> {
    let Place { reader, offset, .. } = address.place("bytes or hexadecimal digits")?;
    let mut file = Positioned::new(reader, offset);
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(FIRST_LEN).read_to_end(&mut bytes)?;
    if let Err(error) = Frame::parse(&bytes) {
        // If the bytes are only the start of a header, the error states how many bytes are needed in total. Then the
        // missing bytes are read, up to a total of `MAX_LEN`. Otherwise the bytes may be a metalayer or hexadecimal
        // digits, so up to `MAX_LEN` more bytes are read.
        let rest = error
            .needed()
            .map_or(MAX_LEN, |needed| (needed as u64).min(MAX_LEN).saturating_sub(bytes.len() as u64));
        file.take(rest).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
