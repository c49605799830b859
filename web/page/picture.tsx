// Pictures and lines, with h5web's parts.
import { AXIS_SCALE_TYPES, type ColorMap, ColorMapSelector, COLOR_SCALE_TYPES, ComplexVisType, ComplexVisTypeSelector, type CustomDomain, DomainWidget, getDomain, getSafeDomain, getVisDomain, HeatmapVis, LineVis, RgbVis, ScaleSelector, ScaleType, ToggleBtn, Toolbar, useCameraState, useVisCanvasContext, type VisibleDomains } from "@h5web/lib";
import ndarray from "ndarray";
import { useEffect, useMemo, useState } from "react";
import { type B2ndArray, type Items } from "../js/index.js";
import { coloursOf, numbersOf, type Mapping, type Plane, type Range } from "./plane.js";

/** The numbers of a colour. */
const COLOURS = [0, 255] as [number, number];

interface Props {
    array: B2ndArray;
    mapping: Mapping;
    plane: Plane;
    items: Items;
    choose: (ranges: { x: Range; y: Range }) => void;
}

export function Picture({ array, mapping, plane, items, choose }: Props) {
    const isLine = !mapping.includes("y");
    const isImage = mapping.includes(null);
    const [keepsRatio, setKeepsRatio] = useState(isImage);
    const [part, setPart] = useState<ComplexVisType>(ComplexVisType.Amplitude);
    const [colorMap, setColorMap] = useState<ColorMap>("Viridis");
    const [invert, setInvert] = useState(false);
    const [scale, setScale] = useState(ScaleType.Linear);
    const [custom, setCustom] = useState<CustomDomain>([null, null]);
    const [sight, setSight] = useState<VisibleDomains | null>(null);
    const { counts, ranges, steps } = plane;
    const aspect = keepsRatio ? "equal" : "auto";
    // New ranges reset the zoom.
    const place = JSON.stringify(ranges);
    const data = useMemo(
        () => (isImage ? ndarray(coloursOf(array, mapping, plane, items), [counts.y, counts.x, 3]) : ndarray(numbersOf(array, mapping, plane, items, part === ComplexVisType.Phase), isLine ? [counts.x] : [counts.y, counts.x])),
        [array, mapping, plane, items, part, isImage, isLine, counts],
    );
    const found = useMemo(() => (isImage ? COLOURS : getDomain(data, { scaleType: scale })), [isImage, data, scale]);
    const note = isImage ? null : remark(found);
    const values = found ?? ([0, 1] as [number, number]);
    const [domain] = getSafeDomain(getVisDomain(custom, values), values, scale);
    // The indices of the array, and one more for the end of the last pixel.
    const axis = (name: "x" | "y", more: number) => ({ value: Float64Array.from({ length: counts[name] + more }, (_, number) => ranges[name][0] + number * steps[name]) });
    const inSight = sight && { x: partOf(sight.xVisibleDomain, ranges.x), y: partOf(sight.yVisibleDomain, ranges.y) };
    const isPart = inSight && (["x", "y"] as const).some((name) => inSight[name][1] - inSight[name][0] < ranges[name][1] - ranges[name][0]);
    const canRefine = isPart && (steps.x > 1 || steps.y > 1);
    return (
        <div className="picture">
            <div className="toolbar"><Toolbar>
                {isImage ? null : <DomainWidget dataDomain={values} customDomain={custom} scaleType={scale as ScaleType.Linear} onCustomDomainChange={setCustom} />}
                {isLine || isImage ? null : <ColorMapSelector value={colorMap} onValueChange={setColorMap} invert={invert} onInversionChange={() => setInvert(!invert)} />}
                {isImage ? null : <ScaleSelector value={scale} onScaleChange={setScale} options={isLine ? AXIS_SCALE_TYPES : COLOR_SCALE_TYPES} />}
                {array.layout.kind === "complex" ? <ComplexVisTypeSelector value={part} onChange={setPart} options={[ComplexVisType.Amplitude, ComplexVisType.Phase]} /> : null}
                {isLine ? null : <ToggleBtn label="Keep ratio" value={keepsRatio} onToggle={() => setKeepsRatio(!keepsRatio)} />}
            </Toolbar></div>
            {note && <p className="note">{note}</p>}
            {canRefine && <button className="refine" onClick={() => choose(inSight)}>Read what is in sight</button>}
            {isLine ? (
                <LineVis key={place} className="canvas" dataArray={data} domain={domain} scaleType={scale as ScaleType.Linear} abscissaParams={axis("x", 0)} dtype={array.dtype ?? ""}>
                    <Sight set={setSight} />
                </LineVis>
            ) : isImage ? (
                <RgbVis key={place} className="canvas" dataArray={data} aspect={aspect} abscissaParams={axis("x", 1)} ordinateParams={axis("y", 1)} flipYAxis>
                    <Sight set={setSight} />
                </RgbVis>
            ) : (
                <HeatmapVis key={place} className="canvas" dataArray={data} domain={domain} colorMap={colorMap} invertColorMap={invert} scaleType={scale as ScaleType.Linear} aspect={aspect} abscissaParams={axis("x", 1)} ordinateParams={axis("y", 1)} flipYAxis dtype={array.dtype ?? ""}>
                    <Sight set={setSight} />
                </HeatmapVis>
            )}
        </div>
    );
}

/** A remark on what the picture cannot show. It is drawn with the 7 digits of float32. */
function remark(domain: readonly [number, number] | undefined): string | null {
    if (!domain) return "No item can be drawn on this scale: all are NaN, infinite, or not positive on a logarithmic one.";
    const [min, max] = domain;
    const most = Math.max(Math.abs(min), Math.abs(max));
    if (min === max) return `All finite items that are drawn are ${min}.`;
    return most > 3.4e38 || max - min < most * 1e-6 ? "A picture has 7 digits, too few for these numbers; the table has all." : null;
}

/** The indices that are in sight. */
function partOf([from, to]: readonly [number, number], [start, stop]: Range): Range {
    const first = Math.min(Math.max(Math.floor(Math.min(from, to)), start), stop - 1);
    return [first, Math.max(first + 1, Math.min(Math.ceil(Math.max(from, to)), stop))];
}

/** Reports which part of the data the user sees. */
function Sight({ set }: { set: (domains: VisibleDomains) => void }) {
    const { getVisibleDomains } = useVisCanvasContext();
    const domains = useCameraState(getVisibleDomains, [getVisibleDomains], (one, other) => JSON.stringify(one) === JSON.stringify(other));
    useEffect(() => set(domains), [domains, set]);
    return null;
}
