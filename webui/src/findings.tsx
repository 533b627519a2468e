import "./findings.css";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { coming, whyEmpty } from "./empty";
import { base, clock, count, duration, leaf } from "./format";
import { few, fold, tally } from "./foldfindings";
import { addKeys, everywhere } from "./keys";
import { Empty, NowCommand, Panel } from "./panel";
import { ThreadLink } from "./party";
import type { FindingRow, Findings as FindingsMember } from "./protocol";
import { reveal } from "./reveal";
import { useStill } from "./rows";
import { useStillHeight } from "./stillheight";
import type { State, Store } from "./store";

/** Findings lists what the checks find. A click shows the scope and the group that a finding is about. */
export function Findings({ state, store }: { state: State; store: Store }) {
  const { findings, route } = state;
  const [over, hover] = useState(false);
  const rows = findings?.rows ?? [];
  const placed = useStill(rows, (row) => row.key, over, `${state.process?.key} ${route.at}`);
  const worst = rows[0]?.severity;
  const all = route.findings === "all";
  const unlisted = findings?.rest ?? 0;
  const unjudged = (findings?.unjudged ?? []).filter((u) => !u.partly);
  const partly = (findings?.unjudged ?? []).filter((u) => u.partly);
  const { rest } = fold(rows, all, route.group);
  return (
    <Panel
      id="findings"
      title={rows.length === 1 ? "1 finding" : rows.length > 1 ? `${count(rows.length + unlisted)} findings` : "Findings"}
      note={worst && <b class={`severity-${worst}`}>{worstOf(rows, unlisted)}</b>}
      onHover={hover}
      foot={<NowCommand state={state} of="findings" />}
    >
      <Still key={`${state.process?.key} ${all}`}>
        {placed.length === 0 ? (
          <Empty>{why(state, findings)}</Empty>
        ) : (
          <ul class="findings" id="findings-list" aria-label="findings">
            {placed.filter(({ row }) => !rest.some((r) => r.key === row.key)).map(({ row, gone }, i) => (
              <Finding key={row.key} row={row} gone={gone} remedy={remedyOf(state, row.check)} oldest={state.moment?.oldest ?? 0} brief={i > 0 && !all && row.group !== ""} chosen={row.group !== "" && row.group === route.group} store={store} />
            ))}
          </ul>
        )}
      </Still>
      {(rest.length > 0 || (all && rows.length > few)) && (
        <button type="button" class="fold" aria-expanded={all} aria-controls="findings-list" title={rest.map((row) => `${row.severity}: ${row.check}: ${row.what}`).join("\n")} onClick={() => toggle(store)}>
          {all ? (
            `only the worst ${few}`
          ) : (
            <>
              <span class="how-many">{count(rest.length)} more:</span>
              {tally(rest).map(({ check, severity, n }) => (
                <span key={check + severity} class="of">
                  <Severity of={severity} /> {check}
                  {n > 1 && ` ×${n}`}
                </span>
              ))}
            </>
          )}
        </button>
      )}
      {unlisted > 0 && <p class="rest">{count(unlisted)} more are not listed here</p>}
      {unjudged.length > 0 && (
        <p class="rest" title={unjudged.map((u) => `${u.check}: ${u.why}`).join("\n")}>
          {count(unjudged.length)} checks are not judged: {unjudged.map((u) => u.check).join(", ")}
        </p>
      )}
      {partly.map((u) => (
        <p key={u.check} class="rest">
          {u.check} is judged in part: {u.why}
        </p>
      ))}
    </Panel>
  );
}

/** worstOf says how many findings are as bad as the first. */
function worstOf(rows: FindingRow[], unlisted: number): string {
  const worst = rows[0]?.severity ?? "";
  const n = rows.filter((row) => row.severity === worst).length;
  if (n === rows.length && unlisted > 0) return worst; // those that are not listed may be as bad
  return `${count(n)} ${worst}${n === 1 || worst === "info" ? "" : "s"}`;
}

/** toggle lists all findings, or the worst alone. */
function toggle(store: Store): void {
  store.go({ findings: store.state.route.findings === "all" ? "" : "all" });
}

addKeys({
  keys: ["a"],
  words: ({ state }) => (state.route.findings === "all" ? "list the worst findings only" : "list all findings"),
  place: everywhere,
  when: ({ state }) => (state.findings?.rows.length ?? 0) > few,
  act: ({ store }) => toggle(store),
});

/** remedyOf is what to do about what a check finds; "": recorded traffic of older agents has no words for it. */
function remedyOf(state: State, check: string): string {
  return (state.config?.checks ?? []).find((c) => c.name === check)?.remedy ?? "";
}

/** Still holds what it has at its height, and so the panels below in their places. */
export function Still({ children }: { children: ComponentChildren }) {
  const ref = useStillHeight();
  return (
    <div ref={ref} class="still">
      <div>{children}</div>
    </div>
  );
}

/** A way is where a finding leads: what it is of, who is in it, where carriers were held, or the function of its place. */
interface Way {
  words: string;
  go: () => void;
}

/** wayOf is the best of them; null if the finding has none. */
function wayOf(store: Store, row: FindingRow): Way | null {
  const only = row.threads[0];
  if (row.scopeKey !== "" || row.group !== "") return { words: "show its scope and group", go: () => store.go({ scope: row.scope || row.scopeKey, group: row.group, filter: "" }) };
  if (only) return { words: "show the first of its threads", go: () => store.go({ thread: String(only.id) }) };
  if (holds.includes(row.check)) return { words: "show where threads held their carriers", go: () => revealPin(row) };
  if (row.at.func) return { words: "show who calls the function", go: () => store.go({ view: "graph", func: row.at.func, scope: "", group: "", filter: "" }) };
  return null;
}

/** revealPin shows the row of the place at which threads held their carriers, or else the part that it would be in. */
function revealPin(row: FindingRow): void {
  reveal(`#pins tr[data-at="${CSS.escape(`${row.at.file}:${row.at.line}`)}"]`, "#pins");
}

/** Severity has a shape and a word besides its colour. */
function Severity({ of }: { of: string }) {
  return (
    <svg class={`glyph severity-${of}`} viewBox="0 0 10 10" width="11" height="11" role="img" aria-label={of}>
      <title>{of}</title>
      {of === "error" ? (
        <path d="M5 .4l4.8 9H.2z" fill="currentColor" />
      ) : of === "warning" ? (
        <path d="M5 .6L9.4 5 5 9.4.6 5z" fill="currentColor" />
      ) : (
        <circle cx="5" cy="5" r="3.6" fill="none" stroke="currentColor" stroke-width="1.8" />
      )}
    </svg>
  );
}

/** waits are the checks that find who waits for whom. */
const waits = ["deadlock", "holder-gone", "long-held"];

/** holds are the checks that find threads which keep their carriers. */
const holds = ["carriers-held", "os-threads", "pinned", "pinned-often"];

/** grows are the checks that find what becomes more. */
const grows = ["scope-growth", "spawn-storm", "unbounded-queue"];

function Finding({ row, gone, remedy, oldest, brief, chosen, store }: { row: FindingRow; gone: boolean; remedy: string; oldest: number; brief: boolean; chosen: boolean; store: Store }) {
  const way = wayOf(store, row);
  const only = row.threads.length === 1 ? row.threads[0] : undefined;
  return (
    <li data-check={row.check} data-severity={row.severity} class={`${chosen ? "chosen" : brief ? "brief" : ""} ${gone ? "over" : ""}`.trim()}>
      <button type="button" class="finding" disabled={!way} onClick={() => way?.go()} title={title(row, way)}>
        <span class="head">
          <b class={`severity-${row.severity}`}>
            <Severity of={row.severity} /> {row.check}
          </b>
          <span class="dim">
            {gone ? "over" : `${row.severity} since ${clock(row.since)}`}
          </span>
        </span>
        <span class="what">{row.what}</span>
        {row.at.func && (
          <span class="at">
            <code>{leaf(row.at.func)}</code>
            <span class="dim">
              {" "}
              {base(row.at.file)}:{row.at.line}
            </span>
          </span>
        )}
        <span class="dim measured">
          {row.measured}; found from {row.from} on
        </span>
      </button>
      <div class="more">
        {only && (
          <span class="only">
            open <ThreadLink id={only.id} name={only.name} store={store} />
          </span>
        )}
        {holds.includes(row.check) && (
          <button type="button" class="link" onClick={() => revealPin(row)}>
            where carriers were held
          </button>
        )}
        {waits.includes(row.check) && (
          <button type="button" class="link" onClick={() => store.go({ scope: "", group: "", filter: "", view: "waits", thread: "" })}>
            who waits for whom
          </button>
        )}
        {grows.includes(row.check) && (
          <button type="button" class="link" onClick={() => store.go({ view: "diff", from: String(Math.max(row.since, oldest)), filter: "", thread: "" })} title={`what changed since ${clock(Math.max(row.since, oldest))}`}>
            what changed since
          </button>
        )}
        <details open={chosen}>
          <summary>{row.evidence.length + row.threads.length > (only ? 1 : 0) ? "evidence, and what to do" : "what to do"}</summary>
          {row.evidence.map((line) => (
            <p key={line} class="evidence">
              {line}
            </p>
          ))}
          {!only && row.threads.length > 0 && (
            <p class="examples-of">
              {row.threads.map((t) => (
                <span key={t.id}>
                  <ThreadLink id={t.id} name={t.name} store={store} /> {t.wait > 0 && <span class="dim">{duration(t.wait)}</span>}
                </span>
              ))}
            </p>
          )}
          {remedy && (
            <p class="remedy">
              <b>What to do:</b> {remedy}
            </p>
          )}
          <p class="dim">{row.page} has more</p>
        </details>
      </div>
    </li>
  );
}

function title(row: FindingRow, way: Way | null): string {
  const threads = row.threads.map((t) => `#${t.id}${t.name && ` "${t.name}"`}`).join(" ");
  return [way ? way.words : "it is of no scope, group or place", row.what, ...row.evidence, threads && `threads ${threads}`].filter((line) => line !== "").join("\n");
}

function why(state: State, findings: FindingsMember | null): string {
  const empty = whyEmpty(state);
  if (empty) return empty;
  if (!findings || findings.missing) return findings?.missing ?? coming(state, "The first look is on its way.");
  if (state.process?.gone === 0 && state.route.at === "" && state.process.snapshot.time > 0 && state.process.counts.every((n) => n === 0)) return "None: there are no threads to check, and goroutines are not checked.";
  return findings.unjudged.some((u) => !u.partly) ? "None by the checks that are judged." : "None: the checks find nothing.";
}
