import { clock, count, leaf, waited } from "./format";
import { commandLine } from "./command";
import { writeRoute } from "./route";
import type { State } from "./store";

const most = 10; // rows of a table

/** markdown writes what the page shows now, for an issue or a chat. */
export function markdown(state: State): string {
  const { process, route, groups, stack, findings } = state;
  if (!process || process.missing) return "";
  const out: string[] = [];
  const cell = (s: string): string => s.replaceAll("|", "\\|").replaceAll("\n", " ");
  out.push(`**${process.program}** (pid ${process.pid}, ${process.status}) at ${new Date(state.frameTime).toISOString()}: ${count(process.threads)} threads in ${count(process.scopeCount)} scopes`);
  const counts = (state.config?.states ?? []).map((term, i) => ({ term, n: process.counts[i] ?? 0 })).filter(({ n }, i) => i > 0 && n > 0);
  out.push(counts.map(({ term, n }) => `${term.name} ${count(n)}`).join(", "));
  if (!process.snapshot.complete) out.push(`incomplete: ${process.snapshot.incomplete.join("; ")}`);
  for (const row of (findings?.rows ?? []).slice(0, most)) out.push(`- **${row.check}** (${row.severity}, since ${clock(row.since)}): ${row.what}`);
  if (groups && !groups.missing && groups.rows.length > 0) {
    out.push("", `Threads of \`${groups.scope}\`${groups.filter ? ` that match \`${groups.filter}\`` : ""}: ${count(groups.total)}`, "");
    out.push("| threads | state | at | scope | median wait |", "|---:|---|---|---|---:|");
    for (const row of groups.rows.slice(0, most)) out.push(`| ${count(row.count)} | ${row.state} ${row.reason} | ${cell(row.top ? leaf(row.top) : "")} | ${cell(row.scope)} | ${waited(row, row.median)} |`);
    const more = groups.rows.length - most + groups.rest.rows;
    if (more > 0) out.push("", `and ${count(more)} more groups`);
  }
  if (stack?.row && stack.frames.length > 0) {
    out.push("", `Stack of ${count(stack.row.count)} threads:`, "", "```", ...stack.frames.filter((f) => !f.internal).map((f) => `${f.func}\n    ${f.file}:${f.line}`), "```");
  }
  out.push("", `\`${commandLine(state, "", { scope: true, filter: true })}\``, "", location.origin + location.pathname + writeRoute({ ...route, panel: "" }));
  return out.join("\n") + "\n";
}
