import assert from "node:assert/strict";
import test from "node:test";
import type { Process } from "../src/protocol";
import { slowDelay, vitals } from "../src/vitals";

function process(change: object): Process {
  const rates = { starts: 1, ends: 2, switches: 1_500, events: 4 };
  const drops = { events: 0, threads: 0, stacks: 0, strings: 0, torn: 0 };
  return { rates, drops, carrying: { total: 4, busy: 3, held: 1 }, delay: { over: 10e9, count: 50, p50: 1e3, p90: 2e3, p99: 340e3, longest: 1e6 }, ...change } as Process;
}

const said = (p: Process): string => vitals(p).map((v) => `${v.bad ? v.word : v.name} ${v.value}`).join(", ");

test("what the header says beside the states", () => {
  assert.equal(said(process({})), "carriers 3/4, ready p99 340 µs, switches/s 1.5k, drops 0");
  assert(/in the last 10 s.* 99 % 340 µs.* 50 samples/.test(vitals(process({}))[1]?.about ?? ""));
});

test("what is bad has another word", () => {
  const drops = { events: 1_200, threads: 30, stacks: 0, strings: 0, torn: 4 };
  const delay = { over: 10e9, count: 50, p50: 1e3, p90: 2e3, p99: slowDelay, longest: 1e9 };
  assert.equal(said(process({ drops, delay, carrying: { total: 4, busy: 4, held: 4 } })), "all held 4/4, slow p99 100 ms, switches/s 1.5k, lost 1.2k");
});

test("what is not known, or an older agent does not tell", () => {
  for (const change of [{ carrying: undefined, delay: undefined }, { carrying: { total: 0, busy: 0, held: 0 }, delay: { over: 0, count: 0, p50: 0, p90: 0, p99: 0, longest: 0 } }])
    assert.equal(said(process(change)), "carriers –, ready p99 –, switches/s 1.5k, drops 0");
});
