import { addKeys } from "./keys";

/** addListKeys lets j, k, Home and End move the focus along the rows of a list, which a selector finds. The row itself has the focus, or the first thing in it that can have it. */
export function addListKeys(place: string, rows: string, row: string, foot: boolean): void {
  const by = (n: number) => () => focusRow(rows, n);
  addKeys(
    { keys: ["j", "ArrowDown"], words: `next ${row}`, place, foot, act: by(+1) },
    { keys: ["k", "ArrowUp"], words: `${row} before`, place, foot, act: by(-1) },
    { keys: ["Home"], words: `first ${row}`, place, act: by(-Infinity) },
    { keys: ["End"], words: `last ${row}`, place, act: by(+Infinity) },
  );
}

/** focusRow moves the focus along the rows that a selector finds: to the first if none has it, by so many else. */
export function focusRow(rows: string, by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>(rows)];
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const to = all[at < 0 ? (by === Infinity ? all.length - 1 : 0) : next(at, by, all.length)];
  (to && to.tabIndex >= 0 ? to : to?.querySelector<HTMLElement>("button:not(:disabled), a, summary, [tabindex]"))?.focus();
}

/** next is the place that is so many places on from another one in a list, or its end. */
export function next(at: number, by: number, length: number): number {
  return Math.max(0, Math.min(length - 1, at + by));
}
