//! Floats of two bytes.

/// 2^112. The bias of the exponent is 127 in an `f32` and 15 in a float16. If the exponent and fraction of a float16
/// are moved to their places in an `f32`, the value is too small by this factor.
const SCALE: f32 = f32::from_bits((127 + 112) << 23);

/// The value of a float16.
pub(super) fn widen(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // If all bits of the exponent are 1, the value is an infinity or a NaN, in both types.
    let is_finite = bits & 0x7c00 != 0x7c00;
    let scaled =
        if is_finite { (f32::from_bits(magnitude) * SCALE).to_bits() } else { magnitude | 0x7f80_0000 };
    f32::from_bits(scaled | u32::from(bits & 0x8000) << 16)
}

/// The float16 of the same value; `None` if no float16 has this value.
#[expect(clippy::cast_possible_truncation, reason = "the value is compared")]
pub(super) fn narrow(value: f32) -> Option<u16> {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let fraction = (value.to_bits() >> 13) as u16 & 0x3ff;
    if value.is_nan() {
        // The fraction of a NaN must not be 0, because 0 would mean an infinity.
        return Some(sign | 0x7c00 | if fraction == 0 { 0x200 } else { fraction });
    }
    let magnitude = if value.is_infinite() { 0x7c00 } else { ((value.abs() / SCALE).to_bits() >> 13) as u16 };
    let bits = sign | magnitude & 0x7fff;
    (widen(bits).to_bits() == value.to_bits()).then_some(bits)
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    #[test]
    fn widen_and_narrow_are_those_of_the_crate_half_for_all_float16() {
        for bits in 0..=u16::MAX {
            let (value, theirs) = (widen(bits), f16::from_bits(bits));
            if theirs.is_nan() {
                assert!(value.is_nan() && narrow(value) == Some(bits), "{bits:x}");
                continue;
            }
            assert_eq!(value.to_bits(), theirs.to_f32().to_bits(), "{bits:x}");
            assert_eq!(narrow(value), Some(bits));
            if theirs.is_finite() {
                for near in [value.to_bits() + 1, value.to_bits() ^ 0x1000].map(f32::from_bits) {
                    assert_eq!(narrow(near), None, "{near}");
                }
            }
        }
        for value in [65520.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 0.1] {
            assert_eq!(narrow(value), None, "{value}");
        }
    }
}
