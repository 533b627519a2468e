import { useRef, useState } from "preact/hooks";
import { coming, off, unread, whyEmpty } from "./empty";
import { clock, count, duration, short } from "./format";
import { HistogramView, sentence } from "./histogram";
import { SlowOperations } from "./io";
import { Empty, NowCommand, Panel } from "./panel";
import { PollerList } from "./pollers";
import type { Delays, FigureTerm, SchedulerRow } from "./protocol";
import { useStill } from "./rows";
import { useStillHeight } from "./stillheight";
import type { State, Store } from "./store";

/** The figures that stand in each scheduler's grid, in this order. All that tell how it is now are in the title of its name. */
const shown = ["parallelism", "running", "idle", "held", "spare", "queued", "mounted", "parked", "calls", "max-carriers"];

/** The state in whose colour a figure stands while it is not 0. */
const coloured: Record<string, string> = { running: "mounted", held: "pinned", spare: "pinned", queued: "runnable" };

/** A scheduler that has told nothing for so long sleeps, in milliseconds. */
const asleepAfter = 3_000;

/** figure is a figure of a scheduler by name; 0 if it does not tell it. */
export function figure(state: State, row: SchedulerRow, name: string): number {
  return row.figures[(state.config?.figures ?? []).findIndex((f) => f.name === name)] ?? 0;
}

/** Schedulers shows the figures of each scheduler, and the delays of its threads by scope. */
export function Schedulers({ state, store }: { state: State; store: Store }) {
  const { schedulers, delays } = state;
  const [over, hover] = useState(false);
  const rows = schedulers?.rows ?? [];
  const of = `${state.process?.key} ${state.route.at}`; // rows of something else do not stay
  const timers = rows[0] ? figure(state, rows[0], "timers") : 0; // of the process: all tell the same
  return (
    <Panel
      id="schedulers"
      title={rows.length > 1 ? `${count(rows.length + (schedulers?.rest ?? 0))} schedulers` : "Scheduler"}
      note={
        rows.length > 0 && (
          <span title="threads of the process that sleep or park for a time">
            timers <b id="timers">{count(timers)}</b>
          </span>
        )
      }
      onHover={hover}
      foot={<NowCommand state={state} of="scheduler" />}
    >
      {rows.length === 0 ? (
        <Empty>{whyEmpty(state) || schedulers?.missing || coming(state, "The first figures are on their way.")}</Empty>
      ) : (
        <>
          {rows.map((row) => (
            <Scheduler key={row.id} state={state} row={row} />
          ))}
          {(schedulers?.rest ?? 0) > 0 && <p class="rest">{count(schedulers?.rest ?? 0)} more schedulers, with fewer threads</p>}
          {delays && <ByScope key={`delays ${of}`} still={over} delays={delays} none={off(state, ["unpark", "mount", "park"]) || unread(state, state.pollers?.known)} />}
          {state.pollers && <PollerList pollers={state.pollers} unread={unread(state, state.pollers.known)} />}
          <SlowOperations key={`io ${of}`} still={over} state={state} store={store} />
        </>
      )}
    </Panel>
  );
}

function Scheduler({ state, row }: { state: State; row: SchedulerRow }) {
  const terms = state.config?.figures ?? [];
  const buckets = state.config?.buckets ?? [];
  const gone = (state.process?.gone ?? 0) > 0;
  const of = state.route.at === "" ? state.frameTime : (state.moment?.shown ?? 0); // a moment of the past has its own time
  const asleep = !gone && of - row.told > asleepAfter;
  const still = useStillHeight();
  return (
    <article class="scheduler" data-name={row.name}>
      <h3 title={`scheduler ${row.id}, figures of ${clock(row.told)}\n${terms.map((t, i) => (t.total ? "" : `${t.name} ${written(t, row.figures[i] ?? 0)}\n`)).join("")}`}>
        {row.name || `scheduler ${row.id}`}
        {asleep && <span class="dim"> nothing to tell since {clock(row.told)}</span>}
      </h3>
      <div ref={still}>
        <div>
          <dl class="figures">
            {shown.map((name) => (
              <Figure key={name} term={terms.find((t) => t.name === name)} value={figure(state, row, name)} />
            ))}
          </dl>
          <Parked state={state} row={row} />
          <Rates terms={terms} row={row} />
        </div>
      </div>
      <div class="histograms">
        <HistogramView title="ready to run" about="how long runnable threads waited until they were mounted; samples" spread={row.ready} buckets={buckets} />
        <HistogramView title="slice" about="how long threads executed until they left their carrier; samples" spread={row.slice} buckets={buckets} />
      </div>
    </article>
  );
}

function Figure({ term, value }: { term: FigureTerm | undefined; value: number }) {
  if (!term) return null;
  const colour = value > 0 && coloured[term.name];
  return (
    <div title={`${term.about}: ${written(term, value)}`} data-figure={term.name} data-value={value}>
      <dt>{term.name === "max-carriers" ? "limit" : term.name}</dt>
      <dd class={colour ? `state-${colour}` : ""}>{value >= 1_000_000 ? short(value) : count(value)}</dd>
    </div>
  );
}

/** Parked tells for what the parked threads wait, in the order in which the reasons came, the commonest first. */
function Parked({ state, row }: { state: State; row: SchedulerRow }) {
  const places = useRef<string[]>([]); // that reasons have: they stay while counts change, also at 0
  const all = (state.config?.reasons ?? []).map((term, i) => ({ term, n: row.parked[i] ?? 0 }));
  for (const { term } of all.filter(({ term, n }) => n > 0 && !places.current.includes(term.name)).sort((a, b) => b.n - a.n)) places.current.push(term.name);
  const reasons = places.current.flatMap((name) => all.find(({ term }) => term.name === name) ?? []);
  if (reasons.length === 0) return null;
  return (
    <p class="words" data-about="parked">
      <span class="dim">parked:</span>
      {reasons.map(({ term, n }) => (
        <span key={term.name} title={term.about}>
          {term.name || "no reason"} <b>{count(n)}</b>
        </span>
      ))}
    </p>
  );
}

/** Rates are the figures that only grow: per second those that have grown while the page looked, else in sum. */
function Rates({ terms, row }: { terms: FigureTerm[]; row: SchedulerRow }) {
  const totals = terms.map((term, i) => ({ term, sum: row.figures[i] ?? 0, rate: row.rates[i] ?? 0 })).filter(({ term, sum }) => term.total && sum > 0);
  const grown = useRef(new Set<string>()); // what grew once stays among what grows, also while it does not
  for (const { term, rate } of totals) if (rate > 0 && term.unit !== "duration") grown.current.add(term.name);
  const grows = totals.filter(({ term }) => grown.current.has(term.name));
  const rests = totals.filter((t) => !grows.includes(t));
  return (
    <>
      {grows.length > 0 && (
        <p class="words" data-about="rates">
          <span class="dim">per second:</span>
          {grows.map(({ term, sum, rate }) => (
            <span key={term.name} title={`${term.about}: ${written(term, sum)} in all`}>
              {term.name} <b>{short(rate)}</b>
            </span>
          ))}
        </p>
      )}
      {rests.length > 0 && (
        <p class="words" data-about="sums">
          <span class="dim">in all:</span>
          {rests.map(({ term, sum }) => (
            <span key={term.name} title={term.about}>
              {term.name} <b>{term.unit === "duration" ? duration(sum) : short(sum)}</b>
            </span>
          ))}
        </p>
      )}
    </>
  );
}

function written(term: FigureTerm, value: number): string {
  return term.unit === "duration" ? duration(value) : count(value);
}

function ByScope({ delays, none, still }: { delays: Delays; none: string; still: boolean }) {
  const rows = useStill(delays.rows, (row) => row.scope, still, "");
  return (
    <section class="part" id="delays">
      <h3>
        By scope <span class="dim">{delays.window > 0 && `events of the last ${duration(delays.window)}`}</span>
      </h3>
      {rows.length === 0 ? (
        <Empty>{none || "None: no thread of a scope was mounted lately."}</Empty>
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">scope</th>
              <th scope="col">mounts</th>
              <th scope="col">ready p99</th>
              <th scope="col">slice p99</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ row, gone }) => (
              <tr
                key={row.scope}
                class={gone ? "gone" : ""}
                title={
                  `${row.scope || "threads that have ended, whose scope is not known any more"}\nready to run: ${sentence(row.ready)}\nslice: ${sentence(row.slice)}` +
                  (row.runnable > 0 ? `\n${count(row.runnable)} wait for a carrier, the longest for ${duration(row.waited)}` : "")
                }
              >
                <td>{row.scope ? row.scope.slice(row.scope.lastIndexOf("/") + 1) : <span class="dim">(ended)</span>}</td>
                <td>{count(row.ready.count)}</td>
                <td>{row.ready.count > 0 ? duration(row.ready.p99) : "–"}</td>
                <td>{row.slice.count > 0 ? duration(row.slice.p99) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {delays.dropped > 0 && <p class="rest bad">{count(delays.dropped)} events were lost: delays that they would tell of are not counted</p>}
      {delays.rest > 0 && <p class="rest">{count(delays.rest)} more scopes, with shorter delays</p>}
    </section>
  );
}
