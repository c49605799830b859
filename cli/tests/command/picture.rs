//! The picture of the README, `docs/picture.svg`, is the current output of the command at a terminal.
//! `B2ND_PICTURE=write` writes it anew.

#![cfg(unix)]

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use b2nd_frame::FrameBuilder;
use b2nd_serde::{Meta, Shapes};

use crate::run::text;
use crate::terminal::at_terminal_to_end;
use b2nd_lab::root;

/// The columns of the terminal.
const WIDTH: u16 = 96;

/// The size of a column and a line, in pixels, at a font size of 14.
const CELL: (f64, f64) = (8.4, 19.0);

const MARGIN: f64 = 20.0;

/// Hourly arrays of two days. A third array has an interrupted resize: its metalayer has the new shape, and the chunks
/// are the old ones.
fn write_weather(folder: &Path) {
    for (name, dtype, typesize) in [("rain", "<f4", 4), ("snow", "<i2", 2), ("wind", "<f8", 8)] {
        let shapes = Shapes { shape: &[48, 36, 72], chunkshape: &[24, 36, 72], blockshape: &[8, 18, 36] };
        let path = folder.join(name).with_extension("b2nd");
        let mut writer = FrameBuilder::new(Meta::new(shapes, dtype).unwrap()).create(&path).unwrap();
        for number in 0..2 {
            writer.write_uncompressed(number, &vec![1; 24 * 36 * 72 * typesize]).unwrap();
        }
        writer.finish().unwrap().persist().unwrap();
    }
    let path = folder.join("wind.b2nd");
    let mut file = fs::read(&path).unwrap();
    let hours = 48_i64.to_be_bytes();
    let at = file.windows(hours.len()).position(|bytes| bytes == hours).unwrap();
    file[at..at + hours.len()].copy_from_slice(&96_i64.to_be_bytes());
    fs::write(&path, file).unwrap();
}

/// What the command writes to a terminal, line by line.
fn at_terminal(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let (shown, _) = at_terminal_to_end(WIDTH, folder, arguments);
    // On a slow machine, the output has a progress line and the sequence that clears it.
    shown
        .lines()
        .map(|line| line.rsplit("\u{1b}[2K").next().unwrap().trim_end_matches('\r').to_owned())
        .collect()
}

/// The parts of a line, each with its column, text and style.
fn parts(line: &str) -> Vec<(usize, String, &str)> {
    let (mut column, mut classes) = (0, Vec::new());
    let mut parts = Vec::new();
    for (number, piece) in line.split("\u{1b}[").enumerate() {
        let shown = if number == 0 {
            piece
        } else {
            let (code, shown) = piece.split_once('m').unwrap();
            match code {
                "0" => classes.clear(),
                "1" => classes.push("bold"),
                "2" => classes.push("dim"),
                "31" => classes.push("red"),
                "33" => classes.push("yellow"),
                _ => panic!("no picture of {code} in {line:?}"),
            }
            shown
        };
        if !shown.is_empty() {
            parts.push((
                column,
                shown.to_owned(),
                match classes[..] {
                    [] => "",
                    [.., last] => last,
                },
            ));
        }
        column += shown.chars().count();
    }
    parts
}

/// A terminal with these lines. Each part is put at its column, so that columns are straight in any font.
fn svg(lines: &[String]) -> String {
    let (cell, line_height) = CELL;
    let width = cell * f64::from(WIDTH) + 2.0 * MARGIN;
    let height = line_height * f64::from(u16::try_from(lines.len()).unwrap()) + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" role=\"img\" \
         aria-label=\"b2nd lists arrays, finds one whose resize was interrupted, and shows its metalayer byte by byte\">\n\
         <style>text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d0d7de; white-space: pre }}\n\
         .bold {{ font-weight: 600; fill: #fff }} .dim {{ fill: #8b949e }} .red {{ font-weight: 600; fill: #ff7b72 }}\n\
         .yellow {{ font-weight: 600; fill: #e3b341 }} .prompt {{ fill: #7ee787 }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n"
    );
    let mut baseline = MARGIN;
    for line in lines {
        baseline += line_height;
        let is_prompt = line.starts_with("$ ");
        for (column, text, class) in parts(line) {
            let class = if is_prompt { "prompt" } else { class };
            let start = text.len() - text.trim_start().len();
            let x = MARGIN + cell * f64::from(u16::try_from(column + start).unwrap());
            let shown = text.trim().replace('&', "&amp;").replace('<', "&lt;");
            if !shown.is_empty() {
                let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
                let length = cell * f64::from(u16::try_from(text.trim().chars().count()).unwrap());
                let y = baseline - 5.0;
                writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{length:.1}\"{class} xml:space=\"preserve\">{shown}</text>"
                )
                .unwrap();
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

#[test]
fn the_picture_of_the_readme_is_what_the_command_shows() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("weather")).unwrap();
    write_weather(&folder.path().join("weather"));

    let mut lines = vec!["$ b2nd ls weather".to_owned()];
    // Not at a terminal, where a slow machine shows the first lines before it knows how wide the columns are.
    let listing = crate::run::run(folder.path(), &["ls", "weather"]);
    lines.extend(text(&listing.stdout).lines().map(str::to_owned));
    lines.extend([String::new(), "$ b2nd check weather".into()]);
    lines.extend(at_terminal(folder.path(), &["check", "weather"]));
    lines.extend([String::new(), "$ b2nd dump weather/wind.b2nd".into(), "   ...".into()]);
    let dump = at_terminal(folder.path(), &["dump", "weather/wind.b2nd"]);
    let metalayer = dump.iter().position(|line| line.contains("layout")).unwrap();
    lines.extend_from_slice(&dump[metalayer..]);

    let path = root().join("docs/picture.svg");
    let svg = svg(&lines);
    if env::var_os("B2ND_PICTURE").is_some_and(|what| what == "write") {
        fs::write(&path, svg).unwrap();
    } else {
        assert!(fs::read_to_string(&path).unwrap() == svg, "B2ND_PICTURE=write writes it anew:\n{lines:#?}");
    }
}
