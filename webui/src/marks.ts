import { addKeys, everywhere } from "./keys";
import type { Context } from "./keys";
import { clock } from "./format";
import type { State } from "./store";
import { say } from "./toast";

/** A moment that somebody wants to find again. */
export interface Mark {
  name: string;
  at: number; // Unix milliseconds, of a snapshot
}

/** As many can be kept by the agent for one page. */
const most = 8;

const kept = new Map<string, Mark[]>(); // by process; as in the browser's storage, where that can be had

/** marksOf are the marks of a process in this browser, the oldest first. */
export function marksOf(process: string): Mark[] {
  if (!process) return [];
  let marks = kept.get(process);
  if (!marks) {
    marks = [];
    try {
      marks = (JSON.parse(localStorage.getItem(`vtscope.marks.${process}`) ?? "[]") as Mark[]).filter((m) => typeof m.name === "string" && typeof m.at === "number");
    } catch {
      // without storage they last as long as the page
    }
    kept.set(process, marks);
  }
  return marks;
}

function keep(process: string, marks: Mark[]): void {
  kept.set(process, marks);
  try {
    if (marks.length > 0) localStorage.setItem(`vtscope.marks.${process}`, JSON.stringify(marks));
    else localStorage.removeItem(`vtscope.marks.${process}`);
  } catch {
    // see marksOf
  }
}

/** momentOf is the moment that the page shows; 0: none yet. */
export function momentOf(state: State): number {
  return Number(state.route.at) || (state.process?.snapshot.time ?? 0);
}

/** A moment that can be chosen without a mark. */
export interface Ago {
  seconds: number; // before the moment that the page shows
  words: string;
  at: number; // Unix milliseconds
}

const usualAgo = 60;

/** agosOf are moments before the one that the page shows, of which something is known, the nearest first. */
export function agosOf(state: State): Ago[] {
  const now = momentOf(state);
  const oldest = state.moment?.oldest || (state.history.time[0] ?? now);
  if (now === 0 || oldest === 0) return [];
  const before = state.route.at || (state.process?.gone ?? 0) > 0 ? "before" : "ago";
  return [10, 30, 60, 300, 540]
    .map((seconds) => ({ seconds, words: seconds < 60 ? `${seconds} s ${before}` : `${seconds / 60} min ${before}`, at: now - seconds * 1_000 }))
    .filter((a) => a.at >= oldest);
}

/** addMark marks the moment that the page shows, and returns the mark; undefined if there is nothing to mark. */
export function addMark(state: State): Mark | undefined {
  const process = state.process?.key ?? "";
  const at = momentOf(state);
  if (!process || at === 0) return undefined;
  const marks = marksOf(process);
  const same = marks.find((m) => m.at === at);
  if (same) return same;
  const next = Math.max(0, ...marks.map((m) => Number(m.name.replace(/^M/, "")) || 0)) + 1;
  const mark = { name: `M${next}`, at };
  keep(process, [...marks, mark].slice(-most));
  return mark;
}

/** dropMark forgets a mark. */
export function dropMark(process: string, at: number): void {
  keep(
    process,
    marksOf(process).filter((m) => m.at !== at),
  );
}

function mark({ state, store }: Context): void {
  const made = addMark(state);
  if (!made) return;
  store.go({}); // tells the agent to keep it
  say(`${made.name} marks ${clock(made.at)}; d compares it with what is`);
}

function compare(c: Context): void {
  const last = marksOf(c.state.process?.key ?? "").findLast((m) => m.at <= momentOf(c.state));
  let from = last ? String(last.at) : c.state.route.from;
  if (from === "") {
    const before = agosOf(c.state);
    const usual = before.findLast((b) => b.seconds <= usualAgo) ?? before[0];
    from = usual ? String(usual.at) : "";
    say(usual ? `no moment is marked: compared with ${usual.words}` : "no moment is marked, and none before is kept yet: m marks the one that is shown");
  }
  c.store.go({ view: "diff", from });
  c.activate("groups");
}

addKeys(
  { keys: ["m"], words: "mark this moment", place: everywhere, when: (c) => momentOf(c.state) > 0, act: mark },
  { keys: ["d"], words: "what changed since the last mark, or in the last minute", place: everywhere, act: compare },
);
