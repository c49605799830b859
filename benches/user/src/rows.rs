//! Rows of three numbers and a text of 16 bytes, as structs.

use b2nd_serde::Dtype;
use b2nd_serde::dtype::items::ItemError;
use serde::{Deserialize, Serialize};

/// The dtype of the rows.
pub const DTYPE: &str = "[('ra', '<f8'), ('dec', '<f8'), ('id', '<u4'), ('name', 'S16')]";

/// A row that borrows its text.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
pub struct Borrowed<'a> {
    pub ra: f64,
    pub dec: f64,
    pub id: u32,
    pub name: &'a str,
}

/// A row that owns its text.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
pub struct Owned {
    pub ra: f64,
    pub dec: f64,
    pub id: u32,
    pub name: String,
}

#[inline(never)]
pub fn read<'a, T: Deserialize<'a>>(dtype: &'a Dtype, items: &'a [u8]) -> Result<Vec<T>, ItemError> {
    let items = dtype.read_items(items)?;
    let mut rows = Vec::with_capacity(items.len());
    for row in items {
        rows.push(row?);
    }
    Ok(rows)
}

#[inline(never)]
pub fn write<T: Serialize>(dtype: &Dtype, rows: &[T], items: &mut [u8]) -> Result<(), ItemError> {
    dtype.write_items(rows, items)
}

/// Returns the text in the bytes of an item, without the NULs at its end.
#[inline]
fn text(bytes: &[u8]) -> &str {
    let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    std::str::from_utf8(&bytes[..length]).unwrap()
}

#[inline]
fn parts(item: &[u8; 36]) -> (f64, f64, u32, &str) {
    (
        f64::from_le_bytes(item[..8].try_into().unwrap()),
        f64::from_le_bytes(item[8..16].try_into().unwrap()),
        u32::from_le_bytes(item[16..20].try_into().unwrap()),
        text(&item[20..]),
    )
}

#[inline(never)]
pub fn read_by_hand(items: &[u8]) -> Vec<Borrowed<'_>> {
    let mut rows = Vec::with_capacity(items.len() / 36);
    for item in items.as_chunks().0 {
        let (ra, dec, id, name) = parts(item);
        rows.push(Borrowed { ra, dec, id, name });
    }
    rows
}

#[inline(never)]
pub fn read_by_hand_owned(items: &[u8]) -> Vec<Owned> {
    let mut rows = Vec::with_capacity(items.len() / 36);
    for item in items.as_chunks().0 {
        let (ra, dec, id, name) = parts(item);
        rows.push(Owned { ra, dec, id, name: name.into() });
    }
    rows
}

#[inline(never)]
pub fn write_by_hand(rows: &[Borrowed<'_>], items: &mut [u8]) {
    for (row, item) in rows.iter().zip(items.as_chunks_mut::<36>().0) {
        item[..8].copy_from_slice(&row.ra.to_le_bytes());
        item[8..16].copy_from_slice(&row.dec.to_le_bytes());
        item[16..20].copy_from_slice(&row.id.to_le_bytes());
        item[20..].fill(0);
        item[20..20 + row.name.len()].copy_from_slice(row.name.as_bytes());
    }
}
