// Where the bytes of a file come from.

/** What can be opened: a file that a user chose, bytes in memory, or the address of a file on a server. */
export type Openable = Blob | Uint8Array | ArrayBuffer | string | URL;

/** An error with the code that the command `b2nd` prints for it, and the offset in the frame, if known. */
export class B2ndError extends Error {
    override name = "B2ndError";
    constructor(
        readonly code: string,
        message: string,
        readonly offset: number | null = null,
        options?: ErrorOptions,
    ) {
        super(offset === null ? message : `byte ${offset} of the frame: ${message}`, options);
    }
}

/** The length of the first read. The header of nearly every array is not longer. */
const FIRST = 4096;

export interface Source {
    readonly name: string;
    readonly size: number;
    /** The first bytes of the file, which were read when it was opened. */
    readonly first: Uint8Array;
    read(start: number, end: number, signal?: AbortSignal): Promise<Uint8Array>;
}

export async function openSource(file: Openable, signal?: AbortSignal): Promise<Source> {
    if (typeof file === "string" || file instanceof URL) return openUrl(urlOf(file), signal);
    const blob = file instanceof Blob ? file : new Blob([file as BlobPart]);
    const read = async (start: number, end: number) => {
        try {
            return new Uint8Array(await blob.slice(start, end).arrayBuffer());
        } catch (cause) {
            throw new B2ndError("changing", "the file has changed since it was opened, or can no longer be read: open it again", null, { cause });
        }
    };
    return { name: "name" in blob ? String(blob.name) : "", size: blob.size, first: await read(0, FIRST), read };
}

function urlOf(address: string | URL): URL {
    try {
        return new URL(address, globalThis.location?.href);
    } catch (cause) {
        throw new B2ndError("invalid-input", `${address} is not a URL; a file is opened as a Blob, in Node with openAsBlob of node:fs`, null, { cause });
    }
}

async function openUrl(url: URL, signal?: AbortSignal): Promise<Source> {
    const host = url.host || url.href;
    /** The result of a step of a request. An error that is not of the caller's signal has the code `io`. */
    const attempt = async <T>(step: Promise<T>, failure: string, signal?: AbortSignal): Promise<T> => {
        try {
            return await step;
        } catch (error) {
            if (signal?.aborted) throw signal.reason;
            // The message of `fetch` in Node is only "fetch failed".
            const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
            throw new B2ndError("io", `${failure}: ${cause instanceof Error ? cause.message : String(cause)}`, null, { cause: error });
        }
    };
    /** Reports a response whose body is not read. The body would otherwise keep the connection. */
    const refused = async (response: Response, message: string): Promise<never> => {
        await response.body?.cancel().catch(() => {});
        throw new B2ndError("io", `${host} ${message}`);
    };
    const request = async (init: RequestInit, signal?: AbortSignal): Promise<Response> => {
        const cors = globalThis.location ? " (a page of another origin also needs the header Access-Control-Allow-Origin of the server)" : "";
        // The cache of a browser can mix ranges of two versions of a file.
        const response = await attempt(fetch(url, { ...init, signal: signal ?? null, cache: "no-store" }), `cannot reach ${host}${cors}`, signal);
        if (!response.ok && response.status !== 416) await refused(response, `answered ${response.status} ${response.statusText}`);
        return response;
    };
    const range = async (start: number, end: number, signal?: AbortSignal) => {
        const response = await request({ headers: { Range: `bytes=${start}-${end - 1}` } }, signal);
        if (response.status === 416) return { bytes: new Uint8Array(), response };
        if (response.status !== 206) await refused(response, "sends whole files only: it must accept the header Range, and answer with status 206");
        const sent = response.headers.get("Content-Range")?.match(/^bytes (\d+)-/)?.[1];
        if (sent !== undefined && Number(sent) !== start) await refused(response, `sent the bytes from ${sent} on, but those from ${start} on were asked for`);
        const bytes = await attempt(response.arrayBuffer(), `${host} broke off the bytes ${start} to ${end - 1}`, signal);
        return { bytes: new Uint8Array(bytes), response };
    };
    const { bytes: first, response } = await range(0, FIRST, signal);
    const version = versionOf(response);
    const isSize = (size: number) => Number.isSafeInteger(size) && (size > 0 || response.status === 416);
    let size = Number(response.headers.get("Content-Range")?.split("/")[1] ?? NaN);
    // A page of another origin sees Content-Range only if the server exposes it, but Content-Length always. `fetch` adds
    // `Accept-Encoding: identity` to the header Range, so this is not the length of a compressed body.
    if (!isSize(size)) size = Number((await request({ method: "HEAD", headers: { Range: "bytes=0-" } }, signal)).headers.get("Content-Length") ?? NaN);
    if (!isSize(size)) throw new B2ndError("io", `${host} does not tell the size of the file: it must expose the header Content-Range`);
    const read = async (start: number, end: number, signal?: AbortSignal) => {
        const { bytes, response } = await range(start, end, signal);
        if (versionOf(response) !== version) throw new B2ndError("changing", "the file on the server has changed since it was opened: open it again");
        if (bytes.length !== end - start) throw new B2ndError("io", `${host} sent ${bytes.length} bytes for the range ${start}-${end - 1}`);
        return bytes;
    };
    return { name: url.pathname, size, first, read };
}

/** The version of a file; `null` if the server sends none. */
function versionOf({ headers }: Response): string | null {
    return headers.get("ETag") ?? headers.get("Last-Modified");
}
