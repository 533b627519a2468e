const grouped = new Intl.NumberFormat("en-US");

/** count writes 1,234,567. */
export function count(n: number): string {
  return grouped.format(Math.round(n));
}

/** short writes a number in at most five characters: 950, 1.2k, 81k, 1.3M. */
export function short(n: number): string {
  const a = Math.abs(n);
  if (a < 1_000) return a > 0 && a < 10 && !Number.isInteger(n) ? n.toFixed(1) : String(Math.round(n));
  for (const [unit, size] of [["k", 1e3], ["M", 1e6], ["G", 1e9]] as const) {
    const v = a / size;
    if (v < 999.5) return `${n < 0 ? "-" : ""}${trim(v)}${unit}`;
  }
  return n.toExponential(1);
}

/** change writes a difference with its sign, or nothing for none. */
export function change(n: number): string {
  if (n === 0) return "";
  return n > 0 ? `+${short(n)}` : `−${short(-n)}`;
}

/** seenAgo says how old a stack is that somebody saw a while ago. */
export function seenAgo(ns: number): string {
  return ns < 1e6 ? "seen <1 ms ago" : `seen ${duration(ns)} ago`;
}

/** notKnown stands for a wait of which nobody recorded since when: "<" and what it is shorter than, or "?". */
export function notKnown(within: number | undefined): string {
  return within ? `<${duration(within)}` : "?";
}

/** waited writes how long some of the threads of a group have been in their state, as notKnown if it is known of none. */
export function waited(group: { count: number; unknown: number; within?: number | undefined }, ns: number): string {
  if (group.unknown === 0 || group.unknown < group.count) return duration(ns);
  return notKnown(group.within);
}

/** duration writes nanoseconds in the largest two units that matter: 870 µs, 12 ms, 3.4 s, 2m 05s, 3h 12m. */
export function duration(ns: number): string {
  if (ns < 1e3) return ns <= 0 ? "0 s" : `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${trim(ns / 1e3)} µs`;
  if (ns < 1e9) return `${trim(ns / 1e6)} ms`;
  const s = ns / 1e9;
  if (s < 60) return `${trim(s)} s`;
  const two = (n: number): string => String(Math.floor(n)).padStart(2, "0");
  if (s < 3_600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3_600)}h ${two((s % 3_600) / 60)}m`;
  return `${Math.floor(s / 86_400)}d ${two((s % 86_400) / 3_600)}h`;
}

function trim(n: number): string {
  return n < 9.95 ? n.toFixed(1).replace(/\.0$/, "") : String(Math.round(n));
}

/** percent writes a share such as 0.012 as 1.2 %. */
export function percent(share: number): string {
  const p = share * 100;
  if (p > 0 && p < 0.05) return "<0.1 %";
  return `${p < 9.95 ? p.toFixed(1) : Math.round(p)} %`;
}

/** bytes writes a size in binary units. */
export function bytes(n: number): string {
  if (n < 1_024) return `${Math.round(n)} B`;
  if (n < 1_048_576) return `${trim(n / 1_024)} KiB`;
  return `${trim(n / 1_048_576)} MiB`;
}

/** clock writes the time of day of Unix milliseconds. */
export function clock(ms: number): string {
  const d = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/**
 * leaf drops the import path of a function: example.com/shop.(*Store).query → shop.(*Store).query. Of a path that ends in
 * a major version it leaves the package's name: example.com/chi/v5.(*Mux).ServeHTTP → chi.(*Mux).ServeHTTP.
 */
export function leaf(func: string): string {
  const bracket = func.indexOf("[");
  const head = bracket < 0 ? func : func.slice(0, bracket);
  const slash = head.lastIndexOf("/");
  const last = func.slice(slash + 1);
  const version = /^v[1-9][0-9]*(?=\.)/.exec(last)?.[0];
  if (version === undefined || slash < 1) return last;
  return head.slice(head.lastIndexOf("/", slash - 1) + 1, slash) + last.slice(version.length);
}

/** base is a file's name without its folders. */
export function base(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}

/** withPID names a process, with its pid if that is known: of a dump it need not be. */
export function withPID(p: { program: string; pid: number }): string {
  return p.pid > 0 ? `${p.program} (pid ${p.pid})` : p.program;
}
