//! Which change is on: `MUTANT` has its number. With `MUTANTS_REACHED`, the numbers of all changes that are asked for are
//! added to that file.

extern crate std;

use std::env;
use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

struct Switch {
    on: u32,
    reached: Option<File>,
}

static SWITCH: OnceLock<Switch> = OnceLock::new();
static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

/// The one of these that is on, or 0. What a compiler computes is never changed.
pub(crate) const fn active(numbers: &'static [u32]) -> u32 {
    core::intrinsics::const_eval_select((numbers,), compiling, running)
}

const fn compiling(_: &'static [u32]) -> u32 {
    0
}

fn running(numbers: &'static [u32]) -> u32 {
    let switch = SWITCH.get_or_init(|| Switch {
        on: env::var("MUTANT").map_or(0, |number| number.parse().unwrap()),
        reached: env::var_os("MUTANTS_REACHED")
            .map(|path| File::options().append(true).create(true).open(path).unwrap()),
    });
    if let Some(mut file) = switch.reached.as_ref() {
        for &number in numbers {
            if !REACHED[number as usize].swap(true, Ordering::Relaxed) {
                // One write, and so one line, without an allocation. A test may limit how long files are.
                let mut line = [0; 12];
                let mut rest = &mut line[..];
                let _ = writeln!(rest, "{number}");
                let length = 12 - rest.len();
                let _ = file.write_all(&line[..length]);
            }
        }
    }
    if numbers.contains(&switch.on) { switch.on } else { 0 }
}
