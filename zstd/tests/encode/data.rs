//! Data of the kinds that compressors meet. It is the same in each run and on each machine.

use fastrand::Rng;

/// The kinds of data: noise, few values, a period, skewed bytes, counters, planes of counters, floats, labels, names,
/// words, copies, and parts of several kinds.
pub(crate) const KINDS: u8 = 12;

/// A number below `end`. It does not depend on the width of `usize`.
fn below(rng: &mut Rng, end: usize) -> usize {
    usize::try_from(rng.u64(..end as u64)).unwrap()
}

/// Data of a kind.
pub(crate) fn data(rng: &mut Rng, kind: u8, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length);
    let few = rng.u8(2..40);
    let period: Vec<u8> = (0..=below(rng, 299)).map(|_| rng.u8(..)).collect();
    let (step, itemsize) = (rng.u64(1..100_000), 2 + below(rng, 7));
    let words: Vec<Vec<u8>> =
        (0..200).map(|_| (0..=below(rng, 11)).map(|_| rng.u8(b'a'..=b'z')).collect()).collect();
    let (mut number, mut sum) = (0_u64, 0_i32);
    while bytes.len() < length {
        number += 1;
        match kind {
            0 => bytes.push(rng.u8(..)),
            1 => bytes.push(rng.u8(..few)),
            2 => bytes.extend_from_slice(&period),
            3 => bytes.push((0..255).find(|_| rng.u8(..3) == 0).unwrap_or(255)),
            4 => bytes.extend_from_slice(&(number * step + rng.u64(..3)).to_le_bytes()),
            5 => {
                let items: Vec<[u8; 8]> =
                    (0..4000).map(|item| (item * step + rng.u64(..3)).to_le_bytes()).collect();
                (0..itemsize).for_each(|plane| bytes.extend(items.iter().map(|item| item[plane])));
            }
            6 => {
                sum += rng.i32(-500..500);
                bytes.extend_from_slice(&(f64::from(sum) / 1000.0).to_le_bytes());
            }
            7 => {
                let most = 1 + below(rng, 2000);
                bytes.extend(std::iter::repeat_n(rng.u8(..25), 1 + below(rng, most)));
            }
            8 => bytes.extend(format!("sample-{:05}/{:03}", number / 100, number % 100).bytes()),
            9 => {
                bytes.extend_from_slice(&words[below(rng, 200)]);
                bytes.push(b' ');
            }
            10 if bytes.len() < 2 || rng.u8(..3) == 0 => bytes.extend((0..rng.u8(1..20)).map(|_| rng.u8(..))),
            10 => {
                let distance = 1 + below(rng, bytes.len() - 1);
                (0..3 + below(rng, 197)).for_each(|_| bytes.push(bytes[bytes.len() - distance]));
            }
            _ => {
                let (kind, length) = (rng.u8(..KINDS - 1), 1 + below(rng, length / 3 + 1));
                bytes.extend(data(rng, kind, length));
            }
        }
    }
    bytes.truncate(length);
    bytes
}
