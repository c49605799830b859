//! The page: a table for each profile, and what has to be said with them.

use std::fmt::{self, Write};

use crate::c_blosc2::CBlosc2;
use crate::compare::{Figures, Line};
use crate::rows::{RANKS, ROWS, Row};
use b2nd_serde_benches::machine::{compiler, processor, version_of};

/// The page for profiles, each with what all its rounds have measured.
pub fn page(profiles: &[(&str, Vec<Line>)], c_blosc2: Option<&CBlosc2>) -> String {
    let mut page = String::new();
    write_page(&mut page, profiles, c_blosc2).expect("a string takes everything");
    page
}

const INTRODUCTION: &str = "\
# Benchmarks

Written by `lab/run benchmarks metalayer`, which repeats it on another machine. Each figure is a ratio: the time of this
crate in times of the peer, so less than 1 is faster. Columns are ranks, all with the dtype `<i4`.

The functions that are measured are in a crate apart (`benches/user`), compiled as programs are: here with the release
profile as cargo has it. Ours and the peer take turns of some microseconds in one process. The time of each is the 10th
percentile of its turns, which the other programs of a busy machine hardly touch; a figure is the median of the ratios of
several rounds. A result is used where the call put it, as by a caller who goes on with it. `benches/instructions` counts
instructions instead, also of structs with other names and of tuples.

";

const NOTES: &str = "
A ratio over its goal is in bold. `cannot`: rmp-serde takes the marker of 16 dimensions, `a0`, for a string.

- The C functions allocate what they write and the dtype that they read; `free` is included. The arrays that they read
  into are not zeroed.
- rmp-serde writes fewer bytes, which are no B2ND.
- `B2ndMeta` also checks the geometry, and that no dimension is negative.

The times behind them, in ns, ours / theirs:

";

fn write_page(page: &mut String, profiles: &[(&str, Vec<Line>)], c_blosc2: Option<&CBlosc2>) -> fmt::Result {
    let [(_, release), with_lto @ ..] = profiles else { return Ok(()) };
    page.push_str(INTRODUCTION);
    ratios(page, release)?;
    page.push_str(NOTES);
    times(page, release)?;
    for (profile, lines) in with_lto {
        writeln!(page, "\nThe ratios with `lto = \"{profile}\"`:\n")?;
        ratios(page, lines)?;
    }
    conditions(page, c_blosc2)
}

fn ratios(page: &mut String, lines: &[Line]) -> fmt::Result {
    let ranks = RANKS.map(|rank| rank.to_string()).join(" | ");
    writeln!(page, "| operation | against | goal | {ranks} |")?;
    writeln!(page, "|---|---|---|{}", "---:|".repeat(RANKS.len()))?;
    for (index, row) in ROWS.iter().enumerate() {
        write!(page, "| {} | {} | {} |", row.operation, row.against, goal(row))?;
        for (column, rank) in RANKS.into_iter().enumerate() {
            match figures(lines, index, rank) {
                Err(reason) => write!(page, " {reason} |")?,
                Ok(figures) => {
                    let ratio = figures.ratio();
                    let is_missed = row.goal.is_some_and(|goal| round(ratio) > goal[column]);
                    let mark = if is_missed { "**" } else { "" };
                    write!(page, " {mark}{ratio:.2}{mark} |")?;
                }
            }
        }
        writeln!(page)?;
    }
    Ok(())
}

/// Those of the round with the median ratio.
fn figures(lines: &[Line], row: usize, ndim: u8) -> Result<Figures, &str> {
    let lines = lines.iter().filter(|line| line.row == row && line.ndim == ndim);
    let mut rounds = lines
        .map(|line| line.figures.as_ref().map_err(String::as_str).copied())
        .collect::<Result<Vec<_>, _>>()?;
    rounds.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    rounds.get(rounds.len() / 2).copied().ok_or("not measured")
}

/// To as many digits as are shown.
fn round(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

fn goal(row: &Row) -> String {
    let Some(goals) = row.goal else { return "report".into() };
    let mut goals = goals.map(|goal| format!("{goal:?}")).to_vec();
    if goals.iter().all(|goal| *goal == goals[0]) {
        goals.truncate(1);
    }
    format!("at most {}", goals.join(" / "))
}

fn times(page: &mut String, lines: &[Line]) -> fmt::Result {
    let ranks = RANKS.map(|rank| rank.to_string()).join(" | ");
    writeln!(page, "| operation | against | {ranks} |")?;
    writeln!(page, "|---|---|{}", "---:|".repeat(RANKS.len()))?;
    for (index, row) in ROWS.iter().enumerate() {
        write!(page, "| {} | {} |", row.operation, row.against)?;
        for rank in RANKS {
            match figures(lines, index, rank) {
                Err(reason) => write!(page, " {reason} |")?,
                Ok(Figures { ours, theirs }) => write!(page, " {ours:.1} / {theirs:.1} |")?,
            }
        }
        writeln!(page)?;
    }
    Ok(())
}

fn conditions(page: &mut String, c_blosc2: Option<&CBlosc2>) -> fmt::Result {
    let c_blosc2 = c_blosc2.map_or("absent: B2ND_LIBBLOSC2 is not set", |c_blosc2| &c_blosc2.version);
    writeln!(page, "\n| | |\n|---|---|")?;
    writeln!(page, "| command | `lab/run benchmarks metalayer` |")?;
    writeln!(page, "| processor | {} |", processor())?;
    writeln!(page, "| compiler | {} |", compiler())?;
    writeln!(page, "| C-Blosc2 | {c_blosc2} |")?;
    for package in ["b2nd-serde", "serde", "rmp-serde", "blosc2-pure-rs"] {
        writeln!(page, "| {package} | {} |", version_of(package))?;
    }
    Ok(())
}
