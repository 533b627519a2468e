import "./groups.css";
import { GroupMark } from "./groupmark";
import { useRef, useState } from "preact/hooks";
import { Choice } from "./callbar";
import { commandLine } from "./command";
import { coming, whyEmpty } from "./empty";
import { stateOf, withState } from "./filters";
import { change, count, duration, leaf, percent, seenAgo, waited } from "./format";
import { threads } from "./kind";
import { Command, Empty, Panel, useInView } from "./panel";
import type { GroupRow } from "./protocol";
import { useStill } from "./rows";
import { chosenScope, elsewhere } from "./scopes";
import { Glyph, Word } from "./states";
import type { State, Store } from "./store";
import type { ViewProps } from "./views";

/** The reason that a state has if nothing else is said: it would only fill the row. */
const implied: Record<string, string> = { parked: "park", "timed-parked": "park", blocked: "lock", waiting: "condition" };

/** chosenGroup is the key of the group whose stack is shown: the route's, else the agent's choice. */
export function chosenGroup(state: State): string {
  return state.route.group || (state.stack?.group ?? "");
}

export function Groups({ state, store, active, activate, tabs }: ViewProps) {
  const [over, hover] = useState(false);
  const groups = elsewhere(state, state.groups) ? null : state.groups;
  const scope = chosenScope(state);
  const chosen = chosenGroup(state);
  const placed = useStill(groups?.rows ?? [], (r) => r.key, over, `${state.process?.key} ${groups?.scope} ${groups?.filter} ${groups?.order}`);
  const longest = groups?.order === "wait";
  const changeOver = state.process?.snapshot.changeOver ?? 0;
  const aboutChange = changeOver > 0 ? `change over ${duration(changeOver)}; m and d compare with a moment of your own` : "too early to tell a change";
  const list = useInView(chosen, active);
  const names = new Map(state.scopes?.rows.map((s) => [s.path, s.name])); // which may have a "/"
  return (
    <Panel
      id="groups"
      title="Stack groups"
      head={tabs}
      note={
        <>
          {groups && !groups.missing && !whyEmpty(state) && (
            <span title={`${count(groups.total)} ${threads(groups.total)} in and below ${groups.scope}`}>
              {count(groups.total)} in <b>{scope?.name ?? groups.scope}</b> and below
            </span>
          )}
          {over && " · order held"}
        </>
      }
      active={active}
      onActivate={activate}
      onHover={hover}
      foot={state.process && !state.process.missing && <Command line={commandLine(state, "", { scope: true, filter: true })} />}
    >
      {groups && !whyEmpty(state) && (
        <div class="grouphead">
          <Tools state={state} store={store} />
          {placed.length > 0 && (
              <div class="row head" aria-hidden="true">
                <span>{threads()}</span>
                <span>share</span>
                <span title={aboutChange}>change</span>
                <span>state, reason</span>
                <span>at ‹ called by</span>
                <span>scope</span>
                <span>{longest ? "longest" : "median"}</span>
              </div>
          )}
        </div>
      )}
      {!groups || groups.missing || placed.length === 0 ? (
        <Empty>{why(state, groups)}</Empty>
      ) : (
        <div class="list" role="listbox" aria-label="stack groups" data-of={groups.scope} ref={list}>
          {placed.map(({ row, gone }) => (
            <div
              key={row.key}
              role="option"
              data-scope={row.scope}
              aria-selected={row.key === chosen}
              class={gone ? "row gone" : "row"}
              onClick={() => store.go({ group: row.key })}
              title={`${row.scope}\nwait ${waited(row, row.min)} .. ${waited(row, row.max)}, median ${waited(row, row.median)}`}
            >
              <span class="bar" style={{ width: `${groups.total > 0 ? (100 * row.count) / groups.total : 0}%` }} />
              <span class="number">{count(row.count)}</span>
              <span class="share">{percent(groups.total > 0 ? row.count / groups.total : 0)}</span>
              <span class={row.change > 0 ? "change up" : "change"} title={aboutChange}>{gone ? "gone" : change(row.change)}</span>
              <span class="what">
                <Word state={row.state} />
                {row.reason && row.reason !== implied[row.state] && <em>{row.reason}</em>}
                {row.seen > 0 && <em title="They cannot record this themselves: a look of the scheduler's found them there then.">{seenAgo(row.seen)}</em>}
              </span>
              <span class="where">
                <GroupMark row={row} />
                <Place row={row} />
              </span>
              <span class="dim">{names.get(row.scope) ?? row.scope.slice(row.scope.lastIndexOf("/") + 1)}</span>
              <span class="wait">{waited(row, longest ? row.max : row.median)}</span>
            </div>
          ))}
          {groups.rest.rows > 0 && (
            <p class="rest">
              {count(groups.rest.rows)} more groups with {count(groups.rest.threads)} {threads(groups.rest.threads)}
            </p>
          )}
        </div>
      )}
    </Panel>
  );
}

/** Tools are the order of the groups, and the states that they can be filtered by. */
function Tools({ state, store }: { state: State; store: Store }) {
  const { route, config } = state;
  const only = stateOf(route.filter);
  const counts = chosenScope(state)?.counts ?? [];
  const of = `${state.process?.key} ${chosenScope(state)?.key}`;
  const seen = useRef({ of, names: new Set<string>() }); // a state that comes and goes keeps its place, so that no other one moves under the pointer
  if (seen.current.of !== of) seen.current = { of, names: new Set() };
  const states = (config?.states ?? []).map((term, i) => ({ term, n: counts[i] ?? 0 })).filter(({ term, n }) => {
    if (n > 0) seen.current.names.add(term.name);
    return seen.current.names.has(term.name) || term.name === only;
  });
  return (
    <div class="calltools grouptools">
      <Choice
        label="first"
        value={route.groupOrder}
        of={[
          ["", "most", `groups with most ${threads()} first`],
          ["change", "growth", "groups that have grown most first"],
          ["wait", "longest wait", `groups with the ${threads(1)} that waits longest first`],
        ]}
        pick={(groupOrder) => store.go({ groupOrder })}
      />
      <span class="statechips" role="group" aria-label="only one state">
        {states.map(({ term, n }) => (
          <button
            key={term.name}
            type="button"
            aria-pressed={term.name === only}
            title={term.name === only ? "show all states again" : `only the ${count(n)} ${threads(n)} that are ${term.name}: ${term.about}`}
            onClick={() => store.go({ filter: withState(route.filter, term.name === only ? "" : term.name) })}
          >
            <Glyph state={term.name} /> {term.name}
          </button>
        ))}
      </span>
    </div>
  );
}

function Place({ row }: { row: GroupRow }) {
  if (!row.top) {
    return <span class="dim">{row.state === "mounted" ? "executing: no stack while it runs" : "no stack recorded"}</span>;
  }
  return (
    <>
      <code>{leaf(row.top)}</code>
      {row.caller && (
        <>
          {" "}
          <span class="dim">‹ {leaf(row.caller)}</span>
        </>
      )}
    </>
  );
}

function why(state: State, groups: State["groups"]): string {
  return whyEmpty(state) || (groups ? groups.missing || `None: no ${threads()} in this scope or below it.` : coming(state, "The first snapshot is on its way."));
}
