import assert from "node:assert/strict";
import test from "node:test";
import { callOf, found, largestFuncs, matcher, treeOf, visit } from "../src/calls";
import type { Call } from "../src/calls";
import type { Calls } from "../src/protocol";

// 10 threads: main → handle → query 6, of which 2 call handle again; main → idle 3; 1 in main itself.
const columns = {
  funcs: [{ name: "x/main.main" }, { name: "x/shop.handle" }, { name: "x/shop.query" }, { name: "x/main.idle" }],
  parents: [-1, 0, 1, 2, 3, 1],
  calls: [-1, 0, 1, 2, 1, 3],
  threads: [10, 10, 6, 6, 2, 3],
  own: [0, 1, 0, 4, 2, 3],
  waitsMs: [0, 10, 60, 60, 20, 30],
  lines: [], changes: [], states: [], inState: [],
} as unknown as Calls;

function tree(weight: "" | "wait" = ""): Call {
  const root = treeOf(columns, weight);
  if (!root) throw new Error("no tree");
  return root;
}

test("columns become a tree", () => {
  const lines: string[] = [];
  visit(tree(), (c) => void lines.push(`${c.depth} ${c.func.name} ${c.threads} ${c.left}`));
  assert.deepEqual(lines, ["0  10 0", "1 x/main.main 10 0", "2 x/shop.handle 6 0", "3 x/shop.query 6 0", "4 x/shop.handle 2 0", "2 x/main.idle 3 0"]);
  assert.equal(tree("wait").children[0]?.weight, 10e6);
  assert.equal(treeOf(null, ""), null);
});

test("a call is found by its key, which is that of its path", () => {
  const inner = tree().children[0]?.children[0]?.children[0]?.children[0];
  const outer = tree().children[0]?.children[0];
  assert.equal(inner?.func.name, outer?.func.name);
  assert(inner && outer && inner.key !== outer.key);
  assert.equal(callOf(tree(), inner?.key ?? "")?.depth, 4);
  assert.equal(callOf(tree(), "none"), null);
});

test("a thread counts once, however often its stack matches", () => {
  const matches = matcher("HANDLE");
  assert.deepEqual(matches && found(tree(), matches), { calls: 2, weight: 6, threads: 6 });
  assert.equal(matcher("  "), null);
  const { rows } = largestFuncs(tree(), 10);
  assert.equal(rows.find((r) => r.func.name === "x/shop.handle")?.threads, 6);
});
