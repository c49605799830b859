// Reads slices in WebAssembly. `fetch` gets the byte ranges from a server in this process, all ranges of a wave at once.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const data = new URL("../../../frame/tests/data/geometry/", import.meta.url);
// Files, their shapes, and slices along the first dimension. The items of such a slice are contiguous in the `.items` file.
const slices = [
    ["d1_i2_three_levels", [17], 5, 12],
    ["d3_f4_awkward", [5, 7, 6], 2, 4],
    ["d4_U2", [3, 4, 5, 3], 0, 3],
];

async function answer(request, response) {
    const file = await readFile(new URL(request.url.slice(1), data));
    const [, first, last] = request.headers.range.match(/^bytes=(\d+)-(\d+)$/).map(Number);
    const bytes = file.subarray(first, last + 1);
    response.writeHead(206, { "Content-Range": `bytes ${first}-${first + bytes.length - 1}/${file.length}` }).end(bytes);
}

async function get(url, [start, stop]) {
    const response = await fetch(url, { headers: { Range: `bytes=${start}-${stop - 1n}` } });
    assert.equal(response.status, 206);
    return Buffer.from(await response.arrayBuffer());
}

// Returns the items of a slice. It calls the functions of `src/fetched.rs`.
async function read(reader, url, slice) {
    slice.forEach(([start, stop]) => reader.select(BigInt(start), BigInt(stop)));
    let count;
    while ((count = reader.range_count()) > 0) {
        const ranges = Array.from({ length: count }, (_, number) => [reader.range_start(number), reader.range_stop(number)]);
        const wave = await Promise.all(ranges.map((range) => get(url, range)));
        wave.forEach((bytes, number) => {
            for (let at = 0; at < bytes.length; at += 8) {
                const word = Buffer.alloc(8);
                const copied = bytes.copy(word, 0, at);
                reader.push(number, word.readBigUInt64LE(), copied);
            }
        });
        reader.take();
    }
    return Buffer.from(Array.from({ length: reader.items_len() }, (_, number) => reader.item_byte(number)));
}

export async function readSlices(module) {
    const server = createServer(answer).listen(0, "127.0.0.1");
    await once(server, "listening");
    for (const [name, shape, start, stop] of slices) {
        const { exports: reader } = await WebAssembly.instantiate(module);
        const slice = [[start, stop], ...shape.slice(1).map((len) => [0, len])];
        const fetched = await read(reader, `http://127.0.0.1:${server.address().port}/${name}.b2nd`, slice);
        const items = await readFile(new URL(`${name}.items`, data));
        const row = items.length / shape[0];
        assert.deepEqual(fetched, items.subarray(start * row, stop * row));
    }
    server.closeAllConnections();
    server.close();
}
