import "./scopes.css";
import { useRef, useState } from "preact/hooks";
import { commandLine } from "./command";
import { coming, whyEmpty } from "./empty";
import { count, duration, short } from "./format";
import { threads } from "./kind";
import { Command, Empty, Panel } from "./panel";
import type { ScopeRow } from "./protocol";
import { useStill } from "./rows";
import { folded, linesOf, opened } from "./scoperows";
import type { Line } from "./scoperows";
import type { State, Store } from "./store";
import { Treemap, inMap } from "./treemap";
import { useVirtual } from "./virtual";

interface ScopesProps {
  state: State;
  store: Store;
  active: boolean;
  activate: () => void;
}

const rowHeight = 22; // pixels, as in scopes.css

/** chosenScope is the row that the route names; the root when it names none. */
export function chosenScope(state: State): ScopeRow | undefined {
  const rows = state.scopes?.rows ?? [];
  const name = state.route.scope;
  if (!name) return rows[0];
  return rows.find((r) => r.key === name) ?? rows.find((r) => r.path === name);
}

/** elsewhere reports whether what came is of another scope than the chosen one, and nothing newer can come: it is not to be taken for that. */
export function elsewhere(state: State, came: { scope: string } | null): boolean {
  const chosen = chosenScope(state);
  return state.link.how !== "live" && came !== null && chosen !== undefined && came.scope !== chosen.path;
}

/** scopeName is what the route calls a row: its path, or its key where two rows have one path. */
export function scopeName(rows: ScopeRow[], row: ScopeRow): string {
  return rows.filter((r) => r.path === row.path).length > 1 ? row.key : row.path;
}

/** Scopes is the tree of scopes, or a map of it. */
export function Scopes({ state, store, active, activate }: ScopesProps) {
  const [over, hover] = useState(false);
  const { scopes, route } = state;
  const rows = scopes?.rows ?? [];
  const map = inMap(route);
  const chosen = chosenScope(state);
  const choose = (row: ScopeRow): void => store.go({ scope: scopeName(rows, row) });
  return (
    <Panel
      id="scopes"
      title="Scopes"
      head={
        <>
          Scopes
          <span class="switch" role="group" aria-label="how scopes are shown">
            <button type="button" aria-pressed={!map} onClick={() => store.go({ map: "" })} title="as a tree (v)">
              tree
            </button>
            <button type="button" aria-pressed={map} onClick={() => store.go({ map: route.map || "threads" })} title="as a treemap (v)">
              map
            </button>
          </span>
        </>
      }
      note={
        map ? (
          <>{count(rows[0]?.total ?? 0)} {threads(rows[0]?.total)}</>
        ) : (
          <select
            id="order"
            aria-label="order of scopes"
            title={over ? "the order is held while you point at the tree" : "which scope stands first"}
            value={route.order || state.config?.orders[0]?.name}
            onChange={(e) => store.go({ order: e.currentTarget.value === state.config?.orders[0]?.name ? "" : e.currentTarget.value })}
          >
            {(state.config?.orders ?? []).map((o) => (
              <option key={o.name} value={o.name} title={o.about}>
                by {o.name === "threads" ? threads() : (orderWords[o.name] ?? o.name)}
              </option>
            ))}
          </select>
        )
      }
      active={active}
      onActivate={activate}
      onHover={hover}
      foot={state.process && !state.process.missing && <Command line={commandLine(state, "", { filter: true })} />}
    >
      {rows.length === 0 ? (
        <Empty>{whyEmpty(state) || state.groups?.missing || coming(state, "The first snapshot is on its way.")}</Empty>
      ) : (rows[0]?.total ?? 0) === 0 ? (
        <Empty>{state.groups?.filter ? `No ${threads(1)} matches the filter.` : `None: the process has no ${threads()}.`}</Empty>
      ) : map ? (
        <Treemap state={state} chosen={chosen?.key ?? ""} choose={choose} go={(to) => store.go(to)} />
      ) : (
        <Tree state={state} store={store} active={active} still={over} choose={choose} />
      )}
    </Panel>
  );
}

/** What the orders are called on the page, if not by their names. */
const orderWords: Record<string, string> = { oldest: "longest wait", wait: "waited in sum" };

interface TreeProps {
  state: State;
  store: Store;
  active: boolean;
  still: boolean;
  choose: (row: ScopeRow) => void;
}

function Tree({ state, store, active, still, choose }: TreeProps) {
  const { route, scopes } = state;
  const rows = scopes?.rows ?? [];
  const chosen = chosenScope(state);
  const lines = linesOf(rows, route);
  const placed = useStill(lines, (l) => l.key, still, `${state.process?.key} ${state.groups?.filter} ${scopes?.order} ${route.fold} ${route.open} ${rows.length}`);
  const list = useRef<HTMLDivElement>(null);
  const part = useVirtual(list, placed.length, rowHeight, active ? placed.findIndex((p) => p.row.kind === "scope" && p.row.key === chosen?.key) : -1);
  const most = rows[0]?.total ?? 0;
  const order = scopes?.order ?? "";
  const changeOver = state.process?.snapshot.changeOver ?? 0;
  const fold = (row: ScopeRow, open: boolean): void => {
    store.go(open ? folded(route, row.key, true) : rows.some((r) => r.path.startsWith(`${row.path}/`)) ? folded(route, row.key, false) : opened(route, row.key, 0));
    if (open && chosen?.path.startsWith(`${row.path}/`)) choose(row); // what is chosen does not hide
  };
  return (
    <div class={hasFigure(order) ? "tree figures4" : "tree"} role="tree" aria-label="scopes" tabIndex={0} aria-activedescendant={chosen && `scope-${chosen.key}`} ref={list}>
      {part.above > 0 && <div style={{ height: `${part.above}px` }} />}
      {placed.slice(part.first, part.last).map(({ row: line, gone }) => {
        switch (line.kind) {
          case "scope":
            return (
              <ScopeLine key={line.key} line={line} gone={gone} chosen={line.key === chosen?.key} most={most} order={order} over={changeOver} choose={choose} fold={fold} />
            );
          case "more":
            return (
              <div key={line.key} class="row more" role="treeitem" aria-level={line.level}>
                <Name level={line.level}>
                  <button type="button" class="link" onClick={() => store.go(opened(route, line.row.key, line.shown))} title={`show more of the ${count(line.row.children)} scopes below ${line.row.path}`}>
                    {count(line.row.hidden)} more {line.row.hidden === 1 ? "scope" : "scopes"}
                  </button>
                </Name>
                <span />
                <span class="number">{count(line.row.hiddenThreads)}</span>
              </div>
            );
          case "own":
            return (
              <div key={line.key} class="row own" role="treeitem" aria-level={line.level}>
                <Name level={line.level}>
                  <button type="button" class="link" onClick={() => store.go({ filter: ownFilter(route.filter), scope: "" })} title={`${threads()} that no scope below ${line.row.path} has: filter ${ownFilter("")}`}>
                    in no scope
                  </button>
                </Name>
                <span />
                <span class="number">{count(line.row.own)}</span>
              </div>
            );
        }
      })}
      {part.below > 0 && <div style={{ height: `${part.below}px` }} />}
    </div>
  );
}

/** ownFilter is a filter of threads that are in the root scope itself, beside what is filtered already. */
function ownFilter(filter: string): string {
  const own = "scope=root";
  if (filter === "" || filter.includes(own)) return filter || own;
  return /\bor\b/.test(filter) ? `(${filter}) ${own}` : `${filter} ${own}`;
}

function Name({ level, children }: { level: number; children: preact.ComponentChildren }) {
  return (
    <span class="name" style={{ paddingLeft: `${Math.min(level - 1, 20) * 12 + 14}px` }}>
      {children}
    </span>
  );
}

const hasFigure = (order: string): boolean => order === "oldest" || order === "wait" || order === "pins";

interface LineProps {
  line: Line & { kind: "scope" };
  gone: boolean;
  chosen: boolean;
  most: number;
  order: string;
  over: number; // nanoseconds of the change; 0: too early to tell
  choose: (row: ScopeRow) => void;
  fold: (row: ScopeRow, open: boolean) => void;
}

function ScopeLine({ line, gone, chosen, most, order, over, choose, fold }: LineProps) {
  const { row } = line;
  const closed = row.children > 0 && !line.open;
  return (
    <div
      id={`scope-${row.key}`}
      role="treeitem"
      data-path={row.path}
      aria-level={line.level}
      aria-setsize={line.of}
      aria-posinset={line.place}
      aria-expanded={row.children > 0 ? !closed : undefined}
      aria-selected={chosen}
      class={gone ? "row gone" : "row"}
      onClick={() => choose(row)}
      onDblClick={() => row.children > 0 && fold(row, !closed)}
      title={about(row, over)}
    >
      <span class="bar" style={{ width: `${most > 0 ? (100 * row.total) / most : 0}%` }} />
      <span class="name" style={{ paddingLeft: `${Math.min(line.level - 1, 20) * 12}px` }}>
        {row.children > 0 ? (
          <i
            class={closed ? "twist closed" : "twist"}
            aria-hidden="true"
            onClick={(e) => {
              e.stopPropagation();
              fold(row, !closed);
            }}
            onDblClick={(e) => e.stopPropagation()}
          />
        ) : (
          <i class="twist none" aria-hidden="true" />
        )}
        {row.name}
        {row.fold > 1 && <em>×{count(row.fold)}</em>}
      </span>
      {hasFigure(order) && <span class="number dim">{figure(row, order)}</span>}
      <span class={row.change > 0 ? "change up" : "change"} title={over > 0 ? `change over ${duration(over)}` : "too early to tell a change"}>
        {gone ? "gone" : growth(row.change)}
      </span>
      <span class="number">{count(row.total)}</span>
    </div>
  );
}

function growth(n: number): string {
  return n === 0 ? "" : `${n > 0 ? "▲" : "▼"}${short(Math.abs(n))}`;
}

function figure(row: ScopeRow, order: string): string {
  switch (order) {
    case "oldest":
      return duration(row.oldest);
    case "wait":
      return duration(row.wait);
    default:
      return row.pins > 0 ? `${short(row.pins)} pins` : "";
  }
}

function about(row: ScopeRow, over: number): string {
  return [
    row.path,
    `${count(row.own)} ${threads(row.own)} of its own, ${count(row.total)} with those below`,
    row.fold > 1 ? `${count(row.fold)} scopes of this name` : "",
    over > 0 ? `${row.change === 0 ? "no change" : growth(row.change)} over ${duration(over)}` : "",
    row.oldest > 0 ? `longest wait ${duration(row.oldest)}, in sum about ${duration(row.wait)}` : "",
    row.pins > 0 ? `pinned ${count(row.pins)} times` : "",
    row.owner ? `owner ${row.owner}` : "",
  ]
    .filter((text) => text !== "")
    .join("\n");
}
