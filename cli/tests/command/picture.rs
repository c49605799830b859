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

/// The number of columns of the terminal.
const WIDTH: u16 = 84;

/// The size of a column and a line, in pixels, at a font size of 14.
const CELL: (f64, f64) = (8.4, 19.0);

const MARGIN: f64 = 20.0;

/// Writes three arrays with hourly values of two days. In the third array, a resize was interrupted: its metalayer has
/// the new shape, but its chunks are those of the old shape.
fn write_weather(folder: &Path) {
    const SHAPE: [i64; 2] = [48, 72];
    let items = |scale: f32| {
        (0_u16..48)
            .flat_map(move |row| (0_u16..72).map(move |column| f32::from((row + 1) % 7 * column) * scale))
    };
    for (name, scale) in [("rain", 0.25), ("snow", 0.1), ("wind", 0.5)] {
        let shapes = Shapes { shape: &SHAPE, chunkshape: &[24, 72], blockshape: &[8, 36] };
        let path = folder.join(name).with_extension("b2nd");
        let writer = FrameBuilder::new(Meta::new(shapes, "<f4").unwrap()).create(&path).unwrap();
        let mut array = writer.into_array_writer().unwrap();
        let bytes: Vec<u8> = items(scale).flat_map(f32::to_le_bytes).collect();
        array.write(&SHAPE.map(|items| 0..items.unsigned_abs()), &bytes).unwrap();
        array.finish().unwrap().persist().unwrap();
    }
    let path = folder.join("wind.b2nd");
    let mut file = fs::read(&path).unwrap();
    let hours = 48_i64.to_be_bytes();
    let at = file.windows(hours.len()).position(|bytes| bytes == hours).unwrap();
    file[at..at + hours.len()].copy_from_slice(&96_i64.to_be_bytes());
    fs::write(&path, file).unwrap();
}

/// The lines that the command writes to a terminal.
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

/// The picture of a terminal with these lines. Each part is put at its column, so that columns are straight in any
/// font.
fn svg(lines: &[String]) -> String {
    let (cell, line_height) = CELL;
    let width = cell * f64::from(WIDTH) + 2.0 * MARGIN;
    let height = line_height * f64::from(u16::try_from(lines.len()).unwrap()) + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" role=\"img\" \
         aria-label=\"b2nd lists arrays, prints a slice, finds an array whose resize was interrupted, and compresses one anew\">\n\
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

#[cfg_attr(target_endian = "big", ignore = "lz4_flex finds other repetitions on these machines")]
#[test]
fn the_picture_of_the_readme_is_what_the_command_shows() {
    let folder = tempfile::tempdir().unwrap();
    write_weather(folder.path());

    let mut lines = Vec::new();
    for command in [
        "ls",
        "cat --slice :4,::12 rain.b2nd",
        "check --quiet",
        "convert --codec lz4 rain.b2nd rain_lz4.b2nd",
    ] {
        lines.extend([format!("$ b2nd {command}"), String::new()]);
        let arguments: Vec<_> = command.split(' ').collect();
        let at = lines.len() - 1;
        // `ls` does not run at a terminal here. At a terminal on a slow machine, `ls` would show the first lines before
        // it knows how wide the columns are.
        let shown: Vec<_> = match arguments[..] {
            ["ls", ..] => {
                text(&crate::run::run(folder.path(), &arguments).stdout).lines().map(str::to_owned).collect()
            }
            _ => at_terminal(folder.path(), &arguments),
        };
        lines.splice(at..at, shown);
    }
    lines.pop();
    for line in &lines {
        let shown: usize = parts(line).iter().map(|(_, text, _)| text.chars().count()).sum();
        assert!(shown <= WIDTH.into(), "{shown} columns: {line}");
    }

    let path = root().join("docs/picture.svg");
    let svg = svg(&lines);
    if env::var_os("B2ND_PICTURE").is_some_and(|what| what == "write") {
        fs::write(&path, svg).unwrap();
    } else {
        assert!(fs::read_to_string(&path).unwrap() == svg, "B2ND_PICTURE=write writes it anew:\n{lines:#?}");
    }
}
