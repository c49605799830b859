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
