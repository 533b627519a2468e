import { commandLine } from "./command";
import { whyEmpty } from "./empty";
import { base, count, duration, leaf } from "./format";
import { Marking } from "./groupmark";
import { Command, Empty, Panel } from "./panel";
import { Word } from "./states";
import type { State } from "./store";

interface StackProps {
  state: State;
  all: boolean; // internal frames too
  showAll: (all: boolean) => void;
}

/** StackView shows one stack in full: of the chosen group, with how long its threads wait and who they are. */
export function StackView({ state, all, showAll }: StackProps) {
  const stack = state.stack;
  const row = stack?.row;
  const hidden = stack?.frames.filter((f) => f.internal).length ?? 0;
  const frames = (stack?.frames ?? []).filter((f) => all || !f.internal || hidden === stack?.frames.length);
  return (
    <Panel
      id="stack"
      title="Stack"
      note={
        hidden > 0 &&
        hidden < (stack?.frames.length ?? 0) && (
          <button type="button" onClick={() => showAll(!all)}>
            {all ? "hide" : "show"} {hidden} runtime {hidden === 1 ? "frame" : "frames"}
          </button>
        )
      }
      foot={
        state.process &&
        !state.process.missing && <Command line={commandLine(state, "", { group: true })} />
      }
    >
      {!stack || !row ? (
        <Empty>{whyEmpty(state) || stack?.missing || "Choose a stack group."}</Empty>
      ) : (
        <>
          <dl class="facts">
            <div>
              <dt>threads</dt>
              <dd>{count(row.count)}</dd>
            </div>
            <div>
              <dt>state</dt>
              <dd>
                <Word state={row.state} />
                {row.reason && ` ${row.reason}`}
                {row.blocker && ` on ${row.blocker}`}
              </dd>
            </div>
            <div>
              <dt>for</dt>
              <dd>
                {duration(row.min)} .. {duration(row.max)}, median <b>{duration(row.median)}</b>
              </dd>
            </div>
            <div>
              <dt>in scope</dt>
              <dd>{row.scope}</dd>
            </div>
            <Marking state={state} row={row} />
          </dl>
          {stack.frames.length === 0 ? (
            <Empty>
              {row.state === "mounted" ? "These threads execute: a stack is recorded when a thread parks." : "No stack was recorded for them."}
            </Empty>
          ) : (
            <Frames frames={frames} truncated={stack.truncated} />
          )}
          <Examples state={state} />
        </>
      )}
    </Panel>
  );
}

function Frames({ frames, truncated }: { frames: { func: string; file: string; line: number; inlined: boolean; internal: boolean }[]; truncated: boolean }) {
  return (
    <ol class="frames">
      {frames.map((f, i) => (
        <li key={i} class={f.internal ? "internal" : ""} title={`${f.func}\n${f.file}:${f.line}`}>
          <code>{leaf(f.func)}</code>
          <span class="dim">
            {f.inlined && <em>inlined</em>} {f.file ? `${base(f.file)}:${f.line}` : ""}
          </span>
        </li>
      ))}
      {truncated && <li class="internal">outer frames were not recorded: the stack is deeper</li>}
    </ol>
  );
}

function Examples({ state }: { state: State }) {
  const examples = state.stack?.examples ?? [];
  if (examples.length === 0) return null;
  return (
    <p class="examples">
      <span class="dim">longest: </span>
      {examples.map((t) => (
        <span key={t.id} class="example">
          <code>#{t.id}</code> {t.name && <q>{t.name}</q>} <span class="dim">{duration(t.wait)}</span>
        </span>
      ))}
    </p>
  );
}
