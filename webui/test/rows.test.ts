import "./browser";
import assert from "node:assert/strict";
import test from "node:test";
import { placeStill } from "../src/rows";
import type { Placed } from "../src/rows";

interface Row {
  name: string;
  n: number;
}
const rows = (...all: [string, number][]): Row[] => all.map(([name, n]) => ({ name, n }));
const key = (row: Row): string => row.name;
const told = (placed: Placed<Row>[]): string => placed.map(({ row, gone }) => `${row.name}${row.n}${gone ? " gone" : ""}`).join(", ");

test("values change, places do not; new ones come last, and what is gone stays", () => {
  const first = placeStill([], rows(["a", 1], ["b", 2], ["c", 3]), key);
  assert.equal(told(first), "a1, b2, c3");
  const then = placeStill(first, rows(["d", 9], ["c", 4], ["a", 5]), key);
  assert.equal(told(then), "a5, b2 gone, c4, d9");
  assert.equal(told(placeStill(then, rows(["b", 7], ["a", 5], ["c", 4], ["d", 9]), key)), "a5, b7, c4, d9");
});

test("a list that is pointed at for an hour does not grow", () => {
  let placed: Placed<Row>[] = [];
  let most = 0;
  for (let second = 0; second < 3_600; second++) {
    placed = placeStill(placed, rows([`new${second}`, 1], [`newer${second}`, 2]), key);
    most = Math.max(most, placed.length);
    assert(placed.some(({ row }) => row.name === `newer${second}`), `second ${second}: what is now is not shown: ${told(placed)}`);
  }
  assert(most > 10 && most < 30, `${most} rows at most, want some, and no more than 30`);
});
