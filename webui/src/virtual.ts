import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

const beyond = 20; // rows drawn above and below what can be seen

/** What of a long list is drawn: rows from first to last, and the room of those before and after. */
export interface Part {
  first: number;
  last: number; // not drawn any more
  above: number; // pixels
  below: number;
}

/**
 * useVirtual draws only rows of a list that can be seen, if it is long. All rows are of one height, in pixels. The list scrolls in its parent; show, if it is not
 * negative, is a row that is scrolled to when it changes.
 */
export function useVirtual(list: RefObject<HTMLElement | null>, rows: number, height: number, show: number): Part {
  const [seen, see] = useState({ top: 0, room: 900 });
  useLayoutEffect(() => {
    const box = list.current?.parentElement;
    if (!box) return;
    const look = (): void => see((old) => (old.top === box.scrollTop && old.room === box.clientHeight ? old : { top: box.scrollTop, room: box.clientHeight }));
    look();
    box.addEventListener("scroll", look, { passive: true });
    const resized = new ResizeObserver(look);
    resized.observe(box);
    return () => {
      box.removeEventListener("scroll", look);
      resized.disconnect();
    };
  }, [list.current === null, rows > 0]);
  useLayoutEffect(() => {
    const box = list.current?.parentElement;
    if (!box || show < 0) return;
    if (show * height < box.scrollTop) box.scrollTop = show * height;
    else if ((show + 1) * height > box.scrollTop + box.clientHeight) box.scrollTop = (show + 1) * height - box.clientHeight;
  }, [show]);
  const first = Math.min(Math.max(0, Math.floor(seen.top / height) - beyond), Math.max(0, rows - 1));
  const last = Math.min(rows, Math.ceil((seen.top + seen.room) / height) + beyond);
  return { first, last, above: first * height, below: Math.max(0, rows - last) * height };
}
