//! The decoder of BloscLZ, Blosc's own codec.
//!
//! A stream is a list of instructions. The upper three bits of a control byte say which one follows:
//!
//! | upper bits | instruction | bytes after the control byte |
//! |---|---|---|
//! | 0 | copy literals, the lower five bits + 1 | the literals |
//! | 1 to 6 | repeat this number + 2 bytes | the low byte of the distance |
//! | 7 | repeat 9 bytes or more | bytes that are added to the length, up to the first below 255; the low byte of the distance |
//!
//! The distance is 256 times the lower five bits, plus the low byte, plus 1. If it would be 8192, a big-endian u16
//! follows, which is added to it. The first instruction is always literals. The last one is never a repetition.

/// The most literals of an instruction.
const MAX_LITERALS: usize = 32;

/// The number of bytes that are copied at once.
const STEP: usize = 16;

/// The distance from which on a u16 is added to it.
const FAR_DISTANCE: usize = 8192;

/// Decompresses a stream, and returns the number of bytes; `None` if the stream is damaged or the data is longer than
/// `data`.
pub(crate) fn decompress(stream: &[u8], data: &mut [u8]) -> Option<usize> {
    let (&control, mut rest) = stream.split_first()?;
    let mut control = usize::from(control & 31);
    let mut at = 0;
    loop {
        if control < MAX_LITERALS {
            let count = control + 1;
            copy_literals(rest, data.get_mut(at..)?, count)?;
            rest = rest.get(count..)?;
            at += count;
            if rest.is_empty() {
                return Some(at);
            }
        } else {
            let mut length = (control >> 5) + 2;
            if control >> 5 == 7 {
                loop {
                    let (&more, after) = rest.split_first()?;
                    rest = after;
                    length = length.saturating_add(more.into());
                    if more != 255 {
                        break;
                    }
                }
            }
            let (&low, after) = rest.split_first()?;
            rest = after;
            let mut distance = ((control & 31) << 8) + usize::from(low) + 1;
            if distance == FAR_DISTANCE {
                let (&far, after) = rest.split_first_chunk()?;
                rest = after;
                distance += usize::from(u16::from_be_bytes(far));
            }
            repeat(data, at, distance, length)?;
            at += length;
        }
        let (&next, after) = rest.split_first()?;
        control = next.into();
        rest = after;
    }
}

/// Copies the first bytes of a stream to the start of the data.
#[inline(always)]
fn copy_literals(stream: &[u8], data: &mut [u8], count: usize) -> Option<()> {
    // A copy of constant length is two instructions; the bytes beyond the literals are overwritten later.
    if let (Some(from), Some(to)) = (stream.first_chunk::<MAX_LITERALS>(), data.first_chunk_mut()) {
        *to = *from;
        return Some(());
    }
    data.get_mut(..count)?.copy_from_slice(stream.get(..count)?);
    Some(())
}

/// Repeats bytes at a distance before `at`. The repetition can overlap itself.
#[inline(always)]
fn repeat(data: &mut [u8], at: usize, distance: usize, length: usize) -> Option<()> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(length).filter(|&end| end <= data.len())?;
    if distance == 1 {
        let byte = *data.get(from)?;
        data.get_mut(at..end)?.fill(byte);
        return Some(());
    }
    // The last step can write beyond the repetition, but not beyond the data.
    if distance >= STEP && end + STEP <= data.len() {
        for offset in (0..length).step_by(STEP) {
            let bytes: [u8; STEP] = *data.get(from + offset..)?.first_chunk()?;
            *data.get_mut(at + offset..)?.first_chunk_mut()? = bytes;
        }
        return Some(());
    }
    // What is between `from` and `at + done` repeats, so each copy is twice as long as the one before it.
    let mut done = 0;
    while done < length {
        let count = (distance + done).min(length - done);
        data.copy_within(from..from + count, at + done);
        done += count;
    }
    Some(())
}
