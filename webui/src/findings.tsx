import { commandLine } from "./command";
import { whyEmpty } from "./empty";
import { base, clock, count, leaf } from "./format";
import { Command, Empty, Panel } from "./panel";
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
            <Finding key={row.key} row={row} chosen={row.group !== "" && row.group === route.group} choose={() => choose(store, row)} />
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

function Finding({ row, chosen, choose }: { row: FindingRow; chosen: boolean; choose: () => void }) {
  const shows = row.scopeKey !== "" || row.group !== "";
  return (
    <li data-check={row.check} data-severity={row.severity} class={chosen ? "chosen" : ""}>
      <button type="button" disabled={!shows} onClick={choose} title={title(row, shows)}>
        <span class="head">
          <b class={`severity-${row.severity}`}>{row.check}</b>
          <span class="dim">since {clock(row.since)}</span>
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
        {row.evidence.length > 0 && <span class="evidence">{row.evidence[0]}</span>}
        <span class="dim">
          {row.measured}, found from {row.from} on · {row.page}
        </span>
      </button>
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
