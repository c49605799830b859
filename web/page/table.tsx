// The table: only the items of one page are read.
import { useEffect, useState } from "react";
import { type B2ndArray } from "../js/index.js";
import { Failure } from "./parts.js";
import { everyItem, fieldsOf, readCells, wholeRange, type Mapping, type Range } from "./plane.js";

const ROWS = 100;
/** The most bytes of structs in a page of rows: each of their values becomes a JavaScript value. */
const MOST_BYTES = 1 << 22;
const COLUMNS = 20;

export function Table({ array, mapping }: { array: B2ndArray; mapping: Mapping }) {
    const fields = fieldsOf(array);
    // One dimension goes down the page.
    const isList = !mapping.includes("y");
    const length = { x: wholeRange(array, mapping, "x")[1], y: wholeRange(array, mapping, "y")[1] };
    const rowCount = isList ? length.x : length.y;
    const columnCount = fields ? fields.length : isList ? 1 : length.x;
    const rowsOfPage = fields ? Math.min(ROWS, Math.max(1, Math.floor(MOST_BYTES / Math.max(array.layout.size, 1)))) : ROWS;
    const [first, setFirst] = useState({ row: 0, column: 0 });
    const rows: Range = [first.row, Math.min(first.row + rowsOfPage, rowCount)];
    const columns: Range = [first.column, Math.min(first.column + COLUMNS, columnCount)];
    const [shown, setShown] = useState<{ cells: string[][]; rows: Range; columns: Range } | null>(null);
    const [error, setError] = useState<unknown>(null);
    const [attempt, setAttempt] = useState(0);

    useEffect(() => {
        const aborter = new AbortController();
        const ranges = isList ? { x: rows, y: [0, 1] as const } : { x: columns, y: rows };
        setError(null);
        readCells(array, mapping, everyItem(ranges), columns, { signal: aborter.signal })
            .then((cells) => aborter.signal.aborted || setShown({ cells, rows, columns }))
            .catch((error: unknown) => aborter.signal.aborted || setError(error));
        return () => aborter.abort();
    }, [array, mapping, first.row, first.column, attempt]); // `rows` and `columns` follow `first`.

    if (!shown && !error) return <p>Reading …</p>;
    return (
        <>
            <Pager name="Rows" length={rowCount} size={rowsOfPage} first={first.row} set={(row) => setFirst({ ...first, row })} />
            <Pager name="Columns" length={columnCount} size={COLUMNS} first={first.column} set={(column) => setFirst({ ...first, column })} />
            {error ? <Failure error={error} name="This part cannot be shown" again={() => setAttempt(attempt + 1)} /> : null}
            {shown && !error && <div className="scroll">
                <table className="cells">
                    <thead>
                        <tr>
                            <th />
                            {(shown.cells[0] ?? []).map((_, number) => (
                                <th key={number}>{fields ? fields[shown.columns[0] + number] : shown.columns[0] + number}</th>
                            ))}
                        </tr>
                    </thead>
                    <tbody>
                        {shown.cells.map((cells, row) => (
                            <tr key={row}>
                                <th>{shown.rows[0] + row}</th>
                                {cells.map((cell, column) => (
                                    <td key={column}>{cell}</td>
                                ))}
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>}
        </>
    );
}

interface PagerProps {
    name: string;
    length: number;
    size: number;
    first: number;
    set: (first: number) => void;
}

/** Steps through pages of rows or columns, or goes to one by its number. */
function Pager({ name, length, size, first, set }: PagerProps) {
    if (length <= size) return null;
    const last = Math.floor((length - 1) / size) * size;
    const go = (to: number) => set(Math.min(Math.max(0, Math.floor(to)), last));
    return (
        <span className="pager">
            <button disabled={first === 0} onClick={() => go(first - size)} aria-label={`previous ${name}`}>
                ◀
            </button>
            {name} <First key={first} name={name} length={length} first={first} go={go} /> to {Math.min(first + size, length) - 1} of {length}
            <button disabled={first >= last} onClick={() => go(first + size)} aria-label={`next ${name}`}>
                ▶
            </button>
        </span>
    );
}

/** The number of the first row or column. The page changes when the number is complete: at Enter, or when the field loses the focus. */
function First({ name, length, first, go }: Omit<PagerProps, "size" | "set"> & { go: (to: number) => void }) {
    const [typed, setTyped] = useState(String(first));
    const leave = () => {
        setTyped(String(first));
        if (typed !== "") go(Number(typed));
    };
    return (
        <input
            type="number"
            aria-label={`first of ${name}`}
            min={0}
            max={length - 1}
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
            onBlur={leave}
            onKeyDown={({ key }) => key === "Enter" && leave()}
        />
    );
}
