import "./help.css";
import { allKeys, cap, everywhere, wordsOf } from "./keys";
import type { Context, Key } from "./keys";
import { overlays } from "./overlays";
import type { OverlayProps } from "./overlays";
import type { Term } from "./protocol";
import { Word } from "./states";
import { views } from "./views";

/** Documents of the repository, which lies beside the binaries. */
const documents: [string, string][] = [
  ["docs/page.md", "a tour of this page"],
  ["docs/filter.md", "the filter language"],
  ["docs/findings/", "what each finding means, and what to do"],
  ["docs/events.md", "the kinds of events"],
  ["docs/settings.md", "what the recorder records, and how to change it"],
  ["docs/recordings.md", "recordings"],
  ["docs/incidents.md", "incident bundles, and rules that take them"],
  ["docs/cli.md", "vtdump, whose words the address of this page has"],
  ["docs/security.md", "who may see and do what"],
  ["api/v1/openapi.json", "the HTTP interface"],
];

/** Help tells the keys by the place where they hold, the views, the words, and where there is more. */
export function Help({ context }: OverlayProps) {
  const { config } = context.state;
  const rows = allKeys().filter((row) => row.keys.length > 0);
  const places = [...new Set([everywhere, ...rows.map((row) => row.place)])];
  return (
    <div class="help">
      {places.map((place) => (
        <section key={place}>
          <h3>{placeTitle(place)}</h3>
          <Keys rows={rows.filter((row) => row.place === place)} context={context} />
        </section>
      ))}
      <section>
        <h3>The middle shows</h3>
        <dl class="keys">
          {views.map((v) => (
            <div key={v.name}>
              <dt>{v.title}</dt>
              <dd>{v.about}</dd>
            </div>
          ))}
        </dl>
      </section>
      {config && (
        <>
          <section>
            <h3>States of threads</h3>
            <dl class="keys">
              {config.states.slice(1).map((s) => (
                <div key={s.name}>
                  <dt>
                    <Word state={s.name} />
                  </dt>
                  <dd>{s.about}</dd>
                </div>
              ))}
            </dl>
          </section>
          <Terms title="Why they wait, or left their carrier" terms={config.reasons.slice(1)} />
          <Terms title="What a filter can ask" terms={config.filter} />
          <Terms title="What findings say" terms={config.checks ?? []} />
        </>
      )}
      <section>
        <h3>Findings</h3>
        <p>
          <b class="severity-error">error</b>: threads stand still, or will not be freed. <b class="severity-warning">warning</b>: it gets worse, or others wait for it.{" "}
          <b class="severity-info">info</b>: worth knowing. Each names its page below docs/findings/.
        </p>
      </section>
      <section>
        <h3>More</h3>
        <dl class="keys">
          {documents.map(([path, about]) => (
            <div key={path}>
              <dt>{path.startsWith("api/") ? <a href={path}>{path}</a> : <code>{path}</code>}</dt>
              <dd>{about}</dd>
            </div>
          ))}
        </dl>
      </section>
    </div>
  );
}

function placeTitle(place: string): string {
  if (place === everywhere) return "Keys, everywhere";
  if (place === "scopes") return "Keys in Scopes";
  return `Keys in ${views.find((v) => v.name === place)?.title ?? overlays.find((o) => o.name === place)?.title ?? place}`;
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

function Terms({ title, terms }: { title: string; terms: Term[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl class="keys">
        {terms.map((t) => (
          <div key={t.name}>
            <dt>
              <code>{t.name}</code>
            </dt>
            <dd>{t.about}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
