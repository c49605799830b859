//! Tries every change of the library that cargo-mutants lists, without a build for each: all stand in one build, and a
//! variable of the environment says which one is on. Each test is run once to find which changes it reaches. Then the tests
//! that reach a change are run with it, the quickest first, until one fails.
//!
//! A change that does not compile among the others is built alone, as cargo-mutants does it, and so is one that only the
//! compiler computes.

mod list;
mod weave;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use list::Mutant;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The test programs of the library.
const PROGRAMS: &[&str] =
    &["--lib", "--test=format", "--test=frame", "--test=dtype", "--test=geometry", "--test=alone"];
/// What a test may take of memory: a change can make a loop endless.
const MEMORY: &str = "--as=4294967296";

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
    let folder = env::current_dir()?.join("target/mutants");
    fs::create_dir_all(&folder)?;
    let report = folder.join("outcomes.tsv");
    let mut noticed = Vec::new();
    let earlier;
    if arguments.first().is_some_and(|argument| argument == "--iterate") {
        arguments.remove(0);
        earlier = fs::read_to_string(&report)?;
        noticed = earlier.lines().filter(|line| NOTICED.contains(&cell(line, 0))).collect();
    }
    let list = ["mutants", "--list", "--json", "--package", "b2nd-serde"];
    let mut mutants: Vec<Mutant> =
        serde_json::from_slice(&output(Command::new("cargo").args(list).args(&arguments))?)?;
    let listed: BTreeSet<&str> = mutants.iter().map(|mutant| &*mutant.name).collect();
    noticed.retain(|line| listed.contains(cell(line, 1)));
    println!("{} changes, {} of them noticed earlier", mutants.len(), noticed.len());
    let names: BTreeSet<&str> = noticed.iter().map(|line| cell(line, 1)).collect();
    mutants.retain(|mutant| !names.contains(&*mutant.name));

    let together = Tree::copy(&folder, "together", "1")?;
    let Places { mut left_out, constant } = together.weave_all(&mutants)?;
    println!("{} do not compile beside the others", left_out.len());
    let tests = together.tests()?;
    let reached: BTreeSet<usize> = tests.iter().flat_map(|test| &test.reached).copied().collect();
    left_out.extend(constant.difference(&reached));
    println!("{} tests; {} changes are tried alone", tests.len(), left_out.len());

    let alone = Tree::copy(&folder, "alone", "0")?;
    let mut file = fs::File::create(&report)?;
    for line in noticed {
        writeln!(file, "{line}")?;
    }
    let record = |number: usize, Outcome { word, detail }| {
        let line = format!("{word}\t{}\t{detail}\n", mutants[number - 1].name);
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
            // Else every change would be caught.
            if alone.test_alone().is_ok_and(|outcome| outcome.word == "missed") {
                for &number in &left_out {
                    record(number, alone.outcome_alone(&mutants[number - 1]));
                }
            } else {
                eprintln!("without a change, not all tests pass; none was tried alone");
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
    /// These do, but where a compiler may compute them, and they are not on then.
    constant: BTreeSet<usize>,
}

/// A test, and what is known of it.
struct Test {
    program: PathBuf,
    name: String,
    time: Duration,
    reached: BTreeSet<usize>,
}

/// A copy of the repository.
struct Tree {
    root: PathBuf,
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
        for file in
            String::from_utf8(output(Command::new("git").args(["ls-files", "-z"]))?)?.split_terminator('\0')
        {
            let to = root.join(file);
            fs::create_dir_all(to.parent().ok_or("a file without a folder")?)?;
            fs::copy(file, to)?;
        }
        Ok(Self { root, build: folder.join("build"), optimization })
    }

    /// A command of cargo for the library.
    fn cargo(&self, command: &str) -> Command {
        let mut cargo = self.cargo_of("b2nd-serde", command);
        cargo.arg("--all-features");
        cargo
    }

    fn cargo_of(&self, package: &str, command: &str) -> Command {
        let mut cargo = Command::new("timeout");
        cargo.args(["--kill-after", "1", "600", "cargo"]);
        cargo.arg(command).args(["--package", package, "--message-format", "json"]);
        cargo.current_dir(&self.root).stderr(Stdio::null());
        // The switch needs what is not stable, to stand in constant functions. The lints of the compiler are no tests.
        cargo
            .env("CARGO_TARGET_DIR", &self.build)
            .env("RUSTC_BOOTSTRAP", "b2nd_serde")
            .env("RUSTFLAGS", "--cap-lints=warn");
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_OPT_LEVEL", self.optimization);
        cargo
    }

    /// Puts all changes into the copy, and returns the numbers of those that cannot be there with the others.
    fn weave_all(&self, mutants: &[Mutant]) -> Result<Places> {
        let switch = include_str!("switch.rs").replace("COUNT", &(mutants.len() + 1).to_string());
        fs::write(self.root.join("src/mutants.rs"), switch)?;
        let library = fs::read_to_string("src/lib.rs")?;
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
                let woven = weave::weave(&fs::read_to_string(file)?, &mutants)?;
                fs::write(self.root.join(file), &woven.text)?;
                placed.extend(woven.sites.iter().flat_map(|(_, numbers)| numbers));
                constant.extend(&woven.constant);
                places.insert(file, woven);
            }
            left_out.extend((1..=mutants.len()).filter(|number| !placed.contains(number)));

            let messages = messages(&mut self.cargo("check"))?.0;
            let mut errors = messages
                .iter()
                .map(|message| &message["message"])
                .filter(|message| message["level"] == "error")
                .peekable();
            if errors.peek().is_none() {
                return Ok(Places { left_out, constant });
            }
            let before = left_out.len();
            let mut unplaced = Vec::new();
            for error in errors {
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

    /// All tests, and which changes each reaches.
    fn tests(&self) -> Result<Vec<Test>> {
        let (mut library, mut command) = (self.cargo("test"), self.cargo_of("b2nd", "test"));
        let mut programs = Vec::new();
        for cargo in [library.args(PROGRAMS), command.arg("--test=command")] {
            let (messages, status) = messages(cargo.arg("--no-run"))?;
            if !status.success() {
                return Err(format!("the tests do not build: {cargo:?}").into());
            }
            let built = messages.iter().filter(|message| message["profile"]["test"] == true);
            programs.extend(built.filter_map(|message| message["executable"].as_str()).map(PathBuf::from));
        }
        let mut tests = Vec::new();
        for program in programs {
            let list = output(Command::new(&program).args(["--list", "--format", "terse"]))?;
            for name in String::from_utf8(list)?.lines().filter_map(|line| line.strip_suffix(": test")) {
                tests.push((program.clone(), name.to_owned()));
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
                        let outcome = self.run(
                            &program,
                            &[&name],
                            Duration::from_secs(300),
                            ("MUTANTS_REACHED", list.to_str().unwrap_or_default()),
                        );
                        let time = start.elapsed();
                        if let Some(outcome) = outcome {
                            println!("not used, as it fails without a change: {name} ({})", outcome.word);
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
    fn outcome(&self, number: usize, tests: &[Test]) -> Outcome {
        let reaching: Vec<_> = tests.iter().filter(|test| test.reached.contains(&number)).collect();
        if reaching.is_empty() {
            return Outcome::new("unreached", "");
        }
        // Some at a time, as each start costs time too.
        let mut batches: Vec<(&Path, Vec<&str>, Duration)> = Vec::new();
        for test in &reaching {
            let open =
                batches.iter_mut().rev().take(PROGRAMS.len()).find(|(program, _, time)| {
                    *program == test.program && *time < Duration::from_millis(400)
                });
            if let Some((_, names, time)) = open {
                names.push(&test.name);
                *time += test.time;
            } else {
                batches.push((&test.program, vec![&test.name], test.time));
            }
        }
        let number = number.to_string();
        batches
            .iter()
            .find_map(|(program, names, time)| {
                self.run(program, names, Duration::from_secs(5) + 10 * *time, ("MUTANT", &number))
            })
            .unwrap_or_else(|| Outcome::new("missed", format!("by {} tests", reaching.len())))
    }

    /// Runs tests of a program, and returns what was noticed.
    fn run(
        &self,
        program: &Path,
        names: &[&str],
        limit: Duration,
        variable: (&str, &str),
    ) -> Option<Outcome> {
        let mut command = Command::new("timeout");
        command.args(["--kill-after", "1", &limit.as_secs().to_string(), "prlimit", MEMORY]).arg(program);
        command.args(["--exact", "--test-threads", "1"]).args(names).env(variable.0, variable.1);
        command.env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", &self.root);
        command.env("PROPTEST_CASES", "64").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        command.current_dir(&self.root).stderr(Stdio::null());
        let Ok(output) = command.output() else { return Some(Outcome::new("error", "could not be run")) };
        if output.status.success() {
            return None;
        }
        if output.status.code().is_none_or(|code| matches!(code, 124 | 137)) {
            return Some(Outcome::new("timeout", names.join(" ")));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let failed = text.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        Some(Outcome::new("caught", failed.unwrap_or("the program ended early")))
    }

    /// What comes of a change that has to stand alone.
    fn outcome_alone(&self, mutant: &Mutant) -> Outcome {
        self.try_alone(mutant).unwrap_or_else(|error| Outcome::new("error", error.to_string()))
    }

    fn try_alone(&self, mutant: &Mutant) -> Result<Outcome> {
        let source = fs::read_to_string(&mutant.file)?;
        let path = self.root.join(&mutant.file);
        fs::write(&path, weave::replace(&source, mutant))?;
        let outcome = self.test_alone();
        fs::write(&path, source)?;
        outcome
    }

    fn test_alone(&self) -> Result<Outcome> {
        let (messages, status) = messages(&mut self.cargo("check"))?;
        if !status.success() {
            let codes: BTreeSet<_> =
                messages.iter().filter_map(|message| message["message"]["code"]["code"].as_str()).collect();
            return Ok(Outcome::new("unviable", Vec::from_iter(codes).join(" ")));
        }
        for program in PROGRAMS {
            let (_, status) = self::messages(self.cargo("test").arg(program).env("INSTA_UPDATE", "no"))?;
            if !status.success() {
                return Ok(Outcome::new("caught", format!("{program} alone")));
            }
        }
        Ok(Outcome::new("missed", "alone"))
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
    let at: Vec<(&weave::Woven, usize)> = spans
        .iter()
        .filter_map(|(_, span)| {
            Some((
                places.get(span["file_name"].as_str()?)?,
                usize::try_from(span["byte_start"].as_u64()?).ok()?,
            ))
        })
        .collect();
    let arm = at.iter().find_map(|(woven, at)| woven.arms.iter().rev().find(|(range, _)| range.contains(at)));
    if let Some((_, number)) = arm {
        return [*number].into();
    }
    let site = at.iter().find_map(|(woven, at)| {
        woven.sites.iter().rev().find(|(range, numbers)| range.contains(at) && !numbers.is_empty())
    });
    site.map(|(_, numbers)| numbers.iter().copied().collect()).unwrap_or_default()
}

/// What cargo says in JSON, and how it ended.
fn messages(command: &mut Command) -> Result<(Vec<Value>, ExitStatus)> {
    let output = command.output()?;
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{"));
    Ok((lines.map(serde_json::from_slice).collect::<std::result::Result<_, _>>()?, output.status))
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{command:?}: {}", output.status).into())
    }
}
