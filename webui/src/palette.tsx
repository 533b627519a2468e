import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, useDocument } from "./document";
import type { Exports } from "./documents";
import { runExport } from "./exports";
import { count, leaf } from "./format";
import { best } from "./fuzzy";
import { allKeys, cap, everywhere, wordsOf } from "./keys";
import type { Context } from "./keys";
import type { OverlayProps } from "./overlays";
import "./palette.css";
import { pictures, savePicture } from "./picture";
import { scopeName } from "./scopes";

/** Something that the palette can do. */
interface Item {
  words: string;
  kind: string; // action, scope, ...
  about: string;
  keys: string[];
  act: (c: Context) => void;
}

const most = 60; // rows that are shown

/** Palette finds actions and places of the page by some letters of their words. */
export function Palette({ context, close }: OverlayProps) {
  const [text, write] = useState("");
  const [at, point] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const { state, store } = context;
  const { process } = state;
  const exports = useDocument<Exports>(process && !process.missing ? api(process.key, "exports") : "", 0).value;
  const fixed = useMemo(() => [...actions(context), ...panels(), ...exported(exports), ...drawings()], [exports]);
  const items = [...fixed, ...places(context)];
  const found = best(text, items, (i) => `${i.words} ${i.kind}`);
  if (text.trim()) found.push({ words: `filter: ${text.trim()}`, kind: "filter", about: "only the threads that match", keys: [], act: (c) => c.store.go({ filter: text.trim() }) });
  const shown = found.slice(0, most);
  const chosen = Math.min(at, shown.length - 1);
  useEffect(() => input.current?.focus(), []);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [chosen, text]);
  const run = (item: Item | undefined): void => {
    if (!item) return;
    close();
    setTimeout(() => item.act({ ...context, state: store.state })); // when the dialog has given the focus back
  };
  return (
    <div class="palette">
      <input
        ref={input}
        id="palette"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={shown.length > 0 ? `palette-${chosen}` : undefined}
        aria-autocomplete="list"
        aria-label="what to do, or where to go"
        placeholder="what to do, or where to go: an action, a scope, a function, a process, a filter"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(e) => {
          write(e.currentTarget.value);
          point(0);
        }}
        onKeyDown={(e) => {
          const by = e.key === "ArrowDown" || (e.ctrlKey && e.key === "n") ? 1 : e.key === "ArrowUp" || (e.ctrlKey && e.key === "p") ? -1 : e.key === "PageDown" ? 10 : e.key === "PageUp" ? -10 : 0;
          if (by !== 0) point(Math.max(0, Math.min(shown.length - 1, chosen + by)));
          else if (e.key === "Enter") run(shown[chosen]);
          else return;
          e.preventDefault();
        }}
      />
      <div class="options" role="listbox" id="palette-list" aria-label="what fits" ref={list}>
        {shown.map((item, i) => (
          <div key={i} id={`palette-${i}`} role="option" aria-selected={i === chosen} class="option" title={item.about} onClick={() => run(item)} onPointerMove={() => i !== chosen && point(i)}>
            <span class="words">{item.words}</span>
            <span class="about dim">{item.about}</span>
            <span class="dim">{item.kind}</span>
            <span class="caps">
              {item.keys.slice(0, 1).map((k) => (
                <kbd key={k}>{cap(k)}</kbd>
              ))}
            </span>
          </div>
        ))}
      </div>
      <p class="rest" role="status">
        {count(found.length)} {found.length === 1 ? "fits" : "fit"}
        {found.length > shown.length && `, the best ${shown.length} are shown`}; <kbd>↑</kbd> <kbd>↓</kbd> <kbd>Enter</kbd> <kbd>Esc</kbd>
      </p>
    </div>
  );
}

function actions(c: Context): Item[] {
  return allKeys()
    .filter((row) => row.place === everywhere && !row.keys.includes("Escape") && !row.keys.includes(":") && (row.when?.(c) ?? true))
    .map((row) => ({ words: wordsOf(row, c), kind: "action", about: "", keys: row.keys, act: row.act }));
}

/** panels are the boxes of the page, which get the focus. */
function panels(): Item[] {
  return [...document.querySelectorAll<HTMLElement>("section.panel, section.timeline")].map((panel) => ({
    words: `go to the panel ${panel.getAttribute("aria-label")}`,
    kind: "panel",
    about: "",
    keys: [],
    act: () => {
      panel.tabIndex = -1;
      panel.focus();
      panel.scrollIntoView({ block: "nearest" });
    },
  }));
}

function exported(exports: Exports | null): Item[] {
  return (exports?.rows ?? []).map((row) => ({ words: `export: ${row.title}`, kind: "export", about: row.why || row.about, keys: [], act: (c) => runExport(row, c) }));
}

function drawings(): Item[] {
  return pictures().map((picture) => ({ words: `save as PNG: ${picture.title}`, kind: "export", about: "the picture as it is drawn now", keys: [], act: () => savePicture(picture) }));
}

/** places are what the page shows now: processes, scopes, groups; and filters that fit to it. */
function places({ state }: Context): Item[] {
  const items: Item[] = [];
  const add = (kind: string, words: string, about: string, act: Item["act"]): void => void items.push({ kind, words, about, keys: [], act });
  const scopes = state.scopes?.rows ?? [];
  for (const row of scopes) add("scope", row.path, `${count(row.total)} threads`, ({ store }) => store.go({ scope: scopeName(scopes, row) }));
  for (const row of state.groups?.rows ?? []) {
    add("group", `${row.top ? leaf(row.top) : "no stack"}, ${row.state}`, `${count(row.count)} threads in ${row.scope}`, (c) => {
      c.store.go({ group: row.key });
      c.activate("groups");
    });
  }
  for (const row of state.processes ?? []) {
    if (!row.host) add("process", `${row.program}, pid ${row.pid}`, row.status, ({ store }) => store.go({ process: row.key }));
  }
  state.config?.states.forEach((term, i) => {
    if (i > 0 && (state.process?.counts[i] ?? 0) > 0) add("filter", `filter: state=${term.name}`, term.about, ({ store }) => store.go({ filter: `state=${term.name}` }));
  });
  const top = state.stack?.row?.top;
  if (top) add("filter", `filter: stack~${leaf(top)}`, "threads with this call", ({ store }) => store.go({ filter: `stack~"${leaf(top).replace(/[()*[\]{}.?+|^$\\]/g, "\\$&")}"` }));
  add("filter", "filter: wait>30s", "threads that have been in their state for longer", ({ store }) => store.go({ filter: "wait>30s" }));
  if (state.route.filter) add("filter", "no filter", "show all threads", ({ store }) => store.go({ filter: "" }));
  return items;
}
