import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot.css";
import { short } from "./format";
import { followTheme, theme } from "./theme";

export interface Line {
  name: string;
  colour: string; // name of a custom property, such as --state-parked
  dash?: number[];
  values: number[];
}

interface ChartProps {
  label: string;
  time: number[]; // Unix seconds
  span: number; // seconds shown
  lines: Line[];
  logarithmic: boolean;
  hover: (index: number | null) => void;
}

const height = 108;

/** Chart draws lines over time. It is remade when its lines, its width or the theme change. */
export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const hover = useRef(props.hover);
  hover.current = props.hover;
  const look = useTheme();
  const shape = props.lines.map((l) => l.name).join() + look + props.logarithmic;
  const data = [props.time, ...props.lines.map((l) => l.values)] as uPlot.AlignedData;
  const range = useRef<[number, number]>([0, 1]);
  const now = props.time.at(-1) ?? 0;
  range.current = [now - props.span, now];

  useEffect(() => {
    const root = box.current;
    if (!root) return;
    const css = getComputedStyle(document.documentElement);
    const colour = (name: string): string => css.getPropertyValue(name).trim();
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const options: uPlot.Options = {
      width: Math.max(200, root.clientWidth),
      height,
      padding: [6, 8, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { size: 5 },
        sync: { key: "timeline" },
      },
      scales: {
        x: { time: true, range: () => range.current },
        y: props.logarithmic ? { distr: 4, asinh: 1, range: (_u, _min, max) => [0, Math.max(10, max * 1.5)] } : { range: (_u, _min, max) => [0, Math.max(1, max * 1.1)] },
      },
      axes: [
        { ...axis, size: 20, space: 70, values: (u, splits) => splits.map((v) => (u.valToPos(v, "x") > u.over.clientWidth - 18 ? "" : label(v))) }, // the last would be cut off
        {
          ...axis,
          size: 44,
          space: 22,
          values: (_u, splits) => splits.map((v) => (v === null ? "" : short(v))),
          ...(props.logarithmic ? { splits: (_u: uPlot, _i: number, _min: number, max: number) => decades(max), filter: (_u: uPlot, splits: number[]) => splits } : {}),
        },
      ],
      series: [
        {},
        ...props.lines.map((l) => ({
          label: l.name,
          stroke: colour(l.colour),
          width: 1.5,
          points: { show: false },
          ...(l.dash ? { dash: l.dash } : {}),
        })),
      ],
      hooks: {
        setCursor: [(u) => hover.current(u.cursor.left !== undefined && u.cursor.left >= 0 ? (u.cursor.idx ?? null) : null)],
      },
    };
    const made = new uPlot(options, data, root);
    plot.current = made;
    const sized = new ResizeObserver(() => made.setSize({ width: Math.max(200, root.clientWidth), height }));
    sized.observe(root);
    return () => {
      sized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => plot.current?.setData(data));

  return <div class="chart" ref={box} role="img" aria-label={props.label} />;
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
