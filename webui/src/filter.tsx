import { useEffect, useState } from "preact/hooks";
import { count } from "./format";
import type { State } from "./store";

/** Filter is where the user says which threads scopes, groups and stack are of. */
export function Filter({ state, apply }: { state: State; apply: (filter: string) => void }) {
  const [text, write] = useState(state.route.filter);
  useEffect(() => write(state.route.filter), [state.route.filter]);
  const groups = state.groups;
  return (
    <form
      class="filter"
      onSubmit={(e) => {
        e.preventDefault();
        apply(text.trim());
      }}
    >
      <input
        id="filter"
        type="search"
        aria-label="filter of threads"
        placeholder="filter, such as state=parked wait>30s"
        title="as vtdump --filter takes it; Enter applies it"
        spellcheck={false}
        value={text}
        maxLength={4096}
        onInput={(e) => {
          write(e.currentTarget.value);
          if (e.currentTarget.value === "") apply(""); // the cross at its end
        }}
      />
      {groups?.filter && (!groups.missing || groups.left > 0) && (
        <span class="dim" id="filtered">
          {count(groups.total)} match, {count(groups.left)} do not
        </span>
      )}
    </form>
  );
}
