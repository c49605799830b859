//! The price of a new frame: ready chunks written with a `FrameWriter`, beside python-blosc2 and a bare write.
//!
//! `benches/write` runs it. The page goes to the standard output, and that of a whole run to `docs/BENCHMARKS_WRITE.md`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, iter};

use b2nd_frame::{Frame, FrameBuilder};
use b2nd_serde::{Meta, Shapes};
use b2nd_serde_benches::machine::{compiler, processor, tenth_percentile, version_of};
use blosc2_pure_rs::compress::{CParams, compress_chunk};

/// How much is measured.
struct Plan {
    /// For each size of a chunk in bytes, the number of chunks.
    arrays: [(usize, usize); 3],
    rounds: usize,
    /// How often the contenders of this process take turns in a round.
    turns: usize,
    /// The chunks of the array whose memory is measured.
    many: usize,
}

const WHOLE: Plan = Plan {
    arrays: [(1 << 10, 1 << 12), (1 << 16, 1 << 8), (1 << 22, 1 << 2)],
    rounds: 4,
    turns: 8,
    many: 1_000_000,
};
const QUICK: Plan =
    Plan { arrays: [(1 << 10, 16), (1 << 16, 4), (1 << 22, 1)], rounds: 1, turns: 1, many: 1000 };

/// The time of ours, in times of the bare write's. How long a sync takes is the disk's choice, so the others have none.
const GOAL: f64 = 1.1;

const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// What takes turns in this process.
const CONTENDERS: [(&str, Contender); 4] = [
    ("`write_to` a file", |array, path| array.write_to(path)),
    ("bare write into a file", |array, path| array.bare(path, false)),
    ("`create`, which syncs", |array, path| array.create(path)),
    ("bare write, and a sync", |array, path| array.bare(path, true)),
];

type Contender = fn(&Array, &Path);

const PEERS: [&str; 2] =
    ["python-blosc2, `insert_chunk` with `urlpath`", "python-blosc2, `insert_chunk`, `to_cframe`, write"];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [mode, chunks, path] = &arguments[..] {
        assert_eq!(mode, "--many");
        return write_many(chunks.parse().unwrap(), Path::new(path));
    }
    let is_whole = arguments == ["--bench"];
    let plan = if is_whole { WHOLE } else { QUICK };
    let python =
        PathBuf::from(env::var_os("B2ND_PYTHON").expect("B2ND_PYTHON is not set: see benches/write"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("writing");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();

    let measured =
        plan.arrays.map(|(len, count)| Measured::of(&Array::new(len, count), &plan, &python, &folder));
    let peaks = [1, plan.many].map(|chunks| peak(chunks, &folder.join("many.b2nd")));
    fs::remove_dir_all(&folder).unwrap();
    let mut page = String::from(INTRODUCTION);
    tables(&mut page, &plan, &measured).expect("a string takes everything");
    memory(&mut page, &plan, peaks).expect("a string takes everything");
    conditions(&mut page, &python).expect("a string takes everything");
    println!("{page}");
    if is_whole {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("docs");
        fs::write(docs.join("BENCHMARKS_WRITE.md"), page).unwrap();
    }
}

/// An array of one dimension, whose chunks are ready.
struct Array {
    chunk_len: usize,
    chunks: Vec<Vec<u8>>,
}

impl Array {
    /// Chunks that cannot be compressed, so that they have their size.
    fn new(chunk_len: usize, count: usize) -> Self {
        let mut state = 1_u64;
        let random = iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        let mut random = random.flatten();
        let parameters = CParams {
            typesize: 1,
            blocksize: blocksize(chunk_len).try_into().unwrap(),
            clevel: 0,
            ..CParams::default()
        };
        let chunks = iter::repeat_with(|| {
            compress_chunk(&random.by_ref().take(chunk_len).collect::<Vec<u8>>(), &parameters).unwrap()
        });
        Self { chunk_len, chunks: chunks.take(count).collect() }
    }

    fn builder(&self) -> FrameBuilder {
        builder(self.chunk_len, self.chunks.len())
    }

    fn write_to(&self, path: &Path) {
        let mut writer = self.builder().write_to(File::create(path).unwrap()).unwrap();
        for (number, chunk) in (0..).zip(&self.chunks) {
            writer.chunk(number, chunk).unwrap();
        }
        writer.finish().unwrap();
    }

    fn create(&self, path: &Path) {
        let mut writer = self.builder().create(path).unwrap();
        for (number, chunk) in (0..).zip(&self.chunks) {
            writer.chunk(number, chunk).unwrap();
        }
        writer.finish().unwrap();
    }

    fn bare(&self, path: &Path, syncs: bool) {
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path).unwrap());
        for chunk in &self.chunks {
            file.write_all(chunk).unwrap();
        }
        let file = file.into_inner().unwrap();
        if syncs {
            file.sync_all().unwrap();
        }
    }
}

fn blocksize(chunk_len: usize) -> usize {
    chunk_len.min(1 << 15)
}

fn builder(chunk_len: usize, count: usize) -> FrameBuilder {
    let shape = [i64::try_from(chunk_len * count).unwrap()];
    let [chunkshape, blockshape] = [chunk_len, blocksize(chunk_len)].map(|len| [i32::try_from(len).unwrap()]);
    let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
    FrameBuilder::new(Meta::new(shapes, "|u1").unwrap())
}

/// The times of one array, in seconds.
struct Measured {
    contenders: [f64; CONTENDERS.len()],
    peers: [f64; PEERS.len()],
}

impl Measured {
    fn of(array: &Array, plan: &Plan, python: &Path, folder: &Path) -> Self {
        let ready = folder.join("ready");
        fs::write(&ready, array.chunks.concat()).unwrap();
        let mut times = CONTENDERS.map(|_| Vec::new());
        let mut peers = PEERS.map(|_| Vec::new());
        for _ in 0..plan.rounds {
            for _ in 0..plan.turns {
                for (times, (_, write)) in times.iter_mut().zip(CONTENDERS) {
                    let path = folder.join("new");
                    times.push(time(|| write(array, &path)));
                    fs::remove_file(&path).unwrap();
                }
            }
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/write.py");
            let numbers = [array.chunks.len(), array.chunk_len].map(|number| number.to_string());
            let mut command = Command::new(python);
            command.arg(script).arg(&ready).args(numbers).arg(folder.join("new.b2frame"));
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            for (times, seconds) in peers.iter_mut().zip(text.split_whitespace()) {
                times.push(seconds.parse().unwrap());
            }
        }
        let path = folder.join("checked.b2nd");
        array.write_to(&path);
        assert_eq!(Frame::open(&path).unwrap().check().unwrap(), []);
        fs::remove_file(path).unwrap();
        let fastest = |times: Vec<f64>| tenth_percentile(times.into_iter()).expect("at least one round");
        Self { contenders: times.map(fastest), peers: peers.map(fastest) }
    }
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    Duration::as_secs_f64(&start.elapsed())
}

/// The process whose memory is measured: it writes chunks of 64 bytes, and says how much it took.
fn write_many(count: usize, path: &Path) {
    let array = Array::new(64, 1);
    let mut writer = builder(64, count).create(path).unwrap();
    for number in 0..writer.nchunks() {
        writer.chunk(number, &array.chunks[0]).unwrap();
    }
    let frame = writer.finish().unwrap();
    assert_eq!(frame.header().nchunks(), Some(count.try_into().unwrap()));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    println!("{}", peak.unwrap_or_default());
}

/// The most memory of a process that writes as many chunks, in bytes; `None` where the system does not tell.
fn peak(chunks: usize, path: &Path) -> Option<f64> {
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args(["--many", &chunks.to_string()]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_file(path).unwrap();
    let kibibytes: Option<f64> = String::from_utf8(output.stdout).unwrap().trim().parse().ok();
    kibibytes.map(|kibibytes| kibibytes * 1024.0)
}

const INTRODUCTION: &str = "\
# Benchmarks of `FrameWriter`

Written by `benches/write`, which repeats it on another machine. Chunks that are ready, and cannot be compressed, become a
new frame. The contenders take turns; of each, the 10th percentile of its times counts.

- The bare write puts the same chunks one after another into a file, through a buffer of 64 KiB, and does
  nothing else.
- Sparse frames are left out: most of their time is the file system's for a new file, which changes with its state.
- python-blosc2 writes a super-chunk in one thread. Its start and the reading of the chunks do not count. It does not sync.

";

fn tables(page: &mut String, plan: &Plan, measured: &[Measured; 3]) -> std::fmt::Result {
    let sizes = plan.arrays.map(|(len, count)| format!("{count} of {} KiB", len >> 10)).join(" | ");
    writeln!(page, "Times in those of the bare write:\n")?;
    writeln!(page, "| chunks | goal | {sizes} |\n|---|---|---:|---:|---:|")?;
    for (pair, names) in CONTENDERS.chunks_exact(2).enumerate() {
        let ratios = measured
            .each_ref()
            .map(|measured| measured.contenders[2 * pair] / measured.contenders[2 * pair + 1]);
        let ratios = ratios.map(|ratio| {
            let mark = if pair == 0 && (ratio * 100.0).round() / 100.0 > GOAL { "**" } else { "" };
            format!("{mark}{ratio:.2}{mark}")
        });
        let goal = if pair == 0 { format!("at most {GOAL}") } else { "report".into() };
        writeln!(page, "| {}, to {} | {goal} | {} |", names[0].0, names[1].0, ratios.join(" | "))?;
    }
    for (peer, name) in PEERS.iter().enumerate() {
        let ratios = measured
            .each_ref()
            .map(|measured| format!("{:.2}", measured.peers[peer] / measured.contenders[1]));
        writeln!(page, "| {name}, to {} | report | {} |", CONTENDERS[1].0, ratios.join(" | "))?;
    }
    writeln!(page, "\nA ratio over its goal is in bold. The times behind them, in ms:\n")?;
    writeln!(page, "| chunks | {sizes} |\n|---|---:|---:|---:|")?;
    let names = CONTENDERS.iter().map(|(name, _)| name).chain(&PEERS);
    for (row, name) in names.enumerate() {
        let times = measured.each_ref().map(|measured| {
            let seconds =
                measured.contenders.iter().chain(&measured.peers).nth(row).expect("as many times as names");
            format!("{:.2}", seconds * 1000.0)
        });
        writeln!(page, "| {name} | {} |", times.join(" | "))?;
    }
    Ok(())
}

fn memory(page: &mut String, plan: &Plan, peaks: [Option<f64>; 2]) -> std::fmt::Result {
    writeln!(page, "\n| chunks of one `create` | MiB at the peak |\n|---|---:|")?;
    for (chunks, peak) in [1, plan.many].into_iter().zip(peaks) {
        let peak = peak.map_or("not measured".into(), |peak| format!("{:.1}", peak / MEBIBYTE));
        writeln!(page, "| {chunks} | {peak} |")?;
    }
    Ok(())
}

fn conditions(page: &mut String, python: &Path) -> std::fmt::Result {
    let versions =
        "import blosc2, sys; print('python-blosc2', blosc2.__version__, 'Python', sys.version.split()[0])";
    let versions = Command::new(python).args(["-c", versions]).output().unwrap();
    let date = Command::new("date").args(["-u", "+%F"]).output().unwrap();
    writeln!(page, "\n| | |\n|---|---|")?;
    writeln!(page, "| command | `benches/write` |")?;
    writeln!(page, "| date | {} |", String::from_utf8_lossy(&date.stdout).trim())?;
    writeln!(page, "| processor | {} |", processor())?;
    writeln!(page, "| compiler | {}, release profile as cargo has it |", compiler())?;
    writeln!(page, "| peer | {} |", String::from_utf8_lossy(&versions.stdout).trim())?;
    writeln!(page, "| b2nd-serde | {} |", version_of("b2nd-serde"))
}
