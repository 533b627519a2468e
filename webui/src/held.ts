import { useRef } from "preact/hooks";

/** useHeld returns what was there when holding began, so that nothing moves under the pointer, until it is about something else. */
export function useHeld<T>(fresh: T, holding: boolean, about: string): T {
  const last = useRef({ about: "", value: fresh });
  if (!holding || last.current.about !== about) last.current = { about, value: fresh };
  return last.current.value;
}
