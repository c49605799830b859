//! Writes rows to a new array. A row is a value that implements `Serialize`, and becomes one item.

use core::ops::Range;
use std::io::{Seek, Write};

use serde::Serialize;

use crate::chunk::expansion::zeroed;
use crate::error::Error;
use crate::slice::rows::misfit;
use crate::write::array_writer::ArrayWriter;

impl<W: Write + Seek> ArrayWriter<W> {
    /// Writes the items of a region from values that implement `Serialize`: one value for each item, in C order. The
    /// documentation of [`items`](b2nd_serde::dtype::items) lists the types that fit each dtype.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write). [`InvalidInput`](crate::ErrorKind::InvalidInput) if a value does not fit
    /// the dtype; in this case, nothing is written.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::{Array, Frame, FrameBuilder};
    /// use b2nd_serde::Meta;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Debug, PartialEq, Deserialize, Serialize)]
    /// struct Star {
    ///     ra: f64,
    ///     dec: f64,
    ///     name: String,
    /// }
    ///
    /// let dtype = "[('ra', '<f8'), ('dec', '<f8'), ('name', '<U8')]";
    /// let meta = Meta::with_default_shapes(&[2], 48, dtype)?;
    /// let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?.into_array_writer()?;
    /// let stars = [("Vega", 279.2, 38.8), ("Deneb", 310.4, 45.3)];
    /// let stars = stars.map(|(name, ra, dec)| Star { ra, dec, name: name.into() });
    /// writer.write_rows(&[0..2], &stars)?;
    ///
    /// let array = Array::new(Frame::read_at(writer.finish()?, 0)?)?;
    /// assert_eq!(array.whole().read_rows::<Star>()?, stars);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_rows<T: Serialize>(
        &mut self,
        region: &[Range<u64>],
        rows: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    ) -> Result<(), Error> {
        let dtype = self.meta().parse_dtype().map_err(Error::invalid_input)?;
        let dtype = dtype.ok_or_else(|| Error::invalid_input("the array has no dtype"))?;
        let rows = rows.into_iter();
        let mut items = zeroed(dtype.item_size().saturating_mul(rows.len()))?;
        dtype.write_items(rows, &mut items).map_err(|error| misfit("region", 0, &error))?;
        self.write(region, &items)
    }
}
