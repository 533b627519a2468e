import type { JSX } from "preact";

/**
 * Each state has a shape and a word besides its colour: shapes by name, drawn in a box of 10 by 10.
 * A state that is not here (a newer agent) gets a plain square.
 */
const shapes: Record<string, JSX.Element> = {
  new: <path d="M5 1v8M1 5h8" fill="none" stroke="currentColor" stroke-width="1.8" />,
  runnable: <path d="M2 1l6.5 4L2 9z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" />,
  mounted: <path d="M1.5 .5l8 4.5-8 4.5z" fill="currentColor" />,
  parked: <path d="M1.5 1h2.6v8H1.5zM5.9 1h2.6v8H5.9z" fill="currentColor" />,
  "timed-parked": (
    <path d="M5 1a4 4 0 1 0 .01 0M5 2.6V5l1.8 1.4" fill="none" stroke="currentColor" stroke-width="1.3" stroke-linecap="round" />
  ),
  blocked: <path d="M1 4.5h8V9.5H1zM2.8 4.5V3a2.2 2.2 0 0 1 4.4 0v1.5H6V3a1 1 0 0 0-2 0v1.5z" fill="currentColor" />,
  waiting: <path d="M.6 4h2v2h-2zM4 4h2v2H4zM7.4 4h2v2h-2z" fill="currentColor" />,
  pinned: <path d="M5 .3L9.7 5 5 9.7.3 5z" fill="currentColor" />,
  hibernated: <path d="M7.8 7.2A4.2 4.2 0 1 1 4 .9a3.4 3.4 0 0 0 3.8 6.3z" fill="currentColor" />,
  running: <path d="M1.5 .5l8 4.5-8 4.5z" fill="currentColor" />,
  stopping: <path d="M1 1h8v8H1z" fill="none" stroke="currentColor" stroke-width="1.5" />,
  moved: <path d="M1 5h7M5.2 2L8.4 5 5.2 8" fill="none" stroke="currentColor" stroke-width="1.5" />,
  failed: <path d="M1.5 1.5l7 7M8.5 1.5l-7 7" fill="none" stroke="currentColor" stroke-width="1.8" />,
  diverged: <path d="M5 9.5V5.5L1.5 1M5 5.5L8.5 1" fill="none" stroke="currentColor" stroke-width="1.5" />,
  done: <path d="M1 5.4L4 8.2 9 1.8" fill="none" stroke="currentColor" stroke-width="1.8" />,
};
const plain = <path d="M2 2h6v6H2z" fill="currentColor" />;

/** paintGlyph draws the shape of a state on a canvas, in a box of that many pixels around a point. */
export function paintGlyph(ctx: CanvasRenderingContext2D, state: string, x: number, y: number, size: number, colour: string): void {
  const { d, fill, "stroke-width": wide } = (shapes[state] ?? plain).props as { d: string; fill: string; "stroke-width"?: string };
  const path = new Path2D(d);
  ctx.save();
  ctx.translate(x - size / 2, y - size / 2);
  ctx.scale(size / 10, size / 10);
  if (fill === "none") {
    ctx.strokeStyle = colour;
    ctx.lineWidth = Number(wide);
    ctx.stroke(path);
  } else {
    ctx.fillStyle = colour;
    ctx.fill(path);
  }
  ctx.restore();
}

export function Glyph({ state }: { state: string }) {
  return (
    <svg class={`glyph state-${state}`} viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
      {shapes[state] ?? plain}
    </svg>
  );
}

/** Word is a state's shape and name. */
export function Word({ state, about }: { state: string; about?: string | undefined }) {
  return (
    <span class="word" title={about}>
      <Glyph state={state} />
      {state}
    </span>
  );
}
