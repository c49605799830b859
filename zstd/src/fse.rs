//! Finite State Entropy: codes with fractions of bits (RFC 8878, section 4.1).
//!
//! A [`Distribution`] gives each symbol a share of the states of a [`Table`]. A [`State`] writes symbols.

use crate::bits::BitWriter;
use crate::bytes::{get, set};
use crate::cost::{BIT, log2};

/// The size of the largest alphabet, the 53 codes of match lengths, rounded up.
pub(crate) const SYMBOLS: usize = 64;
/// The largest number of states: the format allows `Accuracy_Log` 9 at most.
const MAX_STATES: usize = 512;
const MIN_LOG: u32 = 5;

/// How often each symbol occurs.
pub(crate) type Counts = [u32; SYMBOLS];

/// The share of each symbol: the number of states that it gets in a table. The sum of all shares is 2^`log`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distribution {
    /// `Accuracy_Log`.
    pub(crate) log: u32,
    /// A share of -1 means a probability that is too small for a whole state. The symbol still gets one state, so the
    /// share counts as 1.
    shares: [i16; SYMBOLS],
}

impl Distribution {
    /// A predefined distribution, with shares that RFC 8878 lists.
    pub(crate) const fn predefined<const N: usize>(log: u32, known: [i16; N]) -> Self {
        let mut shares = [0; SYMBOLS];
        let mut rest: &mut [i16] = &mut shares;
        let mut known: &[i16] = &known;
        while let ([first, others @ ..], [share, more @ ..]) = (rest, known) {
            *first = *share;
            (rest, known) = (others, more);
        }
        Self { log, shares }
    }

    /// The distribution of a single symbol (`RLE_Mode`). Its table has one state, so the symbol needs no bits.
    pub(crate) fn of_one(symbol: u8) -> Self {
        let mut shares = [0; SYMBOLS];
        set(&mut shares, symbol.into(), 1);
        Self { log: 0, shares }
    }

    /// The distribution with the lowest cost for these counts. At least two counts must be positive.
    pub(crate) fn fit(counts: &Counts, max_log: u32) -> Self {
        let total: u32 = counts.iter().sum();
        let used = counts.iter().filter(|&&count| count > 0).count();
        // With more states, the shares fit the counts more precisely, but their description is longer, which pays only
        // for many symbols. So the number of states grows with the sum of the counts.
        let precise = total.max(2).ilog2().saturating_sub(2);
        let log = precise.max(used.next_power_of_two().ilog2() + 1).clamp(MIN_LOG, max_log);
        let mut shares = [0; SYMBOLS];
        for (share, &count) in shares.iter_mut().zip(counts) {
            if count > 0 {
                let exact = (u64::from(count) << log) / u64::from(total.max(1));
                *share = i16::try_from(exact).unwrap_or(i16::MAX).max(1);
            }
        }
        let mut left = (1 << log) - shares.iter().sum::<i16>();
        // Changes shares by 1 until their sum is the number of states. Each change is the one that costs least or saves
        // most.
        while left != 0 {
            let step = left.signum();
            let rows = shares.iter().zip(counts).enumerate();
            let effects = rows.filter(|(_, (share, _))| **share > i16::from(step < 0)).map(
                |(symbol, (&share, &count))| {
                    let (old, new) =
                        (log2(share.unsigned_abs().into()), log2((share + step).unsigned_abs().into()));
                    (u64::from(count) * u64::from(old.abs_diff(new)), symbol)
                },
            );
            let best = if step > 0 { effects.max() } else { effects.min() };
            let Some((_, symbol)) = best else { break };
            let share = get(&shares, symbol);
            set(&mut shares, symbol, share + step);
            left -= step;
        }
        Self { log, shares }
    }

    /// The cost of writing symbols with these counts. `None` if one of the symbols has no share.
    pub(crate) fn cost(&self, counts: &Counts) -> Option<u64> {
        let mut cost = 0;
        for (&share, &count) in self.shares.iter().zip(counts).filter(|(_, count)| **count > 0) {
            if share == 0 {
                return None;
            }
            cost += u64::from(count) * u64::from(self.log * BIT - log2(share.unsigned_abs().into()));
        }
        Some(cost)
    }

    /// The shares as counts. A share of -1 counts as 1.
    pub(crate) fn counts(&self) -> Counts {
        self.shares.map(|share| share.unsigned_abs().into())
    }

    /// Writes the description of the distribution (RFC 8878, section 4.1.1).
    pub(crate) fn write(&self, output: &mut alloc::vec::Vec<u8>) {
        let mut bits = BitWriter::new(output);
        bits.add(self.log - MIN_LOG, 4);
        let mut left = (1_u32 << self.log) + 1;
        let mut shares = self.shares.iter();
        while left > 1 {
            let Some(&share) = shares.next() else { break };
            // `value` is a number from 0 to `left`. Small values are written with one bit less.
            let value = share.wrapping_add(1).unsigned_abs().into();
            let width = left.ilog2() + 1;
            let short = (1 << width) - 1 - left;
            if value < short {
                bits.add(value, width - 1);
            } else {
                let is_upper_half = value >= 1 << (width - 1);
                bits.add(if is_upper_half { value + short } else { value }, width);
            }
            left -= u32::from(share.unsigned_abs());
            if share == 0 {
                write_zeros(&mut bits, &mut shares);
            }
            bits.flush();
        }
        bits.finish();
    }
}

/// Writes how many zeros follow a zero, and skips them. Each number of two bits counts up to three zeros.
fn write_zeros(bits: &mut BitWriter<'_>, shares: &mut core::slice::Iter<'_, i16>) {
    let mut zeros = shares.as_slice().iter().take_while(|share| **share == 0).count();
    if let Some(last) = zeros.checked_sub(1) {
        shares.nth(last);
    }
    while zeros >= 3 {
        bits.add(3, 2);
        bits.flush();
        zeros -= 3;
    }
    bits.add(u32::try_from(zeros).unwrap_or_default(), 2);
}

/// The transitions between states.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    log: u32,
    /// The states in which a decoder emits the first symbol, then those of the second symbol, and so on. States are
    /// numbered from 2^`log` on.
    states: [u16; MAX_STATES],
    symbols: [SymbolStates; SYMBOLS],
}

/// A symbol in a [`Table`].
#[derive(Clone, Copy, Debug, Default)]
struct SymbolStates {
    /// The index of the symbol's first state in `Table::states`.
    first: u16,
    share: u16,
    /// The number of bits that are written if the decoder's next state is below `threshold`. From `threshold` on, one
    /// bit more is written.
    bits: u16,
    /// The smallest next state for which one bit more is written.
    threshold: u16,
}

impl Table {
    pub(crate) fn new(distribution: &Distribution) -> Self {
        let Distribution { log, shares } = distribution;
        let size = 1_usize << log;
        let mut symbols = [SymbolStates::default(); SYMBOLS];
        let mut first = 0;
        for (symbol, share) in symbols.iter_mut().zip(shares.iter().map(|share| share.unsigned_abs())) {
            if share > 0 {
                // The lower bits of the next state are written. Its upper bits are a number that is at least `share`
                // and less than twice `share`. This number selects one of the symbol's states.
                let bits = log - (u32::from(share).next_power_of_two().ilog2());
                let bits = u16::try_from(bits).unwrap_or_default();
                *symbol = SymbolStates { first, share, bits, threshold: share << bits << 1 };
                first += share;
            }
        }
        let mut owners = [0_u8; MAX_STATES];
        spread(shares, size, &mut owners);
        let mut states = [0; MAX_STATES];
        let mut next = symbols.map(|symbol| symbol.first);
        for (state, &owner) in owners.iter().enumerate().take(size) {
            let index = get(&next, owner.into());
            set(&mut states, index.into(), u16::try_from(size + state).unwrap_or_default());
            set(&mut next, owner.into(), index + 1);
        }
        Self { log: *log, states, symbols }
    }
}

/// Assigns states to symbols, in the order that the format prescribes.
fn spread(shares: &[i16; SYMBOLS], size: usize, owners: &mut [u8]) {
    let symbols = || shares.iter().zip(0_u8..);
    // Symbols with a share of -1 get the last states.
    let mut end = size;
    for (_, symbol) in symbols().filter(|(share, _)| **share < 0) {
        end -= 1;
        set(owners, end, symbol);
    }
    let mut at = 0;
    for (&share, symbol) in symbols() {
        for _ in 0..share.max(0) {
            set(owners, at, symbol);
            loop {
                at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1);
                if at < end {
                    break;
                }
            }
        }
    }
}

/// A state of an encoder, which writes symbols from the last to the first.
pub(crate) struct State<'t> {
    table: &'t Table,
    value: u16,
}

impl<'t> State<'t> {
    /// Starts an encoder at the last symbol of a stream, in a state in which a decoder emits this symbol.
    // The encoder starts in the first state of the symbol, because a decoder reads the most bits in this state. A
    // decoder of Huffman weights stops when it has read beyond the start of the stream. If it read no bits in its last
    // states, it would not stop there, and would emit too many weights.
    pub(crate) fn new(table: &'t Table, symbol: u8) -> Self {
        let first = get(&table.symbols, symbol.into()).first;
        Self { table, value: get(&table.states, first.into()) }
    }

    /// Writes the bits that lead a decoder from the state of this symbol to the current state.
    #[inline]
    pub(crate) fn add(&mut self, symbol: u8, bits: &mut BitWriter<'_>) {
        let SymbolStates { first, share, bits: least, threshold } = get(&self.table.symbols, symbol.into());
        let width = least + u16::from(self.value >= threshold);
        bits.add_lowest(self.value.into(), width.into());
        let index = first + (self.value >> width) - share;
        self.value = get(&self.table.states, index.into());
    }

    /// Writes the state itself. A decoder starts in this state.
    pub(crate) fn finish(self, bits: &mut BitWriter<'_>) {
        bits.add_lowest(self.value.into(), self.table.log);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::sequence::{LENGTHS, LITERALS, OFFSETS};

    fn counts(pairs: &[(usize, u32)]) -> Counts {
        let mut counts = [0; SYMBOLS];
        for &(symbol, count) in pairs {
            counts[symbol] = count;
        }
        counts
    }

    #[test]
    fn fit_gives_each_symbol_a_share_and_uses_all_states() {
        for (pairs, max_log, log, expected) in [
            (&[(0, 1), (5, 1)][..], 9, 5, &[16, 16][..]),
            (&[(0, 1), (5, 1_000_000)], 9, 9, &[1, 511]),
            (&[(0, 1), (5, 1_000_000)], 6, 6, &[1, 63]),
            (&[(0, 3), (1, 2), (2, 1)], 9, 5, &[16, 11, 5]),
            (&[(1, 600), (2, 300), (3, 100)], 9, 7, &[76, 39, 13]),
        ] {
            let fitted = Distribution::fit(&counts(pairs), max_log);
            let shares: Vec<i16> = fitted.shares.iter().copied().filter(|&share| share != 0).collect();
            assert_eq!((fitted.log, &shares[..]), (log, expected), "{pairs:?}");
        }
    }

    #[test]
    fn cost_is_known_only_with_a_share_for_each_symbol() {
        let distribution = Distribution::fit(&counts(&[(0, 3), (1, 1)]), 9);
        assert_eq!(distribution.cost(&counts(&[(1, 10)])), Some(20 * u64::from(BIT)));
        assert_eq!(distribution.cost(&counts(&[(1, 10), (2, 1)])), None);
    }

    #[test]
    fn write_counts_zeros_in_threes() {
        for (pairs, expected) in [
            // Accuracy 5, then each share plus 1, in as many bits as the remaining states need.
            (&[(0, 1), (1, 1)][..], &[0x10, 0x3f][..]),
            (&[(0, 1), (8, 1)], &[0x10, 0xe3, 0xf9]),
        ] {
            let mut output = Vec::new();
            Distribution::fit(&counts(pairs), 9).write(&mut output);
            assert_eq!(output, expected, "{pairs:?}");
        }
    }

    /// A decoder reads the state, and then for each symbol the bits to the next state.
    #[test]
    fn each_transition_leads_back_to_the_state_before() {
        for distribution in [&LITERALS, &LENGTHS, &OFFSETS].map(|kind| kind.predefined) {
            let table = Table::new(&distribution);
            let size = 1_u16 << distribution.log;
            for (symbol, states) in (0_u8..).zip(&table.symbols).filter(|(_, states)| states.share > 0) {
                let mut reached = Vec::new();
                for value in size..2 * size {
                    let mut output = Vec::new();
                    let mut bits = BitWriter::new(&mut output);
                    let mut state = State { table: &table, value };
                    state.add(symbol, &mut bits);
                    let width = u32::from(states.bits + u16::from(value >= states.threshold));
                    reached.push((state.value, width));
                }
                // Each state of the symbol is reached from as many states as its bits can distinguish.
                for &(state, width) in &reached {
                    assert_eq!(reached.iter().filter(|&&other| other == (state, width)).count(), 1 << width);
                }
                let mut own: Vec<u16> = reached.iter().map(|&(state, _)| state).collect();
                own.sort_unstable();
                own.dedup();
                assert_eq!(own.len(), usize::from(states.share), "symbol {symbol}");
            }
        }
    }
}
