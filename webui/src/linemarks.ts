import uPlot from "uplot";
import { count, duration } from "./format";
import type { History } from "./history";
import { paintGlyph } from "./states";

/** What happened at a point beside its figures, in the order of their lanes, from the lowest up. */
export const lanes = [
  { name: "pinned", short: "pins", colour: "--state-pinned" },
  { name: "monopolized", short: "monopolies", colour: "--state-runnable" },
  { name: "starved", short: "starved", colour: "--bad" },
  { name: "gc", short: "GC", colour: "--dim" },
] as const;

/** aboutLane says what the marks of a lane stand for: those of a point, or of all the time line. Of what a process does not record of collections off says so. */
export function aboutLane(history: History, name: (typeof lanes)[number]["name"], index: number | null, off: boolean): string {
  const sum = (values: number[]): number => (index === null ? values.reduce((all, n) => all + n, 0) : (values[index] ?? 0));
  const n = sum(history[name]);
  const where = index === null ? "in this time line" : "at this point";
  if (name !== "gc") return `${count(n)} times ${name} ${where}; marked at the bottom`;
  const what = `${count(n)} garbage ${n === 1 ? "collection" : "collections"} of Go's ${where}; marked at the bottom`;
  if (off) return `${what}\nfor how long they stopped all goroutines is not recorded: the event gc is off`;
  const most = history.stopped.reduce((a, b) => Math.max(a, b), 0);
  return `${what}\nthey stopped all goroutines for ${duration(sum(history.stopped))} in sum${index === null ? `, and for ${duration(most)} at most between two points` : ""}`;
}

const laneHeight = 4; // pixels

/** colourOf reads a custom property. */
export function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** box is the part of the canvas that has the plot, in its own pixels, clipped until done is called. */
function clipped(u: uPlot): { left: number; top: number; width: number; height: number; done: () => void } {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  return { left, top, width, height, done: () => u.ctx.restore() };
}

/** at is where a time, in milliseconds, lies on the canvas. */
export function at(u: uPlot, ms: number): number {
  return u.valToPos(ms / 1_000, "x", true);
}

/** paintLoss hatches the stretches in which events were not recorded. */
export function paintLoss(u: uPlot, history: History): void {
  const box = clipped(u);
  const { ctx } = u;
  ctx.strokeStyle = colourOf("--bad");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([]); // that of the line drawn last holds still
  ctx.globalAlpha = 0.55;
  const step = 6 * devicePixelRatio;
  history.drops.forEach((n, i) => {
    if (n <= 0) return;
    const to = at(u, history.time[i] ?? 0);
    const from = i > 0 ? at(u, history.time[i - 1] ?? 0) : to - step;
    const right = Math.max(to, from + 3 * devicePixelRatio);
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, box.top, right - from, box.height);
    ctx.clip();
    ctx.beginPath();
    // Lines of one grid, so that stretches side by side look like one.
    for (let x = Math.floor((from - box.height) / step) * step; x < right; x += step) {
      ctx.moveTo(x, box.top + box.height);
      ctx.lineTo(x + box.height, box.top);
    }
    ctx.stroke();
    ctx.restore();
  });
  box.done();
}

/** paintLanes marks the points at which threads were pinned, monopolized a carrier or starved, or garbage was collected, each in a lane at the bottom. */
export function paintLanes(u: uPlot, history: History): void {
  const box = clipped(u);
  const height = laneHeight * devicePixelRatio;
  lanes.forEach((lane, n) => {
    u.ctx.fillStyle = colourOf(lane.colour);
    const top = box.top + box.height - (n + 1) * (height + devicePixelRatio);
    history[lane.name].forEach((count, i) => {
      if (count > 0) u.ctx.fillRect(at(u, history.time[i] ?? 0) - devicePixelRatio, top, 2 * devicePixelRatio, height);
    });
  });
  box.done();
}

const sign = 8; // pixels, as the room on the right of a chart

/** signPlaces are how many signs each of some heights is moved to the left, so that none covers another one of the same size. */
export function signPlaces(heights: number[], size: number): number[] {
  const places: number[] = [];
  heights.forEach((y, i) => {
    let at = 0;
    while (heights.slice(0, i).some((other, j) => places[j] === at && Math.abs(other - y) < size)) at++;
    places.push(at);
  });
  return places;
}

/** paintSigns puts the sign of each state behind the end of its line: lines are told apart by more than their colour. */
export function paintSigns(u: uPlot, lines: { name: string; colour: string; values: number[] }[]): void {
  const { left, top, width, height } = u.bbox;
  const size = sign * devicePixelRatio;
  const there = lines.filter((l) => (l.values.at(-1) ?? 0) > 0); // of the others no line ends here
  const heights = there.map((l) => Math.max(top + size / 2, Math.min(top + height - size / 2, u.valToPos(l.values.at(-1) ?? 0, "y", true))));
  signPlaces(heights, size).forEach((at, i) => {
    const line = there[i];
    if (line) paintGlyph(u.ctx, line.name, left + width + size / 2 - at * 1.25 * size, heights[i] ?? 0, size, colourOf(line.colour));
  });
}

/** paintMoments draws a line at the moment that is shown, and a dashed one at what it is compared with. */
export function paintMoments(u: uPlot, shown: string, from: string): void {
  const box = clipped(u);
  const { ctx } = u;
  ctx.strokeStyle = ctx.fillStyle = colourOf("--accent");
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const [ms, dash] of [[shown, []], [from, [4, 3]]] as const) {
    if (ms === "") continue;
    const x = at(u, Number(ms));
    ctx.setLineDash(dash.map((d) => d * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(x, box.top);
    ctx.lineTo(x, box.top + box.height);
    ctx.stroke();
    ctx.beginPath();
    const w = 5 * devicePixelRatio;
    ctx.moveTo(x - w, box.top);
    ctx.lineTo(x + w, box.top);
    ctx.lineTo(x, box.top + w);
    ctx.fill();
  }
  box.done();
}
