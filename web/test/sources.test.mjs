// Files, stores and servers, and the bytes that are read from them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { openAsBlob } from "node:fs";
import { appendFile, copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { init, open, openStore } from "../dist/index.js";
import { KnownFile } from "../dist/wasm/b2nd.js";

const data = new URL("../../frame/tests/data/", import.meta.url);
const blob = async (name) => openAsBlob(new URL(name, data));

/** The range of each request that the server has received. */
let requests = [];
let server, base;
/** What the server waits for before it answers a request for this range. */
let hold = async (range) => {};
/** Whether the server answers with an error. */
let refuses = false;

/** The size of the header of a chunk, and of a chunk of `long.b2nd` with it. */
const [HEADER, CHUNK] = [32, 32 + (1 << 22)];
/** The offset of the first chunk in `long.b2nd` and `wide.b2nd`. */
const START = 165;
/** The size of a chunk in these files. */
const STORED = { "/long.b2nd": CHUNK, "/wide.b2nd": HEADER + (1 << 20) };

/** The file `long.b2nd` or `wide.b2nd` with its chunks: 120 rows of 4 or 1 MiB. It needs the memory of one chunk. */
async function stored(name, size = CHUNK) {
    const parts = new Blob([await readFile(new URL(`./data/${name}`, import.meta.url))]);
    const chunk = new Blob([parts.slice(START, START + HEADER), new Uint8Array(size - HEADER).fill(7)]);
    return new Blob([parts.slice(0, START), ...Array(120).fill(chunk), parts.slice(START + HEADER)]);
}

/** A store with chunks of 512 KiB, which are stored without compression. */
const longChunks = async () => new Blob([gunzipSync(await readFile(new URL("./data/long_chunks.b2e.gz", import.meta.url)))]);

/** A file of the server. */
async function served(pathname) {
    if (pathname === "/long_chunks.b2e") return longChunks();
    return STORED[pathname] ? stored(pathname.slice(1), STORED[pathname]) : blob(pathname.slice(1));
}

before(async () => {
    server = createServer(async (request, response) => {
        const { pathname, searchParams } = new URL(request.url, "http://server");
        const is = (what) => searchParams.has(what);
        requests.push(request.headers.range);
        const file = await served(pathname).catch(() => undefined);
        if (!file) return response.writeHead(404).end();
        if (is("whole")) return response.writeHead(200).end(Buffer.from(await file.arrayBuffer()));
        if (request.method === "HEAD") {
            // A server that compresses without being asked not to.
            const isPlain = request.headers["accept-encoding"] === "identity";
            return response.writeHead(200, { "Content-Length": isPlain ? file.size : 20 }).end();
        }
        const [, first, last] = request.headers.range.match(/^bytes=(\d+)-(\d+)$/).map(Number);
        await hold([first, last + 1]);
        if (refuses) return response.writeHead(500).end();
        const bytes = Buffer.from(await file.slice(first, last + 1).arrayBuffer());
        const end = first + bytes.length - 1;
        const shift = is("shifted") && first > 0 ? 1 : 0;
        const size = is("endless") ? "Infinity" : is("half") ? "1.5" : file.size;
        const headers = is("hidden") ? {} : { "Content-Range": `bytes ${first - shift}-${end - shift}/${size}` };
        if (is("broken") && first > 0) {
            response.writeHead(206, { ...headers, "Content-Length": bytes.length }).write(bytes.subarray(1));
            return setTimeout(() => response.destroy(), 50);
        }
        response.writeHead(206, headers).end(is("short") && first > 0 ? bytes.subarray(1) : bytes);
    }).listen(0, "127.0.0.1");
    // A slow test must not find its connection closed.
    server.keepAliveTimeout = 0;
    await once(server, "listening");
    base = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
    server.closeAllConnections();
    server.close();
});

test("open reads an array by URL with one request, and a slice by ranges", async () => {
    requests = [];
    const array = await open(`${base}/geometry/d3_f4_awkward.b2nd`);
    assert.deepEqual(requests, ["bytes=0-4095"]);
    const items = await array.slice([[2, 4]]);
    const expected = await readFile(new URL("geometry/d3_f4_awkward.items", data));
    assert.deepEqual(Buffer.from(items.buffer), expected.subarray(2 * 168, 4 * 168));
    for (const server of ["hidden", "endless", "half"]) {
        const array = await open(`${base}/geometry/d3_f4_awkward.b2nd?${server}`);
        assert.deepEqual(await array.slice([[2, 4]]), items, server);
    }
});

test("slice needs no more memory for a longer slice", async () => {
    const wasm = await init();
    const array = await open(await stored("long.b2nd"));
    assert.deepEqual(await array.slice([null, 5]), new Uint8Array(120).fill(7));
    const size = wasm.memory.buffer.byteLength / 2 ** 20;
    assert.ok(size < 256, `WebAssembly has ${size} MiB`);
});

test("slices at the same time fetch each range once, with at most 16 requests", async () => {
    const array = await open(`${base}/long.b2nd`);
    await array.slice([0, 0]);
    requests = [];
    // Chunk 11 arrives after the slice of chunk 1.
    let other;
    hold = async ([start, end]) => {
        const isBlock = start >= START + 11 * CHUNK && end - start > 1 << 21;
        if (isBlock) await (other ??= array.slice([1, 0]));
    };
    await array.slice([[5, 12, 6], 0]);
    assert.ok(other);
    assert.equal(new Set(requests).size, requests.length, requests.join("\n"));

    let [now, most] = [0, 0];
    hold = async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 300));
        now--;
    };
    const fresh = await open(`${base}/long.b2nd`);
    const aborter = new AbortController();
    const slices = [0, 1, 0].map((first, number) => fresh.slice([[first, 60, 2], 0], number === 2 ? { signal: aborter.signal } : {}));
    aborter.abort();
    await assert.rejects(slices.pop(), { name: "AbortError" });
    for (const items of await Promise.all(slices)) assert.deepEqual(items, new Uint8Array(30).fill(7));
    hold = async () => {};
    assert.ok(most > 1 && most <= 16, `${most} requests`);
});

test("a slice that is aborted or fails sends no more requests", async () => {
    const array = await open(`${base}/long.b2nd`);
    await array.slice([0, 0]);
    let answer;
    const answered = new Promise((resolve) => (answer = resolve));
    hold = () => answered;
    // As many slices as are read at the same time.
    const slices = Array.from({ length: 16 }, (_, row) => array.slice([row + 1, 0]));
    const aborted = array.slice([20, 0], { signal: AbortSignal.abort("no time") }).catch((error) => error);
    setTimeout(answer, 1000);
    assert.equal(await Promise.race([aborted, answered]), "no time");
    await Promise.all(slices);
    hold = async () => {};

    const wide = await open(`${base}/wide.b2nd`);
    assert.deepEqual(await wide.slice([[0, 20], 0]), new Uint8Array(20).fill(7));
    requests = [];
    refuses = true;
    await assert.rejects(wide.slice([null, 0]), { code: "io", message: / answered 500 / });
    refuses = false;
    // Its requests are sent after those that wait.
    await wide.slice([30, 0]);
    assert.ok(requests.length < 40, `${requests.length} requests`);
});

test("openStore lists the members of a store and opens them by key", async () => {
    for (const file of [await blob("tree.b2z"), `${base}/tree.b2z`]) {
        const store = await openStore(file);
        assert.deepEqual(store.keys, ["/group/large", "/group/small"]);
        const [large, small] = [await store.array("/group/large"), await store.array("/group/small")];
        assert.deepEqual([large.shape, small.shape], [[6, 8], [4]]);
        assert.deepEqual([(await large.slice()).length, (await small.slice()).length], [48, 4]);
        assert.deepEqual(await store.attributes("/"), {});
        await assert.rejects(store.array("/none"), { code: "invalid-input", message: /no member with the key \/none/ });
    }
    const embedded = await openStore(await blob("peers/store.b2e"));
    assert.ok(embedded.keys.length > 0);
    assert.deepEqual((await openStore(await openAsBlob(new URL("./data/order.b2e", import.meta.url)))).keys, ["/a", "/b", "/c"]);
    // Each of these slices decompresses all chunks of the store.
    const often = await (await openStore(await openAsBlob(new URL("./data/chunks.b2e", import.meta.url)))).array("/a");
    for (let turn = 0; turn < 30; turn++) assert.deepEqual(await often.slice([[0, 3 << 20, 1 << 20]]), new Uint8Array([0, 149, 47]));
    const array = await embedded.array(embedded.keys[0]);
    assert.equal((await array.slice()).length, array.shape.reduce((count, items) => count * items, 1));
    await assert.rejects(openStore(await blob("int32_3x5.b2nd")), { code: "invalid-input", message: /not a store/ });
});

test("slice fetches no bytes of a store twice", async () => {
    const array = await (await openStore(`${base}/long_chunks.b2e`)).array("/a");
    requests = [];
    const items = await array.slice([[0, 1 << 21, 1 << 17]]);
    assert.deepEqual(items, Uint8Array.from({ length: 16 }, (_, number) => (number << 17) % 251));
    const lengths = requests.map((range) => range.match(/\d+/g).map(Number)).map(([first, last]) => last + 1 - first);
    const total = lengths.reduce((total, length) => total + length);
    assert.ok(total <= (await longChunks()).size, requests.join("\n"));
});

test("open reports the first error if WebAssembly itself has failed", async (t) => {
    const file = await blob("int32_3x5.b2nd");
    t.mock.method(KnownFile.prototype, "array", () => {
        throw new WebAssembly.RuntimeError("unreachable");
    });
    t.mock.method(KnownFile.prototype, "clear", () => {
        throw new Error("recursive use of an object");
    });
    await assert.rejects(open(file), { name: "RuntimeError", message: "unreachable" });
});

test("open drops the body of a response that it refuses", async (t) => {
    const cases = [
        [500, / answered 500 /],
        [200, /whole files only/],
        [206, /sent the bytes from 7 on/],
    ];
    const dropped = [];
    t.mock.method(globalThis, "fetch", async (url) => {
        const status = Number(url.searchParams.get("status"));
        const body = new ReadableStream({ cancel: () => void dropped.push(status) });
        return new Response(body, { status, headers: { "Content-Range": "bytes 7-9/10" } });
    });
    for (const [status, message] of cases) {
        await assert.rejects(open(`http://server/a.b2nd?status=${status}`), { code: "io", message });
        assert.equal(dropped.at(-1), status);
    }
});

test("open gives the reason of the signal for any failure after an abort", async (t) => {
    const aborter = new AbortController();
    t.mock.method(globalThis, "fetch", async () => {
        aborter.abort("no time");
        throw new TypeError("fetch failed");
    });
    assert.equal(await open("http://server/a.b2nd", { signal: aborter.signal }).catch((error) => error), "no time");
});

test("open explains what it cannot read", async () => {
    const frame = await readFile(new URL("int32_3x5.b2nd", data));
    const damaged = Buffer.from(frame);
    damaged[116] = 0xd2;
    for (const [file, code, message] of [
        [new Uint8Array(), "not-a-frame", /./],
        [Buffer.from("not a frame, but long enough to be one"), "not-a-frame", /./],
        [frame.subarray(0, 300), "truncated", /520 bytes/],
        [damaged, /./, /^byte \d+ of the frame: /],
        [await blob("tree.b2z"), "not-a-frame", /./],
        [await blob("peers/lazy_expression.b2nd"), "unsupported", /LazyExpr/],
        [`${base}/none.b2nd`, "io", / answered 404 /],
        [`${base}/int32_3x5.b2nd?whole`, "io", /whole files only: it must accept the header Range/],
        ["http://127.0.0.1:9/a.b2nd", "io", /cannot reach 127.0.0.1:9: bad port/],
        ["file:///none.b2nd", "io", /cannot reach file:\/\/\/none.b2nd: ./],
        ["none.b2nd", "invalid-input", /none.b2nd is not a URL; .* openAsBlob/],
    ]) {
        await assert.rejects(open(file), (error) => {
            assert.equal(error.name, "B2ndError");
            assert.match(error.code, new RegExp(code));
            assert.match(error.message, message);
            return true;
        });
    }
    await assert.rejects(open(`${base}/int32_3x5.b2nd`, { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("slice explains what a server or a file does wrong", async () => {
    for (const [server, message] of [
        ["short", /sent \d+ bytes for the range/],
        ["shifted", /sent the bytes from \d+ on, but those from \d+ on were asked for/],
        ["broken", /broke off the bytes \d+ to \d+: ./],
    ]) {
        const array = await open(`${base}/long.b2nd?${server}`);
        await assert.rejects(array.slice([3, [0, 9]]), { name: "B2ndError", code: "io", message }, server);
    }
    const folder = await mkdtemp(join(tmpdir(), "b2nd-"));
    try {
        const path = join(folder, "changing.b2nd");
        await copyFile(new URL("./data/wave.b2nd", import.meta.url), path);
        const array = await open(await openAsBlob(path));
        await appendFile(path, "more");
        await assert.rejects(array.slice([0]), { name: "B2ndError", code: "changing", message: /changed since it was opened/ });
    } finally {
        await rm(folder, { recursive: true });
    }
});
