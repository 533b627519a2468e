import "./party.css";
import type { Party } from "./documents";
import type { Store } from "./store";

/** ThreadLink is a thread by its number and name; a click opens it. */
export function ThreadLink({ id, name, store }: { id: number | string; name?: string | undefined; store: Store }) {
  return (
    <button type="button" class="link thread-link" data-thread={id} title={`open thread #${id}${name ? ` "${name}"` : ""}`} onClick={() => store.go({ thread: String(id) })}>
      <code>#{id}</code>
      {name && <q>{name}</q>}
    </button>
  );
}

/** PartyLink is a thread that can be opened, or a goroutine that is none. */
export function PartyLink({ party, store }: { party: Party; store: Store }) {
  if (party.thread) return <ThreadLink id={party.thread} name={party.name} store={store} />;
  if (!party.goroutine) return <span class="dim">unknown</span>;
  return (
    <span title="a goroutine that is no thread: vtscope knows its address, and where it waits">
      goroutine <code>{party.goroutine}</code>
    </span>
  );
}

/** pathOf writes the path of a scope as the route has it. */
export function pathOf(scope: string[] | undefined): string {
  return ["root", ...(scope ?? [])].join("/");
}

/** ScopePath is the path of a scope, of which each part can be chosen. */
export function ScopePath({ scope, store }: { scope: string[] | undefined; store: Store }) {
  const names = ["root", ...(scope ?? [])];
  return (
    <span class="scope-path">
      {names.map((name, i) => (
        <span key={i}>
          {i > 0 && <span class="dim"> / </span>}
          <button type="button" class="link" title="show this scope" onClick={() => store.go({ scope: names.slice(0, i + 1).join("/"), thread: "" })}>
            {name || "(no name)"}
          </button>
        </span>
      ))}
    </span>
  );
}
