//! Without arguments, prints the names of all targets. With `seeds TARGET FOLDER`, writes the seeds of one target into
//! a folder.

use std::path::Path;
use std::{env, fs, io};

use b2nd_serde_fuzz::TARGETS;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, folder] = &arguments[..] else {
        for target in &TARGETS {
            println!("{}", target.name);
        }
        return Ok(());
    };
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.ok_or_else(|| io::Error::other(format!("no target {name}")))?;
    for (number, seed) in target.seeds().iter().enumerate() {
        fs::write(Path::new(folder).join(format!("seed-{number:03}")), seed)?;
    }
    Ok(())
}
