import "./groupmark.css";
import { useState } from "preact/hooks";
import { api } from "./document";
import type { GroupRow } from "./protocol";
import type { State } from "./store";
import { say } from "./toast";

/** The shapes of the marks, beside their words. */
const shapes: Record<string, string> = { good: "✓", suspicious: "!" };

/** GroupMark is what somebody thinks of a group; nothing if nobody has said. */
export function GroupMark({ row }: { row: GroupRow }) {
  if (!row.mark) return null;
  return (
    <span class={`group-mark ${row.mark}`} title={row.note || `somebody has marked this group ${row.mark}`}>
      <i aria-hidden="true">{shapes[row.mark] ?? "•"}</i> {row.mark}
    </span>
  );
}

/** Marking tells the mark of a group, and lets who may operate set it. */
export function Marking({ state, row }: { state: State; row: GroupRow }) {
  const [busy, wait] = useState(false);
  const { config, process } = state;
  const may = config?.marks && config.caller.role === "operate" && process && !process.missing;
  if (!may && !row.mark) return null;
  const mark = async (word: string): Promise<void> => {
    wait(true);
    try {
      const answer = await fetch(api(process?.key ?? "", `groups/${row.key}/mark`), { method: "POST", headers: { "Content-Type": "text/plain; charset=utf-8" }, body: row.note && word !== "none" ? `${word} # ${row.note}` : word });
      const body = (await answer.json()) as { error?: string; try?: string; mark?: string; file?: string };
      say(answer.ok ? (word === "none" ? "the mark is taken away" : `marked ${word}, in ${body.file ?? ""}`) : `${body.error ?? answer.statusText}${body.try ? ` (try: ${body.try})` : ""}`);
    } catch (e) {
      say(`vtserve does not answer: ${e instanceof Error ? e.message : String(e)}`);
    }
    wait(false);
  };
  return (
    <div id="marking">
      <dt>mark</dt>
      <dd>
        <GroupMark row={row} />
        {row.note && <span class="dim"> {row.note}</span>}
        {may &&
          ["good", "suspicious", "none"]
            .filter((word) => word !== (row.mark || "none"))
            .map((word) => (
              <button key={word} type="button" disabled={busy} onClick={() => void mark(word)} title={word === "none" ? "take the mark away" : `all groups with this stack in scopes of this path are ${word}, in every process`}>
                {word}
              </button>
            ))}
      </dd>
    </div>
  );
}
