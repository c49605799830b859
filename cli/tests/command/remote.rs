//! Object stores and web servers.

#![cfg(feature = "remote")]

use std::array;
use std::ffi::OsString;
use std::fs;
use std::io::Cursor;
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use b2nd_frame::{ArrayUpdate, FrameBuilder};
use b2nd_serde::{Meta, Shapes};

use crate::run::{b2nd, objects, run, text};
use crate::server::{Answer, Objects, Server, answer, refusal};
use b2nd_lab::data;

pub(crate) fn array() -> Vec<u8> {
    fs::read(data().join("int32_3x5.b2nd")).unwrap()
}

/// A frame whose header is longer than the first request, and whose data is longer than the second one.
fn long_array() -> Vec<u8> {
    let meta =
        Meta::new(Shapes { shape: &[40_000], chunkshape: &[10_000], blockshape: &[10_000] }, "|u1").unwrap();
    let builder =
        FrameBuilder::new(meta).metalayer_bytes("long", &[&[0xc5, 0x13, 0x88][..], &[7; 5000]].concat());
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    for chunk in 0..4 {
        writer.write_uncompressed(chunk, &[7; 10_000]).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn stderr(output: &Output) -> &str {
    text(&output.stderr)
}

#[test]
fn a_small_object_costs_one_request_whatever_is_asked() {
    let server = Server::with([("bucket/a.b2nd".into(), array())].into());
    let arguments: [&[&str]; 7] =
        [&["ls"], &["info"], &["check"], &["check", "--data"], &["chunks"], &["dump"], &["cat"]];
    for arguments in arguments {
        for url in ["s3://bucket/a.b2nd", &server.url("bucket/a.b2nd")] {
            let output = server.run(&[arguments, &[url]].concat());
            assert!(output.status.success(), "{arguments:?} {}", stderr(&output));
            assert_eq!(server.requests(), ["bucket/a.b2nd 0-4095"], "{arguments:?} {url}");
        }
    }
    let local = b2nd(&data(), &["info", "int32_3x5.b2nd"]).output().unwrap();
    assert_eq!(server.run(&["info", "s3://bucket/a.b2nd"]).stdout, local.stdout);
}

#[test]
fn without_credentials_the_variables_for_them_are_named() {
    // A machine in a cloud can request its credentials from special hosts. The server is the proxy of the command, so
    // it gets and refuses these requests too.
    let server = Server::start(|_, _| refusal(403, "Odd"));
    for (url, variable) in [
        ("s3://bucket/a.b2nd", "AWS_ACCESS_KEY_ID"),
        ("gs://bucket/a.b2nd", "GOOGLE_APPLICATION_CREDENTIALS"),
    ] {
        let mut command = server.command(&["info", url]);
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"] {
            command.env_remove(name);
        }
        let proxy = server.url("");
        let output = command.env("http_proxy", proxy).env("HOME", "/none").output().unwrap();
        let words = ["there are no credentials: set ", variable].concat();
        assert!(stderr(&output).contains(&words), "{}", stderr(&output));
        assert!(!server.requests().is_empty(), "{url}");
    }
}

#[test]
fn only_a_longer_header_costs_a_second_request_and_only_what_reads_the_end_another() {
    let bytes = long_array();
    let len = bytes.len();
    let server = Server::with([("bucket/long.b2nd".into(), bytes)].into());
    let requests = |arguments: &[&str]| {
        let output = server.run(&[arguments, &["s3://bucket/long.b2nd"]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        server.requests().iter().map(|request| request.replace("bucket/long.b2nd ", "")).collect::<Vec<_>>()
    };
    let end = format!("{}-{}", len - 16384, len - 1);
    assert_eq!(requests(&["ls"]), ["0-4095", "4096-20479"]);
    // A check reads the header again.
    assert_eq!(requests(&["check"]), ["0-4095", "4096-20479", &end, "4096-20479"]);
}

/// An array of 2 MB in 10 chunks of 10 blocks, which are not compressed.
pub(crate) fn large_array() -> Vec<u8> {
    let shapes = Shapes { shape: &[2_000_000], chunkshape: &[200_000], blockshape: &[20_000] };
    let mut writer =
        FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).write_to(Cursor::new(Vec::new())).unwrap();
    for chunk in 0..10 {
        let items: Vec<u8> = (0..200_000_u32).map(|item| (item % 251) as u8).collect();
        writer.write_uncompressed(chunk, &items).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn cat_fetches_only_the_chunks_of_the_slice() {
    let bytes = large_array();
    let (len, header_len) = (bytes.len(), b2nd_frame::Frame::parse(&bytes).unwrap().header().header_len);
    let server = Server::with([("bucket/large.b2nd".into(), bytes)].into());
    // Prints a slice within chunk 4. Returns the printed items, and the byte ranges that were fetched for them.
    let fetched = |slice: &str| {
        let output = server.run(&["cat", "--slice", slice, "s3://bucket/large.b2nd"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let ranges: Vec<(usize, usize)> = server
            .requests()
            .iter()
            .map(|request| {
                let (first, last) =
                    request.strip_prefix("bucket/large.b2nd ").unwrap().split_once('-').unwrap();
                (first.parse().unwrap(), last.parse::<usize>().unwrap() + 1)
            })
            .collect();
        (text(&output.stdout).to_owned(), ranges)
    };
    let (items, ranges) = fetched("900000:900005");
    // Item 900000 is item 100000 of its chunk.
    assert_eq!(items, "[102 103 104 105 106]\n");
    let chunk = |number: usize| header_len + number * 200_032;
    let is_in = |&(first, last): &(usize, usize)| {
        let is_of_chunk = first >= chunk(4) && last <= chunk(5);
        last <= 1 << 16 || first >= len - (1 << 16) || is_of_chunk
    };
    assert!(ranges.iter().all(is_in), "{ranges:?}");
    let total: usize = ranges.iter().map(|(first, last)| last - first).sum();
    // The header, the chunk index, and the chunk, which is read whole because that saves a round trip.
    assert_eq!(ranges.len(), 3, "{ranges:?}");
    assert!(total < 250_000, "{total} bytes: {ranges:?}");
    // The text of a long array shows only the items at its edges, so only the edges are fetched. For a NumPy file, all
    // bytes are fetched.
    let (_, ranges) = fetched(":");
    assert_eq!(ranges.len(), 4, "{ranges:?}");
    let total: usize = ranges.iter().map(|(first, last)| last - first).sum();
    assert!(total < 450_000, "{total} bytes");
    let output = server.run(&["cat", "--npy", "s3://bucket/large.b2nd"]);
    assert!(output.stdout.len() > 2_000_000, "{}", stderr(&output));
    assert!(server.requests().len() > 2);
}

#[test]
fn chunks_and_check_request_the_headers_of_many_chunks_at_the_same_time() {
    let objects: Objects = [("large.b2nd".into(), large_array())].into();
    let len = objects["large.b2nd"].len();
    // The first request covers chunk 0. The headers of the other nine are answered when all of them have been
    // requested.
    let all = Barrier::new(9);
    let server = Server::start(move |path, range| {
        let (first, last) = range.unwrap();
        if first > 0 && last + 1 < len {
            all.wait();
        }
        answer(&objects, 100, path, range)
    });
    for arguments in [&["chunks"][..], &["check", "--chunks"]] {
        let output = server.run(&[arguments, &[&server.url("large.b2nd")]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(server.requests().len(), 11);
    }
}

#[test]
fn cat_fetches_the_chunk_files_of_a_sparse_frame() {
    let files = fs::read_dir(data().join("sparse.b2nd")).unwrap().map(|file| file.unwrap());
    let key = |name: &str| format!("bucket/sparse.b2nd/{name}");
    let mut objects: Objects =
        files.map(|file| (key(file.file_name().to_str().unwrap()), fs::read(file.path()).unwrap())).collect();
    let local = b2nd(&data(), &["cat", "sparse.b2nd"]).output().unwrap();
    assert!(local.status.success());
    let server = Server::with(objects.clone());
    let output = server.run(&["cat", "s3://bucket/sparse.b2nd/"]);
    assert_eq!(text(&output.stdout), text(&local.stdout), "{}", stderr(&output));
    let requests = server.requests();
    for name in objects.keys() {
        assert!(requests.iter().any(|request| request.starts_with(name)), "{name}: {requests:?}");
    }

    objects.remove(&key("00000002.chunk")).unwrap();
    let output = Server::with(objects).run(&["cat", "s3://bucket/sparse.b2nd/"]);
    assert_eq!(output.status.code(), Some(1));
    let said = "chunk 2 should be in 00000002.chunk, which is missing";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
}

/// The objects of a sparse frame in a folder, at `bucket/a.b2nd`.
fn sparse_objects(folder: &Path) -> Objects {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let key = |name: OsString| format!("bucket/a.b2nd/{}", name.into_string().unwrap());
    files.map(|file| (key(file.file_name()), fs::read(file.path()).unwrap())).collect()
}

/// Writes a sparse frame of four chunks.
fn write_sparse(folder: &Path, items: &[u8; 16]) {
    let meta = Meta::new(Shapes { shape: &[4, 4], chunkshape: &[2, 2], blockshape: &[2, 2] }, "|u1").unwrap();
    let writer = FrameBuilder::new(meta).create_sparse(folder).unwrap();
    let mut array = writer.into_array_writer().unwrap();
    array.write(&[0..4, 0..4], items).unwrap();
    array.finish().unwrap().persist().unwrap();
}

/// Runs `cat` for a sparse frame on a server. Up to and including the first request for a chunk file, the server
/// answers from the objects `before`, then from the objects `after`. With `has_tags`, the objects `after` have other
/// tags. Returns the output and the requests.
fn cat_during_commit(before: Objects, after: Objects, has_tags: bool) -> (Output, Vec<String>) {
    let is_committed = Mutex::new(false);
    let server = Server::start(move |path, range| {
        let mut is_committed = is_committed.lock().unwrap();
        let objects = if *is_committed { &after } else { &before };
        let is_tagged = *is_committed && has_tags;
        *is_committed |= path.contains(".chunk");
        match answer(objects, 100, path, range) {
            Answer::Body(status, header, body) if is_tagged => {
                Answer::Body(status, header.replace("tag", "new"), body)
            }
            answer => answer,
        }
    });
    let output = server.run(&["cat", "s3://bucket/a.b2nd/"]);
    (output, server.requests())
}

#[test]
fn cat_reads_a_sparse_frame_again_after_a_commit_that_removed_or_replaced_chunk_files() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new, updated] = ["old", "new", "updated"].map(|name| folder.path().join(name));
    let items = [0, 100].map(|first| array::from_fn(|number| first + u8::try_from(number).unwrap()));
    write_sparse(&old, &items[0]);
    write_sparse(&new, &items[1]);
    write_sparse(&updated, &items[0]);
    let mut update = ArrayUpdate::open(&updated).unwrap();
    update.write(&[0..4, 0..4], &items[1]).unwrap();
    update.flush().unwrap();
    drop(update);
    let [old, new, updated] = [&old, &new, &updated].map(|path| sparse_objects(path));
    // In `new`, the chunk files have their old numbers, and in `updated`, other numbers. The headers of `old` and `new`
    // are the same, so only the tag shows this commit.
    assert!(old.keys().eq(new.keys()));
    assert!(!old.keys().eq(updated.keys()));
    for (after, has_tags) in [(&new, true), (&updated, true), (&updated, false)] {
        let (expected, _) = cat_during_commit(after.clone(), after.clone(), has_tags);
        assert!(text(&expected.stdout).contains("115"), "{}", stderr(&expected));
        let (output, requests) = cat_during_commit(old.clone(), after.clone(), has_tags);
        assert_eq!(text(&output.stdout), text(&expected.stdout), "{} {requests:?}", stderr(&output));
    }
}

#[test]
fn cat_requests_the_start_of_the_index_again_after_the_chunk_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write_sparse(&path, &array::from_fn(|number| u8::try_from(number).unwrap()));
    let server = Server::with(sparse_objects(&path));
    let output = server.run(&["cat", "s3://bucket/a.b2nd/"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let requests = server.requests();
    let is_index = |request: &String| request.contains("chunks.b2frame");
    let of_index: Vec<_> = requests.iter().map(is_index).collect();
    assert_eq!(of_index, [true, false, false, false, false, true]);
    assert!(requests[5].contains(" 0-"), "{requests:?}");
}

#[test]
fn a_rewrite_reads_an_object_and_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let new = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let zip = fs::read(data().join("tree.b2z")).unwrap();
    let server = Server::with([("bucket/a.b2nd".into(), array()), ("bucket/t.b2z".into(), zip)].into());
    for (from, to) in [("s3://bucket/a.b2nd", "object"), (&server.url("bucket/a.b2nd"), "web")] {
        let output = server.run(&["rewrite", from, &new(to)]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(fs::read(new(to)).unwrap(), array());
    }
    let output = server.run(&["rewrite", "s3://bucket/t.b2z:group/small.b2nd", &new("member")]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(b2nd_frame::Frame::open(new("member")).unwrap().array().unwrap().unwrap().shape(), [4]);
    let again = server.run(&["rewrite", "s3://bucket/a.b2nd", &new("object")]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("object: already exists; TO must be a new path"), "{}", stderr(&again));
    let none = server.run(&["rewrite", "s3://bucket/none.b2nd", &new("none")]);
    assert_eq!(none.status.code(), Some(1));
    assert!(!folder.path().join("none").exists());
    let output = crate::run::run_with(&array(), folder.path(), &["rewrite", "--sparse", "-", "sparse.b2nd"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(b2nd_frame::is_sparse_frame(folder.path().join("sparse.b2nd")));
    let output = crate::run::run_with(b"text", folder.path(), &["rewrite", "-", "text.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_listing_of_a_prefix_costs_its_pages_and_one_request_for_each_array() {
    let mut objects: Objects = (0..250).map(|i| (format!("bucket/many/{i:03}.b2nd"), array())).collect();
    for file in ["chunks.b2frame", "00000001.chunk"] {
        let bytes = fs::read(data().join("sparse.b2nd").join(file)).unwrap();
        objects.insert(format!("bucket/many/sparse.b2nd/{file}"), bytes);
    }
    objects.insert("bucket/many/tree.b2z".into(), fs::read(data().join("tree.b2z")).unwrap());
    objects.insert("bucket/many/notes.txt".into(), b"no array".to_vec());
    objects.insert("bucket/manyfold.b2nd".into(), array());
    let server = Server::with(objects);
    let output = server.run(&["ls", "--json", "s3://bucket/many"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let listed = objects_of(&output);
    assert_eq!(listed.len(), 254);
    assert_eq!(listed[0], "s3://bucket/many/000.b2nd");
    assert_eq!(listed[250], "s3://bucket/many/sparse.b2nd/");
    assert_eq!(listed[251..253], ["s3://bucket/many/tree.b2z", "s3://bucket/many/tree.b2z:group/large.b2nd"]);
    let requests = server.requests();
    let (pages, gets): (Vec<_>, Vec<_>) = requests.iter().partition(|request| request.contains("list-type"));
    // Each array outside the zip file takes one request. The zip file takes two requests for all its arrays, because it
    // is opened twice: first as a store, then to list its members.
    assert_eq!((pages.len(), gets.len()), (3, 253), "{gets:?}");
    // Every printed address is accepted as an argument.
    for address in &listed[249..] {
        let output = server.run(&["info", "--json", address]);
        assert_eq!(objects_of(&output), [address.as_str()], "{}", stderr(&output));
    }
    assert_eq!(server.requests().len(), 6, "two for the store");
    let output = server.run(&["ls", "--print0", "-j", "1", "--ext", "txt", "s3://bucket/many"]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(server.requests().contains(&"bucket/many/notes.txt 0-4095".into()));
}

fn objects_of(output: &Output) -> Vec<String> {
    objects(output).iter().map(|object| object["address"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_prefix_is_also_an_object_without_an_extension_and_a_sparse_frame() {
    let bytes = fs::read(data().join("sparse.b2nd/chunks.b2frame")).unwrap();
    let server = Server::with(
        [("bucket/array".into(), array()), ("bucket/s.b2nd/chunks.b2frame".into(), bytes)].into(),
    );
    // Without a trailing slash, the URL may be a prefix, and listing it takes a request. With a slash, a sparse frame
    // takes only one request.
    for (url, requests) in [("s3://bucket/array", 2), ("s3://bucket/s.b2nd", 2), ("s3://bucket/s.b2nd/", 1)] {
        let output = server.run(&["ls", "--json", url]);
        assert_eq!(objects_of(&output), [url], "{}", stderr(&output));
        assert_eq!(server.requests().len(), requests, "{url}");
    }
    let output = server.run(&["chunks", "s3://bucket/s.b2nd"]);
    assert!(stderr(&output).contains("read only from a folder; copy it"), "{}", stderr(&output));
    let output = server.run(&["check", "--chunks", "s3://bucket/s.b2nd/"]);
    let said = "chunks not checked: the chunk files of a sparse frame are read only from a folder";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    assert_eq!(text(&server.run(&["ls", "s3://bucket"]).stdout).lines().count(), 1);
}

/// A path for which the server fails, and words that the message must contain.
type Case = (&'static str, &'static [&'static str]);

/// A server on which each bucket fails in its own way.
fn failing_server() -> Server {
    Server::start(|path, range| {
        let (bucket, _) = path.split_once(['/', '?']).unwrap_or((path, ""));
        match bucket {
            "slow" => refusal(503, "SlowDown"),
            "broken" => refusal(500, "InternalError"),
            "refused" => refusal(403, "InvalidAccessKeyId"),
            "gone" => refusal(404, "NoSuchBucket"),
            "elsewhere" => Answer::Body(301, String::new(), Vec::new()),
            "half" => Answer::Half(array()),
            "silent" => Answer::Silence,
            "whole" => Answer::Body(200, String::new(), array()),
            _ => answer(&[("bucket/a.b2nd".into(), array())].into(), 100, path, range),
        }
    })
}

/// RFC 9110 allows both: an answer without a length, and a range of an object of unknown length.
#[test]
fn answers_without_lengths_are_read() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let server = Server::start(move |path, range| {
        let length = file.len();
        let Some((first, last)) = range else {
            return Answer::Raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into());
        };
        let last = last.min(length - 1);
        let part = &file[first..=last];
        let total = if path.contains("star") { "*".into() } else { length.to_string() };
        let (coding, body) = if path.contains("chunked") {
            let chunk = [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n0\r\n\r\n"].concat();
            ("Transfer-Encoding: chunked".into(), chunk)
        } else {
            (format!("Content-Length: {}", part.len()), part.to_vec())
        };
        let range = format!("Content-Range: bytes {first}-{last}/{total}");
        let head = format!("HTTP/1.1 206 Part\r\n{coding}\r\n{range}\r\nConnection: close\r\n\r\n");
        Answer::Raw([head.into_bytes(), body].concat())
    });
    for name in ["star.b2nd", "chunked.b2nd", "star_chunked.b2nd"] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &["cat", &format!("http://{}/{name}", server.host)]);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{name}");
        assert!(text(&output.stdout).starts_with("[[ 0  1"), "{name}: {}", text(&output.stdout));
    }
}

#[test]
fn each_failure_has_a_clear_message() {
    let server = failing_server();
    let cases: [Case; 11] = [
        ("slow/a.b2nd", &["asks for fewer requests", "503, SlowDown", "-j 8"]),
        ("broken/a.b2nd", &["the server has failed", "500, InternalError", "try again later"]),
        ("refused/a.b2nd", &["refuses access", "403, InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"]),
        ("gone/a.b2nd", &["there is no bucket s3://gone"]),
        ("elsewhere/a.b2nd", &["in another region: set AWS_REGION"]),
        ("half/a.b2nd", &["the connection ended before the answer was complete", "try again"]),
        ("silent/a.b2nd", &["does not answer", "B2ND_TIMEOUT"]),
        ("whole/a.b2nd", &["ignores byte ranges, which every object store supports"]),
        ("bucket/none.b2nd", &["no such object; `b2nd ls` lists the objects below a prefix"]),
        ("bucket/none.b2d", &["no such object; `b2nd ls` lists"]),
        ("bucket/none/", &["chunks.b2frame", "`b2nd ls` lists the arrays below a prefix"]),
    ];
    thread::scope(|scope| {
        for (path, words) in cases {
            let server = &server;
            scope.spawn(move || {
                let url = format!("s3://{path}");
                let output = match path.split_once('/') {
                    Some(("silent", _)) => {
                        server.command(&["info", &url]).env("B2ND_TIMEOUT", "2").output().unwrap()
                    }
                    _ => server.run_out(&["info", &url]),
                };
                let message = stderr(&output);
                assert_eq!(output.status.code(), Some(1), "{message}");
                assert!(message.starts_with(&format!("b2nd: {url}: ")), "{message}");
                assert!(words.iter().all(|word| message.contains(word)), "{message}");
                assert_eq!(message.lines().count(), 1, "{message}");
            });
        }
    });
    // The next cases are URLs of a web server, for which the messages differ.
    let output = server.run(&["info", &server.url("whole/a.b2nd")]);
    assert!(stderr(&output).contains("files only as a whole; download this one"), "{}", stderr(&output));
    let output = server.run(&["info", &server.url("refused/a.b2nd")]);
    assert_eq!(stderr(&output).matches("refuses").count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("a signed URL works"), "{}", stderr(&output));
    // No server is at this port.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = server.run_out(&["info", &format!("http://{closed}/a.b2nd")]);
    assert!(stderr(&output).contains("there is no connection to the server"), "{}", stderr(&output));
}

#[test]
fn an_address_that_cannot_be_listed_has_a_clear_message() {
    let server = failing_server();
    for (url, words) in [
        ("s3://gone/folder", "cannot be listed: there is no bucket s3://gone"),
        ("s3://bucket/nothing", "no such object"),
        ("s3://bucket/nothing/", "there is no object below it"),
        ("http://x/folder/", "a web server cannot list files"),
        ("ftp://x/a.b2nd", "the scheme ftp cannot be read"),
        ("s3:///a.b2nd", "names no bucket"),
        ("http:///a.b2nd", "names no host"),
        ("http://me:secret@x/a.b2nd", "as it would be printed with each array"),
        ("http://x/a%2Fb.b2nd", "URLs with an escaped slash, %2F, are not"),
        ("https://x/a%2fb.b2nd?sig=1", "URLs with an escaped slash, %2F, are not"),
        ("s3://bucket/a//b.b2nd", "not the name of an object"),
    ] {
        let output = server.run(&["ls", url]);
        assert_eq!(output.status.code(), Some(1), "{url}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}

#[test]
fn a_missing_setting_is_named() {
    let server = failing_server();
    let output = server.command(&["ls", "s3://bucket"]).env_remove("AWS_SECRET_ACCESS_KEY").output().unwrap();
    assert!(
        stderr(&output).contains("Missing SecretAccessKey: set AWS_ACCESS_KEY_ID"),
        "{}",
        stderr(&output)
    );
    let output = server.command(&["ls", "az://container"]).env_remove("AZURE_STORAGE_ACCOUNT_NAME").output();
    let output = output.unwrap();
    assert!(stderr(&output).contains("set AZURE_STORAGE_ACCOUNT_NAME"), "{}", stderr(&output));
    let mut command = server.command(&["ls", "gs://bucket"]);
    let output = command.env("GOOGLE_APPLICATION_CREDENTIALS", "none.json").output().unwrap();
    assert!(stderr(&output).contains("set GOOGLE_APPLICATION_CREDENTIALS"), "{}", stderr(&output));
}

#[test]
fn a_listing_that_breaks_off_says_that_it_is_not_whole() {
    let objects: Objects = (0..250).map(|i| (format!("bucket/{i:03}.b2nd"), array())).collect();
    let server = Server::start(move |path, range| {
        if path.contains("continuation-token=200") {
            return refusal(500, "InternalError");
        }
        answer(&objects, 100, path, range)
    });
    let output = server.run_out(&["ls", "--json", "s3://bucket"]);
    assert_eq!(output.status.code(), Some(1));
    let lines = crate::run::objects(&output);
    assert_eq!(lines.len(), 201);
    let message = lines[200]["error"]["message"].as_str().unwrap();
    assert!(
        lines[200]["error"]["kind"] == "partial-listing"
            && message
                .starts_with("the listing is incomplete: it ended after 200 objects: the server has failed"),
        "{message}"
    );
    assert_eq!(lines[200]["address"], "s3://bucket");
}

#[test]
fn a_server_that_only_fails_is_not_asked_for_each_of_a_thousand_objects() {
    let objects: Objects = (0..1000).map(|i| (format!("bucket/{i:03}.b2nd"), array())).collect();
    let server = Server::start(move |path, range| {
        if !path.contains("list-type") {
            return refusal(503, "SlowDown");
        }
        answer(&objects, 1000, path, range)
    });
    let output = server.run_out(&["ls", "--json", "s3://bucket"]);
    assert_eq!(output.status.code(), Some(1));
    // There is one failure for each request, and one failure for all objects that were not requested.
    let lines = crate::run::objects(&output);
    assert!((65..200).contains(&lines.len()), "{}", lines.len());
    let kind = |kind: &str| lines.iter().filter(|line| line["error"]["kind"] == kind).count();
    assert!(kind("throttled") >= 64);
    assert_eq!(kind("partial-listing"), 1);
    assert!(text(&output.stdout).contains("objects: 64 requests to the server have failed in a row"));
    let mut asked = server.requests();
    asked.sort();
    asked.dedup();
    assert!(asked.len() < 300, "{}", asked.len());
}

#[test]
fn an_object_that_changes_while_it_is_read_is_told() {
    // The object has another tag, or is shorter than the range.
    for (status, code) in [(412, "PreconditionFailed"), (416, "InvalidRange")] {
        let bytes = long_array();
        let server = Server::start(move |path, range| match range {
            Some((0, _)) => answer(&[(path.into(), bytes.clone())].into(), 100, path, range),
            _ => refusal(status, code),
        });
        let output = server.run(&["info", "s3://bucket/a.b2nd"]);
        assert!(stderr(&output).contains("the object was changed while it was read"), "{}", stderr(&output));
        let failure = &objects(&server.run(&["info", "--json", "s3://bucket/a.b2nd"]))[0];
        assert_eq!(failure["error"]["kind"], "changing", "{failure}");
    }
}

#[cfg(unix)]
#[test]
fn a_long_listing_shows_how_far_it_is_and_ends_when_it_is_interrupted() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    use signal_hook::consts::SIGINT;

    crate::run::let_through(&[SIGINT]);
    let objects: Objects = (0..100_000).map(|i| (format!("bucket/{i:06}.b2nd"), array())).collect();
    let server = Server::start(move |path, range| {
        thread::sleep(Duration::from_millis(20));
        answer(&objects, 1000, path, range)
    });
    let (mut pty, pts) = pty_process::blocking::open().unwrap();
    let command = server.command(&["ls", "--json", "-j", "4", "s3://bucket"]);
    let command = pty_process::blocking::Command::from(command).stdin(Stdio::null());
    let folder = tempfile::tempdir().unwrap();
    // Standard output is a file here, because no progress is shown if standard output is a pipe.
    let output = folder.path().join("objects");
    let mut child = command.stdout(fs::File::create(&output).unwrap()).spawn(pts).unwrap();
    let shown = crate::terminal::screen(&mut pty, Some("files: "));
    assert!(shown.contains("files: "), "{shown}");
    crate::run::send(SIGINT, &child);
    assert_eq!(child.wait().unwrap().signal(), Some(SIGINT));
    let lines = fs::read_to_string(output).unwrap();
    assert!(lines.ends_with("}\n") && lines.lines().count() < 100_000);
}

#[test]
fn the_chunks_of_what_is_below_a_prefix_are_listed() {
    let zip = fs::read(data().join("tree.b2z")).unwrap();
    let server = Server::with(
        [
            ("bucket/a.b2nd".into(), array()),
            ("bucket/deep/tree.b2z".into(), zip),
            ("bucket/notes.txt".into(), b"no array".to_vec()),
        ]
        .into(),
    );
    let output = server.run(&["chunks", "--json", "s3://bucket/"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // There are 7 requests: one for the list, one for the array, and 5 for the zip file: its first bytes, its
    // directory, and each of its three members.
    let requests = server.requests();
    assert_eq!((stderr(&output), requests.len()), ("", 7), "{requests:#?}");
    let mut expected = vec!["s3://bucket/a.b2nd"; 4];
    expected.extend(["s3://bucket/deep/tree.b2z:group/large.b2nd"; 4]);
    expected.push("s3://bucket/deep/tree.b2z:group/small.b2nd");
    let found = objects(&output);
    let addresses: Vec<&str> = found.iter().map(|chunk| chunk["address"].as_str().unwrap()).collect();
    assert_eq!(addresses, expected);
    assert_eq!((&found[0]["file"], &found[0]["offset"]), (&"s3://bucket/a.b2nd".into(), &165.into()));

    let output = server.run(&["chunks", "--ext", "txt", "s3://bucket/"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), "b2nd: no frame found\n"));
    assert_eq!(server.requests().last().unwrap(), "bucket/notes.txt 0-4095");

    let output = server.run(&["chunks", "s3://bucket/", "s3://bucket/none.b2nd"]);
    assert!(text(&output.stdout).starts_with("s3://bucket/a.b2nd:\nchunk  "), "{}", text(&output.stdout));
    assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(1), 1), "{}", stderr(&output));
}

#[test]
fn arrays_in_the_data_of_a_store_have_addresses_too() {
    let file = |name: &str| fs::read(data().join("embedded").join(name)).unwrap();
    let objects = [("bucket/s.b2e".into(), file("store.b2e")), ("bucket/t.b2z".into(), file("tree.b2z"))];
    let server = Server::with(objects.into());
    let listed = objects_of(&server.run(&["ls", "--json", "--all", "s3://bucket/"]));
    let members = ["s.b2e", "s.b2e:/z/numbers", "s.b2e:/chunks", "s.b2e:/noted"];
    let others = ["t.b2z", "t.b2z:group/large.b2nd", "t.b2z:/small", "t.b2z:/group/small"];
    assert_eq!(
        listed,
        [members, others].concat().iter().map(|name| format!("s3://bucket/{name}")).collect::<Vec<_>>()
    );
    for address in listed.iter().filter(|address| address.contains(':')) {
        for command in ["info", "check"] {
            let output = server.run(&[command, "--json", address]);
            assert_eq!(&objects_of(&output)[0], address, "{}", stderr(&output));
        }
    }
    let items = server.run(&["cat", &server.url("s.b2e:/noted"), "--slice", "1"]);
    assert_eq!(stderr(&items), format!("b2nd: {}: no such object\n", server.url("s.b2e:/noted")));
    let items = server.run(&["cat", &server.url("bucket/s.b2e:/noted"), "--slice", "1"]);
    assert_eq!(text(&items.stdout), "[2 3]\n", "{}", stderr(&items));
}

#[test]
fn a_signed_url_is_read_and_its_query_is_no_part_of_the_name() {
    let zip = fs::read(data().join("tree.b2z")).unwrap();
    let objects: Objects = [
        ("a.b2nd?sig=1".into(), array()),
        ("t.b2z?se=10:30&sig=%2F".into(), zip.clone()),
        ("archive?sig=1".into(), zip),
    ]
    .into();
    let server = Server::with(objects);
    // The first URL of a process sets up the runtime for requests. This must also work for a URL with a query, so each
    // command here has only such URLs.
    let output = server.run(&["ls", "--json", &server.url("a.b2nd?sig=1")]);
    assert_eq!(objects_of(&output), [server.url("a.b2nd?sig=1")], "{}", stderr(&output));
    let output = server.run(&["ls", "--json", &server.url("t.b2z?se=10:30&sig=%2F")]);
    let members = objects_of(&output);
    assert_eq!(members[1], server.url("t.b2z:group/large.b2nd?se=10:30&sig=%2F"), "{}", stderr(&output));
    let output = server.run(&["info", "--json", &members[1]]);
    assert_eq!(objects_of(&output), members[1..2], "{}", stderr(&output));
    let output = server.run(&["info", &server.url("archive?sig=1")]);
    assert!(
        stderr(&output).contains("it is a zip file: its members can be listed and read only if"),
        "{}",
        stderr(&output)
    );
    let upper = server.url("a.b2nd?sig=1").replace("http:", "HTTP:");
    let output = server.run(&["info", &upper]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn the_mark_of_a_folder_is_no_array_and_a_folder_named_as_one_is_listed() {
    let index = fs::read(data().join("sparse.b2nd/chunks.b2frame")).unwrap();
    let server = Server::with(
        [
            ("bucket/s.b2nd".into(), Vec::new()),
            ("bucket/s.b2nd/chunks.b2frame".into(), index),
            ("bucket/data.b2nd/a.b2nd".into(), array()),
        ]
        .into(),
    );
    let output = server.run(&["ls", "--json", "s3://bucket/"]);
    let listed = ["s3://bucket/data.b2nd/a.b2nd", "s3://bucket/s.b2nd/"];
    assert_eq!(objects_of(&output), listed, "{}", stderr(&output));
    for url in ["s3://bucket/data.b2nd/", "s3://bucket/s.b2nd/"] {
        let output = server.run(&["ls", "--json", url]);
        assert!(objects_of(&output)[0].starts_with(url), "{}", stderr(&output));
    }
}

#[test]
fn a_list_of_urls_has_as_many_requests_at_a_time_as_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("urls");
    let urls: Vec<_> = (0..200).map(|i| format!("s3://bucket/{i}.b2nd")).collect();
    fs::write(&list, urls.join("\n")).unwrap();
    for jobs in [3, 24] {
        // The number of waiting requests, its maximum, and whether the server has begun to answer.
        let waiting = Arc::new((Mutex::new((0, 0, false)), Condvar::new()));
        let shared = waiting.clone();
        let server = Server::start(move |path, range| {
            let (waiting, changed) = &*shared;
            let mut counts = waiting.lock().unwrap();
            counts.0 += 1;
            counts.1 = counts.1.max(counts.0);
            changed.notify_all();
            // No request is answered until every job has sent a request. Then the server waits for 200 ms more. In this
            // time, no further request may arrive.
            let [long, short] = [60_000, 200].map(Duration::from_millis);
            let few = |counts: &mut (usize, usize, bool)| counts.1 < jobs && !counts.2;
            let (counts, _) = changed.wait_timeout_while(counts, long, few).unwrap();
            let no_more = |counts: &mut (usize, usize, bool)| counts.1 == jobs && !counts.2;
            let (mut counts, _) = changed.wait_timeout_while(counts, short, no_more).unwrap();
            counts.2 = true;
            changed.notify_all();
            counts.0 -= 1;
            answer(&[(path.into(), array())].into(), 100, path, range)
        });
        let arguments = ["ls", "-j", &jobs.to_string(), "--files-from", list.to_str().unwrap()];
        let output = server.command(&arguments).env("B2ND_TIMEOUT", "3600").output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!((server.requests().len(), waiting.0.lock().unwrap().1), (200, jobs));
    }
}

#[test]
fn a_key_that_cannot_be_asked_for_is_named() {
    let server =
        Server::with([("bucket/a/x.b2nd".into(), array()), ("bucket/a//y.b2nd".into(), array())].into());
    let output = server.run(&["ls", "s3://bucket"]);
    let message = stderr(&output);
    assert!(message.contains("a//y.b2nd") && message.contains("list the other prefixes"), "{message}");
}

#[test]
fn answers_between_failures_are_no_reason_to_stop_asking() {
    let objects: Objects = (0..100).map(|i| (format!("bucket/{i:03}.b2nd"), array())).collect();
    let server = Server::start(move |path, range| {
        if path.contains("list-type") {
            return answer(&objects, 1000, path, range);
        }
        if path.ends_with("0.b2nd") { refusal(403, "AccessDenied") } else { refusal(500, "InternalError") }
    });
    let output = server.run_out(&["ls", "--json", "-j", "32", "s3://bucket"]);
    let lines = crate::run::objects(&output);
    assert_eq!(lines.len(), 100);
    assert!(lines.iter().all(|line| line["error"]["kind"] != "partial-listing"));
    assert_eq!(lines[10]["error"]["kind"], "no-access");
}

#[test]
fn a_closed_pipe_ends_the_command_at_once() {
    use std::process::Stdio;

    let mut objects: Objects = (0..1000).map(|i| (format!("bucket/{i:04}.b2nd"), array())).collect();
    objects.extend((0..100).map(|i| (format!("bucket/silent{i}.b2nd"), array())));
    let server = Server::start(move |path, range| {
        if path.contains("/silent") && range.is_some() {
            return Answer::Silence;
        }
        answer(&objects, 2000, path, range)
    });
    let mut command = server.command(&["ls", "--json", "--unordered", "s3://bucket"]);
    let mut child = command.env("B2ND_TIMEOUT", "7200").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    // The command ends although requests are open: the server does not answer them for an hour, and the time limit is
    // two hours.
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_timeout_that_is_no_number_of_seconds_is_wrong_usage() {
    let server = Server::with(Objects::new());
    for seconds in ["abc", "0", "0.5", "-1", "86401", "18446744073709551615"] {
        let output = server.command(&["ls", "s3://bucket"]).env("B2ND_TIMEOUT", seconds).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{seconds}");
        let message =
            format!("error: B2ND_TIMEOUT is {seconds}; it must be a number of seconds from 1 to 86400");
        assert_eq!(stderr(&output).trim_end(), message);
    }
}

#[cfg(unix)]
#[test]
fn a_server_that_does_not_answer_is_named_on_a_terminal() {
    let server = Server::start(|_, _| Answer::Silence);
    let (mut pty, pts) = pty_process::blocking::open().unwrap();
    let mut command = server.command(&["info", &server.url("a.b2nd")]);
    command.env("B2ND_TIMEOUT", "3600");
    let mut child = pty_process::blocking::Command::from(command).spawn(pts).unwrap();
    let expected = format!("waiting for http://{}", server.host);
    let shown = crate::terminal::screen(&mut pty, Some(&expected));
    assert!(shown.contains(&expected), "{shown}");
    child.kill().unwrap();
    child.wait().unwrap();
}
