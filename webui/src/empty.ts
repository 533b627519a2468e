import type { State } from "./store";

/** whyEmpty says why there is nothing to show: no process, or a moment of which nothing is kept; "" when there is something. */
export function whyEmpty(state: State): string {
  const { link, process, moment, route } = state;
  if (process?.missing) return process.missing;
  if (process) return route.at !== "" && moment?.at === Number(route.at) ? moment.missing : "";
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

/** coming says that something will come, in words of a panel's own, or that nothing comes while vtserve does not answer. */
export function coming(state: State, words: string): string {
  return state.link.how === "live" ? words : "Not connected to vtserve, and not known from before: it shows when vtserve answers again.";
}

/** off says which of some kinds of events the recorder leaves out, so that what is made of them is empty for that; "" if it is not known that any is. */
export function off(state: State, kinds: readonly string[]): string {
  const left = notRecorded(state, kinds);
  return left.length > 0 ? `Off: the recorder's settings leave out ${left.join(", ")}.` : "";
}

/** notRecorded are those of some kinds of events that are known not to be recorded. */
export function notRecorded(state: State, kinds: readonly string[]): string[] {
  const terms = state.config?.kinds ?? [];
  const out = (state.events?.known ? state.events.rows : []).filter((row) => !row.on).map((row) => terms[row.kind]?.name ?? "");
  return kinds.filter((k) => out.includes(k));
}

/** unread says why something is empty that is read beside the snapshot, while somebody looks: it was not read; "" if it was. known: it was read. */
export function unread(state: State, known: boolean | undefined): string {
  if (known !== false) return "";
  return state.process?.cost.unread ? "Off: vtserve saves cost, and does not read it." : "Not read yet.";
}
