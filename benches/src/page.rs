//! The section of docs/BENCHMARKS.md on the format: a table of ratios, one of times, and how to read them.

use std::fmt::{self, Write};

use crate::c_blosc2::CBlosc2;
use crate::compare::{Figures, Line};
use crate::rows::{RANKS, ROWS, Row};
use b2nd_serde_benches::machine::{compiler, processor, today, version_of};

/// The section for the figures of all rounds.
pub fn section(lines: &[Line], c_blosc2: Option<&CBlosc2>) -> String {
    let mut section = String::new();
    write_section(&mut section, lines, c_blosc2).expect("a string takes everything");
    section
}

const INTRODUCTION: &str = "\
## The format

`lab/run benchmarks metalayer`. Columns are ranks, all with the dtype `<i4`.

The measured functions are in a crate of their own (`benches/user`), compiled with cargo's release profile. Ours and the peer's
take turns of some microseconds in one process; a figure is the median of the ratios of several processes. A result is not moved
after the call, because a caller can use it where it is. `benches/instructions` counts instructions, also for structs with other
field names and for tuples.

";

const NOTES: &str = "
`cannot`: rmp-serde reads the marker of 16 dimensions, `a0`, as a string.

- The C functions allocate what they write and the dtype that they read; `free` is included. The arrays that they read
  into are not zeroed.
- rmp-serde writes fewer bytes, which are not a valid B2ND metalayer.
- `B2ndMeta` also checks the geometry, and that no dimension is negative.
- A program reads a file's first bytes once or twice before it parses them; parsing should cost less than that.

The times from which these ratios are computed, in ns, ours / theirs:

";

fn write_section(section: &mut String, lines: &[Line], c_blosc2: Option<&CBlosc2>) -> fmt::Result {
    section.push_str(INTRODUCTION);
    ratios(section, lines)?;
    section.push_str(NOTES);
    times(section, lines)?;
    conditions(section, c_blosc2)
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

/// The figures of the round with the median ratio.
fn figures(lines: &[Line], row: usize, ndim: u8) -> Result<Figures, &str> {
    let lines = lines.iter().filter(|line| line.row == row && line.ndim == ndim);
    let mut rounds = lines
        .map(|line| line.figures.as_ref().map_err(String::as_str).copied())
        .collect::<Result<Vec<_>, _>>()?;
    rounds.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    rounds.get(rounds.len() / 2).copied().ok_or("not measured")
}

/// Rounds to the displayed two decimals.
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
    let (today, processor, compiler) = (today(), processor(), compiler());
    write!(page, "\nMeasured {today}, {processor}, {compiler}, C-Blosc2 {c_blosc2}")?;
    for package in ["serde", "rmp-serde", "blosc2-pure-rs"] {
        write!(page, ", {package} {}", version_of(package))?;
    }
    writeln!(page, ".")
}
