//! The list of the frames in the data of a store, as `MessagePack` in the vlmetalayer `estore_metadata`.
//!
//! | key | value |
//! |---|---|
//! | `embed_map` | for each key of the store: the `offset` and `length` of its frame in the data, or the `urlbase` and `path` of an array on a server |
//! | `current_offset` | the end of the last frame in the data |

use core::fmt;
use core::ops::Range;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::header::section::values_of;

/// The name of the vlmetalayer that has the list.
pub(crate) const EMBED_LIST_NAME: &str = "estore_metadata";

/// The place of the data that belongs to a key of a store.
#[derive(Debug)]
pub(crate) enum EmbedPlace {
    /// A frame in the data of the store.
    Data(Range<u64>),
    Server,
    /// A damaged entry: it has neither a complete range in the data nor a complete address on a server, or it has parts
    /// of both.
    Unknown,
}

impl<'m> Deserialize<'m> for EmbedPlace {
    fn deserialize<D: Deserializer<'m>>(deserializer: D) -> Result<Self, D::Error> {
        let [offset, length, urlbase, path] =
            values_of(["offset", "length", "urlbase", "path"], deserializer)?;
        Ok(match (offset, length, urlbase.zip(path)) {
            (Some(Item(Some(start))), Some(Item(Some(length))), None) => {
                Self::Data(start..start.saturating_add(length))
            }
            (None, None, Some(_)) => Self::Server,
            _ => Self::Unknown,
        })
    }
}

/// An unsigned number; `None` for a value of any other kind.
struct Item(Option<u64>);

impl<'m> Deserialize<'m> for Item {
    fn deserialize<D: Deserializer<'m>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'m> Visitor<'m> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Item, E> {
        Ok(Item(Some(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Item, E> {
        Ok(Item(u64::try_from(number).ok()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Item, E> {
        Ok(Item(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Item, E> {
        Ok(Item(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Item, E> {
        Ok(Item(None))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Item, E> {
        Ok(Item(None))
    }

    fn visit_unit<E>(self) -> Result<Item, E> {
        Ok(Item(None))
    }

    fn visit_seq<A: SeqAccess<'m>>(self, mut seq: A) -> Result<Item, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Item(None))
    }

    fn visit_map<A: MapAccess<'m>>(self, mut map: A) -> Result<Item, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Item(None))
    }
}
