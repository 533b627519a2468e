import type { FindingRow } from "./protocol";

/** few findings are listed without asking: the carriers and their scheduler stand below. */
export const few = 3;

/** fold parts findings, which come worst first, into those that are listed and the rest. What is chosen is never among the rest. */
export function fold<Row extends Pick<FindingRow, "group">>(rows: Row[], all: boolean, group: string): { shown: Row[]; rest: Row[] } {
  const listed = (row: Row, i: number): boolean => i < few || (group !== "" && row.group === group);
  const rest = all ? [] : rows.filter((row, i) => !listed(row, i));
  return { shown: rows.filter((row) => !rest.includes(row)), rest };
}

/** tally tells which findings those are: how many by check and severity, in their order. */
export function tally(rows: Pick<FindingRow, "check" | "severity">[]): { check: string; severity: string; n: number }[] {
  const sums: { check: string; severity: string; n: number }[] = [];
  for (const { check, severity } of rows) {
    const sum = sums.find((s) => s.check === check && s.severity === severity);
    if (sum) sum.n++;
    else sums.push({ check, severity, n: 1 });
  }
  return sums;
}
