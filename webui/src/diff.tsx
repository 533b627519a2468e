import "./diff.css";
import type { ComponentChildren } from "preact";
import { api, useDocument } from "./document";
import type { Diff as DiffDocument, DiffSide, GroupChange, ScopeChange } from "./documents";
import { whyEmpty } from "./empty";
import { clock, count, duration, leaf, short } from "./format";
import { addKeys } from "./keys";
import { threads } from "./kind";
import { addListKeys } from "./listkeys";
import { addMark, agosOf, dropMark, marksOf, momentOf } from "./marks";
import { Command, Empty, Panel } from "./panel";
import type { ProcessRow } from "./protocol";
import { Word } from "./states";
import type { State, Store } from "./store";
import type { ViewProps } from "./views";

const top = 40; // scopes and groups shown of those that grew, and as many of those that shrank
const every = 3_000; // milliseconds between two looks, while the newer moment is now

/** What the route compares with: a moment of this process, or another process. */
interface From {
  of: string; // key of another process; "": this one
  at: string; // Unix milliseconds; "": now, or its end
}

function readFrom(from: string): From {
  if (/^[0-9]+$/.test(from)) return { of: "", at: from };
  const i = from.lastIndexOf("@");
  return i > 0 ? { of: from.slice(0, i), at: from.slice(i + 1) } : { of: from, at: "" };
}

/** Diff shows what changed from one moment to another. */
export function Diff({ state, store, active, activate, tabs }: ViewProps) {
  const { process, route } = state;
  const known = process && !process.missing;
  const from = readFrom(route.from);
  const still = route.at !== "" || (process?.gone ?? 0) > 0;
  const path = known && route.from ? api(process.key, "diff", { of: from.of, from: from.at, to: route.at, top: String(top) }) : "";
  const fetched = useDocument<DiffDocument>(path, still ? 0 : every);
  const d = fetched.value;
  return (
    <Panel
      id="groups"
      title="What changed"
      head={tabs}
      note={d && `${count(d.old.threads)} → ${count(d.new.threads)} ${threads(d.new.threads)}`}
      active={active}
      onActivate={activate}
      foot={known && route.from && <Command line={commandOf(state, from)} />}
    >
      <div id="diff">
        {known && <Moments state={state} store={store} from={from} d={d} />}
        {fetched.error && (
          <p class="diff-error" role="alert">
            {fetched.error} {fetched.attempt && <span class="dim">try: {fetched.attempt}</span>}
          </p>
        )}
        {!known || !route.from ? (
          known ? <Choose state={state} store={store} /> : <Empty>{whyEmpty(state)}</Empty>
        ) : d ? (
          <Changes d={d} store={store} state={state} from={from} />
        ) : (
          !fetched.error && <Empty>The two moments are being compared.</Empty>
        )}
      </div>
    </Panel>
  );
}

/** Choose offers the moments that can be compared with at once. */
function Choose({ state, store }: { state: State; store: Store }) {
  const marks = marksOf(state.process?.key ?? "").filter((m) => m.at < momentOf(state));
  const agos = agosOf(state);
  return (
    <div class="empty choose">
      {agos.length + marks.length > 0 ? (
        <p>
          Compare with{" "}
          {marks.map((m) => (
            <button key={m.at} type="button" onClick={() => store.go({ from: String(m.at) })}>
              {m.name} · {clock(m.at)}
            </button>
          ))}
          {agos.map((a) => (
            <button key={a.seconds} type="button" onClick={() => store.go({ from: String(a.at) })}>
              {a.words}
            </button>
          ))}
        </p>
      ) : (
        <p>No moment before is kept yet: the first is in some seconds.</p>
      )}
      <p>
        <kbd>m</kbd> marks the moment that is shown, to come back to with <kbd>d</kbd>.
      </p>
    </div>
  );
}

interface MomentsProps {
  state: State;
  store: Store;
  from: From;
  d: DiffDocument | null;
}

/** Moments chooses what is compared, and lists the marks. */
function Moments({ state, store, from, d }: MomentsProps) {
  const { route, process } = state;
  const key = process?.key ?? "";
  const marks = marksOf(key);
  const now = momentOf(state);
  const named = marks.some((m) => String(m.at) === route.from);
  const others = (state.processes ?? []).filter((p) => p.key !== key && !p.host);
  return (
    <div class="diff-head">
      <p>
        <label>
          from{" "}
          <select
            id="diff-from"
            value={route.from}
            onChange={(e) => {
              const value = e.currentTarget.value;
              store.go({ from: value.startsWith("-") ? String(now - Number(value.slice(1)) * 1000) : value });
            }}
          >
            {!route.from && <option value="">choose a moment</option>}
            {route.from && !named && !others.some((p) => p.key === route.from) && <option value={route.from}>{from.of ? `${from.of} ${from.at && clock(Number(from.at))}` : clock(Number(from.at))}</option>}
            {marks.map((m) => (
              <option key={m.at} value={String(m.at)}>
                {m.name} · {clock(m.at)}
              </option>
            ))}
            {agosOf(state).map((a) => (
              <option key={a.seconds} value={`-${a.seconds}`}>
                {a.words}
              </option>
            ))}
            {others.map((p) => (
              <option key={p.key} value={p.key}>
                {processName(p)}
              </option>
            ))}
          </select>
        </label>{" "}
        <label>
          to{" "}
          <select id="diff-to" value={route.at} onChange={(e) => store.go({ at: e.currentTarget.value })}>
            <option value="">{(process?.gone ?? 0) > 0 ? "its end" : "now"}</option>
            {route.at && !marks.some((m) => String(m.at) === route.at) && <option value={route.at}>{clock(Number(route.at))}</option>}
            {marks.map((m) => (
              <option key={m.at} value={String(m.at)}>
                {m.name} · {clock(m.at)}
              </option>
            ))}
          </select>
        </label>
        <span class="fill" />
        {d && <Span d={d} />}
      </p>
      <p class="marks">
        <span class="dim">marks</span>
        {marks.length === 0 && <span class="dim">none</span>}
        {marks.map((m) => (
          <span key={m.at} class="mark">
            <button type="button" class={String(m.at) === route.from ? "chosen" : ""} onClick={() => store.go({ from: String(m.at) })} title="compare with this moment">
              {m.name} {clock(m.at)}
            </button>
            <button
              type="button"
              aria-label={`forget ${m.name}`}
              title="forget this mark"
              onClick={() => {
                dropMark(key, m.at);
                store.go({});
              }}
            >
              ×
            </button>
          </span>
        ))}
        <button
          type="button"
          onClick={() => {
            addMark(state);
            store.go({});
          }}
        >
          mark this moment <kbd>m</kbd>
        </button>
        {route.filter && <span class="dim">all {threads()} are compared: the filter does not hold here</span>}
      </p>
    </div>
  );
}

function processName(p: ProcessRow): string {
  return `${p.program} · pid ${p.pid}${p.gone ? ` · ${p.status}` : ""}`;
}

/** Span tells which moments were compared, and whether all was known of them. */
function Span({ d }: { d: DiffDocument }) {
  const two = d.old.process.pid !== d.new.process.pid || d.old.process.started !== d.new.process.started;
  const side = (s: DiffSide): string => (two ? `${s.process.program} ${s.process.pid} at ` : "") + clock(Date.parse(s.as_of));
  return (
    <span class="diff-span" title={(d.incomplete ?? []).join("\n")}>
      {side(d.old)} → {side(d.new)}
      <span class="dim">
        {d.over_ns === 0 && !two ? ", one snapshot: none was taken in between" : d.over_ns < 0 ? `, ${duration(-d.over_ns)} earlier` : `, ${duration(d.over_ns)} later`}
        {!d.complete && ` · incomplete: ${d.incomplete?.[0] ?? ""}`}
      </span>
    </span>
  );
}

interface ChangesProps {
  d: DiffDocument;
  state: State;
  store: Store;
  from: From;
}

function Changes({ d, state, store, from }: ChangesProps) {
  const look = (change: string, to: { scope: string; group: string }): void => {
    // What is gone is looked at where it was last.
    const gone = change === "gone";
    store.go({ ...to, view: "", ...(gone && from.of === "" ? { at: from.at } : gone ? { process: from.of, at: from.at } : {}) });
  };
  const other = (change: string): string => (change === "gone" ? "show it as it was" : "show it");
  const pathOf = (path: string[], key: string): string => {
    const text = ["root", ...path].join("/");
    return (state.scopes?.rows ?? []).some((r) => r.path === text) ? text : key;
  };
  return (
    <>
      <Section title="Scopes" counts={d.scope_counts} shown={d.scopes.length} least={d.least}>
        {d.scopes.map((c) => (
          <Row key={c.key} change={c.change} before={c.before} after={c.after} title={`${nameOf(c.path)}\n${other(c.change)}`} look={() => look(c.change, { scope: pathOf(c.path, c.scope), group: "" })} path={nameOf(c.path)}>
            <b>{nameOf(c.path)}</b>
            <Times change={c} />
          </Row>
        ))}
      </Section>
      <Section title="Stack groups" counts={d.group_counts} shown={d.groups.length} least={d.least}>
        {d.groups.map((c) => (
          <Row key={c.key} change={c.change} before={c.before} after={c.after} title={`${nameOf(c.path)}\n${other(c.change)}`} look={() => look(c.change, { scope: groupScope(d, c, pathOf), group: c.group })} path={nameOf(c.path)}>
            <Calls d={d} change={c} />
            <span class="dim">{nameOf(c.path)}</span>
            <States change={c} />
          </Row>
        ))}
      </Section>
    </>
  );
}

/** groupScope is the scope that shows a group: that of its path, where that is one of the tree. */
function groupScope(d: DiffDocument, c: GroupChange, pathOf: (path: string[], key: string) => string): string {
  const scope = d.scopes.find((s) => s.path.join("/") === c.path.join("/"));
  return pathOf(c.path, scope?.scope ?? ["root", ...c.path].join("/"));
}

function nameOf(path: string[]): string {
  return path.length > 0 ? path.join("/") : "root";
}

const words = ["new", "gone", "grew", "shrank"];

interface SectionProps {
  title: string;
  counts: Record<string, number>;
  shown: number;
  least: number;
  children: ComponentChildren;
}

function Section({ title, counts, shown, least, children }: SectionProps) {
  const n = (word: string): number => Number(counts[word] ?? 0);
  const changed = words.reduce((sum, word) => sum + n(word), 0);
  return (
    <section aria-label={title}>
      <h3>
        {title}{" "}
        <span class="dim">
          {changed === 0
            ? `none changed, ${count(n("same"))} the same`
            : [...words.filter((word) => n(word) > 0).map((word) => `${count(n(word))} ${word}`), `${count(n("same"))} the same`].join(", ")}
          {least > 1 && ` or by fewer than ${count(least)}`}
        </span>
      </h3>
      <div role="list">{children}</div>
      {changed > shown && <p class="rest">{count(changed - shown)} more that changed less</p>}
    </section>
  );
}

interface RowProps {
  change: string;
  before: number;
  after: number;
  title: string;
  path: string;
  look: () => void;
  children: ComponentChildren;
}

/** Each change has a shape besides its word and colour. */
const shapes: Record<string, string> = { new: "+", gone: "✕", grew: "▲", shrank: "▼" };

function Row({ change, before, after, title, path, look, children }: RowProps) {
  const by = after - before;
  return (
    <div role="listitem">
      <div class={`diff-row ${change}`} role="button" tabIndex={0} title={title} onClick={look} data-change={change} data-path={path}>
        <span class="how">
          <i aria-hidden="true">{shapes[change] ?? "="}</i> {change}
        </span>
        <span class="by">{by > 0 ? `+${short(by)}` : by < 0 ? `−${short(-by)}` : ""}</span>
        <span class="dim counts">
          {count(before)} → {count(after)}
        </span>
        <span class="of">{children}</span>
      </div>
    </div>
  );
}

function Times({ change }: { change: ScopeChange }) {
  const { scopes_before: was, scopes_after: is } = change;
  if (was !== is && was > 0 && is > 0) return <em>{`×${count(was)} → ×${count(is)}`}</em>;
  return Math.max(was, is) > 1 ? <em>{`×${count(Math.max(was, is))}`}</em> : null;
}

function Calls({ d, change }: { d: DiffDocument; change: GroupChange }) {
  const frames = d.stacks[change.stack]?.frames ?? [];
  const own = frames.filter((f) => !f.internal);
  const [first, second] = own.length > 0 ? own : frames;
  if (!first) return <span class="dim">no stack</span>;
  return (
    <span>
      <code title={`${first.func}\n${first.file ?? ""}:${first.line ?? ""}`}>{leaf(first.func)}</code>
      {second && <span class="dim"> ‹ {leaf(second.func)}</span>}
    </span>
  );
}

/** upTo tells how long the longest of some threads has waited, as vtdump does: of some of them it may be unknown. */
function upTo(longest: number, unknown: number, of: number): string {
  if (unknown === 0) return ` for up to ${duration(longest)}`;
  return unknown < of ? ` for up to ${duration(longest)} or ?` : "";
}

function States({ change }: { change: GroupChange }) {
  const gone = change.after === 0;
  const states = Object.entries(gone ? change.states_before : change.states_after).sort((a, b) => Number(b[1]) - Number(a[1]));
  return (
    <span class="dim states-of">
      {states.slice(0, 2).map(([name]) => (
        <Word key={name} state={name} />
      ))}
      {upTo(
        gone ? change.longest_before_ns : change.longest_after_ns,
        (gone ? change.unknown_before : change.unknown_after) ?? 0,
        gone ? change.before : change.after,
      )}
    </span>
  );
}

/** commandOf is the command line that compares the same. */
function commandOf(state: State, from: From): string {
  const at = (process: string, moment: string): string => {
    const base = location.pathname === "/" && location.protocol === "http:" ? `${location.host}/` : location.origin + location.pathname;
    return `${base}${process}${moment && `@${moment}`}`;
  };
  const one = state.process ? (sole(state) ? String(state.process.pid) : state.process.key) : "";
  return `vtdump diff ${at(from.of || one, from.at)} ${at(one, state.route.at)}`;
}

function sole(state: State): boolean {
  return (state.processes ?? []).filter((p) => p.pid === state.process?.pid).length === 1 && state.process?.status !== "recorded";
}

addListKeys("diff", "#diff .diff-row", "change", true);
addKeys({
  keys: ["Enter"],
  words: "show its threads",
  place: "diff",
  foot: true,
  act: () => {
    if (document.activeElement instanceof HTMLElement && document.activeElement.matches(".diff-row")) document.activeElement.click();
  },
});
