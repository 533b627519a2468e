import { useState } from "preact/hooks";
import { Chart } from "./chart";
import type { Line } from "./chart";
import { whyEmpty } from "./empty";
import { clock, count, duration, short } from "./format";
import { Glyph } from "./states";
import type { State } from "./store";

/** The shortest stretch of time that the time line shows, so that a young one does not stretch. */
const shortest = 60;

/** Timeline shows counts by state and rates over the last minutes, under one cursor. */
export function Timeline({ state }: { state: State }) {
  const [at, point] = useState<number | null>(null);
  const { history, config, process } = state;
  const time = history.time.map((ms) => ms / 1_000);
  const first = time[0] ?? 0;
  const last = time.at(-1) ?? 0;
  const span = Math.max(shortest, last - first);
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
  if (history.drops.some((n) => n > 0)) rates.push({ name: "dropped", colour: "--bad", values: history.drops, dash: [1, 3] });
  const index = at !== null && at < time.length ? at : time.length - 1;
  const when = time[index];
  if (time.length === 0) {
    return (
      <section class="timeline" id="timeline" aria-label="time line">
        <p class="empty">
          {whyEmpty(state) ||
            ((process?.gone ?? 0) > 0 ? "No time line: vtserve did not see this process alive." : "The time line starts with the first snapshot.")}
        </p>
      </section>
    );
  }
  return (
    <section class="timeline" id="timeline" aria-label="time line">
      <figure>
        <figcaption title="the scale is logarithmic">
          <b>threads</b>
          {counts.map((l) => (
            <span key={l.name} class="key">
              <Glyph state={l.name} /> {l.name} {at !== null && <b>{count(l.values[index] ?? 0)}</b>}
            </span>
          ))}
          <span class="fill" />
          {when !== undefined && <span class="dim">{at === null ? `last ${duration((last - first) * 1e9)}` : `at ${clock(when * 1_000)}`}</span>}
        </figcaption>
        <Chart label="threads by state" time={time} span={span} lines={counts} logarithmic hover={point} />
      </figure>
      <figure>
        <figcaption title={process ? `${count(process.rates.events)} events recorded per second` : undefined}>
          <b>per second</b>
          {rates.map((l) => (
            <span key={l.name} class="key">
              <i class={l.dash ? "dash" : ""} style={{ color: `var(${l.colour})` }} /> {l.name} <b id={l.name}>{short(l.values[index] ?? 0)}</b>
            </span>
          ))}
        </figcaption>
        <Chart label="starts, ends and switches per second" time={time} span={span} lines={rates} logarithmic hover={point} />
      </figure>
    </section>
  );
}
