//! The table, and what has to be said with it.

use std::fmt::Write;

use crate::c_blosc2::CBlosc2;
use crate::compare::{Figures, Outcome};
use crate::machine::{compiler, processor, version_of};
use crate::rows::{RANKS, Row};

type Results = [(&'static Row, [Outcome; RANKS.len()])];

pub fn page(results: &Results, c_blosc2: Option<&CBlosc2>) -> String {
    let mut page = String::from(INTRODUCTION);
    ratios(&mut page, results).expect("a string takes everything");
    page.push_str(NOTES);
    times(&mut page, results).expect("a string takes everything");
    conditions(&mut page, c_blosc2).expect("a string takes everything");
    page
}

const INTRODUCTION: &str = "\
# Benchmarks

Written by `benches/run`, which repeats it on another machine. Each figure is a ratio: the time of this crate in times
of the peer, so less than 1 is faster. Both run in one process, in turns of some milliseconds, and in a whole run in
three rounds; the time of each is the 10th percentile of its turns, which the other programs of a busy machine hardly
touch. Columns are ranks, all with the dtype `<i4`.

";

const NOTES: &str = "
A ratio over its goal is in bold. `cannot`: rmp-serde takes the marker of 16 dimensions, `a0`, for a string.

- The C functions allocate what they write and the dtype that they read; `free` is included.
- The hand-written pair does the same checks as this crate and gives the same output, in plain Rust, for this one
  layout and struct. Of an error it says only that there is one. Into a `Meta` it goes by `Meta::new`, which checks the
  dtype and copies the dimensions once more.
- rmp-serde writes fewer bytes, which are no B2ND.
- `B2ndMeta` also checks the geometry, and that no dimension is negative.

The times behind them, in ns, ours / theirs:

";

fn ratios(page: &mut String, results: &Results) -> std::fmt::Result {
    let ranks = RANKS.map(|rank| rank.to_string()).join(" | ");
    writeln!(page, "| operation | against | goal | {ranks} |")?;
    writeln!(page, "|---|---|---|{}", "---:|".repeat(RANKS.len()))?;
    for (row, outcomes) in results {
        write!(page, "| {} | {} | {} |", row.operation, row.against, goal(row))?;
        for (column, outcome) in outcomes.iter().enumerate() {
            match figures(outcome) {
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

fn figures(outcome: &Outcome) -> Result<Figures, &'static str> {
    let samples = outcome.as_ref().map_err(|reason| *reason)?;
    Figures::of(samples).ok_or("not measured")
}

/// To as many digits as are shown.
fn round(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

fn goal(row: &Row) -> String {
    let Some(goals) = row.goal else { return "report".into() };
    let mut goals = goals.map(|goal| format!("{goal:?}")).to_vec();
    goals.dedup();
    format!("at most {}", goals.join(" / "))
}

fn times(page: &mut String, results: &Results) -> std::fmt::Result {
    let ranks = RANKS.map(|rank| rank.to_string()).join(" | ");
    writeln!(page, "| operation | against | {ranks} |")?;
    writeln!(page, "|---|---|{}", "---:|".repeat(RANKS.len()))?;
    for (row, outcomes) in results {
        write!(page, "| {} | {} |", row.operation, row.against)?;
        for outcome in outcomes {
            match figures(outcome) {
                Err(reason) => write!(page, " {reason} |")?,
                Ok(Figures { ours, theirs }) => {
                    write!(page, " {ours:.1} / {theirs:.1} |")?;
                }
            }
        }
        writeln!(page)?;
    }
    Ok(())
}

fn conditions(page: &mut String, c_blosc2: Option<&CBlosc2>) -> std::fmt::Result {
    let c_blosc2 = c_blosc2.map_or("absent: B2ND_LIBBLOSC2 is not set", |c_blosc2| &c_blosc2.version);
    writeln!(page, "\n| | |\n|---|---|")?;
    writeln!(page, "| command | `benches/run` |")?;
    writeln!(page, "| processor | {} |", processor())?;
    writeln!(page, "| compiler | {}, release profile as cargo has it |", compiler())?;
    writeln!(page, "| C-Blosc2 | {c_blosc2} |")?;
    for package in ["b2nd-serde", "serde", "rmp-serde", "blosc2-pure-rs", "criterion"] {
        writeln!(page, "| {package} | {} |", version_of(package))?;
    }
    Ok(())
}
