import { Fragment } from "preact";
import type { Fetched } from "./document";
import type { Frame, ThreadEvent, ThreadEvents } from "./documents";
import { off } from "./empty";
import { base, count, duration, leaf } from "./format";
import { PartyLink } from "./party";
import type { Store } from "./store";

/** Happened lists what a thread did, the newest first, as far as it is known. */
export function Happened({ events, store }: { events: Fetched<ThreadEvents>; store: Store }) {
  const e = events.value;
  if (!e) return <div class="happened">{events.error ? <p class="bad">{events.error}</p> : <p class="dim">Reading its events …</p>}</div>;
  const whole = Date.parse(e.whole);
  const cut = whole > Date.parse(e.process.started);
  const rows = [...e.events].reverse();
  const border = cut ? rows.findIndex((row) => Date.parse(row.time) < whole) : -1;
  return (
    <div class="happened">
      <h3>
        Last events <span class="dim">{rows.length > 0 && `the newest first`}</span>
      </h3>
      {(e.incomplete ?? []).map((why) => (
        <p key={why} class="dim">
          incomplete: {why}
        </p>
      ))}
      {rows.length === 0 && (
        <p class="dim">{cut ? e.process.status === "recorded" ? `The recording has none: it tells all from ${time(e.whole)} on.` : `None is known any more: what was before ${time(e.whole)} is overwritten by newer events of others.` : off(store.state, ["thread-start", "mount", "park", "unpark"]) || "None is recorded."}</p>
      )}
      {rows.length > 0 && (
        <table>
          <tbody>
            {rows.map((row, i) => (
              <Fragment key={i}>
                {i === border && <Border whole={e.whole} recorded={e.process.status === "recorded"} />}
                <Row row={row} frames={e.stacks[row.stack]?.frames} store={store} />
              </Fragment>
            ))}
            {cut && border < 0 && <Border whole={e.whole} recorded={e.process.status === "recorded"} />}
          </tbody>
        </table>
      )}
      {e.earlier > 0 && <p class="dim">{count(e.earlier)} earlier ones are known too: vtdump tells more with --top</p>}
    </div>
  );
}

function Border({ whole, recorded }: { whole: string; recorded: boolean }) {
  return (
    <tr class="border">
      <td colSpan={3}>before {time(whole)} events may be missing: {recorded ? "the recording does not have all" : "newer ones have overwritten them"}</td>
    </tr>
  );
}

function Row({ row, frames, store }: { row: ThreadEvent; frames: Frame[] | undefined; store: Store }) {
  const at = frames?.find((f) => !f.internal) ?? frames?.[0];
  const place = at && (
    <tr class="place">
      <td />
      <td colSpan={2} class="dim" title={frames?.map((f) => `${f.func}\n    ${f.file ?? ""}:${f.line ?? 0}`).join("\n")}>
        at {leaf(at.func)} {at.file && `${base(at.file)}:${at.line}`}
      </td>
    </tr>
  );
  return (
    <>
      <tr data-kind={row.kind}>
        <td class="time" title={`${time(row.time)}, ${row.carrier === undefined ? "told by somebody who is no carrier" : `on carrier ${row.carrier}`}`}>
          {time(row.time).slice(0, 12)}
        </td>
        <td class="kind">{row.event || row.kind}</td>
        <td>
          {row.by && (
            <>
              by <PartyLink party={row.by} store={store} />{" "}
            </>
          )}
          {(row.for_ns ?? 0) > 0 && <>for {duration(row.for_ns ?? 0)} </>}
          {(row.fields ?? []).map((f) => (
            <span key={f.name} class="field">
              <span class="dim">{f.name}</span> {f.text}{" "}
            </span>
          ))}
        </td>
      </tr>
      {place}
    </>
  );
}

/** time writes the time of day with microseconds. */
function time(text: string): string {
  const d = new Date(text);
  const two = (n: number): string => String(n).padStart(2, "0");
  const micro = /\.(\d+)/.exec(text)?.[1] ?? "";
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${micro.padEnd(6, "0").slice(0, 6)}`;
}
