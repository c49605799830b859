//! Columns of tables: arrays for which python-blosc2 keeps derived data in other frames.

use std::path::{Component, Path, absolute};

use crate::error::Error;
use crate::find::store::{Store, is_table};
use crate::read::open::open_frame;
use crate::read::trailer::trailer_or_changing;
use crate::trailer::derived_layers::derived_from_columns;
use crate::write::destination::real;

/// The paths of the arrays of a table, relative to the folder of the table: two folders of arrays, and one array.
const PARTS: [&str; 3] = ["_cols", "_indexes", "_valid_rows.b2nd"];

/// Refuses to change the items of the array at this path, if the array is a part of a table that has [derived
/// data](crate::trailer::derived_layers). This data is in other frames, so one commit cannot change both.
pub(crate) fn refuse_column(path: &Path) -> Result<(), Error> {
    let unreadable = |error| Error::io("read", path, error);
    // The column of a table can be a link to another folder, so both the link and its target are checked.
    let paths = [absolute(path).map_err(unreadable)?, real(path).map_err(unreadable)?];
    let folders = paths.iter().flat_map(|path| path.ancestors().skip(1).map(move |folder| (path, folder)));
    for (path, folder) in folders {
        let part = path.strip_prefix(folder).ok().and_then(|rest| rest.components().next());
        let is_part = |part| PARTS.iter().any(|&name| part == Component::Normal(name.as_ref()));
        let table = folder.join(Store::TABLE_FILE);
        if !part.is_some_and(is_part) || !table.is_file() {
            continue;
        }
        let trailer = trailer_or_changing(&open_frame(&table)?)?;
        if let Some(derived) = derived_from_columns(&trailer).filter(|_| is_table(&trailer)) {
            return Err(Error::unsupported(format_args!(
                "the items belong to a table, whose {derived} are computed from them; only python-blosc2 can change both"
            )));
        }
    }
    Ok(())
}
