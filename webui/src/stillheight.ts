import { useLayoutEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";

const patience = 60_000; // milliseconds

/** useStillHeight keeps an element as high as what it holds was lately: it grows at once, and shrinks after a minute, so that what stands below does not move with each look. The element has one child. */
export function useStillHeight(): RefObject<HTMLDivElement | null> {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = ref.current;
    const inner = box?.firstElementChild;
    if (!box || !inner) return;
    let most = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const sized = new ResizeObserver(([entry]) => {
      const height = entry?.borderBoxSize[0]?.blockSize ?? 0;
      clearTimeout(timer);
      if (height >= most) most = height;
      else timer = setTimeout(() => {
        most = height;
        box.style.minHeight = `${most}px`;
      }, patience);
      box.style.minHeight = `${most}px`;
    });
    sized.observe(inner);
    return () => {
      clearTimeout(timer);
      sized.disconnect();
    };
  }, []);
  return ref;
}
