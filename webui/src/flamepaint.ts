import { isPlace, packageOf } from "./calls";
import type { Call } from "./calls";
import { change, leaf } from "./format";

export const rowHeight = 19;
const least = 0.6; // pixels that a call must be wide to be drawn
const letter = 6.7; // pixels of a letter of the font below
const font = '11px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** A call with where it is drawn. */
export interface Box {
  call: Call;
  x: number;
  width: number;
  row: number;
}

export interface Layout {
  boxes: Box[];
  rows: number;
  narrow: number; // calls that are too narrow to be drawn
}

/** lay places the calls below root on a width. Those above it stand over it, as wide as all. */
export function lay(root: Call, width: number): Layout {
  const above: Call[] = [];
  for (let c = root.parent; c; c = c.parent) above.unshift(c);
  const out: Layout = { boxes: above.map((call, row) => ({ call, x: 0, width, row })), rows: above.length, narrow: 0 };
  const scale = width / Math.max(1, root.weight);
  const place = (call: Call, x: number, row: number): void => {
    const w = call.weight * scale;
    if (w < least) {
      out.narrow++;
      return;
    }
    out.boxes.push({ call, x, width: w, row });
    out.rows = Math.max(out.rows, row + 1);
    for (const child of call.children) {
      place(child, x, row + 1);
      x += child.weight * scale;
    }
  };
  place(root, 0, above.length);
  return out;
}

/** boxAt is the box at a point, or null. */
export function boxAt(layout: Layout, x: number, y: number): Box | null {
  const row = Math.floor(y / rowHeight);
  return layout.boxes.find((b) => b.row === row && x >= b.x && x < b.x + b.width) ?? null;
}

/** How calls are coloured. */
export interface Paint {
  colour: string; // "", state or change, as in the URL
  states: string[];
  root: Call; // zoomed to
  selected: Call | null;
  hovered: Call | null;
  matches: ((call: Call) => boolean) | null;
  threads: number; // of all, for changes
}

/** hueOf is the same for the same package in every process. */
export function hueOf(name: string): number {
  let h = 7;
  for (const c of name) h = (Math.imul(h, 31) + (c.codePointAt(0) ?? 0)) >>> 0;
  return (h * 137.5) % 360;
}

/** colours reads custom properties of the page, which depend on the theme. */
function colours(): (name: string) => string {
  const css = getComputedStyle(document.documentElement);
  const known = new Map<string, string>();
  return (name) => {
    let value = known.get(name);
    if (value === undefined) known.set(name, (value = css.getPropertyValue(name).trim()));
    return value;
  };
}

/** ground is the colour of a call and how much of it there is. Text stands on it in the page's own colour, so there is never much. */
function ground(call: Call, p: Paint, css: (name: string) => string): [colour: string, alpha: number] {
  if (call.depth === 0) return [css("--dim"), 0.16];
  if (p.colour === "state") return [css(`--state-${p.states[call.state] ?? "new"}`), 0.36];
  if (p.colour === "change") {
    if (call.change === 0) return [css("--dim"), 0.12];
    const share = Math.min(1, Math.abs(call.change) / Math.max(1, p.threads * 0.1));
    return [css(call.change > 0 ? "--state-blocked" : "--state-parked"), 0.15 + 0.4 * Math.sqrt(share)];
  }
  if (call.func.internal || isPlace(call.func)) return [css("--dim"), 0.2];
  return [`hsl(${hueOf(packageOf(call.func.name))} 65% 50%)`, 0.24 + (0.2 * (hueOf(call.func.name) % 8)) / 8]; // functions of a package in shades of its colour
}

/** label is what stands in a call, cut to what has room. Shapes and words tell what the colour does. */
function label(call: Call, p: Paint, room: number, title: string): string {
  let text = call.func.name ? leaf(call.func.name) : title;
  const letters = Math.floor(room / letter);
  const more = p.colour === "state" ? (p.states[call.state] ?? "") : p.colour === "change" ? change(call.change) : "";
  if (more && text.length + more.length + 2 <= letters) text += `  ${more}`;
  else if (more && p.colour === "change" && letters >= 8) text = `${more} ${text}`;
  if (text.length <= letters) return text;
  return letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
}

/** draw paints a layout on a canvas of that width in CSS pixels. */
export function draw(canvas: HTMLCanvasElement, layout: Layout, width: number, p: Paint, title: string): void {
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  const ratio = window.devicePixelRatio || 1;
  const height = layout.rows * rowHeight;
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)] as const;
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.font = font;
  ctx.textBaseline = "middle";
  const css = colours();
  for (const b of layout.boxes) {
    const y = b.row * rowHeight;
    const above = b.row < p.root.depth;
    const hit = p.matches?.(b.call) ?? false;
    const [colour, alpha] = ground(b.call, p, css);
    const w = Math.max(1, b.width - 1);
    ctx.globalAlpha = hit ? 0.55 : p.matches || above ? alpha * 0.45 : alpha;
    ctx.fillStyle = hit ? css("--accent") : colour;
    ctx.fillRect(b.x, y, w, rowHeight - 1);
    ctx.globalAlpha = 1;
    if (hit) line(ctx, css("--accent"), 1.5, b.x, y, w);
    if (b.call === p.hovered) line(ctx, css("--text"), 1, b.x, y, w);
    if (b.call === p.selected) line(ctx, css("--text"), 2, b.x, y, w);
    if (w < 3 * letter) continue;
    ctx.fillStyle = above && !hit ? css("--dim") : css("--text");
    ctx.fillText(label(b.call, p, w - 8, title), b.x + 4, y + rowHeight / 2);
  }
}

function line(ctx: CanvasRenderingContext2D, colour: string, wide: number, x: number, y: number, w: number): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = wide;
  ctx.strokeRect(x + wide / 2, y + wide / 2, Math.max(1, w - wide), rowHeight - 1 - wide);
}
