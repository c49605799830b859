//! Prints the stars of a catalogue that are brighter than the given magnitude. Each item of the array is a struct:
//!
//! ```sh
//! cargo run -p b2nd-frame --example star_catalogue --features decompress -- stars.b2nd 0.1
//! ```

use std::error::Error;
use std::path::Path;

use b2nd_frame::Array;
use serde::Deserialize;

/// An item of the array. Each field is found by its name in the dtype, which python-blosc2 stored.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Star {
    /// The name in English.
    pub name: String,
    /// Right ascension in degrees.
    pub ra: f64,
    /// Declination in degrees.
    #[serde(rename = "dec")]
    pub declination: f64,
    /// The brightness: smaller is brighter.
    pub magnitude: f32,
    /// The star system: a single star, or several stars that look like one.
    pub system: System,
}

/// The struct in the field `system` of a star.
#[derive(Debug, PartialEq, Deserialize)]
pub struct System {
    /// The number of stars.
    pub components: u8,
    /// Whether there is more than one star.
    pub is_multiple: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let usage = "usage: star_catalogue PATH MAGNITUDE";
    let path = arguments.next().ok_or(usage)?;
    let magnitude = arguments.next().and_then(|text| text.to_str()?.parse().ok()).ok_or(usage)?;
    for star in brighter_than(magnitude, path.as_ref())? {
        let Star { name, ra, declination, magnitude, system } = star;
        let components = system.components;
        println!("{name:10} {ra:8.3}° {declination:+8.3}° {magnitude:+5.2}, components: {components}");
    }
    Ok(())
}

/// Returns the stars whose magnitude is smaller than `magnitude`. The rows are read in pieces, so the catalogue can be
/// larger than memory.
pub fn brighter_than(magnitude: f32, path: &Path) -> Result<Vec<Star>, b2nd_frame::Error> {
    let array = Array::open(path)?;
    let rows = array.whole().rows::<Star>()?;
    rows.filter(|star| star.as_ref().map_or(true, |star| star.magnitude < magnitude)).collect()
}
