// Pictures and lines, with h5web's parts.
import { AXIS_SCALE_TYPES, type ColorMap, ColorMapSelector, COLOR_SCALE_TYPES, type CustomDomain, DomainWidget, getDomain, getSafeDomain, getVisDomain, HeatmapVis, LineVis, ScaleSelector, ScaleType, Toolbar, useCameraState, useVisCanvasContext, type VisibleDomains } from "@h5web/lib";
import ndarray from "ndarray";
import { useEffect, useMemo, useState } from "react";
import { type B2ndArray } from "../js/index.js";
import { type Plane, type Range } from "./plane.js";

interface Props {
    array: B2ndArray;
    isLine: boolean;
    plane: Plane;
    items: Float32Array | Float64Array;
    choose: (ranges: { x: Range; y: Range }) => void;
}

export function Picture({ array, isLine, plane, items, choose }: Props) {
    const [colorMap, setColorMap] = useState<ColorMap>("Viridis");
    const [invert, setInvert] = useState(false);
    const [scale, setScale] = useState(ScaleType.Linear);
    const [custom, setCustom] = useState<CustomDomain>([null, null]);
    const [sight, setSight] = useState<VisibleDomains | null>(null);
    const { counts, ranges, steps } = plane;
    // Another part is drawn as a whole, not where the last one was enlarged.
    const place = JSON.stringify(ranges);
    const data = useMemo(() => ndarray(items, isLine ? [counts.x] : [counts.y, counts.x]), [items, isLine, counts]);
    const found = useMemo(() => getDomain(data, { scaleType: scale }), [data, scale]);
    const note = remark(found);
    const values = found ?? ([0, 1] as [number, number]);
    const [domain] = getSafeDomain(getVisDomain(custom, values), values, scale);
    // The indices of the array, and one more for the end of the last pixel.
    const axis = (name: "x" | "y", more: number) => ({ value: Float64Array.from({ length: counts[name] + more }, (_, number) => ranges[name][0] + number * steps[name]) });
    const part = sight && { x: partOf(sight.xVisibleDomain, ranges.x), y: partOf(sight.yVisibleDomain, ranges.y) };
    const isPart = part && (["x", "y"] as const).some((name) => part[name][1] - part[name][0] < ranges[name][1] - ranges[name][0]);
    const canRefine = isPart && (steps.x > 1 || steps.y > 1);
    return (
        <div className="picture">
            <div className="toolbar"><Toolbar>
                <DomainWidget dataDomain={values} customDomain={custom} scaleType={scale as ScaleType.Linear} onCustomDomainChange={setCustom} />
                {isLine ? null : <ColorMapSelector value={colorMap} onValueChange={setColorMap} invert={invert} onInversionChange={() => setInvert(!invert)} />}
                <ScaleSelector value={scale} onScaleChange={setScale} options={isLine ? AXIS_SCALE_TYPES : COLOR_SCALE_TYPES} />
            </Toolbar></div>
            {note && <p className="note">{note}</p>}
            {canRefine && <button className="refine" onClick={() => choose(part)}>Read what is in sight</button>}
            {isLine ? (
                <LineVis key={place} className="canvas" dataArray={data} domain={domain} scaleType={scale as ScaleType.Linear} abscissaParams={axis("x", 0)} dtype={array.dtype ?? ""}>
                    <Sight set={setSight} />
                </LineVis>
            ) : (
                <HeatmapVis key={place} className="canvas" dataArray={data} domain={domain} colorMap={colorMap} invertColorMap={invert} scaleType={scale as ScaleType.Linear} aspect="auto" abscissaParams={axis("x", 1)} ordinateParams={axis("y", 1)} flipYAxis dtype={array.dtype ?? ""}>
                    <Sight set={setSight} />
                </HeatmapVis>
            )}
        </div>
    );
}

/** What a picture does not show. It is drawn with the 7 digits of float32. */
function remark(domain: readonly [number, number] | undefined): string | null {
    if (!domain) return "No item can be drawn on this scale: all are NaN, infinite, or not positive on a logarithmic one.";
    const [min, max] = domain;
    const most = Math.max(Math.abs(min), Math.abs(max));
    if (min === max) return `All items are ${min}.`;
    return most > 3.4e38 || max - min < most * 1e-6 ? "A picture has 7 digits, too few for these numbers; the table has all." : null;
}

/** The indices that are in sight. */
function partOf([from, to]: readonly [number, number], [start, stop]: Range): Range {
    const first = Math.min(Math.max(Math.floor(Math.min(from, to)), start), stop - 1);
    return [first, Math.max(first + 1, Math.min(Math.ceil(Math.max(from, to)), stop))];
}

/** Tells which part of the data the user sees. */
function Sight({ set }: { set: (domains: VisibleDomains) => void }) {
    const { getVisibleDomains } = useVisCanvasContext();
    const domains = useCameraState(getVisibleDomains, [getVisibleDomains], (one, other) => JSON.stringify(one) === JSON.stringify(other));
    useEffect(() => set(domains), [domains, set]);
    return null;
}
