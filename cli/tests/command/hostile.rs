//! Hostile servers: endless answers, redirects, and text that must not be printed.

#![cfg(feature = "remote")]

use std::process::Output;
use std::thread;
use std::time::Duration;

use crate::run::text;
use crate::server::{Answer, Objects, Server, answer, refusal};

/// The maximum number of bytes that a server can send before the command ends the connection. The command reads at most
/// 16 MiB of an endless answer. The buffers of the system can take the other bytes.
const FEW: u64 = 48 << 20;

fn failed(output: &Output) -> &str {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.lines().count() == 1 && message.len() < 400, "{message}");
    message
}

#[test]
fn an_endless_answer_is_not_taken() {
    let server = Server::start(|path, _| {
        let contents = b"<Contents><Key>a.b2nd</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>x</ETag><Size>9</Size></Contents>";
        match path.split(['/', '?']).next().unwrap() {
            "page" => Answer::Endless(200, "", "<ListBucketResult>", contents),
            "value" => Answer::Endless(200, "", "<ListBucketResult><Contents><Size>", b"1"),
            list @ ("token" | "instruction" | "quotes") => {
                let token = match list {
                    "token" => "<!--.-->1".repeat(1 << 16),
                    "instruction" => "<?x?>1".repeat(1 << 16),
                    _ => format!("{}\"", "1".repeat(16_000)).repeat(8),
                };
                let list = format!(
                    "<ListBucketResult><NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>"
                );
                Answer::Body(200, String::new(), list.into())
            }
            "more" => {
                let header = "Content-Range: bytes 0-4095/9999999\r\nContent-Length: 4294967296\r\n";
                Answer::Endless(206, header, "", b".")
            }
            status => Answer::Endless(status.parse().unwrap(), "", "<Error><Code>Odd</Code>", b"."),
        }
    });
    let cases = [
        ("403/a.b2nd", "refuses access (status 403, Odd)"),
        ("404/a.b2nd", "no such object"),
        ("500/a.b2nd", "the server has failed (status 500, Odd)"),
        ("more/a.b2nd", "the server sent "),
        ("200/a.b2nd", "the server ignores byte ranges"),
        ("page/", "cannot be listed: the server sent a page of more than 16777216 bytes"),
        ("value/", "cannot be listed: the server sent a page of more than 16777216 bytes"),
    ];
    for (path, words) in cases {
        let url = format!("s3://{path}");
        let output = server.command(&["ls", &url]).env("B2ND_TIMEOUT", "8").output().unwrap();
        assert!(failed(&output).contains(words), "{}", text(&output.stderr));
        let taken = server.taken();
        assert!(taken < 4 * FEW, "{path}: {taken} bytes");
    }
    for (path, words) in [
        ("token/", "the server sent a page with comments or instructions"),
        ("instruction/", "the server sent a page with comments or instructions"),
        ("quotes/", "the server sent a value of more than 16384 bytes"),
    ] {
        let output = server.command(&["ls", &format!("s3://{path}")]).output().unwrap();
        assert!(failed(&output).contains(words), "{}", text(&output.stderr));
    }
    let output = server.command(&["info", &server.url("403/a.b2nd")]).output().unwrap();
    assert!(failed(&output).contains("(status 403, Odd)"));
    assert!(server.taken() < FEW);
}

#[test]
fn what_a_server_sends_is_printed_up_to_a_line() {
    let list = |key: &str, size: &str| {
        format!(
            "<ListBucketResult><Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>{size}</Size></Contents></ListBucketResult>"
        )
    };
    let server = Server::start(move |path, _| {
        let (bucket, _) = path.split_once('/').unwrap_or((path, ""));
        let body = match bucket.split('?').next().unwrap() {
            "size" => list("a.b2nd", &"x".repeat(9000)),
            "long" => list("a.b2nd", &"x".repeat(26_000_000)),
            "middle" => list(&format!("{}.b2nd", "x".repeat(30_000)), "1"),
            "code" => return refusal(403, &"Odd ".repeat(4000)),
            "range" => {
                return Answer::Body(206, format!("Content-Range: {}\r\n", "x".repeat(50_000)), vec![0; 9]);
            }
            _ => String::new(),
        };
        Answer::Body(200, String::new(), body.into())
    });
    for path in ["size/", "long/", "middle/", "code/a.b2nd", "range/a.b2nd"] {
        let output = server.run(&["ls", &format!("s3://{path}")]);
        assert!(!failed(&output).contains("Odd"), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    }
}

/// A server that redirects every request to this URL.
fn redirecting(to: &str) -> Server {
    let location = format!("Location: {to}\r\n");
    Server::start(move |_, _| Answer::Body(307, location.clone(), b"<Error><Code>Sent</Code></Error>".into()))
}

#[test]
fn no_credentials_go_where_a_server_redirects_to() {
    let objects: Objects = [("a.b2nd".into(), crate::remote::array())].into();
    let other = Server::start(move |path, range| {
        if path == "secret" { refusal(403, "Internal") } else { answer(&objects, 100, path, range) }
    });
    let server = redirecting(&other.url("a.b2nd"));
    for url in ["s3://bucket/a.b2nd", "s3://bucket/"] {
        let mut command = server.command(&["ls", url]);
        let output = command.env("AWS_SESSION_TOKEN", "token").output().unwrap();
        let words = "the server redirects to another server, to which no credentials are sent";
        assert!(failed(&output).contains(words), "{}", text(&output.stderr));
        assert_eq!((other.requests().len(), other.heads().len()), (0, 0));
        assert!(server.heads().iter().any(|line| line == "x-amz-security-token: token"));
    }
    // Requests to the web have no credentials, but their URL may be a secret, so it must not be sent to the other
    // server.
    let output = server.run(&["ls", &server.url("b.b2nd?sig=secret")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(other.requests(), ["a.b2nd 0-4095"]);
    let heads = other.heads().concat();
    assert!(!heads.contains("sig=") && !heads.contains("referer"), "{heads}");
    // The text of the other server's answer must not be printed.
    let server = redirecting(&other.url("secret"));
    let output = server.run(&["ls", &server.url("b.b2nd")]);
    assert!(failed(&output).contains("(status 403)"), "{}", text(&output.stderr));
}

#[test]
fn a_redirect_within_a_server_is_followed_and_no_circle() {
    let objects: Objects = [("bucket/b.b2nd".into(), crate::remote::array())].into();
    let server = Server::start(move |path, range| match path {
        "bucket/a.b2nd" => Answer::Body(307, "Location: b.b2nd\r\n".into(), Vec::new()),
        "bucket/circle.b2nd" => Answer::Body(307, "Location: circle.b2nd\r\n".into(), Vec::new()),
        "bucket/file.b2nd" => Answer::Body(302, "Location: file:///etc/hostname\r\n".into(), Vec::new()),
        _ => answer(&objects, 100, path, range),
    });
    for url in ["s3://bucket/a.b2nd", &server.url("bucket/a.b2nd")] {
        let output = server.run(&["ls", url]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(server.requests(), ["bucket/a.b2nd 0-4095", "bucket/b.b2nd 0-4095"]);
    }
    for path in ["bucket/circle.b2nd", "bucket/file.b2nd"] {
        let output = server.run(&["ls", &server.url(path)]);
        assert!(failed(&output).contains("too many redirects, or a redirect to a URL that is not http(s)"));
        assert!(server.requests().len() <= 11);
    }
}

/// Each redirect takes 300 ms, which is less than the time limit. All redirects together take longer than the time
/// limit.
#[test]
fn redirects_take_no_longer_than_the_request_may() {
    let server = Server::start(|_, _| {
        thread::sleep(Duration::from_millis(300));
        Answer::Body(307, "Location: circle.b2nd\r\n".into(), Vec::new())
    });
    let output =
        server.command(&["ls", &server.url("circle.b2nd")]).env("B2ND_TIMEOUT", "2").output().unwrap();
    assert!(failed(&output).contains("B2ND_TIMEOUT=10"), "{}", text(&output.stderr));
    // The command makes two attempts within the time limit of 2 seconds, because it stops an attempt after 1 second. An
    // attempt has at most 4 requests, because each redirect takes 300 ms.
    assert!(server.requests().len() <= 8, "{}", server.requests().len());
}
