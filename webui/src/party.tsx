import "./party.css";
import type { Party } from "./documents";
import type { Store } from "./store";

/** enter gives the thread that was opened the focus. */
function enter(): void {
  document.querySelector<HTMLElement>("#thread .body")?.focus({ preventScroll: true });
}

/** ThreadLink is a thread by its number and name; a click opens it. After one of the keyboard Tab goes on in the thread: the link may be gone, and the focus with it. */
export function ThreadLink({ id, name, store }: { id: number | string; name?: string | undefined; store: Store }) {
  const open = (e: MouseEvent): void => {
    store.go({ thread: String(id) });
    if (e.detail === 0) setTimeout(enter); // when it is drawn
  };
  return (
    <button type="button" class="link thread-link" data-thread={id} title={`open thread #${id}${name ? ` "${name}"` : ""}`} onClick={open}>
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
