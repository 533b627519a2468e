import type { Member } from "./documents";

const width = 300;
const height = 168;
const most = 8; // members that are drawn
const letters = 15; // of a name

interface Node {
  text: string;
  kind: "thread" | "thing";
  state: string;
}

/** nodesOf are the threads of a circle and what they wait for, in turn. What is a thread itself has no node of its own. */
export function nodesOf(members: Member[]): Node[] {
  const nodes: Node[] = [];
  members.forEach((m, i) => {
    nodes.push({ text: m.name || (m.thread ? `#${m.thread}` : "goroutine") + (m.count > 1 ? ` ×${m.count}` : ""), kind: "thread", state: m.state });
    const next = members[(i + 1) % members.length];
    if (next?.role !== "is") nodes.push({ text: m.wants.name ? `${m.wants.kind} ${m.wants.name}` : m.wants.kind, kind: "thing", state: "" });
  });
  return nodes;
}

/** Circle draws threads that wait for each other: an arrow goes from who waits to what it waits for, and from there to who keeps it. */
export function Circle({ members, more }: { members: Member[]; more: boolean }) {
  const nodes = nodesOf(members.slice(0, most));
  const points = nodes.map((_, i) => {
    const angle = (2 * Math.PI * i) / nodes.length - Math.PI / 2;
    return { x: width / 2 + (width / 2 - 56) * Math.cos(angle), y: height / 2 + (height / 2 - 15) * Math.sin(angle) };
  });
  const names = members.map((m) => m.name || `#${m.thread ?? ""}`).join(", ");
  return (
    <svg class="circle" data-picture={`deadlock of ${names}`} viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={`a circle of ${names}: each waits for the next`}>
      {points.map((a, i) => {
        const b = points[(i + 1) % points.length];
        if (!b) return null;
        const cut = (more || members.length > most) && i === points.length - 1;
        const at = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
        const turn = (Math.atan2(b.y - a.y, b.x - a.x) * 180) / Math.PI;
        return (
          <g key={i} class="edge">
            <line x1={a.x} y1={a.y} x2={b.x} y2={b.y} stroke-dasharray={cut ? "3 3" : undefined} />
            <path d="M-4 -4L4 0L-4 4z" transform={`translate(${at.x} ${at.y}) rotate(${turn})`} />
          </g>
        );
      })}
      {nodes.map((n, i) => {
        const p = points[i];
        if (!p) return null;
        const text = n.text.length > letters ? `${n.text.slice(0, letters - 1)}…` : n.text;
        const w = text.length * 6.6 + 14;
        return (
          <g key={i} class={n.kind}>
            <title>{n.text}</title>
            <rect x={p.x - w / 2} y={p.y - 11} width={w} height={22} rx={n.kind === "thread" ? 11 : 2} />
            <text x={p.x} y={p.y + 4} text-anchor="middle">
              {text}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
