import { useLayoutEffect, useState } from "preact/hooks";
import { Banner } from "./banner";
import { Carriers } from "./carriers";
import { chosenGroup } from "./groups";
import { Findings } from "./findings";
import { Header } from "./header";
import { Events } from "./events";
import { Schedulers } from "./schedulers";
import { Scopes, chosenScope, scopeName } from "./scopes";
import { StackView } from "./stack";
import type { State, Store } from "./store";
import { Timeline } from "./timeline";
import { Tabs, chosenView } from "./views";

type PanelName = "scopes" | "groups";

export function App({ state, store }: { state: State; store: Store }) {
  const [panel, activate] = useState<PanelName>("scopes");
  const [all, showAll] = useState(false);
  const pick = (process: string): void => store.go({ process });

  // Before the next key can come: a later effect would let it act on the panel that was active.
  useLayoutEffect(() => {
    const press = (e: KeyboardEvent): void => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.target instanceof Element && e.target.closest("select, input, textarea, button, a")) return;
      switch (e.key) {
        case "j":
        case "ArrowDown":
          step(store, panel, +1);
          break;
        case "k":
        case "ArrowUp":
          step(store, panel, -1);
          break;
        case "Enter":
          if (panel === "scopes") activate("groups");
          else showAll((on) => !on);
          break;
        case "Escape":
          activate("scopes");
          break;
        default:
          return;
      }
      e.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [panel, store]);

  const stale = state.link.how === "lost" || (state.process?.gone ?? 0) > 0;
  return (
    <div class={stale ? "app stale" : "app"}>
      <Header state={state} pick={pick} filter={(filter) => store.go({ filter })} />
      <Banner state={state} pick={pick} />
      <Timeline state={state} />
      <main>
        <div class="left">
          <Scopes
            state={state}
            active={panel === "scopes"}
            activate={() => activate("scopes")}
            choose={(row) => store.go({ scope: scopeName(state.scopes?.rows ?? [], row) })}
          />
          <Events state={state} />
        </div>
        <div class="middle">
          {chosenView(state).show({ state, store, active: panel === "groups", activate: () => activate("groups"), tabs: <Tabs state={state} store={store} /> })}
          <StackView state={state} all={all} showAll={showAll} />
        </div>
        <div class="side">
          <Findings state={state} store={store} />
          <Schedulers state={state} />
          <Carriers state={state} />
        </div>
      </main>
      <footer>
        <span>
          <kbd>j</kbd> <kbd>k</kbd> move in {panel === "scopes" ? "scopes" : "stack groups"}
        </span>
        <span>
          <kbd>Enter</kbd> {panel === "scopes" ? "to its stack groups" : all ? "hide runtime frames" : "show runtime frames"}
        </span>
        {panel === "groups" && (
          <span>
            <kbd>Esc</kbd> back to scopes
          </span>
        )}
        <span class="fill" />
        {state.process && !state.process.missing && (
          <a href={`api/v1/processes/${state.process.pid}/dump`} target="_blank" rel="noreferrer">
            dump as JSON
          </a>
        )}
        <a href="licences.txt" target="_blank" rel="noreferrer">
          licences
        </a>
      </footer>
    </div>
  );
}

/** step moves the choice by one row, in the order in which the agent sent them. */
function step(store: Store, panel: PanelName, by: number): void {
  const { state } = store;
  if (panel === "scopes") {
    const rows = state.scopes?.rows ?? [];
    const row = rows[clamp(rows.findIndex((r) => r.key === chosenScope(state)?.key) + by, rows.length)];
    if (row) store.go({ scope: scopeName(rows, row) });
    return;
  }
  if (state.groups?.scope !== chosenScope(state)?.path) return; // the groups of the new scope are on their way
  const rows = state.groups?.rows ?? [];
  const row = rows[clamp(rows.findIndex((r) => r.key === chosenGroup(state)) + by, rows.length)];
  if (row) store.go({ group: row.key });
}

function clamp(index: number, length: number): number {
  return Math.max(0, Math.min(length - 1, index));
}
