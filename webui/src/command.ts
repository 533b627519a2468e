import type { State } from "./store";

/** quote writes a word so that a shell takes it as it is. */
export function quote(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) && !word.startsWith("~") ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** target is what vtdump is to look at: a pid; of a file its name; of a program that is asked its address; of a moment that vtserve alone knows, the process at vtserve. */
export function target(state: State, moment = false): string {
  const { process } = state;
  if (!process) return "";
  if (moment && process.status !== "recorded") return `${location.host}/${process.address ? process.key : process.pid}`;
  return quote(process.address || (process.status === "recorded" ? process.key : String(process.pid)));
}

interface Words {
  scope?: boolean; // only the chosen scope
  filter?: boolean;
  group?: boolean; // the group whose stack is shown
}

/**
 * commandLine is the call of vtdump that prints what the page shows, in the words of the URL; "" if there is no process. of is a command, or flags, such as
 * "waits" or "--format folded", placed before the target. Only dumps are of a moment.
 */
export function commandLine(state: State, of: string, words: Words): string {
  const { process, route } = state;
  if (!process || process.missing) return "";
  const moment = route.at !== "" && (of === "" || of.startsWith("--"));
  const parts = ["vtdump", of, target(state, moment)];
  const scope = state.scopes?.rows.find((r) => r.key === route.scope)?.path ?? route.scope;
  if (words.scope && scope && scope !== state.scopes?.rows[0]?.path) parts.push("--scope", quote(scope));
  if (words.filter && route.filter && !state.problem?.filter) parts.push("--filter", quote(route.filter));
  if (words.group && (route.group || state.stack?.group)) parts.push("--group", quote(route.group || (state.stack?.group ?? "")));
  if (moment) parts.push("--at", quote(route.at));
  return parts.filter((p) => p !== "").join(" ");
}

/** narrowed adds scope and filter of the page to a call that is known but for them. */
export function narrowed(state: State, call: string): string {
  const words = commandLine(state, "", { scope: true, filter: true });
  const at = words.indexOf(" --");
  return at < 0 ? call : call + words.slice(at);
}
