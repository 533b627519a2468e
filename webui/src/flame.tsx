import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CallBar, Choice, Find, FoldedCommand, FramesChoice, OfCalls, WeightChoice, Wide, aboutCalls, facts, titleOf } from "./callbar";
import { callOf, found, isPlace, largestFuncs, matcher, packageOf, treeOf, visit } from "./calls";
import type { Call, Weight } from "./calls";
import { coming, whyEmpty } from "./empty";
import { boxAt, draw, hueOf, lay, rowHeight } from "./flamepaint";
import { base, count, duration, leaf, percent } from "./format";
import { useHeld } from "./held";
import { addKeys } from "./keys";
import { threads } from "./kind";
import { Empty, Panel } from "./panel";
import { PictureButton } from "./picturebutton";
import type { Calls } from "./protocol";
import { elsewhere } from "./scopes";
import { useThemeTurn, useWidth } from "./sizes";
import { Glyph } from "./states";
import type { State, Store } from "./store";
import type { ViewProps } from "./views";

/** What the keyboard moves in the graph that is shown. */
interface Walker {
  root: Call; // zoomed to
  selected: Call | null;
  select: (call: Call) => void;
  zoom: (call: Call) => void;
}
let walker: Walker | null = null;

function walk(to: (from: Call, w: Walker) => Call | null | undefined): () => void {
  return () => {
    if (!walker) return;
    const next = walker.selected ? to(walker.selected, walker) : walker.root;
    if (next) walker.select(next);
  };
}

const sibling = (by: number) => (from: Call) => {
  const row = from.parent?.children ?? [];
  return row[row.indexOf(from) + by];
};
const heaviest = (calls: Call[]): Call | undefined => calls.reduce<Call | undefined>((most, c) => (most && most.weight >= c.weight ? most : c), undefined);

addKeys(
  { keys: ["ArrowDown", "j"], words: "to what it calls", place: "flame", foot: true, act: walk((from) => heaviest(from.children)) },
  { keys: ["ArrowUp", "k"], words: "to its caller", place: "flame", foot: true, act: walk((from) => from.parent) },
  { keys: ["ArrowLeft"], words: "call to the left", place: "flame", act: walk(sibling(-1)) },
  { keys: ["ArrowRight"], words: "call to the right", place: "flame", act: walk(sibling(+1)) },
  { keys: ["Enter"], words: "zoom to the call", place: "flame", foot: true, act: () => walker?.zoom(walker.selected ?? walker.root) },
  { keys: ["Escape"], words: "zoom out", place: "flame", foot: true, when: () => !!walker && walker.root.depth > 0, act: () => walker?.root.parent && walker.zoom(walker.root.parent) },
  { keys: ["f"], words: "find a call", place: "flame", foot: true, act: () => document.getElementById("find")?.focus() },
);

/** Flame shows the stacks of the chosen scope merged: each call as wide as it has threads, or as they wait, below its caller. */
export function Flame({ state, store, active, activate, tabs }: ViewProps) {
  const [over, hover] = useState(false);
  const came = elsewhere(state, state.flame) ? null : state.flame;
  const calls = useHeld(came, over, aboutCalls(state, came));
  const held = over && calls !== came;
  return (
    <Panel
      id="flame"
      title="Flame graph"
      head={tabs}
      note={calls && !whyEmpty(state) && <OfCalls calls={calls} held={held} />}
      active={active}
      onActivate={activate}
      onHover={hover}
      foot={<FoldedCommand state={state} />}
    >
      {!calls || calls.missing || calls.parents.length === 0 ? (
        <Empty>{whyEmpty(state) || calls?.missing || coming(state, "The calls are on their way.")}</Empty>
      ) : (
        <Graph calls={calls} state={state} store={store} />
      )}
    </Panel>
  );
}

function Graph({ calls, state, store }: { calls: Calls; state: State; store: Store }) {
  const { route } = state;
  const top = useMemo(() => treeOf(calls, route.weight as Weight), [calls, route.weight]);
  const [chosen, choose] = useState(""); // key
  const [hovered, point] = useState<{ call: Call; x: number; y: number } | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [box, width] = useWidth();
  const theme = useThemeTurn();
  const root = (top && callOf(top, route.zoom)) || top;
  const selected = callOf(top, chosen);
  const matches = useMemo(() => matcher(route.find), [route.find]);
  const layout = useMemo(() => (root && width > 0 ? lay(root, width) : null), [root, width]);
  const about = aboutCalls(state, calls) + route.zoom;
  const highest = useRef({ about, rows: 0 }); // what stands below the graph stays where it is when the deepest calls go
  if (highest.current.about !== about) highest.current = { about, rows: 0 };
  highest.current.rows = Math.max(highest.current.rows, layout?.rows ?? 0);
  const zoom = (call: Call): void => {
    choose(call.key);
    store.go({ zoom: call.depth > 0 ? call.key : "" });
  };

  // Before the next key can come.
  useLayoutEffect(() => {
    if (!root) return;
    const mine: Walker = { root, selected, select: (call) => choose(call.key), zoom };
    walker = mine;
    return () => {
      if (walker === mine) walker = null;
    };
  });

  const states = (state.config?.states ?? []).map((s) => s.name);
  useLayoutEffect(() => {
    if (!canvas.current || !layout || !root || !top) return;
    draw(canvas.current, layout, width, { colour: route.colour, states, root, selected, hovered: hovered?.call ?? null, matches, threads: calls.total }, titleOf(top, calls));
  }, [layout, width, root, selected, hovered?.call, matches, route.colour, theme]);

  useEffect(() => {
    const at = layout?.boxes.find((b) => b.call === selected);
    if (at && box.current) {
      const y = at.row * rowHeight;
      if (y < box.current.scrollTop) box.current.scrollTop = y;
      else if (y + rowHeight > box.current.scrollTop + box.current.clientHeight) box.current.scrollTop = y + rowHeight - box.current.clientHeight;
    }
  }, [selected?.key, layout]);

  if (!top || !root) return null;
  const hit = matches ? found(root, matches) : null;
  const locate = (e: PointerEvent | MouseEvent): { call: Call; x: number; y: number } | null => {
    const at = layout && canvas.current ? boxAt(layout, e.offsetX, e.offsetY) : null;
    return at ? { call: at.call, x: e.offsetX, y: e.offsetY } : null;
  };
  return (
    <div class={route.wide ? "calls spread" : "calls"} data-picture="flame graph">
      <div class="calltools">
        <WeightChoice state={state} store={store} />
        <Choice
          label="colour"
          value={route.colour}
          of={[
            ["", "package", "calls of one package have one colour"],
            ["state", "state", `the state that most ${threads()} in a call are in`],
            ["change", "change", `whether a call has more or fewer ${threads()} than before`],
          ]}
          pick={(colour) => store.go({ colour })}
        />
        <FramesChoice state={state} store={store} />
        <Find state={state} store={store} found={hit && root ? { ...hit, of: root.weight } : null} />
        <Wide state={state} store={store} />
        <PictureButton />
        {root.depth > 0 && (
          <button type="button" id="zoomout" onClick={() => store.go({ zoom: "" })}>
            show all
          </button>
        )}
        {route.zoom && root.depth === 0 && <span class="dim">The call that was zoomed to has no {threads()} now.</span>}
      </div>
      <div class="flamebox" ref={box} role="group" aria-label="flame graph: a table of its largest functions follows; arrow keys walk, Enter zooms, Escape zooms out">
        <canvas
          ref={canvas}
          data-drawn
          role="img"
          aria-label={`calls of ${titleOf(top, calls)}`}
          data-root={root.func.name}
          data-boxes={layout?.boxes.length ?? 0}
          style={{ width: `${width}px`, height: `${(layout?.rows ?? 0) * rowHeight}px`, marginBottom: `${(highest.current.rows - (layout?.rows ?? 0)) * rowHeight}px` }}
          onPointerMove={(e) => {
            const at = locate(e);
            point(at);
            e.currentTarget.style.cursor = at ? "pointer" : "";
          }}
          onPointerLeave={() => point(null)}
          onClick={(e) => {
            const at = locate(e);
            if (at) zoom(at.call);
          }}
        />
        {hovered && <Tip call={hovered.call} x={hovered.x} y={hovered.y} width={width} calls={calls} state={state} />}
        <Largest root={root} calls={calls} store={store} />
      </div>
      <Legend root={root} calls={calls} states={states} colour={route.colour} narrow={layout?.narrow ?? 0} />
      <CallBar call={selected ?? root} of={calls} state={state} store={store} zoom={zoom} />
    </div>
  );
}

/** Tip tells of the call below the pointer. */
function Tip({ call, x, y, width, calls, state }: { call: Call; x: number; y: number; width: number; calls: Calls; state: State }) {
  const wide = Math.min(460, width - 8);
  return (
    <div class="calltip" aria-hidden="true" style={{ left: `${Math.max(4, Math.min(x + 12, width - wide - 4))}px`, top: `${y + 18}px`, maxWidth: `${wide}px` }}>
      <code>{titleOf(call, calls)}</code>
      {call.func.file && (
        <p class="dim">
          {base(call.func.file)}
          {call.line > 0 ? `:${call.line}` : ", several lines"}
        </p>
      )}
      {facts(call, calls, state).map((fact) => (
        <p key={fact}>{fact}</p>
      ))}
    </div>
  );
}

const mostPackages = 7;

/** Legend says what colours mean, and what is not drawn. */
function Legend({ root, calls, states, colour, narrow }: { root: Call; calls: Calls; states: string[]; colour: string; narrow: number }) {
  const places = useRef<string[]>([]); // that names have: they stay while weights change
  const keys = useMemo(() => {
    const sums = new Map<string, number>();
    visit(root, (call) => {
      if (call.depth === 0) return;
      const name = colour === "state" ? (states[call.state] ?? "") : call.func.internal ? "runtimes" : isPlace(call.func) ? "no calls" : packageOf(call.func.name);
      sums.set(name, (sums.get(name) ?? 0) + call.weight);
    });
    const names = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    const shown = colour === "" ? names.slice(0, mostPackages) : names;
    places.current = [...places.current.filter((name) => shown.includes(name)), ...shown.filter((name) => !places.current.includes(name))];
    return [...places.current, ...names.slice(shown.length)];
  }, [root, colour]);
  return (
    <p class="legend" data-drawn>
      {colour === "change" && (
        <>
          <span>
            <i class="grew" /> + more {threads()} than before
          </span>
          <span>
            <i class="shrank" /> − fewer
          </span>
          {!calls.compared && <span class="dim">What changed is not known: it is too early, or a moment of the past.</span>}
        </>
      )}
      {colour === "state" &&
        keys.map((name) => (
          <span key={name}>
            <i class={`fill state-${name}`} /> <Glyph state={name} /> {name}
          </span>
        ))}
      {colour === "" &&
        keys.slice(0, mostPackages).map((name) => (
          <span key={name} title={name}>
            <i style={name === "runtimes" || name === "no calls" ? {} : { background: `hsl(${hueOf(name)} 65% 50% / 0.5)` }} /> {name.slice(name.lastIndexOf("/") + 1)}
          </span>
        ))}
      {colour === "" && keys.length > mostPackages && <span class="dim">{count(keys.length - mostPackages)} more packages</span>}
      <span class="fill" />
      {narrow > 0 && <span class="dim">{count(narrow)} {narrow === 1 ? "call" : "calls"} too narrow to draw: zoom</span>}
      {calls.rest.rows > 0 && (
        <span class="dim">
          {count(calls.rest.rows)} small calls left out, with {count(calls.rest.threads)} threads
        </span>
      )}
    </p>
  );
}

const mostFuncs = 20;

/** Largest is the graph as a table, for who cannot see it, and for a quick look. */
function Largest({ root, calls, store }: { root: Call; calls: Calls; store: Store }) {
  const [open, toggle] = useState(false);
  const all = useMemo(() => (open ? largestFuncs(root, mostFuncs) : null), [root, open]);
  return (
    <details class="largest" onToggle={(e) => toggle(e.currentTarget.open)}>
      <summary>largest functions as a table</summary>
      {all && (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">function</th>
              <th scope="col">{threads()} in it</th>
              <th scope="col">share</th>
              <th scope="col">end there</th>
              <th scope="col">waiting in sum</th>
            </tr>
          </thead>
          <tbody>
            {all.rows.map((row) => (
              <tr key={row.func.name} title={row.func.name}>
                <td>
                  <button type="button" class="link" onClick={() => store.go({ find: row.func.name })} title="mark its calls">
                    {leaf(row.func.name)}
                  </button>
                </td>
                <td>{count(row.threads)}</td>
                <td>{percent(row.threads / Math.max(1, calls.total))}</td>
                <td>{count(row.own)}</td>
                <td>{duration(row.wait)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {all && all.rest > 0 && <p class="rest">{count(all.rest)} more functions</p>}
    </details>
  );
}
