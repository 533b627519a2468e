import { commandLine } from "./command";
import { bytes, clock, count, duration, leaf } from "./format";
import { useHeld } from "./held";
import "./io.css";
import { Command } from "./panel";
import { ThreadLink } from "./party";
import type { SlowIORow } from "./protocol";
import type { State, Store } from "./store";

/** The agent reads no more than so many of the newest. */
const mostKept = 100;

/** SlowOperations lists the newest operations on sockets and files that took longer than the settings say. Where there was none it is nothing; that they are not recorded, or overwritten, it says. */
export function SlowOperations({ state, store, still }: { state: State; store: Store; still: boolean }) {
  const slowIO = useHeld(state.slowIO, still, "");
  const kind = (state.config?.kinds ?? []).findIndex((k) => k.name === "io");
  const event = state.events?.rows.find((row) => row.kind === kind);
  if (!slowIO || (slowIO.rows.length === 0 && (!event || (event.on && event.count === 0)))) return null;
  return (
    <section class="part slow" id="slow-io">
      <h3>
        Slow I/O <span class="dim">{event && !event.on ? "off: not recorded" : "sockets and files"}</span>
      </h3>
      <ul>
        {slowIO.rows.map((row, i) => (
          <li key={i} title={about(row)}>
            <p>
              <span class="dim">{clock(row.time)}</span> <b>{row.reason}</b> {duration(row.took)}
              {row.bytes > 0 && <span class="dim"> {bytes(row.bytes)}</span>} <span class="with">{row.with || row.blocker}</span>
            </p>
            <p class="at">
              <ThreadLink id={row.thread} store={store} /> {row.func && <code>{leaf(row.func)}</code>}
            </p>
          </li>
        ))}
      </ul>
      {slowIO.rest > 0 && <p class="rest">{count(slowIO.rest)} {slowIO.rest + slowIO.rows.length < mostKept ? "earlier ones" : "earlier ones or more"}</p>}
      {event && slowIO.rows.length === 0 && event.count > 0 && <p class="rest">{count(event.count)} happened, and are overwritten by newer events</p>}
      {slowIO.rows.length > 0 && <Command line={commandLine(state, "events --kind io", {})} />}
    </section>
  );
}

function about(row: SlowIORow): string {
  const lines = [
    `${row.reason}${row.blocker && ` on ${row.blocker}`}${row.with && `, ${row.with}`}`,
    `took ${duration(row.took)} with all its waits, moved ${bytes(row.bytes)}`,
    `thread ${row.thread}${row.name && ` ${row.name}`}`,
    row.func && `${row.func}\n${row.file}:${row.line}`,
  ];
  return lines.filter((line) => line !== "").join("\n");
}
