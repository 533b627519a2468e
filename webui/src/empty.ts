import type { State } from "./store";

/** whyEmpty says why there is no process to show; "" when there is one. */
export function whyEmpty(state: State): string {
  const { link, process } = state;
  if (process) return process.missing;
  switch (link.how) {
    case "connecting":
      return "Connecting to vtserve.";
    case "lost":
      return "Not connected to vtserve: nothing to show yet.";
    case "outdated":
      return "Nothing to show: reload the page.";
    case "live":
      return "The first figures are on their way.";
  }
}

/** off says which of some kinds of events the recorder leaves out, so that what is made of them is empty for that; "" if it is not known that any is. */
export function off(state: State, kinds: readonly string[]): string {
  const terms = state.config?.kinds ?? [];
  const out = (state.events?.known ? state.events.rows : []).filter((row) => !row.on).map((row) => terms[row.kind]?.name ?? "");
  const left = kinds.filter((k) => out.includes(k));
  return left.length > 0 ? `Off: the recorder's settings leave out ${left.join(", ")}.` : "";
}
