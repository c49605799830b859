//! The price of a listing: `b2nd ls` over many small files, beside python-blosc2 and beside a bare loop of system calls.
//!
//! `benches/ls` runs it. The page goes to the standard output, and that of a whole run to `docs/BENCHMARKS_LS.md`.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use b2nd_serde_benches::machine::{compiler, processor, tenth_percentile, version_of};

/// How much is measured.
struct Plan {
    /// Files that are listed for the time.
    files: usize,
    /// Folders of as many files, listed at once for the memory.
    folders: usize,
    rounds: usize,
}

const WHOLE: Plan = Plan { files: 20_000, folders: 10, rounds: 10 };
const QUICK: Plan = Plan { files: 200, folders: 2, rounds: 1 };

/// What `b2nd ls` is asked for. The first is the one with goals.
const LISTINGS: [&[&str]; 5] =
    [&["--json", "--unordered"], &["--json", "--unordered", "-j", "1"], &["--json"], &["--summary"], &[]];

/// Bytes that the bare loop reads of each file.
const READ: usize = 512;

/// Files a second, in times of python-blosc2's.
const PYTHON_GOAL: f64 = 12.0;

/// Files a second, in times of the bare loop's.
const BARE_GOAL: f64 = 0.6;

/// Bytes at the peak, without an order.
const MEMORY_GOAL: f64 = 16.0 * MEBIBYTE;

/// The threads of `b2nd ls` on a machine with few cores: `MIN_JOBS` of the command.
const LS_THREADS: usize = 16;

const MEBIBYTE: f64 = 1024.0 * 1024.0;

fn main() {
    let is_whole = env::args().skip(1).eq(["--bench"]);
    let plan = if is_whole { WHOLE } else { QUICK };
    let peers = Peers::from_environment();
    let folder = peers.make_files(&plan);
    let listed = Files::of(&folder.join("0"));
    assert_eq!(listed.paths.len(), plan.files);
    peers.check(&listed);

    let mut times = Times {
        bare: Vec::new(),
        bare_threads: Vec::new(),
        python: Vec::new(),
        listings: LISTINGS.map(|_| Vec::new()),
    };
    for _ in 0..plan.rounds {
        times.python.push(peers.python(&listed.folder));
        for (times, options) in times.listings.iter_mut().zip(LISTINGS) {
            times.push(peers.list(&listed.folder, options));
        }
        times.bare.push(listed.bare_loop(1));
        times.bare_threads.push(listed.bare_loop(threads()));
    }
    let peaks = LISTINGS.map(|options| peers.peak(&folder, options));

    let page = page(&plan, &times, &peaks, &peers);
    println!("{page}");
    if is_whole {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("docs");
        fs::write(docs.join("BENCHMARKS_LS.md"), page).unwrap();
    }
}

/// The programs that are held against each other.
struct Peers {
    b2nd: PathBuf,
    python: PathBuf,
}

impl Peers {
    fn from_environment() -> Self {
        let of = |name| {
            PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: see benches/ls")))
        };
        Self { b2nd: of("B2ND"), python: of("B2ND_PYTHON") }
    }

    /// A folder with folders: in each the same files, which have been made once.
    fn make_files(&self, plan: &Plan) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("listing_{}", plan.files));
        if folder.join("made").exists() {
            return folder;
        }
        let _ = fs::remove_dir_all(&folder);
        let first = folder.join("0");
        let count = plan.files.to_string();
        let made = self.files_py().arg("make").arg(&first).arg(count).status().unwrap();
        assert!(made.success());
        for path in &Files::of(&first).paths {
            for number in 1..plan.folders {
                let link = folder.join(number.to_string()).join(path.strip_prefix(&first).unwrap());
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                fs::hard_link(path, link).unwrap();
            }
        }
        File::create(folder.join("made")).unwrap();
        folder
    }

    fn files_py(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/files.py"));
        command
    }

    fn ls(&self, folder: &Path, options: &[impl AsRef<OsStr>], stdout: Stdio) -> Child {
        Command::new(&self.b2nd).arg("ls").args(options).arg(folder).stdout(stdout).spawn().unwrap()
    }

    /// Checks that a listing tells every file's shape.
    fn check(&self, files: &Files) {
        for options in LISTINGS {
            let output = self.ls(&files.folder, options, Stdio::piped()).wait_with_output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let shapes = if options.contains(&"--summary") {
                text.split(' ').next().unwrap().parse().unwrap()
            } else {
                let shape = if options.contains(&"--json") { r#""shape":["# } else { "int32" };
                text.lines().filter(|line| line.contains(shape)).count()
            };
            assert!(output.status.success() && shapes == files.paths.len(), "{shapes} shapes of {options:?}");
        }
    }

    /// The time of a whole process, whose output is thrown away.
    fn list(&self, folder: &Path, options: &[&str]) -> Duration {
        let start = Instant::now();
        let status = self.ls(folder, options, Stdio::null()).wait().unwrap();
        let time = start.elapsed();
        assert!(status.success());
        time
    }

    /// The time of the loop alone, within one process.
    fn python(&self, folder: &Path) -> Duration {
        let output = self.files_py().arg("shapes").arg(folder).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (shapes, seconds) = text.trim().split_once(' ').unwrap();
        assert_eq!(shapes.parse(), Ok(Files::of(folder).paths.len()));
        Duration::from_secs_f64(seconds.parse().unwrap())
    }

    /// The most memory that a listing takes, in bytes; `None` where the system does not tell.
    fn peak(&self, folder: &Path, options: &[&str]) -> Option<f64> {
        let mut child = self.ls(folder, options, Stdio::null());
        let mut peak = None;
        while child.try_wait().unwrap().is_none() {
            peak = high_water_mark(child.id()).or(peak);
            thread::sleep(Duration::from_millis(1));
        }
        peak
    }
}

/// The most memory that a process had so far.
fn high_water_mark(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kibibytes =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))?;
    Some(kibibytes.trim().parse::<f64>().ok()? * 1024.0)
}

/// The files of a folder.
struct Files {
    folder: PathBuf,
    paths: Vec<PathBuf>,
}

impl Files {
    fn of(folder: &Path) -> Self {
        let mut paths = Vec::new();
        for inner in fs::read_dir(folder).unwrap() {
            let files = fs::read_dir(inner.unwrap().path()).unwrap();
            paths.extend(files.map(|file| file.unwrap().path()));
        }
        Self { folder: folder.into(), paths }
    }

    /// What the system takes to hand out the first bytes of each file, the files dealt out to so many threads.
    fn bare_loop(&self, threads: usize) -> Duration {
        let start = Instant::now();
        thread::scope(|scope| {
            for paths in self.paths.chunks(self.paths.len().div_ceil(threads)) {
                scope.spawn(move || {
                    for path in paths {
                        let mut bytes = [0; READ];
                        let read = File::open(path).unwrap().read(&mut bytes).unwrap();
                        assert!(read > 0);
                    }
                });
            }
        });
        start.elapsed()
    }
}

/// The times of all rounds.
struct Times {
    /// The bare loop in one thread.
    bare: Vec<Duration>,
    /// The bare loop in as many threads as `ls` takes by itself.
    bare_threads: Vec<Duration>,
    python: Vec<Duration>,
    listings: [Vec<Duration>; LISTINGS.len()],
}

fn page(plan: &Plan, times: &Times, peaks: &[Option<f64>; LISTINGS.len()], peers: &Peers) -> String {
    let mut page = String::from(INTRODUCTION);
    speeds(&mut page, plan, times).expect("a string takes everything");
    memory(&mut page, plan, peaks).expect("a string takes everything");
    conditions(&mut page, peers).expect("a string takes everything");
    page
}

const INTRODUCTION: &str = "\
# Benchmarks of `b2nd ls`

Written by `benches/ls`, which repeats it on another machine. Small files of python-blosc2, of 1 to 4 dimensions, in
folders of 1,000, all in the page cache. The contenders take turns; of each, the 10th percentile of its times counts.

- The bare loop opens, reads 512 bytes of and closes each file in Rust, and does nothing with them. The list of the files
  is made before. Each row stands beside a bare loop of as many threads as it has itself.
- python-blosc2 is a loop over `blosc2.open(path).shape` in one process. The list of the files is made before, and
  Python's start does not count.
- `b2nd ls` is the whole process: its start, the walk through the folders, and its output, to `/dev/null`.

";

#[allow(clippy::cast_precision_loss, reason = "far from 2^53")]
fn speeds(page: &mut String, plan: &Plan, times: &Times) -> std::fmt::Result {
    let speed = |times: &[Duration]| {
        let fastest = tenth_percentile(times.iter().map(Duration::as_secs_f64)).expect("at least one round");
        plan.files as f64 / fastest
    };
    let python = speed(&times.python);
    let bare = |threads| speed(if threads == 1 { &times.bare } else { &times.bare_threads });
    writeln!(
        page,
        "| {} files | threads | files a second | to python-blosc2 | to the bare loop |",
        plan.files
    )?;
    writeln!(page, "|---|---:|---:|---:|---:|")?;
    writeln!(page, "| goal | | | at least {PYTHON_GOAL} | at least {BARE_GOAL} |")?;
    let mut row = |name: &str, threads, speed: f64| {
        writeln!(
            page,
            "| {name} | {threads} | {speed:.0} | {:.1} | {:.2} |",
            speed / python,
            speed / bare(threads)
        )
    };
    for (options, times) in LISTINGS.iter().zip(&times.listings) {
        let threads = if options.ends_with(&["-j", "1"]) { 1 } else { threads() };
        row(&command(options), threads, speed(times))?;
    }
    row("bare loop", threads(), bare(threads()))?;
    row("bare loop", 1, bare(1))?;
    row("python-blosc2", 1, python)
}

/// How many threads `b2nd ls` takes where nothing is asked for.
fn threads() -> usize {
    thread::available_parallelism().map_or(LS_THREADS, |cores| cores.get().max(LS_THREADS))
}

fn memory(page: &mut String, plan: &Plan, peaks: &[Option<f64>; LISTINGS.len()]) -> std::fmt::Result {
    writeln!(page, "\n| {} files | MiB at the peak |", plan.files * plan.folders)?;
    writeln!(page, "|---|---:|")?;
    writeln!(page, "| goal with `--unordered` | at most {:.0} |", MEMORY_GOAL / MEBIBYTE)?;
    for (options, peak) in LISTINGS.iter().zip(peaks) {
        match peak {
            Some(peak) => writeln!(page, "| {} | {:.1} |", command(options), peak / MEBIBYTE)?,
            None => writeln!(page, "| {} | not measured |", command(options))?,
        }
    }
    Ok(())
}

fn command(options: &[&str]) -> String {
    format!("`{}`", [&["b2nd", "ls"], options].concat().join(" "))
}

fn conditions(page: &mut String, peers: &Peers) -> std::fmt::Result {
    let versions =
        "import blosc2, sys; print('python-blosc2', blosc2.__version__, 'Python', sys.version.split()[0])";
    let versions = Command::new(&peers.python).args(["-c", versions]).output().unwrap();
    writeln!(page, "\n| | |\n|---|---|")?;
    writeln!(page, "| command | `benches/ls` |")?;
    writeln!(page, "| processor | {} |", processor())?;
    writeln!(page, "| compiler | {}, release profile as cargo has it |", compiler())?;
    writeln!(page, "| peer | {} |", String::from_utf8_lossy(&versions.stdout).trim())?;
    writeln!(page, "| b2nd-serde | {} |", version_of("b2nd-serde"))
}
