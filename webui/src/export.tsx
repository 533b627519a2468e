import { useEffect, useRef, useState } from "preact/hooks";
import { narrowed } from "./command";
import { api, useDocument } from "./document";
import type { ExportRow, Exports } from "./documents";
import { coming, notRecorded, whyEmpty } from "./empty";
import { allowed, cheap, pathOf } from "./exports";
import "./export.css";
import { bytes, duration } from "./format";
import { markdown } from "./markdown";
import { exactly } from "./moment";
import type { OverlayProps } from "./overlays";
import { Command, Empty } from "./panel";
import { openInPerfetto } from "./perfetto";
import { pictures, savePicture } from "./picture";
import { writeRoute } from "./route";
import { download, keep } from "./save";
import type { State } from "./store";
import { copy, say } from "./toast";

const spans = ["5s", "10s", "30s", "1m", "5m"];

/** Export lists all that can be taken away of the process, with what it costs; what costs is asked about. */
export function Export({ context }: OverlayProps) {
  const { state } = context;
  const { process, route } = state;
  const [span, choose] = useState("10s");
  const [open, unfold] = useState("");
  const page = useDocument<Exports>(process && !process.missing ? api(process.key, "exports", { for: span }) : "", 0);
  const [kept, keepRows] = useState<Exports | null>(null);
  useEffect(() => {
    if (page.value) keepRows(page.value); // those of the last span stay until the next come
  }, [page.value]);
  const rows = (page.value ?? kept)?.rows ?? [];
  const lack = notRecorded(state, ["thread-start", "mount", "park", "unpark"]);
  return (
    <div class="export">
      <p class="facts">
        <span>
          {route.scope || route.filter ? "Dumps are of the threads shown: " : "Dumps are of all threads. "}
          {route.scope && (
            <>
              scope <code>{route.scope}</code>{" "}
            </>
          )}
          {route.filter && (
            <>
              filter <code>{route.filter}</code>{" "}
            </>
          )}
          {route.at && <>As they were at {exactly(Number(route.at))}.</>}
        </span>
        <span class="fill" />
        <label>
          recordings and profiles last{" "}
          <select value={span} onChange={(e) => choose(e.currentTarget.value)}>
            {spans.map((s) => (
              <option key={s}>{s}</option>
            ))}
          </select>
        </label>
      </p>
      {page.error && (
        <p class="bad">
          {page.error}
          {page.attempt && ` (try: ${page.attempt})`}
        </p>
      )}
      {lack.length > 0 && rows.length > 0 && <p class="bad">Recordings, traces and profiles of waits will lack what the recorder's settings leave out: {lack.join(", ")}.</p>}
      {rows.length === 0 && !page.error && <Empty>{whyEmpty(state) || coming(state, "What there is to export is on its way.")}</Empty>}
      <ul class="ways">
        {rows.map((row) => (
          <Way key={row.name} row={row} state={state} open={open === row.name} unfold={(on) => unfold(on ? row.name : "")} />
        ))}
        <li class="wide">
          <span class="title">
            <b>What the page shows</b>
            <span class="dim">header, findings, groups and the stack, for a chat or an issue</span>
          </span>
          <span class="does">
            <button type="button" id="copy-markdown" onClick={() => void copy(markdown(state), "Markdown")}>
              copy as Markdown
            </button>
            <button type="button" onClick={() => void copy(location.origin + location.pathname + writeRoute({ ...route, panel: "" }), "link")}>
              copy the link
            </button>
          </span>
        </li>
        <li class="wide">
          <span class="title">
            <b>Pictures</b>
            <span class="dim">{pictures().length > 0 ? "PNG, as they are drawn now" : "None: nothing is drawn on the page now."}</span>
          </span>
          <span class="does">
            {pictures().map((picture, i) => (
              <button key={i} type="button" onClick={() => savePicture(picture)}>
                {picture.title}
              </button>
            ))}
          </span>
        </li>
      </ul>
    </div>
  );
}

const marks: Record<string, string> = { low: "○", medium: "◐", high: "●" };

function Way({ row, state, open, unfold }: { row: ExportRow; state: State; open: boolean; unfold: (on: boolean) => void }) {
  const why = allowed(row, state);
  const verb = row.file ? "save" : "take";
  return (
    <li data-export={row.name}>
      <span class="title">
        <b>{row.title}</b>
        <span class="dim">{row.about}</span>
      </span>
      <span class={`risk ${row.risk}`} title={row.costs}>
        {marks[row.risk]} {row.risk} cost
      </span>
      <span class="dim size">
        {row.takes > 1e8 && `about ${duration(row.takes)}`}
        {row.takes > 1e8 && row.size > 0 && ", "}
        {row.size > 0 && `about ${bytes(row.size)}`}
      </span>
      <span class="does">
        {why ? (
          <span class="dim">{why}</span>
        ) : cheap(row) && row.name !== "perfetto" ? (
          <button
            type="button"
            onClick={() => {
              download(pathOf(row, state), row.file);
              say(`${row.title}: saved as ${row.file}`);
            }}
          >
            save {row.file}
          </button>
        ) : (
          <button type="button" aria-expanded={open} onClick={() => unfold(!open)}>
            {verb} {row.file} …
          </button>
        )}
      </span>
      {open && !why && <Costly row={row} state={state} verb={verb} />}
    </li>
  );
}

/** Costly tells what will happen, and does it when told to. What was made stays here until it is saved. */
function Costly({ row, state, verb }: { row: ExportRow; state: State; verb: string }) {
  const [doing, set] = useState<{ since: number; bytes: number } | null>(null);
  const [error, fail] = useState("");
  const [made, make] = useState<Blob | null>(null);
  const [taken, take] = useState("");
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async (): Promise<void> => {
    const control = new AbortController();
    abort.current = control;
    fail("");
    set({ since: Date.now(), bytes: 0 });
    try {
      const answer = await fetch(pathOf(row, state), { method: row.method, signal: control.signal });
      if (!answer.ok) {
        const refusal = (await answer.json()) as { error: string; try: string };
        throw new Error(`${refusal.error}${refusal.try ? ` (try: ${refusal.try})` : ""}`);
      }
      if (!row.file) {
        const bundle = (await answer.json()) as { id: string; path: string };
        take(bundle.path);
      } else make(await gather(answer, (n) => set((d) => d && { ...d, bytes: n })));
    } catch (e) {
      if (!control.signal.aborted) fail(e instanceof Error ? e.message : String(e));
    }
    set(null);
  };
  return (
    <div class="costly" role="group" aria-label={`${row.title}: what it costs`}>
      <p>
        {row.costs.slice(0, 1).toUpperCase() + row.costs.slice(1)}. It takes about {duration(row.takes)}
        {row.size > 0 && ` and makes about ${bytes(row.size)}`}. Cost for the process: <b class={`risk ${row.risk}`}>{row.risk}</b>.
        {row.name === "perfetto" && " When it is there, a click opens ui.perfetto.dev in a window of its own and hands it the trace within this browser: nothing is uploaded, but that page comes from the network."}
      </p>
      <p class="does">
        {!doing && !made && !taken && (
          <button type="button" class="go" onClick={() => void run()}>
            {verb} it now
          </button>
        )}
        {doing && (
          <>
            <Since since={doing.since} bytes={doing.bytes} of={row.takes} />
            <button type="button" onClick={() => abort.current?.abort()}>
              cancel
            </button>
          </>
        )}
        {made && (
          <>
            <b>{bytes(made.size)}</b>
            <button type="button" onClick={() => keep(made, row.file)}>
              save {row.file}
            </button>
            {row.name === "perfetto" && (
              <button type="button" onClick={() => void openInPerfetto(made, `${state.process?.program} (pid ${state.process?.pid})`).catch((e: Error) => fail(e.message))}>
                open in Perfetto
              </button>
            )}
            <button type="button" onClick={() => make(null)}>
              again
            </button>
          </>
        )}
        {taken && (
          <span>
            taken: <code>{taken}</code> · <a href={writeRoute({ ...state.route, panel: "kept" })}>open or save it</a>
          </span>
        )}
      </p>
      {error && <p class="bad">{error}</p>}
      <Command line={row.narrows ? narrowed(state, row.command) : row.command} />
    </div>
  );
}

async function gather(answer: Response, told: (bytes: number) => void): Promise<Blob> {
  const reader = answer.body?.getReader();
  if (!reader) return answer.blob();
  const parts: BlobPart[] = [];
  let n = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    parts.push(value);
    told((n += value.length));
  }
}

function Since({ since, bytes: n, of }: { since: number; bytes: number; of: number }) {
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now()), 250);
    return () => clearInterval(timer);
  }, []);
  return (
    <span role="status">
      {duration(Math.max(0, now - since) * 1e6)} of about {duration(of)}
      {n > 0 && `, ${bytes(n)} so far`}{" "}
      <progress max={of / 1e6} value={Math.min(of / 1e6, now - since)} />
    </span>
  );
}
