//! Lists the Blosc2 arrays in a folder and its subfolders, one line each, without reading their data:
//!
//! ```sh
//! cargo run -p b2nd-frame --example catalogue -- frame/tests/data
//! ```
//!
//! The command `b2nd ls` does the same faster, and has more options.

use std::io::{self, Write};
use std::path::Path;
use std::{env, fs};

use b2nd_frame::{Frame, is_sparse_frame};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let mut stdout = io::stdout().lock();
    match catalogue(Path::new(&folder), &mut |line| writeln!(stdout, "{line}")) {
        // A broken pipe is not an error here: the output goes to a program such as `head`, which has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Calls a function with a line for each file that has one of the extensions of Blosc2.
pub fn catalogue(folder: &Path, print: &mut dyn FnMut(String) -> io::Result<()>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        // A folder that is a sparse frame is one array, with a file for each chunk, so its files are not listed. Links
        // to folders are not followed, because they may form a loop.
        if entry.file_type()?.is_dir() && !is_sparse_frame(&path) {
            catalogue(&path, print)?;
        } else if matches!(extension, Some("b2nd" | "b2frame" | "caterva")) {
            let line = line(&path).unwrap_or_else(|error| error.to_string());
            print(format!("{}\t{line}", path.display()))?;
        }
    }
    Ok(())
}

fn line(path: &Path) -> Result<String, b2nd_frame::Error> {
    let frame = Frame::open(path)?;
    let header = frame.header();
    let what = match frame.array()? {
        Some(array) => format!("{:?}\t{}", array.shape(), array.dtype().unwrap_or("no dtype")),
        None => format!("no array, but {} bytes in chunks", header.nbytes),
    };
    Ok(format!("{what}\t{} of {} bytes", header.cbytes, header.nbytes))
}
