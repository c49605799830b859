//! `bindgen WASM FOLDER`: writes the JavaScript bindings of a WebAssembly module, with their TypeScript types, to a
//! folder.

use wasm_bindgen_cli_support::Bindgen;

fn main() {
    let [wasm, folder] = [1, 2].map(|number| std::env::args().nth(number).expect("WASM FOLDER"));
    let mut bindgen = Bindgen::new();
    bindgen.web(true).expect("a target");
    bindgen.input_path(wasm).out_name("b2nd").typescript(true);
    bindgen.remove_name_section(true).remove_producers_section(true);
    bindgen.generate(folder).expect("WebAssembly");
}
