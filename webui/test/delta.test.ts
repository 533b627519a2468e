import assert from "node:assert/strict";
import test from "node:test";
import { apply } from "../src/delta";

test("fields that differ replace those that were", () => {
  assert.deepEqual(apply({ a: 1, b: 2 }, { b: 3 }), { a: 1, b: 3 });
});

test("rows are kept, changed, new, moved and gone", () => {
  const old = { more: 7, rows: [{ key: "a", n: 1 }, { key: "b", n: 2 }, { key: "c", n: 3 }, { key: "d", n: 4 }] };
  const now = apply(old, { more: 8, rows: [[2, 2], [0, { n: 10 }], { key: "e", n: 5 }] });
  assert.deepEqual(now, { more: 8, rows: [{ key: "c", n: 3 }, { key: "d", n: 4 }, { key: "a", n: 10 }, { key: "e", n: 5 }] });
  assert.deepEqual(old.rows.length, 4); // what was is not touched
});

test("a list is rows alone", () => {
  assert.deepEqual(apply([{ k: 1 }, { k: 2 }], [[1, 1]]), [{ k: 2 }]);
  assert.deepEqual(apply([{ k: 1 }], []), []);
});
