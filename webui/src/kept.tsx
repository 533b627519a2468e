import { useState } from "preact/hooks";
import { opened, useDocument } from "./document";
import type { IncidentList, IncidentRow } from "./documents";
import { bytes, clock, count, withPID } from "./format";
import "./kept.css";
import type { OverlayProps } from "./overlays";
import { Command, Empty } from "./panel";
import { download } from "./save";

/** Kept lists the recordings and bundles that vtserve shows, and the bundles that it keeps. */
export function Kept({ context, close }: OverlayProps) {
  const { state, store } = context;
  const keeps = state.config?.incidents ?? false;
  const page = useDocument<IncidentList>(keeps ? "api/v1/incidents" : "", 5_000);
  const [error, fail] = useState("");
  const shown = (state.processes ?? []).filter((p) => p.status === "recorded");
  const operate = state.config?.caller.role === "operate";
  const show = (key: string): void => {
    store.go({ process: key });
    close();
  };
  const open = async (row: IncidentRow): Promise<void> => {
    if (row.key) return show(row.key);
    const { key, why } = await opened(`api/v1/incidents/${encodeURIComponent(row.id)}/open`);
    if (key) show(key);
    else fail(why);
  };
  return (
    <div class="kept">
      <h3>Shown among the processes</h3>
      {shown.length === 0 ? (
        <Empty>None: no recording or bundle was given to vtserve, and none was opened here.</Empty>
      ) : (
        <ul>
          {shown.map((p) => (
            <li key={p.key}>
              <span class="title">
                <b>{p.key}</b>
                <span class="dim">
                  {withPID(p)}, {count(p.threads)} threads, ends {moment(p.gone)}
                </span>
              </span>
              <button type="button" onClick={() => show(p.key)}>
                show
              </button>
            </li>
          ))}
        </ul>
      )}
      <h3>Incident bundles {page.value && <span class="dim">in {page.value.dir}</span>}</h3>
      {error && <p class="bad">{error}</p>}
      {page.error && (
        <p class="bad">
          {page.error}
          {page.attempt && ` (try: ${page.attempt})`}
        </p>
      )}
      {!keeps ? (
        <Empty>Off: vtserve keeps no incidents. Start it with --incidents DIR, and --on RULE for what is to be kept by itself.</Empty>
      ) : !page.value ? (
        !page.error && <Empty>The list is on its way.</Empty>
      ) : page.value.rows.length === 0 ? (
        <Empty>None: no rule came true, and nobody asked for one. Export (e) takes one.</Empty>
      ) : (
        <ul>
          {page.value.rows.map((row) => (
            <li key={row.id} data-bundle={row.id}>
              <span class="title">
                <b>{moment(row.at)}</b>
                <span>
                  {row.program} (pid {row.pid})
                </span>
                <span class="dim">
                  {bytes(row.size)}
                  {row.missing > 0 && `, ${count(row.missing)} parts missing`}
                </span>
                <span class="causes">{row.problem || row.causes.join("; ")}</span>
                <Command line={`vtdump open ${page.value?.dir}/${row.id}.vti`} />
              </span>
              <span class="does">
                <button type="button" disabled={row.problem !== "" || (!operate && !row.key)} title={operate || row.key ? "show it among the processes" : "this needs the role operate"} onClick={() => void open(row)}>
                  {row.key ? "show" : "open"}
                </button>
                <button type="button" onClick={() => download(`api/v1/incidents/${encodeURIComponent(row.id)}`, `${row.id}.vti`)}>
                  save
                </button>
              </span>
            </li>
          ))}
        </ul>
      )}
      {(page.value?.rest ?? 0) > 0 && <p class="rest">{count(page.value?.rest ?? 0)} older ones</p>}
    </div>
  );
}

function moment(ms: number): string {
  const d = new Date(ms);
  return new Date().toDateString() === d.toDateString() ? clock(ms) : `${d.toLocaleDateString()} ${clock(ms)}`;
}
