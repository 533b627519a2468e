import { clock, duration } from "./format";
import "./moment.css";
import { step } from "./rewind";
import type { State, Store } from "./store";

/** ago says how long before the newest point of the time line a moment was. */
export function ago(state: State, ms: number): string {
  const now = state.process?.status === "recorded" ? (state.moment?.newest ?? ms) : state.frameTime;
  const far = duration(Math.max(0, now - ms) * 1e6);
  return state.process?.status === "recorded" ? `${far} before the end` : `${far} ago`;
}

/** exactly writes the time of day with what of a second matters. */
export function exactly(ms: number): string {
  const rest = ms % 1_000;
  return rest === 0 ? clock(ms) : `${clock(ms)}.${String(rest).padStart(3, "0")}`;
}

/** MomentBar says that the page shows the past, which moment, how near that is, and leads back to now. */
export function MomentBar({ state, store }: { state: State; store: Store }) {
  const { route, moment, config } = state;
  if (route.at === "" && route.from === "") return moment?.note && state.history.time.length > 0 ? <p class="note-line" role="status">{moment.note}</p> : null;
  const at = Number(route.at);
  const going = route.at !== "" && (!moment || moment.at !== at || moment.busy);
  const shown = moment?.shown ?? 0;
  const gap = shown && moment?.kept ? (moment.forth[0] ?? shown) - shown : 0;
  const word = state.paused ? "PAUSED" : "REWIND";
  return (
    <div class="moment" id="moment" role="group" aria-label="moment shown" data-shown={shown || undefined} data-going={going ? "yes" : undefined}>
      {route.at !== "" && (
        <span>
          <b>{word}</b>{" "}
          {going ? (
            <>
              going to {exactly(at)}
              {moment?.busy && ": it is being read from the recording"} …
            </>
          ) : moment?.missing ? (
            moment.missing
          ) : (
            <>
              every panel is as it was at <b>{exactly(shown)}</b>, {ago(state, shown)}
              {gap > 2 * (config?.intervalMs ?? 1_000) && <span class="dim"> · moments are kept each {duration(gap * 1e6)} here</span>}
            </>
          )}
        </span>
      )}
      {moment?.missing && moment.oldest > 0 && (
        <button type="button" onClick={() => store.rewind(moment.oldest)}>
          the oldest moment, {clock(moment.oldest)}
        </button>
      )}
      {route.from !== "" && (
        <span>
          compared with <b>{/^[0-9]+$/.test(route.from) ? exactly(Number(route.from)) : route.from}</b>{" "}
          <button type="button" onClick={() => store.go({ from: "" })}>
            do not compare
          </button>
        </span>
      )}
      <span class="fill" />
      {route.at !== "" && (
        <>
          <button type="button" onClick={() => step(store, -1)} title="the moment before">
            earlier <kbd>[</kbd>
          </button>
          <button type="button" onClick={() => step(store, +1)} title="the moment after">
            later <kbd>]</kbd>
          </button>
        </>
      )}
      <button type="button" class="now" id="now" onClick={() => store.now()}>
        {state.process?.status === "recorded" ? "to the end" : "back to now"} <kbd>Esc</kbd>
      </button>
    </div>
  );
}
