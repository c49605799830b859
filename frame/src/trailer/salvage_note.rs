//! The vlmetalayer `b2nd_salvage` of a salvaged frame. It records the losses of the frame as a `MessagePack` map.
//!
//! | key | value |
//! |---|---|
//! | `lost` | ranges of lost chunks, as an array of pairs: the number of the first chunk, and the number of chunks |
//! | `unverified` | ranges of saved chunks whose data may be wrong, in the same form as `lost`; missing in older frames |
//! | `fill` | the value of the items of lost chunks: `zeros` or `nan` |
//! | `assumed_order` | whether the chunks were placed in the order of the file, because the chunk index was lost or damaged |
//!
//! The note contains chunk numbers, which depend on the shape. So `ArrayUpdate` changes the note together with the
//! chunks (`renumber`). `Edit` and `Rewrite` need not change the note, because they refuse a shape that would give
//! chunks other numbers.

use core::ops::Range;

use b2nd_chunk::{ChunkHeader, SpecialValue};
use rmp::encode;

use crate::chunk::expansion;
use crate::chunk::special_item::stored_chunk;
use crate::error::Error;
use crate::header::section::{map_value, values_of};
use crate::spans::{gaps, merged};

/// The name of the vlmetalayer that records the losses.
pub(crate) const SALVAGE_NAME: &str = "b2nd_salvage";

/// The length in bytes of the longest note that is read. In memory, a note takes several times its length.
const MAX_NOTE_LEN: usize = 1 << 24;

/// The losses of a salvaged frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SalvageNote {
    /// The ranges of lost chunks. Each is a pair: the number of the first chunk, and the count of chunks.
    pub(crate) lost: Vec<(u64, u64)>,
    /// The ranges of chunks that could not be verified.
    pub(crate) unverified: Vec<(u64, u64)>,
    pub(crate) fill: String,
    pub(crate) has_assumed_order: bool,
}

impl SalvageNote {
    /// Reads the value of the vlmetalayer.
    fn read(value: &[u8]) -> Option<Self> {
        let fill: String = map_value(value, "fill")?;
        // The message of a finding shows the text `fill`. A damaged file can have any text here, so only the texts that
        // a salvage writes are accepted.
        if ![SpecialValue::Zeros, SpecialValue::Nan].iter().any(|special| special.name() == fill) {
            return None;
        }
        let ranges = &mut rmp_serde::Deserializer::from_read_ref(value);
        let [lost, unverified] = values_of(["lost", "unverified"], ranges).ok()?;
        Some(Self {
            lost: lost?,
            unverified: unverified.unwrap_or_default(),
            fill,
            has_assumed_order: map_value(value, "assumed_order")?,
        })
    }

    /// Reads the chunk of the vlmetalayer, which another program may have compressed.
    pub(crate) fn of_chunk(chunk: &[u8]) -> Option<Self> {
        let is_note =
            |header: &ChunkHeader| header.cbytes() == chunk.len() && header.nbytes() <= MAX_NOTE_LEN;
        let header = ChunkHeader::parse(chunk).filter(is_note)?;
        Self::read(&expansion::value(header, chunk).ok()?)
    }

    /// The chunk of the vlmetalayer; `None` if there is nothing to note.
    pub(crate) fn to_chunk(&self) -> Result<Option<Vec<u8>>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let chunk = self.write().and_then(|value| stored_chunk(&value));
        chunk.map(Some).ok_or_else(|| {
            Error::too_large("the lists of lost and unverified chunks are too long for a vlmetalayer")
        })
    }

    /// The value of the vlmetalayer; `None` if there are too many ranges.
    fn write(&self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        encode::write_map_len(&mut value, 4).ok()?;
        for (key, ranges) in [("lost", &self.lost), ("unverified", &self.unverified)] {
            encode::write_str(&mut value, key).ok()?;
            encode::write_array_len(&mut value, u32::try_from(ranges.len()).ok()?).ok()?;
            for &(first, count) in ranges {
                encode::write_array_len(&mut value, 2).ok()?;
                encode::write_uint(&mut value, first).ok()?;
                encode::write_uint(&mut value, count).ok()?;
            }
        }
        encode::write_str(&mut value, "fill").ok()?;
        encode::write_str(&mut value, &self.fill).ok()?;
        encode::write_str(&mut value, "assumed_order").ok()?;
        encode::write_bool(&mut value, self.has_assumed_order).ok()?;
        Some(value)
    }

    /// Adds the losses of a further salvage.
    pub(crate) fn add(
        &mut self,
        lost: impl Iterator<Item = (u64, u64)>,
        unverified: impl Iterator<Item = (u64, u64)>,
    ) {
        add(&mut self.lost, lost);
        add(&mut self.unverified, unverified);
        // A lost chunk must not be in the list of unverified chunks too. So the new list has the chunks that are
        // neither verified nor lost.
        let verified = gaps(as_ranges(&self.unverified), 0..u64::MAX);
        let others = merged(verified.chain(as_ranges(&self.lost)).collect());
        self.unverified = as_pairs(gaps(others, 0..u64::MAX));
    }

    /// Whether there is nothing to note, so that the frame needs no note.
    pub(crate) fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.unverified.is_empty() && !self.has_assumed_order
    }
}

/// The number of chunks in the ranges of a note.
pub(crate) fn count(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count))
}

/// Adds ranges to those of a note, then sorts and merges all of them.
fn add(ranges: &mut Vec<(u64, u64)>, new: impl Iterator<Item = (u64, u64)>) {
    ranges.extend(new);
    *ranges = as_pairs(merged(as_ranges(ranges).collect()));
}

fn as_ranges(pairs: &[(u64, u64)]) -> impl Iterator<Item = Range<u64>> {
    pairs.iter().map(|&(first, count)| first..first.saturating_add(count))
}

fn as_pairs(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<(u64, u64)> {
    ranges.into_iter().map(|range| (range.start, range.end - range.start)).collect()
}

/// Updates the chunk numbers in the note of an array of `nchunks` chunks, because the array changes. `new` returns the
/// new number of a lost or unverified chunk; `None` if the chunk is removed, or all its items are replaced. If the note
/// is empty after the update, it is removed. A note that cannot be read stays as it is.
#[cfg(feature = "compress")]
pub(crate) fn renumber(
    layers: &mut Vec<(Vec<u8>, Vec<u8>)>,
    nchunks: u64,
    new: impl Fn(u64) -> Option<u64>,
) -> Result<(), Error> {
    let Some(at) = layers.iter().position(|(name, _)| name == SALVAGE_NAME.as_bytes()) else { return Ok(()) };
    let Some((_, chunk)) = layers.get_mut(at) else { return Ok(()) };
    let Some(mut note) = SalvageNote::of_chunk(chunk) else { return Ok(()) };
    let mut is_changed = false;
    for ranges in [&mut note.lost, &mut note.unverified] {
        // The ranges of a hostile note can overlap, and can be longer than the array.
        add(ranges, [].into_iter());
        let before = core::mem::take(ranges);
        let numbers =
            before.iter().flat_map(|&(first, count)| first..first.saturating_add(count).min(nchunks));
        add(ranges, numbers.filter_map(&new).map(|number| (number, 1)));
        is_changed |= *ranges != before;
    }
    if !is_changed {
        return Ok(());
    }
    match note.to_chunk()? {
        Some(changed) => *chunk = changed,
        None => drop(layers.remove(at)),
    }
    Ok(())
}
