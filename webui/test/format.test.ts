import assert from "node:assert/strict";
import test from "node:test";
import { bytes, change, count, duration, leaf, percent, short, waited } from "../src/format";

test("numbers in at most five characters", () => {
  for (const [n, want] of [[0, "0"], [950, "950"], [999, "999"], [1_000, "1k"], [1_234, "1.2k"], [81_400, "81k"], [999_499, "999k"], [999_999, "1M"], [1_003_412, "1M"], [1_340_000, "1.3M"], [2.5, "2.5"]] as const) {
    assert.equal(short(n), want, String(n));
    assert(short(n).length <= 5);
  }
});

test("waits that nobody recorded", () => {
  assert.equal(waited({ count: 3, unknown: 3 }, 0), "?");
  assert.equal(waited({ count: 3, unknown: 3, within: 5e9 }, 0), "<5 s");
  assert.equal(waited({ count: 3, unknown: 1 }, 2e9), "2 s");
  assert.equal(waited({ count: 3, unknown: 0 }, 0), "0 s");
  assert.equal(waited({ count: 0, unknown: 0 }, 0), "0 s");
});

test("durations", () => {
  for (const [ns, want] of [[0, "0 s"], [999, "999 ns"], [870_000, "870 µs"], [12e6, "12 ms"], [3.4e9, "3.4 s"], [125e9, "2m 05s"], [11_520e9, "3h 12m"], [90_000e9, "1d 01h"]] as const) assert.equal(duration(ns), want, String(ns));
});

test("the rest", () => {
  assert.equal(count(1_234_567.4), "1,234,567");
  assert.equal(change(0), "");
  assert.equal(change(1_204), "+1.2k");
  assert.equal(change(-12), "−12");
  assert.equal(percent(0.012), "1.2 %");
  assert.equal(bytes(2_048), "2 KiB");
  assert.equal(leaf("example.com/shop.(*Store).query"), "shop.(*Store).query");
  assert.equal(leaf("a.com/x.Map[b.com/y.T]"), "x.Map[b.com/y.T]");
  assert.equal(leaf("example.com/chi/v5.(*Mux).ServeHTTP"), "chi.(*Mux).ServeHTTP");
  assert.equal(leaf("example.com/v5x.Serve"), "v5x.Serve");
});
