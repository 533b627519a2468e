import type { State } from "./store";

/** moment is the parameter at of documents, for what the page shows. */
export function moment(state: State): Record<string, string> {
  return state.route.at ? { at: state.route.at } : {};
}

/** reached reports whether what the page shows is there: now, or a moment that the agent has found. Of others there is nothing to ask for. */
export function reached(state: State): boolean {
  return state.route.at === "" || (state.moment?.at === Number(state.route.at) && !state.moment.missing && !state.moment.busy);
}

/** settled reports whether what documents tell does not change any more: the process is gone, or the page shows a moment of the past. */
export function settled(state: State): boolean {
  return state.route.at !== "" || (state.process?.gone ?? 0) > 0;
}
