//! Pages show what is tested elsewhere.

use std::fs;

use b2nd_lab::root;

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The root package does not depend on `b2nd-frame`, so it cannot compile this block of its README.
#[test]
fn the_readme_shows_a_frame_as_the_tested_page_of_its_package_does() {
    let readme = page("README.md");
    let (_, block) = readme.split_once("```rust,ignore\n").unwrap();
    let (block, rest) = block.split_once("```").unwrap();
    assert!(!rest.contains("rust,ignore"), "there is one such block");
    assert!(page("frame/README.md").contains(&format!("```rust\n{block}```")), "{block}");
}

/// Words, however lines are broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_promise_of_a_readme_has_a_test() {
    let readmes = ["README.md", "frame/README.md", "cli/README.md"].map(page).join("\n");
    let readmes = words(&readmes);
    let evidence = page("docs/EVIDENCE.md");
    let (_, table) = evidence.split_once("| promise | test |\n|---|---|\n").unwrap();
    let mut rows = 0;
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').splitn(2, " | ").map(str::trim).collect();
        let [promise, test] = cells[..] else { panic!("{row}") };
        assert!(readmes.contains(promise), "no README has: {promise}");
        let (path, name) = test.trim_matches('`').split_once("` `").unwrap();
        assert!(page(path).contains(&format!("#[test]\nfn {name}()")), "{path} has no test {name}");
        rows += 1;
    }
    assert!(rows > 20, "{rows}");
}
