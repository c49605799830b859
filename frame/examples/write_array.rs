//! Writes an `ndarray` into a `.b2nd` file that python-blosc2 opens:
//!
//! ```sh
//! cargo run -p b2nd-frame --example write_array --features ndarray,compress -- waves.b2nd
//! python -c "import blosc2; print(blosc2.open('waves.b2nd')[:2, :4])"
//! ```

use std::error::Error;

use ndarray::Array;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: write_array PATH")?;
    let waves = Array::linspace(0.0, 1000.0, 600_000).sin().into_shape_with_order((1000, 600))?;
    b2nd_frame::write_array(path, waves.view())?;
    Ok(())
}
