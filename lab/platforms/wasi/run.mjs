// Runs a program for WASI: `node run.mjs PROGRAM`. The program sees `frame/tests/data` as its root folder.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { WASI } from "node:wasi";

const module = await WebAssembly.compile(await readFile(process.argv[2]));
const data = fileURLToPath(new URL("../../../frame/tests/data", import.meta.url));
const wasi = new WASI({ version: "preview1", args: ["wasi"], preopens: { "/": data } });
process.exit(wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject())));
