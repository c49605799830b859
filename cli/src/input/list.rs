//! The addresses in a list: `--files-from`.

use std::iter;
use std::path::PathBuf;

use super::address::{Address, Inside, Location, path_from_bytes};
use super::bytes::{lines, open_or_stdin};
use super::failure::Failure;
use crate::code;
use crate::problem::Problem;

/// The addresses to visit. If reading the list of --files-from fails, the failure is the last item.
pub(crate) type Roots = Box<dyn Iterator<Item = Result<Address, Failure>> + Send>;

pub(crate) fn listed(list: PathBuf, end: u8) -> Roots {
    let reader = match open_or_stdin(&list, "paths") {
        Ok(reader) => reader,
        Err(error) => return Box::new(iter::once(Err(Location::new(&list).failure(error)))),
    };
    Box::new(lines(reader, end).filter_map(move |line| match line {
        Ok(mut line) => {
            // A line of a file from Windows also ends with a carriage return.
            if end == b'\n' {
                line.pop_if(|last| *last == b'\r');
            }
            (!line.is_empty()).then(|| listed_address(line))
        }
        Err(error) => Some(Err(Location::new(&list).failure(error))),
    }))
}

/// Parses a line of a list as an address. A path that exists wins over a member or an offset, so the lines that the
/// program `find` prints are read as paths.
fn listed_address(line: Vec<u8>) -> Result<Address, Failure> {
    let address = Address::read(path_from_bytes(line));
    if address.inside == Inside::Stdin {
        let message =
            "standard input must be given as an argument, not in a list; a file of this name is ./-";
        return Err(address.location().failure(Problem::new(code::INVALID_INPUT, message)));
    }
    Ok(address)
}
