/** The members of frames that are shown by elements of the page which may be out of sight, by the element's id. */
const needs: Record<string, string[]> = {
  timeline: ["points"],
  carriers: ["carriers", "pinSites", "warnings"],
  schedulers: ["delays", "pollers", "slowIO"],
  events: ["events"],
  findings: ["findings"],
};

/** What other parts of the page need too, such as the keyboard and the banners. */
const always = ["moment", "scopes", "groups", "stack", "schedulers"];

/** The members that only one view of the middle shows, by its name. */
const ofViews: Record<string, string[]> = {
  flame: ["flame"],
  graph: ["flame", "callers"],
};

/** Screen knows which members of frames somebody can see. In a tab that is hidden that is none. */
export class Screen {
  private readonly seen = new Set(Object.keys(needs)); // until the browser has told
  private readonly watched = new WeakSet<Element>();
  private readonly observer: IntersectionObserver;

  constructor(changed: () => void) {
    this.observer = new IntersectionObserver((entries) => {
      const before = this.wanted("").join();
      for (const e of entries) {
        if (e.isIntersecting) this.seen.add(e.target.id);
        else if (e.target.isConnected) this.seen.delete(e.target.id);
      }
      if (this.wanted("").join() !== before) changed();
    });
    document.addEventListener("visibilitychange", changed);
  }

  /** watch looks for elements that were drawn since the last call. */
  watch(): void {
    for (const id of Object.keys(needs)) {
      const element = document.getElementById(id);
      if (!element || this.watched.has(element)) continue;
      this.watched.add(element);
      this.observer.observe(element);
    }
  }

  /** wanted are the members that can be seen, with that view in the middle. */
  wanted(view: string): string[] {
    if (document.hidden) return [];
    return [...always, ...(ofViews[view] ?? []), ...Object.entries(needs).flatMap(([id, members]) => (this.seen.has(id) ? members : []))];
  }
}
