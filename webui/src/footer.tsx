import { allKeys, cap, holds, wordsOf } from "./keys";
import type { Context } from "./keys";
import { overlays } from "./overlays";
import { chosenView } from "./views";

/** Footer tells of the keys that hold now, and leads to what lies over the page. */
export function Footer({ context }: { context: Context }) {
  const { state, store } = context;
  const view = chosenView(state).name;
  const rows = allKeys().filter((row) => row.foot && holds(row, { ...context, state: { ...state, route: { ...state.route, panel: "" } } }, view));
  rows.sort((a, b) => Number(a.place === "everywhere") - Number(b.place === "everywhere")); // those of the panel first
  return (
    <footer>
      <span class="hints" aria-hidden="true">
        {rows.map((row) => (
          <span key={row.place + row.keys.join()}>
            <kbd>{cap(row.keys[0] ?? "")}</kbd> {wordsOf(row, context)}
          </span>
        ))}
      </span>
      <span class="fill" />
      {overlays.map((o) => (
        <button key={o.name} type="button" class="link" title={o.about} onClick={() => store.go({ panel: o.name })}>
          {o.title.toLowerCase()} {o.keys[0] && <kbd>{cap(o.keys[0])}</kbd>}
        </button>
      ))}
      <a href="licences.txt" target="_blank" rel="noreferrer">
        licences
      </a>
    </footer>
  );
}
