import type { OpenScope, ScopeRow } from "./protocol";
import type { Route } from "./route";

/** A line of the tree of scopes. */
export type Line =
  | { kind: "scope"; key: string; row: ScopeRow; level: number; open: boolean | undefined; place: number; of: number } // open undefined: nothing is below it
  | { kind: "more"; key: string; row: ScopeRow; level: number; shown: number } // children of row that did not come
  | { kind: "own"; key: string; row: ScopeRow; level: number }; // threads of the root itself

/** how many more children come with a click */
export const moreRows = 200;
const mostOpen = 64;

/** readOpen is which scopes the route opens further than the agent does by itself. */
export function readOpen(route: Route): OpenScope[] {
  return words(route.open).map((word) => {
    const [scope = "", rows = ""] = word.split(":");
    return { scope, rows: Math.min(2_000, Math.max(0, Math.round(Number(rows) || moreRows))) };
  });
}

/** isFolded reports whether the route hides what is below a scope. */
export function isFolded(route: Route, key: string): boolean {
  return words(route.fold).includes(key);
}

/** linesOf are the lines of the tree as the route folds it. Rows come parents first. */
export function linesOf(rows: ScopeRow[], route: Route): Line[] {
  const lines: Line[] = [];
  const folded = new Set(words(route.fold));
  const add = (at: number): number => {
    const row = rows[at] as ScopeRow;
    const below = children(rows, at);
    const open = row.children === 0 ? undefined : below.length > 0 && !folded.has(row.key);
    const line: Line = { kind: "scope", key: row.key, row, level: row.depth + 1, open, place: 1, of: 1 };
    lines.push(line);
    if (!open) return at;
    below.forEach((child, i) => {
      const first = lines.length;
      add(child);
      Object.assign(lines[first] as Line, { place: i + 1, of: below.length });
    });
    if (row.hidden > 0) lines.push({ kind: "more", key: `${row.key} more`, row, level: row.depth + 2, shown: below.length });
    if (at === 0 && row.own > 0) lines.push({ kind: "own", key: `${row.key} own`, row, level: row.depth + 2 });
    return at;
  };
  if (rows.length > 0) add(0);
  return lines;
}

/** children are the places of the rows right below one. */
export function children(rows: ScopeRow[], at: number): number[] {
  const depth = (rows[at] as ScopeRow).depth;
  const all: number[] = [];
  for (let i = at + 1; i < rows.length && (rows[i] as ScopeRow).depth > depth; i++) {
    if ((rows[i] as ScopeRow).depth === depth + 1) all.push(i);
  }
  return all;
}

/** parent is the row above one; undefined of the root. */
export function parent(rows: ScopeRow[], key: string): ScopeRow | undefined {
  const at = rows.findIndex((r) => r.key === key);
  const depth = rows[at]?.depth ?? 0;
  return rows.slice(0, Math.max(0, at)).findLast((r) => r.depth === depth - 1);
}

/** opened is the route with more children of a scope, of which so many are there. */
export function opened(route: Route, key: string, shown: number): Partial<Route> {
  const others = readOpen(route).filter((o) => o.scope !== key);
  const all = [...others, { scope: key, rows: shown + moreRows }].slice(-mostOpen);
  return { open: all.map((o) => `${o.scope}:${o.rows}`).join(","), fold: without(route.fold, key) };
}

/** folded is the route in which a scope is folded, or not. */
export function folded(route: Route, key: string, fold: boolean): Partial<Route> {
  const others = without(route.fold, key);
  return { fold: fold ? [...words(others), key].slice(-mostOpen).join(",") : others };
}

function without(list: string, key: string): string {
  return words(list)
    .filter((word) => word !== key)
    .join(",");
}

function words(list: string): string[] {
  return list.split(",").filter((word) => word !== "");
}
