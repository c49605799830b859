// Parts that several views use.
import { Component, type ReactNode } from "react";
import { B2ndError } from "../js/index.js";

/** An error, with its code as the command `b2nd` prints it. */
export function Failure({ error, name, again }: { error: unknown; name: string; again?: () => void }) {
    const code = error instanceof B2ndError ? error.code : null;
    return (
        <div className="failure" role="alert">
            <strong>{name}</strong>
            <p>{error instanceof Error ? error.message : String(error)}</p>
            {code && <p className="code">{code}</p>}
            {again && <button onClick={again}>Try again</button>}
        </div>
    );
}

/** Names and values. Each value that is not text is shown as JSON. */
export function Fields({ title, fields }: { title: string; fields: Readonly<Record<string, unknown>> }) {
    const entries = Object.entries(fields);
    if (entries.length === 0) return null;
    return (
        <details open={entries.length <= 20}>
            <summary>
                {title} ({entries.length})
            </summary>
            <table className="fields">
                <tbody>
                    {entries.map(([name, value]) => (
                        <tr key={name}>
                            <th>{name}</th>
                            <td>{shortened(typeof value === "string" ? value : json(value))}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </details>
    );
}

/** JSON, also of integers that are a `bigint`. */
function json(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
    if (typeof value === "object" && value) return `{${Object.entries(value).map(([key, value]) => `${JSON.stringify(key)}:${json(value)}`).join(",")}}`;
    return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

const MOST_CHARACTERS = 10_000;

function shortened(text: string): string {
    return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}… (${text.length} characters)` : text;
}

/** Shows another view if drawing fails, as without WebGL. */
export class Boundary extends Component<{ instead: (error: Error) => ReactNode; children: ReactNode }, { error: Error | null }> {
    override state = { error: null as Error | null };
    static getDerivedStateFromError(error: Error) {
        return { error };
    }
    override render() {
        return this.state.error ? this.props.instead(this.state.error) : this.props.children;
    }
}

/** A number of bytes for people. */
export function bytes(count: number): string {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    const power = count < 1 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1);
    const value = count / 1024 ** power;
    return `${power ? value.toPrecision(3) : value} ${units[power]}`;
}
