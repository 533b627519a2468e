import "./graph.css";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CallBar, Find, FoldedCommand, FramesChoice, OfCalls, WeightChoice, Wide, aboutCalls, titleOf } from "./callbar";
import { callOf, found, isPlace, matcher, treeOf } from "./calls";
import type { Call, Weight } from "./calls";
import { coming, whyEmpty } from "./empty";
import { count, leaf, percent } from "./format";
import { boxWidth, drawing, edge, first, last, lineHeight } from "./graphlayout";
import type { Drawing, Run } from "./graphlayout";
import { useHeld } from "./held";
import { addKeys } from "./keys";
import { threads } from "./kind";
import { Empty, Panel } from "./panel";
import { PictureButton } from "./picturebutton";
import type { Calls } from "./protocol";
import { elsewhere } from "./scopes";
import { useWidth } from "./sizes";
import { Glyph } from "./states";
import type { State, Store } from "./store";
import type { ViewProps } from "./views";

const fewBoxes = 30;
const moreBoxes = 240;
const letters = 36; // of a line in a box

/** What the keyboard moves in the graph that is shown. */
interface Walker {
  drawing: Drawing;
  run: Run | undefined; // selected
  select: (run: Run) => void;
  pivot: () => void;
  zoom: (by: number) => void; // 0: all of it
}
let walker: Walker | null = null;

function walk(to: (from: Run) => Run | null | undefined): () => void {
  return () => {
    if (!walker) return;
    const next = walker.run ? to(walker.run) : walker.drawing.runs[0];
    if (next) walker.select(next);
  };
}
const beside = (from: Run, side: 1 | -1): Run | null | undefined => (from.from && from.side !== side ? from.from : from.to.find((run) => run.side === side));
const sibling = (by: number) => (from: Run) => {
  const row = from.from?.to.filter((run) => run.side === from.side) ?? [];
  return row[row.indexOf(from) + by];
};

addKeys(
  { keys: ["ArrowRight"], words: "to what it calls", place: "graph", foot: true, act: walk((from) => beside(from, 1)) },
  { keys: ["ArrowLeft"], words: "to its caller", place: "graph", foot: true, act: walk((from) => beside(from, -1)) },
  { keys: ["ArrowDown", "j"], words: "to the box below", place: "graph", act: walk(sibling(+1)) },
  { keys: ["ArrowUp", "k"], words: "to the box above", place: "graph", act: walk(sibling(-1)) },
  { keys: ["Enter"], words: "callers and callees", place: "graph", foot: true, act: () => walker?.pivot() },
  { keys: ["Escape"], words: "back to all calls", place: "graph", foot: true, when: (c) => c.state.route.func !== "", act: (c) => c.store.go({ func: "" }) },
  { keys: ["+"], words: "larger", place: "graph", act: () => walker?.zoom(1.25) },
  { keys: ["-"], words: "smaller", place: "graph", act: () => walker?.zoom(0.8) },
  { keys: ["0"], words: "show the whole graph", place: "graph", act: () => walker?.zoom(0) },
  { keys: ["f"], words: "find a call", place: "graph", foot: true, act: () => document.getElementById("find")?.focus() },
);

/** CallGraph shows the stacks of the chosen scope merged, calls without branches in one box; or all that call a function, and all that it calls. */
export function CallGraph({ state, store, active, activate, tabs }: ViewProps) {
  const [over, hover] = useState(false);
  const came = elsewhere(state, state.flame) ? null : state.flame;
  const about = aboutCalls(state, came);
  const ready = (came?.func ?? "") === state.route.func;
  const calls = useHeld(came, over, about);
  const callers = useHeld(state.callers, over, about + (state.callers?.func ?? ""));
  const { func } = state.route;
  return (
    <Panel
      id="graph"
      title="Call graph"
      head={tabs}
      note={calls && !whyEmpty(state) && <OfCalls calls={calls} held={over && calls !== came} />}
      active={active}
      onActivate={activate}
      onHover={hover}
      foot={<FoldedCommand state={state} />}
    >
      {!calls || !ready || calls.missing || calls.parents.length === 0 ? (
        <Empty>
          {whyEmpty(state) || (ready && calls?.missing) || coming(state, "The calls are on their way.")}{" "}
          {func && (
            <button type="button" onClick={() => store.go({ func: "" })}>
              show all calls
            </button>
          )}
        </Empty>
      ) : (
        <Graph key={about} calls={calls} callers={func && callers?.func === func ? callers : null} state={state} store={store} />
      )}
    </Panel>
  );
}

interface Place {
  x: number;
  y: number;
  scale: number;
}

const least = 0.3;
const greatest = 2;
const margin = 10;

function Graph({ calls, callers, state, store }: { calls: Calls; callers: Calls | null; state: State; store: Store }) {
  const { route } = state;
  const [most, setMost] = useState(fewBoxes);
  const [opened, open] = useState<Set<string>>(new Set());
  const [chosen, choose] = useState(""); // key of a call
  const inward = useMemo(() => treeOf(calls, route.weight as Weight), [calls, route.weight]);
  const outward = useMemo(() => treeOf(callers, route.weight as Weight), [callers, route.weight]);
  const drawn = useMemo(() => inward && drawing(inward, outward, most, opened), [inward, outward, most, opened]);
  const matches = useMemo(() => matcher(route.find), [route.find]);
  const [box, width] = useWidth();
  const [place, move] = useState<Place | null>(null); // null: as it fits
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);

  const height = box.current?.clientHeight ?? 0;
  const at = place ?? (drawn ? fit(drawn, width, height, 0.85) : { x: 0, y: 0, scale: 1 });
  const now = useRef(at);
  now.current = at;
  const zoom = (by: number, x = width / 2, y = height / 2): void => {
    const was = now.current;
    if (by === 0) return drawn ? move(fit(drawn, width, height, least)) : undefined;
    const scale = Math.min(greatest, Math.max(least, was.scale * by));
    move({ scale, x: x - ((x - was.x) * scale) / was.scale, y: y - ((y - was.y) * scale) / was.scale });
  };
  const turn = useRef(zoom);
  turn.current = zoom;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const wheel = (e: WheelEvent): void => {
      e.preventDefault();
      const frame = element.getBoundingClientRect();
      if (e.ctrlKey || e.metaKey) return turn.current(e.deltaY < 0 ? 1.15 : 1 / 1.15, e.clientX - frame.left, e.clientY - frame.top);
      const [dx, dy] = e.shiftKey ? [e.deltaY, 0] : [e.deltaX, e.deltaY];
      move({ ...now.current, x: now.current.x - dx, y: now.current.y - dy });
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);

  const call = callOf(inward, chosen) ?? callOf(outward, chosen);
  const run = drawn?.runs.find((r) => call !== null && r.calls.includes(call));
  const pivot = (): void => {
    const of = call ?? inward;
    if (of?.func.name && !isPlace(of.func)) store.go({ func: of.func.name });
  };
  const select = (to: Run): void => {
    choose(last(to).key);
    const was = now.current;
    const edges = { left: was.x + to.x * was.scale, top: was.y + to.y * was.scale };
    const over = (low: number, size: number, room: number): number => (low < margin ? margin - low : Math.min(0, Math.max(room - margin - (low + size), margin - low)));
    move({ ...was, x: was.x + over(edges.left, boxWidth * was.scale, width), y: was.y + over(edges.top, to.height * was.scale, height) });
  };
  // Before the next key can come.
  useLayoutEffect(() => {
    if (!drawn) return;
    const mine: Walker = { drawing: drawn, run, select, pivot, zoom };
    walker = mine;
    return () => {
      if (walker === mine) walker = null;
    };
  });
  if (!inward || !drawn) return null;
  const hit = matches ? found(inward, matches) : null;
  return (
    <div class={route.wide ? "calls spread" : "calls"} data-picture="call graph">
      <div class="calltools">
        <Pivot state={state} store={store} of={[calls, callers]} />
        <WeightChoice state={state} store={store} />
        <FramesChoice state={state} store={store} />
        <Find state={state} store={store} found={hit && { ...hit, of: inward.weight }} />
        <span class="choice" role="group" aria-label="size">
          <button type="button" onClick={() => zoom(0.8)} title="smaller: −, or Ctrl and the wheel">
            −
          </button>
          <button type="button" onClick={() => zoom(1.25)} title="larger: +, or Ctrl and the wheel">
            +
          </button>
          <button type="button" onClick={() => zoom(0)} title="show the whole graph: 0">
            all
          </button>
        </span>
        <Wide state={state} store={store} />
        <PictureButton />
      </div>
      <div
        class="graphbox"
        ref={box}
        role="tree"
        aria-label="call graph: boxes of calls, from callers on the left to callees on the right; arrow keys walk, Enter shows callers and callees"
        onPointerDown={(e) => {
          if (e.button === 0) drag.current = { x: e.clientX, y: e.clientY, moved: false };
        }}
        onPointerMove={(e) => {
          const from = drag.current;
          if (!from || e.buttons === 0) return;
          const [dx, dy] = [e.clientX - from.x, e.clientY - from.y];
          if (!from.moved && Math.hypot(dx, dy) < 4) return;
          if (!from.moved) e.currentTarget.setPointerCapture(e.pointerId);
          drag.current = { x: e.clientX, y: e.clientY, moved: true };
          move({ ...now.current, x: now.current.x + dx, y: now.current.y + dy });
        }}
      >
        <svg width={width} height={Math.max(0, height)} data-drawn="whole">
          <g transform={`translate(${at.x} ${at.y}) scale(${at.scale})`}>
            {drawn.runs.map((r) => r.from && <path key={first(r).key} class="edge" d={edge(r)} stroke-width={1 + 7 * Math.sqrt(first(r).weight / Math.max(1, inward.weight))} />)}
            {drawn.runs.map((r) => (
              <RunBox
                key={first(r).key}
                run={r}
                root={inward}
                calls={calls}
                state={state}
                selected={r === run ? call : null}
                matches={matches}
                choose={(c) => !drag.current?.moved && choose(c.key)}
                open={() => open(new Set(opened).add(first(r).key))}
              />
            ))}
          </g>
        </svg>
      </div>
      <p class="legend">
        {route.func && <span class="dim">Callers stand on the left, callees on the right.</span>}
        <span class="fill" />
        {drawn.left > 0 && (
          <span>
            <span class="dim">{count(drawn.left)} smaller boxes left out</span>
            {most < moreBoxes && (
              <button type="button" onClick={() => setMost(Math.min(moreBoxes, 3 * most))}>
                show more
              </button>
            )}
          </span>
        )}
        {calls.rest.rows + (callers?.rest.rows ?? 0) > 0 && <span class="dim">{count(calls.rest.rows + (callers?.rest.rows ?? 0))} small calls left out by the agent</span>}
      </p>
      <CallBar call={call ?? inward} of={calls} state={state} store={store} />
    </div>
  );
}

/** fit is where the drawing is seen as a whole, or, if it would be too small to read, its root. */
function fit(d: Drawing, width: number, height: number, smallest: number): Place {
  const scale = Math.max(smallest, Math.min(1, (width - 2 * margin) / d.width, (height - 2 * margin) / d.height));
  const whole = d.width * scale <= width - 2 * margin;
  const x = whole || d.x === 0 ? margin - d.x * scale : (width - boxWidth * scale) / 2; // callers on the left: the root in the middle
  return { scale, x, y: margin };
}

/** Pivot is where the user writes the function whose callers and callees are shown. */
function Pivot({ state, store, of }: { state: State; store: Store; of: (Calls | null)[] }) {
  const { func } = state.route;
  const names = useMemo(() => [...new Set(of.flatMap((c) => c?.funcs ?? []).map((f) => f.name))].filter((name) => name !== "" && !name.startsWith("[")).sort(), of);
  return (
    <span class="find">
      <label>
        <span class="dim">around</span>{" "}
        <input
          id="pivot"
          list="pivots"
          placeholder="all calls, or a function"
          title="the function whose callers and callees are shown; empty: all calls"
          spellcheck={false}
          value={func}
          onChange={(e) => store.go({ func: e.currentTarget.value.trim() })}
        />
      </label>
      <datalist id="pivots">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {func && (
        <button type="button" onClick={() => store.go({ func: "" })}>
          show all
        </button>
      )}
    </span>
  );
}

interface RunBoxProps {
  run: Run;
  root: Call;
  calls: Calls;
  state: State;
  selected: Call | null;
  matches: ((call: Call) => boolean) | null;
  choose: (call: Call) => void;
  open: () => void;
}

/** RunBox draws a box: how many threads, then the calls. */
function RunBox({ run, root, calls, state, selected, matches, choose, open }: RunBoxProps) {
  const head = first(run);
  const end = last(run);
  const states = (state.config?.states ?? []).map((s) => s.name);
  const name = states[end.state] ?? "";
  const hit = matches ? run.calls.some(matches) : false;
  const share = percent(end.weight / Math.max(1, root.func.name && state.route.weight === "" ? calls.total : root.weight));
  const classes = ["run", run.from ? "" : "root", selected ? "selected" : "", hit ? "hit" : "", matches && !hit && run.from ? "miss" : ""].join(" ");
  let y = lineHeight;
  return (
    <g class={classes} role="treeitem" aria-selected={selected !== null} data-func={end.func.name} transform={`translate(${run.x} ${run.y})`}>
      <rect width={boxWidth} height={run.height} rx="4" onClick={() => choose(end)} />
      <svg x="8" y="6" width="10" height="10">
        <Glyph state={name} />
      </svg>
      <text x="23" y={y} class="head" onClick={() => choose(end)}>
        {count(end.threads)} {threads(end.threads)} · {share}
        <title>{`most are ${name}: ${count(end.inState)}`}</title>
      </text>
      {run.lines.map((line, i) => {
        y += lineHeight;
        if (typeof line === "number") {
          return (
            <text key={i} x="8" y={y} class="more" onClick={open}>
              … {line} calls in between
            </text>
          );
        }
        const text = line.func.name ? leaf(line.func.name) : titleOf(line, calls);
        return (
          <text key={i} x="8" y={y} class={`call${line === selected ? " selected" : ""}${line === end && run.from ? " end" : ""}${line.func.internal ? " internal" : ""}`} onClick={() => choose(line)}>
            {text.length > letters ? `${text.slice(0, letters - 1)}…` : text}
            <title>{`${titleOf(line, calls)}${line.func.file ? `\n${line.func.file}${line.line > 0 ? `:${line.line}` : ""}` : ""}`}</title>
          </text>
        );
      })}
      {run.ends > 0 && (
        <text x="8" y={(y += lineHeight)} class="more">
          {count(run.ends)} {run.side > 0 ? "end here" : "begin here"}
        </text>
      )}
      {run.left.threads > 0 && (
        <text x="8" y={(y += lineHeight)} class="more">
          {run.left.runs > 0 ? `${count(run.left.runs)} more ${run.left.runs === 1 ? "box" : "boxes"} with` : "left out:"} {count(run.left.threads)} threads
        </text>
      )}
      {head !== end && <title>{run.calls.map((c) => c.func.name).join("\n")}</title>}
    </g>
  );
}
