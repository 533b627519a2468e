import "./durable.css";
import { quote, target } from "./command";
import { api, useDocument } from "./document";
import type { DurableGroup, DurableRow, Durables } from "./documents";
import { ago, at, History, waited } from "./durablehistory";
import { whyEmpty } from "./empty";
import { clock, count, duration } from "./format";
import { addKeys, everywhere } from "./keys";
import { Command, Empty, Panel } from "./panel";
import { settled } from "./settled";
import { Word } from "./states";
import type { Store } from "./store";
import type { ViewProps } from "./views";

const every = 3_000; // milliseconds between two looks: each asks the process
const some = 20;
const many = 200;

const orders = [
  ["since", "oldest wait"],
  ["begun", "begun first"],
  ["until", "soonest limit"],
  ["steps", "most steps"],
  ["bytes", "largest journal"],
  ["failed", "most errors"],
  ["id", "id"],
] as const;

addKeys({
  keys: ["Escape"],
  words: "back to all durable threads",
  place: everywhere,
  when: (c) => c.state.route.view === "durable" && c.state.route.durable !== "" && c.state.route.thread === "" && c.state.route.panel === "",
  foot: true,
  act: ({ store }) => store.go({ durable: "" }),
});

/** chosen is the filter that a group stands for, in the words of vtdump durable --filter. */
function chosen(g: DurableGroup): string {
  const value = (s: string): string => (/^[\w./-]+$/.test(s) ? s : JSON.stringify(s));
  const parts = [`body=${value(g.body)}`, `state=${g.state}`];
  if (g.wait) parts.push(`waits=${g.wait.kind}`);
  if (g.wait?.name && g.wait.kind !== "join" && !/\d/.test(g.wait.name)) parts.push(`for=${value(g.wait.name)}`);
  return parts.join(" ");
}

/** Durable lists the durable threads of the process: by what they do, and the oldest of them; or tells the history of one. */
export function Durable({ state, store, active, activate, tabs }: ViewProps) {
  const { process, route } = state;
  const filter = route.durableFilter;
  const sort = route.durableSort || orders[0][0];
  const top = Math.min(many, Math.max(1, Math.round(Number(route.durableTop)) || some));
  const key = process?.key ?? "";
  const live = key !== "" && !process?.missing && process?.status !== "recorded";
  const none = live && (process?.durable ?? 0) === 0;
  const one = route.durable;
  const fetched = useDocument<Durables>(live && !none && !one ? api(key, "durable", { filter, sort: route.durableSort, top: String(top) }) : "", settled(state) ? 0 : every);
  const d = fetched.value;
  const line = [live ? `vtdump durable ${target(state)}` : "", filter && `--filter ${quote(filter)}`, route.durableSort && `--sort ${quote(sort)}`, top !== some && `--top ${top}`].filter(Boolean).join(" ");
  return (
    <Panel
      id="durable"
      title="Durable threads"
      head={tabs}
      note={d && !one && `${filter ? `${count(d.matched)} of ${count(d.threads)}` : count(d.threads)} durable ${d.threads === 1 ? "thread" : "threads"} · at ${clock(fetched.at)}`}
      active={active}
      onActivate={activate}
      foot={live && !one && <Command line={line} />}
    >
      {one ? (
        <div class="durable">
          <p class="chosen">
            <button type="button" onClick={() => store.go({ durable: "" })}>
              ‹ all durable threads
            </button>{" "}
            <b>{one}</b>
          </p>
          <History process={live ? key : ""} id={one} state={state} store={store} whole />
        </div>
      ) : !live ? (
        <Empty>{whyEmpty(state) || "A file has no journals: durable threads are asked of a process that lives, or of the folder of its store (vtdump durable DIR)."}</Empty>
      ) : (
        <div class="durable">
          {route.at !== "" && !none && <p class="dim">These are the durable threads of now: of the past only the history of each is known.</p>}
          {fetched.error && !(none && !d) && (
            <p class="bad" role="alert">
              {fetched.error} {fetched.attempt && <span class="dim">Try: {fetched.attempt}</span>}{" "}
              {(filter || route.durableSort) && !d && (
                <button type="button" onClick={() => store.go({ durableFilter: "", durableSort: "" })}>
                  show all
                </button>
              )}
            </p>
          )}
          {none && !d?.threads ? (
            <Empty>The process has no durable threads. Package durable makes them: they outlive their process, and are listed here with what they wait for.</Empty>
          ) : d ? (
            <All d={d} now={fetched.at} filter={filter} sort={sort} store={store} />
          ) : (
            !fetched.error && <Empty>Asking the process for them …</Empty>
          )}
        </div>
      )}
    </Panel>
  );
}

interface AllProps {
  d: Durables;
  now: number;
  filter: string;
  sort: string;
  store: Store;
}

function All({ d, now, filter, sort, store }: AllProps) {
  const setFilter = (durableFilter: string): void => store.go({ durableFilter });
  const states = (Object.entries(d.states) as [string, number][]).sort((a, b) => b[1] - a[1]);
  return (
    <>
      {d.source.why && <p class="dim">Read from the folder {d.source.path}: {d.source.why}</p>}
      {(d.incomplete ?? []).map((why) => (
        <p key={why} class="bad">
          incomplete: {why}
        </p>
      ))}
      <p class="of-states">
        {states.map(([name, n]) => (
          <span key={name}>
            <Word state={name} /> <b>{count(n)}</b>
          </span>
        ))}
        {filter && (
          <button type="button" class="link" onClick={() => setFilter("")}>
            show all
          </button>
        )}
      </p>
      {d.groups.length > 0 && (
        <table class="of-groups" aria-label="durable threads by body and what they wait for">
          <thead>
            <tr>
              <th scope="col" class="number">threads</th>
              <th scope="col">body</th>
              <th scope="col">state</th>
              <th scope="col">waits for</th>
              <th scope="col" class="number">longest</th>
              <th scope="col" class="number">steps</th>
              <th scope="col" class="number">errors</th>
            </tr>
          </thead>
          <tbody>
            {d.groups.map((g, i) => (
              <tr key={i} data-body={g.body}>
                <td class="number">
                  <button type="button" class="link" title={`list them: ${chosen(g)}`} onClick={() => setFilter(chosen(g))}>
                    {count(g.threads)}
                  </button>
                </td>
                <td>{g.body}</td>
                <td>
                  <Word state={g.state} />
                </td>
                <td>{g.error ? <span class="bad">{g.error}</span> : g.wait ? waited(g.wait) : ""}</td>
                <td class="number">{duration(g.longest_ns)}</td>
                <td class="number">{count(g.steps)}</td>
                <td class="number">{(g.failed ?? 0) > 0 ? <span class="bad">{count(g.failed ?? 0)}</span> : ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {(d.groups_left ?? 0) > 0 && <p class="dim">{count(d.groups_left ?? 0)} more groups are left out.</p>}
      <p class="chosen">
        <b>{filter ? "Those" : "Threads"}</b>
        {filter && <code>{filter}</code>}
        <label>
          first{" "}
          <select value={sort} onChange={(e) => store.go({ durableSort: e.currentTarget.value === orders[0][0] ? "" : e.currentTarget.value })}>
            {orders.map(([name, about]) => (
              <option key={name} value={name}>
                {about}
              </option>
            ))}
          </select>
        </label>
      </p>
      {d.rows.length === 0 ? (
        <Empty>{filter ? "None is so any more." : "There is none: those that there were have ended, and were forgotten."}</Empty>
      ) : (
        <ul class="of-rows" aria-label="durable threads">
          {d.rows.map((r) => (
            <Row key={r.id} r={r} now={now} store={store} />
          ))}
        </ul>
      )}
      {(d.rows_left ?? 0) > 0 && (
        <p class="dim">
          {count(d.rows_left ?? 0)} more are left out.{" "}
          {d.rows.length < many && (
            <button type="button" class="link" onClick={() => store.go({ durableTop: String(many) })}>
              show {many}
            </button>
          )}
        </p>
      )}
    </>
  );
}

function Row({ r, now, store }: { r: DurableRow; now: number; store: Store }) {
  return (
    <li data-durable={r.id}>
      <button type="button" class="one" onClick={() => store.go({ durable: r.id })} title={`the history of ${r.id}`}>
        <span class="id">{r.id}</span>
        <span>{r.body}</span>
        <span>
          <Word state={r.state} />
          {r.since && <span class="dim"> {ago(r.since, now)}</span>}
        </span>
        <span class="for">
          {r.wait && waited(r.wait)}
          {r.wait?.until && <span class="dim"> until {at(r.wait.until)}</span>}
          {(r.attempts ?? 0) > 1 && <span class="dim"> attempt {r.attempts}</span>}
          {r.error && <span class="bad"> {r.error}</span>}
        </span>
        <span class="number">
          {count(r.steps)} {r.steps === 1 ? "step" : "steps"}
          {(r.failed ?? 0) > 0 && <span class="bad">, {count(r.failed ?? 0)} {r.failed === 1 ? "error" : "errors"}</span>}
        </span>
      </button>
    </li>
  );
}
