import { useEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** useWidth is a place in the page and how wide it is inside, in CSS pixels; 0 before that is known. */
export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, set] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const sized = new ResizeObserver(() => set(Math.floor(element.clientWidth)));
    sized.observe(element);
    set(Math.floor(element.clientWidth));
    return () => sized.disconnect();
  }, []);
  return [ref, width];
}

/** useThemeTurn changes when the colours of the page may have. */
export function useThemeTurn(): number {
  const [turn, next] = useState(0);
  useEffect(() => {
    const changed = (): void => next((n) => n + 1);
    const lists = ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"].map((q) => matchMedia(q));
    for (const list of lists) list.addEventListener("change", changed);
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributes: true });
    return () => {
      for (const list of lists) list.removeEventListener("change", changed);
      observer.disconnect();
    };
  }, []);
  return turn;
}
