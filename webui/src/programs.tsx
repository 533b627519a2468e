import { useState } from "preact/hooks";
import { opened, useDocument } from "./document";
import type { GoProgramList, GoProgramRow } from "./documents";
import { count } from "./format";
import type { State } from "./store";

const every = 10_000; // milliseconds: each look at a program costs some

/** Programs lists the Go programs that vtserve does not follow, and lets it follow one. */
export function Programs({ state, show }: { state: State; show: (key: string) => void }) {
  const page = useDocument<GoProgramList>(state.config?.programs ? "api/v1/programs" : "", every);
  const [error, fail] = useState("");
  const operate = state.config?.caller.role === "operate";
  const follow = async (row: GoProgramRow): Promise<void> => {
    const { key, why } = await opened(`api/v1/programs/${row.pid}/follow`);
    if (key) show(key);
    else fail(why);
  };
  const rows = page.value?.rows ?? [];
  if (!page.value || page.value.missing || rows.length === 0) return page.error ? <p class="bad">{page.error}</p> : null;
  return (
    <>
      <h3>Other Go programs</h3>
      {error && <p class="bad">{error}</p>}
      <div class="scroll">
        <table class="programs">
          <thead>
            <tr>
              <th scope="col">program</th>
              <th scope="col">module</th>
              <th scope="col">Go</th>
              <th scope="col" class="n">
                goroutines
              </th>
              <th scope="col">
                <span class="sr">show</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.pid} data-program={row.pid}>
                <td>
                  {row.program} {row.pid}
                </td>
                <td class="dim">{row.module}</td>
                <td class="dim">{row.goVersion.replace(/^go/, "")}</td>
                <td class="n">{row.problem ? "" : count(row.goroutines)}</td>
                <td>
                  {row.problem ? (
                    <span class="dim">
                      {row.problem}
                      {row.try && ` (try: ${row.try})`}
                    </span>
                  ) : (
                    <button type="button" disabled={!operate} title={operate ? "read its goroutines in its memory, which does not stop it" : "this needs the role operate"} onClick={() => void follow(row)}>
                      show
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
