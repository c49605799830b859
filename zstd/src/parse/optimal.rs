//! A parser that finds the cheapest sequences of a block, given the costs of all their parts.
//!
//! First it collects the matches at each position. Then it goes through the block in stages. A stage is a search for
//! the shortest path. Its nodes are positions, and its edges are literals and matches of each length. The costs of the
//! edges follow from sequences that were found earlier.

use alloc::vec::Vec;
use core::mem;

use super::costs::Costs;
use super::found::{Match, Parsed};
use super::tree::Trees;
use super::{MARGIN, Source};
use crate::bytes::{common_length, get, load32, narrow, set};
use crate::sequence::{MIN_MATCH, Recent, Sequence};

/// How thoroughly to search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The largest number of earlier positions that a search looks at.
    pub(crate) depth: u32,
    /// A match of at least this length is taken without a comparison with other matches.
    pub(crate) enough: u32,
    /// Whether both estimates of the costs for the first block are refined. To refine an estimate, the parser parses
    /// the block with the estimated costs, and computes new costs from the result. Each later block uses the costs of
    /// the block before it.
    pub(crate) is_thorough: bool,
}

/// The most matches that are kept for a block (12 MiB), including those that a search has just added.
const MAX_MATCHES: usize = 1 << 20;

/// A stage of at least this many positions ends at its next match.
const LONG_STAGE: usize = 4096;

/// A parser with a match finder of trees.
#[derive(Debug, Default)]
pub(crate) struct OptimalParser {
    trees: Trees,
    /// The costs that follow from the last block; `None` before the first block.
    costs: Option<Costs>,
    /// The matches of the block with their positions.
    matches: Vec<(u32, Match)>,
    steps: Steps,
    /// Memory for the sequences of an estimate.
    others: Vec<Sequence>,
}

impl OptimalParser {
    /// Forgets all positions and costs, and prepares for an input of this length.
    pub(crate) fn start(&mut self, length: usize) {
        self.trees.start(length);
        self.costs = None;
    }

    /// Replaces `sequences` with the cheapest sequences of a block.
    pub(crate) fn parse(&mut self, source: &Source<'_>, effort: Effort, sequences: &mut Vec<Sequence>) {
        self.collect(source, effort);
        sequences.clear();
        let costs = match self.costs.take() {
            Some(costs) => costs,
            None => self.estimate(source, effort, sequences),
        };
        self.costs = Some(self.walk(source, &costs, effort.enough, sequences));
    }

    /// Estimates the costs for the first block twice: without matches, and with the longest matches. Returns the costs
    /// with the lower total. A single estimate is not enough, because the parser tends to find sequences that confirm
    /// its estimate.
    fn estimate(&mut self, source: &Source<'_>, effort: Effort, sequences: &mut Vec<Sequence>) -> Costs {
        let mut others = mem::take(&mut self.others);
        self.take_longest(source, &mut others);
        let estimates = [sequences, &mut others].map(|sequences| {
            let mut costs = Costs::of(source, sequences);
            if effort.is_thorough {
                costs = self.walk(source, &costs, effort.enough, sequences);
            }
            costs
        });
        self.others = others;
        let [without, with] = estimates;
        if with.total < without.total { with } else { without }
    }

    /// Collects the matches at each position, except at positions inside a match of at least `effort.enough` bytes. If
    /// there are very many matches, only the longest match at each further position is collected.
    fn collect(&mut self, source: &Source<'_>, effort: Effort) {
        let Self { trees, matches, .. } = self;
        let Source { input, ref block, .. } = *source;
        // A search finds at most `depth` + 1 matches. They are all kept only if the limit still has room for one match
        // at each position that is left. So the matches that are kept exceed the limit by at most `depth` + 1. A search
        // adds up to `depth` + 1 more, before all but one of them are dropped.
        let limit = MAX_MATCHES - 2 * (effort.depth as usize + 1);
        matches.clear();
        let mut at = block.start.max(1);
        while at + MARGIN <= block.end {
            let known = matches.len();
            trees.find(input, at, block.end, effort.depth, |found| matches.push((narrow(at), found)));
            let longest = if known < matches.len() { matches.last().copied() } else { None };
            let is_enough = longest.is_some_and(|(_, found)| found.length >= effort.enough);
            if is_enough || known + (block.end - at) > limit {
                matches.truncate(known);
                matches.extend(longest);
            }
            at += longest.filter(|_| is_enough).map_or(1, |(_, found)| found.length as usize);
        }
    }

    /// Replaces `sequences` with sequences of the longest matches.
    fn take_longest(&self, source: &Source<'_>, sequences: &mut Vec<Sequence>) {
        sequences.clear();
        let mut parsed = Parsed::new(source, sequences);
        let mut matches = self.matches.iter().peekable();
        let mut at = source.block.start;
        while at < source.block.end {
            let mut longest = Match::default();
            while let Some(&(place, found)) = matches.next_if(|(place, _)| *place as usize <= at) {
                longest = if place as usize == at { found } else { longest };
            }
            let word = load32(source.input, at);
            for distance in parsed.recent.0 {
                let length = repeated_length(source, at, word, distance);
                // A recent distance takes about one byte less than a new one.
                if length > 0 && length + 1 >= longest.length {
                    longest = Match { length, distance };
                }
            }
            at += 1;
            if longest.length > MIN_MATCH {
                parsed.take(source.input, at - 1, longest);
                at = parsed.end;
            }
        }
    }

    /// Replaces `sequences` with the cheapest sequences, stage by stage. Returns the costs that follow from these
    /// sequences.
    fn walk(
        &mut self,
        source: &Source<'_>,
        costs: &Costs,
        enough: u32,
        sequences: &mut Vec<Sequence>,
    ) -> Costs {
        sequences.clear();
        let (mut at, mut recent, mut literals) = (source.block.start, source.recent, 0);
        let mut matches = &self.matches[..];
        while at < source.block.end {
            self.steps.start(recent, literals, costs);
            let (end, long) = self.steps.walk(source, at, &mut matches, costs, enough);
            Step { recent, literals, .. } = self.steps.retrace(end, sequences);
            at += end;
            if let Some(Match { length, distance }) = long {
                sequences.push(Sequence { literals, length, distance });
                recent = recent.after(distance, literals > 0);
                (at, literals) = (at + length as usize, 0);
            }
        }
        Costs::of(source, sequences)
    }
}

/// The last step of the cheapest path to a position.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The cost of the path. It includes the cost of coding the number of literals at the end of the path.
    cost: u32,
    /// The match of the step. For a literal, its length is 0.
    found: Match,
    /// The number of literals since the last match.
    literals: u32,
    /// The recent distances after the step. For a match, they are computed only when the path is known to be the
    /// cheapest.
    recent: Recent,
}

impl Default for Step {
    fn default() -> Self {
        Self { cost: u32::MAX, found: Match::default(), literals: 0, recent: Recent::default() }
    }
}

/// The steps to the positions of a stage. An index is the number of bytes from the start of the stage.
#[derive(Debug, Default)]
struct Steps(Vec<Step>);

impl Steps {
    /// Starts a stage. Only the step to its start is known.
    fn start(&mut self, recent: Recent, literals: u32, costs: &Costs) {
        self.0.clear();
        self.0.push(Step { cost: costs.literals(literals), literals, recent, ..Step::default() });
    }

    /// Finds the cheapest paths of a stage. The stage ends where all paths meet, or at a match of at least `enough`
    /// bytes. A long stage ends at its next match of any length. Returns the index of the end, and the match if the
    /// stage ends at one. Removes the matches in the stage from `matches`.
    fn walk(
        &mut self,
        source: &Source<'_>,
        start: usize,
        matches: &mut &[(u32, Match)],
        costs: &Costs,
        enough: u32,
    ) -> (usize, Option<Match>) {
        let mut index = 0;
        loop {
            let (at, here) = (start + index, self.arrive(index));
            let candidates = here.recent.candidates(here.literals > 0);
            let (base, word) = (here.cost + costs.literals(0), load32(source.input, at));
            let mut longest = Match::default();
            let mut take = |offset_value, shortest, found: Match| {
                if found.length > longest.length {
                    longest = found;
                }
                if found.length < enough {
                    self.take_match(index, base + costs.offset(offset_value), shortest, found, costs);
                }
            };
            for (offset_value, &distance) in (1..).zip(&candidates) {
                let length = repeated_length(source, at, word, distance);
                take(offset_value, MIN_MATCH, Match { length, distance });
            }
            let mut shortest = MIN_MATCH;
            while let Some((&(place, found), others)) = matches.split_first()
                && place as usize <= at
            {
                *matches = others;
                // A stage that ends with a match skips the positions inside that match. The matches at these positions
                // are still in the list, and are skipped here.
                if (place as usize) < at {
                    continue;
                }
                if !candidates.contains(&found.distance) {
                    take(Recent::value_of_new(found.distance), shortest, found);
                }
                shortest = found.length + 1;
            }
            if longest.length >= enough || longest.length > 0 && index >= LONG_STAGE {
                return (index, Some(longest));
            }
            self.take_literal(index, here, get(source.input, at), costs);
            index += 1;
            if index + 1 == self.0.len() {
                return (index, None);
            }
        }
    }

    /// The last step of the cheapest path to a position. All steps to the position must have been compared before.
    #[inline]
    fn arrive(&mut self, index: usize) -> Step {
        let mut here = get(&self.0, index);
        if here.found.length > 0 {
            let before = get(&self.0, index - here.found.length as usize);
            here.recent = before.recent.after(here.found.distance, before.literals > 0);
            set(&mut self.0, index, here);
        }
        here
    }

    #[inline]
    fn take_literal(&mut self, index: usize, here: Step, byte: u8, costs: &Costs) {
        let literals = here.literals + 1;
        let cost = here.cost + costs.byte(byte) + costs.literals(literals) - costs.literals(here.literals);
        let step = Step { cost, found: Match::default(), literals, recent: here.recent };
        match self.0.get_mut(index + 1) {
            Some(next) if cost < next.cost => *next = step,
            Some(_) => {}
            None => self.0.push(step),
        }
    }

    /// Adds the steps of a match, one for each length from `shortest` on, where they are cheaper than the known steps.
    /// `base` is the cost without the cost of the length.
    #[inline]
    fn take_match(&mut self, index: usize, base: u32, shortest: u32, found: Match, costs: &Costs) {
        let Match { length: longest, distance } = found;
        if longest < shortest {
            return;
        }
        let end = index + longest as usize + 1;
        if self.0.len() < end {
            self.0.resize(end, Step::default());
        }
        let places = self.0.get_mut(index + shortest as usize..end).unwrap_or_default();
        for (step, length) in places.iter_mut().zip(shortest..) {
            let cost = base + costs.length(length);
            if cost < step.cost {
                (step.cost, step.found, step.literals) = (cost, Match { length, distance }, 0);
            }
        }
    }

    /// Appends the sequences of the cheapest path to a position. Returns the last step of the path.
    fn retrace(&mut self, end: usize, sequences: &mut Vec<Sequence>) -> Step {
        let last = self.arrive(end);
        let (first, mut index) = (sequences.len(), end);
        while index > 0 {
            let Match { length, distance } = get(&self.0, index).found;
            index -= length.max(1) as usize;
            if length > 0 {
                sequences.push(Sequence { literals: get(&self.0, index).literals, length, distance });
            }
        }
        if let Some(new) = sequences.get_mut(first..) {
            new.reverse();
        }
        last
    }
}

/// The length of the match at a recent distance, or 0 if there is none. `word` holds the four bytes at the position.
#[inline]
fn repeated_length(source: &Source<'_>, at: usize, word: u32, distance: u32) -> u32 {
    let Source { input, block, .. } = source;
    let from = at.wrapping_sub(distance as usize);
    // Most positions have no match, so only three bytes are compared first.
    if (load32(input, from) ^ word) << 8 != 0 || from >= at {
        return 0;
    }
    match narrow(common_length(input, from, at, block.end)) {
        // The three bytes are equal, but the block ends within them.
        0..MIN_MATCH => 0,
        length => length,
    }
}
