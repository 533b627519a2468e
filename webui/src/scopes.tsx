import { useState } from "preact/hooks";
import { whyEmpty } from "./empty";
import { change, count, duration } from "./format";
import { Command, Empty, Panel, useInView } from "./panel";
import type { ScopeRow } from "./protocol";
import { useStill } from "./rows";
import type { State } from "./store";

interface ScopesProps {
  state: State;
  active: boolean;
  activate: () => void;
  choose: (row: ScopeRow) => void;
}

/** chosenScope is the row that the route names; the root when it names none. */
export function chosenScope(state: State): ScopeRow | undefined {
  const rows = state.scopes?.rows ?? [];
  const name = state.route.scope;
  if (!name) return rows[0];
  return rows.find((r) => r.key === name) ?? rows.find((r) => r.path === name);
}

/** scopeName is what the route calls a row: its path, or its key where two rows have one path. */
export function scopeName(rows: ScopeRow[], row: ScopeRow): string {
  return rows.filter((r) => r.path === row.path).length > 1 ? row.key : row.path;
}

export function Scopes({ state, active, activate, choose }: ScopesProps) {
  const [over, hover] = useState(false);
  const scopes = state.scopes;
  const chosen = chosenScope(state);
  const placed = useStill(scopes?.rows ?? [], (r) => r.key, over, `${state.process?.key} ${state.groups?.filter}`);
  const most = scopes?.rows[0]?.total ?? 0;
  const list = useInView(chosen?.key ?? "", active);
  const changeOver = state.process?.snapshot.changeOver ?? 0;
  const span = changeOver > 0 ? ` over ${duration(changeOver)}` : "";
  return (
    <Panel
      id="scopes"
      title="Scopes"
      note={over ? "order held while you point at it" : "threads in and below"}
      active={active}
      onActivate={activate}
      onHover={hover}
      foot={state.process && !state.process.missing && <Command line={`vtdump ${state.process.pid}`} />}
    >
      {!scopes || placed.length === 0 ? (
        <Empty>{whyEmpty(state) || "The first snapshot is on its way."}</Empty>
      ) : (
        <div class="list" role="listbox" aria-label="scopes" ref={list}>
          {placed.map(({ row, gone }) => (
            <div
              key={row.key}
              role="option"
              data-path={row.path}
              aria-selected={row.key === chosen?.key}
              class={gone ? "row gone" : "row"}
              onClick={() => choose(row)}
              title={
                `${row.path}\n${count(row.own)} threads of its own, ${count(row.total)} with those below` +
                (row.fold > 1 ? `\n${count(row.fold)} scopes of this name` : "") +
                (row.owner ? `\nowner ${row.owner}` : "")
              }
            >
              <span class="bar" style={{ width: `${most > 0 ? (100 * row.total) / most : 0}%` }} />
              <span class="name" style={{ paddingLeft: `${row.depth * 14}px` }}>
                {row.depth > 0 && <i class="twig" aria-hidden="true" />}
                {row.name}
                {row.fold > 1 && <em>×{count(row.fold)}</em>}
              </span>
              <span class={row.change > 0 ? "change up" : "change"} title={`change${span}`}>
                {gone ? "gone" : change(row.change)}
              </span>
              <span class="number">{count(row.total)}</span>
            </div>
          ))}
          {scopes.rest.rows > 0 && (
            <p class="rest">
              {count(scopes.rest.rows)} more scopes with {count(scopes.rest.threads)} threads
            </p>
          )}
        </div>
      )}
    </Panel>
  );
}
