import "./groupdetail.css";
import { useRef } from "preact/hooks";
import { threads } from "./kind";
import { moment, reached, settled } from "./settled";
import { api, useDocument } from "./document";
import type { Fetched } from "./document";
import type { Example, GroupReport, LabelledThread, Share } from "./documents";
import { clock, count, duration, notKnown, percent } from "./format";
import { Empty } from "./panel";
import { ThreadLink } from "./party";
import { PictureButton } from "./picturebutton";
import type { State, Store } from "./store";
import { filterOf, readSpan, saySpan, writeSpan } from "./waitspan";
import type { WaitSpan } from "./waitspan";

const every = 10_000; // milliseconds between two looks at a group: each reads all threads
const most = 36; // buckets that are drawn; of more, two become one

interface DetailProps {
  state: State;
  store: Store;
  group: string;
}

/** Waiting shows how long the threads of a group wait, what for, and examples: of all of them, or of a bucket that was chosen. */
export function Waiting({ state, store, group }: DetailProps) {
  const { wait } = state.route;
  const filter = state.groups?.filter ?? ""; // that the agent has understood: what the route has may be wrong
  const key = reached(state) ? (state.process?.key ?? "") : ""; // whose group it is: the route may be ahead
  const span = readSpan(wait);
  const again = settled(state) ? 0 : every;
  const path = (f: string): string => api(key, `groups/${encodeURIComponent(group)}`, { filter: f, ...moment(state) });
  const all = useDocument<GroupReport>(key && group ? path(filter) : "", again);
  const some = useDocument<GroupReport>(key && group && span ? path(filterOf(filter, span)) : "", again);
  const report = all.value;
  if (!report) return <div class="waiting">{all.error ? <Refused of={all} /> : <p class="dim">Reading its {threads()} …</p>}</div>;
  const shown = span ? some.value : report;
  return (
    <div class="waiting">
      <h3>
        How long they wait <span class="dim">{state.route.at ? "" : `at ${clock(Date.parse(report.as_of))}`}</span>
      </h3>
      {report.waits.length === 0 ? (
        report.count > 0 && <p class="dim">Of that moment only the waits of a few examples are kept.</p>
      ) : (
        <Buckets key={key + group} report={report} ends={state.config?.buckets ?? []} chosen={span} choose={(s) => store.go({ wait: s ? writeSpan(s) : "" })} />
      )}
      {all.error && <Refused of={all} />}
      <h3>
        Examples{" "}
        {span ? (
          <>
            <span class="of-bucket">that wait {saySpan(span)}{shown ? `: ${count(shown.count)} of ${count(report.count)}` : ""}</span>{" "}
            <button type="button" class="link" onClick={() => store.go({ wait: "" })}>
              all
            </button>
          </>
        ) : (
          <span class="dim">of {count(report.count)}</span>
        )}
      </h3>
      {shown?.count === 0 ? <p class="dim">None {span ? "waits so long" : "is in the group"} any more.</p> : shown ? <Samples report={shown} store={store} /> : some.error ? <Refused of={some} /> : <p class="dim">Reading them …</p>}
      <Shares title="They wait for" shares={report.blockers} of={report.count} none="nothing that is told" />
      <Shares title="They are called" shares={report.names} of={report.count} none="no name" />
    </div>
  );
}

function Refused({ of }: { of: Fetched<unknown> }) {
  return (
    <p class="refused">
      {of.error}
      {of.attempt && <span class="dim"> (try: {of.attempt})</span>}
    </p>
  );
}

interface Bucket {
  span: WaitSpan;
  count: number;
}

/** endOf is where a bucket of waits ends: as those of histograms, and further on twice as long every two. */
function endOf(i: number, ends: number[]): number {
  if (i < 0) return 0;
  return i < ends.length ? (ends[i] ?? 0) : 2 * endOf(i - 2, ends);
}

/** bucketsOf are the buckets from the first to the last that has any thread. */
export function bucketsOf(report: Pick<GroupReport, "waits" | "first">, ends: number[]): Bucket[] {
  let buckets = report.waits.map((n, i) => ({ span: { from: endOf(report.first + i - 1, ends), to: endOf(report.first + i, ends) }, count: n }));
  while (buckets.length > most) {
    const wider: Bucket[] = [];
    for (let i = 0; i < buckets.length; i += 2) {
      const a = buckets[i];
      const b = buckets[i + 1] ?? a;
      if (a && b) wider.push({ span: { from: a.span.from, to: b.span.to }, count: a === b ? a.count : a.count + b.count });
    }
    buckets = wider;
  }
  return buckets;
}

interface BucketsProps {
  report: GroupReport;
  ends: number[];
  chosen: WaitSpan | null;
  choose: (span: WaitSpan | null) => void;
}

type Waits = Pick<GroupReport, "waits" | "first">;

/** useStillSpan adds empty buckets where there were some before, so that bars stay where they are; it begins anew when most of them would be empty. */
function useStillSpan({ waits, first }: Waits): Waits {
  const known = useRef({ first, end: first + waits.length });
  const from = Math.min(first, known.current.first);
  const end = Math.max(first + waits.length, known.current.end);
  const still = end - from <= 2 * waits.length;
  known.current = still ? { first: from, end } : { first, end: first + waits.length };
  if (!still) return { waits, first };
  return { waits: [...Array<number>(first - from).fill(0), ...waits, ...Array<number>(end - first - waits.length).fill(0)], first: from };
}

/** Buckets draws them as bars that can be chosen. Heights are square roots, so that few that wait long can be seen. */
function Buckets({ report, ends, chosen, choose }: BucketsProps) {
  const buckets = bucketsOf(useStillSpan(report), ends);
  const highest = Math.sqrt(Math.max(1, ...buckets.map((b) => b.count)));
  const mine = chosen ? writeSpan(chosen) : "";
  const first = buckets[0]?.span;
  const last = buckets[buckets.length - 1]?.span;
  const median = report.wait.median_ns;
  return (
    <div class="buckets" data-picture="how long they wait">
      <PictureButton over />
      <div class="bars" role="group" aria-label="how long they wait; the height is the square root of the count">
        {buckets.map((b) => {
          const name = writeSpan(b.span);
          const holds = median >= b.span.from && (b.span.to === 0 || median < b.span.to);
          return (
            <button
              key={name}
              type="button"
              data-count={b.count}
              class={holds ? "bucket median" : "bucket"}
              disabled={b.count === 0}
              aria-pressed={name === mine}
              aria-label={`${count(b.count)} wait ${saySpan(b.span)}`}
              title={`${count(b.count)} of ${count(report.count)} (${percent(b.count / Math.max(1, report.count))}) wait ${saySpan(b.span)}${holds ? "; the median is here" : ""}\nclick for examples`}
              onClick={() => choose(name === mine ? null : b.span)}
            >
              <i style={{ height: `${b.count > 0 ? Math.max(4, (100 * Math.sqrt(b.count)) / highest) : 0}%` }} />
            </button>
          );
        })}
      </div>
      <p class="ends dim">
        <span>{duration(first?.from ?? 0)}</span>
        <span>{report.wait.unknown === report.count ? "not known" : "the darkest has the median"}</span>
        <span>{last && last.to > 0 ? duration(last.to) : "longer"}</span>
      </p>
    </div>
  );
}

function Samples({ report, store }: { report: GroupReport; store: Store }) {
  const lists: [string, Example[], string][] = [
    ["oldest", report.oldest, "who waits longest"],
    ["newest", report.newest, "who began to wait last"],
    ["random", report.random, "each of them as likely"],
  ];
  return (
    <div class="samples">
      {lists.map(
        ([name, list, about]) =>
          list.length > 0 && (
            <div key={name} data-sample={name}>
              <h4 title={about}>{name}</h4>
              <ul>
                {list.map((e) => (
                  <li key={e.id}>
                    <ThreadLink id={e.id} name={e.name} store={store} /> <span class="dim">{e.unknown ? notKnown(e.within_ns) : duration(e.wait_ns)}</span>
                    <LabelsOf of={report.labelled?.find((l) => l.thread === e.id)} />
                  </li>
                ))}
              </ul>
            </div>
          ),
      )}
      {lists.every(([, list]) => list.length === 0) && <Empty>No example is known.</Empty>}
    </div>
  );
}

const letters = 8; // of the id of a trace, enough to tell it from others

/** LabelsOf are the labels of an example in one line, the beginning of the trace first. */
function LabelsOf({ of }: { of: LabelledThread | undefined }) {
  if (!of) return null;
  const words = of.labels.filter((l) => l.key !== of.trace?.key).map((l) => `${l.key}=${l.value}`);
  if (of.labels_cut) words.push("and more");
  return (
    <span class="dim labels-of" title={[...(of.trace ? [`trace ${of.trace.id}`] : []), ...words].join("\n")}>
      {of.trace && `trace ${of.trace.id.slice(0, letters)}${of.trace.id.length > letters ? "…" : ""} `}
      {words.join(" ")}
    </span>
  );
}

const told = 6; // different values of shares

function Shares({ title, shares, of, none }: { title: string; shares: Share[]; of: number; none: string }) {
  if (shares.length === 0) return null;
  const rest = shares.slice(told);
  return (
    <>
      <h3>{title}</h3>
      <ul class="shares">
        {shares.slice(0, told).map((s) => (
          <li key={s.value}>
            <span class="bar" style={{ width: `${(100 * s.count) / Math.max(1, of)}%` }} />
            <span class="number">{count(s.count)}</span> <span class={s.value ? "" : "dim"}>{s.value || none}</span>
          </li>
        ))}
        {rest.length > 0 && (
          <li class="dim">
            {count(rest.length)} more with {count(rest.reduce((sum, s) => sum + s.count, 0))}
          </li>
        )}
      </ul>
    </>
  );
}
