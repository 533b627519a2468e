import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import "./filter.css";
import { count } from "./format";
import type { Problem } from "./protocol";
import type { State } from "./store";
import { suggest } from "./suggest";
import type { Suggestion } from "./suggest";

const kept = "vtscope.filters"; // in localStorage
const mostKept = 8;

function recent(): string[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(kept) ?? "[]");
    return Array.isArray(all) ? all.filter((f) => typeof f === "string").slice(0, mostKept) : [];
  } catch {
    return [];
  }
}

function remember(filter: string): void {
  try {
    localStorage.setItem(kept, JSON.stringify([filter, ...recent().filter((f) => f !== filter)].slice(0, mostKept)));
  } catch {
    // the browser keeps nothing
  }
}

/** Filter is where the user says which threads scopes, groups and stack are of. It tells how what is written may go on, and where it is wrong. */
export function Filter({ state, apply }: { state: State; apply: (filter: string) => void }) {
  const [text, write] = useState(state.route.filter);
  const [caret, place] = useState(0);
  const [open, unfold] = useState(false);
  const [at, point] = useState(-1); // of the suggestions; -1: none, Enter applies what is written
  const box = useRef<HTMLInputElement>(null);
  const wanted = useRef(-1); // where the caret goes when the text is drawn
  useEffect(() => write(state.route.filter), [state.route.filter]);
  useLayoutEffect(() => {
    if (wanted.current >= 0) box.current?.setSelectionRange(wanted.current, wanted.current);
    wanted.current = -1;
  }, [text]);
  const wrong = state.problem?.filter ? state.problem : null;
  useEffect(() => {
    if (wrong && box.current === document.activeElement) box.current?.setSelectionRange(...wrongRange(wrong));
  }, [wrong]);
  const rows = open ? suggest(text, caret, state, recent()) : [];
  const groups = state.groups;
  const take = (s: Suggestion): void => {
    const next = s.whole ? s.text : text.slice(0, s.from) + s.text + text.slice(caret).replace(/^\s+/, "");
    wanted.current = s.whole ? next.length : s.from + s.text.length;
    write(next);
    place(wanted.current);
    point(-1);
  };
  return (
    <form
      class="filter"
      role="search"
      onSubmit={(e) => {
        e.preventDefault();
        const filter = text.trim();
        if (filter) remember(filter);
        unfold(false);
        apply(filter);
      }}
    >
      <span class="box">
        <input
          ref={box}
          id="filter"
          type="text"
          role="combobox"
          aria-label="filter of threads"
          aria-expanded={rows.length > 0}
          aria-controls="filter-list"
          aria-autocomplete="list"
          aria-activedescendant={at >= 0 && rows[at] ? `filter-${at}` : undefined}
          aria-invalid={wrong !== null}
          aria-describedby={wrong ? "wrong-filter" : undefined}
          placeholder="filter, such as state=parked wait>30s"
          title="as vtdump --filter takes it; Enter applies it"
          spellcheck={false}
          autocomplete="off"
          value={text}
          maxLength={4096}
          onFocus={() => unfold(true)}
          onBlur={() => unfold(false)}
          onSelect={(e) => place(e.currentTarget.selectionStart ?? 0)}
          onInput={(e) => {
            write(e.currentTarget.value);
            place(e.currentTarget.selectionStart ?? 0);
            unfold(true);
            point(-1);
            if (e.currentTarget.value === "") apply("");
          }}
          onKeyDown={(e) => {
            const by = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
            const chosen = rows[at];
            if (by !== 0 && rows.length > 0) point(at + by < -1 ? rows.length - 1 : at + by >= rows.length ? -1 : at + by);
            else if (by > 0) unfold(true);
            else if (chosen && (e.key === "Enter" || e.key === "Tab")) take(chosen);
            else if (e.key === "Escape" && rows.length > 0) unfold(false);
            else if (e.key === "Escape") e.currentTarget.blur();
            else return;
            e.preventDefault();
            e.stopPropagation();
          }}
        />
        {text && (
          <button
            type="button"
            class="clear"
            aria-label="no filter"
            title="no filter"
            onClick={() => {
              write("");
              apply("");
            }}
          >
            ×
          </button>
        )}
        {rows.length > 0 && (
          <div class="suggestions" role="listbox" id="filter-list" aria-label="how it may go on">
            {rows.map((s, i) => (
              <div
                key={s.text}
                id={`filter-${i}`}
                role="option"
                aria-selected={i === at}
                class="option"
                onPointerDown={(e) => {
                  e.preventDefault(); // the box keeps the focus
                  take(s);
                }}
              >
                <code>{s.text}</code>
                <span class="dim">{s.about}</span>
              </div>
            ))}
            <p class="rest">
              <kbd>↓</kbd> choose <kbd>Tab</kbd> take <kbd>Enter</kbd> {at >= 0 ? "take" : "apply"} <kbd>Esc</kbd> close
            </p>
          </div>
        )}
        {wrong && rows.length === 0 && (
          <div class="suggestions wrong" role="alert">
            <code class="points" id="wrong-filter">
              {wrong.filter}
              {"\n" + " ".repeat([...(wrong.filter ?? "")].slice(0, wrong.at ?? 0).length) + "^".repeat(Math.max(1, wrong.length ?? 0))}
            </code>
            <p>
              {wrong.error}
              {wrong.try && ` (try: ${wrong.try})`}
            </p>
          </div>
        )}
      </span>
      {groups?.filter && (!groups.missing || groups.left > 0) && (
        <span class="dim" id="filtered" role="status">
          {count(groups.total)} match, {count(groups.left)} do not
        </span>
      )}
    </form>
  );
}

/** wrongRange is what is wrong of a filter, in the characters that browsers count. */
function wrongRange(p: Problem): [number, number] {
  const letters = [...(p.filter ?? "")];
  const from = letters.slice(0, p.at ?? 0).join("").length;
  return [from, from + letters.slice(p.at ?? 0, (p.at ?? 0) + (p.length ?? 0)).join("").length];
}
