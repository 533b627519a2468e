import assert from "node:assert/strict";
import test from "node:test";
import { extend, noHistory } from "../src/history";
import type { Points } from "../src/protocol";

function points(reset: boolean, ...time: number[]): Points {
  return { reset, time, counts: [time.map((t) => t * 10)], starts: time, ends: time, switches: time, drops: time } as unknown as Points;
}

test("points come behind those that were", () => {
  const h = extend(extend(noHistory, points(true, 1, 2), 600), points(false, 3), 600);
  assert.deepEqual(h.time, [1, 2, 3]);
  assert.deepEqual(h.counts, [[10, 20, 30]]);
});

test("never more than the agent keeps", () => {
  let h = noHistory;
  for (let i = 0; i < 1000; i++) h = extend(h, points(false, i), 5);
  for (const column of [h.time, h.starts, h.ends, h.switches, h.drops, h.counts[0]]) assert.equal(column?.length, 5);
  assert.equal(h.time.at(-1), 999);
});

test("a new beginning forgets", () => {
  assert.deepEqual(extend(extend(noHistory, points(true, 1), 9), points(true, 7), 9).time, [7]);
});
