// Parts that several views use.
import { Component, type ReactNode, useEffect, useState } from "react";
import { B2ndError, type ReadOptions } from "../js/index.js";

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

/** The attributes of an array or a group. If they cannot be read, the rest of the page is still shown. */
export function Attributes({ read }: { read: (options: ReadOptions) => Promise<Record<string, unknown>> }) {
    const [attributes, setAttributes] = useState<Record<string, unknown>>({});
    const [error, setError] = useState<unknown>(null);
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
        const aborter = new AbortController();
        const { signal } = aborter;
        setError(null);
        read({ signal })
            .then((attributes) => signal.aborted || setAttributes(attributes))
            .catch((error: unknown) => signal.aborted || setError(error));
        return () => aborter.abort();
    }, [read, attempt]);
    return error ? <Failure error={error} name="The attributes cannot be shown" again={() => setAttempt(attempt + 1)} /> : <Fields title="Attributes" fields={attributes} />;
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

interface BoundaryProps {
    /** The data of the view. Other data are drawn even after an error. */
    of?: unknown;
    instead: (error: Error) => ReactNode;
    children: ReactNode;
}

/** Shows another view if drawing fails, as without WebGL. */
export class Boundary extends Component<BoundaryProps, { error: Error | null }> {
    override state = { error: null as Error | null };
    static getDerivedStateFromError(error: Error) {
        return { error };
    }
    override componentDidUpdate({ of }: BoundaryProps) {
        if (this.state.error && of !== this.props.of) this.setState({ error: null });
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
    return `${power && value < 999.5 ? value.toPrecision(3) : Math.round(value)} ${units[power]}`;
}
