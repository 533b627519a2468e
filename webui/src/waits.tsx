import "./waits.css";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Circle } from "./circle";
import { commandLine } from "./command";
import { api, useDocument } from "./document";
import type { Deadlock, Keeper, Member, Orphan, Stack, Thing, WaitGroup, Waits as WaitsDocument } from "./documents";
import { whyEmpty } from "./empty";
import { Still } from "./findings";
import { base, clock, count, duration, leaf } from "./format";
import { Frames } from "./frames";
import { addKeys } from "./keys";
import { threads } from "./kind";
import { next } from "./listkeys";
import { useStill } from "./rows";
import { settled } from "./settled";
import { Command, Empty, Panel } from "./panel";
import { PartyLink, pathOf } from "./party";
import { chosenScope } from "./scopes";
import { Glyph } from "./states";
import type { State, Store } from "./store";
import type { ViewProps } from "./views";

const every = 3_000; // milliseconds
const top = "100"; // groups

/** thingOf writes what is waited for: mutex "db", thread #7, 12 mutexes. */
export function thingOf(t: Thing): string {
  const name = t.name ? ` "${t.name}"` : "";
  if ((t.count ?? 0) > 1) return `${count(t.count ?? 0)} × ${t.kind}${name}`;
  if (t.kind === "thread") return `the end of #${t.id ?? "?"}${name}`;
  return `${t.kind}${name || (t.id ? ` ${t.id}` : "")}`;
}

/** Waits shows who waits for whom in the chosen scope: those that wait for each other first. */
export function Waits({ state, store, active, activate, tabs }: ViewProps) {
  const { process, at } = state.route;
  const filter = state.groups?.filter ?? ""; // as in Waiting
  const key = process || state.process?.key || "";
  const scope = chosenScope(state);
  const recorded = state.process?.status === "recorded" && state.process.kind !== "goroutine"; // whose waits are those of its end alone, and of all
  const within = !recorded && scope && scope.depth > 0 ? scope.path : "";
  const past = at !== "" && state.process?.status !== "recorded";
  const known = key !== "" && !past && state.process !== null && !state.process.missing && (recorded || scope !== undefined || state.route.scope === "");
  const waits = useDocument<WaitsDocument>(known ? api(key, "waits", { top, scope: within, filter: recorded ? "" : filter }) : "", settled(state) ? 0 : every);
  const w = waits.value;
  const [over, hover] = useState(false);
  const some = commandLine(state, "waits", recorded ? {} : { scope: true, filter: true });
  return (
    <Panel
      id="waits"
      title="Waits"
      head={tabs}
      note={
        w && (
          <>
            {count(w.waiting - w.goroutines)} of {count(w.threads)} {threads(w.threads)} {within && `in ${scope?.name ?? ""} `}wait for others
            {w.goroutines > 0 && `, and ${count(w.goroutines)} goroutines`} · at {clock(Date.parse(w.as_of))}
          </>
        )
      }
      active={active}
      onActivate={activate}
      onHover={hover}
      foot={some && <Command line={some} />}
    >
      {waits.error && (
        <p class="refused">
          {waits.error}
          {waits.attempt && <span class="dim"> (try: {waits.attempt})</span>}
        </p>
      )}
      {!w ? <Empty>{past && state.process && !state.process.missing ? "Who waits for whom is known of the present only: of the past groups of threads are kept." : whyEmpty(state) || (waits.error ? "" : "Reading who waits for whom …")}</Empty> : <All w={w} state={state} store={store} recorded={recorded} still={over} of={`${key} ${within} ${filter}`} />}
    </Panel>
  );
}

/** What the keyboard moves in the waits that are shown. */
interface Row {
  key: string;
  thread: number | string | undefined; // of who keeps the others waiting, or else waits longest
}
interface Walker {
  rows: Row[];
  chosen: string;
  choose: (key: string) => void;
}
let walker: Walker | null = null;

function step(by: number): void {
  if (!walker) return;
  const to = walker.rows[next(walker.rows.findIndex((r) => r.key === walker?.chosen), by, walker.rows.length)];
  if (to) walker.choose(to.key);
}

function chosenRow(): Row | undefined {
  return walker?.rows.find((r) => r.key === walker?.chosen);
}

addKeys(
  { keys: ["j", "ArrowDown"], words: "what is waited for next", place: "waits", foot: true, act: () => step(+1) },
  { keys: ["k", "ArrowUp"], words: "what is waited for before", place: "waits", foot: true, act: () => step(-1) },
  { keys: ["Home"], words: "the first that is waited for", place: "waits", act: () => step(-Infinity) },
  { keys: ["End"], words: "the last that is waited for", place: "waits", act: () => step(+Infinity) },
  { keys: ["Enter"], words: "to the thread that has it, or waits longest", place: "waits", foot: true, when: () => !!chosenRow()?.thread, act: ({ store }) => store.go({ thread: String(chosenRow()?.thread ?? "") }) },
  {
    keys: ["ArrowRight", "ArrowLeft"],
    words: "show or hide the stacks",
    place: "waits",
    act: () => {
      const all = [...document.querySelectorAll<HTMLDetailsElement>("#waits [aria-current=true] details")];
      const open = all.some((d) => !d.open);
      for (const d of all) d.open = open;
    },
  },
);

/** keyed gives things keys that stay theirs when others come and go. */
function keyed<T>(all: T[], name: (of: T) => string): { key: string; of: T }[] {
  const seen = new Map<string, number>();
  return all.map((of) => {
    const n = seen.get(name(of)) ?? 0;
    seen.set(name(of), n + 1);
    return { key: `${name(of)} ${n}`, of };
  });
}

function All({ w, state, store, recorded, still, of: about }: { w: WaitsDocument; state: State; store: Store; recorded: boolean; still: boolean; of: string }) {
  const cycles = keyed(w.deadlocks, (d) => `deadlock ${d.members[0]?.thread ?? ""}`);
  const now = keyed(w.groups, (g) => `${g.for.kind} ${g.for.id ?? ""} ${g.for.name ?? ""} ${pathOf(g.scope)}`).map((g) => ({ ...g, stacks: w.stacks })); // what is gone keeps the stacks that its numbers are of
  const groups = useStill(now, (g) => g.key, still, about).map(({ row, gone }) => ({ ...row, gone }));
  const [chosen, choose] = useState("");
  const box = useRef<HTMLDivElement>(null);
  // Before the next key can come.
  useLayoutEffect(() => {
    const rows = [...cycles.map(({ key, of }) => ({ key, thread: of.members[0]?.thread })), ...groups.map(({ key, of }) => ({ key, thread: of.holders?.find((h) => h.thread)?.thread ?? of.example.thread }))];
    const mine: Walker = { rows, chosen, choose };
    walker = mine;
    return () => {
      if (walker === mine) walker = null;
    };
  });
  useLayoutEffect(() => box.current?.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" }), [chosen]);
  const others = Object.entries(w.others).sort((a, b) => b[1] - a[1]);
  const unjudged = (w.unjudged ?? []).reduce((sum, u) => sum + u.count, 0);
  const left = others.reduce((sum, [, n]) => sum + n, 0);
  return (
    <div class="waits" ref={box}>
      {recorded && (state.route.filter !== "" || state.route.scope !== "") && <p class="rest">These are the waits of all threads: a file has no others.</p>}
      {(w.incomplete ?? []).map((why) => (
        <p key={why} class="rest">
          incomplete: {why}
        </p>
      ))}
      {unjudged > 0 && (
        <p class="rest">
          deadlocks: {cycles.length > 0 ? count(cycles.length) : "none"} found among {count(w.judged ?? 0)} {w.judged === 1 ? "wait" : "waits"} that can be judged; {count(unjudged)} cannot (
          {(w.unjudged ?? []).map((u) => `${u.for} ${count(u.count)}`).join(", ")}: holders unknown)
        </p>
      )}
      {cycles.map(({ key, of }, i) => (
        <Cycle key={key} number={i + 1} of={of} stacks={w.stacks} store={store} chosen={key === chosen} choose={() => choose(key)} />
      ))}
      {others.length > 0 && (
        <p class="rest">
          {count(left)} {left === 1 ? "other waits" : "others wait"} for nothing that somebody holds: {others.map(([name, n]) => `${name} ${count(n)}`).join(", ")}
        </p>
      )}
      {groups.length === 0 && <Empty>{w.threads === 0 && state.route.filter ? `No ${threads(1)} matches the filter.` : <>None {state.route.filter ? "of those that the filter matches " : ""}waits for what others hold or do.</>}</Empty>}
      {groups.length > 0 && (
        <Still>
          <ul class="wait-groups" aria-label="what is waited for">
            {groups.map(({ key, of, stacks, gone }) => (
              <Group key={key} g={of} gone={gone} stacks={stacks} store={store} chosen={key === chosen} choose={() => choose(key)} />
            ))}
          </ul>
        </Still>
      )}
      {w.rest.groups > 0 && (
        <p class="rest">
          {count(w.rest.groups)} more {w.rest.groups === 1 ? "thing" : "things"}, for which {count(w.rest.threads)} wait
        </p>
      )}
      {w.orphans.length > 0 && <Orphans of={w.orphans} store={store} />}
    </div>
  );
}

interface RowProps {
  stacks: Stack[];
  store: Store;
  chosen: boolean; // the keyboard is at it
  choose: () => void;
}

function Cycle({ number, of, stacks, store, chosen, choose }: RowProps & { number: number; of: Deadlock }) {
  const size = of.threads + of.goroutines;
  return (
    <section class="cycle" aria-label={`deadlock ${number}`} aria-current={chosen} onClick={choose}>
      <h3>
        <svg class="severity-error" viewBox="0 0 10 10" width="11" height="11" aria-hidden="true">
          <path d="M5 .4l4.8 9H.2z" fill="currentColor" />
        </svg>{" "}
        deadlock {number}: {count(size)} wait for each other, for {duration(of.for_ns)}
        {of.victims > 0 && `; ${count(of.victims)} more cannot go on because of them`}
      </h3>
      <div class="ring">
        <Circle members={of.members} more={size > of.members.reduce((sum, m) => sum + m.count, 0)} />
        <ol>
          {of.members.map((m, i) => (
            <Link key={i} m={m} stack={stacks[m.stack]} store={store} />
          ))}
          {size > of.members.reduce((sum, m) => sum + m.count, 0) && <li class="dim">and {count(size - of.members.length)} more</li>}
        </ol>
      </div>
    </section>
  );
}

function Link({ m, stack, store }: { m: Member; stack: Stack | undefined; store: Store }) {
  return (
    <li>
      <Glyph state={m.state} /> <PartyLink party={m} store={store} />
      {m.count > 1 && ` and ${count(m.count - 1)} alike`} <span class="dim">{m.state || "waits"}</span> {m.role !== "is" && <>{m.role} </>}
      {m.role !== "is" && <b>{thingOf(m.keeps)}</b>}
      {(m.held_ns ?? 0) > 0 && <span class="dim"> for {duration(m.held_ns ?? 0)}</span>} {m.role !== "is" && "and "}wants <b>{thingOf(m.wants)}</b>
      <At stack={stack} label={`where ${m.name || "it"} waits`} />
    </li>
  );
}

/** At is where somebody waits: one line, and the whole stack on demand. */
function At({ stack, label }: { stack: Stack | undefined; label: string }) {
  const f = stack?.frames.find((f) => !f.internal) ?? stack?.frames[0];
  if (!stack || !f) return <span class="dim"> · no stack is known</span>;
  return (
    <details class="at">
      <summary title={label}>
        at <code>{leaf(f.func)}</code> <span class="dim">{f.file && `${base(f.file)}:${f.line}`}</span>
      </summary>
      <Frames frames={stack.frames} all={false} truncated={stack.truncated} full />
    </details>
  );
}

function Group({ g, gone, stacks, store, chosen, choose }: RowProps & { g: WaitGroup; gone: boolean }) {
  const holders = g.holders ?? [];
  const more = (g.held ?? 0) - holders.length;
  return (
    <li data-thing={thingOf(g.for)} class={gone ? "gone" : ""} aria-current={chosen} onClick={choose}>
      <div class="thing">
        <b class="number">{count(g.count)}</b>
        <span>
          {g.count === 1 ? "waits" : "wait"} for <b>{thingOf(g.for)}</b>
          {gone && <em>gone</em>}
          {g.deadlock > 0 && <span class="severity-error"> in deadlock {g.deadlock}</span>}
          {(g.capacity ?? 0) > 0 && (
            <span class="dim">
              , {count(g.available ?? 0)} of {count(g.capacity ?? 0)} free
            </span>
          )}
          {(g.goroutines ?? 0) > 0 && <span class="dim">, {count(g.goroutines ?? 0)} of them goroutines</span>}
          {(g.timed ?? 0) > 0 && <span class="dim">, {count(g.timed ?? 0)} with a time limit</span>}
        </span>
        <span class="wait" title={g.longest_ns > 0 ? `shortest ${duration(g.shortest_ns)}, longest ${duration(g.longest_ns)}` : "how long they have waited is not known"}>
          {g.longest_ns > 0 ? duration(g.longest_ns) : "?"}
        </span>
      </div>
      <div class="party">
        in{" "}
        <button type="button" class="link" onClick={() => store.go({ scope: pathOf(g.scope), view: "waits" })}>
          {pathOf(g.scope)}
        </button>
        {g.longest_ns > 0 ? ", longest " : ", such as "}
        <PartyLink party={g.example} store={store} />
        <At stack={stacks[g.stack]} label="where the one that waits longest does" />
      </div>
      {holders.map((h, i) => (
        <Holder key={i} h={h} held={(g.held ?? 0) > 0 && g.for.kind !== "thread"} stack={stacks[h.stack]} store={store} />
      ))}
      {more > 0 && <div class="party dim">and {count(more)} more who hold it</div>}
      {g.gone && <div class="party bad">a holder has ended: nobody will let go of it</div>}
    </li>
  );
}

function Holder({ h, held, stack, store }: { h: Keeper; held: boolean; stack: Stack | undefined; store: Store }) {
  return (
    <div class="party holder">
      {held ? "held by" : "that is"} <PartyLink party={h} store={store} />
      {(h.scope?.length ?? 0) > 0 && <span class="dim"> of {pathOf(h.scope)}</span>}
      {(h.held_ns ?? 0) > 0 && ` for ${duration(h.held_ns ?? 0)}`}
      {h.state && (
        <span class={h.state === "ended" ? "bad" : ""}>
          , <Glyph state={h.state} /> {h.state}
          {(h.for_ns ?? 0) > 0 && ` for ${duration(h.for_ns ?? 0)}`}
        </span>
      )}
      {h.stack >= 0 && <At stack={stack} label="where it waits itself" />}
    </div>
  );
}

function Orphans({ of, store }: { of: Orphan[]; store: Store }) {
  return (
    <section class="orphans">
      <h3>Scopes whose owner has ended and left them open</h3>
      <ul>
        {of.slice(0, 10).map((o) => (
          <li key={o.id}>
            <button type="button" class="link" onClick={() => store.go({ scope: pathOf(o.scope), view: "" })}>
              {pathOf(o.scope)}
            </button>{" "}
            <span class="dim">
              open for {duration(o.open_ns)}, was owned by #{o.owner}
            </span>
          </li>
        ))}
      </ul>
      {of.length > 10 && <p class="rest">{count(of.length - 10)} more</p>}
    </section>
  );
}
