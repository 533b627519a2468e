// What the store needs of a browser, as little as possible: an address, and sockets that a test speaks for. Import it before the store.

/** A socket that says what a test says, and remembers what it was told. */
export class Socket {
  static readonly OPEN = 1;
  static all: Socket[] = [];
  readyState = 0;
  said: Record<string, unknown>[] = [];
  onmessage: ((e: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor(readonly url: string) {
    Socket.all.push(this);
  }

  static get last(): Socket {
    const socket = Socket.all.at(-1);
    if (!socket) throw new Error("nobody opened a socket");
    return socket;
  }

  send(text: string): void {
    this.said.push(JSON.parse(text) as Record<string, unknown>);
  }

  /** hear is a message of the agent. */
  hear(message: object): void {
    this.readyState = Socket.OPEN;
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  close(): void {
    this.readyState = 3;
    this.onclose?.();
  }
}

const listeners: Record<string, (() => void)[]> = {};

/** go changes the address as a user does. */
export function go(hash: string): void {
  entries.splice(place + 1, Infinity, { hash, state: null });
  arrive(place + 1);
}

/** What the browser has in its history. */
export const entries: { hash: string; state: unknown }[] = [{ hash: "", state: null }];
let place = 0;

function arrive(at: number): void {
  place = at;
  address.hash = entries[place]?.hash ?? "";
  for (const f of listeners["hashchange"] ?? []) f();
}

const history = {
  get state(): unknown {
    return entries[place]?.state ?? null;
  },
  replaceState: (state: unknown, _: string, to: string) => {
    entries[place] = { hash: (address.hash = to.includes("#") ? to.slice(to.indexOf("#")) : ""), state };
  },
  pushState: (state: unknown, _: string, to: string) => {
    entries.splice(++place, Infinity);
    history.replaceState(state, _, to);
  },
  back: () => void timer(() => arrive(Math.max(0, place - 1)), 5), // a browser takes its time too
};

/** back is the button of the browser. */
export function back(): Promise<void> {
  history.back();
  return pause(20);
}

export const address = { href: "http://127.0.0.1:7070/debug/vt/", protocol: "http:", pathname: "/debug/vt/", search: "", hash: "" };

class Nothing {
  observe(): void {}
  closest(): null {
    return null;
  }
}

const timer = globalThis.setTimeout;

/** pause waits that many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((done) => void timer(done, ms));
}

/** A timer of the page does not keep the test from ending, as one of a page does not keep the tab open. */
function ownTimeout(f: () => void, ms?: number): unknown {
  const t = timer(f, ms) as unknown as { unref: () => void };
  t.unref();
  return t;
}

Object.assign(globalThis, {
  setTimeout: ownTimeout,
  location: address,
  history,
  document: { hidden: false, addEventListener: () => {}, getElementById: () => null, documentElement: { dataset: {} } },
  addEventListener: (name: string, f: () => void) => (listeners[name] ??= []).push(f),
  IntersectionObserver: Nothing,
  WebSocket: Socket,
  Element: Nothing,
});
