import { useRef } from "preact/hooks";

export interface Placed<T> {
  row: T;
  gone: boolean; // was there when the order was frozen, is not any more
}

/**
 * useStill keeps rows in place while frozen: values change, places do not. New rows come last, and a
 * row that went away stays, marked, until the order thaws.
 */
export function useStill<T>(rows: T[], key: (row: T) => string, frozen: boolean, scope: string): Placed<T>[] {
  const last = useRef<{ scope: string; placed: Placed<T>[] }>({ scope: "", placed: [] });
  let placed: Placed<T>[];
  if (!frozen || last.current.scope !== scope) {
    placed = rows.map((row) => ({ row, gone: false }));
  } else {
    const now = new Map(rows.map((row) => [key(row), row]));
    placed = last.current.placed.map(({ row }) => {
      const fresh = now.get(key(row));
      now.delete(key(row));
      return fresh ? { row: fresh, gone: false } : { row, gone: true };
    });
    for (const row of now.values()) placed.push({ row, gone: false });
  }
  last.current = { scope, placed };
  return placed;
}
