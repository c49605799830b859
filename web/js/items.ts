// The items of a slice, from their bytes.

/** The items of a slice in C order. README.md lists the kind for each dtype. */
export type Items =
    | Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | BigUint64Array | BigInt64Array
    | Float32Array | Float64Array | Value[];

/** An item, if the items are not in a typed array. */
export type Value = boolean | number | bigint | string | Uint8Array | Value[] | { [field: string]: Value };

/** The layout of an item, as Rust describes it. */
export type Layout =
    | { kind: "bool" | "int" | "uint" | "float" | "complex" | "bytes" | "str"; size: number; bigEndian: boolean }
    // An item counts steps of `count` units; the unit is NumPy's symbol.
    | { kind: "datetime" | "timedelta"; size: number; bigEndian: boolean; unit: string; count: number }
    | { kind: "void"; size: number }
    | { kind: "struct"; size: number; fields: { name: string; offset: number; layout: Layout }[] }
    | { kind: "subarray"; size: number; shape: number[]; base: Layout };

/** Removes all levels of subarrays: the layout of the innermost item, and the dimensions of all levels. */
export function unfolded(layout: Layout): { layout: Layout; shape: number[] } {
    if (layout.kind !== "subarray") return { layout, shape: [] };
    const base = unfolded(layout.base);
    return { layout: base.layout, shape: [...layout.shape, ...base.shape] };
}

/** Typed arrays by the kind and size of an item. Rust has turned float16 into float32. */
const ARRAYS = {
    bool1: Uint8Array, uint1: Uint8Array, uint2: Uint16Array, uint4: Uint32Array, uint8: BigUint64Array,
    int1: Int8Array, int2: Int16Array, int4: Int32Array, int8: BigInt64Array, datetime8: BigInt64Array,
    timedelta8: BigInt64Array, float2: Float32Array, float4: Float32Array, float8: Float64Array, complex8: Float32Array,
    complex16: Float64Array,
};

/** The size in bytes after Rust has turned float16 into float32. `size` is the size as stored. */
export function widened(layout: Layout, size: number): number {
    const base = unfolded(layout).layout;
    return base.kind === "float" && base.size === 2 ? size * 2 : size;
}

/** The items of a whole slice. `bytes` must begin at the start of its buffer. */
export function itemsOf(layout: Layout, bytes: Uint8Array): Items {
    const base = unfolded(layout).layout;
    const array = ARRAYS[`${base.kind}${base.size}` as keyof typeof ARRAYS];
    if (array) return new array(bytes.buffer as ArrayBuffer, 0, bytes.length / array.BYTES_PER_ELEMENT);
    if (base.kind === "void" || base.size === 0) return bytes;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return Array.from({ length: bytes.length / base.size }, (_, number) => value(base, view, number * base.size));
}

/** One item as it is stored. */
function value(layout: Layout, view: DataView, at: number): Value {
    const bytes = () => new Uint8Array(view.buffer, view.byteOffset + at, layout.size);
    switch (layout.kind) {
        case "struct":
            return Object.fromEntries(layout.fields.map(({ name, offset, layout }) => [name, value(layout, view, at + offset)]));
        case "subarray":
            return list(layout.shape, layout.base, view, at);
        case "void":
            return bytes().slice();
        case "bytes":
            // A character for each byte, because the encoding is not known.
            return text(bytes());
    }
    const little = !layout.bigEndian;
    switch (`${layout.kind}${layout.size}`) {
        case "bool1": return view.getUint8(at) !== 0;
        case "int1": return view.getInt8(at);
        case "int2": return view.getInt16(at, little);
        case "int4": return view.getInt32(at, little);
        case "uint1": return view.getUint8(at);
        case "uint2": return view.getUint16(at, little);
        case "uint4": return view.getUint32(at, little);
        case "uint8": return view.getBigUint64(at, little);
        case "float2": return half(view.getUint16(at, little));
        case "float4": return view.getFloat32(at, little);
        case "float8": return view.getFloat64(at, little);
        case "complex8": return [view.getFloat32(at, little), view.getFloat32(at + 4, little)];
        case "complex16": return [view.getFloat64(at, little), view.getFloat64(at + 8, little)];
        case "int8": case "datetime8": case "timedelta8": return view.getBigInt64(at, little);
    }
    // A code point that Unicode does not have becomes the replacement character.
    const codes = Uint32Array.from({ length: layout.size / 4 }, (_, number) => view.getUint32(at + 4 * number, little));
    return text(codes.map((code) => (code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? code : 0xfffd)));
}

/** The text of these code points, without the NULs that pad it. */
function text(codes: Uint8Array | Uint32Array): string {
    // Not `replace(/\0+$/, "")`, which takes quadratic time.
    let end = codes.length;
    while (end > 0 && codes[end - 1] === 0) end--;
    let result = "";
    for (let at = 0; at < end; at++) result += String.fromCodePoint(codes[at]!);
    return result;
}

function list([length, ...rest]: number[], base: Layout, view: DataView, at: number): Value {
    if (length === undefined) return value(base, view, at);
    const size = rest.reduce((size, items) => size * items, base.size);
    return Array.from({ length }, (_, number) => list(rest, base, view, at + number * size));
}

function half(bits: number): number {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}
