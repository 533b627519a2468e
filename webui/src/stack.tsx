import { useRef } from "preact/hooks";
import { commandLine } from "./command";
import { coming, whyEmpty } from "./empty";
import { clock, count, seenAgo, waited } from "./format";
import { Frames } from "./frames";
import { Waiting } from "./groupdetail";
import { Marking } from "./groupmark";
import { goroutines, threads } from "./kind";
import { Command, Empty, Panel } from "./panel";
import type { Stack } from "./protocol";
import { Word } from "./states";
import type { State, Store } from "./store";
import { filterOf, readSpan } from "./waitspan";

interface StackProps {
  state: State;
  store: Store;
  all: boolean; // internal frames too
  showAll: (all: boolean) => void;
}

/** StackView shows the chosen group: its stack in full, how long its threads wait, and who they are. */
export function StackView({ state, store, all, showAll }: StackProps) {
  const { route, link } = state;
  const now = link.how !== "live" && route.group && state.stack?.group !== route.group ? null : state.stack; // of another group: nothing newer can come
  const last = useRef<{ stack: Stack; of: string; at: number } | null>(null); // threads come and go: what was seen of them stays
  const of = `${state.process?.key} ${state.route.at}`;
  if (now?.row) last.current = { stack: now, of, at: state.moment?.shown || (state.process?.snapshot.time ?? 0) };
  const kept = last.current && now && last.current.stack.group === now.group && last.current.of === of ? last.current : null;
  const stack = now?.row || !kept ? now : kept.stack;
  const left = stack !== now && kept;
  const row = stack?.row;
  const hidden = stack?.frames.filter((f) => f.internal).length ?? 0;
  const span = readSpan(state.route.wait);
  const shown = span ? { ...state, route: { ...state.route, filter: filterOf(state.route.filter, span) } } : state;
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
        !state.process.missing && <Command line={commandLine(shown, all ? "--all-frames" : "", { group: true, filter: true })} />
      }
    >
      {!stack || !row ? (
        <Empty>{whyEmpty(state) || stack?.missing || (link.how === "live" && !route.group ? "Choose a stack group." : coming(state, "Its stack is on its way."))}</Empty>
      ) : (
        <>
          {left && (
            <p class="rest" role="status">
              {now?.missing} This is how it was at {clock(left.at)}.
            </p>
          )}
          <dl class="facts">
            <div>
              <dt>{threads()}</dt>
              <dd class="still-count">{count(row.count)}</dd>
            </div>
            <div>
              <dt>state</dt>
              <dd>
                <Word state={row.state} />
                {row.reason && ` ${row.reason}`}
                {row.seen > 0 && ` ${seenAgo(row.seen)}`}
                {row.blocker && ` on ${row.blocker}`}
              </dd>
            </div>
            <div>
              <dt title={goroutines() ? "Go notes when its garbage collector first meets a goroutine waiting" : undefined}>{goroutines() ? "for at least" : "for"}</dt>
              <dd class="still-span">
                {goroutines() && row.unknown === row.count ? (
                  <span class="dim">{state.process?.pid && state.process.status !== "recorded" ? "not known before the garbage collector meets them" : "not known"}</span>
                ) : (
                  <>
                    {waited(row, row.min)} .. {waited(row, row.max)}, median <b>{waited(row, row.median)}</b>
                  </>
                )}
              </dd>
            </div>
            <div>
              <dt>in scope</dt>
              <dd>{row.scope}</dd>
            </div>
            <Marking state={state} row={row} />
          </dl>
          <div class="group-detail">
            {stack.frames.length === 0 ? (
            <Empty>
              {row.state === "mounted" ? goroutines() ? "These goroutines executed when they were looked at." : "These threads execute: a stack is recorded when a thread parks." : "No stack was recorded for them."}
            </Empty>
          ) : (
            <Frames frames={stack.frames} all={all} truncated={stack.truncated} />
          )}
            <Waiting key={stack.group} state={state} store={store} group={stack.group} />
          </div>
        </>
      )}
    </Panel>
  );
}
