import { useEffect, useRef, useState } from "preact/hooks";

/** A document of the agent's HTTP interface, as far as it has come. */
export interface Fetched<T> {
  value: T | null; // the newest that came; kept while another one of the same path is fetched
  error: string; // why there is no newer one; "" if there is
  attempt: string; // what the agent proposes to try
  at: number; // Unix milliseconds of value; 0: none
  busy: boolean;
  again: () => void; // fetch it now
}

interface Refusal {
  error: string;
  try: string;
}

/** api is the path of a document of a process, relative to the page. Parameters that are empty are left out. */
export function api(process: string, path: string, params: Record<string, string> = {}): string {
  const query = Object.entries(params)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
  const key = encodeURIComponent(process).replaceAll("%3A", ":").replaceAll("%40", "@"); // the agent refuses paths with what need not be escaped
  return `api/v1/processes/${key}/${path}${query ? "?" + query : ""}`;
}

/** rest is how many times as long as a document took nobody asks for it again: what takes the agent long is asked for less. */
const rest = 20;

/**
 * useDocument fetches JSON from path, "" for nothing, now and every so many milliseconds after it came, 0 for once. A tab that is hidden fetches nothing.
 * What comes late for another path is dropped.
 */
export function useDocument<T>(path: string, every: number): Fetched<T> {
  const [state, set] = useState<{ path: string; value: T | null; error: string; attempt: string; at: number; busy: boolean }>({ path: "", value: null, error: "", attempt: "", at: 0, busy: false });
  const [turn, next] = useState(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (!path) return;
    const abort = new AbortController();
    const load = async (): Promise<void> => {
      if (document.hidden) {
        timer.current = setTimeout(() => void load(), 1_000);
        return;
      }
      set((s) => (s.path === path ? { ...s, busy: true } : { path, value: null, error: "", attempt: "", at: 0, busy: true }));
      const began = performance.now();
      const result = await read<T>(path, abort.signal);
      if (abort.signal.aborted) return;
      set((s) => ({ ...s, ...result, value: "value" in result ? result.value : s.value, busy: false }));
      if (every > 0) timer.current = setTimeout(() => void load(), Math.max(every, rest * (performance.now() - began)));
    };
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer.current);
    };
  }, [path, every, turn]);
  const mine = state.path === path && path !== "";
  return {
    value: mine ? state.value : null,
    error: mine ? state.error : "",
    attempt: mine ? state.attempt : "",
    at: mine ? state.at : 0,
    busy: mine ? state.busy : path !== "",
    again: () => next((n) => n + 1),
  };
}

async function read<T>(path: string, signal: AbortSignal): Promise<{ value: T; error: string; attempt: string; at: number } | { error: string; attempt: string }> {
  try {
    const response = await fetch(path, { signal, headers: { Accept: "application/json" } });
    const body: unknown = await response.json();
    if (response.ok) return { value: body as T, error: "", attempt: "", at: Date.now() };
    const refusal = body as Refusal;
    return { error: refusal.error, attempt: refusal.try };
  } catch (e) {
    return { error: `vtserve does not answer: ${e instanceof Error ? e.message : String(e)}`, attempt: "" };
  }
}

/** opened asks the agent to show something more, and returns the key of its process, or why there is none. */
export async function opened(path: string): Promise<{ key: string; why: string }> {
  try {
    const answer = await fetch(path, { method: "POST" });
    const body = (await answer.json()) as { key: string } & Refusal;
    return answer.ok ? { key: body.key, why: "" } : { key: "", why: `${body.error}${body.try && ` (try: ${body.try})`}` };
  } catch (e) {
    return { key: "", why: `vtserve does not answer: ${e instanceof Error ? e.message : String(e)}` };
  }
}
