//! Counts the instructions of some operations. Other programs on the machine do not affect these counts.
//!
//! `benches/instructions` runs this program. Without arguments, the program runs itself under valgrind, and compares
//! the counts with those of `instructions.txt`.

use std::fmt::Write;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use b2nd_serde::{Meta, from_slice, to_vec};
use b2nd_serde_benches::frame_with;
use b2nd_serde_user::vecs::Vecs;
use b2nd_serde_user::{arrays, frame, meta, once, own_names, tuple, vecs};

/// A new count may exceed the count in the file by at most this percentage.
const TOLERANCE: u64 = 3;

/// The argument with which this program runs itself under valgrind. In that run, it calls the operations whose
/// instructions are counted.
const COUNT: &str = "--count";

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some(COUNT) => {
            each_operation(&mut |_, operation| {
                operation();
                measured(operation);
            });
            ExitCode::SUCCESS
        }
        Some("--write") => {
            fs::write(counts_file(), page(&conditions(), &count())).expect("a folder to write to");
            ExitCode::SUCCESS
        }
        _ => compare(),
    }
}

/// Calls `take` with the name and the function of each counted operation.
#[expect(clippy::too_many_lines, reason = "one list")]
fn each_operation(take: &mut impl FnMut(String, &dyn Fn())) {
    macro_rules! rank {
        ($rank:literal $module:ident) => {
            let mut take =
                |name: &str, operation: &dyn Fn()| take(format!("{name}, rank {}", $rank), operation);
            let value = Vecs::of_rank($rank);
            let bytes = &*to_vec(&value).unwrap();
            take("to_slice, Vecs", &|| {
                black_box(vecs::write(black_box(&value), &mut [0; 400]).unwrap());
            });
            take("to_vec, Vecs", &|| {
                black_box(vecs::write_vec(black_box(&value)).unwrap());
            });
            let named = own_names::OwnNames::from(Vecs::of_rank($rank));
            take("to_slice, Vecs under own names", &|| {
                black_box(own_names::write(black_box(&named), &mut [0; 400]).unwrap());
            });
            let unnamed = tuple::Tuple::from(Vecs::of_rank($rank));
            take("to_slice, Vecs in a tuple struct", &|| {
                black_box(tuple::write(black_box(&unnamed), &mut [0; 400]).unwrap());
            });
            let own: arrays::$module::Arrays = from_slice(bytes).unwrap();
            take("to_slice, arrays", &|| {
                black_box(arrays::$module::write(black_box(&own), &mut [0; 400]).unwrap());
            });
            let ready: Meta = from_slice(bytes).unwrap();
            take("to_slice, Meta", &|| {
                black_box(meta::write(black_box(&ready), &mut [0; 400]).unwrap());
            });
            take("from_slice, Vecs", &|| {
                black_box(vecs::read(black_box(bytes)).unwrap());
            });
            take("from_slice, Vecs under own names", &|| {
                black_box(own_names::read(black_box(bytes)).unwrap());
            });
            take("from_slice, Vecs in a tuple struct", &|| {
                black_box(tuple::read(black_box(bytes)).unwrap());
            });
            take("from_slice, arrays", &|| {
                black_box(arrays::$module::read(black_box(bytes)).unwrap());
            });
            take("from_slice, arrays by dims", &|| {
                black_box(arrays::$module::read_dims(black_box(bytes)).unwrap());
            });
            take("from_slice, arrays under own names", &|| {
                black_box(arrays::$module::read_own_names(black_box(bytes)).unwrap());
            });
            take("from_slice, arrays in a tuple struct", &|| {
                black_box(arrays::$module::read_tuple(black_box(bytes)).unwrap());
            });
            take("from_slice, arrays, in one place only", &|| {
                black_box(once::$module::read(black_box(bytes)).unwrap());
            });
            take("from_slice, Meta", &|| {
                black_box(meta::read(black_box(bytes)).unwrap());
            });
            let prefix = frame_with(bytes);
            take("Frame and its array", &|| {
                black_box(frame::read(black_box(&prefix)).unwrap());
            });
        };
    }
    rank! { 3 rank_3 }
    rank! { 16 rank_16 }
}

/// Calls an operation. Only the functions that are called from here are counted.
#[inline(never)]
fn measured(operation: &dyn Fn()) {
    operation();
    // Prevents a tail call, which callgrind would not attribute to this function.
    black_box(());
}

/// The name of each operation, and the number of its instructions. Instructions in other objects, such as the C
/// library, are not counted.
fn count() -> Vec<(String, u64)> {
    let program = env::current_exe().expect("a path");
    let out = program.with_extension("callgrind");
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .args(["--toggle-collect=*::measured", "--dump-after=*::measured"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(&program)
        .arg(COUNT)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.expect("valgrind").success(), "valgrind runs the program");
    let mut counts = Vec::new();
    each_operation(&mut |name, _| {
        let profile = out.with_extension(format!("callgrind.{}", counts.len() + 1));
        let text = fs::read_to_string(&profile).expect("a profile for each operation");
        fs::remove_file(profile).expect("it was there");
        counts.push((name, own_instructions(&text, &program)));
    });
    let _ = fs::remove_file(out);
    counts
}

/// The number of instructions in the code of the program itself, without those of shared libraries. In a profile of
/// callgrind, an `ob=` line names the program or a library. The lines after it have the costs of the code in this
/// program or library.
fn own_instructions(profile: &str, program: &Path) -> u64 {
    let mut lines = profile.lines();
    let (mut is_own, mut sum) = (false, 0);
    while let Some(line) = lines.next() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_own = Path::new(object) == program;
        } else if line.starts_with("calls=") {
            // The next line has the cost of the called function. It is skipped, because this cost is also in the lines
            // of the called function.
            lines.next();
        } else if is_own && line.starts_with(|start: char| start.is_ascii_digit()) {
            sum += line
                .split(' ')
                .nth(1)
                .and_then(|cost| cost.parse::<u64>().ok())
                .expect("a line and its cost");
        }
    }
    sum
}

fn counts_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.txt")
}

/// Describes the conditions on which the counts depend, such as the version of the compiler.
fn conditions() -> String {
    let rustc = output_of("rustc", "--version");
    let compiler = rustc.split(" (").next().unwrap_or_default();
    format!("{compiler}, {}, {}", output_of("getconf", "GNU_LIBC_VERSION"), env::consts::ARCH)
}

fn output_of(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    output.map_or(format!("no {program}"), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

const HEAD: &str = "\
# Instructions of one call, counted by callgrind, without those of the C library. `benches/instructions --write` writes
# this file. It is changed only in a commit that gives the reason.
";

fn page(conditions: &str, counts: &[(String, u64)]) -> String {
    let mut page = format!("{HEAD}{conditions}\n");
    for (name, count) in counts {
        writeln!(page, "{count:6} {name}").expect("a string takes everything");
    }
    page
}

/// Prints the new counts beside the counts in the file. Fails if a new count is more than `TOLERANCE` percent higher,
/// or is not in the file. If the conditions differ from those in the file, never fails.
fn compare() -> ExitCode {
    let file = fs::read_to_string(counts_file()).unwrap_or_default();
    let mut lines = file.lines().filter(|line| !line.starts_with('#'));
    let (known, here) = (lines.next().unwrap_or_default(), conditions());
    let known_counts: Vec<_> = lines.filter_map(|line| line.trim_start().split_once(' ')).collect();
    let mut is_higher = false;
    println!("instructions: the file's, those counted here");
    for (name, count) in count() {
        let known = known_counts.iter().find(|(_, known)| *known == name);
        let known = known.and_then(|(count, _)| count.parse::<u64>().ok());
        let mark =
            if known.is_none_or(|known| count * 100 > known * (100 + TOLERANCE)) { "  HIGHER" } else { "" };
        is_higher |= !mark.is_empty();
        let known = known.map_or("-".into(), |known| known.to_string());
        println!("{known:>6} {count:6} {name}{mark}");
    }
    if known != here {
        println!("not compared: the file was measured with {known}, this machine has {here}");
    } else if is_higher {
        println!(
            "more than {TOLERANCE} % above the file. If that has to be: benches/instructions --write, and say why"
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
