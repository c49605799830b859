//! BloscLZ, Blosc's own codec.
//!
//! A stream is a list of instructions. Each instruction begins with a control byte, whose upper three bits select the
//! instruction:
//!
//! | upper bits | instruction | bytes after the control byte |
//! |---|---|---|
//! | 0 | copy literals; their number is the lower five bits + 1 | the literals |
//! | 1 to 6 | repeat bytes; their number is the upper bits + 2 | the low byte of the distance |
//! | 7 | repeat bytes; their number is 9 + `n` | bytes whose sum is `n`, all 255 except the last; the low byte of the distance |
//!
//! The distance is 256 times the lower five bits of the control byte, plus the low byte of the distance, plus 1. If
//! this sum is 8192, a big-endian u16 follows the low byte and is added to the distance. The first and the last
//! instruction always copy literals. The upper bits of the first control byte are ignored.

#[cfg(feature = "compress")]
use core::mem;

#[cfg(feature = "compress")]
use alloc::{vec, vec::Vec};

/// The maximum number of literals of an instruction.
const MAX_LITERALS: usize = 32;

/// The number of bytes that a repetition copies at once, if its distance is at least `STEP`, and the buffer has at
/// least `STEP` bytes after the repetition.
const STEP: usize = 16;

/// If the control byte and the low byte give this distance, a u16 follows and is added to the distance.
const FAR_DISTANCE: usize = 8192;

/// Decompresses a stream to the start of `data`, and returns the number of decompressed bytes. `None` if the stream is
/// damaged, or if `data` is too short.
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

/// Copies the first `count` bytes of `stream` to the start of `data`.
#[inline(always)]
fn copy_literals(stream: &[u8], data: &mut [u8], count: usize) -> Option<()> {
    // If `stream` and `data` are long enough, `MAX_LITERALS` bytes are copied instead of `count`, because a copy of
    // constant length needs only a few instructions. The bytes after the literals are overwritten later.
    if let (Some(from), Some(to)) = (stream.first_chunk::<MAX_LITERALS>(), data.first_chunk_mut()) {
        *to = *from;
        return Some(());
    }
    data.get_mut(..count)?.copy_from_slice(stream.get(..count)?);
    Some(())
}

/// Copies `length` bytes to the position `at`. They come from the position `distance` bytes before `at`. If `length` is
/// larger than `distance`, the copied bytes include bytes that this function has just written.
#[inline(always)]
fn repeat(data: &mut [u8], at: usize, distance: usize, length: usize) -> Option<()> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(length).filter(|&end| end <= data.len())?;
    if distance == 1 {
        let byte = *data.get(from)?;
        data.get_mut(at..end)?.fill(byte);
        return Some(());
    }
    // The last copy can write beyond the repetition, but not beyond `data`.
    if distance >= STEP && end + STEP <= data.len() {
        for offset in (0..length).step_by(STEP) {
            let bytes: [u8; STEP] = *data.get(from + offset..)?.first_chunk()?;
            *data.get_mut(at + offset..)?.first_chunk_mut()? = bytes;
        }
        return Some(());
    }
    // The bytes from `from` to `at + done` repeat with a period of `distance`. Each step copies all of these bytes, so
    // each step can be twice as long as the previous step.
    let mut done = 0;
    while done < length {
        let count = (distance + done).min(length - done);
        data.copy_within(from..from + count, at + done);
        done += count;
    }
    Some(())
}

/// An encoder of BloscLZ. To find a repetition, the encoder compares the bytes at the current place with the bytes at
/// one earlier place: the latest place whose first four bytes have the same hash.
#[cfg(feature = "compress")]
pub(crate) struct Encoder {
    /// The latest place of each hash of four bytes.
    places: Vec<u32>,
    hash_bits: u32,
    /// After 2^`patience` bytes without a repetition, the encoder looks for a repetition only at every second byte.
    /// After 2^`patience` more bytes without a repetition, it looks only at every third byte, and so on.
    patience: u32,
}

#[cfg(feature = "compress")]
impl Encoder {
    /// The largest distance of a repetition.
    const MAX_DISTANCE: usize = FAR_DISTANCE + 65535;
    /// The length of the shortest repetitions that the encoder uses. The first constant is for distances below
    /// [`FAR_DISTANCE`], the second one for all other distances. Shorter repetitions would save little, and take long
    /// to decompress.
    const MIN_LENGTH: usize = 6;
    const MIN_FAR_LENGTH: usize = 8;
    /// The smallest length that does not fit in the control byte of a repetition. More bytes after the control byte
    /// store the rest of such a length.
    const LONG_LENGTH: usize = 9;
    /// The number of bytes at the end of a stream in which no repetition begins. C-Blosc2 has the same number.
    const LAST_LITERALS: usize = 12;

    pub(crate) fn new(level: u8) -> Self {
        let hash_bits = 14.min(11 + u32::from(level));
        Self { places: vec![0; 1 << hash_bits], hash_bits, patience: 3 + u32::from(level) }
    }

    /// Compresses `stream` to the start of `output`, and returns the number of compressed bytes. `None` if `output` is
    /// too short.
    pub(crate) fn compress(&mut self, stream: &[u8], output: &mut [u8]) -> Option<usize> {
        let room = output.len();
        let mut output = Output(output);
        self.places.fill(0);
        // The first instruction always copies literals, so no repetition begins at position 0.
        let (mut at, mut literals) = (1, 0);
        while at + Self::LAST_LITERALS < stream.len() {
            let Some((distance, length)) = self.repetition(stream, at) else {
                at += 1 + ((at - literals) >> self.patience);
                continue;
            };
            output.put_literals(stream.get(literals..at)?)?;
            output.put_repetition(distance, length)?;
            // Records the place two bytes before the end of the repetition. A later repetition often begins with the
            // four bytes at this place.
            self.place(stream, at + length - 2);
            at += length;
            literals = at;
        }
        output.put_literals(stream.get(literals..)?)?;
        Some(room - output.0.len())
    }

    /// The distance and length of the repetition at a place; `None` if the encoder finds no repetition there.
    fn repetition(&mut self, stream: &[u8], at: usize) -> Option<(usize, usize)> {
        let before = self.place(stream, at)?;
        let distance =
            at.checked_sub(before).filter(|&distance| (1..=Self::MAX_DISTANCE).contains(&distance))?;
        let (old, new) = (stream.get(before..)?, stream.get(at..stream.len() - 1)?);
        if old.first_chunk::<4>() != new.first_chunk::<4>() {
            return None;
        }
        // Ends the repetition one or two bytes early, so that the next repetition can begin with these bytes. This
        // helps in images with areas of a single value. An edge between two areas has the same bytes in many rows of
        // the image, but the areas have a different length in each row. So the next repetition should begin just before
        // the edge: then it can copy the bytes around the edge from an earlier row.
        let length = common_length(old, new) - if distance == 1 { 2 } else { 1 };
        let least = if distance < FAR_DISTANCE { Self::MIN_LENGTH } else { Self::MIN_FAR_LENGTH };
        (length >= least).then_some((distance, length))
    }

    /// Records a place, and returns the previous place with the same hash.
    #[inline(always)]
    fn place(&mut self, stream: &[u8], at: usize) -> Option<usize> {
        let bytes = stream.get(at..)?.first_chunk()?;
        let hash = u32::from_le_bytes(*bytes).wrapping_mul(0x9e37_79b1) >> (u32::BITS - self.hash_bits);
        let place = self.places.get_mut(hash as usize)?;
        Some(mem::replace(place, u32::try_from(at).ok()?) as usize)
    }
}

/// The number of equal bytes at the start of two slices.
#[cfg(feature = "compress")]
fn common_length(a: &[u8], b: &[u8]) -> usize {
    let eight = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut length = 0;
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        let difference = eight(a) ^ eight(b);
        if difference != 0 {
            return length + difference.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let (a, b) = (a.get(length..).unwrap_or_default(), b.get(length..).unwrap_or_default());
    length + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The rest of the output buffer, after the bytes that have been written.
#[cfg(feature = "compress")]
struct Output<'o>(&'o mut [u8]);

#[cfg(feature = "compress")]
impl Output<'_> {
    fn put_literals(&mut self, literals: &[u8]) -> Option<()> {
        literals.chunks(MAX_LITERALS).try_for_each(|literals| {
            self.put(&[u8::try_from(literals.len() - 1).ok()?])?;
            self.put(literals)
        })
    }

    fn put_repetition(&mut self, distance: usize, length: usize) -> Option<()> {
        let (near, far) = match distance.checked_sub(FAR_DISTANCE) {
            Some(far) => (FAR_DISTANCE - 1, Some(u16::try_from(far).ok()?.to_be_bytes())),
            None => (distance - 1, None),
        };
        let [low, high, ..] = near.to_le_bytes();
        if let Some(mut more) = length.checked_sub(Encoder::LONG_LENGTH) {
            self.put(&[7 << 5 | high])?;
            while more >= 255 {
                self.put(&[255])?;
                more -= 255;
            }
            self.put(&[u8::try_from(more).ok()?])?;
        } else {
            self.put(&[u8::try_from(length - 2).ok()? << 5 | high])?;
        }
        self.put(&[low])?;
        self.put(far.as_ref().map_or(&[], |far| far))
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let (start, rest) = mem::take(&mut self.0).split_at_mut_checked(bytes.len())?;
        start.copy_from_slice(bytes);
        self.0 = rest;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_instruction_is_decompressed() {
        let literals =
            |count: u8| [&[count - 1], &b"abcdefghijklmnopqrstuvwxyz0123456789"[..count.into()]].concat();
        for (stream, expected) in [
            ([&literals(4)[..], &[1 << 5, 3], &literals(1)].concat(), &b"abcdabca"[..]),
            ([&literals(4)[..], &[6 << 5, 0], &literals(1)].concat(), b"abcddddddddda"),
            ([&literals(4)[..], &[7 << 5, 0, 1], &literals(1)].concat(), b"abcdcdcdcdcdca"),
            (
                [&literals(32)[..], &[2 << 5, 31], &literals(1)].concat(),
                b"abcdefghijklmnopqrstuvwxyz012345abcda",
            ),
        ] {
            let mut data = [0; 64];
            let found = decompress(&stream, &mut data).unwrap();
            assert_eq!(&data[..found], expected);
            // Decompresses into a buffer that has exactly the length of the data, and into a buffer that is too short.
            assert_eq!(decompress(&stream, &mut data[..found]), Some(found));
            assert_eq!(&data[..found], expected);
            assert_eq!(decompress(&stream, &mut data[..found - 1]), None);
        }
    }
}
