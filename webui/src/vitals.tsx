import { count, duration, short } from "./format";
import type { Carrying, Delay, Process } from "./protocol";
import "./vitals.css";
import { useWidest } from "./widest";

/** From so long on a ready delay is told as slow, in nanoseconds: who waits for an answer notices. */
export const slowDelay = 100e6;

/** A Vital is a figure of the header, and whether it is bad. */
export interface Vital {
  name: string;
  value: string;
  word: string; // its name while it is bad
  bad: boolean;
  about: string;
}

/** vitals are the carriers, the ready delay, the rates and the losses of what is shown, in this order. An older agent, of another machine, does not tell the first two. */
export function vitals(process: Process): Vital[] {
  const { drops, rates } = process;
  const carrying = process.carrying as Carrying | undefined;
  const delay = process.delay as Delay | undefined;
  const over = delay?.over ?? 0;
  const lost = [
    [drops.events, "events not recorded"],
    [drops.threads, "threads not in the table"],
    [drops.stacks, "stacks not recorded"],
    [drops.strings, "names not recorded"],
    [drops.torn, "records torn in the last snapshot"],
  ] as const;
  const sum = lost.reduce((all, [n]) => all + n, 0);
  const known = carrying !== undefined && carrying.total > 0;
  return [
    {
      name: "carriers",
      value: known ? `${count(carrying.busy)}/${count(carrying.total)}` : "–",
      word: "all held",
      bad: known && carrying.held === carrying.total,
      about: known ? `${count(carrying.busy)} of ${count(carrying.total)} carriers run or hold a thread; of ${count(carrying.held)} the thread blocks` : "no carriers are known",
    },
    {
      name: "ready p99",
      value: delay && delay.count > 0 ? duration(delay.p99) : "–",
      word: "slow p99",
      bad: delay !== undefined && delay.p99 >= slowDelay,
      about:
        delay && delay.count > 0
          ? `how long runnable threads waited for a carrier, in the last ${duration(over)}: half of them up to ${duration(delay.p50)}, 90 % ${duration(delay.p90)}, 99 % ${duration(delay.p99)}, the longest ${duration(delay.longest)}; ${count(delay.count)} samples; slow from ${duration(slowDelay)} on`
          : over > 0
            ? `no thread was mounted in the last ${duration(over)}`
            : "how long runnable threads waited for a carrier: not known",
    },
    { name: "switches/s", value: short(rates.switches), word: "", bad: false, about: `per second: ${short(rates.switches)} switches, ${short(rates.starts)} threads started, ${short(rates.ends)} ended, ${short(rates.events)} events recorded` },
    { name: "drops", value: short(sum), word: "lost", bad: sum > 0, about: lost.map(([n, what]) => `${count(n)} ${what}`).join("\n") },
  ];
}

/** Vitals stand in the header, each in a place of its own: nothing moves while the figures do. */
export function Vitals({ process }: { process: Process }) {
  const widest = useWidest(process.key);
  return (
    <dl class="vitals" aria-label="carriers, delay, rates and losses">
      {vitals(process).map((v) => (
        <div key={v.name} class={v.bad ? "bad" : ""} data-vital={v.name} title={v.about}>
          <dt>
            <span aria-hidden={v.bad}>{v.name}</span>
            <span aria-hidden={!v.bad}>▲ {v.word}</span>
          </dt>
          <dd style={{ minWidth: `${widest(v.name, v.value)}ch` }}>{v.value}</dd>
        </div>
      ))}
    </dl>
  );
}
