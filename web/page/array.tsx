// The view of one array: its metadata, and a picture, line or table of a part of it.
import { DimensionMapper } from "@h5web/lib";
import { useCallback, useEffect, useMemo, useState } from "react";
import { type B2ndArray, type Items, type ReadOptions } from "../js/index.js";
import { Attributes, Boundary, bytes, Failure, Fields } from "./parts.js";
import { Picture } from "./picture.js";
import { CHEAP, isDrawable, isImage, planeOf, readItems, wholeRange, type Mapping, type Plane, type Range } from "./plane.js";
import { Table } from "./table.js";

type View = "image" | "picture" | "line" | "table";

/** The first mapping of a view: the last dimensions are the axes, and all others are at their middle index. */
function mappingOf({ shape, layout }: B2ndArray, view: View): Mapping {
    if (view === "image") return [...shape.slice(0, -3).map(middle), "y", "x", null];
    // The fields of a struct are the columns of a table.
    const axes = Math.min(shape.length, view === "line" || layout.kind === "struct" ? 1 : 2);
    const names = axes === 2 ? (["y", "x"] as const) : (["x"] as const);
    return shape.map((length, dimension) => names[dimension - (shape.length - axes)] ?? middle(length));
}

function middle(length: number): number {
    return Math.floor((length - 1) / 2);
}

export function ArrayView({ name, array }: { name: string; array: B2ndArray }) {
    const count = array.shape.reduce((count, length) => count * length, 1);
    const views: View[] = [];
    if (isDrawable(array.layout) && count > 0) {
        if (isImage(array)) views.push("image");
        if (array.shape.length > 1) views.push("picture");
        if (array.shape.length > 0) views.push("line");
    }
    views.push("table");
    const [view, setView] = useState(views[0]!);
    const readAttributes = useCallback((options: ReadOptions) => array.attributes(options), [array]);
    const metadata = {
        shape: array.shape,
        dtype: array.dtype,
        ...(array.chunks && { chunks: array.chunks, blocks: array.blocks }),
        size: `${bytes(count * array.layout.size)}, compressed ${bytes(array.cbytes)}`,
        codec: `${array.codec}, level ${array.level}`,
        filters: array.filters.join(", ") || "none",
    };
    return (
        <section className="array">
            <h2>{name}</h2>
            <Fields title="Metadata" fields={metadata} />
            <Attributes read={readAttributes} />
            <div role="tablist">
                {views.map((each) => (
                    <button key={each} role="tab" aria-selected={each === view} onClick={() => setView(each)}>
                        {each}
                    </button>
                ))}
            </div>
            {count === 0 ? <p>The array has no items.</p> : <Part key={view} array={array} view={view} />}
        </section>
    );
}

function Part({ array, view }: { array: B2ndArray; view: View }) {
    const [mapping, setMapping] = useState(() => mappingOf(array, view));
    // The colours of an image have no axis.
    const colours = mapping.filter((axis) => axis === null);
    const [dims, axes] = [array.shape, mapping].map((all) => all.slice(0, all.length - colours.length)) as [number[], Mapping];
    const mapper = dims.length > 1 && <DimensionMapper className="mapper" dims={dims} dimMapping={axes} onChange={(axes) => setMapping([...axes, ...colours])} />;
    const key = mapping.map((axis) => (typeof axis === "number" ? "" : axis)).join();
    return (
        <div className="part">
            {mapper}
            <div>{view === "table" ? <Table key={key} array={array} mapping={mapping} /> : <Drawing key={key} array={array} mapping={mapping} />}</div>
        </div>
    );
}

/** A picture or line. If the part is large, it is drawn in steps first, and a smaller part can be chosen. */
function Drawing({ array, mapping }: { array: B2ndArray; mapping: Mapping }) {
    const whole = useMemo(() => ({ x: wholeRange(array, mapping, "x"), y: wholeRange(array, mapping, "y") }), [array, mapping]);
    const [ranges, setRanges] = useState<{ x: Range; y: Range }>(whole);
    const [budget, setBudget] = useState(CHEAP);
    const [drawn, setDrawn] = useState<{ plane: Plane; items: Items; mapping: Mapping } | null>(null);
    const [progress, setProgress] = useState<number | null>(null);
    const [error, setError] = useState<unknown>(null);
    const plane = useMemo(() => planeOf(array, mapping, ranges, budget), [array, mapping, ranges, budget]);

    useEffect(() => {
        const aborter = new AbortController();
        setError(null);
        setProgress(0);
        const onProgress = (done: number, total: number) => setProgress(total ? done / total : 1);
        readItems(array, mapping, plane, { signal: aborter.signal, onProgress })
            .then((items) => setDrawn({ plane, items, mapping }))
            .catch((error: unknown) => aborter.signal.aborted || setError(error))
            .finally(() => aborter.signal.aborted || setProgress(null));
        return () => aborter.abort();
    }, [array, mapping, plane]);

    const finest = planeOf(array, mapping, ranges, Infinity);
    const isWhole = (["x", "y"] as const).every((axis) => ranges[axis].join() === whole[axis].join());
    const choose = (ranges: { x: Range; y: Range }) => {
        setBudget(CHEAP);
        setRanges(ranges);
    };
    return (
        <>
            <p className="note" role="status">
                {stepsOf(plane)}
                {finest.steps.x < plane.steps.x || finest.steps.y < plane.steps.y ? <button onClick={() => setBudget(Infinity)}>Finer: decompress {bytes(finest.cost)}</button> : null}
                {isWhole ? null : <button onClick={() => choose(whole)}>Whole</button>}
                {progress === null ? null : <progress value={progress} />}
            </p>
            {error ? <Failure error={error} name="This part cannot be shown" again={() => setRanges({ ...ranges })} /> : null}
            {drawn && !error && (
                <Boundary of={drawn} instead={(error) => <Failure error={hasWebGl() ? error : new Error(NO_WEBGL)} name="No picture" />}>
                    <Picture array={array} {...drawn} choose={choose} />
                </Boundary>
            )}
        </>
    );
}

const NO_WEBGL = "this browser has no WebGL, which pictures and lines need: enable it (hardware acceleration), or choose the table";

function hasWebGl(): boolean {
    return document.createElement("canvas").getContext("webgl2") !== null;
}

/** Says which items are drawn. */
function stepsOf({ ranges, steps }: Plane): string {
    const axis = (name: "x" | "y") => `${name} ${ranges[name][0]} to ${ranges[name][1]}`;
    const part = ranges.y[1] - ranges.y[0] > 1 ? `${axis("y")}, ${axis("x")}` : axis("x");
    if (steps.x === 1 && steps.y === 1) return `${part}: every item`;
    const nth = (step: number) => (step === 1 ? "every item" : `every ${step}${[, "st", "nd", "rd"][step % 100 > 10 && step % 100 < 14 ? 0 : step % 10] ?? "th"} item`);
    return steps.x === steps.y || ranges.y[1] - ranges.y[0] === 1 ? `${part}: ${nth(steps.x)}` : `${part}: ${nth(steps.y)} along y, ${nth(steps.x)} along x`;
}
