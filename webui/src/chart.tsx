import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot.css";
import { short } from "./format";
import { PictureButton } from "./picturebutton";
import { followTheme, theme } from "./theme";

export interface Line {
  name: string;
  colour: string; // name of a custom property, such as --state-parked
  dash?: number[];
  values: number[];
}

/** The scale of the vertical axis, where it is not one of counts. */
export interface Scale {
  range: [number, number];
  splits: number[];
  label: (value: number) => string;
}

interface ChartProps {
  label: string;
  time: number[]; // Unix seconds
  span: number; // seconds shown
  lines: Line[];
  logarithmic?: boolean;
  scale?: Scale;
  hover: (index: number | null) => void;
  pick?: (index: number, second: boolean) => void; // a click, or a drag; second: with Ctrl or Shift
  under?: (u: uPlot) => void; // draws below the lines
  over?: (u: uPlot) => void; // draws above them
  slider?: { now: number; text: string; min: number; max: number; key: (e: KeyboardEvent) => void }; // it can be moved along by keys
  children?: ComponentChildren; // above it, in its coordinates: see place
}

const axisWidth = 44;
const rightSpace = 8;

/** place is where in the box of a chart the part x of its width lies. */
export function place(x: number): string {
  return `calc(${axisWidth}px + (100% - ${axisWidth + rightSpace}px) * ${Math.max(0, Math.min(1, x)).toFixed(4)})`;
}

/** sizeOf is the size of a plot that fills its box, which the sheet sizes. */
function sizeOf(box: HTMLElement): { width: number; height: number } {
  return { width: Math.max(200, box.clientWidth), height: Math.max(60, box.clientHeight) };
}

/** Chart draws lines over time. Those of one width have one scale of time, and one cursor. It is remade when its lines, its width or the theme change. */
export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const theme = useTheme();
  const shape = props.lines.map((l) => l.name).join() + theme + props.logarithmic;
  const lines = props.lines.length > 0 ? props.lines.map((l) => l.values) : [props.time.map(() => 0)]; // a scale needs values
  const data = [props.time, ...lines] as uPlot.AlignedData;
  const range = useRef<[number, number]>([0, 1]);
  const now = props.time.at(-1) ?? 0;
  range.current = [now - props.span, now];

  useEffect(() => {
    const root = box.current;
    if (!root) return;
    const css = getComputedStyle(document.documentElement);
    const colour = (name: string): string => css.getPropertyValue(name).trim();
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const y: uPlot.Scale = props.scale
      ? { range: () => latest.current.scale?.range ?? [0, 1] }
      : props.logarithmic
        ? { distr: 4, asinh: 1, range: (_u, _min, max) => [0, Math.max(10, max * 1.5)] }
        : { range: (_u, _min, max) => [0, Math.max(1, max * 1.1)] };
    const options: uPlot.Options = {
      ...sizeOf(root),
      padding: [6, rightSpace, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { size: 5, show: props.lines.length > 0 },
        sync: { key: "timeline" },
      },
      scales: { x: { time: true, range: () => range.current }, y },
      axes: [
        { ...axis, size: 20, space: 70, values: (u, splits) => splits.map((v) => (u.valToPos(v, "x") > u.over.clientWidth - 18 ? "" : label(v))) }, // the last would be cut off
        {
          ...axis,
          size: axisWidth,
          space: 22,
          values: (_u, splits) => splits.map((v) => (v === null ? "" : (latest.current.scale?.label(v) ?? short(v)))),
          ...(props.logarithmic ? { splits: (_u: uPlot, _i: number, _min: number, max: number) => decades(max), filter: (_u: uPlot, splits: number[]) => splits } : {}),
          ...(props.scale ? { splits: () => latest.current.scale?.splits ?? [], filter: (_u: uPlot, splits: number[]) => splits } : {}),
        },
      ],
      series: [
        {},
        ...(props.lines.length > 0 ? props.lines : [null]).map((l) => ({
          label: l?.name ?? "",
          width: l ? 1.5 : 0,
          points: { show: false },
          ...(l ? { stroke: colour(l.colour) } : {}),
          ...(l?.dash ? { dash: l.dash } : {}),
        })),
      ],
      hooks: {
        drawClear: [(u) => latest.current.under?.(u)],
        draw: [(u) => latest.current.over?.(u)],
        setCursor: [(u) => latest.current.hover(u.cursor.left !== undefined && u.cursor.left >= 0 ? (u.cursor.idx ?? null) : null)],
      },
    };
    const made = new uPlot(options, data, root);
    plot.current = made;
    const sized = new ResizeObserver(() => made.setSize(sizeOf(root)));
    sized.observe(root);
    return () => {
      sized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => plot.current?.setData(data));

  // The pointer is followed by the box: the plot may be made anew while it is dragged.
  const drag = useRef<{ second: boolean } | null>(null);
  const tell = (e: PointerEvent): void => {
    const u = plot.current;
    if (!u || !drag.current) return;
    const over = u.over.getBoundingClientRect();
    props.pick?.(u.posToIdx(Math.max(0, Math.min(over.width - 1, e.clientX - over.left))), drag.current.second);
  };
  const press = (e: PointerEvent): void => {
    if (e.button !== 0 || !(e.target instanceof Node) || !plot.current?.over.contains(e.target)) return;
    drag.current = { second: e.ctrlKey || e.shiftKey || e.metaKey };
    box.current?.setPointerCapture(e.pointerId);
    tell(e);
  };
  const end = (): void => {
    drag.current = null;
  };
  const { slider } = props;
  const role = slider
    ? {
        role: "slider" as const,
        tabIndex: 0,
        "aria-valuemin": slider.min,
        "aria-valuemax": slider.max,
        "aria-valuenow": slider.now,
        "aria-valuetext": slider.text,
        onKeyDown: slider.key,
      }
    : { role: "img" as const };
  return (
    <div class="plot">
      <div class={props.pick ? "chart picks" : "chart"} ref={box} aria-label={props.label} {...role} {...(props.pick ? { onPointerDown: press, onPointerMove: tell, onPointerUp: end, onPointerCancel: end } : {})} />
      {props.children}
      <PictureButton over />
    </div>
  );
}

/** decades returns 0 and powers of ten up to max, thinned out so that four or five have room. */
function decades(max: number): number[] {
  const top = Math.floor(Math.log10(Math.max(1, max)));
  const step = Math.max(1, Math.ceil(top / 4));
  const splits = [0];
  for (let p = top; p >= (top > 2 ? 1 : 0); p -= step) splits.push(10 ** p);
  return splits.sort((a, b) => a - b);
}

function label(seconds: number): string {
  const d = new Date(seconds * 1_000);
  const two = (n: number): string => String(n).padStart(2, "0");
  const s = d.getSeconds();
  return `${two(d.getHours())}:${two(d.getMinutes())}${s ? ":" + two(s) : ""}`;
}

/** useTheme is the theme's name: what is drawn on a canvas is drawn again when it is another one. */
export function useTheme(): string {
  const [now, set] = useState(theme());
  useEffect(() => followTheme(() => set(theme())), []);
  return now;
}
