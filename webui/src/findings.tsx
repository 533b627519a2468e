import "./findings.css";
import { commandLine } from "./command";
import { whyEmpty } from "./empty";
import { base, clock, count, duration, leaf } from "./format";
import { Command, Empty, Panel } from "./panel";
import { ThreadLink } from "./party";
import type { FindingRow, Findings as FindingsMember } from "./protocol";
import type { State, Store } from "./store";

/** Findings lists what the checks find. A click shows the scope and the group that a finding is about. */
export function Findings({ state, store }: { state: State; store: Store }) {
  const { findings, process, route } = state;
  const rows = findings?.rows ?? [];
  const worst = rows[0]?.severity;
  return (
    <Panel
      id="findings"
      title={rows.length === 1 ? "1 finding" : rows.length > 1 ? `${count(rows.length + (findings?.rest ?? 0))} findings` : "Findings"}
      note={worst && <b class={`severity-${worst}`}>{worst}</b>}
      foot={process && !process.missing && state.route.at === "" && <Command line={commandLine(state, "findings", {})} />}
    >
      {rows.length === 0 ? (
        <Empty>{why(state, findings)}</Empty>
      ) : (
        <ul class="findings" aria-label="findings">
          {rows.map((row) => (
            <Finding key={row.key} row={row} chosen={row.group !== "" && row.group === route.group} store={store} />
          ))}
        </ul>
      )}
      {(findings?.rest ?? 0) > 0 && <p class="rest">{count(findings?.rest ?? 0)} more</p>}
      {findings && findings.unjudged.length > 0 && (
        <p class="rest" title={findings.unjudged.map((u) => `${u.check}: ${u.why}`).join("\n")}>
          {count(findings.unjudged.length)} checks are not judged: {findings.unjudged.map((u) => u.check).join(", ")}
        </p>
      )}
    </Panel>
  );
}

function choose(store: Store, row: FindingRow): void {
  store.go({ scope: row.scope || row.scopeKey, group: row.group, filter: "" });
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

function Finding({ row, chosen, store }: { row: FindingRow; chosen: boolean; store: Store }) {
  const shows = row.scopeKey !== "" || row.group !== "";
  const only = row.threads.length === 1 ? row.threads[0] : undefined;
  return (
    <li data-check={row.check} data-severity={row.severity} class={chosen ? "chosen" : ""}>
      <button type="button" class="finding" disabled={!shows} onClick={() => choose(store, row)} title={title(row, shows)}>
        <span class="head">
          <b class={`severity-${row.severity}`}>
            <Severity of={row.severity} /> {row.check}
          </b>
          <span class="dim">
            {row.severity} since {clock(row.since)}
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
        <span class="dim">
          {row.measured}, found from {row.from} on · {row.page}
        </span>
      </button>
      <div class="more">
        {only && (
          <span class="only">
            open <ThreadLink id={only.id} name={only.name} store={store} />
          </span>
        )}
        {(row.check === "deadlock" || row.check === "holder-gone") && (
          <button type="button" class="link" onClick={() => store.go({ scope: "", group: "", filter: "", view: "waits", thread: "" })}>
            who waits for whom
          </button>
        )}
        {row.evidence.length + row.threads.length > (only ? 1 : 0) && (
          <details>
            <summary>evidence</summary>
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
          </details>
        )}
      </div>
    </li>
  );
}

function title(row: FindingRow, shows: boolean): string {
  const threads = row.threads.map((t) => `#${t.id}${t.name && ` "${t.name}"`}`).join(" ");
  return [shows ? "show its scope and group" : "it is of no scope or group", ...row.evidence, threads && `threads ${threads}`].filter((line) => line !== "").join("\n");
}

function why(state: State, findings: FindingsMember | null): string {
  const empty = whyEmpty(state);
  if (empty) return empty;
  if (!findings || findings.missing) return findings?.missing ?? "The first look is on its way.";
  return "None: the checks find nothing.";
}
