import type { State, Store } from "./store";

/** The parts of the page that the keyboard moves between. */
export type PanelName = "scopes" | "groups"; // groups: the view in the middle, whichever it is

/** What an action gets. */
export interface Context {
  state: State;
  store: Store;
  panel: PanelName; // that the keyboard is in
  activate: (panel: PanelName) => void;
  all: boolean; // the stack shows internal frames too
  showAll: (all: boolean) => void;
}

/** everywhere is the place of a key that holds wherever the keyboard is. */
export const everywhere = "everywhere";

/**
 * A row of the one table of keys. What handles the keyboard, the help, the footer and the palette derive from it. A part of the page adds its own with addKeys.
 *
 *	addKeys({ keys: [" "], words: "pause, and go on", place: everywhere, act: ({ store }) => store.pause() });
 */
export interface Key {
  keys: string[]; // as KeyboardEvent.key has them, Ctrl+ before; none: an action that only the palette has
  words: string | ((c: Context) => string); // what it does, as one would order it; no full stop
  place: string; // everywhere, scopes, the name of a view (views.tsx) or of an overlay (overlays.tsx)
  when?: (c: Context) => boolean; // it holds only then
  act: (c: Context) => void;
  foot?: boolean; // the footer tells of it where it holds
  over?: boolean; // it holds also while something lies over the page
}

const table: Key[] = [];

/** addKeys adds rows. Of two that hold for one key, the one of the narrower place acts, then the one added last. */
export function addKeys(...rows: Key[]): void {
  table.push(...rows);
}

/** allKeys are all rows, in the order in which they were added. */
export function allKeys(): readonly Key[] {
  return table;
}

/** wordsOf says what a row does now. */
export function wordsOf(row: Key, c: Context): string {
  return typeof row.words === "string" ? row.words : row.words(c);
}

/** holds reports whether the row's key acts now. The middle shows the view of that name. */
export function holds(row: Key, c: Context, view: string): boolean {
  const over = c.state.route.panel;
  if (over !== "" && row.place !== over && !row.over) return false;
  if (row.place !== everywhere && row.place !== over && row.place !== (c.panel === "scopes" ? "scopes" : view)) return false;
  return row.when?.(c) ?? true;
}

/** keyFor is the row that a key press is for. Where one writes, only keys with Ctrl are for the page. */
export function keyFor(e: KeyboardEvent, c: Context, view: string): Key | undefined {
  const pressed = chord(e);
  if (e.altKey || e.isComposing || !free(e.target, pressed)) return undefined;
  const rows = table.filter((row) => row.keys.includes(pressed) && holds(row, c, view)).reverse();
  return rows.find((row) => row.place !== everywhere) ?? rows[0];
}

function chord(e: KeyboardEvent): string {
  return e.ctrlKey || e.metaKey ? `Ctrl+${e.key.toLowerCase()}` : e.key;
}

/** free reports whether the element that has the focus leaves the key to the page. */
function free(target: EventTarget | null, pressed: string): boolean {
  if (pressed.startsWith("Ctrl+") || !(target instanceof Element)) return true;
  if (target.closest("select, input, textarea, [contenteditable]")) return false;
  return !(target.closest("button, a, summary, [role=tab]") && ["Enter", " ", "ArrowLeft", "ArrowRight"].includes(pressed));
}

const caps: Record<string, string> = { " ": "space", Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→" };

/** cap is what stands on a key. */
export function cap(key: string): string {
  return caps[key] ?? key.replace(/^Ctrl\+./, (s) => s.slice(0, -1) + s.slice(-1).toUpperCase());
}
