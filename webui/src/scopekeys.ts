import { addKeys } from "./keys";
import type { Context } from "./keys";
import { threads } from "./kind";
import { children, folded, isFolded, linesOf, opened, parent } from "./scoperows";
import { chosenScope, scopeName } from "./scopes";
import type { ScopeRow } from "./protocol";
import { aside, inMap, zoom, zoomed } from "./treemap";

const inTree = (c: Context): boolean => !inMap(c.state.route);

addKeys(
  { keys: ["j", "ArrowDown"], words: "next scope", place: "scopes", foot: true, when: inTree, act: (c) => step(c, +1) },
  { keys: ["k", "ArrowUp"], words: "scope before", place: "scopes", foot: true, when: inTree, act: (c) => step(c, -1) },
  { keys: ["ArrowRight"], words: "unfold the scope, then go into it", place: "scopes", when: inTree, act: unfold },
  { keys: ["ArrowLeft"], words: "fold the scope, then go to the one above", place: "scopes", when: inTree, act: fold },
  { keys: ["+"], words: "show more scopes below this one", place: "scopes", when: (c) => (chosenScope(c.state)?.hidden ?? 0) > 0, act: more },
  { keys: ["Home"], words: "first scope", place: "scopes", when: inTree, act: (c) => step(c, -Infinity) },
  { keys: ["End"], words: "last scope", place: "scopes", when: inTree, act: (c) => step(c, +Infinity) },
  { keys: ["v"], words: (c) => (inMap(c.state.route) ? "show the scopes as a tree" : "show the scopes as a treemap"), place: "scopes", foot: true, act: ({ state, store }) => store.go({ map: inMap(state.route) ? "" : "threads" }) },
  { keys: ["j", "ArrowDown"], words: "scope below", place: "scopes", when: (c) => inMap(c.state.route), act: (c) => beside(c, 0, +1) },
  { keys: ["k", "ArrowUp"], words: "scope above", place: "scopes", when: (c) => inMap(c.state.route), act: (c) => beside(c, 0, -1) },
  { keys: ["ArrowRight"], words: "scope to the right", place: "scopes", when: (c) => inMap(c.state.route), act: (c) => beside(c, +1, 0) },
  { keys: ["ArrowLeft"], words: "scope to the left", place: "scopes", when: (c) => inMap(c.state.route), act: (c) => beside(c, -1, 0) },
  { keys: ["Enter"], words: () => `to its ${threads()}`, place: "scopes", foot: true, when: (c) => !canZoom(c), act: (c) => c.activate("groups") },
  { keys: ["Enter"], words: "only this scope in the map", place: "scopes", foot: true, when: canZoom, act: (c) => c.store.go(zoom(c.state.route, chosenScope(c.state)?.key ?? "")) },
  { keys: ["Escape", "Backspace"], words: "all scopes in the map", place: "scopes", foot: true, when: (c) => zoomed(c.state.route) !== "", act: (c) => c.store.go(zoom(c.state.route, "")) },
);

/** choose makes a row the one that is shown. */
function choose(c: Context, row: ScopeRow | undefined): void {
  if (row) c.store.go({ scope: scopeName(c.state.scopes?.rows ?? [], row) });
}

/** step moves the choice by lines of the tree as it is folded. */
function step(c: Context, by: number): void {
  const lines = linesOf(c.state.scopes?.rows ?? [], c.state.route).filter((line) => line.kind === "scope");
  const at = lines.findIndex((line) => line.key === chosenScope(c.state)?.key);
  choose(c, lines[Math.max(0, Math.min(lines.length - 1, at + by))]?.row);
}

function unfold(c: Context): void {
  const rows = c.state.scopes?.rows ?? [];
  const row = chosenScope(c.state);
  if (!row || row.children === 0) return;
  const below = children(rows, rows.indexOf(row));
  if (below.length === 0) c.store.go(opened(c.state.route, row.key, 0));
  else if (isFolded(c.state.route, row.key)) c.store.go(folded(c.state.route, row.key, false));
  else choose(c, rows[below[0] as number]);
}

function fold(c: Context): void {
  const rows = c.state.scopes?.rows ?? [];
  const row = chosenScope(c.state);
  if (!row) return;
  if (!isFolded(c.state.route, row.key) && children(rows, rows.indexOf(row)).length > 0) c.store.go(folded(c.state.route, row.key, true));
  else choose(c, parent(rows, row.key));
}

function more(c: Context): void {
  const row = chosenScope(c.state);
  if (row) c.store.go(opened(c.state.route, row.key, row.children - row.hidden));
}

function beside(c: Context, x: number, y: number): void {
  const key = aside(chosenScope(c.state)?.key ?? "", x, y);
  choose(c, (c.state.scopes?.rows ?? []).find((r) => r.key === key));
}

function canZoom(c: Context): boolean {
  const row = chosenScope(c.state);
  return inMap(c.state.route) && row !== undefined && row.depth > 0 && row.children > 0 && zoomed(c.state.route) !== row.key;
}
