let ofGoroutines = false;

/** show says what the rows of the process are that is shown from now on: goroutines, or else threads. */
export function showKind(kind: string | undefined): void {
  ofGoroutines = kind === "goroutine";
}

/** goroutines reports whether the rows of the process that is shown are goroutines, of which no recorder tells. */
export const goroutines = (): boolean => ofGoroutines;

/** threads is what the rows of the process that is shown are called. */
export const threads = (n = 2): string => (ofGoroutines ? "goroutine" : "thread") + (n === 1 ? "" : "s");
