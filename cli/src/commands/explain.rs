//! `b2nd explain`: the meaning and cause of a finding or failure, and what to do.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use crate::input::Offered;
use crate::output::explanation::{Explanation, all, names};
use crate::output::json::print;
use crate::output::table::{Columns, Side};
use crate::terminal::{Outcome, complain, width};
use crate::text::{clean, shortened};

/// Explain the code of a finding or failure, and what to do
///
/// The codes are those that `check`, `ls` and `info` show. Without a code, all are listed.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd explain interrupted-resize
  b2nd explain --json | jq -r 'select(.severity == \"error\") | .code'")]
pub(crate) struct Explain {
    /// Codes to explain, such as old-layout
    #[arg(value_name = "CODE", value_parser = Offered(names()), hide_possible_values = true)]
    codes: Vec<String>,
    /// Print a JSON object for each code, one per line
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(crate) fn run(self) -> Outcome {
        // Not checked by clap, whose message would list all codes.
        if let Some(unknown) = self.codes.iter().find(|code| !names().contains(&code.as_str())) {
            complain(&format_args!("there is no code '{}'; `b2nd explain` lists all", clean(unknown)));
            return Ok(2.into());
        }
        let is_wanted =
            |code: &Explanation| self.codes.is_empty() || self.codes.iter().any(|name| name == code.code);
        let wanted: Vec<Explanation> = all().filter(is_wanted).collect();
        if self.json {
            wanted.iter().try_for_each(print)?;
        } else if self.codes.is_empty() {
            anstream::stdout().write_all(list(&wanted).as_bytes())?;
        } else {
            let pages: Vec<String> = wanted.iter().map(Explanation::page).collect();
            anstream::stdout().write_all(pages.join("\n").as_bytes())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The narrowest terminal that has room for meanings.
const WITH_MEANINGS: usize = 60;

/// A line for each code, with the first sentence of its meaning. At a terminal it is cut at the end of the line, and
/// omitted on a terminal narrower than `WITH_MEANINGS`.
fn list(explanations: &[Explanation]) -> String {
    let width = width(&io::stdout());
    let is_narrow = width.is_some_and(|width| width < WITH_MEANINGS);
    let rows = explanations.iter().map(|row| {
        let meaning = row.meaning.split_once(". ").map_or(row.meaning, |(first, _)| first);
        let meaning = if is_narrow { "" } else { meaning };
        [row.code.into(), row.severity.into(), meaning.trim_end_matches('.').into()]
    });
    let rows: Vec<[String; 3]> = rows.collect();
    // The last column is not padded.
    let mut columns = Columns::new([usize::MAX, usize::MAX, 0].map(|widest| (Side::Left, widest)));
    for row in &rows {
        columns.fit(row);
    }
    rows.iter()
        .map(|row| {
            let line = columns.line(row);
            width.map_or(line.clone(), |width| shortened(&line, width)) + "\n"
        })
        .collect()
}
