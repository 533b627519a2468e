import "./actions";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Aging } from "./age";
import { Banner } from "./banner";
import { Carriers } from "./carriers";
import { Findings } from "./findings";
import { Footer } from "./footer";
import { Header } from "./header";
import { Events } from "./events";
import { keyFor } from "./keys";
import type { Context, PanelName } from "./keys";
import { goroutines, showKind } from "./kind";
import { MomentBar } from "./moment";
import { Overlays } from "./overlays";
import { Schedulers } from "./schedulers";
import { Scopes } from "./scopes";
import { StackView } from "./stack";
import type { State, Store } from "./store";
import { ThreadView } from "./thread";
import { Timeline } from "./timeline";
import { Toast } from "./toast";
import { Tabs, chosenView } from "./views";

export function App({ state, store }: { state: State; store: Store }) {
  const [panel, activate] = useState<PanelName>("scopes");
  const all = state.route.frames === "all";
  const showAll = (on: boolean): void => store.go({ frames: on ? "all" : "" });
  const pick = (process: string): void => store.go({ process });

  const context: Context = { state, store, panel, activate, all, showAll };
  const now = useRef(context);
  now.current = context;

  // Before the next key can come: a later effect would let it act on the panel that was active.
  useLayoutEffect(() => {
    const press = (e: KeyboardEvent): void => {
      const row = keyFor(e, now.current, chosenView(now.current.state).name);
      if (!row) return;
      row.act(now.current);
      e.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);

  showKind(state.process?.kind);
  const view = chosenView(state);
  const stale = state.link.how === "lost" || ((state.process?.gone ?? 0) > 0 && state.process?.status !== "recorded");
  return (
    <Aging state={state}>
      <div class={stale ? "app stale" : "app"}>
        <Header state={state} pick={pick} filter={(filter) => store.go({ filter })} />
        <Banner state={state} pick={pick} />
        <Timeline state={state} store={store} />
        <MomentBar state={state} store={store} />
        <main class={goroutines() ? "of-goroutines" : ""}>
          <div class="left">
            <Scopes state={state} store={store} active={panel === "scopes"} activate={() => activate("scopes")} />
            {!goroutines() && <Events state={state} />}
          </div>
          <div class="middle">
            <view.show key={view.name} state={state} store={store} active={panel === "groups"} activate={() => activate("groups")} tabs={<Tabs state={state} store={store} />} />
            {state.route.thread ? (
              <ThreadView key={state.route.thread} state={state} store={store} all={all} showAll={showAll} />
            ) : (
              <StackView state={state} store={store} all={all} showAll={showAll} />
            )}
          </div>
          <div class="side">
            <Findings state={state} store={store} />
            {!goroutines() && <Schedulers state={state} store={store} />}
            {!goroutines() && <Carriers state={state} store={store} />}
          </div>
        </main>
        <Footer context={context} />
        <Overlays context={context} />
        <Toast />
      </div>
    </Aging>
  );
}
