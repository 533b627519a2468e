import { allKeys, cap, everywhere, wordsOf } from "./keys";
import type { Context, Key } from "./keys";
import type { OverlayProps } from "./overlays";
import { views } from "./views";
import "./help.css";

/** Help lists the keys by the place where they hold. */
export function Help({ context }: OverlayProps) {
  const rows = allKeys().filter((row) => row.keys.length > 0);
  const places = [...new Set(rows.map((row) => row.place))];
  return (
    <div class="help">
      {places.map((place) => (
        <section key={place}>
          <h3>{placeTitle(place)}</h3>
          <Keys rows={rows.filter((row) => row.place === place)} context={context} />
        </section>
      ))}
    </div>
  );
}

function placeTitle(place: string): string {
  if (place === everywhere) return "Everywhere";
  if (place === "scopes") return "In Scopes";
  return `In ${views.find((v) => v.name === place)?.title ?? place}`;
}

function Keys({ rows, context }: { rows: Key[]; context: Context }) {
  return (
    <dl class="keys">
      {rows.map((row) => (
        <div key={row.keys.join()}>
          <dt>
            {row.keys.map((k) => (
              <kbd key={k}>{cap(k)}</kbd>
            ))}
          </dt>
          <dd>{wordsOf(row, context)}</dd>
        </div>
      ))}
    </dl>
  );
}
