import { useRef } from "preact/hooks";

/**
 * useWidest returns for each name how many characters wide the widest text was that stood there: what has that much room does not move others when it shrinks, and
 * only once when it grows. It begins anew with another subject.
 */
export function useWidest(subject: string): (name: string, text: string) => number {
  const known = useRef<{ subject: string; widths: Map<string, number> }>({ subject, widths: new Map() });
  if (known.current.subject !== subject) known.current = { subject, widths: new Map() };
  const { widths } = known.current;
  return (name, text) => {
    const width = Math.max(widths.get(name) ?? 0, text.length);
    widths.set(name, width);
    return width;
  };
}
