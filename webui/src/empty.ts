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
