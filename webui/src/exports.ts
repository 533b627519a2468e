import type { ExportRow } from "./documents";
import type { Context } from "./keys";
import type { State } from "./store";
import { download } from "./save";
import { say } from "./toast";

/** allowed says why the reader may not have a way out; "" if they may. */
export function allowed(row: ExportRow, state: State): string {
  if (row.why) return row.why;
  if (row.role === "operate" && state.config?.caller.role !== "operate") return `this needs the role operate; you have ${state.config?.caller.role ?? "none"}`;
  return "";
}

/** pathOf is where the file is, of the threads that the page shows. */
export function pathOf(row: ExportRow, state: State): string {
  if (!row.narrows) return row.path;
  const { scope, filter, at } = state.route;
  const rows = state.scopes?.rows ?? [];
  const path = rows.find((r) => r.key === scope)?.path ?? scope;
  const query = Object.entries({ scope: path === rows[0]?.path ? "" : path, filter, at })
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
  return query ? `${row.path}${row.path.includes("?") ? "&" : "?"}${query}` : row.path;
}

/** cheap reports whether nobody needs to be asked before. */
export function cheap(row: ExportRow): boolean {
  return row.role === "read" && row.risk === "low";
}

/** runExport saves what is cheap, and shows the estimate of the rest. */
export function runExport(row: ExportRow, { state, store }: Context): void {
  const why = allowed(row, state);
  if (why) say(`${row.title}: ${why}`);
  else if (cheap(row)) {
    download(pathOf(row, state), row.file);
    say(`${row.title}: saved as ${row.file}`);
  } else store.go({ panel: "export" });
}
