import "./durable.css";
import { useState } from "preact/hooks";
import { quote, target } from "./command";
import { api, useDocument } from "./document";
import type { DurableStep, DurableThread, Pending, ThreadDurable } from "./documents";
import { Fact } from "./fact";
import { bytes, clock, count, duration } from "./format";
import { Command } from "./panel";
import { ThreadLink } from "./party";
import { settled } from "./settled";
import { Word } from "./states";
import type { State, Store } from "./store";

const every = 3_000; // milliseconds between two looks at a history
const fewSteps = 50;
const manySteps = 2_000;

/** at writes a time as of a day: with the date unless it is today's. */
export function at(time: string): string {
  const ms = Date.parse(time);
  const d = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, "0");
  const day = d.toDateString() === new Date().toDateString() ? "" : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `;
  return day + clock(ms);
}

/** ago writes how long before now a time was. */
export function ago(time: string, now: number): string {
  return duration(Math.max(0, now - Date.parse(time)) * 1e6);
}

/** waited names what a durable thread waits for. */
export function waited(w: Pending): string {
  switch (w.kind) {
    case "join":
      return `child ${w.name ?? ""}`;
    case "sleep":
      return `time${w.name ? ` “${w.name}”` : ""}`;
    case "do":
      return `its call “${w.name ?? ""}”`;
    case "park":
      return `an unpark${w.name ? ` of “${w.name}”` : ""}`;
  }
  return `${w.kind}${w.name ? ` “${w.name}”` : ""}`;
}

/** path is the part of an URL that names a durable thread. */
function path(id: string): string {
  return `durable/${id.split("/").map(encodeURIComponent).join("/")}`;
}

/** Standing tells which durable thread a thread is, and what that waits for, as its flight file has it. */
export function Standing({ of, now, store }: { of: ThreadDurable; now: number; store: Store }) {
  const w = of.wait;
  return (
    <tr>
      <th scope="row">durable</th>
      <td>
        <button type="button" class="link" title="show it among the durable threads" onClick={() => store.go({ view: "durable", durable: of.id, thread: "" })}>
          {of.id}
        </button>{" "}
        of body <b>{of.body}</b>, {count(of.steps)} {of.steps === 1 ? "step" : "steps"}
        {(of.errors ?? 0) > 0 && <span class="bad">, {count(of.errors ?? 0)} {of.errors === 1 ? "error" : "errors"}</span>}
        {of.replays && ", replays"}
        {w && (
          <span>
            ; {w.kind === "call" ? "calls" : "waits for"}{" "}
            <b>
              {w.kind !== "call" && w.kind}
              {w.child ? ` ${w.child}` : w.name ? ` “${w.name}”` : ""}
            </b>
            {w.until && ` until ${at(w.until)}`}
            {w.since && <span class="dim">, for {ago(w.since, now)}</span>}
          </span>
        )}
      </td>
    </tr>
  );
}

interface HistoryProps {
  process: string;
  id: string;
  state: State;
  store: Store;
  whole?: boolean; // with what the thread view tells already
}

/** History lists the steps of a durable thread, the newest first, as its process tells them, or its store's folder. */
export function History({ process, id, state, store, whole }: HistoryProps) {
  const [all, showAll] = useState(false);
  const recorded = state.process?.status === "recorded";
  const fetched = useDocument<DurableThread>(process && !recorded ? api(process, path(id), { top: String(all ? manySteps : fewSteps) }) : "", settled(state) || all ? 0 : every);
  const h = fetched.value;
  const line = state.process && !state.process.missing && !recorded ? `vtdump durable ${target(state)} ${quote(id)}` : "";
  const now = fetched.at;
  return (
    <section class="history" aria-label={`history of ${id}`}>
      <h3>
        History <span class="dim">{h ? `${count(h.row.steps)} ${h.row.steps === 1 ? "step" : "steps"}, ${bytes(h.row.bytes)} kept · the newest first · at ${clock(now)}` : ""}</span>
      </h3>
      {recorded && <p class="dim">A file has no journals: ask the process, or the folder of its store.</p>}
      {fetched.error && (
        <p class="bad">
          {fetched.error}
          {fetched.attempt && <span class="dim"> Try: {fetched.attempt}</span>}
        </p>
      )}
      {!h && !fetched.error && !recorded && <p class="dim">Asking for its steps …</p>}
      {(h?.incomplete ?? []).map((why) => (
        <p key={why} class="bad">
          incomplete: {why}
        </p>
      ))}
      {h && whole && <Facts h={h} now={now} store={store} />}
      {h && (
        <>
          {h.steps.length === 0 ? (
            <p class="dim">It has made no step yet.</p>
          ) : (
            <div class="steps-box">
              <table class="steps">
                <thead>
                  <tr>
                    <th scope="col">step</th>
                    <th scope="col">at</th>
                    <th scope="col">what</th>
                    <th scope="col">value</th>
                    <th scope="col">took</th>
                  </tr>
                </thead>
                <tbody>
                  {[...h.steps].reverse().map((s) => (
                    <Step key={s.number} s={s} now={now} />
                  ))}
                </tbody>
              </table>
            </div>
          )}
          {(h.steps_left ?? 0) > 0 && (
            <p class="dim">
              {count(h.steps_left ?? 0)} earlier {h.steps_left === 1 ? "step is" : "steps are"} left out.{" "}
              {!all && (
                <button type="button" class="link" onClick={() => showAll(true)}>
                  show {count(Math.min(manySteps, h.row.kept))}
                </button>
              )}
            </p>
          )}
          {h.row.checkpoint && (
            <p class="dim">
              The checkpoint “{h.row.checkpoint.name}” stands for the {count(h.row.checkpoint.steps)} steps before, which are forgotten.
            </p>
          )}
        </>
      )}
      {line && (
        <div class="foot">
          <Command line={line} />
        </div>
      )}
    </section>
  );
}

function Facts({ h, now, store }: { h: DurableThread; now: number; store: Store }) {
  const r = h.row;
  const signals = Object.entries(h.signals ?? {}) as [string, unknown[]][];
  return (
    <table class="of-durable">
      <tbody>
        <Fact name="state">
          <Word state={r.state} />
          {r.since && ` for ${ago(r.since, now)}`}
          {r.since && <span class="dim">, since {at(r.since)}</span>}
        </Fact>
        {r.wait && (
          <Fact name={r.wait.kind === "do" ? "does" : "waits for"}>
            <b>{waited(r.wait)}</b>
            {r.wait.until && ` until ${at(r.wait.until)}`}
            {(r.attempts ?? 0) > 1 && `, attempt ${count(r.attempts ?? 0)}`}
          </Fact>
        )}
        {h.thread !== undefined && h.thread > 0 && (
          <Fact name="is">
            <ThreadLink id={h.thread} store={store} /> <span class="dim">in the flight file</span>
          </Fact>
        )}
        <Fact name="body">
          {r.body}
          {r.begun && <span class="dim">, begun {at(r.begun)}</span>}
        </Fact>
        {h.args !== undefined && <Fact name="given">{<Value of={h.args} />}</Fact>}
        {h.result !== undefined && <Fact name="returned">{<Value of={h.result} />}</Fact>}
        {r.error && (
          <Fact name={r.state === "failed" || r.state === "diverged" ? "failed" : "newest error"}>
            <span class="bad">{r.error}</span>
          </Fact>
        )}
        {signals.map(([name, values]) => (
          <Fact key={name} name="unread">
            {count(values.length)} of signal “{name}”
          </Fact>
        ))}
        {(h.children ?? []).map((c) => (
          <Fact key={c.id} name="child">
            <button type="button" class="link" onClick={() => store.go({ durable: c.id })}>
              {c.id}
            </button>{" "}
            {c.body} <Word state={c.state} />
          </Fact>
        ))}
      </tbody>
    </table>
  );
}

function Value({ of, size }: { of: unknown; size?: number | undefined }) {
  const text = JSON.stringify(of);
  return (
    <code class="value" title={size ? `${bytes(size)}, shortened` : undefined}>
      {text}
      {size ? " …" : ""}
    </code>
  );
}

function Step({ s, now }: { s: DurableStep; now: number }) {
  return (
    <tr data-step={s.number} class={s.error ? "failed" : s.open ? "open" : ""}>
      <td class="number">{count(s.number)}</td>
      <td class="time">{at(s.at)}</td>
      <td class="did">
        {s.kind}
        {s.name && <q>{s.name}</q>}
        {(s.attempts ?? 0) > 1 && <span class="dim"> attempt {s.attempts}</span>}
      </td>
      <td>
        {s.error ? <span class="bad">error: {s.error}</span> : s.open ? <span class="dim">{s.kind === "do" ? "under way" : "waits"}{typeof s.value === "string" && s.value > "0002" ? ` until ${at(s.value)}` : ""}</span> : s.value !== undefined && <Value of={s.value} size={s.value_bytes} />}
      </td>
      <td class="number">{s.open ? ago(s.at, now) : (s.took_ns ?? 0) > 0 ? duration(s.took_ns ?? 0) : ""}</td>
    </tr>
  );
}
