//! The items of real files, arranged by the geometry, are equal to the arrays in NumPy.
//!
//! Decompression uses no shapes here: only the geometry puts the items in their places.
#![cfg(feature = "decompress")]

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::Path;

use b2nd_frame::Frame;
use b2nd_serde::Geometry;
use b2nd_serde::geometry::Chunk;

/// An array of a file, with its chunks decompressed, and the items that NumPy has for it.
struct Array {
    name: String,
    geometry: Geometry,
    typesize: usize,
    chunks: Vec<Vec<u8>>,
    items: Vec<u8>,
}

/// Converts a number to the bytes of an item.
type Counted = fn(u8) -> Vec<u8>;

/// Files whose items are the numbers from 0 on.
const COUNTED: &[(&str, Counted)] = &[
    ("int32_3x5.b2nd", |number| i32::from(number).to_le_bytes().into()),
    ("sparse.b2nd", |number| u16::from(number).to_be_bytes().into()),
    ("rank16.b2nd", |number| vec![number]),
    ("uint16_6x8.caterva", |number| u16::from(number).to_le_bytes().into()),
    ("sparse.caterva", |number| u16::from(number).to_le_bytes().into()),
    ("squeezed.caterva", |number| u16::from(number).to_le_bytes().into()),
    ("rank8.caterva", |number| f64::from(number).to_le_bytes().into()),
];

fn arrays() -> Result<Vec<Array>, Box<dyn Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut arrays = Vec::new();
    for entry in fs::read_dir(data.join("geometry"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "b2nd") {
            arrays.push(Array::open(&path, |_| Ok(fs::read(path.with_extension("items"))?))?);
        }
    }
    for (name, item) in COUNTED {
        let items = |nitems| Ok((0..u8::try_from(nitems)?).flat_map(item).collect());
        arrays.push(Array::open(&data.join(name), items)?);
    }
    let mut ranks: Vec<_> = arrays.iter().map(|array| array.geometry.ndim()).collect();
    ranks.sort_unstable();
    ranks.dedup();
    assert_eq!(ranks, [0, 1, 2, 3, 4, 5, 6, 8, 16]);
    Ok(arrays)
}

impl Array {
    /// Opens a file, or the folder of a sparse frame. `items` is called with the number of items in the array, and
    /// returns the bytes of these items.
    fn open(
        path: &Path,
        items: impl FnOnce(u64) -> Result<Vec<u8>, Box<dyn Error>>,
    ) -> Result<Self, Box<dyn Error>> {
        let name = path.display().to_string();
        let frame = Frame::open(path)?;
        let geometry = frame.array()?.ok_or("no array")?.geometry()?;
        let typesize = usize::try_from(frame.header().typesize)?;
        let mut places = frame.chunks()?;
        let mut chunks = Vec::new();
        while let Some(entry) = places.next().transpose()? {
            chunks.push(places.decompressed(&entry)?);
        }
        Ok(Self { name, typesize, chunks, items: items(geometry.nitems())?, geometry })
    }

    /// Copies the items of a slice from these chunks. Bytes of the result that no chunk provides are 0xee.
    fn gather<'g>(&self, chunks: impl Iterator<Item = Chunk<'g>>, nitems: usize) -> Option<Vec<u8>> {
        let mut array = vec![0xee; nitems * self.typesize];
        for chunk in chunks {
            let bytes = self.chunks.get(usize::try_from(chunk.number()).ok()?)?;
            for run in chunk.blocks().flat_map(|block| block.runs()) {
                let source = bytes.get(run.source(self.typesize)?)?;
                array.get_mut(run.target(self.typesize)?)?.copy_from_slice(source);
            }
        }
        Some(array)
    }

    /// The expected items of a slice, copied one by one from the items that NumPy has.
    fn expected(&self, slice: &[Range<u64>]) -> Vec<u8> {
        let mut numbers = vec![0];
        for (range, items) in slice.iter().zip(self.geometry.shape().iter()) {
            numbers =
                numbers.iter().flat_map(|number| range.clone().map(move |x| number * items + x)).collect();
        }
        let item = |number| {
            let byte = usize::try_from(number).expect("a small array") * self.typesize;
            &self.items[byte..byte + self.typesize]
        };
        numbers.into_iter().flat_map(item).copied().collect()
    }
}

#[test]
fn chunks_blocks_and_runs_put_the_array_together() -> Result<(), Box<dyn Error>> {
    for array in arrays()? {
        let geometry = &array.geometry;
        assert_eq!(geometry.nchunks(), array.chunks.len() as u64, "{}", array.name);
        let nitems = usize::try_from(geometry.nitems())?;
        assert_eq!(nitems * array.typesize, array.items.len(), "{}", array.name);
        let gathered = array.gather(geometry.chunks(), nitems);
        assert_eq!(gathered.as_ref(), Some(&array.items), "{}", array.name);
    }
    Ok(())
}

#[test]
fn every_coordinate_leads_to_its_item() -> Result<(), Box<dyn Error>> {
    for array in arrays()? {
        let (geometry, typesize) = (&array.geometry, array.typesize);
        assert!(array.chunks.iter().all(|chunk| Ok(chunk.len()) == geometry.chunk_nbytes(typesize)));

        let mut coordinates = vec![vec![]];
        for &items in geometry.shape().iter() {
            let longer = |before: &Vec<u64>| {
                let before = before.clone();
                (0..items).map(move |x| [before.as_slice(), &[x]].concat())
            };
            coordinates = coordinates.iter().flat_map(longer).collect();
        }
        assert_eq!(coordinates.len() * typesize, array.items.len());
        for (coordinate, item) in coordinates.iter().zip(array.items.chunks(typesize)) {
            let position = geometry.position(coordinate).ok_or("no such item")?;
            let byte = geometry.byte_offset(position, typesize).ok_or("no such byte")?;
            let chunk = &array.chunks[usize::try_from(position.chunk)?];
            assert_eq!(&chunk[byte..byte + typesize], item, "{} {coordinate:?}", array.name);
        }
    }
    Ok(())
}

#[test]
fn a_slice_is_put_together_from_the_chunks_it_touches() -> Result<(), Box<dyn Error>> {
    for array in arrays()? {
        let shape = array.geometry.shape();
        // Returns one of five ranges of a dimension: all items, the first item, the last item, the middle, or no item.
        let cut = |how: u64, items: u64| match how % 5 {
            0 => 0..items,
            1 => 0..items.min(1),
            2 => items.saturating_sub(1)..items,
            3 => items / 4..items - items / 4,
            _ => items / 2..items / 2,
        };
        for how in 0..50 {
            // The kind of range depends on `how` and on the dimension.
            let slice: Vec<_> =
                (0..).zip(shape.iter()).map(|(i, &items)| cut(how / (i * 2 + 1) + i, items)).collect();
            let expected = array.expected(&slice);
            let chunks = array.geometry.chunks_in(&slice)?;
            let gathered = array.gather(chunks, expected.len() / array.typesize);
            assert_eq!(gathered, Some(expected), "{} {slice:?}", array.name);
        }
    }
    Ok(())
}
