import type { Flag, Points } from "./protocol";

/** The time line that the page holds: columns of equal length, oldest first. */
export interface History {
  time: number[];
  counts: number[][]; // by state
  starts: number[];
  ends: number[];
  switches: number[];
  drops: number[];
  pinned: number[];
  monopolized: number[];
  starved: number[];
  gc: number[]; // garbage collections
  stopped: number[]; // by them, nanoseconds; 0 too if that is not recorded
  ready: number[][]; // first bucket, then how many are in it and those after it
  flags: Flag[]; // of those times
}

export const noHistory: History = { time: [], counts: [], starts: [], ends: [], switches: [], drops: [], pinned: [], monopolized: [], starved: [], gc: [], stopped: [], ready: [], flags: [] };

/** extend returns history with the new points, at most as many as the agent keeps. */
export function extend(history: History, points: Points, most: number): History {
  const old = points.reset ? noHistory : history;
  // What an older agent does not tell, of another machine, is nothing.
  const join = <T>(a: T[] | undefined, b: T[] | undefined, none?: T): T[] => (a ?? []).concat(b ?? points.time.map(() => none as T)).slice(-most);
  const time = join(old.time, points.time);
  return {
    time,
    counts: points.counts.map((column, state) => join(old.counts[state], column)),
    starts: join(old.starts, points.starts),
    ends: join(old.ends, points.ends),
    switches: join(old.switches, points.switches),
    drops: join(old.drops, points.drops),
    pinned: join(old.pinned, points.pinned, 0),
    monopolized: join(old.monopolized, points.monopolized, 0),
    starved: join(old.starved, points.starved, 0),
    gc: join(old.gc, points.gc, 0),
    stopped: join(old.stopped, points.stopped, 0),
    ready: join(old.ready, points.ready, []),
    flags: old.flags.concat(points.flags ?? []).filter((f) => f.time >= (time[0] ?? 0)),
  };
}
