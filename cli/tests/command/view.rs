//! `view`: pictures of arrays in the terminal, and as PNG.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use b2nd_frame::{FrameBuilder, SpecialValue};
use b2nd_serde::{Meta, Shapes};

use crate::run::{b2nd, folder, run, screen, snapshot, text};
use b2nd_lab::data;

/// The colors of the first and last part of a range, and of part 128.
const LOW: [u8; 3] = [68, 1, 84];
const HIGH: [u8; 3] = [253, 231, 37];
const MIDDLE: [u8; 3] = [33, 145, 140];

/// Writes an array in one chunk.
fn write(path: &Path, shape: &[i64], dtype: &str, items: &[u8]) {
    let chunkshape: Vec<i32> = shape.iter().map(|&items| items.try_into().unwrap()).collect();
    let shapes = Shapes { shape, chunkshape: &chunkshape, blockshape: &chunkshape };
    let mut writer = FrameBuilder::new(Meta::new(shapes, dtype).unwrap()).create(path).unwrap();
    writer.write_uncompressed(0, items).unwrap();
    writer.finish().unwrap().persist().unwrap();
}

/// Writes an array of zeros without stored chunks.
fn write_zeros(path: &Path, shape: &[i64], chunkshape: &[i32], blockshape: &[i32], dtype: &str) {
    let shapes = Shapes { shape, chunkshape, blockshape };
    let mut writer = FrameBuilder::new(Meta::new(shapes, dtype).unwrap()).create(path).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
}

/// The columns, rows and pixels of a PNG, each pixel as red, green, blue and alpha.
fn pixels(path: &Path) -> ([u32; 2], Vec<[u8; 4]>) {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path).unwrap()));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgba);
    ([info.width, info.height], bytes.as_chunks().0.to_vec())
}

fn opaque([red, green, blue]: [u8; 3]) -> [u8; 4] {
    [red, green, blue, 255]
}

#[test]
fn view_shows_the_middle_of_an_array_without_colors() {
    let mut screens = String::new();
    for arguments in [
        &["view", "int32_3x5.b2nd"][..],
        &["view", "--slice", "1:,-2:", "int32_3x5.b2nd"],
        &["view", "geometry/d2_c16_even.b2nd"],
        &["view", "geometry/d4_M8_ones.b2nd"],
        &["view", "geometry/d2_bool_wide.b2nd"],
        &["view", "geometry/d1_i2_three_levels.b2nd"],
        &["view", "geometry/d5_u2_awkward.b2nd"],
        &["view", "geometry/d5_u2_awkward.b2nd", "--slice", "0,...,0"],
        &["view", "peers/special_nans.b2nd", "--slice", ":2"],
        &["view", "scalar.b2nd"],
    ] {
        let output = run(&data(), arguments);
        writeln!(screens, "$ b2nd {}\n{}", arguments.join(" "), screen(&output)).unwrap();
    }
    snapshot("view", &screens);
}

#[test]
fn view_refuses_what_has_no_picture() {
    let folder = folder();
    let mut screens = String::new();
    for name in ["empty.b2nd", "geometry/d4_U2.b2nd", "geometry/d3_struct.b2nd"] {
        fs::copy(data().join(name), folder.path().join(name.rsplit('/').next().unwrap())).unwrap();
    }
    fs::write(folder.path().join("there.png"), "there").unwrap();
    write_zeros(&folder.path().join("large.b2nd"), &[3, 20000, 40000], &[1, 500, 500], &[1, 100, 100], "<f4");
    for arguments in [
        &["view", "empty.b2nd"][..],
        &["view", "d4_U2.b2nd"],
        &["view", "d3_struct.b2nd"],
        &["view", "squeezed.caterva"],
        &["view", "tree.b2z"],
        &["view", "bad/cut.b2nd"],
        &["view", "images/2024/a.b2nd", "--slice", "3"],
        &["view", "images/2024/a.b2nd", "-o", "a.jpg"],
        &["view", "images/2024/a.b2nd", "-o", "there.png"],
        &["view", "images/2024/a.b2nd", "-o", "none/a.png"],
        &["view", "large.b2nd", "-o", "large.png"],
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        writeln!(screens, "$ b2nd {}\n{}", arguments.join(" "), screen(&output)).unwrap();
    }
    snapshot("view_refused", &screens);
    assert_eq!(fs::read(folder.path().join("there.png")).unwrap(), b"there");
    let pictures = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
    let pictures = pictures.filter(|name| !name.to_string_lossy().contains("b2"));
    let expected = ["bad", "images", "rank16", "scalar", "squeezed.caterva", "there.png", "tree.zip"];
    let mut pictures: Vec<_> = pictures.map(|name| name.into_string().unwrap()).collect();
    pictures.sort();
    assert!(pictures.iter().all(|name| expected.contains(&&**name)), "{pictures:?}");
}

#[test]
fn view_draws_half_blocks_in_true_color() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.b2nd"), &[3, 2], "|u1", &[0, 128, 255, 0, 128, 128]);
    let output = run(folder.path(), &["view", "--color", "always", "a.b2nd"]);
    let style = |ground, [red, green, blue]: [u8; 3]| format!("\x1b[{ground}8;2;{red};{green};{blue}m");
    let (foreground, background) = (|color| style(3, color), |color| style(4, color));
    let expected = [
        foreground(LOW) + &background(HIGH) + "▀\x1b[0m",
        foreground(MIDDLE) + &background(LOW) + "▀\x1b[0m\n",
        foreground(MIDDLE) + "▀▀\x1b[0m\n[:,:] uint8: 0 " + &foreground(LOW) + "█",
    ];
    let found = text(&output.stdout);
    assert!(found.starts_with(&expected.concat()), "{}", found.escape_debug());
    assert!(found.ends_with(&(foreground(HIGH) + "█\x1b[0m 255\n")), "{}", found.escape_debug());
}

#[test]
fn view_writes_a_png_with_a_pixel_for_each_item() {
    let folder = tempfile::tempdir().unwrap();
    let items = [0.0, 1.0, 0.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(f32::to_le_bytes);
    write(&folder.path().join("a.b2nd"), &[1, 2, 3], "<f4", &items.concat());
    let picture = |arguments: &[&str]| {
        let path = folder.path().join("a.png");
        let output = run(folder.path(), &[&["view", "a.b2nd", "-o", "a.png"], arguments].concat());
        assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
        let picture = pixels(&path);
        fs::remove_file(path).unwrap();
        (text(&output.stdout).to_owned(), picture)
    };
    let [low, middle, high] = [LOW, MIDDLE, HIGH].map(opaque);
    let all = ([3, 2], vec![low, high, middle, [0; 4], high, low]);
    assert_eq!(picture(&[]), ("[0,:,:] float32: 0.0 .:-=+*#%@ 1.0, 1 NaN, 2 infinite\n".into(), all));
    let row = ([3, 1], vec![low, high, middle]);
    assert_eq!(picture(&["--slice", ":,0"]), ("[0,0,:] float32: 0.0 .:-=+*#%@ 1.0\n".into(), row));
    let item = ([1, 1], vec![low]);
    assert_eq!(picture(&["--slice", "0,0,1"]), ("[0,0,1] float32: 1.0 .:-=+*#%@ 1.0\n".into(), item));
    let steps = ([2, 1], vec![low, high]);
    assert_eq!(picture(&["--slice", ":,:1,::2"]), ("[0,0,::2] float32: 0.0 .:-=+*#%@ 0.5\n".into(), steps));
}

/// The items have 67125248 bytes, so they are not kept in memory, but are read twice.
#[test]
fn view_writes_a_png_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes { shape: &[2049, 2048], chunkshape: &[100, 2048], blockshape: &[50, 500] };
    let mut writer =
        FrameBuilder::new(Meta::new(shapes, "<c16").unwrap()).create(folder.path().join("a.b2nd")).unwrap();
    writer.write_repeated(3, &[1.0_f64, 0.0].map(f64::to_le_bytes).concat()).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let output = run(folder.path(), &["view", "a.b2nd", "-o", "a.png"]);
    assert_eq!(text(&output.stdout), "[:,:] complex128: 0.0 .:-=+*#%@ 1.0\n");
    let (size, pixels) = pixels(&folder.path().join("a.png"));
    assert_eq!(size, [2048, 2049]);
    let is_chunk = |row: usize| (300..400).contains(&row);
    let color = |row| opaque(if is_chunk(row) { HIGH } else { LOW });
    assert!(
        pixels.chunks(2048).enumerate().all(|(row, pixels)| pixels.iter().all(|&pixel| pixel == color(row)))
    );
}

#[test]
fn view_leaves_no_file_if_items_are_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let items: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    write(&path, &[100, 100], "|u1", &items);
    let mut bytes = fs::read(&path).unwrap();
    // The chunk begins at the end of the frame's header, and has its size at byte 4.
    let header_len = b2nd_frame::Frame::parse(&bytes).unwrap().header().header_len;
    bytes[header_len + 4] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let output = run(folder.path(), &["view", "a.b2nd", "-o", "a.png"]);
    assert_eq!((text(&output.stdout), output.status.code()), ("", Some(1)));
    assert!(text(&output.stderr).starts_with("b2nd: a.b2nd: "), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A full disk is a failure of the PNG, and not of the array.
#[cfg(unix)]
#[test]
fn view_leaves_no_file_if_the_png_has_no_room() {
    let folder = tempfile::tempdir().unwrap();
    // Noise, which no compression makes shorter.
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let items: Vec<u8> = noise.take(200_000).collect();
    write(&folder.path().join("a.b2nd"), &[400, 500], "|u1", &items);
    let arguments = ["view", "a.b2nd", "-o", "a.png"];
    let output = crate::run::b2nd_under("ulimit -f 64", folder.path(), &arguments).output().unwrap();
    assert_eq!((text(&output.stdout), output.status.code()), ("", Some(1)));
    assert!(text(&output.stderr).starts_with("b2nd: a.png: "), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn view_needs_little_memory_for_huge_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write_zeros(&path("line.b2nd"), &[1 << 46], &[1 << 30], &[1 << 20], "|u1");
    write_zeros(&path("plane.b2nd"), &[1 << 23, 1 << 23], &[1 << 15, 1 << 15], &[1 << 10, 1 << 10], "|u1");
    for (name, slice, rows) in
        [("line.b2nd", "[::879609302221]", 12), ("plane.b2nd", "[::220754,::110377]", 38)]
    {
        let mut command =
            crate::run::b2nd_under("ulimit -v 786432", folder.path(), &["view", "--color", "never", name]);
        let output = command.output().unwrap();
        assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)), "{name}");
        let found = text(&output.stdout);
        assert_eq!(found.lines().last().unwrap(), format!("{slice} uint8: 0 .:-=+*#%@ 0"));
        assert_eq!(found.lines().count(), rows + 1, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn view_fits_in_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let items: Vec<u8> = (0..=255).cycle().take(300 * 400).collect();
    write(&folder.path().join("a.b2nd"), &[300, 400], "|u1", &items);
    for (width, arguments, slice, lines) in [
        (80, &["view", "a.b2nd"][..], "[::7,::7]", 22),
        (20, &["view", "a.b2nd"], "[::20,::20]", 8),
        (80, &["view", "a.b2nd", "--color", "never"], "[::14,::7]", 22),
        (80, &["view", "a.b2nd", "--slice", ":,:3"], "[::7,:3]", 22),
    ] {
        let (shown, status) = crate::terminal::at_terminal_to_end(width, folder.path(), arguments);
        assert!(status.success());
        assert!(shown.contains(&format!("{slice} uint8: ")), "{shown}");
        assert_eq!(shown.lines().count(), lines + 1, "{shown}");
    }
    let columns = b2nd(folder.path(), &["view", "a.b2nd"]).env("COLUMNS", "40").output().unwrap();
    assert!(text(&columns.stdout).contains("[::20,::10] uint8"), "{}", text(&columns.stdout));
}

#[cfg(feature = "remote")]
#[test]
fn view_fetches_only_the_blocks_of_the_plane() {
    use crate::server::Server;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    // The bytes of each request for the middle plane of 5 chunks of 10 blocks.
    let requests = |side: i32| {
        let (whole, nbytes) = (i64::from(side), usize::try_from(10 * side * side).unwrap());
        let shapes = Shapes {
            shape: &[50, whole, whole],
            chunkshape: &[10, side, side],
            blockshape: &[1, side, side],
        };
        let _ = fs::remove_file(&path);
        let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(&path).unwrap();
        for chunk in 0..5_u8 {
            writer.write_uncompressed(chunk.into(), &vec![chunk; nbytes]).unwrap();
        }
        writer.finish().unwrap().persist().unwrap();
        let server = Server::with([("bucket/a.b2nd".into(), fs::read(&path).unwrap())].into());
        let output = server.run(&["view", "s3://bucket/a.b2nd"]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let caption = stdout.lines().last().unwrap_or(stderr);
        assert!(caption.starts_with("[25,::") && caption.ends_with(" uint8: 2 .:-=+*#%@ 2"), "{caption}");
        let ranges = server.requests().into_iter().map(|request| {
            let (first, last) = request.rsplit_once(' ').unwrap().1.split_once('-').unwrap();
            last.parse::<u64>().unwrap() + 1 - first.parse::<u64>().unwrap()
        });
        ranges.collect::<Vec<_>>()
    };
    // The header, the chunk index, the start of the chunk, and a block of 90000 bytes.
    let ranges = requests(300);
    assert!(ranges.len() == 4 && ranges.iter().sum::<u64>() < 130_000, "{ranges:?}");
    // Here the other blocks of the chunk have 360000 bytes, which cost less than another round trip.
    let ranges = requests(200);
    assert!(ranges.len() == 3 && ranges.iter().sum::<u64>() < 430_000, "{ranges:?}");
    // A short array is read whole.
    assert_eq!(requests(100).len(), 2);
}
