// The part of an array that is read. It has one or two dimensions, and is read in steps if it is large.
import { type B2ndArray, B2ndError, type Items, type Layout, type SliceOptions, type Subscript } from "../js/index.js";
import { unfolded } from "../js/items.js";
import { bytes } from "./parts.js";

/** For each dimension, as in h5web: an axis, an index, or `null` for the dimension of the colours of an image. */
export type Mapping = (number | "x" | "y" | null)[];

/** A range of indices along an axis. */
export type Range = readonly [start: number, stop: number];

/** A part of an array with at most two dimensions. */
interface Part {
    /** The ranges of x and y; of x only, if the array has one dimension. */
    ranges: { x: Range; y: Range };
    /** The distance from one item that is read to the next, along each axis. */
    steps: { x: number; y: number };
    /** The number of items along each axis. */
    counts: { x: number; y: number };
}

export interface Plane extends Part {
    /** At most this number of bytes is decompressed. */
    cost: number;
}

/** The most items along an axis of a picture. A line has more. */
const MOST_IN_PICTURE = 1024;
const MOST_IN_LINE = 1 << 17;

/** Limits of decompressed bytes: `CHEAP` without asking, `DEAR` after the user has asked for more. */
export const CHEAP = 1 << 26;
const DEAR = 2 ** 32;

/** The number for NaT (not a time). */
const NAT = -(2n ** 63n);

/** The usual length of a block in bytes, for arrays whose blocks are not known. */
const USUAL_BLOCK = 1 << 17;

export function wholeRange(array: B2ndArray, mapping: Mapping, axis: "x" | "y"): Range {
    const dimension = mapping.indexOf(axis);
    return [0, dimension < 0 ? 1 : array.shape[dimension]!];
}

/** The plane with the smallest steps that decompresses at most `budget` bytes, but has some 16 items along each axis. */
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

/** All items of these ranges. */
export function everyItem(ranges: { x: Range; y: Range }): Part {
    const count = ([start, stop]: Range) => stop - start;
    return { ranges, steps: { x: 1, y: 1 }, counts: { x: count(ranges.x), y: count(ranges.y) } };
}

/** The bytes of the blocks that a plane touches. */
function costOf(array: B2ndArray, mapping: Mapping, ranges: { x: Range; y: Range }, counts: { x: number; y: number }): number {
    const itemSize = array.layout.size;
    if (!array.blocks) {
        const size = array.shape.reduce((bytes, items) => bytes * items, itemSize);
        return Math.min(size, counts.x * counts.y * USUAL_BLOCK);
    }
    const shape = array.blocks;
    let blocks = 1;
    mapping.forEach((axis, dimension) => {
        if (typeof axis === "number") return;
        const [start, stop] = axis ? ranges[axis] : [0, array.shape[dimension]!];
        const [chunk, block] = [array.chunks, shape].map((all) => Math.max(all![dimension]!, 1)) as [number, number];
        // Each chunk begins with a block of its own.
        const blockOf = (index: number) => Math.floor(index / chunk) * Math.ceil(chunk / block) + Math.floor((index % chunk) / block);
        const touched = blockOf(stop - 1) - blockOf(start) + 1;
        blocks *= axis ? Math.min(counts[axis], touched) : touched;
    });
    return blocks * shape.reduce((bytes, items) => bytes * items, itemSize);
}

/** Whether the items are read column by column. */
function isXFirst(mapping: Mapping): boolean {
    return mapping.indexOf("x") < mapping.indexOf("y");
}

function subscripts(mapping: Mapping, { ranges, steps }: Part): Subscript[] {
    return mapping.map((axis) => (axis === "x" || axis === "y" ? [...ranges[axis], steps[axis]] : axis) as Subscript);
}

/** The items of a part as they are stored. */
export async function readItems(array: B2ndArray, mapping: Mapping, part: Part, options: SliceOptions): Promise<Items> {
    const cost = costOf(array, mapping, part.ranges, part.counts);
    if (cost > DEAR) throw new B2ndError("too-large", `the blocks of this part have ${bytes(cost)}, but at most ${bytes(DEAR)} are decompressed at once: try another view or other axes, or read a slice with another program, such as b2nd cat`);
    return array.slice(subscripts(mapping, part), options);
}

/** The numbers of a plane in C order of y and x. A complex number becomes its phase or its magnitude, NaT becomes NaN. */
export function numbersOf(array: B2ndArray, mapping: Mapping, plane: Plane, items: Items, isPhase: boolean): Float32Array | Float64Array {
    return transposed(numbers(array.layout, items, isPhase), mapping, plane);
}

/** The colours of an image in C order of y and x: three numbers for each item. */
export function coloursOf(array: B2ndArray, mapping: Mapping, plane: Plane, items: Items): Uint8Array {
    return transposed(items as Uint8Array, mapping, plane, array.shape.at(-1)).filter((_, number) => number % array.shape.at(-1)! < COLOURS);
}

/** Red, green and blue. A fourth number, the opacity, is not shown. */
const COLOURS = 3;

/** Whether an array looks like an image: the last dimension has three or four bytes. */
export function isImage({ layout, shape }: B2ndArray): boolean {
    return layout.kind === "uint" && layout.size === 1 && shape.length > 2 && [COLOURS, COLOURS + 1].includes(shape.at(-1)!);
}

/** The items of a plane as text, row by row. If the items are structs, `columns` is the range of fields to show. */
export async function readCells(array: B2ndArray, mapping: Mapping, part: Part, columns: Range, options: SliceOptions): Promise<string[][]> {
    const items = await readItems(array, mapping, part, options);
    const { x, y } = part.counts;
    const layout = array.layout;
    if (layout.kind === "struct") {
        // Not `Object.values`, which begins with names such as "10".
        const fields = layout.fields.slice(...columns);
        return (items as Record<string, unknown>[]).map((item) => fields.map((field) => text(field.layout, item[field.name])));
    }
    const cell = cellsOf(layout, items);
    // If the part has only one dimension, each item gets its own row.
    if (!mapping.includes("y")) return Array.from({ length: x }, (_, row) => [cell(row)]);
    const isTransposed = isXFirst(mapping);
    const at = (row: number, column: number) => (isTransposed ? column * y + row : row * x + column);
    return Array.from({ length: y }, (_, row) => Array.from({ length: x }, (_, column) => cell(at(row, column))));
}

/** The names of the columns, if an item is a struct. */
export function fieldsOf(array: B2ndArray): string[] | null {
    return array.layout.kind === "struct" ? array.layout.fields.map(({ name }) => name) : null;
}

/** Whether items can be drawn. */
export function isDrawable({ kind, size }: Layout): boolean {
    return size > 0 && ["bool", "int", "uint", "float", "complex", "datetime", "timedelta"].includes(kind);
}

function numbers(layout: Layout, items: Items, isPhase: boolean): Float32Array | Float64Array {
    if (layout.kind === "complex") {
        const parts = items as Float32Array | Float64Array;
        const drawn = isPhase ? (real: number, imaginary: number) => Math.atan2(imaginary, real) : Math.hypot;
        return Float64Array.from({ length: parts.length / 2 }, (_, number) => drawn(parts[2 * number]!, parts[2 * number + 1]!));
    }
    if (items instanceof Float32Array || items instanceof Float64Array) return items;
    if (items instanceof BigInt64Array || items instanceof BigUint64Array) {
        const isTime = layout.kind === "datetime" || layout.kind === "timedelta";
        return Float64Array.from(items as BigInt64Array, (item) => (isTime && item === NAT ? NaN : Number(item)));
    }
    return Float64Array.from(items as Uint8Array);
}

/** The items in C order of y and x; an item has `length` numbers. */
function transposed<T extends Uint8Array | Float32Array | Float64Array>(items: T, mapping: Mapping, { counts }: Plane, length = 1): T {
    if (!isXFirst(mapping)) return items;
    const result = items.slice() as T;
    for (let y = 0; y < counts.y; y++) {
        for (let x = 0; x < counts.x; x++) {
            for (let part = 0; part < length; part++) result[(y * counts.x + x) * length + part] = items[(x * counts.y + y) * length + part]!;
        }
    }
    return result;
}

/** The text of an item by its number. */
function cellsOf(layout: Layout, items: Items): (number: number) => string {
    const base = unfolded(layout).layout;
    const length = layout.size / base.size;
    const all = items as ArrayLike<unknown>;
    const part = (at: number): string => {
        if (base.kind === "complex") return text(base, [all[at * 2], all[at * 2 + 1]]);
        if (base.kind === "void") return text(base, Uint8Array.from({ length: Math.min(base.size, MOST_PARTS) }, (_, byte) => Number(all[at * base.size + byte])));
        return text(base, all[at]);
    };
    if (layout.kind !== "subarray") return part;
    return (number) => joined(Array.from({ length: Math.min(length, MOST_PARTS) }, (_, at) => part(number * length + at)), length);
}

/** The most numbers of an item that a cell shows, and the most characters. */
const MOST_PARTS = 64;
const MOST_CHARACTERS = 200;

function joined(parts: string[], length: number): string {
    return `[${parts.join(", ")}${length > parts.length ? `, … ${length} in all` : ""}]`;
}

/** A value as text, as NumPy prints it. */
function text(layout: Layout, value: unknown): string {
    if (value instanceof Uint8Array) return shortened(Array.from(value.subarray(0, MOST_CHARACTERS), (byte) => byte.toString(16).padStart(2, "0")).join(""));
    if (layout.kind === "struct") {
        return shortened(`(${layout.fields.map((field) => text(field.layout, (value as Record<string, unknown>)[field.name])).join(", ")})`);
    }
    if (layout.kind === "subarray") {
        const items = (Array.isArray(value) ? value : [value]) as unknown[];
        const inner = layout.shape.length > 1 ? { ...layout, shape: layout.shape.slice(1) } : layout.base;
        return shortened(joined(items.slice(0, MOST_PARTS).map((item) => text(inner, item)), items.length));
    }
    if (layout.kind === "complex") {
        const [real, imaginary] = (value as number[]).map((part) => float(part, layout.size / 2)) as [string, string];
        return `${real}${imaginary.startsWith("-") ? "" : "+"}${imaginary}j`;
    }
    if (layout.kind === "bool") return String(Boolean(value));
    if ((layout.kind === "datetime" || layout.kind === "timedelta") && value === NAT) return "NaT";
    if (layout.kind === "datetime") return date(value as bigint * BigInt(layout.count), layout.unit);
    return layout.kind === "float" ? float(value as number, layout.size) : shortened(String(value));
}

function shortened(text: string): string {
    return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}

/** The shortest text that reads back as the same float. A float16 has at most 5 digits, which may be more than it needs. */
function float(value: number, size: number): string {
    if (Object.is(value, -0)) return "-0";
    if (!Number.isFinite(value) || size > 4) return String(value);
    const rounded = (digits: number) => Number(value.toPrecision(digits));
    if (size === 2) return String(rounded(5));
    return String([6, 7, 8].map(rounded).find((short) => Math.fround(short) === value) ?? rounded(9));
}

/** The milliseconds of the units of datetimes, each as a fraction. */
const UNITS: Record<string, readonly [bigint, bigint]> = {
    W: [604_800_000n, 1n], D: [86_400_000n, 1n], h: [3_600_000n, 1n], m: [60_000n, 1n], s: [1000n, 1n], ms: [1n, 1n], us: [1n, 1000n], ns: [1n, 1_000_000n],
};

/**
 * The datetime of a number of units, as NumPy prints it. It stays a number if the unit is not in `UNITS`, or if the year
 * is out of JavaScript's range.
 */
function date(value: bigint, unit: string): string {
    const scale = UNITS[unit];
    if (!scale) return String(value);
    const [times, parts] = scale;
    const scaled = value * times;
    const rest = ((scaled % parts) + parts) % parts;
    const instant = new Date(Number((scaled - rest) / parts));
    if (Number.isNaN(instant.getTime())) return String(value);
    const fraction = parts > 1n ? String(rest).padStart(String(parts).length - 1, "0") : "";
    // Not the year of `toISOString`, which has a sign and six digits before 0 and after 9999.
    const year = instant.getUTCFullYear();
    const yearText = year < 0 ? `-${String(-year).padStart(3, "0")}` : String(year).padStart(4, "0");
    const length = { W: 6, D: 6, h: 9, m: 12, s: 15 }[unit];
    return yearText + instant.toISOString().slice(-20, -1).slice(0, length) + fraction;
}
