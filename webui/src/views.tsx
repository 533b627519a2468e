import type { ComponentChildren, JSX } from "preact";
import { Diff } from "./diff";
import { Durable } from "./durable";
import { Flame } from "./flame";
import { CallGraph } from "./graph";
import { Groups } from "./groups";
import type { State, Store } from "./store";
import { threads } from "./kind";
import { Waits } from "./waits";

/** What every view gets. */
export interface ViewProps {
  state: State;
  store: Store;
  active: boolean; // the keyboard is its
  activate: () => void;
  tabs: ComponentChildren; // to be shown as the title of its panel
}

/** A way to see the threads of the chosen scope, in the middle of the page. */
export interface View {
  name: string; // in the URL
  title: string;
  about: string; // one sentence for the help, no full stop
  show: (props: ViewProps) => JSX.Element;
  when?: (state: State) => boolean; // it has a tab; else always
}

/** The views of the middle, in the order of their tabs. The first is the one that shows when the URL names none. */
export const views: [View, ...View[]] = [
  { name: "groups", title: "Stack groups", about: "threads with the same stack, state and reason, most first", show: Groups },
  { name: "flame", title: "Flame graph", about: "all stacks merged: each call as wide as it has threads, or as they wait", show: Flame },
  { name: "graph", title: "Call graph", about: "all stacks merged to boxes of calls without branches; around one function its callers and callees", show: CallGraph },
  { name: "waits", title: "Waits", about: "who waits for whom, those that wait for each other first", show: Waits },
  { name: "diff", title: "What changed", about: "scopes and stacks that are new, gone, grew or shrank since a moment", show: Diff },
  { name: "durable", title: "Durable", about: "threads that outlive their process: what they do or wait for, oldest first, and the history of one", show: Durable, when: (state) => (state.process?.durable ?? 0) > 0 },
];

/** chosenView is the view that the route names. */
export function chosenView(state: State): View {
  return views.find((v) => v.name === state.route.view) ?? views[0];
}

/** Tabs are the titles of all views, of which one is chosen. */
export function Tabs({ state, store }: { state: State; store: Store }) {
  const chosen = chosenView(state);
  const shown = views.filter((v) => v === chosen || !v.when || v.when(state));
  if (shown.length === 1) return <>{chosen.title}</>;
  return (
    <span class="tabs" role="tablist" aria-label={`views of the ${threads()}`}>
      {shown.map((v) => (
        <button
          key={v.name}
          type="button"
          role="tab"
          id={`tab-${v.name}`}
          aria-selected={v === chosen}
          tabIndex={v === chosen ? 0 : -1}
          title={v.about}
          onClick={() => store.go({ view: v === views[0] ? "" : v.name })}
          onKeyDown={(e) => {
            const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
            const to = shown[(shown.indexOf(chosen) + by + shown.length) % shown.length];
            if (by === 0 || !to) return;
            e.preventDefault();
            e.stopPropagation();
            store.go({ view: to === views[0] ? "" : to.name });
            document.getElementById(`tab-${to.name}`)?.focus();
          }}
        >
          {v.title}
        </button>
      ))}
    </span>
  );
}
