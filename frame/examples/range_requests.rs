//! Shows arrays on a web server with one request of 512 bytes each, over plain HTTP/1.1:
//!
//! ```sh
//! cargo run -p b2nd-frame --example range_requests -- http://localhost:8000/waves.b2nd
//! ```
//!
//! A web server in front of an object store answers the same requests. To read the object store itself, replace `get`
//! with the range request of a client library. This client library also signs requests and encrypts the connection.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Range;

use b2nd_frame::{ErrorKind, Frame};

/// The number of bytes in the first request. It is enough for the header of nearly every array: the header of an array
/// of two dimensions has 165 bytes.
const FIRST: usize = 512;

fn main() -> Result<(), Box<dyn Error>> {
    for url in std::env::args().skip(1) {
        match header(&url) {
            Ok(frame) => println!("{url}\t{:?}", frame.array()?.map(|array| array.shape().to_vec())),
            Err(error) => println!("{url}\t{error}"),
        }
    }
    Ok(())
}

/// Returns the header of the frame at an address. If 512 bytes are not enough, sends a second request.
pub fn header(url: &str) -> Result<Frame<()>, Box<dyn Error>> {
    let mut bytes = get(url, 0..FIRST)?;
    loop {
        match Frame::parse(&bytes) {
            Err(error) if error.kind() == ErrorKind::Incomplete => {
                let needed = error.needed().ok_or("the file ends within its header")?;
                let rest = get(url, bytes.len()..needed)?;
                if rest.is_empty() {
                    return Err(error.into());
                }
                bytes.extend(rest);
            }
            frame => return Ok(frame?),
        }
    }
}

/// Returns the bytes of a file in this range, or fewer bytes if the file ends before the range does.
fn get(url: &str, range: Range<usize>) -> Result<Vec<u8>, Box<dyn Error>> {
    let address = url.strip_prefix("http://").ok_or("the address must begin with http://")?;
    let (host, path) = address.split_once('/').ok_or("the address has no path")?;
    let mut stream =
        TcpStream::connect(if host.contains(':') { host.to_owned() } else { format!("{host}:80") })?;
    let (start, last) = (range.start, range.end.saturating_sub(1));
    // A range in HTTP includes its last byte.
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nRange: bytes={start}-{last}\r\nConnection: close\r\n\r\n"
    )?;

    let mut answer = BufReader::new(stream.take(1 << 20));
    let status = line(&mut answer)?;
    let mut length = None;
    loop {
        let header = line(&mut answer)?;
        let Some((name, value)) = header.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<u64>()?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(format!("the server sends `{header}`, which this program does not read").into());
        }
    }
    match status.split(' ').nth(1) {
        Some("206") => {}
        // A server without range requests sends the file from its start, so the answer can be used only for a range
        // from 0 on.
        Some("200") if start == 0 => {}
        // The range begins at the end of the file, or after it, so there are no bytes.
        Some("416") => return Ok(Vec::new()),
        _ => return Err(format!("the server says: {status}").into()),
    }
    let mut bytes = Vec::new();
    answer.take(length.unwrap_or(u64::MAX).min(range.len() as u64)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn line(answer: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    answer.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}
