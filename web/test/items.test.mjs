// Items from bytes, for the dtypes that no file of the tests has.
import assert from "node:assert/strict";
import { test } from "node:test";
import { itemsOf, unfolded, widened } from "../dist/items.js";

const number = (kind, size, bigEndian = false) => ({ kind, size, bigEndian });

/** A struct with these fields, one after the other. */
function struct(...layouts) {
    let size = 0;
    const fields = layouts.map((layout, index) => {
        const field = { name: `f${index}`, offset: size, layout };
        size += layout.size;
        return field;
    });
    return { kind: "struct", size, fields };
}

test("itemsOf reads all kinds of fields in both byte orders", () => {
    for (const isBig of [false, true]) {
        const view = new DataView(new ArrayBuffer(200));
        let at = 0;
        const fields = [];
        const expected = {};
        const add = (layout, value, write) => {
            write(at);
            at += layout.size;
            expected[`f${fields.length}`] = value;
            fields.push(layout);
        };
        add(number("bool", 1), true, (at) => view.setUint8(at, 1));
        add(number("int", 1), -2, (at) => view.setInt8(at, -2));
        add(number("int", 2, isBig), -300, (at) => view.setInt16(at, -300, !isBig));
        add(number("int", 4, isBig), -70000, (at) => view.setInt32(at, -70000, !isBig));
        add(number("int", 8, isBig), -(2n ** 62n), (at) => view.setBigInt64(at, -(2n ** 62n), !isBig));
        add(number("uint", 1), 250, (at) => view.setUint8(at, 250));
        add(number("uint", 2, isBig), 65000, (at) => view.setUint16(at, 65000, !isBig));
        add(number("uint", 4, isBig), 4e9, (at) => view.setUint32(at, 4e9, !isBig));
        add(number("uint", 8, isBig), 2n ** 64n - 1n, (at) => view.setBigUint64(at, 2n ** 64n - 1n, !isBig));
        for (const [bits, half] of [[0x3c00, 1], [0xc100, -2.5], [1, 2 ** -24], [0x7bff, 65504], [0xfc00, -Infinity], [0x7e00, NaN], [0x8000, -0]]) {
            add(number("float", 2, isBig), half, (at) => view.setUint16(at, bits, !isBig));
        }
        add(number("float", 4, isBig), 0.25, (at) => view.setFloat32(at, 0.25, !isBig));
        add(number("float", 8, isBig), 0.1, (at) => view.setFloat64(at, 0.1, !isBig));
        const pair = (set, size) => (at) => [1, -2].forEach((part, index) => view[set](at + index * size, part, !isBig));
        add(number("complex", 8, isBig), [1, -2], pair("setFloat32", 4));
        add(number("complex", 16, isBig), [1, -2], pair("setFloat64", 8));
        add(number("datetime", 8, isBig), 5n, (at) => view.setBigInt64(at, 5n, !isBig));
        const codes = [0x1f600, 0xd800, 0x110000, 0];
        const write = (at) => codes.forEach((code, index) => view.setUint32(at + 4 * index, code, !isBig));
        add(number("str", 16, isBig), "\u{1f600}\ufffd\ufffd", write);
        add(number("bytes", 3), "\u00e9a", (at) => [0xe9, 0x61, 0].forEach((byte, index) => view.setUint8(at + index, byte)));
        add({ kind: "void", size: 2 }, new Uint8Array([7, 8]), (at) => view.setUint16(at, 0x0708));
        const list = { kind: "subarray", size: 6, shape: [3, 2], base: number("uint", 1) };
        add(list, [[1, 2], [3, 4], [5, 6]], (at) => [1, 2, 3, 4, 5, 6].forEach((item, index) => view.setUint8(at + index, item)));
        const rows = itemsOf(struct(...fields), new Uint8Array(view.buffer, 0, at));
        assert.deepEqual(rows, [expected]);
    }
});

test("subarrays add their dimensions to those of a slice", () => {
    const inner = { kind: "subarray", size: 4, shape: [2], base: number("float", 2) };
    const layout = { kind: "subarray", size: 12, shape: [3], base: inner };
    assert.deepEqual(unfolded(layout).shape, [3, 2]);
    assert.equal(widened(layout, 24), 48);
    // Rust has turned float16 into float32.
    assert.deepEqual(itemsOf(layout, new Uint8Array(48)), new Float32Array(12));
});

test("itemsOf takes no longer for NULs, and has no limit for the length of a text", () => {
    const length = 300_000;
    const bytes = new Uint8Array(3 * length);
    bytes[2 * length - 1] = 0x41;
    const [empty, last, none] = itemsOf({ kind: "bytes", size: length, bigEndian: false }, bytes);
    assert.deepEqual([empty, last.length, last.at(-1), none], ["", length, "A", ""]);
});
