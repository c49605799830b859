// Files, stores and servers, and the bytes that are read from them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { openAsBlob } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { open, openStore } from "../dist/index.js";

const data = new URL("../../frame/tests/data/", import.meta.url);
const blob = (name) => openAsBlob(new URL(name, data));

/** The path and the range of each request that the server has answered. */
let requests = [];
let server, base;

before(async () => {
    server = createServer(async (request, response) => {
        const { pathname, searchParams } = new URL(request.url, "http://server");
        requests.push(request.headers.range);
        const file = await readFile(new URL(pathname.slice(1), data)).catch(() => undefined);
        if (!file) return response.writeHead(404).end();
        if (searchParams.has("whole")) return response.writeHead(200).end(file);
        if (request.method === "HEAD") return response.writeHead(200, { "Content-Length": file.length }).end();
        const [, first, last] = request.headers.range.match(/^bytes=(\d+)-(\d+)$/).map(Number);
        const bytes = file.subarray(first, last + 1);
        const end = first + bytes.length - 1;
        const headers = searchParams.has("hidden") ? {} : { "Content-Range": `bytes ${first}-${end}/${file.length}` };
        response.writeHead(206, headers).end(searchParams.has("short") ? bytes.subarray(1) : bytes);
    }).listen(0, "127.0.0.1");
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
    const hidden = await open(`${base}/geometry/d3_f4_awkward.b2nd?hidden`);
    assert.deepEqual(hidden.shape, [5, 7, 6]);
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
    const array = await embedded.array(embedded.keys[0]);
    assert.equal((await array.slice()).length, array.shape.reduce((count, items) => count * items, 1));
    await assert.rejects(openStore(await blob("int32_3x5.b2nd")), { code: "invalid-input", message: /not a store/ });
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
        ["http://127.0.0.1:9/a.b2nd", "io", /cannot reach 127.0.0.1:9/],
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
