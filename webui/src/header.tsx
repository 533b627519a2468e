import { bytes, clock, count, duration, percent, short } from "./format";
import type { Drops, Process } from "./protocol";
import { Word } from "./states";
import type { State } from "./store";

/** What the badge says, and the shape that says it too. */
function badge(state: State): { word: string; kind: string; about: string } {
  const { process, link } = state;
  if (link.how === "connecting") return { word: "CONNECTING", kind: "unknown", about: "waiting for vtserve" };
  if (link.how !== "live") return { word: "STALE", kind: "stale", about: "not connected to vtserve; these figures are old" };
  if (!process) return { word: "WAITING", kind: "unknown", about: "connected; no figures yet" };
  if (process.missing) return { word: "GONE", kind: "killed", about: process.missing };
  switch (process.status) {
    case "running":
      return { word: "LIVE", kind: "running", about: "the process runs; figures are renewed each second" };
    case "stopped":
      return { word: "STOPPED", kind: "stopped", about: "the process is stopped by a signal or a debugger" };
    case "ended":
      return { word: "ENDED", kind: "ended", about: "the process closed its flight file and ended" };
    case "killed":
      return { word: "KILLED", kind: "killed", about: "the process is gone and did not close its flight file" };
    default:
      return { word: "UNKNOWN", kind: "unknown", about: "it cannot be told whether the process lives" };
  }
}

interface HeaderProps {
  state: State;
  pick: (process: string) => void;
}

export function Header({ state, pick }: HeaderProps) {
  const { process, processes } = state;
  const says = badge(state);
  const known = process && !process.missing;
  return (
    <header>
      <div class="line">
        <span class="brand">vtscope</span>
        <Picker state={state} pick={pick} />
        <span class={`badge ${says.kind}`} id="status" title={says.about}>
          <i aria-hidden="true" />
          {says.word}
        </span>
        {known && (
          <>
            <span class="total" title="threads that have not ended">
              <b id="threads">{count(process.threads)}</b> threads in <b>{count(process.scopeCount)}</b>{" "}
              {process.scopeCount === 1 ? "scope" : "scopes"}
            </span>
            <span class="dim" title={process.exe}>
              {process.goVersion} · started {clock(process.started)}
            </span>
          </>
        )}
        <span class="fill" />
        {known && <DropsView drops={process.drops} />}
        {known && <Own state={state} process={process} />}
        {processes && processes.length === 0 && <span class="dim">no process</span>}
      </div>
      {known && (
        <div class="line">
          <States state={state} process={process} />
          <span class="fill" />
          <RatesView process={process} />
        </div>
      )}
    </header>
  );
}

function Picker({ state, pick }: HeaderProps) {
  const { process, processes, route } = state;
  const rows = processes ?? [];
  const listed = rows.some((p) => p.key === process?.key);
  return (
    <select
      id="process"
      aria-label="process"
      value={listed ? process?.key : ""}
      onChange={(e) => {
        const row = rows.find((p) => p.key === e.currentTarget.value);
        if (row) pick(rows.filter((p) => p.pid === row.pid).length > 1 ? row.key : String(row.pid));
      }}
    >
      {!listed && <option value="">{process?.missing && route.process ? `pid ${route.process}: gone` : "no process"}</option>}
      {rows.map((p) => (
        <option key={p.key} value={p.key}>
          {p.program} · pid {p.pid} {p.gone ? `· ${p.status} ${clock(p.gone)}` : p.status === "running" ? "" : `· ${p.status}`}
        </option>
      ))}
    </select>
  );
}

function States({ state, process }: { state: State; process: Process }) {
  const terms = state.config?.states ?? [];
  return (
    <ul class="states" aria-label="threads by state">
      {terms.map((term, i) => {
        const n = process.counts[i] ?? 0;
        // Free records are no threads; new and rare states show only when there are some.
        const always = ["runnable", "mounted", "parked", "pinned"].includes(term.name);
        if (i === 0 || (n === 0 && !always)) return null;
        return (
          <li key={term.name} class={n === 0 ? "zero" : ""} data-state={term.name}>
            <Word state={term.name} about={term.about} /> <b>{count(n)}</b>
          </li>
        );
      })}
    </ul>
  );
}

function RatesView({ process }: { process: Process }) {
  const { rates } = process;
  return (
    <span class="rates" title={`${count(rates.events)} events recorded per second`}>
      <span>
        starts <b>{short(rates.starts)}</b>/s
      </span>
      <span>
        ends <b>{short(rates.ends)}</b>/s
      </span>
      <span>
        switches <b id="switches">{short(rates.switches)}</b>/s
      </span>
    </span>
  );
}

function DropsView({ drops }: { drops: Drops }) {
  const parts = [
    [drops.events, "events not recorded"],
    [drops.threads, "threads not in the table"],
    [drops.stacks, "stacks not recorded"],
    [drops.strings, "names not recorded"],
    [drops.torn, "records torn in the last snapshot"],
  ] as const;
  const about = parts.map(([n, what]) => `${count(n)} ${what}`).join("\n");
  const sum = parts.reduce((all, [n]) => all + n, 0);
  return (
    <span class={sum > 0 ? "drops some" : "drops"} title={about} id="drops">
      {sum > 0 ? "▲ " : ""}dropped <b>{short(sum)}</b>
    </span>
  );
}

function Own({ state, process }: { state: State; process: Process }) {
  const { cost, snapshot } = process;
  const about = [
    `vtserve: ${percent(cost.cpu)} of one processor, ${bytes(cost.memory)} of memory, ${bytes(cost.bytes)}/s to all pages`,
    `last snapshot at ${clock(snapshot.time)} took ${duration(snapshot.took)}, one every ${duration(snapshot.every)}`,
    `frames this page lost because it was slow: ${state.lost}`,
  ];
  return (
    <span class="dim" id="cost" title={about.join("\n")}>
      own cost {percent(cost.cpu)} cpu · snapshot {snapshot.time ? duration(snapshot.took) : "–"}
      {state.lost > 0 && ` · ${count(state.lost)} frames lost`}
    </span>
  );
}
