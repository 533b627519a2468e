import type { Points } from "./protocol";

/** The time line that the page holds: columns of equal length, oldest first. */
export interface History {
  time: number[];
  counts: number[][]; // by state
  starts: number[];
  ends: number[];
  switches: number[];
  drops: number[];
}

export const noHistory: History = { time: [], counts: [], starts: [], ends: [], switches: [], drops: [] };

/** extend returns history with the new points, at most as many as the agent keeps. */
export function extend(history: History, points: Points, most: number): History {
  const old = points.reset ? noHistory : history;
  const join = (a: number[] | undefined, b: number[]): number[] => (a ?? []).concat(b).slice(-most);
  return {
    time: join(old.time, points.time),
    counts: points.counts.map((column, state) => join(old.counts[state], column)),
    starts: join(old.starts, points.starts),
    ends: join(old.ends, points.ends),
    switches: join(old.switches, points.switches),
    drops: join(old.drops, points.drops),
  };
}
