//! Reads the header of an array on a web server or in an object store, by requests of ranges and without the whole file.
//!
//! The client here speaks plain HTTP, so that the example needs no other crate. A program has its own, and its own kind of
//! `get`: the loop around it stays the same.
//!
//! ```sh
//! cargo run --features frame --example read_ranges 127.0.0.1:8000 folder/array.b2nd
//! ```

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;

use b2nd_serde::frame::Frame;

/// Nearly all headers fit; a longer one costs a second request.
const FIRST: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(host), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("usage: read_ranges HOST:PORT PATH".into());
    };
    let frame = read_header(|range| get(&host, &path, range))?;
    match frame.array()? {
        Some(array) => println!("shape {:?}, chunks {:?}", array.shape(), array.chunkshape()),
        None => println!("chunks without an array"),
    }
    Ok(())
}

/// Asks for the first bytes, and for the rest of the header if it is longer.
fn read_header<E: From<b2nd_serde::frame::Error>>(
    mut get: impl FnMut(Range<usize>) -> Result<Vec<u8>, E>,
) -> Result<Frame, E> {
    let mut bytes = get(0..FIRST)?;
    loop {
        match Frame::parse(&bytes) {
            Err(error) if error.needed() > Some(bytes.len()) => {
                let needed = error.needed().unwrap_or_default();
                let more = get(bytes.len()..needed)?;
                if more.is_empty() {
                    // The object ends before its header does.
                    return Err(error.into());
                }
                bytes.extend(more);
            }
            parsed => return Ok(parsed?),
        }
    }
}

fn get(host: &str, path: &str, range: Range<usize>) -> Result<Vec<u8>, Box<dyn Error>> {
    let Range { start, end } = range;
    let mut stream = TcpStream::connect(host)?;
    let last = end - 1;
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\nRange: bytes={start}-{last}\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or("not an answer of HTTP")?;
    let body = answer.split_off(head + 4);
    let status = String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned();
    // A server without ranges answers 200, and sends all.
    if status == "206" { Ok(body) } else { Err(format!("status {status}").into()) }
}
