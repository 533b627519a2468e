import { useState } from "preact/hooks";
import { Chart, place } from "./chart";
import type { Line } from "./chart";
import { notRecorded, whyEmpty } from "./empty";
import { clock, count, duration, short } from "./format";
import { Heatmap } from "./heatmap";
import { goroutines, threads } from "./kind";
import { aboutLane, lanes, paintLanes, paintLoss, paintMoments, paintSigns } from "./linemarks";
import { marksOf } from "./marks";
import { ago, exactly } from "./moment";
import type { Flag } from "./protocol";
import { seek, step } from "./rewind";
import { Glyph } from "./states";
import type { State, Store } from "./store";
import "./timeline.css";

/** So many states have room for their words; of more the signs stand alone, which the header explains. */
const few = 3;

/** The shortest stretch of time that the time line of a living process shows, so that a young one does not stretch. */
const shortest = 60;

/** Timeline shows counts by state, rates and delays over the last minutes, under one cursor. A click or a drag shows that moment. */
export function Timeline({ state, store }: { state: State; store: Store }) {
  const [at, point] = useState<number | null>(null);
  const { history, config, process, route, moment } = state;
  const time = history.time.map((ms) => ms / 1_000);
  const first = time[0] ?? 0;
  const last = time.at(-1) ?? 0;
  const recorded = process?.status === "recorded";
  const span = Math.max(recorded ? 0.01 : shortest, last - first);
  const counts: Line[] = [];
  config?.states.forEach((term, i) => {
    const values = history.counts[i] ?? [];
    if (i > 0 && values.some((n) => n > 0)) counts.push({ name: term.name, colour: `--state-${term.name}`, values });
  });
  const rates: Line[] = [
    { name: "switches", colour: "--rate-switches", values: history.switches },
    { name: "starts", colour: "--rate-starts", values: history.starts },
    { name: "ends", colour: "--rate-ends", values: history.ends, dash: [4, 3] },
  ];
  const lost = history.drops.some((n) => n > 0);
  if (lost) rates.push({ name: "dropped", colour: "--bad", values: history.drops, dash: [1, 3] });
  // What is told without a cursor is the moment that is shown.
  const shown = route.at === "" ? time.length - 1 : moment?.missing ? -1 : indexOf(history.time, Number(route.at));
  const hovers = at !== null && at < time.length;
  const index = hovers ? at : shown;
  const when = history.time[index];
  if (time.length === 0) {
    return (
      <section class="timeline" id="timeline" aria-label="time line">
        <p class="empty">
          {whyEmpty(state) ||
            moment?.note ||
            (recorded
              ? "The time line of the recording is being made."
              : (process?.gone ?? 0) > 0
                ? "No time line: vtserve did not see this process alive."
                : "The time line starts with the first snapshot.")}
        </p>
      </section>
    );
  }
  const mine = marksOf(process?.key ?? "").map((m) => ({ time: m.at, kind: "mark", severity: "mine", what: m.name, rest: 0 }));
  const flags = mine.length > 0 ? [...history.flags, ...mine].filter((f) => f.time >= (history.time[0] ?? 0)).sort((a, b) => a.time - b.time) : history.flags;
  const pick = (i: number, second: boolean): void => seek(store, i, second);
  const text = route.at === "" ? (recorded ? "the end" : "now") : `${exactly(moment?.shown || Number(route.at))}, ${ago(state, moment?.shown || Number(route.at))}`;
  const key = (e: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: +1, ArrowUp: +1, PageDown: -10, PageUp: +10 }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (by !== undefined) step(store, by);
    else if (e.key === "Home" && moment && moment.oldest > 0) store.rewind(moment.oldest);
    else if (e.key === "End") store.now();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const marked = lanes.map((l) => ({ ...l, n: history[l.name].reduce((sum, n) => sum + n, 0) })).filter((l) => l.n > 0);
  const unmarked = recorded ? [] : notRecorded(state, ["pinned", "monopolized", "starved"]);
  const gc = (config?.kinds ?? []).findIndex((k) => k.name === "gc");
  const gcOff = state.events?.rows.find((row) => row.kind === gc)?.on === false;
  return (
    <section class={goroutines() ? "timeline alone" : "timeline"} id="timeline" aria-label="time line" data-from={Math.round((last - span) * 1_000)} data-to={history.time.at(-1)}>
      <figure data-picture={`${threads()} by state over time`}>
        <figcaption title={`the last ${duration((last - first) * 1e9)}; the scale is logarithmic; click or drag to see that moment, with Ctrl or Shift to compare with it`}>
          <b>{threads()}</b>
          {counts.map((l) => (
            <span key={l.name} class={hovers ? "key" : "key word"} title={l.name} aria-label={l.name} role="img">
              <Glyph state={l.name} /> {hovers ? <b>{count(l.values[index] ?? 0)}</b> : counts.length <= few && <span>{l.name}</span>}
            </span>
          ))}
          <span class="fill" />
          {when !== undefined && hovers && <span class="dim">at {recorded ? exactly(when) : clock(when)}</span>}
        </figcaption>
        <Chart
          label={`${threads()} by state over time, moment shown${lost ? "; events were lost where it is hatched" : ""}`}
          time={time}
          span={span}
          lines={counts}
          logarithmic
          hover={point}
          pick={pick}
          slider={{ min: moment?.oldest ?? 0, max: moment?.newest ?? 0, now: moment?.shown || (moment?.newest ?? 0), text, key }}
          under={(u) => paintLoss(u, history)}
          over={(u) => {
            paintSigns(u, counts);
            paintMoments(u, route.at, route.from);
          }}
        >
          <Flags flags={flags} from={last - span} span={span} go={(ms) => store.rewind(ms)} />
        </Chart>
      </figure>
      {!goroutines() && <figure data-picture="starts, ends and switches per second">
        <figcaption title={process ? `${count(process.rates.events)} events recorded per second` : undefined}>
          <b>per s</b>
          {rates.map((l) => (
            <span key={l.name} class="key">
              <i class={l.dash ? "dash" : ""} style={{ color: `var(${l.colour})` }} /> {l.name} <b id={l.name}>{index < 0 ? "–" : short(l.values[index] ?? 0)}</b>
            </span>
          ))}
          {marked.map((l) => (
            <span key={l.name} class="key marked" title={aboutLane(history, l.name, hovers ? index : null, gcOff)} data-lane={l.name}>
              <i class="lane" style={{ color: `var(${l.colour})` }} /> <span>{l.short}</span> <b>{short(hovers ? (history[l.name][index] ?? 0) : l.n)}×</b>
            </span>
          ))}
          {unmarked.length > 0 && (
            <span class="key dim" title={`off: the recorder's settings leave out ${unmarked.join(", ")}: the time line cannot mark them`}>
              off: {lanes.filter((l) => unmarked.includes(l.name)).map((l) => l.short).join(", ")}
            </span>
          )}
          {lost && (
            <span class="key" title="events were not recorded there: what is shown lacks them">
              <i class="hatched" style={{ color: "var(--bad)" }} /> loss
            </span>
          )}
        </figcaption>
        <Chart
          label="starts, ends and switches per second over time"
          time={time}
          span={span}
          lines={rates}
          logarithmic
          hover={point}
          pick={pick}
          under={(u) => paintLoss(u, history)}
          over={(u) => {
            paintLanes(u, history);
            paintMoments(u, route.at, route.from);
          }}
        />
      </figure>}
      {!goroutines() && <Heatmap state={state} span={span} index={index} hovers={hovers || route.at !== ""} hover={point} pick={pick} />}
    </section>
  );
}

/** indexOf is the point that is nearest to a time. */
function indexOf(time: number[], ms: number): number {
  let best = time.length - 1;
  time.forEach((t, i) => {
    if (Math.abs(t - ms) < Math.abs((time[best] ?? 0) - ms)) best = i;
  });
  return best;
}

const severities = ["error", "warning", "mine", "info"];
const signs: Record<string, string> = { finding: "▼", incident: "◉", mark: "⚑", dump: "▽" };

/** Flags are what happened, above the chart. Those that would cover each other are one, of the worst. */
function Flags({ flags, from, span, go }: { flags: Flag[]; from: number; span: number; go: (ms: number) => void }) {
  const stacks: Flag[][] = [];
  for (const f of flags) {
    const stack = stacks.at(-1);
    if (stack?.[0] && f.time - stack[0].time < span * 15) stack.push(f);
    else stacks.push([f]);
  }
  return (
    <>
      {stacks.map((stack) => {
        const worst = stack.reduce((a, b) => (severities.indexOf(b.severity) < severities.indexOf(a.severity) ? b : a));
        const rest = stack.reduce((n, f) => n + f.rest, 0);
        const all = stack.length + rest;
        const words = [...stack.map((f) => `${clock(f.time)} ${f.kind}: ${f.what}`), ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n");
        return (
          <button
            key={worst.time}
            type="button"
            class={`flag ${worst.severity}`}
            tabIndex={-1}
            title={words}
            aria-label={all > 1 ? `${all} flags: ${words}` : words}
            style={{ left: place((worst.time / 1_000 - from) / span) }}
            onClick={() => go(worst.time)}
          >
            {signs[worst.kind] ?? "◆"}
            {all > 1 && <small>{all}</small>}
          </button>
        );
      })}
    </>
  );
}
