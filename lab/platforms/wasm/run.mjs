// Runs a WebAssembly program: `node run.mjs PROGRAM`. A program for WASI sees `frame/tests/data` as its root
// folder. Any other program is also called to read slices by `fetch`.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { WASI } from "node:wasi";
import { readSlices } from "./fetched.mjs";

const module = await WebAssembly.compile(await readFile(process.argv[2]));
if (WebAssembly.Module.imports(module).length === 0) {
    const instance = await WebAssembly.instantiate(module);
    // A panic of the program is a trap, which ends this script with an error.
    const status = instance.exports.main(0, 0);
    await readSlices(module);
    process.exit(status);
}
const data = fileURLToPath(new URL("../../../frame/tests/data", import.meta.url));
const wasi = new WASI({ version: "preview1", args: ["wasm"], preopens: { "/": data } });
process.exit(wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject())));
