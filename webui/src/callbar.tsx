import "./calls.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { isPlace, packageOf, withCall } from "./calls";
import type { Call } from "./calls";
import { commandLine } from "./command";
import { base, change, count, duration, leaf, percent } from "./format";
import { addKeys } from "./keys";
import { threads } from "./kind";
import { Command } from "./panel";
import type { Calls } from "./protocol";
import { Word } from "./states";
import type { State, Store } from "./store";
import { copy } from "./toast";

/** FoldedCommand prints the stacks that a view merges. */
export function FoldedCommand({ state }: { state: State }) {
  const line = commandLine(state, `--format folded${state.route.frames === "all" ? " --all-frames" : ""}`, { scope: true, filter: true });
  return line ? <Command line={line} /> : null;
}

/** OfCalls says whose calls a view shows, and whether they stand still. */
export function OfCalls({ calls, held }: { calls: Calls; held: boolean }) {
  if (calls.missing) return null;
  return (
    <>
      <span title={`${count(calls.total)} ${threads(calls.total)} in and below ${calls.scope}`}>
        {count(calls.total)} in <b>{calls.scope.slice(calls.scope.lastIndexOf("/") + 1)}</b> and below
      </span>
      {held && " · held"}
    </>
  );
}

/** Choice is a row of buttons of which one is pressed. */
export function Choice({ label, value, of, pick }: { label: string; value: string; of: [value: string, name: string, about: string][]; pick: (value: string) => void }) {
  return (
    <span class="choice" role="group" aria-label={label}>
      <span class="dim">{label}</span>
      {of.map(([v, name, about]) => (
        <button key={v} type="button" aria-pressed={v === value} title={about} onClick={() => pick(v)}>
          {name}
        </button>
      ))}
    </span>
  );
}

/** The choices that the flame graph and the call graph share. */
export function WeightChoice({ state, store }: { state: State; store: Store }) {
  return (
    <Choice
      label="by"
      value={state.route.weight}
      of={[
        ["", threads(), `how many ${threads()} are in a call`],
        ["wait", "waiting", `how long the ${threads()} in a call have been in their state, in sum: of each group the median times its ${threads()}`],
      ]}
      pick={(weight) => store.go({ weight })}
    />
  );
}

/** Wide is a button that gives the view the place of the panels beside it, and back. */
export function Wide({ state, store }: { state: State; store: Store }) {
  const wide = state.route.wide !== "";
  return (
    <button type="button" class="wide" aria-pressed={wide} title={wide ? "show the panels beside it again: w" : "take the place of the panels beside it: w"} onClick={() => store.go({ wide: wide ? "" : "1" })}>
      wide
    </button>
  );
}

for (const place of ["flame", "graph"]) {
  addKeys({ keys: ["w"], words: (c) => (c.state.route.wide ? "show the panels beside it" : "take all the width"), place, foot: true, act: ({ state, store }) => store.go({ wide: state.route.wide ? "" : "1" }) });
}

export function FramesChoice({ state, store }: { state: State; store: Store }) {
  const all = state.route.frames === "all";
  return (
    <label class="check" title="frames of Go's runtime and of vtscope">
      <input type="checkbox" checked={all} onChange={() => store.go({ frames: all ? "" : "all" })} /> runtime frames
    </label>
  );
}

/** Find is a field for a part of names. What is typed goes in the URL when the typing pauses: browsers allow few changes of it. */
export function Find({ state, store, found }: { state: State; store: Store; found: { weight: number; threads: number; calls: number; of: number } | null }) {
  const [text, write] = useState(state.route.find);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => write(state.route.find), [state.route.find]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <span class="find">
      <input
        type="search"
        id="find"
        aria-label="find calls by a part of their name"
        placeholder="find a call"
        spellcheck={false}
        value={text}
        maxLength={200}
        onInput={(e) => {
          const value = e.currentTarget.value;
          write(value);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => store.go({ find: value }), 200);
        }}
        onKeyDown={(e) => {
          if (e.key === "Escape") {
            e.currentTarget.blur();
            e.stopPropagation();
          }
        }}
      />
      <span class="dim" id="found" role="status" title={found ? `${count(found.threads)} ${threads(found.threads)} are in ${count(found.calls)} calls of this name` : ""}>
        {found && percent(found.weight / Math.max(1, found.of))}
      </span>
    </span>
  );
}

/** facts are what is known of a call, as short sentences. */
export function facts(call: Call, of: Calls, state: State): string[] {
  const total = Math.max(1, of.total);
  const told = [`${count(call.threads)} ${threads(call.threads)}, ${percent(call.threads / total)}`];
  if (call.own > 0 && call.children.length > 0) told.push(`${count(call.own)} of them end here`);
  told.push(`waiting ${duration(call.wait)} in sum, ${percent(call.wait / Math.max(1, of.waitedMs * 1e6))}`);
  const over = state.process?.snapshot.changeOver ?? 0;
  if (of.compared && over > 0) told.push(call.change === 0 ? `as many as ${duration(over)} ago` : `${change(call.change)} over ${duration(over)}`);
  if (call.left > 0) told.push(`${count(call.left)} of them in small calls that are left out`);
  return told;
}

/** aboutCalls says what calls are of, so that those of something else are told from newer ones. */
export function aboutCalls(state: State, of: Calls | null): string {
  return of ? [state.process?.key, of.scope, of.filter, of.func, of.runtime, of.missing].join("\0") : "";
}

/** titleOf names a call: the scope stands for the first. */
export function titleOf(call: Call, of: Calls): string {
  return call.func.name || `all ${threads()} in and below ${of.scope}`;
}

/** CallBar tells all of a call, with what can be done about it. */
export function CallBar({ call, of, state, store, zoom }: { call: Call | null; of: Calls; state: State; store: Store; zoom?: (call: Call) => void }) {
  if (!call) {
    return (
      <p class="callbar dim" role="status">
        Point at a call, or walk with the arrow keys.
      </p>
    );
  }
  const states = (state.config?.states ?? []).map((s) => s.name);
  const name = states[call.state] ?? "";
  const filter = call.func.name ? withCall(state.route.filter, call.func, states) : "";
  return (
    <div class="callbar" role="status" data-func={call.func.name}>
      <p>
        <code title={call.func.name}>{call.func.name ? leaf(call.func.name) : titleOf(call, of)}</code>
        {call.func.file && (
          <span class="dim" title={call.func.file}>
            {base(call.func.file)}
            {call.line > 0 ? `:${call.line}` : ""}
          </span>
        )}
        <span class="dim package" title={packageOf(call.func.name)}>
          {packageOf(call.func.name)}
        </span>
        <span class="actions">
        {filter && (
          <button type="button" onClick={() => store.go({ filter, view: "", zoom: "" })} title={`shows the stack groups with this call: filter ${filter}`}>
            its stack groups
          </button>
        )}
        {call.func.name && !isPlace(call.func) && (
          <button type="button" onClick={() => store.go({ view: "graph", func: call.func.name })} title="all who call it, and all that it calls, merged">
            callers and callees
          </button>
        )}
        {zoom && call.depth > 0 && (
          <button type="button" onClick={() => zoom(call)} title="show what is below this call on the whole width">
            zoom
          </button>
        )}
        {call.func.name && (
          <button type="button" onClick={() => void copy(call.func.name, "name")}>
            copy name
          </button>
        )}
        </span>
      </p>
      <p>
        {name && (
          <span>
            <Word state={name} /> <span class="dim">{call.inState < call.threads ? `most: ${count(call.inState)}` : "all"}</span>
          </span>
        )}
        {facts(call, of, state).map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </p>
    </div>
  );
}
