import { Age } from "./age";
import { whyEmpty } from "./empty";
import { Filter } from "./filter";
import { bytes, clock, count, duration, percent } from "./format";
import type { Process } from "./protocol";
import { goroutines, threads } from "./kind";
import { Word } from "./states";
import type { State } from "./store";
import { Vitals } from "./vitals";
import { useWidest } from "./widest";

/** What the badge says, and the shape that says it too. */
function badge(state: State): { word: string; kind: string; about: string } {
  const { process, link } = state;
  if (link.how === "connecting") return { word: "CONNECTING", kind: "unknown", about: "waiting for vtserve" };
  if (link.how !== "live") return { word: "STALE", kind: "stale", about: "not connected to vtserve; these figures are old" };
  if (!process) return { word: "WAITING", kind: "unknown", about: "connected; no figures yet" };
  if (process.missing && !state.route.process) return { word: "WAITING", kind: "unknown", about: process.missing };
  if (process.missing) return { word: "GONE", kind: "killed", about: process.missing };
  if (state.route.at !== "") {
    return state.paused
      ? { word: "PAUSED", kind: "paused", about: "the page stays as it was when you paused it; space goes on" }
      : { word: "REWIND", kind: "past", about: "the page shows a moment of the past; Esc leads back" };
  }
  switch (process.status) {
    case "running":
      return { word: "LIVE", kind: "running", about: "the process runs; figures are renewed each second" };
    case "stopped":
      return { word: "STOPPED", kind: "stopped", about: "the process is stopped by a signal or a debugger" };
    case "ended":
      return { word: "ENDED", kind: "ended", about: "the process closed its flight file and ended" };
    case "gone":
      return { word: "GONE", kind: "killed", about: `the process is gone and did not close its flight file: ${process.ending || "how it ended is not known"}` };
    case "unreachable":
      return { word: "SILENT", kind: "unknown", about: "the program does not answer: what is shown is from before" };
    case "recorded":
      return { word: "RECORDED", kind: "ended", about: "a file tells of the process, as it was then" };
    default:
      return { word: "UNKNOWN", kind: "unknown", about: "it cannot be told whether the process lives" };
  }
}

interface PickerProps {
  state: State;
  pick: (process: string) => void;
}

interface HeaderProps extends PickerProps {
  filter: (filter: string) => void;
}

export function Header({ state, pick, filter }: HeaderProps) {
  const { process, processes } = state;
  const says = badge(state);
  const known = process && !process.missing;
  const figures = known && !whyEmpty(state); // of a moment of which nothing is kept there are none
  return (
    <header>
      <div class="line">
        <span class="brand">{viaAnother ? <a href="../../">vtscope</a> : "vtscope"}</span>
        <Picker state={state} pick={pick} />
        <span class={`badge ${says.kind}`} id="status" title={says.about}>
          <i aria-hidden="true" />
          {says.word}
        </span>
        <Age />
        {figures && (
          <>
            <span class="total" title={`${threads()} that have not ended, in ${count(process.scopeCount)} ${process.scopeCount === 1 ? "scope" : "scopes"}\n${process.exe}\n${process.goVersion}${process.started ? `, started ${clock(process.started)}` : ""}`}>
              <b id="threads">{count(process.threads)}</b> {threads(process.threads)}{" "}
              <span class="in">
                in <b>{count(process.scopeCount)}</b> {process.scopeCount === 1 ? "scope" : "scopes"}
              </span>
            </span>
            <span class="dim since" title={process.exe}>
              {[process.goVersion, process.started ? `started ${clock(process.started)}` : ""].filter(Boolean).join(" · ")}
            </span>
          </>
        )}
        <span class="fill" />
        {figures && !goroutines() && <Vitals process={process} />}
        <Role state={state} />
        {known && <Own state={state} process={process} />}
        {processes && processes.length === 0 && <span class="dim">no process</span>}
      </div>
      {known && (
        <div class="line">
          {figures ? <States state={state} process={process} /> : <span class="dim">no figures of that moment are kept</span>}
          <span class="fill" />
          <Filter state={state} apply={filter} />
        </div>
      )}
    </header>
  );
}

/** This page shows a remote agent; the agent that passes it on is two levels up. */
const viaAnother = /\/remote\/[^/]+\/$/.test(location.pathname);

function Picker({ state, pick }: PickerProps) {
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
        // Processes of another agent have the page of that agent, below this one.
        if (row?.host) location.assign(`remote/${row.host}/#process=${encodeURIComponent(row.key.slice(row.host.length + 1))}`);
        else if (row) pick(row.key);
      }}
    >
      {!listed && <option value="">{process?.missing && route.process ? `${route.process}: not here` : "no process"}</option>}
      {rows.map((p) => (
        <option key={p.key} value={p.key}>
          {p.program} {p.pid > 0 && `· pid ${p.pid} `}{p.kind === "goroutine" && "· goroutines "}{p.host && `on ${p.host} `}
          {p.heard ? `· silent since ${clock(p.heard)} ` : ""}
          {p.gone ? `· ${p.status} ${clock(p.gone)}` : p.status === "running" ? "" : `· ${p.status}`}
        </option>
      ))}
    </select>
  );
}

function States({ state, process }: { state: State; process: Process }) {
  const terms = state.config?.states ?? [];
  const widest = useWidest(process.key);
  return (
    <ul class="states" aria-label={`${threads()} by state`}>
      {terms.map((term, i) => {
        const n = process.counts[i] ?? 0;
        // Free records are no threads; new and rare states show only when there are some, and stay then.
        const width = widest(term.name, n === 0 ? "" : count(n));
        const always = !goroutines() && ["runnable", "mounted", "parked", "pinned"].includes(term.name);
        if (i === 0 || (width === 0 && !always)) return null;
        return (
          <li key={term.name} class={n === 0 ? "zero" : ""} data-state={term.name}>
            <Word state={term.name} about={term.about} /> <b style={{ minWidth: `${Math.max(1, width)}ch` }}>{count(n)}</b>
          </li>
        );
      })}
    </ul>
  );
}

/** Role says what the reader may do, if the agent has told. */
function Role({ state }: { state: State }) {
  const caller = state.config?.caller;
  if (!caller) return null;
  const may = caller.role === "operate" ? "you may look, and what changes or costs something: settings, recordings, incidents, profiles" : "you may look; settings, recordings, incidents and CPU profiles need the role operate";
  return (
    <span class="dim" id="role" data-role={caller.role} title={`${may}\nknown as ${caller.name}`}>
      {caller.role === "operate" ? "operator" : "read-only"}
    </span>
  );
}

function Own({ state, process }: { state: State; process: Process }) {
  const { cost, snapshot } = process;
  const about = [
    `vtserve: ${percent(cost.cpu)} of one processor, ${bytes(cost.memory)} of memory (${bytes(cost.past ?? 0)} for the past), ${bytes(cost.bytes)}/s to all pages`,
    `last snapshot at ${clock(snapshot.time)} took ${duration(snapshot.took)}, one every ${duration(snapshot.every)}`,
    `frames this page lost because it was slow: ${count(state.lag.lost)}; all ${count(cost.clients)} pages since vtserve began: ${count(cost.lostFrames)}`,
    `events that exporters were not told: ${count(cost.lostEvents)}`,
  ];
  if (cost.maxCpu > 0) about.push(`saves cost above ${percent(cost.maxCpu)} of one processor`);
  if (cost.maxMemory > 0) about.push(`saves cost above ${bytes(cost.maxMemory)} of memory`);
  return (
    <span class="dim" id="cost" title={about.join("\n")}>
      own cost <span class="share">{percent(cost.cpu)} cpu</span>
      <span class="took"> · snapshot {snapshot.time ? duration(snapshot.took) : "–"}</span>
      {state.lag.lost > 0 && ` · ${count(state.lag.lost)} ${state.lag.lost === 1 ? "frame" : "frames"} lost`}
      {cost.step > 0 && ` · saving, step ${cost.step}`}
    </span>
  );
}
