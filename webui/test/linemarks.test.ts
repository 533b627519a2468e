import assert from "node:assert/strict";
import test from "node:test";
import { extend, noHistory } from "../src/history";
import { aboutLane, signPlaces } from "../src/linemarks";
import type { Points } from "../src/protocol";

const points = { reset: true, time: [1, 2, 3], counts: [], starts: [0, 0, 0], ends: [0, 0, 0], switches: [0, 0, 0], drops: [0, 0, 0], pinned: [0, 2, 0], monopolized: [0, 0, 0], starved: [0, 0, 0], gc: [1, 0, 3], stopped: [100e3, 0, 900e3], ready: [[], [], []], flags: [] } as unknown as Points;
const history = extend(noHistory, points, 10);

test("what the marks of a lane stand for", () => {
  assert.equal(aboutLane(history, "pinned", null, false), "2 times pinned in this time line; marked at the bottom");
  assert.equal(aboutLane(history, "gc", null, false), "4 garbage collections of Go's in this time line; marked at the bottom\nthey stopped all goroutines for 1 ms in sum, and for 900 µs at most between two points");
  assert.equal(aboutLane(history, "gc", 0, false), "1 garbage collection of Go's at this point; marked at the bottom\nthey stopped all goroutines for 100 µs in sum");
});

test("that the pauses are not recorded is said", () => {
  assert(aboutLane(history, "gc", null, true).endsWith("is not recorded: the event gc is off"));
});

test("an older agent, of another machine, tells of no collections", () => {
  const old = extend(noHistory, { ...points, gc: undefined, stopped: undefined } as unknown as Points, 10);
  assert.equal(old.gc.join(), "0,0,0");
});

test("signs of lines that end at one height stand side by side", () => {
  assert.deepEqual(signPlaces([10, 40, 90], 8), [0, 0, 0]);
  assert.deepEqual(signPlaces([10, 12, 14, 17, 60], 8), [0, 1, 2, 3, 0]);
  assert.deepEqual(signPlaces([10, 16, 22], 8), [0, 1, 0]);
  assert.deepEqual(signPlaces([], 8), []);
});
