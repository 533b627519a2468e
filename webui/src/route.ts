/** What the page shows, as it stands in the URL: #process=4711&scope=root/shop&group=… The words are those of the command line. */
export interface Route {
  process: string; // key, or a pid, of which it is the living or newest process; "": the one with most threads
  scope: string; // path, or key where two scopes have one path
  group: string; // key
  wait: string; // FROM..TO: of the group only those that wait so long, see waitspan.ts; "": all
  filter: string; // of threads
  thread: string; // number
  view: string; // of the middle, see views.tsx; "": the first
  at: string; // the moment that is shown, Unix milliseconds; "": now
  from: string; // the moment that it is compared with, as at; "": none
  order: string; // of scopes with one parent, a name of config.orders; "": the first
  open: string; // scopes of which more children are shown: KEY:ROWS,KEY:ROWS
  fold: string; // scopes of which none are shown: KEY,KEY
  map: string; // the scopes are shown as a treemap: AREA.COLOUR.KEY, see treemap.tsx; "": as a tree
  zoom: string; // the call that the flame graph begins with, see calls.ts; "": the outermost ones
  func: string; // the function whose callers and callees are shown; "": none
  weight: string; // of calls: "": threads; "wait": waiting
  colour: string; // of calls: "": by package; "state"; "change"
  frames: string; // of stacks: "": the program's own; "all": the runtimes' too
  find: string; // a part of the names of the calls that are marked
  wide: string; // "1": the view in the middle takes the place of the panels beside it
  groupOrder: string; // of stack groups: "": by count; "change"; "wait"
  findings: string; // "all": those too that are not among the worst
  durable: string; // id of the durable thread whose history is shown
  durableFilter: string; // of durable threads, in the words of vtdump durable --filter
  durableSort: string; // of durable threads, in the words of vtdump durable --sort; "": by since
  durableTop: string; // how many durable threads are listed; "": some
  with: string; // processes that are shown beside each other, by key: KEY,KEY
  panel: string; // what lies over the page, see overlays.tsx; "": nothing
}

export const nowhere: Route = { process: "", scope: "", group: "", wait: "", filter: "", thread: "", view: "", at: "", from: "", order: "", open: "", fold: "", map: "", zoom: "", func: "", weight: "", colour: "", frames: "", find: "", wide: "", groupOrder: "", findings: "", durable: "", durableFilter: "", durableSort: "", durableTop: "", with: "", panel: "" };

const names = Object.keys(nowhere) as (keyof Route)[];

export function readRoute(hash: string): Route {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const route = { ...nowhere };
  for (const name of names) route[name] = params.get(name) ?? "";
  return route;
}

export function writeRoute(route: Route): string {
  const parts: string[] = [];
  for (const name of names) {
    if (route[name]) parts.push(`${name}=${encodeURIComponent(route[name]).replaceAll("%2F", "/")}`);
  }
  return parts.length > 0 ? "#" + parts.join("&") : "";
}

/** linkTo is the address of what is shown of a process, by its key: a pid may be another process's tomorrow. */
export function linkTo(page: string, route: Route, key: string): string {
  return page.replace(/#.*$/, "") + writeRoute({ ...route, process: key || route.process });
}

/** areaOf is what the boxes of the map are as large as: "threads", "wait", or "" without a map. */
export function areaOf(route: Route): string {
  return route.map.split(".")[0] ?? "";
}
