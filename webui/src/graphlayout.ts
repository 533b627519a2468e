import type { Call } from "./calls";

/** The sizes of boxes, in units of the drawing. */
export const boxWidth = 252;
export const lineHeight = 15;
const gapX = 36;
const gapY = 12;
const padding = 6;

/** The most lines of calls in a box that is not opened: the first and the last of more. */
const mostLines = 5;

/** A Run is calls of which each makes the next one and nothing else: a box of the graph. */
export interface Run {
  calls: Call[]; // from the root on
  from: Run | null;
  to: Run[]; // heaviest first
  left: { runs: number; threads: number }; // further ones, without a box
  side: 1 | -1; // inwards, to the right, or outwards
  lines: (Call | number)[]; // what stands in the box: calls, and in between how many are left out
  ends: number; // threads whose stack ends with the last call
  x: number;
  y: number;
  height: number;
}

export interface Drawing {
  runs: Run[]; // the root first
  x: number; // of all
  y: number;
  width: number;
  height: number;
  left: number; // runs without a box
}

/** first and last are the ends of a run. */
export function first(run: Run): Call {
  return run.calls[0] as Call;
}
export function last(run: Run): Call {
  return run.calls[run.calls.length - 1] as Call;
}

/** drawing makes boxes of the most calls with most weight, and places them. A root inwards and one outwards, of the same function, share a box. */
export function drawing(inward: Call, outward: Call | null, most: number, opened: Set<string>): Drawing {
  const root = newRun([inward], null, 1);
  const all = [...runsBelow(root, inward, 1), ...(outward && outward.children.length > 0 ? runsBelow(root, outward, -1) : [])];
  const kept = new Set([...all].sort((a, b) => first(b).weight - first(a).weight || first(a).depth - first(b).depth).slice(0, most));
  const runs = [root, ...all.filter((run) => kept.has(run))];
  for (const run of runs) {
    const hidden = run.to.filter((next) => !kept.has(next));
    run.left = { runs: hidden.length, threads: hidden.reduce((n, next) => n + first(next).threads, 0) + (run.from ? last(run).left : inward.left) };
    run.to = run.to.filter((next) => kept.has(next)).sort((a, b) => first(b).weight - first(a).weight);
    fill(run, opened.has(first(run).key));
  }
  place(root, root.to.filter((run) => run.side > 0), 0);
  place(root, root.to.filter((run) => run.side < 0), 0);
  const x = Math.min(...runs.map((run) => run.x));
  const bottom = Math.max(...runs.map((run) => run.y + run.height));
  return { runs, x, y: 0, width: Math.max(...runs.map((run) => run.x)) + boxWidth - x, height: bottom, left: all.length - kept.size };
}

function newRun(calls: Call[], from: Run | null, side: 1 | -1): Run {
  return { calls, from, to: [], left: { runs: 0, threads: 0 }, side, lines: [], ends: 0, x: 0, y: 0, height: 0 };
}

/** runsBelow makes runs of what is below a call, outer ones first. */
function runsBelow(from: Run, call: Call, side: 1 | -1): Run[] {
  const all: Run[] = [];
  for (let next of call.children) {
    const calls = [next];
    for (let only = next.children[0]; next.children.length === 1 && only && only.threads === next.threads; only = next.children[0]) {
      calls.push(only);
      next = only;
    }
    const run = newRun(calls, from, side);
    from.to.push(run);
    all.push(run, ...runsBelow(run, next, side));
  }
  return all;
}

/** fill says what stands in a box and how high that is. */
function fill(run: Run, open: boolean): void {
  const { calls } = run;
  run.lines = open || calls.length <= mostLines ? [...calls] : [...calls.slice(0, 2), calls.length - 4, ...calls.slice(-2)];
  const end = last(run);
  run.ends = run.from && end.children.length > 0 ? end.own : 0;
  run.height = 2 * padding + lineHeight * (1 + run.lines.length + (run.ends > 0 ? 1 : 0) + (run.left.threads > 0 ? 1 : 0));
}

/** place puts runs beside the one that they come from, its heaviest at its height, and returns where the next one below them can begin. */
function place(from: Run, to: Run[], y: number): number {
  let below = y;
  for (const run of to) {
    run.x = from.x + run.side * (boxWidth + gapX);
    run.y = below;
    below = place(run, run.to, below);
  }
  return Math.max(below, y + from.height + gapY);
}

/** edge is the line between two boxes. */
export function edge(run: Run): string {
  const { from } = run;
  if (!from) return "";
  const out = run.side > 0 ? from.x + boxWidth : from.x;
  const into = run.side > 0 ? run.x : run.x + boxWidth;
  const y = [from.y + padding + lineHeight / 2, run.y + padding + lineHeight / 2];
  const middle = (out + into) / 2;
  return `M${out} ${y[0]}C${middle} ${y[0]} ${middle} ${y[1]} ${into} ${y[1]}`;
}
