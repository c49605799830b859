// The page in a browser, from a file on disk. `CHROMIUM` names the browser.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const here = new URL("./data/", import.meta.url);
const data = new URL("../../frame/tests/data/", import.meta.url);
const html = new URL("../dist/b2nd.html", import.meta.url);
// Pictures for people to look at.
const pictures = process.env.PICTURES;

const launch = (...more) => {
    const args = ["--no-sandbox", ...more];
    return chromium.launch({ executablePath: process.env.CHROMIUM, args, timeout: 120_000 });
};

let browser, server, base;
/** The method and the range of each request that the server has received. */
let requests = [];
/** Whether the server refuses all but the first bytes of a file with `end`. */
let refusesEnd = true;

before(async () => {
    browser = await launch("--use-angle=swiftshader", "--enable-unsafe-swiftshader");
    server = createServer(async (request, response) => {
        const { pathname, searchParams } = new URL(request.url, "http://server");
        const lacks = (what) => searchParams.has(what);
        requests.push(`${request.method} ${request.headers.range ?? ""}`);
        if (!lacks("cors")) response.setHeader("Access-Control-Allow-Origin", "*").setHeader("Access-Control-Allow-Headers", "Range");
        if (!lacks("expose")) response.setHeader("Access-Control-Expose-Headers", "Content-Range, ETag");
        if (request.method === "OPTIONS") return response.writeHead(204).end();
        const isPage = pathname === "/b2nd.html";
        const file = await readFile(isPage ? html : new URL(pathname.slice(1), lacks("changes") || lacks("end") ? here : data)).catch(() => undefined);
        if (!file) return response.writeHead(404).end();
        if (isPage) return response.writeHead(200, { "Content-Type": "text/html" }).end(file);
        if (lacks("ranges")) return response.writeHead(200, { "Content-Length": file.length }).end(file);
        if (request.method === "HEAD") return response.writeHead(200, { "Content-Length": file.length }).end();
        const [, first, last] = request.headers.range.match(/^bytes=(\d+)-(\d+)$/).map(Number);
        if (lacks("end") && first > 0 && refusesEnd) return response.writeHead(500).end();
        const bytes = file.subarray(first, last + 1);
        // With `changes`, each answer is of another version of the file.
        const etag = lacks("changes") ? `"${requests.length}"` : '"1"';
        response.writeHead(206, { "Content-Range": `bytes ${first}-${first + bytes.length - 1}/${file.length}`, ETag: etag }).end(bytes);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    base = `http://127.0.0.1:${server.address().port}`;
    if (pictures) await mkdir(pictures, { recursive: true });
});

after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
});

/** The time that a slow machine may take for a step. */
const PATIENCE = 120_000;

/** Opens the page, runs `steps`, and fails if the page complained. */
async function withPage(steps, { address = html.href, on = browser } = {}) {
    const page = await on.newPage({ viewport: { width: 1100, height: 820 } });
    page.setDefaultTimeout(PATIENCE);
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => complaints.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
    try {
        await page.goto(address);
        await steps(page);
        assert.deepEqual(complaints, []);
    } finally {
        await page.close();
    }
}

async function choose(page, name, folder = data) {
    const buffer = typeof name === "string" ? await readFile(new URL(name, folder)) : name.buffer;
    await page.setInputFiles("input[type=file]", { name: typeof name === "string" ? name : name.name, mimeType: "", buffer });
}

/** The cells of the table, row by row. */
async function table(page) {
    const tab = page.getByRole("tab", { name: "table" });
    await tab.click();
    await page.locator(".cells tbody tr").first().waitFor();
    return page.locator(".cells tbody tr").evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
}

/** The number of pixels of each colour in the picture. A colour is a number: red is its lowest byte, then green, blue, opacity. */
async function histogram(page) {
    const png = await page.locator(".canvas canvas").screenshot();
    return new Map(await page.evaluate(async (bytes) => {
        const bitmap = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
        context.drawImage(bitmap, 0, 0);
        const counts = new Map();
        for (const pixel of new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer)) {
            counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
        }
        return [...counts];
    }, [...png]));
}

/** The number of colours of the picture, once it is drawn. */
async function colours(page, least, picture) {
    await page.locator(".canvas canvas").waitFor();
    for (const end = Date.now() + PATIENCE; ; ) {
        const { size } = await histogram(page);
        if (size >= least || Date.now() > end) {
            if (pictures) await page.screenshot({ path: `${pictures}/${picture}.png` });
            return size;
        }
    }
}

/** The share of the pixels of the picture that are red. */
async function redness(page) {
    const counts = await histogram(page);
    return counts.get(0xff0000ff) / [...counts.values()].reduce((sum, count) => sum + count);
}

const alert = (page) => page.getByRole("alert").first().innerText();

test("the page draws a heat map of a file from disk, and a plane of each index", () =>
    withPage(async (page) => {
        await choose(page, "wave.b2nd", here);
        assert.match(await page.getByRole("status").innerText(), /^y 0 to 60, x 0 to 3000: every item along y, every 3rd item along x/);
        assert.ok((await colours(page, 20, "heatmap")) >= 20);
        await choose(page, "geometry/d3_f4_awkward.b2nd");
        await page.getByRole("heading", { name: "d3_f4_awkward" }).waitFor();
        await page.getByRole("slider").first().press("ArrowUp");
        await page.getByText("0:4").waitFor();
        assert.ok((await colours(page, 20, "plane")) >= 20);
    }));

test("a part of a large picture is read in more detail", () =>
    withPage(async (page) => {
        await choose(page, "wave.b2nd", here);
        await colours(page, 20, "coarse");
        const box = await page.locator(".canvas canvas").boundingBox();
        await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
        for (let turn = 0; turn < 12; turn++) await page.mouse.wheel(0, -300);
        await page.getByRole("button", { name: "Read what is in sight" }).click();
        const status = page.getByRole("status");
        await page.getByRole("button", { name: "Whole" }).waitFor();
        assert.match(await status.innerText(), /x [1-9]\d* to \d+: every item/);
        assert.ok((await colours(page, 10, "fine")) >= 10);
        await page.getByRole("button", { name: "Whole" }).click();
        await page.getByText("every 3rd item along x").waitFor();
    }));

test("an array of red, green and blue is drawn as an image, as wide as it is", () =>
    withPage(async (page) => {
        await choose(page, "image.b2nd", here);
        await page.getByText("y 0 to 40, x 0 to 60: every item").waitFor();
        assert.ok((await colours(page, 100, "image")) >= 100);
        assert.ok((await redness(page)) > 0.05);
        // The slider selects one of the two images; there is none for the colours.
        assert.equal(await page.getByRole("slider").count(), 1);
        await page.getByText("1700000000123456789").waitFor();
        await page.getByText('[18446744073709551615,-9223372036854775808,9007199254740991,{"__proto__":1.5}]').waitFor();
        await page.getByRole("tab", { name: "picture" }).click();
        await page.getByText("x 0 to 4:").waitFor();
    }));

test("a complex number is drawn by its amplitude or its phase", () =>
    withPage(async (page) => {
        await choose(page, "geometry/d2_c16_even.b2nd");
        await colours(page, 4, "amplitude");
        // The end of the scale of colours.
        const end = page.getByRole("figure").getByText("2.402e+1");
        await end.waitFor();
        await page.getByRole("combobox", { name: "Amplitude" }).click();
        await page.getByRole("option", { name: "Phase" }).click();
        await end.waitFor({ state: "detached" });
        if (pictures) await page.screenshot({ path: `${pictures}/phase.png` });
    }));

test("a file that is dropped is opened", () =>
    withPage(async (page) => {
        const bytes = [...(await readFile(new URL("int32_3x5.b2nd", data)))];
        const dropped = await page.evaluateHandle((bytes) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], "dropped.b2nd"));
            return transfer;
        }, bytes);
        await page.dispatchEvent("body", "drop", { dataTransfer: dropped });
        await page.getByRole("heading", { name: "dropped.b2nd" }).waitFor();
        assert.equal((await table(page)).length, 3);
    }));

test("the page draws a line", () =>
    withPage(async (page) => {
        await choose(page, "geometry/d1_i2_three_levels.b2nd");
        assert.match(await page.getByRole("status").innerText(), /^x 0 to 17: every item/);
        assert.ok((await colours(page, 2, "line")) >= 2);
    }));

for (const [name, view] of [
    ["d0_f8", (bytes) => [[bytes.readDoubleLE(0)]]],
    ["d2_i4_big_endian", (bytes) => rows(bytes, 5, 4, (at) => bytes.readInt32BE(at))],
    ["d2_u2_one_chunk", (bytes) => rows(bytes, 9, 2, (at) => bytes.readUInt16LE(at))],
    ["d2_bool_wide", (bytes) => rows(bytes, 33, 1, (at) => bytes[at] === 1).map((row) => row.slice(0, 20))],
    ["d2_c16_even", (bytes) => rows(bytes, 4, 16, (at) => `${bytes.readDoubleLE(at)}+${bytes.readDoubleLE(at + 8)}j`)],
    ["d1_S5_one_item_chunks", (bytes) => rows(bytes, 1, 5, (at) => bytes.toString("latin1", at, at + 5).replace(/\0+$/, ""))],
]) {
    test(`the table of ${name} has NumPy's values`, () =>
        withPage(async (page) => {
            await choose(page, `geometry/${name}.b2nd`);
            const bytes = await readFile(new URL(`geometry/${name}.items`, data));
            assert.deepEqual(await table(page), view(bytes).map((row) => row.map(String)));
        }));
}

function rows(bytes, columns, size, item) {
    const items = Array.from({ length: bytes.length / size }, (_, number) => item(number * size));
    return Array.from({ length: items.length / columns }, (_, row) => items.slice(row * columns, (row + 1) * columns));
}

test("the table prints floats of 32 bits, datetimes and structs as NumPy does", () =>
    withPage(async (page) => {
        /** The cells, and the bytes of the last dimensions at the middle of the other dimensions. */
        const shown = async (name, size, axes) => {
            await choose(page, `geometry/${name}.b2nd`);
            await page.getByRole("heading", { name }).waitFor();
            const shape = JSON.parse(await page.getByRole("row", { name: "shape" }).getByRole("cell").innerText());
            const at = shape.slice(0, -axes).reduce((at, length) => at * length + Math.floor((length - 1) / 2), 0);
            const length = shape.slice(-axes).reduce((count, length) => count * length, size);
            const bytes = await readFile(new URL(`geometry/${name}.items`, data));
            return [await table(page), bytes.subarray(at * length, (at + 1) * length)];
        };
        const [floats, ofFloats] = await shown("d3_f4_awkward", 4, 2);
        floats.flat().forEach((cell, number) => {
            assert.equal(Math.fround(Number(cell)), ofFloats.readFloatLE(4 * number));
            assert.ok(cell.replace(/\D/g, "").length <= 9, cell);
        });
        const [times, ofTimes] = await shown("d4_M8_ones", 8, 2);
        times.flat().forEach((cell, number) => {
            const found = ofTimes.readBigInt64LE(8 * number);
            const expected = new Date(Number(found / 1_000_000n)).toISOString().slice(0, 19);
            assert.equal(cell, found === -(2n ** 63n) ? "NaT" : `${expected}.${String(found % 1_000_000_000n).padStart(9, "0")}`);
        });
        const [structs, ofStructs] = await shown("d3_struct", 15, 1);
        assert.deepEqual(await page.locator(".cells thead th").allInnerTexts(), ["", "id", "name", "xy"]);
        structs.forEach(([id, name, xy], row) => {
            const at = 15 * row;
            assert.equal(id, String(ofStructs.readInt32LE(at)));
            assert.equal(name, ofStructs.toString("latin1", at + 4, at + 7).replace(/\0+$/, ""));
            assert.deepEqual(JSON.parse(xy), [ofStructs.readFloatLE(at + 7), ofStructs.readFloatLE(at + 11)]);
        });
        // The rows of the other indices can be reached.
        assert.equal(await page.getByRole("slider").count(), 2);
    }));

test("damage of one chunk leaves the others", () =>
    withPage(async (page) => {
        // Chunk 1, the end of rows 0 and 1, begins at byte 229. Bytes 12 to 15 of a chunk record its length.
        const damaged = await readFile(new URL("int32_3x5.b2nd", data));
        damaged[229 + 15] = 0x40;
        await choose(page, { name: "damaged.b2nd", buffer: damaged });
        await page.getByRole("tab", { name: "table" }).click();
        assert.match(await alert(page), /byte \d+ of the frame.*chunk-header/s);
        await page.getByRole("button", { name: "Try again" }).click();
        await page.getByRole("tab", { name: "line" }).click();
        await page.getByRole("alert").waitFor();
        await page.getByRole("slider").first().press("ArrowUp");
        await page.getByRole("alert").waitFor({ state: "detached" });
        assert.ok((await colours(page, 2, "rest")) >= 2);
    }));

test("a store shows its tree, its arrays and the attributes of groups", () =>
    withPage(async (page) => {
        await choose(page, "stores/attributes.b2z");
        const tree = page.getByRole("navigation");
        await tree.waitFor();
        const names = await tree.getByRole("button").allInnerTexts();
        assert.ok(names.length > 2, names.join());
        await tree.getByRole("button").first().click();
        await page.getByRole("heading", { name: "/", exact: true }).waitFor();
        if (pictures) await page.screenshot({ path: `${pictures}/store.png` });
        await choose(page, "tree.b2z");
        await tree.getByRole("button", { name: "small" }).click();
        await page.getByRole("heading", { name: "/group/small" }).waitFor();
        assert.equal((await table(page)).length, 4);
    }));

test("64 TiB of zeros and two million rows open at once", () =>
    withPage(async (page) => {
        await choose(page, "zeros.b2nd", here);
        assert.match(await page.getByRole("status").innerText(), /every \d+(st|nd|rd|th) item along y/);
        await page.getByText("64.0 TiB").waitFor();
        await page.locator(".canvas canvas").waitFor();
        await page.getByText("All finite items that are drawn are 0.").waitFor();
        await choose(page, "rows.b2nd", here);
        const cells = await table(page);
        assert.deepEqual([cells.length, cells[0]], [100, ["0", "", "false"]]);
        const first = page.getByLabel("first of Rows");
        await first.fill("1999990");
        await page.getByText("to 99 of 2000000").waitFor();
        await first.press("Enter");
        await page.getByText("to 1999999 of 2000000").waitFor();
        await page.getByRole("rowheader", { name: "1999999" }).waitFor();
        if (pictures) await page.screenshot({ path: `${pictures}/rows.png` });
    }));

test("the table prints datetimes in structs, years of any length and -0.0 as NumPy does", () =>
    withPage(async (page) => {
        await choose(page, "times.b2nd", here);
        assert.deepEqual(await table(page), [["2020-01-01T00:00:00", "12020-01-01", "2020-01-01T00:00:00", "-0"], ["1969-12-31T23:59:59", "-005-01-01", "1969-12-31T23:59:35", "0.1"]]);
    }));

test("the table shows 20 fields of a struct at a time", () =>
    withPage(async (page) => {
        await choose(page, "fields.b2nd", here);
        await page.getByText("1023 KiB").waitFor();
        assert.equal((await table(page))[0].length, 20);
        await page.getByRole("button", { name: "next Columns" }).click();
        await page.getByRole("columnheader", { name: "f29" }).waitFor();
        assert.equal((await table(page))[0].length, 10);
        const first = page.getByLabel("first of Rows");
        await first.fill("1.5");
        await first.press("Enter");
        await page.getByRole("rowheader", { name: "100", exact: true }).waitFor();
        assert.equal(await page.getByRole("rowheader").allInnerTexts().then((rows) => rows.find((row) => /^\d+$/.test(row))), "1");
        if (pictures) await page.screenshot({ path: `${pictures}/fields.png` });
    }));

test("the table shows fewer rows of long structs", () =>
    withPage(async (page) => {
        await choose(page, "images.b2nd", here);
        assert.equal((await table(page)).length, 4);
        await page.getByText("to 3 of 1000").waitFor();
    }));

test("what would decompress more than 4 GiB is refused", () =>
    withPage(async (page) => {
        await choose(page, "large_blocks.b2nd", here);
        for (const view of ["picture", "table"]) {
            await page.getByRole("tab", { name: view }).click();
            assert.match(await alert(page), /the blocks of this part have [\d.]+ GiB, but at most 4.00 GiB .*too-large/s, view);
        }
    }));

test("the cost counts two blocks for a chunk that is a bit longer than a block", () =>
    withPage(async (page) => {
        await choose(page, "uneven_blocks.b2nd", here);
        // 16 x 16 blocks of 8 MB.
        await page.getByRole("button", { name: "Finer: decompress 1.91 GiB" }).waitFor();
    }));

test("damage of the attributes leaves the array", () =>
    withPage(async (page) => {
        const damaged = await readFile(new URL("vlmetalayers.b2nd", data));
        damaged[damaged.length - 132] ^= 0xff;
        await choose(page, { name: "damaged.b2nd", buffer: damaged });
        assert.match(await alert(page), /The attributes cannot be shown.*damaged-trailer/s);
        if (pictures) await page.screenshot({ path: `${pictures}/attributes.png` });
        assert.ok((await table(page)).length > 1);
    }));

test("attributes that a server has refused can be read again", () =>
    withPage(async (page) => {
        const refused = page.getByRole("alert").filter({ hasText: "The attributes cannot be shown" });
        await refused.waitFor();
        refusesEnd = false;
        await refused.getByRole("button", { name: "Try again" }).click();
        await page.getByText("Attributes (2)").waitFor();
        assert.equal(await refused.count(), 0);
    }, { address: `${html.href}?url=${encodeURIComponent(`${base}/image.b2nd?end`)}` }));

test("a store with an array below 5000 groups opens", () =>
    withPage(async (page) => {
        await choose(page, "deep.b2z", here);
        const deep = page.getByRole("navigation").getByRole("button", { name: /\/x$/ });
        await deep.click();
        assert.deepEqual(await table(page), [["true"], ["true"], ["false"]]);
        if (pictures) await page.screenshot({ path: `${pictures}/deep.png` });
    }));

test("what a file says is text", () =>
    withPage(async (page) => {
        await choose(page, "markup.b2nd", here);
        await page.getByText("<img src=x onerror=alert(1)><b>bold</b>").waitFor();
        assert.equal(await page.locator("main img, main b").count(), 0);
        await choose(page, { name: "<img src=x onerror=alert(1)>", buffer: Buffer.from("not a frame") });
        assert.match(await alert(page), /<img src=x/);
    }));

test("the page says why it cannot show a file", () =>
    withPage(async (page) => {
        const frame = await readFile(new URL("int32_3x5.b2nd", data));
        const damaged = Buffer.from(frame);
        // A byte of the first chunk's data.
        damaged[170] ^= 0xff;
        const header = Buffer.from(frame);
        header[116] = 0xd2;
        for (const [file, expected, folder] of [
            [{ name: "text.b2nd", buffer: Buffer.from("not a frame, but long enough to be one") }, /not a Blosc2 frame.*not-a-frame/s],
            [{ name: "empty.b2nd", buffer: Buffer.alloc(0) }, /not-a-frame/],
            [{ name: "short.b2nd", buffer: frame.subarray(0, 300) }, /520 bytes.*truncated/s],
            [{ name: "header.b2nd", buffer: header }, /byte \d+ of the frame/],
            [{ name: "damaged.b2nd", buffer: damaged }, /byte \d+ of the frame|chunk/],
            ["peers/lazy_expression.b2nd", /LazyExpr.*unsupported/s],
            ["zfp.b2nd", /zfp.*unsupported/s, here],
        ]) {
            await choose(page, file, folder);
            const name = typeof file === "string" ? file : file.name;
            await page.getByText(name).first().waitFor();
            assert.match(await alert(page), expected, name);
        }
        if (pictures) await page.screenshot({ path: `${pictures}/error.png` });
    }));

test("a URL of another origin is read by ranges", async () => {
    requests = [];
    await withPage(async (page) => {
        assert.ok((await colours(page, 20, "url")) >= 20);
    }, { address: `${html.href}?url=${encodeURIComponent(`${base}/geometry/d3_f4_awkward.b2nd`)}` });
    assert.ok(requests.filter((request) => request.startsWith("GET")).length <= 5, requests.join("\n"));
    // The page itself comes from the server, and the size from a second request.
    await withPage(async (page) => {
        await page.getByText("[5,7,6]").waitFor();
    }, { address: `${base}/b2nd.html?url=geometry/d3_f4_awkward.b2nd%3Fexpose` });
});

test("the page says what a server lacks", () =>
    withPage(async (page) => {
        for (const [address, expected] of [
            [`${base}/int32_3x5.b2nd?cors`, /Access-Control-Allow-Origin/],
            [`${base}/int32_3x5.b2nd?ranges`, /must accept the header Range/],
            [`${base}/none.b2nd`, /answered 404/],
            [`${base}/wave.b2nd?changes`, /changed/],
        ]) {
            await page.getByLabel("URL").fill(address);
            await page.getByRole("button", { name: "Open" }).click();
            await page.getByText(address).first().waitFor();
            assert.match(await alert(page), expected, address);
        }
    }));

test("after a failure of drawing, the next plane is drawn", () =>
    withPage(async (page) => {
        await page.evaluate(() => {
            const { prototype } = HTMLCanvasElement;
            const { getContext } = prototype;
            prototype.getContext = () => null;
            globalThis.repair = () => (prototype.getContext = getContext);
        });
        await choose(page, "geometry/d3_f4_awkward.b2nd");
        assert.match(await alert(page), /No picture/);
        await page.evaluate(() => globalThis.repair());
        await page.getByRole("slider").first().press("ArrowUp");
        assert.ok((await colours(page, 20, "repaired")) >= 20);
        assert.equal(await page.getByRole("alert").count(), 0);
    }));

test("without WebGL, the page says so and shows the table", async () => {
    const other = await launch("--disable-gpu", "--disable-3d-apis");
    try {
        await withPage(async (page) => {
            await choose(page, "geometry/d2_u2_one_chunk.b2nd");
            assert.match(await alert(page), /no WebGL/);
            assert.equal((await table(page)).length, 10);
        }, { on: other });
    } finally {
        await other.close();
    }
});
