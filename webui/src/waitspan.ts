import { duration } from "./format";

/** A WaitSpan is how long threads wait: from, and less than to; 0: without an end. In nanoseconds. */
export interface WaitSpan {
  from: number;
  to: number;
}

const units: [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["us", 1e3],
  ["ns", 1],
];

/** words writes nanoseconds as filters take them, with four digits: 68.72s. */
function words(ns: number): string {
  const [unit, size] = units.find(([, size]) => ns >= size) ?? ["ns", 1];
  return `${Number((ns / size).toPrecision(4))}${unit}`;
}

function nanoseconds(text: string): number {
  const m = /^([0-9.]+)(s|ms|us|ns)$/.exec(text);
  return m ? Number(m[1]) * (units.find(([unit]) => unit === m[2])?.[1] ?? 0) : 0;
}

/** writeSpan writes a span as it stands in the URL: 1.5s..2s, 1m.. */
export function writeSpan(span: WaitSpan): string {
  return `${span.from > 0 ? words(span.from) : ""}..${span.to > 0 ? words(span.to) : ""}`;
}

/** readSpan reads what writeSpan wrote; null if that is nothing. */
export function readSpan(text: string): WaitSpan | null {
  const at = text.indexOf("..");
  if (at < 0) return null;
  const span = { from: nanoseconds(text.slice(0, at)), to: nanoseconds(text.slice(at + 2)) };
  return span.from > 0 || span.to > 0 ? span : null;
}

/** filterOf is the filter of the threads that another one matches, and that wait so long. */
export function filterOf(filter: string, span: WaitSpan): string {
  const parts = filter ? [`(${filter})`] : [];
  if (span.from > 0) parts.push(`wait>=${words(span.from)}`);
  if (span.to > 0) parts.push(`wait<${words(span.to)}`);
  return parts.join(" ");
}

/** saySpan writes a span for people. */
export function saySpan(span: WaitSpan): string {
  if (span.to === 0) return `${duration(span.from)} or more`;
  return span.from > 0 ? `${duration(span.from)} to ${duration(span.to)}` : `less than ${duration(span.to)}`;
}
