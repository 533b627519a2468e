import assert from "node:assert/strict";
import test from "node:test";
import type { ScopeRow } from "../src/protocol";
import { nowhere } from "../src/route";
import { folded, isFolded, linesOf, opened, parent, readOpen } from "../src/scoperows";

const row = (key: string, depth: number, children: number, more: Partial<ScopeRow> = {}): ScopeRow => ({ key, depth, children, hidden: 0, own: 0, path: key, ...more }) as unknown as ScopeRow;
const tree = [row("root", 0, 2, { own: 3 }), row("a", 1, 12, { hidden: 10 }), row("a1", 2, 0), row("a2", 2, 0), row("b", 1, 0)];

test("rows become lines, with what did not come and what is in no scope", () => {
  assert.deepEqual(linesOf(tree, nowhere).map((l) => `${l.kind} ${l.key} ${l.level}`), [
    "scope root 1", "scope a 2", "scope a1 3", "scope a2 3", "more a more 3", "scope b 2", "own root own 2",
  ]);
  assert.deepEqual(linesOf([], nowhere), []);
});

test("what is folded hides what is below, and is opened by more", () => {
  const route = { ...nowhere, ...folded(nowhere, "a", true) };
  assert(isFolded(route, "a"));
  assert.deepEqual(linesOf(tree, route).map((l) => l.key), ["root", "a", "b", "root own"]);
  const again = { ...route, ...opened(route, "a", 2) };
  assert(!isFolded(again, "a"));
  assert.deepEqual(readOpen(again), [{ scope: "a", rows: 202 }]);
  assert.deepEqual({ ...route, ...folded(route, "a", false) }, nowhere);
});

test("who is above", () => {
  assert.equal(parent(tree, "a2")?.key, "a");
  assert.equal(parent(tree, "b")?.key, "root");
  assert.equal(parent(tree, "root"), undefined);
});
