import { exactly } from "./moment";
import { readRoute } from "./route";
import { keep } from "./save";

/**
 * A chart that can be saved as PNG: an element with the attribute data-picture, whose value is its title. What is drawn are those of its elements that have the
 * attribute data-drawn, one below the other, or else all of it. A drawing of which the page shows a part only is drawn whole if the value is "whole".
 */
export interface Picture {
  title: string;
  box: Element;
}

/** pictures are those that the page has now. */
export function pictures(): Picture[] {
  return [...document.querySelectorAll("[data-picture]")].filter((box) => box.getClientRects().length > 0).map((box) => ({ box, title: box.getAttribute("data-picture") ?? "" }));
}

/** savePicture gives a picture to the browser, as a file that is named after its title. */
export function savePicture(picture: Picture): void {
  drawn(picture).toBlob((blob) => blob && keep(blob, `${picture.title.replaceAll(/[^a-z0-9]+/gi, "-")}.png`), "image/png");
}

interface Part {
  element: Element;
  base: DOMMatrix; // from the screen to the part
  width: number;
  height: number;
}

/** partOf is what of an element is drawn, and where it lies. */
function partOf(element: Element): Part {
  const inner = element.getAttribute("data-drawn") === "whole" ? element.querySelector<SVGGraphicsElement>("g") : null;
  const ctm = inner?.getScreenCTM();
  if (inner && ctm) {
    const all = inner.getBBox();
    const edge = 2; // for lines, which it does not count
    return { element: inner, base: new DOMMatrix().translate(edge - all.x, edge - all.y).multiply(ctm.inverse()), width: all.width + 2 * edge, height: all.height + 2 * edge };
  }
  const box = element.getBoundingClientRect();
  return { element, base: new DOMMatrix().translate(-box.left, -box.top), width: box.width, height: box.height };
}

const margin = 12;
const head = 44; // pixels: title, and what it is of
const most = 8_000; // pixels of a side: browsers have limits

/** drawn is a picture with its title, and what it is of, on the ground of the theme. */
export function drawn({ box, title }: Picture): HTMLCanvasElement {
  const marked = [...box.querySelectorAll("[data-drawn]")];
  const parts = (marked.length > 0 ? marked : [box]).map(partOf);
  const canvas = document.createElement("canvas");
  const to = canvas.getContext("2d");
  if (!to) return canvas;
  const facts = factsOf();
  to.font = plain;
  const width = Math.max(to.measureText(facts).width, ...parts.map((p) => p.width)) + 2 * margin;
  const height = parts.reduce((sum, p) => sum + p.height + margin, head + margin);
  // What is on a canvas already has the pixels of the screen; all else can be finer.
  const wanted = box.querySelector("canvas") || box instanceof HTMLCanvasElement ? devicePixelRatio : Math.max(2, devicePixelRatio);
  const scale = Math.min(wanted, most / width, most / height);
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string): string => css.getPropertyValue(name).trim();
  to.fillStyle = colour("--panel");
  to.fillRect(0, 0, canvas.width, canvas.height);
  to.scale(scale, scale);
  to.fillStyle = colour("--text");
  to.font = `600 14px ${family}`;
  to.fillText(title, margin, 20);
  to.fillStyle = colour("--dim");
  to.font = plain;
  to.fillText(facts, margin, 37);
  let y = head;
  for (const part of parts) {
    to.save();
    to.translate(margin, y);
    to.beginPath();
    to.rect(0, 0, part.width, part.height);
    to.clip();
    new Painter(to, part.base).paint(part.element, 1);
    to.restore();
    y += part.height + margin;
  }
  return canvas;
}

const family = "system-ui, sans-serif";
const plain = `11px ${family}`;

/** factsOf says what a picture is of, and when. */
function factsOf(): string {
  const { at, scope, filter } = readRoute(location.hash);
  const process = document.querySelector<HTMLSelectElement>("#process")?.selectedOptions[0]?.text.trim() ?? "";
  const when = new Date(Number(at || document.querySelector<HTMLElement>("#timeline")?.dataset.to) || Date.now()); // of the figures, which may be old
  return [process, `${when.toLocaleDateString("sv")} ${exactly(when.getTime())}`, scope && `scope ${scope}`, filter && `filter ${filter}`].filter((s) => s !== "").join(" · ");
}

/** A Painter draws elements of the page on a canvas: grounds, borders, words, other canvases and the shapes of SVG. It draws what the page's charts have, no more. */
class Painter {
  private readonly ground: DOMMatrix; // of the canvas where the part begins

  constructor(
    private readonly to: CanvasRenderingContext2D,
    private readonly base: DOMMatrix,
  ) {
    this.ground = to.getTransform();
  }

  paint(element: Element, alpha: number): void {
    const style = getComputedStyle(element);
    if (element.hasAttribute("data-unpainted") || style.display === "none" || style.visibility === "hidden" || element.tagName === "title") return;
    const seen = alpha * Number(style.opacity);
    if (seen === 0) return;
    const { to } = this;
    to.save();
    to.globalAlpha = seen;
    if (element instanceof SVGElement) this.shape(element, style);
    else this.box(element, style);
    for (const child of element.childNodes) {
      if (child instanceof Element) this.paint(child, seen);
      else if (child instanceof Text && !(element instanceof SVGElement)) this.words(child, style, seen);
    }
    to.restore();
  }

  /** place is where a box of the screen lies in the picture. */
  private place(r: DOMRect): DOMRect {
    const at = this.base.transformPoint(new DOMPoint(r.left, r.top));
    return new DOMRect(at.x, at.y, r.width, r.height);
  }

  private box(element: Element, style: CSSStyleDeclaration): void {
    const { to } = this;
    const r = this.place(element.getBoundingClientRect());
    to.setTransform(this.ground);
    if (element instanceof HTMLCanvasElement) {
      to.drawImage(element, r.x, r.y, r.width, r.height);
      return;
    }
    to.beginPath();
    to.roundRect(r.x, r.y, r.width, r.height, parseFloat(style.borderTopLeftRadius) || 0);
    to.fillStyle = style.backgroundColor;
    to.fill();
    if (style.overflowX !== "visible") to.clip();
    if (style.backgroundImage.startsWith("repeating-linear-gradient")) hatch(to, r, style.color);
    for (const [side, x1, y1, x2, y2] of [
      ["Top", r.left, r.top, r.right, r.top],
      ["Right", r.right, r.top, r.right, r.bottom],
      ["Bottom", r.left, r.bottom, r.right, r.bottom],
      ["Left", r.left, r.top, r.left, r.bottom],
    ] as const) {
      const wide = parseFloat(style[`border${side}Width`]);
      if (!(wide > 0) || element.hasAttribute("data-picture")) continue; // the frame of a chart is of the page
      to.beginPath();
      to.strokeStyle = style[`border${side}Color`];
      to.lineWidth = wide;
      to.setLineDash(style[`border${side}Style`] === "dashed" ? [3, 2] : []);
      const [dx, dy] = [side === "Left" ? wide / 2 : side === "Right" ? -wide / 2 : 0, side === "Top" ? wide / 2 : side === "Bottom" ? -wide / 2 : 0];
      to.moveTo(x1 + dx, y1 + dy);
      to.lineTo(x2 + dx, y2 + dy);
      to.stroke();
    }
  }

  private words(text: Text, style: CSSStyleDeclaration, alpha: number): void {
    const { to } = this;
    const range = document.createRange();
    to.setTransform(this.ground);
    to.globalAlpha = alpha;
    to.fillStyle = style.color;
    to.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    to.textBaseline = "alphabetic";
    for (const m of text.data.matchAll(/\S+/g)) {
      range.setStart(text, m.index);
      range.setEnd(text, m.index + m[0].length);
      const first = range.getClientRects()[0];
      if (!first) continue;
      const r = this.place(first);
      const size = to.measureText(m[0]);
      const over = (r.height - size.fontBoundingBoxAscent - size.fontBoundingBoxDescent) / 2;
      to.fillText(m[0], r.x, r.y + over + size.fontBoundingBoxAscent);
    }
  }

  private shape(element: SVGElement, style: CSSStyleDeclaration): void {
    if (!(element instanceof SVGGraphicsElement)) return;
    const ctm = element.getScreenCTM();
    if (!ctm) return;
    const { to } = this;
    to.setTransform(this.ground.multiply(this.base).multiply(ctm));
    if (element instanceof SVGTextElement) {
      to.fillStyle = style.fill;
      to.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      to.textAlign = style.textAnchor === "middle" ? "center" : style.textAnchor === "end" ? "end" : "start";
      const words = [...element.childNodes].filter((n) => n instanceof Text).map((n) => n.data).join("");
      to.fillText(words, element.x.baseVal[0]?.value ?? 0, element.y.baseVal[0]?.value ?? 0);
      return;
    }
    const path = pathOf(element);
    if (!path) return;
    if (style.fill !== "none") {
      to.fillStyle = style.fill;
      to.fill(path);
    }
    const wide = parseFloat(style.strokeWidth);
    if (style.stroke === "none" || !(wide > 0)) return;
    to.strokeStyle = style.stroke;
    to.lineWidth = wide;
    to.lineCap = style.strokeLinecap as CanvasLineCap;
    to.lineJoin = style.strokeLinejoin as CanvasLineJoin;
    to.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat));
    to.stroke(path);
  }
}

function pathOf(element: SVGGraphicsElement): Path2D | null {
  const path = new Path2D();
  if (element instanceof SVGPathElement) return new Path2D(element.getAttribute("d") ?? "");
  if (element instanceof SVGRectElement) path.roundRect(element.x.baseVal.value, element.y.baseVal.value, element.width.baseVal.value, element.height.baseVal.value, element.rx.baseVal.value);
  else if (element instanceof SVGLineElement) {
    path.moveTo(element.x1.baseVal.value, element.y1.baseVal.value);
    path.lineTo(element.x2.baseVal.value, element.y2.baseVal.value);
  } else if (element instanceof SVGCircleElement) path.arc(element.cx.baseVal.value, element.cy.baseVal.value, element.r.baseVal.value, 0, 2 * Math.PI);
  else return null;
  return path;
}

/** hatch draws what a key of hatching shows. */
function hatch(to: CanvasRenderingContext2D, r: DOMRect, colour: string): void {
  to.save();
  to.beginPath();
  to.rect(r.x, r.y, r.width, r.height);
  to.clip();
  to.strokeStyle = colour;
  to.lineWidth = 1;
  to.beginPath();
  for (let x = r.x - r.height; x < r.right; x += 4) {
    to.moveTo(x, r.bottom);
    to.lineTo(x + r.height, r.top);
  }
  to.stroke();
  to.restore();
}
