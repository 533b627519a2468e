type Fields = Record<string, unknown>;

/** apply makes what a member of frames is now of what it was and how that differs (docs/protocol.md, deltas). */
export function apply(old: unknown, delta: unknown): unknown {
  if (Array.isArray(delta)) return applyRows(old as Fields[], delta);
  const now: Fields = { ...(old as Fields), ...(delta as Fields) };
  if (Array.isArray((delta as Fields).rows)) now.rows = applyRows((old as Fields).rows as Fields[], (delta as Fields).rows as unknown[]);
  return now;
}

/** applyRows takes [i, n] for rows that are the same, [i, {…}] for one that changed, and new rows. */
function applyRows(old: Fields[], delta: unknown[]): Fields[] {
  const rows: Fields[] = [];
  for (const item of delta) {
    if (!Array.isArray(item)) {
      rows.push(item as Fields);
      continue;
    }
    const [i, what] = item as [number, number | Fields];
    if (typeof what === "number") rows.push(...old.slice(i, i + what));
    else rows.push({ ...old[i], ...what });
  }
  return rows;
}
