//! A local server, whose answers a test can break.

#![cfg(feature = "remote")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::run::{b2nd, text};
use b2nd_lab::data;

/// Objects by their paths, such as `bucket/folder/array.b2nd`.
pub(crate) type Objects = BTreeMap<String, Vec<u8>>;

/// The numbers of the first and the last requested byte; `None` for a request without a range.
pub(crate) type Range = Option<(usize, usize)>;

/// The answer of a server to a request.
pub(crate) enum Answer {
    /// A status, an additional header, and the body.
    Body(u16, String, Vec<u8>),
    /// An answer with the length of the whole body, but with only the first half of its bytes.
    Half(Vec<u8>),
    /// A status, an additional header, the start of the body, and the bytes that are repeated without end.
    Endless(u16, &'static str, &'static str, &'static [u8]),
    /// All bytes of an answer, with its status line. The connection ends with it.
    Raw(Vec<u8>),
    Silence,
}

/// The length at which the server stops an `Endless` answer, in bytes.
const LONGEST: u64 = 1 << 30;

pub(crate) fn refusal(status: u16, code: &str) -> Answer {
    Answer::Body(status, String::new(), format!("<Error><Code>{code}</Code></Error>").into_bytes())
}

/// The answer of an S3 or web server with these objects. A page of a listing has at most `page` keys.
pub(crate) fn answer(objects: &Objects, page: usize, path: &str, range: Range) -> Answer {
    if let Some((bucket, query)) = path.split_once('?').filter(|(_, query)| query.contains("list-type=2")) {
        let of = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let prefix = format!("{bucket}/{}", of("prefix").unwrap_or_default().replace("%2F", "/"));
        let after = of("continuation-token").map_or(0, |token| token.parse().unwrap());
        let found: Vec<_> =
            objects.iter().filter(|(path, _)| path.starts_with(&prefix)).skip(after).collect();
        if found.is_empty() && !objects.keys().any(|path| path.starts_with(bucket)) {
            return refusal(404, "NoSuchBucket");
        }
        let mut list = "<ListBucketResult>".to_owned();
        for (path, bytes) in found.iter().take(page) {
            let (_, key) = path.split_once('/').unwrap();
            write!(
                list,
                "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"tag\"</ETag><Size>{}</Size></Contents>",
                bytes.len()
            )
            .unwrap();
        }
        if found.len() > page {
            let next = after + page;
            write!(list, "<NextContinuationToken>{next}</NextContinuationToken>").unwrap();
        }
        return Answer::Body(200, String::new(), (list + "</ListBucketResult>").into_bytes());
    }
    let Some(bytes) = objects.get(path) else { return refusal(404, "NoSuchKey") };
    let (first, last) = range.unwrap();
    let last = last.min(bytes.len().wrapping_sub(1));
    match bytes.get(first..=last) {
        Some(part) if !bytes.is_empty() => {
            let header = format!("Content-Range: bytes {first}-{last}/{}\r\nETag: \"tag\"\r\n", bytes.len());
            Answer::Body(206, header, part.into())
        }
        _ => refusal(416, "InvalidRange"),
    }
}

pub(crate) struct Server {
    pub(crate) host: String,
    /// The path and the range of each request, in the order of the requests.
    requests: Arc<Mutex<Vec<String>>>,
    /// All header lines of the requests.
    heads: Arc<Mutex<Vec<String>>>,
    /// The number of bytes of endless answers that were sent so far.
    taken: Arc<AtomicU64>,
}

impl Server {
    /// A server that ends with this process.
    pub(crate) fn start(answer: impl Fn(&str, Range) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let [requests, heads] = [0; 2].map(|_| Arc::<Mutex<Vec<String>>>::default());
        let taken = Arc::<AtomicU64>::default();
        let (answer, logs) = (Arc::new(answer), (requests.clone(), heads.clone(), taken.clone()));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, answer, (requests, heads, taken)) =
                    (stream.unwrap(), answer.clone(), logs.clone());
                thread::spawn(move || serve(&stream, &*answer, &requests, &heads, &taken));
            }
        });
        Self { host, requests, heads, taken }
    }

    /// A server with these objects. Its listings have 100 keys per page.
    pub(crate) fn with(objects: Objects) -> Self {
        Self::start(move |path, range| answer(&objects, 100, path, range))
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        std::mem::take(&mut self.heads.lock().unwrap())
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.swap(0, Ordering::SeqCst)
    }

    /// The command, with this server as its S3 endpoint.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = b2nd(&data(), arguments);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        command
            .env("AWS_ENDPOINT_URL", format!("http://{}", self.host))
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("B2ND_TIMEOUT", "60");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command whose requests fail and are repeated until its time limit, which is short here. If the machine is
    /// so slow that an answer comes too late, the command gets more time.
    pub(crate) fn run_out(&self, arguments: &[&str]) -> Output {
        let run = |seconds: &u32| {
            drop(self.requests());
            self.command(arguments).env("B2ND_TIMEOUT", seconds.to_string()).output().unwrap()
        };
        let is_late = |output: &Output| {
            [&output.stdout, &output.stderr]
                .iter()
                .any(|said| text(said).contains("the server does not answer"))
        };
        let mut outputs = [2, 20].iter().map(run);
        outputs.find(|output| !is_late(output)).unwrap_or_else(|| run(&200))
    }

    /// The `http://` URL of an object on this server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.host)
    }
}

fn serve(
    mut stream: &TcpStream,
    answer: &dyn Fn(&str, Range) -> Answer,
    requests: &Mutex<Vec<String>>,
    heads: &Mutex<Vec<String>>,
    taken: &AtomicU64,
) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(request) = lines.next() {
        let path = request.split(' ').nth(1).unwrap().trim_start_matches('/').to_owned();
        let mut range = None;
        for header in lines.by_ref().take_while(|line| !line.is_empty()) {
            heads.lock().unwrap().push(header.clone());
            if let Some((first, last)) =
                header.strip_prefix("range: bytes=").and_then(|range| range.split_once('-'))
            {
                range = Some((first.parse().unwrap(), last.parse().unwrap()));
            }
        }
        let shown = range.map_or(String::new(), |(first, last)| format!(" {first}-{last}"));
        requests.lock().unwrap().push(path.clone() + &shown);
        let (status, header, body, sent) = match answer(&path, range) {
            Answer::Body(status, header, body) => (status, header, body.clone(), body.len()),
            Answer::Half(body) => {
                let header = format!("Content-Range: bytes 0-{}/{}\r\n", body.len() - 1, body.len());
                (206, header, body.clone(), body.len() / 2)
            }
            Answer::Endless(status, header, start, again) => {
                let head = format!("HTTP/1.1 {status} Status\r\n{header}\r\n{start}");
                let again = again.repeat((1 << 16) / again.len());
                let mut sent = stream.write_all(head.as_bytes());
                while sent.is_ok() && taken.fetch_add(again.len() as u64, Ordering::SeqCst) < LONGEST {
                    sent = stream.write_all(&again);
                }
                return;
            }
            Answer::Raw(bytes) => {
                let _ = stream.write_all(&bytes);
                return;
            }
            Answer::Silence => return thread::sleep(Duration::from_secs(3600)),
        };
        let head = format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n{header}\r\n", body.len());
        // The command may have closed the connection.
        if stream.write_all(&[head.as_bytes(), &body[..sent]].concat()).is_err() || sent < body.len() {
            return;
        }
    }
}
