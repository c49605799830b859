// What is read of an array: a part of it with one or two dimensions, in steps if it is large.
import { type B2ndArray, type Items, type Layout, type SliceOptions, type Subscript } from "../js/index.js";

/** The dimension that each axis shows; the others have an index. As in h5web. */
export type Mapping = (number | "x" | "y" | null)[];

/** A range of indices along an axis. */
export type Range = readonly [start: number, stop: number];

/** A part of an array with at most two dimensions. */
export interface Plane {
    /** The ranges of x and y; of x only, if the array has one dimension. */
    ranges: { x: Range; y: Range };
    /** Every how many items one is read. */
    steps: { x: number; y: number };
    /** The number of items along each axis. */
    counts: { x: number; y: number };
    /** At most this number of bytes is decompressed. */
    cost: number;
}

/** The most items along an axis of a picture. A line has more. */
const MOST_IN_PICTURE = 1024;
const MOST_IN_LINE = 1 << 17;

/** The number of bytes that are decompressed without a question, and the most that are ever decompressed. */
export const CHEAP = 1 << 26;
const DEAR = 2 ** 32;

/** The usual length of a block in bytes, for arrays of which the blocks are not known. */
const USUAL_BLOCK = 1 << 17;

export function wholeRange(array: B2ndArray, mapping: Mapping, axis: "x" | "y"): Range {
    const dimension = mapping.indexOf(axis);
    return [0, dimension < 0 ? 1 : array.shape[dimension]!];
}

/** The finest plane of these ranges that costs at most `budget` bytes, but at least some items. */
export function planeOf(array: B2ndArray, mapping: Mapping, ranges: { x: Range; y: Range }, budget: number): Plane {
    const isLine = !mapping.includes("y");
    const limit = Math.min(budget, DEAR);
    for (let most = isLine ? MOST_IN_LINE : MOST_IN_PICTURE; ; most /= 2) {
        const step = ([start, stop]: Range) => Math.max(1, Math.ceil((stop - start) / most));
        const steps = { x: step(ranges.x), y: step(ranges.y) };
        const count = (axis: "x" | "y") => Math.ceil((ranges[axis][1] - ranges[axis][0]) / steps[axis]);
        const counts = { x: count("x"), y: count("y") };
        const cost = costOf(array, mapping, ranges, counts);
        if (cost <= limit || most <= 16) return { ranges, steps, counts, cost };
    }
}

/** The bytes of the blocks that a plane touches. */
function costOf(array: B2ndArray, mapping: Mapping, ranges: { x: Range; y: Range }, counts: { x: number; y: number }): number {
    const itemSize = array.items.size;
    if (!array.blocks) {
        const size = array.shape.reduce((bytes, items) => bytes * items, itemSize);
        return Math.min(size, counts.x * counts.y * USUAL_BLOCK);
    }
    const shape = array.blocks;
    let blocks = 1;
    mapping.forEach((axis, dimension) => {
        if (axis !== "x" && axis !== "y") return;
        const [start, stop] = ranges[axis];
        const length = Math.max(shape[dimension]!, 1);
        blocks *= Math.min(counts[axis], Math.ceil((stop - start) / length) + 1);
    });
    return blocks * shape.reduce((bytes, items) => bytes * items, itemSize);
}

function subscripts(mapping: Mapping, { ranges, steps }: Plane): Subscript[] {
    return mapping.map((axis) => (axis === "x" || axis === "y" ? [...ranges[axis], steps[axis]] : (axis ?? 0)) as Subscript);
}

/** The numbers of a plane in C order of y and x. A complex number becomes its magnitude, NaT becomes NaN. */
export async function readNumbers(array: B2ndArray, mapping: Mapping, plane: Plane, options: SliceOptions): Promise<Float32Array | Float64Array> {
    const items = await array.slice(subscripts(mapping, plane), options);
    return transposed(numbers(array.items, items), mapping, plane);
}

/** The items of a plane as text, row by row. The items of a struct are the columns of its row. */
export async function readCells(array: B2ndArray, mapping: Mapping, plane: Plane, options: SliceOptions): Promise<string[][]> {
    const items = await array.slice(subscripts(mapping, plane), options);
    const { x, y } = plane.counts;
    const cell = cellsOf(array.items, items);
    const isXFirst = mapping.includes("y") && mapping.indexOf("x") < mapping.indexOf("y");
    const at = (row: number, column: number) => (isXFirst ? column * y + row : row * x + column);
    const fields = fieldsOf(array);
    // One dimension goes down the page.
    if (fields || !mapping.includes("y")) return Array.from({ length: x * y }, (_, row) => (fields ? cell(row).split("\0") : [cell(row)]));
    return Array.from({ length: y }, (_, row) => Array.from({ length: x }, (_, column) => cell(at(row, column))));
}

/** The names of the columns, if an item is a struct. */
export function fieldsOf(array: B2ndArray): string[] | null {
    return array.items.kind === "struct" ? array.items.fields.map(({ name }) => name) : null;
}

/** Whether items can be drawn. */
export function isDrawable({ kind, size }: Layout): boolean {
    return size > 0 && ["bool", "int", "uint", "float", "complex", "datetime", "timedelta"].includes(kind);
}

function numbers(layout: Layout, items: Items): Float32Array | Float64Array {
    if (layout.kind === "complex") {
        const parts = items as Float32Array | Float64Array;
        return Float64Array.from({ length: parts.length / 2 }, (_, number) => Math.hypot(parts[2 * number]!, parts[2 * number + 1]!));
    }
    if (items instanceof Float32Array || items instanceof Float64Array) return items;
    if (items instanceof BigInt64Array || items instanceof BigUint64Array) {
        const isTime = layout.kind === "datetime" || layout.kind === "timedelta";
        const NAT = -(2n ** 63n);
        return Float64Array.from(items as BigInt64Array, (item) => (isTime && item === NAT ? NaN : Number(item)));
    }
    return Float64Array.from(items as Uint8Array);
}

function transposed(items: Float32Array | Float64Array, mapping: Mapping, { counts }: Plane): Float32Array | Float64Array {
    const isXFirst = mapping.includes("y") && mapping.indexOf("x") < mapping.indexOf("y");
    if (!isXFirst) return items;
    const result = items.slice();
    for (let y = 0; y < counts.y; y++) for (let x = 0; x < counts.x; x++) result[y * counts.x + x] = items[x * counts.y + y]!;
    return result;
}

/** The text of an item by its number. The fields of a struct are separated by NUL. */
function cellsOf(layout: Layout, items: Items): (number: number) => string {
    if (Array.isArray(items)) {
        return (number) => {
            const item = items[number]!;
            const isRow = layout.kind === "struct";
            return isRow ? Object.values(item).map(text).join("\0") : text(item);
        };
    }
    const size = layout.kind === "complex" ? 2 : Math.max(1, unfoldedLength(layout));
    if (layout.kind === "bool") return (number) => String(items[number] === 1);
    return (number) => {
        const parts = Array.from(items.subarray(number * size, (number + 1) * size) as ArrayLike<number | bigint>, text);
        return layout.kind === "void" ? parts.map((byte) => Number(byte).toString(16).padStart(2, "0")).join("") : parts.join(" ");
    };
}

/** The number of numbers in an item. */
function unfoldedLength(layout: Layout): number {
    if (layout.kind === "void") return layout.size;
    if (layout.kind !== "subarray") return layout.kind === "complex" ? 2 : 1;
    return layout.shape.reduce((count, length) => count * length, unfoldedLength(layout.base));
}

function text(value: unknown): string {
    if (value instanceof Uint8Array) return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (Array.isArray(value)) return `[${value.map(text).join(", ")}]`;
    if (value && typeof value === "object") return `{${Object.entries(value).map(([name, item]) => `${name}: ${text(item)}`).join(", ")}}`;
    return String(value);
}
