//! The addresses in a list: `--files-from`.

use std::iter;
use std::path::PathBuf;

use super::address::{Address, Inside, Location, path_of};
use super::bytes::{lines, open_or_stdin};
use super::failure::Failure;
use crate::problem::Problem;

/// The addresses to visit. If reading the list fails, the error is the last item.
pub(crate) type Roots = Box<dyn Iterator<Item = Result<Address, Failure>> + Send>;

pub(crate) fn listed(list: PathBuf, end: u8) -> Roots {
    let reader = match open_or_stdin(&list, "paths") {
        Ok(reader) => reader,
        Err(error) => return Box::new(iter::once(Err(Location::of(&list).failure(error)))),
    };
    let mut lines = lines(reader, end);
    let paths = iter::from_fn(move || {
        loop {
            match lines.next()? {
                Ok(line) => {
                    let line = without_return(line, end);
                    if !line.is_empty() {
                        return Some(listed_address(line));
                    }
                }
                Err(error) => return Some(Err(Location::of(&list).failure(error))),
            }
        }
    });
    // Every thread asks until it gets `None`. On a terminal, a second read after Ctrl-D would wait for input again.
    Box::new(paths.fuse())
}

/// Parses a line of a list as an address. Lines of `find` are read as paths, because they exist.
fn listed_address(line: Vec<u8>) -> Result<Address, Failure> {
    let address = Address::read(path_of(line));
    if address.inside == Inside::Stdin {
        let message =
            "standard input must be given as an argument, not in a list; a file of this name is ./-";
        return Err(address.location().failure(Problem::new("refused", message)));
    }
    Ok(address)
}

/// A line of a file from Windows also ends with a carriage return.
fn without_return(mut line: Vec<u8>, end: u8) -> Vec<u8> {
    if end == b'\n' && line.last() == Some(&b'\r') {
        line.pop();
    }
    line
}
