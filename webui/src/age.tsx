import { createContext } from "preact";
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import "./age.css";
import { clock, duration } from "./format";
import { unheard } from "./lag";
import type { State } from "./store";

/** What the page shows is old, as words. */
export interface Old {
  age: string; // such as 12 s
  of: string; // the time of day of the newest figures
  why: string; // no full stop
}

const Told = createContext<Old | null>(null);

/** oldOf says how old what the page shows is, if nothing renews it although something should; null: it is as it should be. */
export function oldOf(state: State, now: number): Old | null {
  const { link, lag, route, process, frameTime } = state;
  if (frameTime === 0 || lag.arrived === 0) return null; // it shows nothing
  if (route.at !== "" || (process?.gone ?? 0) > 0) return null; // of what is past nothing is newer
  const why = link.how !== "live" ? "not connected to vtserve" : unheard(state, now) > 0 || lag.arrived < link.since ? "nothing comes from vtserve" : "";
  return why ? { age: duration(Math.max(1, Math.floor((now - lag.arrived) / 1_000)) * 1e9), of: clock(frameTime), why } : null;
}

/** Aging tells all that is within it how old the page is, once a second. */
export function Aging({ state, children }: { state: State; children: ComponentChildren }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  const old = oldOf(state, Date.now());
  const same = useMemo(() => old, [old?.age, old?.of, old?.why]);
  return <Told.Provider value={same}>{children}</Told.Provider>;
}

/** Age says in a title how old what stands below is; nothing while it is renewed. */
export function Age() {
  const old = useContext(Told);
  return old && <b class="age" title={`${old.why}: this is of ${old.of}`}>{old.age} old</b>;
}

/** AgeLine is Age as a sentence, for what covers the banners. */
export function AgeLine() {
  const old = useContext(Told);
  return old && (
    <p class="age-line" role="status">
      {old.why.charAt(0).toUpperCase() + old.why.slice(1)}: what the page knows is of {old.of}, {old.age} old.
    </p>
  );
}
