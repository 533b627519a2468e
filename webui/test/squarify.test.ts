import assert from "node:assert/strict";
import test from "node:test";
import { squarify } from "../src/squarify";

test("areas are as the sizes, and fill the box", () => {
  const sizes = [600, 300, 60, 30, 9, 1, 0];
  const boxes = squarify(sizes, { x: 10, y: 20, w: 500, h: 200 });
  assert.equal(boxes.length, sizes.length);
  boxes.forEach((b, i) => {
    assert(Math.abs(b.w * b.h - (100_000 * (sizes[i] ?? 0)) / 1000) < 1e-6, `box ${i}`);
    assert(b.x >= 10 - 1e-9 && b.y >= 20 - 1e-9 && b.x + b.w <= 510 + 1e-9 && b.y + b.h <= 220 + 1e-9, `box ${i} is outside`);
    for (const o of boxes.slice(0, i)) assert(Math.min(b.x + b.w, o.x + o.w) - Math.max(b.x, o.x) < 1e-6 || Math.min(b.y + b.h, o.y + o.h) - Math.max(b.y, o.y) < 1e-6, `box ${i} lies over another`);
  });
});

test("nothing to divide", () => {
  assert.deepEqual(squarify([], { x: 0, y: 0, w: 10, h: 10 }), []);
  for (const b of squarify([0, 0], { x: 0, y: 0, w: 10, h: 10 })) assert.equal(b.w * b.h, 0);
});
