import type { State } from "./store";

/** What a page knows of how late it is told. Times are Unix milliseconds. */
export interface Lag {
  arrived: number; // the newest frame, by the clock of the browser; 0: none yet
  offset: number; // the least that a frame of this connection came later than it was sent: what clocks differ, and a quick network
  behind: number; // milliseconds that the newest frame was longer on its way
  lost: number; // frames of this connection that were left out
  spell: { since: number; before: number; last: number } | null; // of loss: when it began, how many were lost before, when the last one was
}

export const noLag: Lag = { arrived: 0, offset: Infinity, behind: 0, lost: 0, spell: null };

/** A spell of loss is over when nothing was left out for so long. */
const over = 15_000;
/** Frames that are no later than this came at once. */
const little = 1_500;

/** told is what is known after a frame. The count of lost frames begins anew with each connection. */
export function told(old: Lag, frame: { time: number; lost: number }, now: number): Lag {
  const before = frame.lost < old.lost ? noLag : old;
  const offset = Math.min(before.offset, now - frame.time);
  const behind = now - frame.time - offset;
  let { spell } = before;
  if (frame.lost > before.lost) spell = { since: spell?.since ?? (before.arrived || now), before: spell?.before ?? before.lost, last: now };
  else if (spell && now - spell.last > over) spell = null;
  return { arrived: now, offset, behind, lost: frame.lost, spell };
}

/** leftOut is how many frames were left out in the spell of loss that lasts. */
export function leftOut(lag: Lag): number {
  return lag.spell ? lag.lost - lag.spell.before : 0;
}

/** late is how many milliseconds the newest frame was late, 0 if that is little. While none is lost nothing is late: then a clock was set. */
export function late(lag: Lag): number {
  return lag.spell && lag.behind >= little ? lag.behind : 0;
}

/** A frame comes each second or two, if only to say that nothing changed. */
const silent = 4_000;

/** unheard is for how long nothing has come over a connection that stands, in milliseconds; 0 if that is not long. */
export function unheard({ link, lag, config }: Pick<State, "link" | "lag" | "config">, now: number): number {
  if (link.how !== "live") return 0;
  const none = now - Math.max(lag.arrived, link.since);
  const patience = Math.max(silent, 4 * (config?.intervalMs ?? 0));
  return none > patience ? none : 0;
}
