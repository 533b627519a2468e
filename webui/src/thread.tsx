import "./thread.css";
import { useRef } from "preact/hooks";
import { commandLine, target } from "./command";
import { api, useDocument } from "./document";
import type { Place, ThreadEvents, ThreadReport, WaitedFor } from "./documents";
import { coming, whyEmpty } from "./empty";
import { Fact } from "./fact";
import { base, clock, count, duration, leaf, seenAgo } from "./format";
import { Frames } from "./frames";
import { addKeys, everywhere } from "./keys";
import { goroutines, threads } from "./kind";
import { Labels, TraceOf } from "./labels";
import { moment, reached, settled } from "./settled";
import { History, Standing } from "./durablehistory";
import { Command, Empty, Panel } from "./panel";
import { PartyLink, ScopePath } from "./party";
import { Word } from "./states";
import type { State, Store } from "./store";
import { Happened } from "./happened";

interface ThreadProps {
  state: State;
  store: Store;
  all: boolean; // internal frames too
  showAll: (all: boolean) => void;
}

const shownEvents = "50";

addKeys({
  keys: ["Escape"],
  words: "close the thread",
  place: everywhere,
  when: (c) => c.state.route.thread !== "" && c.state.route.panel === "",
  foot: true,
  act: ({ store }) => store.go({ thread: "" }),
});

/** ThreadView shows all that is known of the thread that the URL names: also when it has ended, as far as events still tell. */
export function ThreadView({ state, store, all, showAll }: ThreadProps) {
  const { process, thread } = state.route;
  const key = process || state.process?.key || "";
  const still = settled(state);
  const now = { ...state, route: { ...state.route, at: "" } }; // of the past no threads are kept
  const one = `threads/${encodeURIComponent(thread)}`;
  const then = state.route.at !== "" && state.process?.status !== "recorded"; // a recording knows each thread of any moment
  const events = useDocument<ThreadEvents>(key && reached(state) ? api(key, `${one}/events`, { top: shownEvents, ...(then ? {} : moment(state)) }) : "", still ? 0 : 2_000);
  const e = events.value;
  const last = useRef<ThreadReport | null>(null); // as it was before it ended
  if (e?.thread) last.current = e.thread;
  const gone = e !== null && !e.thread;
  const r = last.current;
  const name = r?.name ?? e?.name ?? "";
  const hidden = r?.stack?.frames.filter((f) => f.internal).length ?? 0;
  return (
    <Panel
      id="thread"
      title={`${threads(1)} #${thread}`}
      head={
        <>
          <button type="button" onClick={() => store.go({ thread: "" })} title="back to the group (Esc)">
            ‹ back
          </button>
          <span>
            {goroutines() ? "Goroutine" : "Thread"} <code>#{thread}</code> {name && <q>{name}</q>}
          </span>
        </>
      }
      note={
        <>
          {r && (!state.route.at || then) && `at ${clock(Date.parse(r.as_of))} `}
          {hidden > 0 && hidden < (r?.stack?.frames.length ?? 0) && (
            <button type="button" onClick={() => showAll(!all)}>
              {all ? "hide" : "show"} {hidden} runtime {hidden === 1 ? "frame" : "frames"}
            </button>
          )}
        </>
      }
      foot={state.process && !state.process.missing && <Command line={`${commandLine(now, "", {})} --thread ${thread}${goroutines() ? "" : " --events"}${all ? " --all-frames" : ""}`} />}
    >
      {then && e?.thread && <p class="ended">Of the past groups are kept, and not each thread: this is the thread now, with what it did last.</p>}
      {gone && (
        <p class="ended">
          {r
            ? `It has ended since: this is what it did at ${clock(Date.parse(r.as_of))}.`
            : e.events.length > 0
              ? "It has ended: this is what events still tell of it."
              : goroutines()
                ? "There is no such goroutine: it has ended, or there never was one."
                : "There is no such thread: it ended so long ago that no event tells of it, or there never was one."}
        </p>
      )}
      {events.error && (
        <Empty>
          {events.error}
          {events.attempt && ` Try: ${events.attempt}`}
        </Empty>
      )}
      {r ? (
        <div class={r.durable || goroutines() ? "thread one-column" : "thread"}>
          <div class="story">
            <Facts r={r} recorded={state.process?.status === "recorded"} store={store} />
            {r.stack ? (
              <Frames frames={r.stack.frames} all={all} truncated={r.stack.truncated} full />
            ) : (
              <Empty>{r.state === "mounted" ? (goroutines() ? "It executed when it was looked at." : "It executes: a stack is recorded when it parks.") : "No stack of it is known."}</Empty>
            )}
            {r.durable && <History process={key} id={r.durable.id} state={state} store={store} />}
            <Life r={r} store={store} />
            {(r.incomplete ?? []).map((why) => (
              <p key={why} class="rest">
                incomplete: {why}
              </p>
            ))}
            <Elsewhere state={state} r={r} />
          </div>
          {!goroutines() && <Happened events={events} store={store} />}
        </div>
      ) : (
        <>
          {!events.error && !gone && <Empty>{whyEmpty(state) || coming(state, "Reading the thread …")}</Empty>}
          {gone && !goroutines() && <Happened events={events} store={store} />}
        </>
      )}
    </Panel>
  );
}

function Facts({ r, recorded, store }: { r: ThreadReport; recorded: boolean; store: Store }) {
  return (
    <table class="of-thread">
      <tbody>
        <Fact name="state">
          <Word state={r.state} /> {r.reason && <span class="dim">{r.reason}</span>}{" "}
          {r.since ? (
            <>
              {goroutines() ? "for at least" : "for"} <b>{duration(r.wait_ns)}</b>
              <span class="dim">, since {clock(Date.parse(r.since))}</span>
            </>
          ) : (
            <span class="dim">for how long is unknown</span>
          )}
          {r.seen_ns !== undefined && <span class="dim"> {seenAgo(r.seen_ns)}</span>}
          {r.torn && <span class="bad"> its record was being written: what follows may be of the state before</span>}
        </Fact>
        <Fact name="scope">
          <ScopePath scope={r.scope} store={store} />
        </Fact>
        {!goroutines() && (
          <Fact name="labels">
            <Labels r={r} recorded={recorded} store={store} />
          </Fact>
        )}
        {r.trace && (
          <Fact name="trace">
            <TraceOf trace={r.trace} template={store.state.config?.traceUrl} />
          </Fact>
        )}
        {r.durable && <Standing of={r.durable} now={Date.parse(r.as_of)} store={store} />}
        {r.for && !(r.durable?.wait && !r.for.holders) && <For of={r.for} store={store} />}
        {(r.waiters ?? []).map((w) => (
          <Fact key={w.thing} name="awaited by">
            <PartyLink party={w.example} store={store} />
            {w.count > 1 && ` and ${count(w.count - 1)} ${w.count === 2 ? "other" : "others"}`} for {w.thing}, for up to {duration(w.longest_ns)}
          </Fact>
        ))}
        {r.waker && (
          <Fact name="woken by">
            <PartyLink party={r.waker} store={store} /> <span class="dim">last</span>
          </Fact>
        )}
      </tbody>
    </table>
  );
}

/** Life is where the thread is from, and what it has used. */
function Life({ r, store }: { r: ThreadReport; store: Store }) {
  return (
    <table class="of-thread">
      <tbody>
        {(r.creator || r.created) && (
          <Fact name="made">
            {r.created && `${duration(Math.max(0, Date.parse(r.as_of) - Date.parse(r.created)) * 1e6)} ago`}
            {r.creator && (
              <>
                {" "}
                by <PartyLink party={r.creator} store={store} />
              </>
            )}
          </Fact>
        )}
        {(r.owns ?? []).map((s) => (
          <Fact key={s.id} name="owns scope">
            <button type="button" class="link" onClick={() => store.go({ scope: ["root", ...s.scope].join("/"), thread: "" })}>
              {s.scope.join("/")}
            </button>{" "}
            <span class="dim">with {count(s.threads)} threads</span>
          </Fact>
        ))}
        {!goroutines() && (
          <Fact name="mounted">
            {r.mounts === 1 ? "once" : `${count(r.mounts)} times`}, pinned {count(r.pins)}
            {r.carrier !== undefined && `, on carrier ${r.carrier}`}
            {r.scheduler && <> of scheduler {r.scheduler}</>}
          </Fact>
        )}
        {(r.run_ns ?? 0) + (r.ready_ns ?? 0) > 0 && (
          <Fact name="ran">
            <span title="up to when it was mounted last">
              {duration(r.run_ns ?? 0)}, waited {duration(r.ready_ns ?? 0)} for a carrier
              {(r.cpu_ns ?? 0) > 0 && `, was ${duration(r.cpu_ns ?? 0)} on a processor`}
            </span>
          </Fact>
        )}
        <Fact name="kind">
          {r.kind}
          {r.goroutine && <span class="dim">, g {r.goroutine}</span>}
        </Fact>
      </tbody>
    </table>
  );
}

function For({ of, store }: { of: WaitedFor; store: Store }) {
  const holders = of.holders ?? [];
  const more = (of.held ?? 0) - holders.length;
  return (
    <>
      <Fact name="waits for">
        <b>{of.thing}</b>
        {of.cases && `: ${of.cases.join(", ")}`}
        {of.limited && " with a time limit"}
        {of.made && <Made place={of.made} />}
        {of.poller !== undefined && of.poller > 0 && `, woken by poller ${of.poller}`}
      </Fact>
      {holders.map((h, i) => (
        <Fact key={i} name={of.held ? "held by" : "that is"}>
          <span class="holder">
            <PartyLink party={h} store={store} />
          </span>
          {h.state === "ended" ? <b class="bad"> which has ended</b> : h.state && <span> {h.state} for {duration(h.for_ns ?? 0)}</span>}
          {(h.held_ns ?? 0) > 0 && `, holds it for ${duration(h.held_ns ?? 0)}`}
        </Fact>
      ))}
      {more > 0 && <Fact name="">and {count(more)} of whom nothing is known</Fact>}
    </>
  );
}

function Made({ place }: { place: Place }) {
  return (
    <span class="dim" title={`${place.func}\n${place.file ?? ""}:${place.line ?? 0}`}>
      , made at {leaf(place.func)} {place.file && `${base(place.file)}:${place.line}`}
    </span>
  );
}

/** Elsewhere tells how to look at the thread with a debugger. */
function Elsewhere({ state, r }: { state: State; r: ThreadReport }) {
  if (state.process?.status === "recorded" || settled(state)) return null;
  const label = r.name ? `vtscope.thread=${r.name}` : r.scope?.length ? `vtscope.scope=${r.scope[r.scope.length - 1]}` : "";
  return (
    <details class="elsewhere">
      <summary>In a debugger</summary>
      <p>Its variables, without stopping the process:</p>
      <Command line={`vtdump ${target(state)} --thread ${r.id} --locals`} />
      <p>Delve stops the process while it is attached; then this finds the thread{r.name ? ", and others of its name" : " among those of its scope"}:</p>
      <Command line={`dlv attach ${target(state)}`} />
      {label && <Command line={`goroutines -with label ${label} -t`} />}
    </details>
  );
}

