import { useEffect, useState } from "preact/hooks";
import { clock, count, duration } from "./format";
import { figure } from "./schedulers";
import type { State } from "./store";

interface BannerProps {
  state: State;
  pick: (process: string) => void;
}

/** Banner tells what a reader must know before trusting the figures below, one line each. */
export function Banner({ state, pick }: BannerProps) {
  const { link, process, processes, problem, moved } = state;
  const heirs = (processes ?? []).filter((p) => process && p.gone === 0 && p.program === process.program && p.key !== process.key);
  return (
    <div class="banners" role="status">
      {link.how === "lost" && (
        <p class="bad" id="reconnecting">
          reconnecting since {clock(link.since)} (attempt {link.attempt}
          <Countdown to={link.retryAt} />
          ){state.frameTime > 0 ? `; figures are of ${clock(state.frameTime)}` : "; is vtserve running?"}
        </p>
      )}
      {link.how === "outdated" && (
        <p class="bad">
          this page does not speak protocol {link.theirs} of vtserve.{" "}
          <button type="button" onClick={() => location.reload()}>
            reload the page
          </button>
        </p>
      )}
      {problem && !problem.filter && ( // the box tells what is wrong with a filter
        <p class="bad">
          {problem.error}
          {problem.try && ` (try: ${problem.try})`}
        </p>
      )}
      {moved && (
        <p class="info" id="moved">
          {moved.from.program} (pid {moved.from.pid}) is gone. This is {moved.to.program} (pid {moved.to.pid}), started{" "}
          {clock(moved.to.started)}.
          {(processes ?? []).some((p) => p.key === moved.from.key) && (
            <button type="button" onClick={() => pick(moved.from.key)}>
              show the last state of pid {moved.from.pid}
            </button>
          )}
        </p>
      )}
      {process?.missing && <p class={state.route.process ? "bad" : "info"}>{process.missing}</p>}
      {process && !process.missing && process.gone > 0 && process.status !== "recorded" && (
        <p class="bad" id="gone">
          {process.program} (pid {process.pid}){" "}
          {process.status === "ended" ? `ended at ${clock(process.gone)}.` : `was killed at ${clock(process.gone)}: by a signal, a crash, or a return from main without flight.Close.`}{" "}
          What follows is its last state.
          {heirs.slice(0, 3).map((p) => (
            <button type="button" key={p.key} onClick={() => pick(String(p.pid))}>
              show {p.program} (pid {p.pid}), started {clock(p.started)}
            </button>
          ))}
        </p>
      )}
      {process?.status === "stopped" && (
        <p class="info">the process is stopped (SIGSTOP or a debugger): nothing moves until it continues</p>
      )}
      {process?.gone === 0 && <Starving state={state} />}
      {process?.problem && <p class="bad">{process.problem}</p>}
      {process?.snapshot.note && <p class="info">{process.snapshot.note}</p>}
      {process?.cost.note && (
        <p class="info" id="saving">
          {process.cost.note}
        </p>
      )}
      {process && process.snapshot.time > 0 && !process.snapshot.complete && (
        <p class="info">incomplete: {process.snapshot.incomplete.join("; ")}</p>
      )}
      {state.link.how === "live" && process && !process.missing && process.gone === 0 && process.snapshot.time > 0 && state.route.at === "" && (
        <Age state={state} />
      )}
    </div>
  );
}

/** Starving says which schedulers have threads for which there is no carrier. */
function Starving({ state }: { state: State }) {
  const hungry = (state.schedulers?.rows ?? []).filter((row) => figure(state, row, "starving") > 0);
  return (
    <>
      {hungry.map((row) => (
        <p class="bad" key={row.id}>
          scheduler {row.name}: {count(figure(state, row, "queued"))} queued threads have found no free carrier for {duration(figure(state, row, "starving"))}:{" "}
          {count(figure(state, row, "held"))} of {count(figure(state, row, "carriers"))} carriers are held
        </p>
      ))}
    </>
  );
}

/** Age speaks up when the figures are older than they should be. */
function Age({ state }: { state: State }) {
  const snapshot = state.process?.snapshot;
  if (!snapshot) return null;
  const age = (state.frameTime - snapshot.time) * 1e6;
  if (age < 2 * snapshot.every + 1.5e9) return null;
  return <p class="info">the last snapshot is {duration(age)} old</p>;
}

function Countdown({ to }: { to: number }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 500);
    return () => clearInterval(timer);
  }, []);
  const left = Math.ceil((to - Date.now()) / 1_000);
  return left > 0 ? <>, next in {count(left)} s</> : <>, now</>;
}
