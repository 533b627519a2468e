import { base, clock, count, duration, leaf, short } from "./format";
import { Empty } from "./panel";
import { ThreadLink } from "./party";
import { useStill } from "./rows";
import type { PinSites, Place, Warnings } from "./protocol";
import type { Store } from "./store";

/** Pins lists the places where threads blocked and held their carriers, until they went on. times is how often the schedulers counted that. */
export function Pins({ sites, unread, held, times, still }: { sites: PinSites; unread: string; held: boolean; times: number; still: boolean }) {
  const rows = useStill(sites.rows, (row) => `${row.func} ${row.file}:${row.line} ${row.reason} ${row.calls}`, still, "");
  return (
    <section class="part" id="pins">
      <h3>
        Held their carriers <span class="dim">since the start</span>
      </h3>
      {rows.length === 0 ? (
        <Empty>{unread || (times > 0 ? `${count(times)} ${times === 1 ? "time" : "times"}; where is not known, for now or because the recorder had no room.` : held ? "Those that hold theirs now are counted here when they go on." : "None: no thread has blocked and held its carrier, whatever the settings record.")}</Empty>
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">at</th>
              <th scope="col">times</th>
              <th scope="col">in sum</th>
              <th scope="col">longest</th>
              <th scope="col" title="threads that waited for a carrier meanwhile">victims</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ row }) => (
              <tr key={`${row.func} ${row.file}:${row.line} ${row.reason} ${row.calls}`} data-at={`${row.file}:${row.line}`} title={`${full(row)}\n${row.reason}; the last one ended at ${clock(row.last)}\n${count(row.victims)} threads waited for a carrier meanwhile`}>
                <td>
                  <Where place={row} />
                  <span class="dim"> {row.reason}</span>
                </td>
                <td>{count(row.count)}</td>
                <td>{duration(row.total)}</td>
                <td>{duration(row.longest)}</td>
                <td>{short(row.victims)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {sites.rest.rows > 0 && (
        <p class="rest">
          {count(sites.rest.rows)} more places, {count(sites.rest.count)} times, {duration(sites.rest.total)} in sum
        </p>
      )}
    </section>
  );
}

/** The reasons that a kind has if nothing else is said. */
const implied = ["", "monopoly"];

/** An event tells of no more victims than so many. */
const mostVictims = 65_535;

/** NewestWarnings lists the newest events about threads that held their carriers. */
export function NewestWarnings({ warnings, store, off, still }: { warnings: Warnings; store: Store; off: string; still: boolean }) {
  const rows = useStill(warnings.rows, (w) => `${w.kind} ${w.reason} ${w.func} ${w.file}:${w.line}`, still, "");
  if (rows.length === 0 && warnings.overwritten === 0 && !off) return null;
  return (
    <section class="part" id="warnings">
      <h3>Newest warnings</h3>
      {off && <Empty>{off}</Empty>}
      <ul>
        {rows.map(({ row: w }) => (
          <li key={`${w.kind} ${w.reason} ${w.func} ${w.file}:${w.line}`} title={full(w)}>
            <p>
              <span class="dim">{clock(w.time)}</span> <b class={w.kind === "starved" ? "bad" : ""}>{w.kind}</b> for {duration(w.held)}
              {w.victims > 0 && `, ${count(w.victims)}${w.victims >= mostVictims ? " or more" : ""} waited`}
              <span class="dim">
                {!implied.includes(w.reason) && ` ${w.reason}`}
                {w.count > 1 && `, ${count(w.count)} times`}
              </span>
            </p>
            <p class="at">
              <Where place={w} /> <ThreadLink id={w.thread} name={w.name} store={store} />
            </p>
          </li>
        ))}
      </ul>
      {warnings.rest + warnings.overwritten > 0 && (
        <p class="rest">
          {warnings.rest > 0 && `${count(warnings.rest)} more. `}
          {warnings.overwritten > 0 && `${count(warnings.overwritten)} older ones are overwritten by newer events.`}
        </p>
      )}
    </section>
  );
}

function Where({ place }: { place: Place }) {
  if (!place.func) return <span class="dim">place not known</span>;
  return (
    <>
      {place.guessed && <span class="dim">near </span>}
      <code>{leaf(place.func)}</code>
      {place.file && (
        <span class="dim">
          {" "}
          {base(place.file)}:{place.line}
        </span>
      )}
    </>
  );
}

function full(p: Place): string {
  if (!p.func) return "the place is not known";
  return `${p.func}\n${p.file}:${p.line}` + (p.calls ? `\nin ${p.calls}` : "") + (p.guessed ? "\na guess: an inner call that has returned may stand for it" : "");
}
