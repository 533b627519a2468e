import { commandLine } from "./command";
import { whyEmpty } from "./empty";
import { count, duration, leaf, short } from "./format";
import { NewestWarnings, Pins } from "./holders";
import { Command, Empty, Panel } from "./panel";
import type { CarrierRow } from "./protocol";
import { Glyph } from "./states";
import type { State } from "./store";

/** Carriers shows what each carrier runs now, and where threads held theirs. Rows stand by carrier, so they do not jump. */
export function Carriers({ state }: { state: State }) {
  const carriers = state.carriers;
  const several = (state.schedulers?.rows.length ?? 0) > 1;
  const gone = (state.process?.gone ?? 0) > 0;
  return (
    <Panel
      id="carriers"
      title="Carriers"
      note={carriers && `${count(carriers.busy)} of ${count(carriers.total)} ${gone ? "were busy" : "busy"}`}
      foot={state.process && !state.process.missing && <Command line={commandLine(state, "scheduler", {})} />}
    >
      {!carriers || carriers.rows.length === 0 ? (
        <Empty>
          {whyEmpty(state) ||
            (gone ? "No carriers were left at the end." : "No carriers: the process has not started a thread yet.")}
        </Empty>
      ) : (
        <div class={several ? "list several" : "list"}>
          {carriers.rows.map((row) => (
            <Carrier key={row.id} row={row} several={several} />
          ))}
          {carriers.rest > 0 && <p class="rest">{count(carriers.rest)} more carriers</p>}
        </div>
      )}
      {!whyEmpty(state) && state.warnings && <NewestWarnings warnings={state.warnings} />}
      {!whyEmpty(state) && state.pinSites && <Pins sites={state.pinSites} held={carriers?.rows.some((row) => row.doing === "pinned") ?? false} />}
    </Panel>
  );
}

function Carrier({ row, several }: { row: CarrierRow; several: boolean }) {
  return (
    <div class={row.doing === "pinned" ? "row pinned" : "row"} title={`${row.scheduler && `scheduler ${row.scheduler}\n`}${count(row.events)} events recorded`}>
      <span class="id">c{row.id}</span>
      {several && <span class="dim">{row.scheduler}</span>}
      <span class="what">
        {row.thread ? (
          <>
            <Glyph state={row.doing || "mounted"} /> #{row.thread} {row.name && <q>{row.name}</q>}
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
