import { useState } from "preact/hooks";
import { coming, whyEmpty } from "./empty";
import { clock, count, short } from "./format";
import { Empty, NowCommand, Panel } from "./panel";
import type { EventRow, KindTerm } from "./protocol";
import { writeRoute } from "./route";
import type { State } from "./store";

/** Events is the legend of what the recorder writes down, with how often it happens, and what is off. Kinds that have not happened show on demand. */
export function Events({ state }: { state: State }) {
  const { events } = state;
  const [all, showAll] = useState(false);
  const kinds = state.config?.kinds ?? [];
  const rows = (events?.rows ?? []).filter((row) => all || row.count > 0);
  const off = (events?.rows ?? []).filter((row) => !row.on);
  const hidden = (events?.rows.length ?? 0) - rows.length;
  return (
    <Panel
      id="events"
      title="Events"
      note={
        events?.known && (
          <a href={writeRoute({ ...state.route, panel: "settings" })} title={`what is recorded of each kind${events.changed ? `, since ${clock(events.changed)}` : ""}`}>
            settings <b>{events.settings}</b>
          </a>
        )
      }
      foot={<NowCommand state={state} of="events --stats" />}
    >
      {state.process?.status === "recorded" && !whyEmpty(state) ? (
        <Empty>Not counted here: the command reads the recording and counts them. What one thread did stands beside its stack.</Empty>
      ) : !events || events.rows.length === 0 || whyEmpty(state) ? (
        <Empty>{whyEmpty(state) || coming(state, "The first counts are on their way.")}</Empty>
      ) : (
        <>
          {rows.length === 0 && <Empty>None has happened.</Empty>}
          <div class="list">
            {rows.map((row) => (
              <Kind key={row.kind} row={row} term={kinds[row.kind]} />
            ))}
          </div>
          {events.program.map((p) => (
            <p key={p.name} class="rest" title="a kind of events of the program's own">
              {p.name} <span class="dim">{p.on ? p.setting : "off"}</span>
            </p>
          ))}
          {events.rest > 0 && <p class="rest">{count(events.rest)} more kinds of the program's own</p>}
          {off.length > 0 && (
            <p class="rest" id="events-off">
              off: {off.map((row) => kinds[row.kind]?.name ?? row.kind).join(", ")}
            </p>
          )}
          {(hidden > 0 || all) && (
            <p class="rest">
              <button type="button" onClick={() => showAll(!all)}>
                {all ? "hide what has not happened" : `${count(hidden)} that have not happened`}
              </button>
            </p>
          )}
        </>
      )}
    </Panel>
  );
}

function Kind({ row, term }: { row: EventRow; term: KindTerm | undefined }) {
  const about = term ? `${term.about}\n${term.category}; ${term.cost}\n${term.fields.map((f) => `${f.name}: ${f.use}${f.unit && `, ${f.unit}`}\n`).join("")}recorded: ${row.setting || "not known"}` : "";
  return (
    <div class="row event" title={about}>
      <span class="what">
        {term?.name ?? row.kind} <span class="dim">{row.on ? term?.category : "off: counted, not recorded"}</span>
      </span>
      <span class="number" title="so far">
        {short(row.count)}
      </span>
      <span class="number" title="per second">
        {short(row.rate)}/s
      </span>
    </div>
  );
}
