import { whyEmpty } from "./empty";
import { count, duration, leaf, short } from "./format";
import { Empty, Panel } from "./panel";
import type { CarrierRow } from "./protocol";
import { Glyph } from "./states";
import type { State } from "./store";

/** Carriers shows what each carrier runs now. Rows stand by carrier, so they do not jump. */
export function Carriers({ state }: { state: State }) {
  const carriers = state.carriers;
  const gone = (state.process?.gone ?? 0) > 0;
  return (
    <Panel
      id="carriers"
      title="Carriers"
      note={carriers && `${count(carriers.busy)} of ${count(carriers.total)} ${gone ? "were busy" : "busy"}`}
    >
      {!carriers || carriers.rows.length === 0 ? (
        <Empty>
          {whyEmpty(state) ||
            (gone ? "No carriers were left at the end." : "No carriers: the process has not started a thread yet.")}
        </Empty>
      ) : (
        <div class="list">
          {carriers.rows.map((row) => (
            <Carrier key={row.id} row={row} />
          ))}
          {carriers.rest > 0 && <p class="rest">{count(carriers.rest)} more carriers</p>}
        </div>
      )}
    </Panel>
  );
}

function Carrier({ row }: { row: CarrierRow }) {
  return (
    <div class={row.doing === "pinned" ? "row pinned" : "row"} title={`${count(row.events)} events recorded`}>
      <span class="id">c{row.id}</span>
      <span class="what">
        {row.thread ? (
          <>
            <Glyph state={row.doing || "mounted"} /> #{row.thread} {row.name && <q>{row.name}</q>}
            <span class="dim">
              {" "}
              {row.doing !== "mounted" && `${row.doing} `}
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
