import "./carriers.css";
import { useState } from "preact/hooks";
import { target } from "./command";
import { coming, off, unread, whyEmpty } from "./empty";
import { Still } from "./findings";
import { count, duration, leaf, percent, short } from "./format";
import { NewestWarnings, Pins } from "./holders";
import { Empty, NowCommand, Panel } from "./panel";
import { ThreadLink } from "./party";
import type { CarrierRow } from "./protocol";
import { Glyph } from "./states";
import { figure } from "./schedulers";
import type { State, Store } from "./store";

/** Carriers shows what each carrier runs now and did over the last minute, and where threads held theirs. Rows stand by carrier, so they do not jump. */
export function Carriers({ state, store }: { state: State; store: Store }) {
  const carriers = state.carriers;
  const [over, hover] = useState(false);
  const several = (state.schedulers?.rows.length ?? 0) > 1;
  const gone = (state.process?.gone ?? 0) > 0;
  return (
    <Panel
      id="carriers"
      title="Carriers"
      note={carriers && carriers.total > 0 && `${count(carriers.busy)} of ${count(carriers.total)} ${gone ? "were busy" : "busy"}`}
      onHover={hover}
      foot={<NowCommand state={state} of="scheduler" />}
    >
      {!carriers || carriers.rows.length === 0 ? (
        <Empty>
          {whyEmpty(state) ||
            (state.process?.status === "recorded" ? "A recording tells which threads were mounted, and not their carriers." : gone ? "No carriers were left at the end." : !carriers ? coming(state, "The first look at them is on its way.") : (state.process?.threads ?? 0) > 0 ? "None is known: the recorder had no room for what the carriers of the process do." : "No carriers: the process has not started a thread yet.")}
        </Empty>
      ) : (
        <Still key={state.process?.key}>
          <div class={several ? "list several" : "list"}>
            {carriers.rows.map((row) => (
              <Carrier key={row.id} row={row} several={several} every={state.config?.intervalMs ?? 1_000} store={store} />
            ))}
            {carriers.rest > 0 && <p class="rest">{count(carriers.rest)} more carriers</p>}
          </div>
        </Still>
      )}
      {!whyEmpty(state) && state.pinSites && <Pins key={`pins ${state.process?.key} ${state.route.at}`} still={over} sites={state.pinSites} unread={state.process?.status === "recorded" ? `Not summed up of a recording: vtdump events ${target(state)} --kind pinned lists them.` : unread(state, state.pinSites.known)} held={carriers?.rows.some((row) => row.doing === "pinned") ?? false} times={(state.schedulers?.rows ?? []).reduce((sum, row) => sum + figure(state, row, "pins"), 0)} />}
      {!whyEmpty(state) && state.warnings && <NewestWarnings key={`warnings ${state.process?.key} ${state.route.at}`} still={over} warnings={state.warnings} store={store} off={off(state, ["pinned", "monopolized", "starved"]) || (state.process?.cost.unread ? unread(state, state.pinSites?.known) : "")} />}
    </Panel>
  );
}

function Carrier({ row, several, every, store }: { row: CarrierRow; several: boolean; every: number; store: Store }) {
  return (
    <div class={row.doing === "pinned" ? "row pinned" : "row"} title={`${row.scheduler && `scheduler ${row.scheduler}\n`}${count(row.events)} events recorded`}>
      <span class="id">c{row.id}</span>
      {several && <span class="dim">{row.scheduler}</span>}
      <Lane past={row.past} every={every} />
      <span class="what">
        {row.thread ? (
          <>
            <Glyph state={row.doing || "mounted"} /> <ThreadLink id={row.thread} name={row.name} store={store} />
            <span class="dim">
              {" "}
              {row.reason === "monopoly" ? "computes " : row.doing !== "mounted" && `${row.doing} `}
              {row.since > 0 && duration(row.since)}
              {row.where && ` at ${leaf(row.where)}`}
            </span>
          </>
        ) : (
          <span class="dim">{row.state}</span>
        )}
      </span>
      <span class="number" title="switches per second">
        {short(row.switches)}/s
      </span>
    </div>
  );
}

/** What the letters of a lane mean: how high each stands, from 0 to 1, and in which colour. */
const looks: Record<string, { name: string; height: number; colour: string }> = {
  i: { name: "idle", height: 0.1, colour: "done" },
  s: { name: "idle, but switched threads meanwhile", height: 0.4, colour: "mounted" },
  r: { name: "running", height: 0.7, colour: "mounted" },
  c: { name: "computing for long", height: 1, colour: "runnable" },
  p: { name: "held by a thread that blocks", height: 1, colour: "pinned" },
};

const most = 60;
const high = 14;

/** Lane draws what a carrier did at the newest looks, one bar each, the newest on the right. A cross-bar marks those in which it was held. */
function Lane({ past, every }: { past: string; every: number }) {
  const letters = [...past].slice(-most);
  const told = Object.entries(looks)
    .map(([letter, look]) => ({ ...look, n: letters.filter((l) => l === letter).length }))
    .filter(({ n }) => n > 0)
    .map(({ name, n }) => `${name} ${percent(n / letters.length)}`)
    .join(", ");
  const about = letters.length === 0 ? "nothing is known of the last minute" : `of ${count(letters.length)} looks, ${duration(every * 1e6)} apart: ${told}`;
  return (
    <svg class="lane" viewBox={`0 0 ${most} ${high}`} preserveAspectRatio="none" role="img" aria-label={about}>
      <title>{about}</title>
      {letters.map((letter, i) => {
        const look = looks[letter];
        if (!look) return null;
        const h = Math.max(1, look.height * high);
        const x = most - letters.length + i;
        return (
          <g key={i} class={`state-${look.colour}`}>
            <rect x={x} y={high - h} width={0.9} height={h} fill="currentColor" />
            {letter === "p" && <rect class="bar" x={x} y={high * 0.35} width={0.9} height={2} />}
          </g>
        );
      })}
    </svg>
  );
}
