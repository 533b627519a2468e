import { readRoute, writeRoute } from "./route";
import type { Route } from "./route";

/** How things are shown: Back does not undo it. */
const looks: readonly (keyof Route)[] = ["order", "open", "fold", "map", "weight", "colour", "frames", "find", "wide", "groupOrder", "findings", "durableSort", "durableTop"];

const quick = 1_000; // milliseconds between changes of one kind that are one step: keys held, the time line dragged
const patience = 1_000; // milliseconds until a browser that was told to go back is at it

/**
 * Address keeps routes in the URL, each step as an entry of the browser's history: Back undoes the last one. What a step opened and the next one closes is one
 * entry less, not one more.
 */
export class Address {
  private kind = ""; // members of the last change
  private last = 0; // when that was
  private returning: { hash: string; next: Route | null } | null = null; // the browser goes back to a hash; next: what is to be there then

  constructor(private readonly follow: (route: Route) => void) {
    addEventListener("hashchange", () => this.moved());
  }

  read(): Route {
    return readRoute(location.hash);
  }

  /** write puts a route in the URL, where there is another one. own: the page has gone there by itself. */
  write(route: Route, own = false): void {
    if (this.returning) {
      this.returning.next = route;
      return;
    }
    const now = this.read();
    const changed = (Object.keys(route) as (keyof Route)[]).filter((name) => route[name] !== now[name]);
    if (changed.length === 0) return;
    const kind = changed.join();
    const one = kind === this.kind && performance.now() - this.last < quick;
    this.kind = kind;
    this.last = performance.now();
    const hash = writeRoute(route);
    const url = location.pathname + location.search + hash;
    const state = history.state as { before?: string } | null;
    if (!own && state?.before === hash) {
      const returning = { hash, next: null };
      this.returning = returning;
      this.kind = "";
      setTimeout(() => this.returning === returning && this.moved(), patience);
      history.back();
    } else if (own || one || changed.every((name) => looks.includes(name))) history.replaceState(state, "", url);
    else history.pushState({ before: writeRoute(now) }, "", url);
  }

  /** moved follows an address that came otherwise than by write. */
  private moved(): void {
    const { returning } = this;
    this.returning = null;
    if (returning?.next) this.write(returning.next);
    else if (returning?.hash !== writeRoute(this.read())) {
      this.kind = "";
      this.follow(this.read());
    }
  }
}
