//! The programs in `examples` work.

#[path = "../../examples/catalogue.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod catalogue;
#[path = "../../examples/hdf5_chunk.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod hdf5_chunk;
#[cfg(feature = "decompress")]
#[path = "../../examples/hdf5_dataset.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod hdf5_dataset;
#[cfg(feature = "decompress")]
mod objects;
#[path = "../../examples/range_requests.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod range_requests;
#[cfg(all(feature = "compress", feature = "ndarray"))]
mod slices;
#[cfg(feature = "decompress")]
#[path = "../../examples/star_catalogue.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod star_catalogue;

#[cfg(feature = "decompress")]
use core::ops::Range;
#[cfg(feature = "decompress")]
use core::slice::from_ref;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use b2nd_frame::Frame;
use serde_json::{Value, json};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

#[test]
fn the_catalogue_has_a_line_for_each_array() {
    let mut lines = Vec::new();
    let folder = data();
    catalogue::catalogue(&folder, &mut |line| {
        lines.push(line.replace(folder.to_str().unwrap(), "").replace('\\', "/"));
        Ok(())
    })
    .unwrap();
    for expected in [
        "/int32_3x5.b2nd\t[3, 5]\t<i4\t256 of 128 bytes",
        "/sparse.b2nd\t[6, 8]\t>u2\t316 of 192 bytes",
        "/uint16_6x8.caterva\t[6, 8]\tno dtype\t316 of 192 bytes",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected:?} of {lines:#?}");
    }
    assert!(lines.iter().all(|line| line.split('\t').count() >= 3), "{lines:#?}");
}

#[test]
fn the_catalogue_ends_where_nobody_reads_it_any_more() {
    let mut lines = 0;
    let error = catalogue::catalogue(&data(), &mut |_| {
        lines += 1;
        Err(std::io::ErrorKind::BrokenPipe.into())
    });
    assert_eq!((lines, error.unwrap_err().kind()), (1, std::io::ErrorKind::BrokenPipe));
}

#[test]
fn a_chunk_is_found_wherever_it_is_in_a_file() {
    let frame = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chunks.h5");
    fs::write(&path, [b"what HDF5 writes before", &frame[..], b"between", &frame, b"and after"].concat())
        .unwrap();

    let chunks = hdf5_chunk::chunks(&path).unwrap();
    let offsets: Vec<_> = chunks.iter().map(Frame::offset).collect();
    assert_eq!(offsets, [23, 550]);
    let expected = "shape [3, 5], blocks [1, 2], dtype <i4";
    assert_eq!(hdf5_chunk::describe(&chunks[1]).unwrap(), expected);
    assert_eq!(hdf5_chunk::describe(&hdf5_chunk::chunk_at(&path, 550).unwrap()).unwrap(), expected);
}

/// h5py listed the positions of the chunks of two datasets. A chunk of one dimension does not record its shape.
#[test]
fn chunks_finds_the_chunks_of_hdf5_where_h5py_does() {
    let folder = data().join("hdf5");
    let found = hdf5_chunk::chunks(&folder.join("data.h5")).unwrap();
    for (name, rank) in [("i4_2d.json", 2), ("f8_1d.json", 1)] {
        let dataset: Value = serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap();
        let positions = dataset["positions"].as_array().unwrap();
        assert!(positions.len() >= 3, "{dataset}");
        for position in positions {
            let chunk = found.iter().find(|chunk| position[1] == chunk.offset()).unwrap();
            let shape = chunk.array().unwrap().map(|array| json!(array.shape()));
            assert_eq!(shape, (rank > 1).then(|| dataset["chunks"].clone()), "{position}");
        }
    }
}

/// The items of both datasets are 0, 1, 2 and so on.
#[cfg(feature = "decompress")]
#[test]
fn a_slice_of_a_dataset_is_read_from_the_positions_of_its_chunks() {
    let folder = data().join("hdf5");
    let read = |name: &str, slice: &[Range<u64>]| {
        let positions = fs::read(folder.join(name)).unwrap();
        let dataset: hdf5_dataset::Dataset = serde_json::from_slice(&positions).unwrap();
        dataset.read(&fs::File::open(folder.join("data.h5")).unwrap(), slice).unwrap()
    };
    let matrix = |rows: Range<u64>, columns: Range<u64>| {
        let numbers = rows.flat_map(|row| columns.clone().map(move |column| row * 30 + column));
        numbers.flat_map(|number| i32::try_from(number).unwrap().to_le_bytes()).collect::<Vec<_>>()
    };
    for (rows, columns) in [(0..20, 0..30), (7..17, 15..29), (19..20, 29..30)] {
        assert_eq!(read("i4_2d.json", &[rows.clone(), columns.clone()]), matrix(rows, columns));
    }
    let numbers = (38..83_u32).flat_map(|number| f64::from(number).to_le_bytes());
    assert!(read("f8_1d.json", from_ref(&(38..83))).into_iter().eq(numbers));
}

#[cfg(feature = "decompress")]
#[test]
fn the_bright_stars_are_those_that_python_wrote() {
    let stars = star_catalogue::brighter_than(0.1, &data().join("stars/stars.b2nd")).unwrap();
    let names: Vec<&str> = stars.iter().map(|star| star.name.as_str()).collect();
    assert_eq!(names, ["Sirius", "Canopus", "Arcturus", "Vega"]);
    let system = star_catalogue::System { components: 2, is_multiple: true };
    let sirius = star_catalogue::Star {
        name: "Sirius".into(),
        ra: 101.287,
        declination: -16.716,
        magnitude: -1.46,
        system,
    };
    assert_eq!(stars[0], sirius);
}

/// How a server answers a range request.
#[derive(Clone, Copy)]
enum Server {
    WithRanges,
    WithoutRanges,
    InChunks,
}

/// Starts a server on a port of this machine. It serves the files in the folder `data()`. Returns the address of the
/// server, and a receiver that gets the range of each request.
fn serve(server: Server) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let host = listener.local_addr().unwrap();
    let (ranges, asked) = mpsc::channel();
    // Nobody ends this thread, so it runs until the process ends.
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), server, &ranges);
        }
    });
    (format!("http://{host}"), asked)
}

fn answer(mut stream: TcpStream, server: Server, ranges: &mpsc::Sender<String>) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let path = lines[0].split(' ').nth(1).unwrap();
    let range = lines.iter().find_map(|line| line.strip_prefix("Range: bytes=")).unwrap();
    // Sends the range to the test before the answer to the client, so that the test has the range when it has the
    // answer. Some tests drop the receiver, so an error is ignored.
    let _ = ranges.send(range.to_owned());
    let (first, last) = range.split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    let (status, body) = match (fs::read(data().join(&path[1..])), server) {
        (Err(_), _) => ("404 Not Found", Vec::new()),
        (Ok(file), Server::WithoutRanges | Server::InChunks) => ("200 OK", file),
        (Ok(file), Server::WithRanges) if first >= file.len() => ("416 Range Not Satisfiable", Vec::new()),
        (Ok(file), Server::WithRanges) => {
            ("206 Partial Content", file[first..(last + 1).min(file.len())].to_vec())
        }
    };
    let how = match server {
        Server::InChunks => "Transfer-Encoding: chunked".to_owned(),
        Server::WithRanges | Server::WithoutRanges => format!("Content-Length: {}", body.len()),
    };
    write!(stream, "HTTP/1.1 {status}\r\n{how}\r\n\r\n").unwrap();
    // The client closes the connection when it has read enough, so an error is ignored.
    let _ = stream.write_all(&body);
}

#[test]
fn an_array_on_a_server_costs_one_request_and_a_long_header_two() {
    let (server, asked) = serve(Server::WithRanges);
    let frame = range_requests::header(&format!("{server}/int32_3x5.b2nd")).unwrap();
    assert_eq!(frame.array().unwrap().unwrap().shape(), [3, 5]);
    assert!(asked.try_iter().eq(["0-511"]));

    let frame = range_requests::header(&format!("{server}/struct_long.b2nd")).unwrap();
    let header_len = frame.header().header_len;
    assert!(header_len > 512, "{header_len}");
    assert!(frame.array().unwrap().is_some());
    assert!(asked.try_iter().eq(["0-511".into(), format!("512-{}", header_len - 1)]));
}

#[test]
fn a_server_without_ranges_or_without_the_file_is_understood() {
    let (server, _asked) = serve(Server::WithoutRanges);
    let frame = range_requests::header(&format!("{server}/int32_3x5.b2nd")).unwrap();
    assert_eq!(frame.array().unwrap().unwrap().shape(), [3, 5]);
    let error = range_requests::header(&format!("{server}/struct_long.b2nd")).unwrap_err();
    assert_eq!(error.to_string(), "the server says: HTTP/1.1 200 OK");
    let error = range_requests::header(&format!("{server}/nowhere.b2nd")).unwrap_err();
    assert_eq!(error.to_string(), "the server says: HTTP/1.1 404 Not Found");
}

#[test]
fn an_answer_in_chunks_of_http_is_refused() {
    let (server, _asked) = serve(Server::InChunks);
    let error = range_requests::header(&format!("{server}/int32_3x5.b2nd")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server sends `Transfer-Encoding: chunked`, which this program does not read"
    );
}
