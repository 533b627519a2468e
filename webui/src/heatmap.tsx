import type uPlot from "uplot";
import { Chart } from "./chart";
import { count, duration, short } from "./format";
import "./heatmap.css";
import type { History } from "./history";
import { at, colourOf, paintLoss, paintMoments } from "./linemarks";
import type { State } from "./store";

/** The least width of a cell, in pixels: delays are told once a second, and not in step with the points. */
const narrowest = 5;
const steps = 5; // of the colour scale

interface Column {
  from: number; // Unix milliseconds
  to: number;
  bars: number[]; // by bucket
}

/** barsOf are the delays of a point by bucket. */
function barsOf(ready: number[] | undefined): number[] {
  const [first = 0, ...bars] = ready ?? [];
  return bars.length > 0 ? [...Array<number>(first).fill(0), ...bars] : [];
}

/** columns are the cells of the map: neighbours are one until they are wide enough. */
function columns(u: uPlot, history: History): Column[] {
  const all: Column[] = [];
  let open: Column | null = null;
  const usual = (history.time[1] ?? 0) - (history.time[0] ?? 0);
  history.time.forEach((to, i) => {
    const from = history.time[i - 1] ?? to - usual;
    open ??= { from, to, bars: [] };
    open.to = to;
    const bars = open.bars;
    barsOf(history.ready[i]).forEach((n, b) => {
      bars[b] = (bars[b] ?? 0) + n;
    });
    if (at(u, open.to) - at(u, open.from) >= narrowest * devicePixelRatio) {
      all.push(open);
      open = null;
    }
  });
  if (open) all.push(open);
  return all;
}

/** step is the colour of n, on a logarithmic scale up to most. */
function step(n: number, most: number): number {
  return Math.min(steps - 1, Math.floor((Math.log(n) / Math.max(1e-9, Math.log(most + 1))) * steps));
}

/** quantile is the end of the bucket that the part q does not exceed. */
export function quantile(bars: number[], buckets: number[], q: number): number {
  const total = bars.reduce((sum, n) => sum + (n ?? 0), 0);
  let sum = 0;
  for (let b = 0; b < bars.length; b++) {
    sum += bars[b] ?? 0;
    if (sum > 0 && sum >= q * total) return buckets[b] ?? 0;
  }
  return 0;
}

interface HeatmapProps {
  state: State;
  span: number; // seconds
  index: number; // of the point that is told
  hovers: boolean; // it is the one under the cursor
  hover: (index: number | null) => void;
  pick: (index: number, second: boolean) => void;
}

/** Heatmap shows how long threads were runnable until they were mounted: time across, delay upwards, number of threads as colour. */
export function Heatmap({ state, span, index, hovers, hover, pick }: HeatmapProps) {
  const { history, config, route } = state;
  const buckets = config?.buckets ?? [];
  const used = history.ready.filter((r) => r.length > 1);
  const low = Math.min(...used.map((r) => r[0] ?? 0));
  const high = Math.max(...used.map((r) => (r[0] ?? 0) + r.length - 2));
  const sum: number[] = [];
  for (const r of used) barsOf(r).forEach((n, b) => (sum[b] = (sum[b] ?? 0) + n));
  const bars = barsOf(history.ready[index]);
  const told = hovers ? bars : sum;
  const p99 = quantile(told, buckets, 0.99);
  const total = told.reduce((all, n) => all + (n ?? 0), 0);
  const words = total > 0 ? `p50 ${duration(quantile(told, buckets, 0.5))}, p99 ${duration(p99)}` : hovers ? "none told" : "";
  const range: [number, number] = used.length > 0 ? [low - 0.5, Math.max(high, low + 7) + 0.5] : [0, 8];
  let most = 1;
  const paint = (u: uPlot): void => {
    const all = columns(u, history);
    most = Math.max(1, ...all.flatMap((c) => c.bars.filter((n) => n > 0)));
    const colours = Array.from({ length: steps }, (_, i) => colourOf(`--heat-${i + 1}`));
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const c of all) {
      const left = Math.round(at(u, c.from));
      const right = Math.round(at(u, c.to));
      c.bars.forEach((n, b) => {
        if (!(n > 0)) return;
        const top = Math.round(u.valToPos(b + 0.5, "y", true));
        const bottom = Math.round(u.valToPos(b - 0.5, "y", true));
        ctx.fillStyle = colours[step(n, most)] ?? "";
        ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
      });
    }
    ctx.restore();
  };
  return (
    <figure id="heatmap" data-picture="ready delay over time" data-cells={used.length} data-p99={p99}>
      <figcaption title="how long threads were runnable until a carrier took them, of all schedulers; samples, but for recordings. The colour scale is logarithmic">
        <b>ready delay</b>
        <span class="told">{words}</span>
        <span class="fill" />
        {used.length > 0 && (
          <span class="scale" aria-hidden="true">
            few
            {Array.from({ length: steps }, (_, i) => (
              <i key={i} style={{ background: `var(--heat-${i + 1})` }} />
            ))}
            many
          </span>
        )}
      </figcaption>
      <Chart
        label={used.length > 0 ? `ready delay over time: ${count(total)} delays, ${words}, longest ${duration(quantile(sum, buckets, 1))}` : "ready delay over time: none told"}
        time={history.time.map((ms) => ms / 1_000)}
        span={span}
        lines={[]}
        scale={{ range, splits: splits(range), label: (b) => shortly(buckets[b] ?? 0) }}
        hover={hover}
        pick={pick}
        under={paint}
        over={(u) => {
          paintLoss(u, history);
          paintMoments(u, route.at, route.from);
        }}
      >
        {used.length === 0 && <p class="none">{why(state)}</p>}
      </Chart>
    </figure>
  );
}

function why(state: State): string {
  if (state.process?.status === "recorded") return state.moment?.note || "None: the recording has no thread that was mounted.";
  if ((state.process?.gone ?? 0) > 0) return "None: no scheduler told delays while vtserve looked.";
  return "None yet: no scheduler has told delays while vtserve looked.";
}

/** splits are buckets with room for a label each, whole ones: one for each two doublings or more. */
function splits([from, to]: [number, number]): number[] {
  const step = Math.max(2, 2 * Math.ceil((to - from) / 10));
  const all: number[] = [];
  for (let b = Math.ceil(from / step) * step; b <= to; b += step) if (b >= 0) all.push(b);
  return all;
}

/** shortly writes a duration in few characters. */
function shortly(ns: number): string {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as const) if (ns >= size) return `${short(Math.round(ns / size))}${unit}`;
  return `${ns}ns`;
}
