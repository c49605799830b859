//! `b2nd explain`: the meaning and cause of a finding or failure, and what to do.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use crate::input::Offered;
use crate::output::explanation::{Explanation, all, names};
use crate::output::json::print;
use crate::terminal::{Outcome, complain, width};
use crate::text::{clean, did_you_mean, shortened};

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
        // The codes are checked here and not by clap, because clap's message would list all codes.
        if let Some(unknown) = self.codes.iter().find(|code| !names().contains(&code.as_str())) {
            let meant = did_you_mean(unknown, names());
            complain(&format_args!("there is no code '{}'; {meant}`b2nd explain` lists all", clean(unknown)));
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

/// A line for each code, with the first sentence of its meaning. At a terminal, a line that is too long for the
/// terminal is cut.
fn list(explanations: &[Explanation]) -> String {
    let width = width(&io::stdout()).unwrap_or(usize::MAX);
    let longest = explanations.iter().map(|row| row.code.len()).max().unwrap_or_default();
    let line = |&Explanation { code, severity, meaning, .. }: &Explanation| {
        let meaning = meaning.split_once(". ").map_or(meaning, |(first, _)| first).trim_end_matches('.');
        shortened(&format!("{code:longest$}  {severity:7}  {meaning}"), width) + "\n"
    };
    explanations.iter().map(line).collect()
}
