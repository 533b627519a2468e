import { useEffect, useState } from "preact/hooks";
import { Age } from "./age";
import { clock, count, duration, withPID } from "./format";
import { late, leftOut, unheard } from "./lag";
import { Notice } from "./notice";
import type { Process, SchedulerRow } from "./protocol";
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
          {state.frameTime > 0 && <Age />}
        </p>
      )}
      {link.how === "live" && <Slow key={link.since} state={state} />}
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
          {withPID(process)}{" "}
          {process.status === "ended" ? `ended at ${clock(process.gone)}.` : `is gone since ${clock(process.gone)}: ${process.ending || "how it ended is not known; by a signal, a crash, or a return from main without flight.Close"}.`}{" "}
          What follows is its last state.
          {heirs.slice(0, 3).map((p) => (
            <button type="button" key={p.key} onClick={() => pick(p.key)}>
              show {p.program} (pid {p.pid}), started {clock(p.started)}
            </button>
          ))}
        </p>
      )}
      {process?.status === "stopped" && (
        <p class="info">the process is stopped (SIGSTOP or a debugger): nothing moves until it continues</p>
      )}
      {process && <Passing key={`${process.key} ${state.route.at}`} state={state} process={process} />}
    </div>
  );
}

/** Slow says what is left out where something is too slow, which the page cannot tell, and how late the rest comes. */
function Slow({ state }: { state: State }) {
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const { lag } = state;
  const none = unheard(state, now);
  const waits = none > 0 && !document.hidden;
  const out = leftOut(lag);
  const facts = [
    out > 0 && `${count(out)} ${out === 1 ? "moment" : "moments"} since ${clock(lag.spell?.since ?? 0)} left out`,
    waits
      ? `nothing has come for ${duration(none * 1e6)}${state.frameTime > 0 ? `, what is shown was sent at ${clock(state.frameTime)}` : ""}`
      : late(lag) > 0 && `what is shown was ${duration(late(lag) * 1e6)} on its way`,
  ].filter(Boolean);
  return <Notice id="slow" kind="info" text={out > 0 || waits ? `late, since the network, the browser or the machine is busy: ${facts.join("; ")}` : ""} linger={10_000} />;
}

/** Passing are notices of what may be over at the next look. */
function Passing({ state, process }: { state: State; process: Process }) {
  const { snapshot, cost } = process;
  const now = state.link.how === "live" && !process.missing && process.gone === 0 && snapshot.time > 0 && state.route.at === "" && (state.moment?.at ?? 0) === 0; // the frame of a moment stays until the next
  return (
    <>
      {process.gone === 0 && (state.schedulers?.rows ?? []).map((row) => <Notice key={row.id} kind="bad" text={starving(state, row)} />)}
      <Notice kind="bad" text={process.problem} />
      <Notice kind="info" text={snapshot.note} />
      <Notice kind="info" id="saving" text={cost.note} />
      <Notice kind="info" text={snapshot.time > 0 && !snapshot.complete ? `incomplete: ${snapshot.incomplete.join("; ")}` : ""} />
      <Notice kind="info" text={now ? aged(state, snapshot) : ""} />
    </>
  );
}

/** starving says that a scheduler has threads for which there is no carrier; "": it has none. */
function starving(state: State, row: SchedulerRow): string {
  const value = (name: string): number => figure(state, row, name);
  if (value("starving") === 0) return "";
  return `scheduler ${row.name}: ${count(value("queued"))} queued threads have found no free carrier for ${duration(value("starving"))}: ${count(value("held"))} of ${count(value("carriers"))} carriers are held`;
}

/** aged speaks up when the figures are older than they should be. */
function aged(state: State, snapshot: Process["snapshot"]): string {
  const age = (state.frameTime - snapshot.time) * 1e6;
  return age < 2 * snapshot.every + 1.5e9 ? "" : `the last snapshot is ${duration(age)} old`;
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
