//! Costs of symbols, in units of 1/256 bit. They are integers, so that they are the same on every machine.

use crate::bytes::{get, low32};

/// The cost of one bit.
pub(crate) const BIT: u32 = 256;

/// For each n, the logarithm to base 2 of 1 + n/256, in units of 1/256.
const FRACTIONS: [u8; 256] = fractions();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn fractions() -> [u8; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        // Each squaring of a number from 1 to 2 gives one more bit of its logarithm.
        let mut square = (256 + n as u64) << 22;
        let mut bit = 0;
        while bit < 8 {
            square = (square * square) >> 30;
            table[n] <<= 1;
            if square >= 2 << 30 {
                square >>= 1;
                table[n] |= 1;
            }
            bit += 1;
        }
        n += 1;
    }
    table
}

/// The logarithm to base 2 of a positive number, in units of 1/256.
#[inline]
pub(crate) fn log2(number: u32) -> u32 {
    let exponent = number.max(1).ilog2();
    let mantissa = low32(u64::from(number) << 8 >> exponent) & 255;
    exponent * BIT + u32::from(get(&FRACTIONS, mantissa as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log2_is_right_to_eight_bits() {
        for number in (1..3000).chain((0..32).map(|exponent| 1 << exponent)).chain([u32::MAX]) {
            let exact = f64::from(number).log2() * f64::from(BIT);
            let error = exact - f64::from(log2(number));
            assert!((0.0..3.0).contains(&error), "{number}: {error}");
        }
    }
}
