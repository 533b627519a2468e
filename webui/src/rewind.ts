import { addKeys, everywhere } from "./keys";
import type { State, Store } from "./store";
import { say } from "./toast";

/** moments are the times that keys step through, oldest first, with that of the one that is shown. */
function moments(state: State): { all: number[]; at: number } {
  const { moment, process, route } = state;
  const live = route.at === "";
  const shown = live ? (process?.snapshot.time ?? 0) : (moment?.shown ?? 0);
  const back = (moment?.back ?? []).filter((t) => t < shown).reverse();
  const all = [...back, shown, ...(live ? [] : (moment?.forth ?? []))];
  // Of several presses the later ones come before the frame that tells what is shown.
  const asked = all.indexOf(Number(route.at));
  return { all, at: asked >= 0 ? asked : back.length };
}

/** step goes by so many moments. Beyond the newest there is now. */
export function step(store: Store, by: number): void {
  const { state } = store;
  const { all, at } = moments(state);
  const { moment, route } = state;
  if (!moment || moment.oldest === 0) {
    say("no moment is kept yet");
    return;
  }
  if (by > 0 && route.at === "") return;
  const to = at + by;
  if (to >= all.length && moment.forth.length < 10) store.now();
  else if (to < 0 && at === 0) say("this is the oldest moment");
  else store.rewind(all[Math.max(0, Math.min(all.length - 1, to))] ?? moment.oldest);
}

/** seek goes to a point of the time line; its newest is now. Second: it chooses what that is compared with. */
export function seek(store: Store, index: number, second: boolean): void {
  const { history, route } = store.state;
  const time = history.time[index];
  if (time === undefined) return;
  if (second) {
    if (route.from !== String(time)) store.go({ from: String(time) });
  } else if (index === history.time.length - 1) {
    if (route.at !== "") store.now();
  } else if (route.at !== String(time)) store.rewind(time);
}

/** flagBeside is the time of the next flag before or after what is shown; undefined: there is none. */
function flagBeside(state: State, by: number): number | undefined {
  const at = state.route.at === "" ? Infinity : Number(state.route.at);
  const times = state.history.flags.map((f) => f.time);
  return by < 0 ? times.filter((t) => t < at).at(-1) : times.find((t) => t > at);
}

function toFlag(store: Store, by: number): void {
  const to = flagBeside(store.state, by);
  if (to === undefined) say(by < 0 ? "no flag before" : "no flag after");
  else store.rewind(to);
}

addKeys(
  { keys: [" "], words: (c) => (c.state.route.at === "" ? "pause what is shown" : "go on: back to now"), place: everywhere, foot: true, act: ({ store }) => togglePause(store) },
  { keys: ["["], words: "the moment before", place: everywhere, foot: true, act: ({ store }) => step(store, -1) },
  { keys: ["]"], words: "the moment after", place: everywhere, foot: true, when: (c) => c.state.route.at !== "", act: ({ store }) => step(store, +1) },
  { keys: ["{"], words: "ten moments back", place: everywhere, act: ({ store }) => step(store, -10) },
  { keys: ["}"], words: "ten moments on", place: everywhere, when: (c) => c.state.route.at !== "", act: ({ store }) => step(store, +10) },
  { keys: ["<"], words: "the flag before", place: everywhere, act: ({ store }) => toFlag(store, -1) },
  { keys: [">"], words: "the flag after", place: everywhere, act: ({ store }) => toFlag(store, +1) },
  { keys: ["Escape"], words: "back to now", place: everywhere, foot: true, when: (c) => c.state.route.at !== "" || c.state.route.from !== "", act: ({ store }) => store.now() },
);

function togglePause(store: Store): void {
  const { route, process } = store.state;
  if (route.at !== "") store.now();
  else if (!process || process.missing) say("there is no process to pause");
  else if (process.gone > 0) say("nothing moves: this is the last of it");
  else if (process.snapshot.time === 0) say("no snapshot yet");
  else store.pause(process.snapshot.time);
}
