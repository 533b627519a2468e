/** A filter that is a list of conditions which must all hold, and nothing else: conditions can be taken out of it. */
function plain(filter: string): boolean {
  return !/["()]|(^|\s)(or|not)(\s|$)|(^|\s)-/.test(filter);
}

/** withCondition is a filter for what matches both. */
export function withCondition(filter: string, condition: string): string {
  if (!filter || filter === condition) return condition;
  if (filter.endsWith(` ${condition}`) || filter.startsWith(`${condition} `)) return filter;
  return /(^|[\s)])or([\s(]|$)/.test(filter) ? `(${filter}) ${condition}` : `${filter} ${condition}`;
}

const ofState = /(^|\s)state=([\w-]+)(?=\s|$)/;

/** stateOf is the one state that a filter asks for, as far as that is easy to see; else "". */
export function stateOf(filter: string): string {
  return plain(filter) ? (ofState.exec(filter)?.[2] ?? "") : "";
}

/** withState is a filter for one state instead of the one that it asks for; "": for any. */
export function withState(filter: string, state: string): string {
  const rest = plain(filter) ? filter.replace(ofState, " ").replace(/\s+/g, " ").trim() : filter;
  return state ? withCondition(rest, `state=${state}`) : rest;
}

/** quotedValue is a text as the language of filters has it. */
export function quotedValue(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
