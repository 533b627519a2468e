import { addKeys, everywhere } from "./keys";
import type { Context } from "./keys";
import { addListKeys, focusRow, next } from "./listkeys";
import { chosenGroup } from "./groups";
import "./scopekeys";
import "./rewind";
import { chosenScope } from "./scopes";
import { linkTo } from "./route";
import type { Store } from "./store";
import { choices, chooseTheme, chosenTheme } from "./theme";
import type { Choice } from "./theme";
import { copy, say } from "./toast";
import { views } from "./views";

const themeWords: Record<Choice, string> = { auto: "as the system prefers", light: "light", dark: "dark", contrast: "high contrast" };

function setTheme(choice: Choice): void {
  chooseTheme(choice);
  say(`theme: ${themeWords[choice]}`);
}

/** move is by how many rows a key goes on. */
const move = (by: number) => [by > 0 ? "j" : "k", by > 0 ? "ArrowDown" : "ArrowUp"];

addKeys(
  { keys: ["/"], words: "write a filter", place: everywhere, foot: true, act: () => document.getElementById("filter")?.focus() },
  { keys: ["y"], words: "copy the link to what the page shows", place: everywhere, foot: true, over: true, act: ({ state }) => void copy(linkTo(location.href, state.route, state.process?.missing ? "" : (state.process?.key ?? "")), "link") },
  { keys: ["t"], words: "change the theme", place: everywhere, over: true, act: () => setTheme(choices[(choices.indexOf(chosenTheme()) + 1) % choices.length] ?? "auto") },
  ...choices.map((choice) => ({ keys: [], words: `theme: ${themeWords[choice]}`, place: everywhere, act: () => setTheme(choice) })),
  { keys: ["1"], words: "go to Scopes", place: everywhere, act: (c) => c.activate("scopes") },
  ...views.map((view, i) => ({ keys: i < 8 ? [String(i + 2)] : [], words: `go to ${view.title}`, place: everywhere, act: (c: Context) => goTo(c, view.name) })),
  { keys: move(+1), words: "next group", place: "groups", foot: true, act: ({ store }) => stepGroup(store, +1) },
  { keys: move(-1), words: "group before", place: "groups", foot: true, act: ({ store }) => stepGroup(store, -1) },
  { keys: ["Home"], words: "first group", place: "groups", act: ({ store }) => stepGroup(store, -Infinity) },
  { keys: ["End"], words: "last group", place: "groups", act: ({ store }) => stepGroup(store, +Infinity) },
  { keys: ["Enter"], words: (c) => (c.all ? "hide runtime frames" : "show runtime frames"), place: "groups", foot: true, act: (c) => c.showAll(!c.all) },
  { keys: ["Escape"], words: "back to scopes", place: everywhere, when: (c) => c.panel !== "scopes" && c.state.route.at === "", foot: true, act: (c) => c.activate("scopes") },
);

/** What else one goes along by a key, wherever the keyboard is: Enter does what a click does. */
const along = [
  { key: "n", row: "finding", rows: "#findings .findings > li" },
  { key: "b", row: "bucket of how long they wait", rows: "#stack .bucket:not(:disabled)" },
  { key: "o", row: "thread of the group", rows: "#stack [data-sample] .thread-link" },
];
for (const { key, row, rows } of along) {
  const when = (): boolean => document.querySelector(rows) !== null;
  addKeys(
    { keys: [key], words: `next ${row}`, place: everywhere, when, act: () => focusRow(rows, +1) },
    { keys: [key.toUpperCase()], words: `${row} before`, place: everywhere, when, act: () => focusRow(rows, -1) },
  );
}

addListKeys("processes", "#overlay-processes tbody tr .link", "process", false);
addListKeys("kept", "#overlay-kept .kept li", "recording", false);
addListKeys("export", "#overlay-export .ways li", "export", false);
addListKeys("settings", "#overlay-settings [role=switch]", "kind of events", false);

/** goTo shows a view of the middle, and gives it the keyboard. */
export function goTo(c: Context, view: string): void {
  c.store.go({ view: view === views[0].name ? "" : view });
  c.activate("groups");
}

function stepGroup(store: Store, by: number): void {
  const { state } = store;
  if (state.groups?.scope !== chosenScope(state)?.path) return; // the groups of the new scope are on their way
  const rows = state.groups?.rows ?? [];
  const row = rows[next(rows.findIndex((r) => r.key === chosenGroup(state)), by, rows.length)];
  if (row) store.go({ group: row.key });
}
