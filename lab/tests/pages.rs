//! The pages agree with the examples, the tests, the runs and the files that they mention.

use std::fs;
use std::path::{Path, PathBuf};

use b2nd_lab::root;

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The README of the root package has a block of code that uses `b2nd-frame`. The root package cannot compile this
/// block, because it does not depend on `b2nd-frame`. So the block must be in a page of `b2nd-frame`, which compiles
/// it. Each block has the paths from the folder in which it runs: the root of a clone, and the folder of `b2nd-frame`.
#[test]
fn the_readme_shows_a_frame_as_the_tested_page_of_its_package_does() {
    let readme = page("README.md");
    let (_, block) = readme.split_once("```rust,ignore\n").unwrap();
    let (block, rest) = block.split_once("```").unwrap();
    assert!(!rest.contains("rust,ignore"), "there is one such block");
    assert!(block.contains("(\"frame/tests/data/"), "{block}");
    let of_frame = block.replace("(\"frame/tests/data/", "(\"tests/data/");
    assert!(page("frame/README.md").contains(&format!("```rust\n{of_frame}```")), "{block}");
}

/// Replaces all line breaks and runs of spaces in a text by single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line of `promises.txt` has the file and the name of a test, and the promise that this test covers: a text from a
/// README or from the first page of `b2nd-frame`.
#[test]
fn each_promise_of_a_readme_has_a_test() {
    let readmes =
        words(&["README.md", "frame/README.md", "cli/README.md", "frame/src/lib.rs"].map(page).join("\n"));
    let promises = page("lab/tests/promises.txt");
    assert!(promises.lines().count() > 20, "{promises}");
    for line in promises.lines() {
        let (test, promise) = line.split_once(": ").unwrap();
        let (path, name) = test.split_once(' ').unwrap();
        assert!(readmes.contains(promise), "no README has: {promise}");
        assert!(page(path).contains(&format!("#[test]\nfn {name}()")), "{path} has no test {name}");
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// All Rust files in a folder and the folders below it.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|file| is_rust(file));
    files.chain(folders.iter().flat_map(|folder| rust_files(folder))).collect()
}

/// A name of at least four words in SECURITY.md is the name of a test.
#[test]
fn each_test_that_the_page_on_security_names_exists() {
    let folders = ["tests", "zstd/tests", "chunk/tests", "frame/tests", "cli/tests", "lab/interop"];
    let files = folders.iter().flat_map(|folder| rust_files(&root().join(folder)));
    let tests: String = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    let page = page("SECURITY.md");
    let is_name = |text: &&str| {
        text.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
            && text.split('_').count() >= 4
    };
    let names: Vec<_> = page.split('`').filter(is_name).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(tests.contains(&format!("fn {name}()")), "there is no test {name}");
    }
}

/// A source file such as `edit/commit.rs`, or a folder such as `edit/`.
#[test]
fn each_source_that_a_page_names_exists() {
    let folders = ["src", "tests", "zstd", "chunk", "frame", "cli", "lab", "fuzz/src"];
    let files: Vec<_> = folders.iter().flat_map(|folder| rust_files(&root().join(folder))).collect();
    let mut names = 0;
    for name in ["docs/DESIGN.md", "CONTRIBUTING.md", "SECURITY.md"] {
        let page = page(name);
        let is_name = |text: &str| text.chars().all(|c| "_/.".contains(c) || c.is_ascii_alphanumeric());
        let is_source = |text: &&str| is_name(text) && (is_rust(Path::new(text)) || text.ends_with('/'));
        for source in page.split('`').filter(is_source) {
            let is_part = |file: &PathBuf| file.ancestors().any(|path| path.ends_with(source));
            assert!(root().join(source).exists() || files.iter().any(is_part), "{name}: {source}");
            names += 1;
        }
    }
    assert!(names > 50, "{names}");
}

#[test]
fn the_page_of_the_laboratory_has_each_run() {
    let script = page("lab/run");
    let (_, runs) = script.split_once("runs=\"\n").unwrap();
    let (runs, _) = runs.split_once("\n\"\n").unwrap();
    let runs: Vec<_> = runs
        .lines()
        .map(|line| {
            let [_, name, path] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
            assert!(root().join("lab").join(path).exists(), "{path}");
            format!("| [`{name}`]({path}) ")
        })
        .collect();
    let readme = page("lab/README.md");
    let rows: Vec<_> = readme.lines().filter(|line| line.starts_with("| [`")).collect();
    assert_eq!(rows.len(), runs.len(), "{rows:?}");
    for (row, run) in rows.iter().zip(runs) {
        assert!(row.starts_with(&run), "{row}: {run}");
    }
}

/// Each link of a page to another page or file must lead to a file that exists.
#[test]
fn each_link_of_a_page_leads_to_a_file() {
    let folders = [
        ".",
        "docs",
        "docs/upstream",
        "zstd",
        "chunk",
        "frame",
        "cli",
        "web",
        "lab",
        "lab/results",
        "tests/vectors",
    ];
    let mut links = 0;
    for folder in folders {
        for file in fs::read_dir(root().join(folder)).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
            {
                let path = link.split('#').next().unwrap();
                if !path.is_empty() && !link.contains("://") {
                    assert!(file.with_file_name(path).exists(), "{}: {link}", file.display());
                    links += 1;
                }
            }
        }
    }
    assert!(links > 30, "{links}");
}
