import { useState } from "preact/hooks";
import { api, useDocument } from "./document";
import type { RecorderSettings, SettingRow } from "./documents";
import { coming, whyEmpty } from "./empty";
import { clock, count, duration, short } from "./format";
import type { OverlayProps } from "./overlays";
import { Command, Empty } from "./panel";
import { quote } from "./command";
import { moment } from "./settled";
import "./settings.css";
import type { State } from "./store";
import { say } from "./toast";

const sets = ["default", "profile", "off"];

/** Settings shows what the recorder records of each kind of events, and changes it for who may. */
export function Settings({ context }: OverlayProps) {
  const { state } = context;
  const { process } = state;
  const page = useDocument<RecorderSettings>(process && !process.missing ? api(process.key, "settings", moment(state)) : "", 0);
  const [changes, write] = useState("");
  const [busy, work] = useState(false);
  const [wrong, blame] = useState<{ error: string; try: string } | null>(null);
  const lines = changes.split("\n");
  const asked = lines.map((l) => l.trim()).filter((l) => l !== "" && !l.startsWith("#"));
  const line = Number(/line (\d+):/.exec(wrong?.error ?? "")?.[1] ?? 0);
  const d = page.value;
  if (!d || !process) return <Empty>{page.error ? `${page.error}${page.attempt && ` (try: ${page.attempt})`}` : whyEmpty(state) || coming(state, "The settings are on their way.")}</Empty>;
  const then = state.route.at !== "";
  const may = state.config?.caller.role === "operate" && process.gone === 0 && !then;
  const add = (change: string): void => {
    const key = change.split("=")[0];
    write([...lines.filter((l) => l.trim() !== "" && l.split("=")[0]?.trim() !== key), change].join("\n"));
    blame(null);
  };
  const apply = async (): Promise<void> => {
    work(true);
    blame(null);
    try {
      const answer = await fetch(api(process.key, "settings"), { method: "POST", body: changes });
      const body = (await answer.json()) as { error: string; try: string };
      if (answer.ok) {
        write("");
        say("the recorder records so from now on");
        page.again();
      } else blame(body);
    } catch (e) {
      blame({ error: `vtserve does not answer: ${e instanceof Error ? e.message : String(e)}`, try: "" });
    }
    work(false);
  };
  return (
    <div class="settings">
      <p class="facts">
        {d.status === "recorded" && (
          <span>
            as they were at <b>{clock(Date.parse(d.as_of))}</b>
          </span>
        )}
        <span>
          settings <b>{d.name || "not known"}</b>
          {d.changed && `, since ${clock(Date.parse(d.changed))}`}
        </span>
        {d.kinds.length > 0 && (
          <span>
            processor time of threads is <b>{d.cpu_time ? "measured" : "not measured"}</b>
          </span>
        )}
        {d.incomplete?.map((why) => <span key={why}>incomplete: {why}</span>)}
      </p>
      <div class="sides">
        {d.kinds.length === 0 && <Empty>What of each kind was recorded is not known.</Empty>}
        <table class="kinds" hidden={d.kinds.length === 0} tabIndex={may ? undefined : 0} aria-label="kinds of events">
          <thead>
            <tr>
              <th scope="col">kind</th>
              <th scope="col">recorded</th>
              <th scope="col">from</th>
              <th scope="col">stack</th>
              <th scope="col">one in</th>
              <th scope="col">at most</th>
              <th scope="col">{then ? "then" : "now"}</th>
              <th scope="col">how often it happens</th>
            </tr>
          </thead>
          <tbody>
            {d.kinds.map((row) => (
              <Row key={row.name} row={row} state={state} change={may ? add : null} />
            ))}
          </tbody>
        </table>
        <form
          onSubmit={(e) => {
            e.preventDefault();
            void apply();
          }}
        >
          <h3>Changes</h3>
          {!may && (
            <p class="dim">
              {process.gone > 0 ? "The process is gone: nothing can be changed." : then ? "These are of the past." : "Changing needs the role operate; you may look."}
            </p>
          )}
          {then && process.gone === 0 && (
            <button type="button" onClick={() => context.store.now()}>
              the settings of now, to change them
            </button>
          )}
          {may && (
            <>
              <p class="does">
                {sets.map((s) => (
                  <button key={s} type="button" onClick={() => write(`settings = ${s}`)}>
                    {s}
                  </button>
                ))}
              </p>
              <div class="lines">
                <ol aria-hidden="true">
                  {lines.map((_, i) => (
                    <li key={i} class={i + 1 === line ? "wrong" : ""}>
                      {i + 1}
                    </li>
                  ))}
                </ol>
                <textarea
                  id="changes"
                  aria-label="changes, one a line"
                  aria-invalid={wrong !== null}
                  spellcheck={false}
                  rows={Math.max(6, lines.length)}
                  placeholder={"park.stack=off\nslice.threshold=5ms\nmount.every=100"}
                  value={changes}
                  onInput={(e) => {
                    write(e.currentTarget.value);
                    blame(null);
                  }}
                />
              </div>
              {wrong && (
                <p class="bad" role="alert">
                  {wrong.error}
                  {wrong.try && ` (try: ${wrong.try})`}
                </p>
              )}
              <p class="dim">{cost(asked, state)}</p>
              <p class="does">
                <button type="submit" class="go" disabled={busy || asked.length === 0}>
                  {busy ? "asking the process" : "change it now"}
                </button>
                <button type="button" disabled={changes === ""} onClick={() => write("")}>
                  clear
                </button>
              </p>
            </>
          )}
          {!then && process.status !== "recorded" && <Command line={`vtdump settings ${quote(String(process.pid))}${asked.map((l) => " " + quote(l.replace(/^settings\s*=\s*/, "").replaceAll(/\s*=\s*/g, "="))).join("")}`} />}
          {may && <p class="dim">docs/settings.md lists what can be changed. All lines are applied together, or none.</p>}
        </form>
      </div>
    </div>
  );
}

/** cost says what changes do to the process, as far as that is known. */
function cost(asked: string[], state: State): string {
  if (asked.length === 0) return "A change is recorded as an event. The process answers within a second; its threads do not wait.";
  const says: string[] = [];
  const kinds = state.config?.kinds ?? [];
  const rate = (name: string): number => state.events?.rows.find((r) => kinds[r.kind]?.name === name)?.rate ?? 0;
  for (const l of asked) {
    const [key = "", value = ""] = l.split("=").map((s) => s.trim());
    const [kind = "", what] = key.split(".");
    if (key === "settings") says.push(value === "profile" ? "profile records more kinds and measures processor time: some percent of what switches cost" : value === "off" ? "without events nothing tells what happened before: no recording, no rewinding, no profile of events" : "default costs little enough to be on always");
    else if (key === "cpu-time" && value === "on") says.push("processor time costs system calls at each switch");
    else if (value === "off") says.push(`${key}: less is known, less is paid`);
    else if (kinds.some((k) => k.name === kind)) says.push(`${kind}: ${what && what !== "stack" ? `${what} ${value}; ` : ""}about ${short(rate(kind))} a second now, some 25 ns each${what === "stack" ? ", and its stack some 15 ns more" : ""}`);
  }
  return says.join(". ") + ".";
}

function Row({ row, state, change }: { row: SettingRow; state: State; change: ((line: string) => void) | null }) {
  const term = state.config?.kinds.find((k) => k.name === row.name);
  const index = state.config?.kinds.findIndex((k) => k.name === row.name);
  const event = state.events?.rows.find((r) => r.kind === index);
  return (
    <tr title={term?.about} class={row.on ? "" : "off"}>
      <th scope="row">{row.name}</th>
      <td>
        {change && row.name !== "settings" ? (
          <button type="button" role="switch" aria-checked={row.on} aria-label={`record ${row.name}`} onClick={() => change(`${row.name}=${row.on ? "off" : "on"}`)}>
            {row.on ? "● on" : "○ off"}
          </button>
        ) : row.on ? (
          "● on"
        ) : (
          "○ off"
        )}
      </td>
      <td>{row.threshold_ns === undefined ? "–" : row.threshold_ns === 0 ? "all" : duration(row.threshold_ns)}</td>
      <td>{row.stack === undefined ? "–" : row.stack ? (row.depth ? `${row.depth} frames` : "yes") : "no"}</td>
      <td>{row.every > 1 ? count(row.every) : "1"}</td>
      <td>{row.per_second ? `${count(row.per_second)}/s` : "no limit"}</td>
      <td>{event && state.process?.status !== "recorded" ? `${short(event.rate)}/s` : "–"}</td>
      <td class="dim">{term?.cost ?? "a kind of the program's own"}</td>
    </tr>
  );
}
