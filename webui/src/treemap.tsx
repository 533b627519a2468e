import "./treemap.css";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { change, count, duration, percent, short } from "./format";
import { threads } from "./kind";
import { PictureButton } from "./picturebutton";
import type { ScopeRow } from "./protocol";
import type { Route } from "./route";
import { children } from "./scoperows";
import { squarify } from "./squarify";
import type { Box } from "./squarify";
import type { State } from "./store";

/** What the route says about the map: AREA.COLOUR.KEY. */
interface Look {
  area: "threads" | "wait";
  colour: string; // growth, or a state
  key: string; // of the scope that fills the map; "": the root
}

function readLook(route: Route): Look {
  const [area, colour, key] = route.map.split(".");
  return { area: area === "wait" ? "wait" : "threads", colour: colour || "growth", key: key ?? "" };
}

function writeLook(look: Look): Partial<Route> {
  return { map: [look.area, look.colour, look.key].join(".").replace(/\.+$/, "") };
}

/** inMap reports whether scopes are shown as a map. */
export function inMap(route: Route): boolean {
  return route.map !== "";
}

/** zoomed is the key of the scope that fills the map; "": the root. */
export function zoomed(route: Route): string {
  return inMap(route) ? readLook(route).key : "";
}

export function zoom(route: Route, key: string): Partial<Route> {
  return writeLook({ ...readLook(route), key });
}

/** A cell of the map. */
interface Cell {
  kind: "scope" | "own" | "more"; // own: threads of a scope itself, beside those below it; more: scopes that did not come
  row: ScopeRow;
  box: Box;
  level: number;
  head: number; // height of the line with its name; 0: the name stands in the box
}

const headHeight = 16;
const gap = 2;

/** The cells that are on the screen, for the keyboard. */
let drawn: Cell[] = [];

/** aside is the key of the scope beside another one in the map: the nearest whose middle lies in that direction. */
export function aside(key: string, x: number, y: number): string {
  const from = drawn.find((c) => c.kind === "scope" && c.row.key === key);
  if (!from) return drawn[0]?.row.key ?? key;
  const middle = (c: Cell): [number, number] => (c.head > 0 ? [c.box.x + c.box.w / 2, c.box.y + c.head / 2] : [c.box.x + c.box.w / 2, c.box.y + c.box.h / 2]);
  const [fx, fy] = middle(from);
  let best = key;
  let least = Infinity;
  for (const c of drawn) {
    if (c === from || c.kind !== "scope") continue;
    const [cx, cy] = middle(c);
    const along = (cx - fx) * x + (cy - fy) * y;
    const off = Math.abs((cx - fx) * y) + Math.abs((cy - fy) * x);
    if (along <= 1 || along + 2 * off >= least) continue;
    [least, best] = [along + 2 * off, c.row.key];
  }
  return best;
}

interface MapProps {
  state: State;
  chosen: string; // key
  choose: (row: ScopeRow) => void;
  go: (to: Partial<Route>) => void;
}

/** Treemap shows scopes as boxes in boxes: the area is threads, or how long they have waited in sum. */
export function Treemap({ state, chosen, choose, go }: MapProps) {
  const ref = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState({ w: 0, h: 0 });
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const look = (): void => setRoom({ w: Math.floor(box.clientWidth), h: Math.floor(box.clientHeight) });
    look();
    const resized = new ResizeObserver(look);
    resized.observe(box);
    return () => resized.disconnect();
  }, []);
  const look = readLook(state.route);
  const rows = state.scopes?.rows ?? [];
  const at = Math.max(0, rows.findIndex((r) => r.key === look.key));
  const cells = rows.length > 0 && room.w > 0 ? layOut(rows, at, look.area, room) : [];
  drawn = cells;
  const root = rows[at];
  const changeOver = state.process?.snapshot.changeOver ?? 0;
  return (
    <div class="map" data-picture="treemap of scopes">
      <p class="map-look">
        <select aria-label="area of boxes" value={look.area} onChange={(e) => go(writeLook({ ...look, area: e.currentTarget.value === "wait" ? "wait" : "threads" }))}>
          <option value="threads">area: {threads()}</option>
          <option value="wait">area: waited in sum</option>
        </select>
        <select aria-label="colour of boxes" value={look.colour} onChange={(e) => go(writeLook({ ...look, colour: e.currentTarget.value }))}>
          <option value="growth">colour: growth</option>
          {(state.config?.states ?? []).slice(1).map((s) => (
            <option key={s.name} value={s.name}>
              colour: {s.name}
            </option>
          ))}
        </select>
        {at > 0 && (
          <button type="button" onClick={() => go(zoom(state.route, ""))} title="all scopes (Esc)">
            all scopes
          </button>
        )}
        <PictureButton />
      </p>
      <div class="map-boxes" data-drawn ref={ref} role="tree" aria-label={`scopes below ${root?.path ?? "root"}, the area is ${look.area === "wait" ? "the time waited in sum" : threads()}`} tabIndex={0} aria-activedescendant={chosen && `box-${chosen}`}>
        <svg width={room.w} height={room.h} role="presentation">
          {cells.map((c) => (
            <CellView key={`${c.row.key} ${c.kind}`} cell={c} state={state} look={look} chosen={c.kind === "scope" && c.row.key === chosen} choose={choose} go={go} />
          ))}
          {cells.filter((c) => c.kind === "scope" && c.row.key === chosen).map(({ box }) => (
            <rect key="chosen" class="map-chosen" x={box.x + 1} y={box.y + 1} width={Math.max(0, box.w - 2)} height={Math.max(0, box.h - 2)} />
          ))}
        </svg>
      </div>
      <Legend look={look} over={changeOver} />
    </div>
  );
}

/** layOut places a row with those below it. A box inside another one is not drawn where it would be too small to see; then the outer one stands for it. */
function layOut(rows: ScopeRow[], at: number, area: Look["area"], room: { w: number; h: number }): Cell[] {
  const cells: Cell[] = [];
  const size = (r: ScopeRow): number => (area === "wait" ? r.wait : r.total);
  const place = (i: number, box: Box, level: number): void => {
    const row = rows[i] as ScopeRow;
    const below = children(rows, i);
    const parts: { kind: Cell["kind"]; at: number; size: number }[] = below.map((k) => ({ kind: "scope", at: k, size: size(rows[k] as ScopeRow) }));
    const known = parts.reduce((sum, p) => sum + p.size, 0);
    const hidden = area === "wait" ? 0 : row.hiddenThreads; // how long those have waited is not known apart
    if (hidden > 0) parts.push({ kind: "more", at: i, size: hidden });
    const own = size(row) - known - hidden;
    if (parts.length > 0 && own > 0) parts.push({ kind: "own", at: i, size: own });
    const cell: Cell = { kind: "scope", row, box, level, head: 0 };
    cells.push(cell);
    if (parts.length === 0 || box.w < 26 || box.h < headHeight + 12) return;
    cell.head = headHeight;
    const inner = { x: box.x + gap, y: box.y + headHeight, w: box.w - 2 * gap, h: box.h - headHeight - gap };
    parts.sort((a, b) => b.size - a.size);
    squarify(parts.map((p) => p.size), inner).forEach((b, n) => {
      const part = parts[n];
      if (!part || b.w < 3 || b.h < 3) return;
      const shrunk = { x: b.x, y: b.y, w: b.w - 1, h: b.h - 1 };
      if (part.kind === "scope") place(part.at, shrunk, level + 1);
      else cells.push({ kind: part.kind, row: rows[part.at] as ScopeRow, box: shrunk, level: level + 1, head: 0 });
    });
  };
  place(at, { x: 0, y: 0, w: room.w, h: room.h }, 1);
  return cells;
}

interface CellProps {
  cell: Cell;
  state: State;
  look: Look;
  chosen: boolean;
  choose: (row: ScopeRow) => void;
  go: (to: Partial<Route>) => void;
}

function CellView({ cell, state, look, chosen, choose, go }: CellProps) {
  const { row, box, kind } = cell;
  const name = kind === "own" ? "its own" : kind === "more" ? `${count(row.hidden)} more scopes` : row.name;
  const n = kind === "own" ? row.own : kind === "more" ? row.hiddenThreads : row.total;
  const figure = look.area === "wait" && kind === "scope" ? duration(row.wait) : short(n);
  const arrow = look.colour === "growth" && kind === "scope" ? growthMark(row) : "";
  const share = kind === "scope" && look.colour !== "growth" ? percent(shareOf(state, look.colour, row)) : "";
  const tail = [figure, arrow, share].filter((s) => s !== "").join(" · ");
  const wide = Math.floor((box.w - 8) / 6.2); // characters of 11 pixels
  const two = cell.head === 0 && box.h >= 30;
  const line = two ? cut(name, wide) : cut(`${name} ${tail}`, wide);
  const label = `${kind === "scope" ? row.path : `${row.path}: ${name}`}, ${count(n)} ${threads(n)}` + (kind === "scope" ? `, ${change(row.change) || "no change"}${share && `, ${share} ${look.colour}`}` + (row.oldest > 0 ? `, waited ${duration(row.wait)} in sum, the longest ${duration(row.oldest)}` : "") : "");
  return (
    <g
      role="treeitem"
      id={kind === "scope" ? `box-${row.key}` : undefined}
      aria-level={cell.level}
      aria-selected={chosen}
      aria-label={label}
      data-path={kind === "scope" ? row.path : undefined}
      data-kind={kind}
      onClick={() => choose(row)}
      onDblClick={() => kind === "scope" && row.children > 0 && go(zoom(state.route, row.key))}
    >
      <title>{label.replaceAll(", ", "\n")}</title>
      <rect x={box.x} y={box.y} width={box.w} height={box.h} rx="2" style={kind === "scope" ? fill(state, look, row, cell.head > 0) : {}} class={kind} />
      {box.h >= 13 && line && (
        <text x={box.x + 4} y={box.y + 12} class={cell.head > 0 ? "head" : ""}>
          {line}
        </text>
      )}
      {two && (
        <text x={box.x + 4} y={box.y + 25} class="figure">
          {cut(tail, wide)}
        </text>
      )}
    </g>
  );
}

/** cut shortens text to so many characters; what would say nothing is left out. */
function cut(text: string, wide: number): string {
  if (text.length <= wide) return text;
  return wide < 4 ? "" : `${text.slice(0, wide - 1).trimEnd()}…`;
}

/** The steps of growth, by the part of what was there before. */
const steps = [0.02, 0.1, 0.5];

/** growthStep is -3 to 3. */
function growthStep(row: ScopeRow): number {
  if (row.change === 0) return 0;
  const before = row.total - row.change;
  const part = before > 0 ? Math.abs(row.change) / before : 1;
  const step = steps.filter((s) => part > s).length;
  return row.change > 0 ? step : -step;
}

function growthMark(row: ScopeRow): string {
  if (row.change === 0) return "";
  return (row.change > 0 ? "▲" : "▼") + short(Math.abs(row.change));
}

function shareOf(state: State, name: string, row: ScopeRow): number {
  const at = (state.config?.states ?? []).findIndex((s) => s.name === name);
  return row.total > 0 ? (row.counts[at] ?? 0) / row.total : 0;
}

function mix(colour: string, percent: number): string {
  return `color-mix(in srgb, var(${colour}) ${percent}%, var(--panel))`;
}

function fill(state: State, look: Look, row: ScopeRow, head: boolean): { fill: string } {
  const weak = head ? 0.5 : 1; // what stands inside has its own colour
  if (look.colour === "growth") {
    const step = growthStep(row);
    return { fill: step === 0 ? mix("--dim", 12 * weak) : mix(step > 0 ? "--state-blocked" : "--accent", 15 * Math.abs(step) * weak) };
  }
  return { fill: mix(`--state-${look.colour}`, 4 + 41 * shareOf(state, look.colour, row) * weak) };
}

/** Legend says what the colours mean. */
function Legend({ look, over }: { look: Look; over: number }) {
  const growth = look.colour === "growth";
  const boxes: [string, string][] = growth
    ? [
        [mix("--accent", 45), "▼ by half"],
        [mix("--accent", 30), "10 %"],
        [mix("--accent", 15), "2 %"],
        [mix("--dim", 12), "same"],
        [mix("--state-blocked", 15), "2 %"],
        [mix("--state-blocked", 30), "10 %"],
        [mix("--state-blocked", 45), "▲ by half"],
      ]
    : [0, 0.25, 0.5, 0.75, 1].map((s) => [mix(`--state-${look.colour}`, 4 + 41 * s), `${100 * s} %`]);
  return (
    <p class="map-legend" data-drawn>
      {boxes.map(([colour, words], i) => (
        <span key={i}>
          <i style={{ background: colour }} aria-hidden="true" />
          {words}
        </span>
      ))}
      <span class="dim">{growth ? (over > 0 ? `over ${duration(over)}` : "growth: too early to tell") : `of its ${threads()} are ${look.colour}`}</span>
    </p>
  );
}
