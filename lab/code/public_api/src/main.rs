//! Prints the public items that rustdoc's JSON has, one a line.

use std::error::Error;

use public_api::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let json = std::env::args_os().nth(1).ok_or("usage: public-items FILE.json")?;
    // Derived and blanket implementations would hide the rest.
    let builder = Builder::from_rustdoc_json(json);
    let api =
        builder.omit_blanket_impls(true).omit_auto_trait_impls(true).omit_auto_derived_impls(true).build()?;
    print!("{api}");
    Ok(())
}
