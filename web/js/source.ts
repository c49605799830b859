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
    ) {
        super(offset === null ? message : `byte ${offset} of the frame: ${message}`);
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
    if (typeof file === "string" || file instanceof URL) return openUrl(new URL(file, globalThis.location?.href), signal);
    const blob = file instanceof Blob ? file : new Blob([file as BlobPart]);
    const read = async (start: number, end: number) => new Uint8Array(await blob.slice(start, end).arrayBuffer());
    return { name: "name" in blob ? String(blob.name) : "", size: blob.size, first: await read(0, FIRST), read };
}

async function openUrl(url: URL, signal?: AbortSignal): Promise<Source> {
    const request = async (init: RequestInit): Promise<Response> => {
        let response;
        try {
            // The cache of a browser can mix ranges of two versions of a file.
            response = await fetch(url, { ...init, cache: "no-store" });
        } catch (error) {
            if (init.signal?.aborted) throw error;
            const cors = "; a page of another origin also needs the header Access-Control-Allow-Origin of the server";
            throw new B2ndError("io", `cannot reach ${url.host}${globalThis.location ? cors : ""}`);
        }
        if (!response.ok && response.status !== 416) throw new B2ndError("io", `${url.host} answered ${response.status} ${response.statusText}`);
        return response;
    };
    const range = async (start: number, end: number, signal?: AbortSignal) => {
        const response = await request({ headers: { Range: `bytes=${start}-${end - 1}` }, signal: signal ?? null });
        if (response.status === 416) return { bytes: new Uint8Array(), response };
        if (response.status !== 206) {
            await response.body?.cancel();
            throw new B2ndError("io", `${url.host} sends whole files only: it must accept the header Range, and answer with status 206`);
        }
        return { bytes: new Uint8Array(await response.arrayBuffer()), response };
    };
    const { bytes: first, response } = await range(0, FIRST, signal);
    const version = versionOf(response);
    let size = Number(response.headers.get("Content-Range")?.split("/")[1] ?? NaN);
    // A page of another origin sees Content-Range only if the server exposes it, but Content-Length always.
    if (Number.isNaN(size)) size = Number((await request({ method: "HEAD", signal: signal ?? null })).headers.get("Content-Length") ?? NaN);
    if (Number.isNaN(size)) throw new B2ndError("io", `${url.host} does not tell the size of the file: it must expose the header Content-Range`);
    const read = async (start: number, end: number, signal?: AbortSignal) => {
        const { bytes, response } = await range(start, end, signal);
        if (versionOf(response) !== version) throw new B2ndError("changing", "the file on the server has changed since it was opened: open it again");
        if (bytes.length !== end - start) throw new B2ndError("io", `${url.host} sent ${bytes.length} bytes for the range ${start}-${end - 1}`);
        return bytes;
    };
    return { name: url.pathname, size, first, read };
}

/** The version of a file; `null` if the server sends none. */
function versionOf({ headers }: Response): string | null {
    return headers.get("ETag") ?? headers.get("Last-Modified");
}
