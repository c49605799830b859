//! `b2nd dump`: the bytes of a header or metalayer, and what each of them means.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::Style;
use b2nd_serde::Deserializer;
use b2nd_serde::dump::{Row, metalayer};
use b2nd_serde::frame::{self, Code, Error, Frame, is_sparse_frame};
use clap::{Args, ValueHint};
use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::failure::{Failure, Problem};
use crate::hex::{Bytes, from_text, hex, unhex_argument};
use crate::json::write_line;
use crate::output::{BOLD, DIM, Outcome, RED, await_stdin, complain, width, wrapped};
use crate::text::clean;

/// Show a frame's header and metalayers, or a single metalayer, byte by byte
///
/// Each line shows the offset, the bytes, their MessagePack type, the name of the field and the value. If the bytes are
/// malformed, the last line shows where and what is wrong. The input is a frame or a metalayer: binary, hexadecimal
/// digits, or a Python bytes literal such as b'\x97\x00'.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd dump array.b2nd
  b2nd dump --trailer array.b2nd
  b2nd dump --hex '97 00 01 91 d3 00 00 00 00 00 00 00 06'
  grep metalayer server.log | cut -d' ' -f 3 | b2nd dump")]
pub(crate) struct Dump {
    /// File, or sparse frame (directory) [default: standard input]
    #[arg(value_name = "FILE", conflicts_with = "hex")]
    file: Option<PathBuf>,
    /// Where the frame begins in the file, as `info` and `ls --scan` show it
    #[arg(long, value_name = "BYTE", default_value_t = 0, value_parser = offset, requires = "file")]
    #[arg(value_hint = ValueHint::Other)]
    offset: u64,
    /// Bytes to show instead of a file, as hexadecimal digits
    #[arg(long, value_name = "DIGITS", value_parser = unhex_argument, value_hint = ValueHint::Other)]
    hex: Option<Bytes>,
    /// Show the headers of the chunks and the chunk index too; not the data
    #[arg(long)]
    chunks: bool,
    /// Show the trailer too, with its vlmetalayers
    #[arg(long)]
    trailer: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Parses an offset.
fn offset(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "must be a number of bytes, such as 4096")
}

/// Takes the rows one by one.
type Receive<'r> = dyn FnMut(Row) -> ControlFlow<()> + 'r;

/// The longest header that is shown.
pub(crate) const LONGEST: u64 = 1 << 20;

impl Dump {
    pub(crate) fn run(self) -> Outcome {
        let is_stdin = self.file.as_deref().is_none_or(|file| file == Path::new("-"));
        let longest = if self.chunks || self.trailer { u64::MAX } else { LONGEST };
        let (path, bytes) = match (&self.hex, &self.file) {
            (Some(Bytes(bytes)), _) => ("-".into(), Ok(bytes.clone())),
            (None, Some(file)) if !is_stdin => {
                (file.to_string_lossy().into_owned(), read(file, self.offset).and_then(from_text))
            }
            _ => ("-".into(), stdin_bytes(longest).and_then(from_text)),
        };
        let bytes = bytes.map_err(Problem::from);
        let problem = if self.json {
            let report = Report { dump: &self, path: &path, bytes, problem: RefCell::new(None) };
            let mut stdout = BufWriter::new(io::stdout().lock());
            write_line(&mut stdout, &report)?;
            stdout.flush()?;
            report.problem.take()
        } else {
            match bytes.map(|bytes| self.print(&bytes)) {
                Ok(printed) => printed?,
                Err(problem) => Some(problem),
            }
            .inspect(|error| match (&error.offset, path.as_str()) {
                // The last line shows it.
                (Some(_), _) => {}
                (None, "-") => complain(error),
                (None, path) => complain(&Failure { path: path.into(), member: None, error: error.clone() }),
            })
        };
        Ok(if problem.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Prints all rows as lines. What is wrong, if anything is.
    fn print(&self, bytes: &[u8]) -> io::Result<Option<Problem>> {
        let width = width(&io::stdout());
        let mut stdout = BufWriter::new(anstream::stdout().lock());
        let mut written = Ok(());
        let problem = self.rows(bytes, &mut |row| {
            written = stdout.write_all(text(&row, width).as_bytes());
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written.and_then(|()| stdout.flush())?;
        Ok(problem)
    }

    /// Passes all rows on. What is wrong, if anything is: with an offset, the last row shows it.
    fn rows(&self, bytes: &[u8], receive: &mut Receive<'_>) -> Option<Problem> {
        let (mut fault, mut is_over) = (None, false);
        let result = self.each(bytes, &mut |row| {
            if is_over {
                return ControlFlow::Break(());
            }
            fault = row.fault.as_ref().map(|fault| Problem {
                offset: Some(row.offset),
                ..Problem::new("malformed", fault.as_str())
            });
            let flow = receive(row);
            is_over = fault.is_some() || flow.is_break();
            flow
        });
        fault.or(result.err().map(|problem| Problem { offset: None, ..problem }))
    }

    fn each(&self, bytes: &[u8], receive: &mut Receive<'_>) -> Result<(), Problem> {
        let has_more = self.chunks || self.trailer;
        // An error at the first byte: no layout begins with it.
        if !Deserializer::new(bytes).layout().is_err_and(|error| error.offset() == Some(0)) {
            metalayer(bytes).rows(receive);
            let more = Problem::new("refused", "a metalayer by itself has no chunks and no trailer");
            return if has_more { Err(more) } else { Ok(()) };
        }
        frame::dump_header(bytes).rows(&mut *receive);
        // The last row has shown what is wrong with the header.
        if !has_more || Frame::parse(bytes).is_err() {
            return Ok(());
        }
        let in_file = match self.file.as_deref().filter(|&file| file != Path::new("-")) {
            Some(file) if self.offset == 0 => Frame::open(file).map(Some),
            Some(file) => Frame::read_at(File::open(file)?, self.offset).map(Some),
            None => Ok(None),
        };
        let is_text =
            |error: &Error| error.finding().is_some_and(|finding| finding.code() == Code::NotAFrame);
        match in_file {
            Ok(Some(frame)) => self.rest(frame, receive)?,
            Err(error) if !is_text(&error) => return Err(error.into()),
            _ => self.rest(Frame::read_at(Cursor::new(bytes), 0)?, receive)?,
        }
        Ok(())
    }

    /// Passes on the rows of what follows the header.
    fn rest<R: Read + Seek>(&self, mut frame: Frame<R>, receive: &mut Receive<'_>) -> Result<(), Error> {
        if self.chunks {
            frame.dump_chunks(&mut *receive)?;
        }
        if self.trailer {
            frame.dump_trailer(&mut *receive)?;
        }
        Ok(())
    }
}

/// The lines of a row. At a terminal, the message about a fault is wrapped.
fn text(row: &Row, width: Option<usize>) -> String {
    let [offset, bytes, kind, field, value] = row.cells();
    let start = offset.len() + bytes.len() - bytes.trim_start().len();
    let value = clean(&value);
    let (offset, kind, field) = (painted(DIM, &offset), painted(DIM, &kind), painted(BOLD, &field));
    let line = format!("{offset}{bytes}{kind}{field}{value}\n");
    match &row.fault {
        None => line,
        Some(fault) => {
            let indent = " ".repeat(start);
            let fault = wrapped(&clean(fault), width.map(|width| width.saturating_sub(start + 3)), "");
            let fault = fault.replace('\n', &format!("\n{indent}   "));
            format!("{line}{indent}{RED}^^{RED:#} {fault}\n")
        }
    }
}

/// A text in a style, but for the spaces before it.
fn painted(style: Style, text: &str) -> String {
    match text.trim_start_matches(' ') {
        "" => String::new(),
        text_only => format!("{}{style}{text_only}{style:#}", &text[..text.len() - text_only.len()]),
    }
}

/// What `--json` prints. The rows are written as they come.
struct Report<'d> {
    dump: &'d Dump,
    path: &'d str,
    bytes: Result<Vec<u8>, Problem>,
    /// What is wrong, once the report is written.
    problem: RefCell<Option<Problem>>,
}

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Report", 3)?;
        object.serialize_field("path", self.path)?;
        object.serialize_field("values", &Values(self))?;
        if let Some(problem) = &*self.problem.borrow() {
            object.serialize_field("error", problem)?;
        }
        object.end()
    }
}

/// The rows, as a list.
struct Values<'r>(&'r Report<'r>);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Report { dump, bytes, problem, .. } = self.0;
        let mut list = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        *problem.borrow_mut() = match bytes {
            Ok(bytes) => dump.rows(bytes, &mut |row| {
                written = list.serialize_element(&DumpRow::from(row));
                if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            }),
            Err(problem) => Some(problem.clone()),
        };
        written.and_then(|()| list.end())
    }
}

/// A row. Scripts rely on these names.
#[derive(Serialize)]
struct DumpRow {
    offset: u64,
    depth: usize,
    hex: String,
    #[serde(rename = "type")]
    kind: String,
    value: String,
    field: String,
}

impl From<Row> for DumpRow {
    fn from(row: Row) -> Self {
        let Row { offset, depth, bytes, kind, value, field, .. } = row;
        Self { offset, depth, hex: hex(&bytes), kind, value, field }
    }
}

/// Bytes of a file, from an offset on: enough for the header of a frame.
fn read(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let sparse = is_sparse_frame(path).then(|| path.join("chunks.b2frame"));
    let mut file = File::open(sparse.as_deref().unwrap_or(path))?;
    if offset > 0 {
        let length = file.seek(SeekFrom::End(0))?;
        if offset >= length {
            let message = format!("nothing at offset {offset}: the file has {length} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        file.seek(SeekFrom::Start(offset))?;
    }
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(1 << 12).read_to_end(&mut bytes)?;
    if let Err(error) = Frame::parse(&bytes) {
        // If the header does not say its length, this may be a metalayer, or digits.
        let rest = error
            .needed()
            .map_or(LONGEST, |needed| (needed as u64).min(LONGEST).saturating_sub(bytes.len() as u64));
        file.take(rest).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The bytes of a reader, of which there are at most `longest`.
pub(crate) fn first_bytes(reader: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(longest).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first bytes of standard input.
pub(crate) fn stdin_bytes(longest: u64) -> io::Result<Vec<u8>> {
    await_stdin("bytes or hexadecimal digits");
    first_bytes(io::stdin(), longest)
}
