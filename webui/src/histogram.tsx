import { count, duration } from "./format";
import type { Spread, Times } from "./protocol";

interface HistogramProps {
  title: string;
  about: string;
  spread: Spread;
  buckets: number[]; // where each ends
}

const height = 28;

/** The least buckets that a histogram is wide, so that one of few has no planks. */
const least = 20;

/**
 * HistogramView draws how durations were spread: lately in full colour, since the scheduler began pale behind it. Each is as high as its own highest
 * bar; heights are square roots, so that rare long ones can be seen.
 */
export function HistogramView({ title, about, spread, buckets }: HistogramProps) {
  const { recent, total, over } = spread;
  const width = Math.max(least, total.bars.length);
  const last = total.first + width - 1;
  const start = buckets[total.first - 1] ?? 0;
  const end = last >= buckets.length - 1 ? "longer" : duration(buckets[last] ?? 0);
  return (
    <div class="histogram" title={about} data-picture={title}>
      <b>{title}</b>
      {total.count === 0 ? (
        <p class="dim">none measured yet</p>
      ) : (
        <>
          <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${title}: ${sentence(recent.count > 0 ? recent : total)}`}>
            <Bars bars={total.bars} at={0} name="total" />
            <Bars bars={recent.bars} at={recent.first - total.first} name="recent" />
          </svg>
          <p class="ends">
            <span>{duration(start)}</span>
            <span>{end}</span>
          </p>
          <table>
            <thead>
              <tr>
                <th scope="col" />
                <th scope="col">p50</th>
                <th scope="col">p99</th>
              </tr>
            </thead>
            <tbody>
              <Line name={over > 0 ? `last ${duration(over)}` : "lately"} times={recent} />
              <Line name="in all" times={total} />
            </tbody>
          </table>
        </>
      )}
    </div>
  );
}

function Bars({ bars, at, name }: { bars: number[]; at: number; name: string }) {
  const most = Math.sqrt(Math.max(1, ...bars));
  return (
    <g class={name}>
      {bars.map((n, i) => {
        if (n === 0) return null;
        const h = Math.max(1, (height * Math.sqrt(n)) / most);
        return <rect key={i} x={at + i + 0.05} y={height - h} width={0.9} height={h} />;
      })}
    </g>
  );
}

function Line({ name, times }: { name: string; times: Times }) {
  return (
    <tr title={sentence(times)}>
      <th scope="row">{name}</th>
      <td>{times.count > 0 ? duration(times.p50) : "–"}</td>
      <td>{times.count > 0 ? duration(times.p99) : "–"}</td>
    </tr>
  );
}

/** sentence writes all that is known of durations. */
export function sentence(t: Times): string {
  if (t.count === 0) return "none measured";
  return `of ${count(t.count)}: p50 ${duration(t.p50)}, p90 ${duration(t.p90)}, p99 ${duration(t.p99)}, longest ${duration(t.longest)}`;
}
