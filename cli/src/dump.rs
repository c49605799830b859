//! `b2nd dump`: the bytes of a header or metalayer, and what each of them means.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use b2nd_serde::Deserializer;
use b2nd_serde::dump::{Row, metalayer};
use b2nd_serde::frame::{self, Frame, is_sparse_frame};
use clap::Args;

use crate::failure::{Failure, Problem};
use crate::hex::{Bytes, from_text, unhex_argument};
use crate::json::{DumpRecord, line};
use crate::output::{Outcome, complain};

/// Show a frame's header and metalayers, or a single metalayer, byte by byte
///
/// Each line shows the offset, the bytes, their MessagePack type, the value and the name of the field. If the bytes are
/// malformed, the last line shows where and what is wrong. The input is a frame or a metalayer: binary, hexadecimal
/// digits, or a Python bytes literal such as b'\x97\x00'.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd dump array.b2nd
  b2nd dump --hex '97 00 01 91 d3 00 00 00 00 00 00 00 06'
  grep metalayer server.log | cut -d' ' -f 3 | b2nd dump")]
pub(crate) struct Dump {
    /// File, or sparse frame (directory) [default: standard input]
    #[arg(value_name = "FILE", conflicts_with = "hex")]
    file: Option<PathBuf>,
    /// Where the frame begins in the file, as `info` and `ls --scan` show it
    #[arg(long, value_name = "BYTE", default_value_t = 0, value_parser = offset, requires = "file")]
    offset: u64,
    /// Bytes to show instead of a file, as hexadecimal digits
    #[arg(long, value_name = "DIGITS", value_parser = unhex_argument)]
    hex: Option<Bytes>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Parses an offset.
fn offset(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "must be a number of bytes, such as 4096")
}

/// The longest header that is shown.
const LONGEST: u64 = 1 << 20;

impl Dump {
    pub(crate) fn run(self) -> Outcome {
        let (path, bytes) = match (self.hex, self.file) {
            (Some(Bytes(bytes)), _) => ("-".into(), Ok(bytes)),
            (None, Some(file)) if file != Path::new("-") => {
                (file.to_string_lossy().into_owned(), read(&file, self.offset).and_then(from_text))
            }
            _ => ("-".into(), first_bytes(io::stdin()).and_then(from_text)),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                let error = Problem::from(error);
                if self.json {
                    let json = DumpRecord { path, values: Vec::new(), error: Some(error) };
                    io::stdout().write_all(&line(&json))?;
                } else if path == "-" {
                    complain(&error);
                } else {
                    complain(&Failure { path, member: None, error });
                }
                return Ok(ExitCode::FAILURE);
            }
        };
        // An error at the first byte: no layout begins with it.
        let is_metalayer = !Deserializer::new(&bytes).layout().is_err_and(|error| error.offset() == Some(0));
        let rows = if is_metalayer { metalayer(&bytes).rows() } else { frame::dump_header(&bytes).rows() };
        let fault = rows.last().and_then(|row| Some((row.offset, row.fault.clone()?)));
        let code = if fault.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        let text = match (self.json, is_metalayer) {
            (true, _) => line(&json(path, rows, fault)),
            (false, true) => metalayer(&bytes).to_string().into_bytes(),
            (false, false) => frame::dump_header(&bytes).to_string().into_bytes(),
        };
        io::stdout().write_all(&text)?;
        Ok(code)
    }
}

fn json(path: String, rows: Vec<Row>, fault: Option<(usize, String)>) -> DumpRecord {
    let error = fault.map(|(offset, message)| Problem {
        offset: Some(offset as u64),
        ..Problem::new("malformed", message)
    });
    DumpRecord { path, values: rows.into_iter().map(Into::into).collect(), error }
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

/// The bytes of a reader, up to the length of the longest header.
pub(crate) fn first_bytes(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
