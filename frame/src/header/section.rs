//! The metalayers of a header or of a trailer: an index of names and offsets, then the contents.
//!
//! | bytes | meaning |
//! |---|---|
//! | `93` | array of 3: the size of the index, the index, the contents |
//! | `cd` + 2 | the size of the index in bytes (see below); readers ignore it |
//! | `de` + 2 | the number of metalayers, then for each one: |
//! | `a0` + n, n | its name, of at most 31 bytes |
//! | `d2` + 4 | the offset of its content, counted from the start of the header or trailer |
//! | `dc` + 2 | the number of contents, then for each one: |
//! | `c6` + 4, n | its length, and its bytes; the offset points at the `c6` |
//!
//! The index ends before the marker `dc` of the contents. In a header, the size of the index is the number of bytes
//! from the `93` to the end of the index. In a trailer, the size does not include the byte `93`.
//!
//! For each metalayer, the index stores the offset of the content, and a reader uses only this offset. So the contents
//! may be in another order than the names, and may even overlap.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use std::sync::Arc;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::Error;
use crate::finding::{Escaped, Finding};
use crate::messagepack::cursor::Cursor;
use crate::messagepack::marker::Marker;
use b2nd_serde::take_from_slice;

/// The name of an array's metalayer.
pub(crate) const ARRAY_NAME: &str = "b2nd";

/// The names of an array's metalayer: the present name, then the former name.
pub(crate) const ARRAY_NAMES: [&str; 2] = [ARRAY_NAME, "caterva"];

/// The bytes of a header or trailer, shared by its metalayers.
// Not an `Arc<[u8]>`: the bytes are read into a `Vec`, and converting a `Vec` to an `Arc<[u8]>` copies them.
pub(crate) type SharedBytes = Arc<Vec<u8>>;

/// A metalayer of a frame: bytes with a name.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let metalayer = frame.metalayer("b2nd").expect("an array");
/// assert_eq!((metalayer.offset(), metalayer.bytes().len()), (112, 53));
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Metalayer {
    name: String,
    /// The bytes of the header or trailer. All offsets count from the first of these bytes.
    shared: SharedBytes,
    /// The byte range of the name in the index, without the marker before it.
    raw_name: Range<usize>,
    content: Range<usize>,
}

impl Metalayer {
    /// Takes the single content of a trailer of the older generation, and returns it as a metalayer without a name.
    pub(crate) fn unnamed(cursor: &mut Cursor<'_>, shared: &SharedBytes) -> Result<Self, Finding> {
        let content = content(cursor, "")?;
        Ok(Self { name: String::new(), shared: shared.clone(), raw_name: 0..0, content })
    }

    /// The name of the metalayer, at most 31 bytes. Bytes that are not UTF-8 are replaced. The name ends before a NUL,
    /// as in C-Blosc2.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The content of the metalayer.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.shared.get(self.content.clone()).unwrap_or_default()
    }

    /// The offset of the content, counted from the start of the frame.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.content.start
    }

    /// Deserializes the content as `T`. The metalayer of an array is read in the format of `b2nd_serde`, any other
    /// metalayer as MessagePack.
    ///
    /// Bytes of the content after the value are ignored, because some writers leave old bytes there when a value
    /// becomes shorter.
    ///
    /// # Errors
    ///
    /// [`Decode`](crate::ErrorKind::Decode) if the content does not fit `T`. The source of the error is the error of
    /// the deserializer.
    ///
    /// ```
    /// # #[derive(serde_derive::Deserialize)]
    /// # #[allow(dead_code)]
    /// struct Short {
    ///     version: u8,
    ///     ndim: u8,
    ///     shape: [u64; 2],
    ///     chunkshape: [u32; 2],
    ///     blockshape: [u32; 2],
    ///     dtype_format: u8,
    ///     dtype: String,
    /// }
    /// # #[derive(serde_derive::Deserialize)]
    /// struct Vendor {
    ///     serial: u32,
    /// }
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/vlmetalayers.b2nd")?;
    /// let vendor: Vendor = frame.metalayer("vendor").expect("a metalayer").decode()?;
    /// assert_eq!(vendor.serial, 7);
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let array: Short = frame.metalayer("b2nd").expect("an array").decode()?;
    /// assert_eq!((array.shape, array.dtype.as_str()), ([3, 5], "<i4"));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn decode<'m, T: Deserialize<'m>>(&'m self) -> Result<T, Error> {
        if ARRAY_NAMES.contains(&self.name()) {
            let array = take_from_slice(self.bytes());
            array.map(|(value, _)| value).map_err(|error| Error::decode(self.name(), error))
        } else {
            rmp_serde::from_slice(self.bytes()).map_err(|error| Error::decode(self.name(), error))
        }
    }

    /// All bytes of the name in the index. If there is a NUL, the NUL and the bytes after it are included.
    pub(crate) fn raw_name(&self) -> &[u8] {
        self.shared.get(self.raw_name.clone()).unwrap_or_default()
    }

    /// The position of the int32 in the index that holds the offset of this metalayer's content. The int32 is the
    /// offset of the content's marker, which is 5 bytes before the content itself.
    pub(crate) fn offset_field(&self) -> usize {
        self.raw_name.end + 1
    }
}

impl fmt::Debug for Metalayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metalayer")
            .field("name", &self.name)
            .field("offset", &self.content.start)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// The longest name in bytes.
pub(crate) const MAX_NAME_LEN: usize = 31;

/// The number of bytes before a content: its marker and its length.
pub(crate) const CONTENT_HEADER: usize = 5;

/// The number of bytes from the start of a section to the first entry of its index.
pub(crate) const INDEX_HEADER: usize = 7;

/// The offset, in a section, of the bytes that record the size of the index. Two bytes precede them: the marker of the
/// section, and the marker of the size.
const INDEX_SIZE: usize = 2;

/// The number of bytes of an offset in the index, with its marker.
pub(crate) const OFFSET_LEN: usize = 5;

/// The number of bytes between the index and the first content: the marker of the list of contents, and the number of
/// contents.
pub(crate) const LIST_HEADER: usize = 3;

/// The metalayers of a header or trailer. All offsets count from the start of the header or trailer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// The offset of the first byte of the section.
    pub(crate) start: usize,
    /// The size of the index according to the file.
    pub(crate) index_size: u16,
    /// The offset of the end of the index, where the list of contents should begin.
    pub(crate) list: usize,
    /// The first bytes of the list of contents: its marker and its count. `None` if the header or trailer ends before
    /// these bytes. Readers ignore the marker and the count.
    pub(crate) list_header: Option<(u8, u16)>,
    pub(crate) metalayers: Vec<Metalayer>,
}

/// The rules that differ between the section in a header and the section in a trailer.
pub(crate) struct SectionRules {
    pub(crate) max_count: u16,
    /// The number of bytes at the start of the section that the size of the index does not include.
    index_start: usize,
}

impl SectionRules {
    /// The rules for a header. `max_count` is the limit of C-Blosc2, `BLOSC2_MAX_METALAYERS`.
    pub(crate) const HEADER: Self = Self { max_count: 16, index_start: 0 };

    /// The rules for a trailer. `max_count` is the maximum that C-Blosc2 reads, `BLOSC2_MAX_VLMETALAYERS`. But C-Blosc2
    /// writes at most 16 vlmetalayers.
    pub(crate) const TRAILER: Self = Self { max_count: 8192, index_start: 1 };
}

impl Section {
    /// Parses the section that begins at the cursor. Leaves the cursor at the end of the section's index. Offsets count
    /// from the start of the cursor's bytes.
    pub(crate) fn parse(
        cursor: &mut Cursor<'_>,
        shared: &SharedBytes,
        rules: &SectionRules,
    ) -> Result<Self, Finding> {
        let start = cursor.offset();
        cursor.marker(Marker::FixArray(3), "the metalayers")?;
        let index_size = u16::from_be_bytes(cursor.value(Marker::U16, "the size of the index")?);
        let count = u16::from_be_bytes(cursor.value(Marker::Map16, "the index of metalayers")?);
        if count > rules.max_count {
            let text = format!("{count} metalayers are listed, but there can be at most {}", rules.max_count);
            let finding = cursor.finding(cursor.offset() - 2);
            return Err(finding.numbers(rules.max_count, count).text(text));
        }
        let (most, mut total) = (cursor.bytes().len(), 0);
        let mut metalayers = Vec::new();
        for _ in 0..count {
            let layer = metalayer(cursor, shared)?;
            // Refuse contents that together have more bytes than the header or trailer, because some of them must then
            // share bytes. Each content is read and copied separately, so shared bytes could make a small file cost
            // much time and memory.
            total += layer.bytes().len();
            if total > most {
                let name = Escaped(layer.name());
                let text = format!(
                    "the metalayers up to {name} have {total} bytes together, but there are only {most}, so some share bytes"
                );
                let finding = cursor.finding(layer.offset() - 4);
                return Err(finding.numbers(most, total).text(text));
            }
            metalayers.push(layer);
        }
        let list_header = cursor.rest().first_chunk::<LIST_HEADER>();
        let list_header = list_header.map(|&[marker, a, b]| (marker, u16::from_be_bytes([a, b])));
        Ok(Self { start, index_size, list: cursor.offset(), list_header, metalayers })
    }

    /// The offset in the header or trailer at which the size of the index is stored.
    pub(crate) fn index_size_offset(&self) -> usize {
        self.start + INDEX_SIZE
    }

    /// The offset at which the marker of the first content should be.
    pub(crate) fn contents(&self) -> usize {
        self.list + LIST_HEADER
    }

    /// The bytes of a section with these names and contents, at offset `start` of its header or trailer. `None` if
    /// there are too many metalayers, or if an offset or a length does not fit its field.
    pub(crate) fn build(
        rules: &SectionRules,
        start: usize,
        metalayers: &[(&[u8], &[u8])],
    ) -> Option<Vec<u8>> {
        let count =
            u16::try_from(metalayers.len()).ok().filter(|&count| count <= rules.max_count)?.to_be_bytes();
        let list = metalayers.iter().fold(INDEX_HEADER, |list, (name, _)| list + 1 + name.len() + OFFSET_LEN);
        let index_size = u16::try_from(list - rules.index_start).ok()?.to_be_bytes();
        let mut bytes = [
            &[Marker::FixArray(3).to_u8(), Marker::U16.to_u8()],
            &index_size[..],
            &[Marker::Map16.to_u8()],
            &count,
        ]
        .concat();
        let mut offset = start + list + LIST_HEADER;
        for (name, content) in metalayers {
            let len = u8::try_from(name.len()).ok().filter(|&len| usize::from(len) <= MAX_NAME_LEN)?;
            bytes.push(Marker::FixStr(len).to_u8());
            bytes.extend(*name);
            bytes.push(Marker::I32.to_u8());
            bytes.extend(i32::try_from(offset).ok()?.to_be_bytes());
            offset += CONTENT_HEADER + content.len();
        }
        bytes.push(Marker::Array16.to_u8());
        bytes.extend(count);
        for (_, content) in metalayers {
            bytes.push(Marker::Bin32.to_u8());
            bytes.extend(i32::try_from(content.len()).ok()?.to_be_bytes());
            bytes.extend(*content);
        }
        Some(bytes)
    }
}

/// Takes the next entry of the index, and finds the content at the offset in this entry.
fn metalayer(cursor: &mut Cursor<'_>, shared: &SharedBytes) -> Result<Metalayer, Finding> {
    let marker = cursor.byte()?;
    let Marker::FixStr(len) = Marker::from_u8(marker) else {
        return Err(cursor.wrong_marker(&"a fixstr (0xa0 to 0xbf)", &"the name of a metalayer", marker));
    };
    let raw_name = cursor.offset()..cursor.offset() + usize::from(len);
    let name = cursor.take(len.into())?;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();

    let offset = cursor.value(Marker::I32, format_args!("the offset of metalayer {}", Escaped(&name)))?;
    let offset = i32::from_be_bytes(offset);
    let limit = cursor.bytes().len().saturating_sub(CONTENT_HEADER);
    let Some(start) = usize::try_from(offset).ok().filter(|&start| start <= limit) else {
        let name = Escaped(&name);
        let text = format!("the offset of metalayer {name} is {offset}, but must be 0 to {limit}");
        return Err(cursor.finding(cursor.offset() - 4).numbers(limit, offset).text(text));
    };
    // The content is read with a copy of the cursor. So the cursor itself stays in the index, after this entry.
    let content = content(&mut cursor.at(start), &name)?;
    Ok(Metalayer { name, shared: shared.clone(), raw_name, content })
}

/// Takes the next content, and returns the range of its bytes.
fn content(cursor: &mut Cursor<'_>, name: &str) -> Result<Range<usize>, Finding> {
    let name = Escaped(name);
    let len =
        i32::from_be_bytes(cursor.value(Marker::Bin32, format_args!("the content of metalayer {name}"))?);
    let (start, left) = (cursor.offset(), cursor.rest().len());
    match usize::try_from(len) {
        Ok(len) if len <= left => Ok(start..start + len),
        _ => {
            let text = format!("the length of metalayer {name} is {len}, but must be 0 to {left}");
            Err(cursor.finding(start - 4).numbers(left, len).text(text))
        }
    }
}

/// The value of a key in a MessagePack map; `None` if it cannot be read. If the key occurs more than once, the last
/// value counts.
pub(crate) fn map_value<'m, T: Deserialize<'m>>(bytes: &'m [u8], key: &str) -> Option<T> {
    let [value] = values_of([key], &mut rmp_serde::Deserializer::from_read_ref(bytes)).ok()?;
    value
}

/// Deserializes a map, and returns the values of `keys`; `None` for a key that the map does not have.
// The values of other keys are skipped unread, so a large map takes no memory.
pub(crate) fn values_of<'m, const N: usize, T: Deserialize<'m>, D: Deserializer<'m>>(
    keys: [&str; N],
    deserializer: D,
) -> Result<[Option<T>; N], D::Error> {
    struct MapVisitor<'k, const N: usize, T>([&'k str; N], PhantomData<T>);

    impl<'m, const N: usize, T: Deserialize<'m>> Visitor<'m> for MapVisitor<'_, N, T> {
        type Value = [Option<T>; N];

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'m>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut values = [const { None }; N];
            while let Some(key) = map.next_key::<String>()? {
                match self.0.iter().zip(&mut values).find(|(wanted, _)| **wanted == key) {
                    Some((_, value)) => *value = Some(map.next_value()?),
                    None => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(values)
        }
    }

    deserializer.deserialize_map(MapVisitor(keys, PhantomData))
}
