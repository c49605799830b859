// The values of slices, read from memory.
import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { open } from "../dist/index.js";

const data = new URL("../../frame/tests/data/", import.meta.url);
const here = new URL("./data/", import.meta.url);
const array = async (name) => open(await openAsBlob(new URL(`${name}.b2nd`, data)));
const local = async (name) => open(await openAsBlob(new URL(`${name}.b2nd`, here)));
const bytesOf = (items) => Buffer.from(items.buffer, items.byteOffset, items.byteLength);

/** Files with their shape, dtype, and the typed array and word size of their items. */
const NUMBERS = [
    ["d0_f8", [], "float64", Float64Array],
    ["d1_i2_three_levels", [17], "int16", Int16Array],
    ["d1_u1_long_chunk", [4], "uint8", Uint8Array],
    ["d2_i4_big_endian", [7, 5], ">i4", Int32Array],
    ["d2_u2_one_chunk", [10, 9], "uint16", Uint16Array],
    ["d2_c16_even", [6, 4], "complex128", Float64Array],
    ["d2_bool_wide", [2, 33], "bool", Uint8Array],
    ["d3_f4_awkward", [5, 7, 6], "float32", Float32Array],
    ["d3_i8_empty", [3, 0, 4], "int64", BigInt64Array],
    ["d4_M8_ones", [1, 9, 1, 4], "datetime64[ns]", BigInt64Array],
    ["d5_u2_awkward", [3, 2, 4, 3, 5], "uint16", Uint16Array],
    ["d5_i1_long_chunk", [2, 3, 2, 3, 2], "int8", Int8Array],
    ["d6_u2_awkward", [2, 3, 2, 3, 2, 3], "uint16", Uint16Array],
];

for (const [name, shape, dtype, kind] of NUMBERS) {
    test(`slice has the items of ${name} byte for byte`, async () => {
        const opened = await array(`geometry/${name}`);
        assert.deepEqual([opened.shape, opened.dtype], [shape, dtype]);
        const items = await opened.slice();
        assert.equal(items.constructor, kind);
        const expected = await readFile(new URL(`geometry/${name}.items`, data));
        if (dtype.startsWith(">")) expected.swap32();
        assert.deepEqual(bytesOf(items), expected);
    });
}

test("slice has text and rows as values", async () => {
    const texts = await (await array("geometry/d1_S5_one_item_chunks")).slice();
    const raw = await readFile(new URL("geometry/d1_S5_one_item_chunks.items", data), "latin1");
    assert.deepEqual(texts, raw.match(/[^]{5}/g).map((text) => text.replace(/\0+$/, "")));

    const codes = await (await array("geometry/d4_U2")).slice();
    const words = await readFile(new URL("geometry/d4_U2.items", data));
    const expected = Array.from({ length: words.length / 8 }, (_, number) => {
        const text = String.fromCodePoint(words.readUInt32LE(8 * number), words.readUInt32LE(8 * number + 4));
        return text.replace(/\0+$/, "");
    });
    assert.deepEqual(codes, expected);

    const rows = await (await array("geometry/d3_struct")).slice();
    const structs = await readFile(new URL("geometry/d3_struct.items", data));
    assert.equal(rows.length * 15, structs.length);
    rows.forEach((row, number) => {
        const at = 15 * number;
        const name = structs.toString("latin1", at + 4, at + 7).replace(/\0+$/, "");
        const xy = [structs.readFloatLE(at + 7), structs.readFloatLE(at + 11)];
        assert.deepEqual(row, { id: structs.readInt32LE(at), name, xy });
    });
});

test("slice selects what NumPy selects", async () => {
    const opened = await array("geometry/d3_f4_awkward");
    const all = await opened.slice();
    const [, rows, columns] = opened.shape;
    for (const [subscripts, ...indices] of [
        [[[1, 3], [2, 7, 3], [0, 6, 5]], [1, 2], [2, 5], [0, 5]],
        [[-1, null, 2], [4], [0, 1, 2, 3, 4, 5, 6], [2]],
        [[[-2, 99]], [3, 4], [0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]],
        [[[3, 1]], [], [], []],
    ]) {
        const [planes, lines, cells] = indices;
        const expected = planes.flatMap((x) => lines.flatMap((y) => cells.map((z) => all[(x * rows + y) * columns + z])));
        assert.deepEqual([...(await opened.slice(subscripts))], expected);
    }
    for (const [subscripts, message] of [
        [[5], "index 5 is out of bounds: shape[0] is 5"],
        [[0, 0, 0, 0], "the slice has 4 dimensions, but the array has 3"],
        [[[0, 2, 0]], "subscript 0 must have whole numbers, and a step of at least 1"],
        [[0n], "subscript 0 must have whole numbers, and a step of at least 1"],
        [[0.5], "subscript 0 must have whole numbers, and a step of at least 1"],
    ]) {
        await assert.rejects(opened.slice(subscripts), { name: "B2ndError", code: "invalid-input", message });
    }
});

test("slice refuses dimensions and items that JavaScript cannot have", async () => {
    const long = await local("long_dimension");
    await assert.rejects(long.slice(), { code: "unsupported", message: /^shape\[0\] is 18014398509481984, but .* 2\^53 - 1/ });
    const lists = await local("lists");
    await assert.rejects(lists.slice(), { code: "unsupported", message: /an item of 4 bytes has \d+ values, in empty lists .* at most 4160 are read/ });
});

test("slice gives booleans as 0 or 1, and float128 as stored", async () => {
    assert.deepEqual(await (await local("bool")).slice(), new Uint8Array([1, 1, 0]));
    const items = await (await local("float128")).slice();
    // The number 1: after 6 bytes without a meaning, its sign and exponent come first.
    assert.equal(Buffer.from(items.subarray(16 + 6, 32)).toString("hex"), "3fff8000000000000000");
});

test("damage of the attributes leaves the items", async () => {
    const damaged = await readFile(new URL("vlmetalayers.b2nd", data));
    // A byte of the length of an attribute.
    damaged[damaged.length - 132] ^= 0xff;
    const opened = await open(damaged);
    assert.deepEqual(await opened.slice(), await (await array("vlmetalayers")).slice());
    await assert.rejects(opened.attributes(), { name: "B2ndError", code: "damaged-trailer" });
});

test("slice reports its progress and stops with its signal", async () => {
    const opened = await array("geometry/d3_f4_awkward");
    const reports = [];
    await opened.slice([], { onProgress: (...report) => reports.push(report) });
    assert.deepEqual(reports, [[840, 840]]);
    await assert.rejects(opened.slice([], { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("open gives the shapes and attributes", async () => {
    const opened = await array("vlmetalayers");
    assert.equal((await opened.attributes()).unit, "kelvin");
    const { shape, chunks, blocks, dtype } = await array("int32_3x5");
    assert.deepEqual({ shape, chunks, blocks, dtype }, { shape: [3, 5], chunks: [2, 3], blocks: [1, 2], dtype: "int32" });
    const { codec, level, filters, cbytes } = await array("geometry/d3_f4_awkward");
    assert.deepEqual({ codec, level, filters, cbytes }, { codec: "zstd", level: 5, filters: ["shuffle"], cbytes: 2206 });
});

test("integers of attributes are exact", async () => {
    const { time, ids } = await (await local("image")).attributes();
    assert.equal(time, 1_700_000_000_123_456_789n);
    assert.deepEqual(ids.slice(0, 3), [2n ** 64n - 1n, -(2n ** 63n), 2 ** 53 - 1]);
    assert.deepEqual(Object.entries(ids[3]), [["__proto__", 1.5]]);
});
