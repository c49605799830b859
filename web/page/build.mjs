// Makes `dist/b2nd.html`: the page with its code, its styles, the WebAssembly and the licences in one file.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const { outputFiles, metafile } = await build({
    entryPoints: ["page/main.tsx"],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    loader: { ".wasm": "binary" },
    define: { "process.env.NODE_ENV": '"production"', "import.meta.url": '"about:blank"' },
    external: ["node:fs/promises"],
    metafile: true,
    write: false,
    outdir: "page",
    logLevel: "warning",
});
const output = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).text;

/** The licence that a package states, and the licence texts in its folder. */
function notice(name, version, licence, folder) {
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file) && statSync(join(folder, file)).isFile());
    const texts = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
    return { title: `${name} ${version}: ${licence}`, texts };
}

function npmNotices() {
    const folders = new Set();
    for (const input of Object.keys(metafile.inputs)) {
        const folder = input.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
        if (folder) folders.add(folder);
    }
    return [...folders].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        return notice(name, version, license, folder);
    });
}

function rustNotices() {
    const options = ["metadata", "--locked", "--format-version", "1", "--filter-platform", "wasm32-unknown-unknown"];
    const { packages, resolve } = JSON.parse(execFileSync("cargo", options, { maxBuffer: 1 << 28 }));
    const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
    const root = packages.find(({ name }) => name === "b2nd-web").id;
    const used = new Set([root]);
    // Dependencies of build scripts and tests are not in the WebAssembly.
    for (const id of used) {
        for (const { pkg, dep_kinds } of nodes.get(id).deps) if (dep_kinds.some(({ kind }) => kind === null)) used.add(pkg);
    }
    const within = packages.filter(({ id, source }) => used.has(id) && source);
    return within.map(({ name, version, license, manifest_path }) => notice(name, version, license, dirname(manifest_path)));
}

/** The packages of each licence text, because many packages have the same text. */
const titles = new Map();
for (const { title, texts } of [...npmNotices(), ...rustNotices()]) {
    for (const text of texts.length ? texts : [""]) titles.set(text, [...(titles.get(text) ?? []), title]);
}
const notices = [...titles].map(([text, titles]) => `${titles.join("\n")}\n\n${text}`.trim()).join(`\n\n${"-".repeat(70)}\n\n`);
const parts = {
    STYLE: output(".css"),
    NOTICES: notices.replaceAll("</script", "<\\/script"),
    SCRIPT: output(".js").replaceAll("</script", "<\\/script"),
};
const html = readFileSync("page/page.html", "utf8").replace(/STYLE|NOTICES|SCRIPT/g, (part) => parts[part]);
writeFileSync("dist/b2nd.html", html);
writeFileSync("dist/NOTICES.txt", notices);
console.log(`dist/b2nd.html: ${Buffer.byteLength(html)} bytes, ${gzipSync(html).length} gzipped`);
