import { useRef } from "preact/hooks";

export interface Placed<T> {
  row: T;
  gone: boolean; // was there when the order was frozen, is not any more
}

/** So many rows that are gone stay at least, whatever there is beside them. */
const fewGone = 20;

/**
 * placeStill puts rows where they were before: values change, places do not. New rows come last, and a row that went away stays, marked. When more are gone than
 * there are, all stand as they come: who leaves the pointer on a list for an hour shall not see only what was.
 */
export function placeStill<T>(before: Placed<T>[], rows: T[], key: (row: T) => string): Placed<T>[] {
  const now = new Map(rows.map((row) => [key(row), row]));
  const placed = before.map(({ row }) => {
    const fresh = now.get(key(row));
    now.delete(key(row));
    return fresh ? { row: fresh, gone: false } : { row, gone: true };
  });
  for (const row of now.values()) placed.push({ row, gone: false });
  return placed.length - rows.length > Math.max(fewGone, rows.length) ? placeAnew(rows) : placed;
}

function placeAnew<T>(rows: T[]): Placed<T>[] {
  return rows.map((row) => ({ row, gone: false }));
}

/** useStill keeps rows in place while frozen, as placeStill does, until the order thaws or they are about something else. */
export function useStill<T>(rows: T[], key: (row: T) => string, frozen: boolean, about: string): Placed<T>[] {
  const last = useRef<{ about: string; placed: Placed<T>[] }>({ about: "", placed: [] });
  const placed = frozen && last.current.about === about ? placeStill(last.current.placed, rows, key) : placeAnew(rows);
  last.current = { about, placed };
  return placed;
}
