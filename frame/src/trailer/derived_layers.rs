//! The data that python-blosc2 computes from the items of an array, and stores. If a program changes the items but not
//! this data, python-blosc2 finds wrong items in a query.
//!
//! | data | place | python-blosc2 4.14 uses it if | when it changes items, python-blosc2 |
//! |---|---|---|---|
//! | indexes of an array | vlmetalayer `blosc2_indexes`: a map, whose value `indexes` maps names to descriptors | `stale` in the descriptor is false, and `shape` and `chunks` are those of the array; dtype and block shape are not compared | sets `stale` to true in all descriptors; only its `append` extends the indexes |
//! | results of queries | vlmetalayer `_blosc2_query_cache`, and a file beside the array, `NAME.__query_cache__.b2frame` | never; but 4.2 and 4.3 use a result if the text of the query is equal | removes both |
//! | indexes of a table | vlmetalayer `index_catalog` of `_meta.b2f`: a map of columns to descriptors; each table gets an index of each column when it is first closed | as for an array | sets `stale` to true in all descriptors, and increments `value_epoch` |
//! | generated columns of a table | vlmetalayer `schema` of `_meta.b2f`: a JSON text, in which `materialized_columns` lists them | `stale` in the list is false | sets `stale` to true |
//!
//! `value_epoch`, a vlmetalayer of `_meta.b2f`, counts the changes of a table. For a dictionary column, the descriptor
//! records the `value_epoch` as `built_value_epoch`. While the two numbers are equal, python-blosc2 does not check
//! whether the index still agrees with the dictionary.
//!
//! A process with python-blosc2 reads the descriptors of a path only once, and then keeps them in memory. So it does
//! not see a change by another process, even if that process uses python-blosc2 too.
//!
//! A descriptor names the files that hold the index. So if an array is copied with its descriptors, the copy and the
//! original use the same index files. If python-blosc2 builds the index of one of them again, it overwrites or removes
//! files that the other still uses.

use b2nd_chunk::ChunkHeader;
use memchr::memmem;

use crate::chunk::expansion;
use crate::chunk::special_item::stored_chunk;
use crate::error::Error;
use crate::messagepack::marker::Marker;
use crate::messagepack::token::{Token, take};
use crate::trailer::frame_trailer::{Trailer, Vlmetalayer};

/// The vlmetalayer with the indexes of an array.
const INDEXES: &str = "blosc2_indexes";

/// The vlmetalayer with the results of queries.
const QUERY_CACHE: &str = "_blosc2_query_cache";

/// The length in bytes of the longest value of [`INDEXES`] that is changed. A longer value is removed: the changed
/// value is stored uncompressed, and a small file must not become a large one. A descriptor has 1 to 2 KiB.
const MAX_INDEXES_LEN: usize = 1 << 20;

impl Vlmetalayer {
    /// Whether python-blosc2 has computed the value from the items of the array: the vlmetalayer has indexes
    /// (`blosc2_indexes`) or results of queries (`_blosc2_query_cache`).
    ///
    /// Do not copy such a vlmetalayer to another array: python-blosc2 would find wrong items there.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let trailer = Frame::open("tests/data/vlmetalayers.b2nd")?.trailer()?;
    /// assert!(!trailer.vlmetalayers().iter().any(|layer| layer.is_derived()));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn is_derived(&self) -> bool {
        is_derived(self.raw_name())
    }
}

/// Whether python-blosc2 computes the vlmetalayer with this name from the items of its array.
pub(crate) fn is_derived(name: &[u8]) -> bool {
    [INDEXES, QUERY_CACHE].iter().any(|derived| name == derived.as_bytes())
}

/// Marks the indexes of an array as stale, because its items change, and removes the results of queries. Indexes that
/// cannot be read are removed too. `layers` has the name and the chunk of each vlmetalayer. Returns whether there was
/// anything to mark or to remove.
pub(crate) fn mark_stale(layers: &mut Vec<(Vec<u8>, Vec<u8>)>) -> bool {
    let mut is_changed = false;
    layers.retain_mut(|(name, chunk)| {
        let stale = match &**name {
            name if !is_derived(name) => return true,
            name if name == INDEXES.as_bytes() => stale_indexes(chunk),
            _ => None,
        };
        is_changed |= stale.as_ref() != Some(chunk);
        stale.map(|stale| *chunk = stale).is_some()
    });
    is_changed
}

/// The chunk of [`INDEXES`] with all indexes marked as stale; `None` if its value cannot be read or is too long.
fn stale_indexes(chunk: &[u8]) -> Option<Vec<u8>> {
    let header = ChunkHeader::parse(chunk).filter(|header| header.cbytes() == chunk.len())?;
    let mut value = expansion::value(header, chunk).ok().filter(|value| value.len() <= MAX_INDEXES_LEN)?;
    let mut flags = Vec::new();
    let rest = each_value(&value, |key, bytes| match key {
        b"indexes" => stale_flags(&value, bytes, &mut flags),
        _ => skip(bytes),
    })?;
    if !rest.is_empty() {
        return None;
    }
    flags.retain(|&flag| value.get(flag) != Some(&Marker::True.to_u8()));
    if flags.is_empty() {
        return Some(chunk.into());
    }
    let value = value.to_mut();
    for flag in flags {
        *value.get_mut(flag)? = Marker::True.to_u8();
    }
    stored_chunk(value)
}

/// The trailer of the array after a change of its items, and whether it has vlmetalayers; `None` if the trailer needs
/// no change. A copy of the array loses its indexes, because it must not use the index files of the original.
pub(crate) fn outdated(trailer: &Trailer, is_copy: bool) -> Result<Option<(Vec<u8>, bool)>, Error> {
    let layers = trailer.vlmetalayers().iter();
    let mut layers: Vec<_> =
        layers.map(|layer| (layer.raw_name().to_vec(), layer.chunk().to_vec())).collect();
    let count = layers.len();
    if is_copy {
        layers.retain(|(name, _)| !is_derived(name));
    }
    if layers.len() == count && !mark_stale(&mut layers) {
        return Ok(None);
    }
    let layers: Vec<_> = layers.iter().map(|(name, chunk)| (&name[..], &chunk[..])).collect();
    // C-Blosc2 too clears the fingerprint when it changes a vlmetalayer.
    let bytes = Trailer::build(&layers, Default::default());
    let bytes =
        bytes.ok_or_else(|| Error::too_large("the trailer would be longer than the format allows"))?;
    Ok(Some((bytes, !layers.is_empty())))
}

/// Names the data that python-blosc2 has computed from the items of a table's columns; `None` if there is none. `table`
/// is the trailer of the table's file `_meta.b2f`. Data that cannot be read counts as valid.
pub(crate) fn derived_from_columns(table: &Trailer) -> Option<&'static str> {
    let has_valid = |layer: &Vlmetalayer| {
        let Ok(value) = layer.value() else { return true };
        let mut flags = Vec::new();
        let rest = stale_flags(&value, &value, &mut flags);
        rest.is_none() || flags.iter().any(|&flag| value.get(flag) != Some(&Marker::True.to_u8()))
    };
    if table.vlmetalayer("index_catalog").is_some_and(has_valid) {
        return Some("indexes");
    }
    let has_generated = |layer: &Vlmetalayer| {
        // The text is searched for this key, but not parsed. Elsewhere, the same bytes can occur only in the name of a
        // column.
        layer.value().map_or(true, |schema| memmem::find(&schema, b"\"materialized_columns\"").is_some())
    };
    table.vlmetalayer("schema").is_some_and(has_generated).then_some("generated columns")
}

/// Reads a map of descriptors at the start of `bytes`, which are the last bytes of `value`. Adds the position in
/// `value` of each descriptor's flag `stale` to `flags`. Returns the bytes after the map; `None` if a descriptor has no
/// such flag.
fn stale_flags<'v>(value: &[u8], bytes: &'v [u8], flags: &mut Vec<usize>) -> Option<&'v [u8]> {
    each_value(bytes, |_, descriptor| {
        let count = flags.len();
        let rest = each_value(descriptor, |key, bytes| {
            if key == b"stale" {
                let is_flag =
                    |&marker: &u8| [Marker::False, Marker::True].map(|flag| flag.to_u8()).contains(&marker);
                bytes.first().filter(|marker| is_flag(marker))?;
                flags.push(value.len() - bytes.len());
            }
            skip(bytes)
        })?;
        (flags.len() > count).then_some(rest)
    })
}

/// Calls `read` for each value of the map at the start of `bytes`. The arguments of `read` are the text of the key, and
/// the bytes from the value on. `read` returns the bytes after the value. Returns the bytes after the map; `None` if
/// there is no map with texts as keys.
fn each_value<'v>(
    bytes: &'v [u8],
    mut read: impl FnMut(&[u8], &'v [u8]) -> Option<&'v [u8]>,
) -> Option<&'v [u8]> {
    let (Token::Map(count), mut rest) = take(bytes)? else { return None };
    for _ in 0..count {
        let (Token::Text(key), value) = take(rest)? else { return None };
        rest = read(key, value)?;
    }
    Some(rest)
}

/// The bytes after the value at the start of `bytes`.
fn skip(bytes: &[u8]) -> Option<&[u8]> {
    let (mut left, mut rest) = (1_u64, bytes);
    while left > 0 {
        let (token, after) = take(rest)?;
        let inside = match token {
            Token::Array(count) => count,
            Token::Map(count) => 2 * count,
            _ => 0,
        };
        (left, rest) = (left - 1 + inside, after);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a vlmetalayer after `mark_stale`; `None` if it is removed.
    fn marked(name: &str, value: &[u8]) -> Option<Vec<u8>> {
        let mut layers = vec![(name.into(), stored_chunk(value).unwrap()), (b"unit".to_vec(), vec![1])];
        let before = layers.clone();
        assert_eq!(mark_stale(&mut layers), layers != before);
        assert_eq!(layers.pop().unwrap(), before[1]);
        let (_, chunk) = layers.pop()?;
        let header = ChunkHeader::parse(&chunk).unwrap();
        Some(expansion::value(header, &chunk).ok().unwrap().into_owned())
    }

    #[test]
    fn mark_stale_sets_the_flag_of_each_descriptor() {
        let indexes = |flags: [u8; 2]| {
            let [a, b] = flags;
            let levels = b"\x81\xa5stale\xc2";
            [
                &b"\x83\xa7version\x01\xa7indexes\x82"[..],
                &[b"\xa1a\x82\xa5stale", &[a][..], b"\xa6levels", levels].concat(),
                &[b"\xa1b\x82\xa5shape\x92\x05\xcd\x01\x00\xa5stale", &[b][..]].concat(),
                b"\xa5after\xc0",
            ]
            .concat()
        };
        // The `stale` in `levels` is not the flag of the descriptor, so it does not change.
        let expected = indexes([0xc3, 0xc3]);
        for flags in [[0xc2, 0xc2], [0xc2, 0xc3], [0xc3, 0xc2], [0xc3, 0xc3]] {
            assert_eq!(marked(INDEXES, &indexes(flags)).unwrap(), expected);
        }
        for none in [&b"\x80"[..], b"\x81\xa7version\x01", b"\x81\xa7indexes\x80"] {
            assert_eq!(marked(INDEXES, none).unwrap(), none);
        }
        assert_eq!(marked("other", &indexes([0xc2, 0xc2])).unwrap(), indexes([0xc2, 0xc2]));
    }

    #[test]
    fn mark_stale_removes_what_it_cannot_mark() {
        let unreadable = [
            &b""[..],
            b"\xc0",
            b"\x81",
            b"\x81\x01\x02",
            b"\x81\xa7indexes\xc0",
            // A descriptor without the flag, with a number as the flag, and one that is not a map.
            b"\x81\xa7indexes\x81\xa1a\x81\xa5shape\x90",
            b"\x81\xa7indexes\x81\xa1a\x81\xa5stale\x00",
            b"\x81\xa7indexes\x81\xa1a\xc2",
            // A map without its second descriptor, and bytes after the map.
            b"\x81\xa7indexes\x82\xa1a\x81\xa5stale\xc2",
            b"\x80\x80",
            // More items than there are bytes.
            b"\x81\xa7indexes\xdf\xff\xff\xff\xff",
            b"\x81\xa1a\xdf\xff\xff\xff\xff",
        ];
        for value in unreadable {
            assert_eq!(marked(INDEXES, value), None, "{value:?}");
        }
        assert_eq!(marked(QUERY_CACHE, b"\x80"), None);
        let mut long = b"\x82\xa7indexes\x81\xa1a\x81\xa5stale\xc2\xa1b\xc6\x00\x10\x00\x00".to_vec();
        long.resize(long.len() + MAX_INDEXES_LEN, 0);
        assert_eq!(marked(INDEXES, &long), None);
        let mut layers = vec![(INDEXES.into(), b"not a chunk".to_vec())];
        assert!(mark_stale(&mut layers));
        assert!(layers.is_empty());
    }
}
