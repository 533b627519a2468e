import "./processes.css";
import { useEffect, useState } from "preact/hooks";
import { useDocument } from "./document";
import type { Overview, OverviewRow } from "./documents";
import { whyEmpty } from "./empty";
import { change, clock, count, duration, short } from "./format";
import type { OverlayProps } from "./overlays";
import { Command, Empty } from "./panel";
import { Programs } from "./programs";
import { Glyph } from "./states";
import type { State } from "./store";

const every = 2_000; // milliseconds
const mostChosen = 4;

/** A process of this agent, or of another one that it is connected to. */
interface Row extends OverviewRow {
  name: string; // key as the page's list of processes has it
}

/** Processes shows all processes beside each other, and up to four chosen ones figure by figure. */
export function Processes({ context, close }: OverlayProps) {
  const { state, store } = context;
  const own = useDocument<Overview>("api/v1/overview", every);
  const hosts = [...new Set((state.processes ?? []).filter((p) => p.host && p.status !== "unreachable").map((p) => p.host))].sort();
  const others = useOthers(hosts);
  const rows: Row[] = [...(own.value?.rows ?? []).map((r) => ({ ...r, name: r.key })), ...others.rows];
  const silent = (state.processes ?? []).filter((p) => p.status === "unreachable");
  const chosen = state.route.with.split(",").filter((name) => rows.some((r) => r.name === name));
  const [most] = [Math.max(1, ...rows.map((r) => r.threads))];
  const show = (row: Row): void => {
    if (row.host) {
      location.assign(`remote/${row.host}/#process=${encodeURIComponent(row.key)}`);
      return;
    }
    store.go({ process: row.key, panel: "" });
    close();
  };
  const choose = (name: string, on: boolean): void => store.go({ with: (on ? [...chosen, name].slice(-mostChosen) : chosen.filter((n) => n !== name)).join(",") });
  return (
    <div class="processes">
      {own.error && <p class="bad">{own.error}</p>}
      {state.route.at !== "" && <p class="dim">These are of now, whatever moment the page shows.</p>}
      {rows.length === 0 ? (
        (own.value || !own.error) && <Empty>{own.value ? (state.route.process ? "None is seen, so far." : whyEmpty(state)) : "The processes are on their way."}</Empty>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">
                  <span class="sr">beside each other</span>
                </th>
                <th scope="col">process</th>
                <th scope="col">status</th>
                <th scope="col">findings</th>
                <th scope="col" class="wide">
                  threads by state
                </th>
                {columns.map((c) => (
                  <th scope="col" key={c.title} title={c.about} class="n">
                    {c.title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.name} data-pid={row.pid} class={row.key === state.process?.key ? "shown" : ""}>
                  <td>
                    <input type="checkbox" checked={chosen.includes(row.name)} disabled={!chosen.includes(row.name) && chosen.length >= mostChosen} onChange={(e) => choose(row.name, e.currentTarget.checked)} aria-label={`put ${row.program} ${row.pid} beside others`} title={`at most ${mostChosen} beside each other`} />
                  </td>
                  <td>
                    <button type="button" class="link" title={row.name} onClick={() => show(row)}>
                      {row.status === "recorded" && row.key !== row.program ? `${row.program} ${row.key}` : row.pid > 0 ? `${row.program} ${row.pid}` : row.program}
                      {row.kind === "goroutine" && " · goroutines"}
                    </button>
                    {row.host && <span class="dim"> on {row.host}</span>}
                  </td>
                  <td>
                    <Status row={row} />
                  </td>
                  <td>
                    <FindingsOf row={row} />
                  </td>
                  <td class="wide">
                    <States state={state} row={row} most={most} />
                  </td>
                  {columns.map((c) => (
                    <td key={c.title} class="n">
                      {row.taken === 0 && c.ofSnapshot ? "–" : c.text(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {others.errors.map((e) => (
        <p class="bad" key={e}>
          {e}
        </p>
      ))}
      {silent.length > 0 && (
        <p class="dim">
          not reached: {silent.map((p) => `${p.program} ${p.pid} on ${p.host}, heard ${p.heard ? clock(p.heard) : "never"}`).join("; ")}
        </p>
      )}
      {chosen.length >= 2 ? (
        <Beside
          state={state}
          rows={chosen.flatMap((name) => rows.find((r) => r.name === name) ?? [])}
          diff={(from, to) => {
            store.go({ process: to.key, from: from.key, at: "", view: "diff", panel: "" });
            close();
          }}
        />
      ) : (
        rows.length > 1 && <p class="dim">Tick two to four processes to see them beside each other.</p>
      )}
      <Programs
        state={state}
        show={(key) => {
          store.go({ process: key, scope: "", group: "", at: "", panel: "" });
          close();
        }}
      />
      <Command line="vtdump" />
    </div>
  );
}

/** useOthers fetches the overviews of other agents. */
function useOthers(hosts: string[]): { rows: Row[]; errors: string[] } {
  const [got, set] = useState<Record<string, { rows: Row[]; error: string }>>({});
  const all = hosts.join(" ");
  useEffect(() => {
    if (!all) return;
    const abort = new AbortController();
    const load = async (): Promise<void> => {
      for (const host of document.hidden ? [] : all.split(" ")) {
        let now: { rows: Row[]; error: string };
        try {
          const answer = await fetch(`remote/${host}/api/v1/overview`, { signal: abort.signal });
          if (!answer.ok) throw new Error(answer.statusText || String(answer.status));
          const body = (await answer.json()) as Overview;
          now = { rows: body.rows.map((r) => ({ ...r, host, name: `${host}/${r.key}` })), error: "" };
        } catch (e) {
          if (abort.signal.aborted) return;
          now = { rows: [], error: `${host} has no overview: ${e instanceof Error ? e.message : String(e)}` };
        }
        set((old) => ({ ...old, [host]: now }));
      }
      timer = setTimeout(() => void load(), every);
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [all]);
  const shown = hosts.flatMap((host) => got[host] ?? []);
  return { rows: shown.flatMap((h) => h.rows), errors: shown.map((h) => h.error).filter((e) => e !== "") };
}

/** A figure by which processes are compared. */
interface Column {
  title: string;
  about: string;
  value: (row: OverviewRow) => number;
  text: (row: OverviewRow) => string;
  ofSnapshot: boolean;
}

const columns: Column[] = [
  { title: "threads", about: "that have not ended", value: (r) => r.threads, text: (r) => count(r.threads), ofSnapshot: false },
  { title: "change", about: "of threads, over up to half a minute", value: (r) => r.change, text: (r) => (r.changeOver > 0 ? change(r.change) || "0" : "–"), ofSnapshot: true },
  { title: "scopes", about: "that are open", value: (r) => r.scopes, text: (r) => count(r.scopes), ofSnapshot: true },
  { title: "starts/s", about: "threads that start each second", value: (r) => r.rates.starts, text: (r) => (r.kind === "goroutine" ? "–" : short(r.rates.starts)), ofSnapshot: false },
  { title: "switches/s", about: "threads that are mounted each second", value: (r) => r.rates.switches, text: (r) => (r.kind === "goroutine" ? "–" : short(r.rates.switches)), ofSnapshot: false },
  { title: "longest wait", about: "of any thread", value: (r) => r.oldest, text: (r) => (r.kind === "goroutine" && r.oldest === 0 ? "–" : duration(r.oldest)), ofSnapshot: true },
  { title: "dropped", about: "what the recorder could not keep", value: (r) => r.dropped, text: (r) => (r.kind === "goroutine" ? "–" : short(r.dropped)), ofSnapshot: false },
];

function Status({ row }: { row: OverviewRow }) {
  const bad = row.status === "gone" || row.status === "stopped";
  return (
    <span class={bad ? "bad" : row.gone ? "dim" : ""} title={row.problem || (row.started ? `started ${clock(row.started)}` : "")}>
      {row.status}
      {row.gone > 0 && ` ${clock(row.gone)}`}
      {row.problem && " ▲"}
      {row.taken > 0 && !row.complete && <em>incomplete</em>}
    </span>
  );
}

/** States is a bar as long as the process has threads, compared with the largest, divided by state. */
function States({ state, row, most }: { state: State; row: OverviewRow; most: number }) {
  const terms = state.config?.states ?? [];
  const parts = terms.flatMap((t, i) => ((row.counts[i] ?? 0) > 0 ? [{ name: t.name, n: row.counts[i] as number }] : []));
  const sum = parts.reduce((all, p) => all + p.n, 0);
  const words = parts.map((p) => `${count(p.n)} ${p.name}`).join(", ");
  return (
    <span class="bar-of" role="img" aria-label={words || "no threads are known"} title={words.replaceAll(", ", "\n")}>
      <span class="stack-bar" style={{ width: `${Math.max(2, (100 * row.threads) / most)}%` }}>
        {parts.map((p) => (
          <i key={p.name} class={`state-${p.name}`} style={{ width: `${(100 * p.n) / sum}%` }} />
        ))}
      </span>
      <span class="words-of">
        {[...parts]
          .sort((a, b) => b.n - a.n)
          .slice(0, 3)
          .map((p) => (
            <span key={p.name}>
              <Glyph state={p.name} /> {short(p.n)}
            </span>
          ))}
      </span>
    </span>
  );
}

function FindingsOf({ row }: { row: OverviewRow }) {
  if (!row.judged) return <span class="dim">–</span>;
  const parts = [
    [row.errors, "error"],
    [row.warnings, "warning"],
    [row.infos, "info"],
  ] as const;
  if (!row.worst) return <span class="dim">none</span>;
  return (
    <span title={row.worst}>
      {parts.map(([n, what]) => n > 0 && <b key={what} class={`severity-${what}`}>{`${n} ${what}${n > 1 && what !== "info" ? "s" : ""} `}</b>)}
    </span>
  );
}

interface BesideProps {
  state: State;
  rows: Row[];
  diff: (from: Row, to: Row) => void;
}

/** From this ratio on the largest figure of a line is marked. */
const marked = 1.5;

/** Beside has a column for each process, and marks what differs. */
function Beside({ state, rows, diff }: BesideProps) {
  const states: Column[] = (state.config?.states ?? []).flatMap((t, i) =>
    rows.some((r) => (r.counts[i] ?? 0) > 0) ? [{ title: t.name, about: t.about, value: (r) => r.counts[i] ?? 0, text: (r) => count(r.counts[i] ?? 0), ofSnapshot: true }] : [],
  );
  const all: Column[] = [...columns.slice(0, 1), ...states, ...columns.slice(1), { title: "findings", about: "errors and warnings", value: (r) => r.errors + r.warnings, text: (r) => count(r.errors + r.warnings), ofSnapshot: false }];
  const [first, second] = rows;
  const local = rows.length === 2 && first && second && !first.host && !second.host;
  return (
    <section class="beside" aria-label="beside each other">
      <h3>
        Beside each other{" "}
        {local && (
          <button type="button" onClick={() => diff(first, second)} title="scopes and stacks that only one has, or has more of">
            what differs in scopes and stacks
          </button>
        )}
      </h3>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span class="sr">figure</span>
              </th>
              {rows.map((r) => (
                <th scope="col" key={r.name} class="n">
                  {r.program} {r.pid}
                  {r.host && <span class="dim"> on {r.host}</span>}
                </th>
              ))}
              <th scope="col">largest to smallest</th>
            </tr>
          </thead>
          <tbody>
            {all.map((c) => {
              const values = rows.map(c.value);
              const largest = Math.max(...values);
              const least = Math.min(...values);
              const differs = largest > 0 && (least <= 0 || largest / least >= marked);
              return (
                <tr key={c.title} data-figure={c.title} class={differs ? "differs" : ""}>
                  <th scope="row" title={c.about}>
                    {c.title}
                  </th>
                  {rows.map((r, i) => (
                    <td key={r.name} class="n">
                      {differs && values[i] === largest ? <b>▲ {c.text(r)}</b> : c.text(r)}
                    </td>
                  ))}
                  <td class="dim">{differs ? (least > 0 ? `${short(largest / least)} times` : "one has none") : "alike"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
