import { clock, count, short } from "./format";
import { Empty } from "./panel";
import type { PollerRow, Pollers } from "./protocol";

/** PollerList lists what makes threads go on that wait for sockets and files. */
export function PollerList({ pollers, unread }: { pollers: Pollers; unread: string }) {
  return (
    <section class="part" id="pollers">
      <h3>
        Pollers <span class="dim">sockets and files</span>
      </h3>
      {pollers.rows.length === 0 ? (
        <Empty>{unread || "None: no thread of the process has waited for a socket or a file."}</Empty>
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">poller</th>
              <th scope="col">watched</th>
              <th scope="col">wakes</th>
              <th scope="col">ready</th>
              <th scope="col">at once</th>
            </tr>
          </thead>
          <tbody>
            {pollers.rows.map((row) => (
              <tr key={row.number} data-kind={row.kind} title={about(row)}>
                <td>
                  {row.number} {row.kind}
                  {row.failed > 0 && <span class="bad"> {count(row.failed)} failed</span>}
                </td>
                <td title={row.unit}>{short(row.watched)}</td>
                <td>{pollers.over > 0 ? `${short(row.wakeupRate)}/s` : short(row.wakeups)}</td>
                <td>{pollers.over > 0 ? `${short(row.readyRate)}/s` : short(row.ready)}</td>
                <td>
                  <Batches row={row} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {pollers.rest > 0 && <p class="rest">{count(pollers.rest)} more pollers</p>}
    </section>
  );
}

/** size is what a class of batches holds: 1, 2 to 3, 4 to 7 … */
function size(i: number, last: number): string {
  if (i === 0) return "1";
  return i === last ? `${2 ** i} or more` : `${2 ** i} to ${2 ** (i + 1) - 1}`;
}

function about(row: PollerRow): string {
  const lines = [
    `${row.about}: ${count(row.watched)} ${row.unit}`,
    row.wakeups === 0 ? "has found nothing so far" : `woke ${count(row.wakeups)} times and found ${count(row.ready)} in all, ${(row.ready / row.wakeups).toFixed(1)} each time; last at ${clock(row.last)}`,
    ...row.batches.map((n, i) => (n > 0 ? `found ${size(i, row.batches.length - 1)} at once: ${count(n)} times` : "")),
  ];
  if (row.failed > 0) lines.push(`${count(row.failed)} waits were refused by the system`);
  return lines.filter((line) => line !== "").join("\n");
}

const high = 12;

/** Batches draws how many a poller found at once: from one on the left to most on the right. Heights are square roots. */
function Batches({ row }: { row: PollerRow }) {
  const most = Math.sqrt(Math.max(1, ...row.batches));
  const each = row.wakeups > 0 ? (row.ready / row.wakeups).toFixed(1) : "";
  return (
    <>
      {each}{" "}
      <svg class="batches" viewBox={`0 0 ${row.batches.length} ${high}`} preserveAspectRatio="none" aria-hidden="true">
        {row.batches.map((n, i) => n > 0 && <rect key={i} x={i + 0.1} y={high - Math.max(1, (high * Math.sqrt(n)) / most)} width={0.8} height={Math.max(1, (high * Math.sqrt(n)) / most)} />)}
      </svg>
    </>
  );
}
