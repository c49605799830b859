// The page: a file is chosen, and its arrays are shown.
import "@h5web/lib/styles.css";
import "./page.css";
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import wasm from "../js/wasm/b2nd_bg.wasm";
import { B2ndArray, B2ndError, B2ndStore, init, openAny, type Openable, type ReadOptions } from "../js/index.js";
import { ArrayView } from "./array.js";
import { Attributes, Boundary, Failure } from "./parts.js";

/** An open file, the error of opening it, or only the name of a file that is being opened. */
type Opened = { name: string; file: B2ndArray | B2ndStore } | { name: string; error: unknown } | { name: string };

function Page() {
    const [opened, setOpened] = useState<Opened | null>(null);
    const opening = useRef<AbortController | null>(null);
    const open = useCallback(async (name: string, file: Openable) => {
        // A file that was chosen earlier must not replace this one.
        opening.current?.abort();
        const { signal } = (opening.current = new AbortController());
        setOpened({ name });
        const result = await openAny(file, { signal }).then((file) => ({ name, file }), (error: unknown) => ({ name, error }));
        if (!signal.aborted) setOpened(result);
    }, []);

    useEffect(() => {
        const url = new URLSearchParams(location.search).get("url");
        if (url) void open(url, url);
        const drop = (event: DragEvent) => {
            event.preventDefault();
            const file = event.dataTransfer?.files[0];
            if (event.type === "drop" && file) void open(file.name, file);
        };
        for (const kind of ["dragover", "drop"] as const) addEventListener(kind, drop);
        return () => ["dragover", "drop"].forEach((kind) => removeEventListener(kind, drop as EventListener));
    }, [open]);

    return (
        <>
            <header>
                <strong>Blosc2 arrays</strong>
                <label>
                    Choose a file <input type="file" onClick={({ currentTarget }) => (currentTarget.value = "")} onChange={({ target }) => target.files?.[0] && void open(target.files[0].name, target.files[0])} />
                </label>
                <UrlForm open={open} />
                <Notices />
            </header>
            <main>{opened ? <OpenedFile opened={opened} /> : <p>Drop a <code>.b2nd</code>, <code>.b2z</code> or <code>.b2e</code> file here. It is read on this computer, by the parts that are shown.</p>}</main>
        </>
    );
}

function UrlForm({ open }: { open: (name: string, file: Openable) => void }) {
    const [url, setUrl] = useState("");
    return (
        <form
            onSubmit={(event) => {
                event.preventDefault();
                open(url, url);
            }}
        >
            <input type="text" aria-label="URL" placeholder="or a URL" value={url} onChange={({ target }) => setUrl(target.value)} />
            <button>Open</button>
        </form>
    );
}

/** The licences of what this file contains. */
function Notices() {
    return (
        <details className="notices">
            <summary>Licences</summary>
            <pre>{document.getElementById("notices")?.textContent}</pre>
        </details>
    );
}

function OpenedFile({ opened }: { opened: Opened }): ReactNode {
    if ("error" in opened) return <Failure error={opened.error} name={opened.name} />;
    if (!("file" in opened)) return <p>Opening {opened.name} …</p>;
    return opened.file instanceof B2ndStore ? <StoreView name={opened.name} store={opened.file} /> : <ArrayView name={opened.name} array={opened.file} />;
}

/** A store: its keys as a tree, and the array or group that is selected. */
function StoreView({ name, store }: { name: string; store: B2ndStore }) {
    const [selected, select] = useState(store.keys[0] ?? "/");
    const root = useMemo(() => groupOf(store.keys), [store]);
    return (
        <div className="store">
            <nav aria-label="members">
                <Tree name={name} path="/" group={root} selected={selected} select={select} />
            </nav>
            <Member key={selected} store={store} path={selected} />
        </div>
    );
}

/** The deepest level of the tree. An entry there has the rest of the path as its name. */
const DEEPEST = 20;

/** The members of a group by name. An array has none. */
type Group = Map<string, Group>;

function groupOf(keys: readonly string[]): Group {
    const root: Group = new Map();
    for (const key of keys) {
        let group = root;
        const names = key.slice(1).split("/");
        for (const name of [...names.slice(0, DEEPEST), ...(names.length > DEEPEST ? [names.slice(DEEPEST).join("/")] : [])]) {
            const member = group.get(name) ?? new Map();
            group.set(name, member);
            group = member;
        }
    }
    return root;
}

interface TreeProps {
    name: string;
    path: string;
    group: Group;
    selected: string;
    select: (path: string) => void;
}

/** The most entries of a group that are shown. */
const MOST_ENTRIES = 1000;

function Tree({ name, path, group, selected, select }: TreeProps) {
    const below = path === "/" ? path : `${path}/`;
    const isSelected = path === selected;
    return (
        <div className="entry">
            <button aria-pressed={isSelected} onClick={() => select(path)}>
                {name}
            </button>
            {group.size > 0 && (
                <ul>
                    {[...group].slice(0, MOST_ENTRIES).map(([child, members]) => (
                        <li key={child}>
                            <Tree name={child} path={below + child} group={members} selected={selected} select={select} />
                        </li>
                    ))}
                    {group.size > MOST_ENTRIES && <li>… and {group.size - MOST_ENTRIES} more</li>}
                </ul>
            )}
        </div>
    );
}

function Member({ store, path }: { store: B2ndStore; path: string }): ReactNode {
    const readAttributes = useCallback((options: ReadOptions) => store.attributes(path, options), [store, path]);
    if (store.keys.includes(path)) return <ArrayMember store={store} path={path} />;
    return (
        <section>
            <h2>{path}</h2>
            <Attributes read={readAttributes} />
        </section>
    );
}

function ArrayMember({ store, path }: { store: B2ndStore; path: string }): ReactNode {
    const [member, setMember] = useState<{ array?: B2ndArray; error?: unknown }>({});
    useEffect(() => {
        const aborter = new AbortController();
        const { signal } = aborter;
        store
            .array(path, { signal })
            .then((array) => ({ array }), (error: unknown) => ({ error }))
            .then((member) => signal.aborted || setMember(member));
        return () => aborter.abort();
    }, [store, path]);
    if (member.error) return <Failure error={member.error} name={path} />;
    return member.array ? <ArrayView name={path} array={member.array} /> : <p>Opening {path} …</p>;
}

const root = createRoot(document.getElementById("root")!);
const failed = (error: Error) => <Failure error={error} name="The page has failed: load it again" />;
init(wasm).then(
    () => root.render(<Boundary instead={failed}><Page /></Boundary>),
    (error: unknown) => root.render(<Failure error={new B2ndError("unsupported", `this browser cannot run the reader: ${String(error)}`)} name="WebAssembly" />),
);
