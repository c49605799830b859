// Arrays of Blosc2 (`.b2nd`) in browsers, workers and Node, read by ranges.
import { itemsOf, unfolded, widened, type Items, type Layout } from "./items.js";
import { B2ndError, openSource, type Openable, type Source } from "./source.js";
import { Turns } from "./turns.js";
import initWasm, { KnownFile, type KnownArray } from "./wasm/b2nd.js";

export { B2ndError, type Openable } from "./source.js";
export { type Items, type Layout, type Value } from "./items.js";

let ready: Promise<unknown> | undefined;

/** Loads the WebAssembly. `open` calls this function itself. A page that already holds the WebAssembly passes it here. */
export function init(wasm?: BufferSource | WebAssembly.Module): Promise<unknown> {
    // After a failure, the next call tries again.
    return (ready ??= load(wasm).catch((error) => {
        ready = undefined;
        throw error;
    }));
}

async function load(wasm?: BufferSource | WebAssembly.Module): Promise<unknown> {
    return initWasm({ module_or_path: wasm ?? (await beside()) });
}

/** The WebAssembly beside this file. In Node it is read from the disk, because `fetch` does not read files there. */
async function beside(): Promise<BufferSource | URL> {
    const url = new URL("./wasm/b2nd_bg.wasm", import.meta.url);
    const isInNode = url.protocol === "file:" && globalThis.process?.versions?.node;
    return isInNode ? (await import("node:fs/promises")).readFile(url) : url;
}

export interface ReadOptions {
    signal?: AbortSignal;
}

export interface SliceOptions extends ReadOptions {
    /** Called after each piece of a slice with the bytes of items so far, and of the slice. */
    onProgress?: (done: number, total: number) => void;
}

/** A dimension of a slice: `null` for all of it, an index, or `[start, stop]` or `[start, stop, step]`. */
export type Subscript = null | number | readonly [start: number, stop: number, step?: number];

/** Bytes of a file, and their offset. */
type Fetched = [start: number, bytes: Uint8Array];

/** The most bytes of a file that are kept for later calls: opening a file reads its header more than once. */
const KEPT = 1 << 18;

/** The most bytes that a slice keeps for its later calls: in a store, many of them need the same chunk of the store. */
const KEPT_BY_SLICE = 1 << 24;

/** The most requests for one file at the same time, and the most of its slices. */
const [REQUESTS, SLICES] = [16, 16];

/** A file, with a few parts of it that have been fetched. Calls into Rust get missing parts through `ask`. */
class Fetcher {
    readonly file: KnownFile;
    readonly slices = new Turns(SLICES);
    private readonly requests = new Turns(REQUESTS);
    private kept: readonly Fetched[];

    private constructor(private readonly source: Source) {
        this.file = new KnownFile(BigInt(source.size), source.name);
        this.kept = [[0, source.first]];
    }

    static async open(file: Openable, options: ReadOptions): Promise<Fetcher> {
        const [source] = await Promise.all([openSource(file, options.signal), init()]);
        return new Fetcher(source);
    }

    /**
     * Repeats a call until it lacks no more bytes, and fetches the missing bytes before each repetition. WebAssembly has
     * the bytes only during the call, so they use none of its memory later, and calls that overlap cannot drop them.
     * The calls of a slice have a list `ofSlice` in common, which keeps the newest of the bytes.
     */
    async ask<T>(call: () => T, signal?: AbortSignal, ofSlice: Fetched[] = []): Promise<T> {
        const { kept } = this;
        // A part that the slice has fetched can be among those of the file, too.
        const fetched = [...new Set([...kept, ...ofSlice])];
        for (;;) {
            signal?.throwIfAborted();
            const outcome = this.attempt(call, fetched);
            if ("done" in outcome) {
                if (lengthOf(fetched) <= KEPT) this.kept = fetched;
                ofSlice.splice(0, Infinity, ...fetched.slice(kept.length));
                while (lengthOf(ofSlice) > KEPT_BY_SLICE) ofSlice.shift();
                return outcome.done;
            }
            // After a failure, the requests that still wait are not sent.
            let failure: { error: unknown } | undefined;
            const request = async ([start, end]: [number, number]) => {
                if (failure) throw failure.error;
                return this.source.read(start, end, signal).catch((error: unknown) => {
                    failure ??= { error };
                    throw error;
                });
            };
            const read = async (range: [number, number]) => {
                fetched.push([range[0], await this.requests.take(() => request(range), signal)]);
            };
            await Promise.all(merged(outcome.ranges).map(read));
        }
    }

    /** The result of a call that knows only these bytes, or the byte ranges that it lacks. */
    private attempt<T>(call: () => T, fetched: readonly Fetched[]): { done: T } | { ranges: [number, number][] } {
        try {
            for (const [start, bytes] of fetched) this.file.insert(BigInt(start), bytes);
            const done = call();
            this.file.clear();
            return { done };
        } catch (thrown) {
            try {
                this.file.clear();
            } catch {
                // After a failure of WebAssembly itself, all calls fail. The first error is the one to report.
            }
            if (typeof thrown !== "string") throw thrown;
            const error = JSON.parse(thrown);
            if (error.ranges) return error;
            throw new B2ndError(error.code, error.message, error.offset);
        }
    }
}

function lengthOf(fetched: readonly Fetched[]): number {
    return fetched.reduce((sum, [, bytes]) => sum + bytes.length, 0);
}

const [GAP, LONGEST] = [1 << 16, 1 << 22];

/** Merges ranges with a gap of at most `GAP` bytes into one request, up to `LONGEST` bytes. A longer range stays whole. */
function merged(ranges: [number, number][]): [number, number][] {
    const result: [number, number][] = [];
    for (const [start, end] of ranges.sort(([one], [other]) => one - other)) {
        const last = result.at(-1);
        if (last && start - last[1] <= GAP && end - last[0] <= LONGEST) last[1] = Math.max(last[1], end);
        else result.push([start, end]);
    }
    return result;
}

/** An open array. */
export class B2ndArray {
    /** The number of items along each dimension. */
    readonly shape: readonly number[];
    /** The chunk shape; `null` if the frame is a super-chunk, because its chunks are not in a grid. */
    readonly chunks: readonly number[] | null;
    readonly blocks: readonly number[] | null;
    /** The dtype as NumPy prints it; `null` if the array has none. */
    readonly dtype: string | null;
    readonly codec: string;
    /** The compression level, from 0 to 9. */
    readonly level: number;
    readonly filters: readonly string[];
    /** The compressed size in bytes, as the frame records it. */
    readonly cbytes: number;
    /** The layout of an item. */
    readonly layout: Layout;

    private constructor(
        private readonly fetcher: Fetcher,
        private readonly array: KnownArray,
    ) {
        const info = JSON.parse(array.info());
        ({ shape: this.shape, chunks: this.chunks, blocks: this.blocks, dtype: this.dtype } = info);
        ({ codec: this.codec, level: this.level, filters: this.filters, cbytes: this.cbytes } = info);
        this.layout = info.layout;
    }

    /** @internal */
    static async open(fetcher: Fetcher, key: string | undefined, { signal }: ReadOptions): Promise<B2ndArray> {
        const array = await fetcher.ask(() => fetcher.file.array(key), signal);
        return new B2ndArray(fetcher, array);
    }

    /** The attributes, which are the vlmetalayers of the frame. README.md describes their values. */
    attributes({ signal }: ReadOptions = {}): Promise<Record<string, unknown>> {
        return this.fetcher.ask(() => this.array.attributes(), signal);
    }

    /** The dimensions that a dtype of subarrays adds to each slice, as in NumPy. */
    get itemShape(): readonly number[] {
        return unfolded(this.layout).shape;
    }

    /** Reads the items of a slice in C order. Dimensions without a subscript are whole. */
    async slice(subscripts: readonly Subscript[] = [], { signal, onProgress }: SliceOptions = {}): Promise<Items> {
        const { starts, stops, steps, count } = bounds(subscripts, this.shape);
        const total = widened(this.layout, count * this.layout.size);
        const { fetcher, array } = this;
        const read = async () => {
            const kept: Fetched[] = [];
            const reading = await fetcher.ask(() => array.slice(starts, stops, steps), signal, kept);
            try {
                const bytes = zeros(total);
                let done = 0;
                for (let items; (items = await fetcher.ask(() => reading.next_wave(), signal, kept)); done += items.length) {
                    bytes.set(items, done);
                    if (items.length) onProgress?.(done + items.length, total);
                }
                return itemsOf(this.layout, bytes);
            } finally {
                reading.free();
            }
        };
        return fetcher.slices.take(read, signal);
    }
}

function zeros(length: number): Uint8Array {
    try {
        return new Uint8Array(length);
    } catch {
        throw new B2ndError("too-large", `there is no memory for ${length} bytes of items: read a smaller slice`);
    }
}

/** The bounds of a slice, and the number of its items. Negative numbers count from the end, as in NumPy. */
function bounds(subscripts: readonly Subscript[], shape: readonly number[]) {
    if (subscripts.length > shape.length) {
        throw new B2ndError("invalid-input", `the slice has ${subscripts.length} dimensions, but the array has ${shape.length}`);
    }
    const [starts, stops, steps] = [0, 0, 0].map(() => new BigUint64Array(shape.length)) as [BigUint64Array, BigUint64Array, BigUint64Array];
    let count = 1;
    shape.forEach((length, dimension) => {
        if (!Number.isSafeInteger(length)) throw new B2ndError("unsupported", `shape[${dimension}] is ${length}, but slices can have at most 2^53 - 1 items along a dimension, the limit of JavaScript's numbers`);
        const subscript = subscripts[dimension] ?? null;
        const from = (index: number) => (index < 0 ? index + length : index);
        const within = (index: number) => Math.min(Math.max(from(index), 0), length);
        let [start, stop, step] = [0, length, 1];
        if (typeof subscript === "number") {
            [start, stop] = [from(subscript), from(subscript) + 1];
            if (!(start >= 0 && start < length)) throw new B2ndError("invalid-input", `index ${subscript} is out of bounds: shape[${dimension}] is ${length}`);
        } else if (subscript !== null) {
            [start, step] = [within(subscript[0]), subscript[2] ?? 1];
            stop = Math.max(start, within(subscript[1]));
        }
        if (![start, stop, step].every(Number.isSafeInteger) || step < 1) throw new B2ndError("invalid-input", `subscript ${dimension} must have whole numbers, and a step of at least 1`);
        [starts[dimension], stops[dimension], steps[dimension]] = [BigInt(start), BigInt(stop), BigInt(step)];
        count *= Math.ceil((stop - start) / step);
    });
    return { starts, stops, steps, count };
}

/** A store of python-blosc2 in one file: `.b2z` or `.b2e`. */
export class B2ndStore {
    private constructor(
        private readonly fetcher: Fetcher,
        /** The keys of the members, sorted. Each begins with `/`. */
        readonly keys: readonly string[],
    ) {}

    /** @internal `null` if the file is not a store. */
    static async open(fetcher: Fetcher, { signal }: ReadOptions): Promise<B2ndStore | null> {
        const keys = JSON.parse(await fetcher.ask(() => fetcher.file.keys(), signal));
        return keys && new B2ndStore(fetcher, keys);
    }

    array(key: string, options: ReadOptions = {}): Promise<B2ndArray> {
        return B2ndArray.open(this.fetcher, key, options);
    }

    /** The attributes of a group; `/` is the whole store. */
    async attributes(group = "/", { signal }: ReadOptions = {}): Promise<Record<string, unknown>> {
        return this.fetcher.ask(() => this.fetcher.file.attributes(group), signal);
    }
}

/** Opens an array. Only its header is read; of a super-chunk, also its trailer. */
export async function open(file: Openable, options: ReadOptions = {}): Promise<B2ndArray> {
    return B2ndArray.open(await Fetcher.open(file, options), undefined, options);
}

/** Opens a store. Only its list of members is read. */
export async function openStore(file: Openable, options: ReadOptions = {}): Promise<B2ndStore> {
    const store = await B2ndStore.open(await Fetcher.open(file, options), options);
    if (!store) throw new B2ndError("invalid-input", "not a store; `open` reads arrays");
    return store;
}

/** Opens a file that may be a store or an array. */
export async function openAny(file: Openable, options: ReadOptions = {}): Promise<B2ndStore | B2ndArray> {
    const fetcher = await Fetcher.open(file, options);
    return (await B2ndStore.open(fetcher, options)) ?? B2ndArray.open(fetcher, undefined, options);
}
