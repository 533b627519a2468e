import assert from "node:assert/strict";
import test from "node:test";
import { late, leftOut, noLag, told } from "../src/lag";
import type { Lag } from "../src/lag";

/** Frames as [sent, lost, arrived] in seconds; the server's clock is an hour ahead. */
function after(...frames: [number, number, number][]): Lag {
  return frames.reduce((lag, [sent, lost, arrived]) => told(lag, { time: sent * 1_000 + 3_600_000, lost }, arrived * 1_000), noLag);
}

test("a network that takes each frame leaves out none, whatever the clocks say", () => {
  const lag = after([1, 0, 1.2], [2, 0, 2.1], [3, 0, 3.9]);
  assert.equal(leftOut(lag), 0);
  assert.equal(late(lag), 0);
});

test("frames that are left out are counted since the one that came before", () => {
  const lag = after([1, 0, 1], [2, 0, 2], [6, 3, 9], [8, 4, 12]);
  assert.equal(leftOut(lag), 4);
  assert.equal(lag.spell?.since, 2_000);
  assert.equal(late(lag), 4_000);
});

test("a spell of loss ends, and the next one counts its own", () => {
  const one = after([1, 0, 1], [3, 1, 3]);
  assert.equal(leftOut(told(one, { time: 3_610_000, lost: 1 }, 10_000)), 1, "after 7 s it lasts");
  const calm = told(one, { time: 3_620_000, lost: 1 }, 20_000);
  assert.equal(leftOut(calm), 0);
  const again = told(calm, { time: 3_623_000, lost: 3 }, 23_000);
  assert.equal(leftOut(again), 2);
  assert.equal(again.spell?.since, 20_000);
});

test("a clock that is set is no slow network", () => {
  const lag = after([1, 0, 1], [2, 0, 2], [-57, 0, 3]);
  assert.equal(late(lag), 0);
});

test("another connection counts from nothing", () => {
  const lag = told(after([1, 0, 1], [4, 5, 4]), { time: 3_606_000, lost: 1 }, 6_000);
  assert.equal(leftOut(lag), 1);
});
