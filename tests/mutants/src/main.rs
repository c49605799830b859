//! Tries every change of the library that cargo-mutants lists, without a build for each: most stand in one build, and a
//! variable of the environment says which one is on. Each test is run once to find which changes it reaches. Then the tests
//! that reach a change are run with it, the quickest first, until one fails.
//!
//! A change that does not compile among the others is built alone, as cargo-mutants does it, and so is one that only the
//! compiler computes. Each outcome is a line of target/mutants/outcomes.tsv: a word, the change, a hash of its file, and a
//! detail.
//!
//! | word | what |
//! |---|---|
//! | caught | tests failed that pass without the change |
//! | timeout | they did not end |
//! | missed | all tests that reach it passed |
//! | unreached | no test reaches it |
//! | unviable | it does not compile |
//! | unsure | the tests failed without the change too |
//! | error | something could not be run |

mod list;
mod weave;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use list::Mutant;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The test programs with their packages. That of the command looks at what the library shows.
const PROGRAMS: [(&str, &str); 7] = [
    ("b2nd-serde", "--lib"),
    ("b2nd-serde", "--test=format"),
    ("b2nd-serde", "--test=dtype"),
    ("b2nd-serde", "--test=geometry"),
    ("b2nd-serde", "--test=frame"),
    ("b2nd-serde", "--test=alone"),
    ("b2nd", "--test=command"),
];
/// What a test may take of memory: a change can make a loop endless.
const MEMORY: &str = "--as=4294967296";
/// Longer than a build, or the tests of a program, take.
const LONG: Duration = Duration::from_secs(600);

/// Outcomes after which a change need not be tried again.
const NOTICED: [&str; 3] = ["caught", "timeout", "unviable"];

/// What came of a change, in a word, and what showed it.
struct Outcome {
    word: &'static str,
    detail: String,
}

impl Outcome {
    fn new(word: &'static str, detail: impl Into<String>) -> Self {
        Self { word, detail: detail.into() }
    }
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let iterates = arguments.first().is_some_and(|argument| argument == "--iterate");
    if iterates {
        arguments.remove(0);
    }
    let folder = env::current_dir()?.join("target/mutants");
    fs::create_dir_all(&folder)?;
    let report = folder.join("outcomes.tsv");
    let earlier = if iterates { fs::read_to_string(&report)? } else { String::new() };

    // All that is tried comes from the copies, as the sources may change meanwhile.
    let together = Tree::copy(&folder, "together", "1")?;
    let alone = Tree::copy(&folder, "alone", "0")?;
    let noticed = earlier.lines().filter(|line| NOTICED.contains(&cell(line, 0)));
    let noticed: Vec<&str> = noticed.filter(|line| alone.has(line)).collect();
    let known: BTreeSet<&str> = noticed.iter().map(|line| cell(line, 1)).collect();

    let mut list = Command::new("cargo");
    list.args(["mutants", "--list", "--json", "--package", "b2nd-serde"]).args(&arguments);
    let mut mutants: Vec<Mutant> = serde_json::from_slice(&output(list.current_dir(&alone.root))?)?;
    let listed = mutants.len();
    mutants.retain(|mutant| !known.contains(&*mutant.name));
    println!("{listed} changes, {} of them not noticed yet", mutants.len());

    let Places { mut left_out, constant } = together.weave_all(&alone, &mutants)?;
    println!("{} do not compile beside the others", left_out.len());
    let tests = together.tests()?;
    let reached: BTreeSet<usize> = tests.iter().flat_map(|test| &test.reached).copied().collect();
    left_out.extend(constant.difference(&reached));
    println!("{} tests; {} changes are tried alone", tests.len(), left_out.len());

    let mut file = fs::File::create(&report)?;
    for line in noticed {
        writeln!(file, "{line}")?;
    }
    // Once, as each change that is tried alone stands in its file meanwhile.
    let mut hashes = BTreeMap::<&str, String>::new();
    for mutant in &mutants {
        hashes.entry(&mutant.file).or_insert_with(|| alone.hash(&mutant.file));
    }
    let record = |number: usize, outcome: Result<Outcome>| {
        let Outcome { word, detail } =
            outcome.unwrap_or_else(|error| Outcome::new("error", format!("{:?}", error.to_string())));
        let Mutant { file: path, name, .. } = &mutants[number - 1];
        let line = format!("{word}\t{name}\t{}\t{detail}\n", hashes[&**path]);
        // One write, and so one line.
        (&file).write_all(line.as_bytes()).unwrap_or_else(|error| eprintln!("{error}: {line}"));
    };
    let next = AtomicUsize::new(1);
    thread::scope(|scope| {
        for _ in 0..workers() {
            scope.spawn(|| {
                let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
                for number in numbers.take_while(|&number| number <= mutants.len()) {
                    if !left_out.contains(&number) {
                        record(number, together.outcome(number, &tests));
                    }
                }
            });
        }
        scope.spawn(|| {
            // Those that are known to compile come last, as their tests have to be built.
            let (last, first): (Vec<_>, Vec<_>) =
                left_out.iter().partition(|number| constant.contains(number));
            for number in first.into_iter().chain(last) {
                record(number, alone.outcome_alone(&mutants[number - 1], &tests));
            }
        });
    });

    let mut counts = BTreeMap::<String, usize>::new();
    for line in fs::read_to_string(&report)?.lines() {
        *counts.entry(cell(line, 0).to_owned()).or_default() += 1;
    }
    println!("{counts:?}; target/mutants/outcomes.tsv has each");
    Ok(())
}

fn cell(line: &str, number: usize) -> &str {
    line.split('\t').nth(number).unwrap_or_default()
}

fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Which changes do not stand in the common build.
struct Places {
    left_out: BTreeSet<usize>,
    /// These do, but where the compiler may compute them, and they are not on then.
    constant: BTreeSet<usize>,
}

/// A test, and what is known of it.
struct Test {
    /// Its number in [`PROGRAMS`], and the program in the common build.
    program: (usize, PathBuf),
    name: String,
    time: Duration,
    reached: BTreeSet<usize>,
}

/// A copy of the repository.
struct Tree {
    root: PathBuf,
    /// The files that are no sources of the library, with their bytes: a change can make a test write into them.
    others: Vec<(PathBuf, Vec<u8>)>,
    /// What is built of all copies.
    build: PathBuf,
    /// One build for all changes is worth the time to make it a quick one.
    optimization: &'static str,
}

impl Tree {
    fn copy(folder: &Path, name: &str, optimization: &'static str) -> Result<Self> {
        let root = folder.join(name);
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        let files = String::from_utf8(output(Command::new("git").args(["ls-files", "-z"]))?)?;
        let mut others = Vec::new();
        for file in files.split_terminator('\0') {
            let to = root.join(file);
            fs::create_dir_all(to.parent().ok_or("a file without a folder")?)?;
            fs::copy(file, &to)?;
            if !file.starts_with("src/") {
                others.push((to, fs::read(file)?));
            }
        }
        Ok(Self { root, others, build: folder.join("build"), optimization })
    }

    /// Makes the files that tests read what they were; false if they still are.
    fn restore(&self) -> Result<bool> {
        let mut is_needed = false;
        for (path, bytes) in &self.others {
            if fs::read(path).ok().as_ref() != Some(bytes) {
                fs::write(path, bytes)?;
                is_needed = true;
            }
        }
        Ok(is_needed)
    }

    fn source(&self, file: &str) -> Result<String> {
        Ok(fs::read_to_string(self.root.join(file))?)
    }

    fn hash(&self, file: &str) -> String {
        let mut hasher = DefaultHasher::new();
        self.source(file).unwrap_or_default().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Whether a line of a report is about a file as it is here.
    fn has(&self, line: &str) -> bool {
        let file = cell(line, 1).split(':').next().unwrap_or_default();
        cell(line, 2) == self.hash(file)
    }

    /// A command of cargo for a package.
    fn cargo(&self, package: &str, arguments: &[&str]) -> Command {
        let mut cargo = Command::new("timeout");
        cargo.arg(LONG.as_secs().to_string()).arg("cargo").args(arguments);
        cargo.args(["--package", package, "--message-format", "json"]);
        if package == "b2nd-serde" {
            cargo.arg("--all-features");
        }
        cargo.current_dir(&self.root).stderr(Stdio::null());
        // The switch needs what is not stable, to stand in constant functions. The lints of the compiler are no tests.
        cargo.env("RUSTC_BOOTSTRAP", "b2nd_serde").env("RUSTFLAGS", "--cap-lints=warn");
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_OPT_LEVEL", self.optimization);
        cargo.env("CARGO_TARGET_DIR", &self.build);
        cargo
    }

    /// Builds a test program; or what the compiler has against it.
    fn program(&self, (package, argument): (&str, &str)) -> Result<std::result::Result<PathBuf, Vec<Value>>> {
        let messages = match messages(&mut self.cargo(package, &["test", "--no-run", argument]))? {
            Ok(messages) => messages,
            Err(errors) => return Ok(Err(errors)),
        };
        let built = messages.iter().filter(|message| message["profile"]["test"] == true);
        let program = built.filter_map(|message| message["executable"].as_str()).next_back();
        Ok(Ok(program.ok_or_else(|| format!("{argument} builds no program"))?.into()))
    }

    /// Puts all changes into the copy, and returns which cannot be there with the others. The sources are those of another
    /// copy.
    fn weave_all(&self, sources: &Self, mutants: &[Mutant]) -> Result<Places> {
        let switch = include_str!("switch.rs").replace("COUNT", &(mutants.len() + 1).to_string());
        fs::write(self.root.join("src/mutants.rs"), switch)?;
        let library = sources.source("src/lib.rs")?;
        fs::write(
            self.root.join("src/lib.rs"),
            format!("#![feature(core_intrinsics, const_eval_select)]\n{library}\nmod mutants;\n"),
        )?;
        let mut files = BTreeMap::<&str, Vec<(usize, &Mutant)>>::new();
        for (number, mutant) in (1..).zip(mutants) {
            files.entry(&mutant.file).or_default().push((number, mutant));
        }

        let mut left_out = BTreeSet::new();
        loop {
            let mut places = HashMap::new();
            let mut placed = BTreeSet::<usize>::new();
            let mut constant = BTreeSet::<usize>::new();
            for (&file, mutants) in files.iter().filter(|(file, _)| **file != "src/lib.rs") {
                let mutants: Vec<_> =
                    mutants.iter().filter(|(number, _)| !left_out.contains(number)).copied().collect();
                let woven = weave::weave(&sources.source(file)?, &mutants)?;
                fs::write(self.root.join(file), &woven.text)?;
                placed.extend(&woven.placed);
                constant.extend(&woven.constant);
                places.insert(file, woven);
            }
            left_out.extend((1..=mutants.len()).filter(|number| !placed.contains(number)));

            let errors = match messages(&mut self.cargo("b2nd-serde", &["check"]))? {
                Ok(_) => return Ok(Places { constant: &constant & &placed, left_out }),
                Err(errors) => errors,
            };
            let before = left_out.len();
            let mut unplaced = Vec::new();
            for error in &errors {
                let guilty = guilty(error, &places);
                if guilty.is_empty() {
                    unplaced.push(error["rendered"].as_str().unwrap_or_default());
                }
                left_out.extend(guilty);
            }
            if left_out.len() == before {
                return Err(format!("errors that no change explains:\n{}", unplaced.join("\n")).into());
            }
        }
    }

    /// All tests that pass without a change, and which changes each reaches.
    fn tests(&self) -> Result<Vec<Test>> {
        let mut tests = Vec::new();
        for (number, &program) in PROGRAMS.iter().enumerate() {
            let built = self.program(program)?.map_err(|_| format!("{program:?} does not compile"))?;
            let list = output(Command::new(&built).args(["--list", "--format", "terse"]))?;
            for name in String::from_utf8(list)?.lines().filter_map(|line| line.strip_suffix(": test")) {
                tests.push(((number, built.clone()), name.to_owned()));
            }
        }
        let tests = Mutex::new(tests);
        let known = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for worker in 0..workers() {
                let (tests, known) = (&tests, &known);
                scope.spawn(move || {
                    let list = self.build.join(format!("reached_{worker}"));
                    while let Some((program, name)) = tests.lock().ok().and_then(|mut tests| tests.pop()) {
                        let _ = fs::remove_file(&list);
                        let start = Instant::now();
                        let variable = ("MUTANTS_REACHED", list.to_str().unwrap_or_default());
                        let outcome = self.run(&program.1, &[&name], LONG, variable);
                        let time = start.elapsed();
                        if !matches!(outcome, Ok(None)) {
                            println!("not used, as it fails without a change: {name}");
                            continue;
                        }
                        let reached = fs::read_to_string(&list).unwrap_or_default();
                        let reached = reached.lines().filter_map(|number| number.parse().ok()).collect();
                        if let Ok(mut known) = known.lock() {
                            known.push(Test { program, name, time, reached });
                        }
                    }
                });
            }
        });
        let mut tests = known.into_inner()?;
        tests.sort_by_key(|test| test.time);
        Ok(tests)
    }

    /// What the tests say of a change that stands among the others.
    fn outcome(&self, number: usize, tests: &[Test]) -> Result<Outcome> {
        let reaching: Vec<_> = tests.iter().filter(|test| test.reached.contains(&number)).collect();
        if reaching.is_empty() {
            return Ok(Outcome::new("unreached", ""));
        }
        // Some at a time, as each start costs time too.
        let mut batches: Vec<(&Path, Vec<&str>, Duration)> = Vec::new();
        for test in &reaching {
            let open =
                batches.iter_mut().rev().take(PROGRAMS.len()).find(|(program, _, time)| {
                    *program == test.program.1 && *time < Duration::from_millis(400)
                });
            if let Some((_, names, time)) = open {
                names.push(&test.name);
                *time += test.time;
            } else {
                batches.push((&test.program.1, vec![&test.name], test.time));
            }
        }
        let number = number.to_string();
        for (program, names, time) in &batches {
            let limit = Duration::from_secs(5) + 10 * *time;
            let run = |number: &str| self.run(program, names, limit, ("MUTANT", number));
            let mut outcome = run(&number)?;
            // A change before this one may have written into what the tests read.
            if outcome.is_some() && self.restore()? {
                outcome = run(&number)?;
                self.restore()?;
            }
            if let Some(outcome) = outcome {
                let without = run("0")?;
                return Ok(without.map_or(outcome, |without| Outcome::new("unsure", without.detail)));
            }
        }
        Ok(Outcome::new("missed", format!("by {} tests", reaching.len())))
    }

    /// Runs tests of a program one after the other, and returns what was noticed.
    fn run(
        &self,
        program: &Path,
        names: &[&str],
        limit: Duration,
        variable: (&str, &str),
    ) -> Result<Option<Outcome>> {
        let mut command = Command::new("timeout");
        command.args(["--kill-after", "1", &limit.as_secs().to_string(), "prlimit", MEMORY]).arg(program);
        command.args(["--exact", "--test-threads", "1"]).args(names).env(variable.0, variable.1);
        command.env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", &self.root);
        command.env("PROPTEST_CASES", "64").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        let output = command.current_dir(&self.root).stderr(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let failed = text.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        Ok(match output.status.code() {
            Some(0) => None,
            Some(124 | 137) => Some(Outcome::new("timeout", names.join(" "))),
            // Of `timeout` and `prlimit` themselves.
            Some(125..=127) => return Err(format!("{}: {}", program.display(), output.status).into()),
            // An end by a signal has no code: a stack that overflows, memory that is refused.
            _ => Some(Outcome::new("caught", failed.unwrap_or("the program ended early"))),
        })
    }

    /// What comes of a change that has to stand alone.
    fn outcome_alone(&self, mutant: &Mutant, tests: &[Test]) -> Result<Outcome> {
        let source = self.source(&mutant.file)?;
        let path = self.root.join(&mutant.file);
        fs::write(&path, weave::replace(&source, mutant))?;
        let outcome = self.outcome_of_copy(tests);
        fs::write(&path, source)?;
        outcome
    }

    fn outcome_of_copy(&self, tests: &[Test]) -> Result<Outcome> {
        let unviable = |errors: &[Value]| {
            let codes: BTreeSet<_> =
                errors.iter().filter_map(|error| error["code"]["code"].as_str()).collect();
            Ok(Outcome::new("unviable", Vec::from_iter(codes).join(" ")))
        };
        if let Err(errors) = messages(&mut self.cargo("b2nd-serde", &["check"]))? {
            return unviable(&errors);
        }
        for (number, &program) in PROGRAMS.iter().enumerate() {
            let built = match self.program(program)? {
                Ok(built) => built,
                Err(errors) => return unviable(&errors),
            };
            let names = tests.iter().filter(|test| test.program.0 == number).map(|test| &*test.name);
            let names: Vec<_> = names.collect();
            self.restore()?;
            if let Some(outcome) = self.run(&built, &names, LONG, ("MUTANT", "0"))? {
                return Ok(outcome);
            }
        }
        Ok(Outcome::new("missed", "by all tests, alone"))
    }
}

/// The changes that an error of the compiler comes from.
fn guilty(error: &Value, places: &HashMap<&str, weave::Woven>) -> BTreeSet<usize> {
    let mut spans = Vec::new();
    let messages = [error].into_iter().chain(error["children"].as_array().into_iter().flatten());
    for span in messages.flat_map(|message| message["spans"].as_array().into_iter().flatten()) {
        // Where a macro was called, if one wrote it.
        let chain = std::iter::successors(Some(span), |span| span["expansion"].get("span"));
        spans.extend(chain.map(|inner| (span["is_primary"] != true, inner)));
    }
    spans.sort_by_key(|(secondary, _)| *secondary);
    let place = |span: &Value| {
        let woven = places.get(span["file_name"].as_str()?)?;
        Some((woven, usize::try_from(span["byte_start"].as_u64()?).ok()?))
    };
    let at: Vec<_> = spans.iter().filter_map(|(_, span)| place(span)).collect();
    let arm = at.iter().find_map(|(woven, at)| woven.arms.iter().rev().find(|(range, _)| range.contains(at)));
    if let Some((_, number)) = arm {
        return [*number].into();
    }
    let site = at.iter().find_map(|(woven, at)| {
        woven.sites.iter().rev().find(|(range, numbers)| range.contains(at) && !numbers.is_empty())
    });
    site.map(|(_, numbers)| numbers.iter().copied().collect()).unwrap_or_default()
}

/// What cargo says in JSON; or the errors of the compiler.
fn messages(cargo: &mut Command) -> Result<std::result::Result<Vec<Value>, Vec<Value>>> {
    let output = cargo.output()?;
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{"));
    let messages: Vec<Value> = lines.map(serde_json::from_slice).collect::<std::result::Result<_, _>>()?;
    if output.status.success() {
        return Ok(Ok(messages));
    }
    let errors = messages.into_iter().map(|mut message| message["message"].take());
    let errors: Vec<_> = errors.filter(|message| message["level"] == "error").collect();
    if errors.is_empty() { Err(format!("{cargo:?}: {}", output.status).into()) } else { Ok(Err(errors)) }
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{command:?}: {}", output.status).into())
    }
}
