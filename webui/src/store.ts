import { Address } from "./address";
import { Connection } from "./connection";
import type { Link, Listener } from "./connection";
import { apply } from "./delta";
import { extend, noHistory } from "./history";
import type { History } from "./history";
import { noLag, told } from "./lag";
import type { Lag } from "./lag";
import type { Calls, Carriers, Config, Delays, Events, Findings, Frame, Groups, Moment, PinSites, Pollers, Problem, Process, ProcessRow, Schedulers, Scopes, SlowIO, Stack, Warnings } from "./protocol";
import { areaOf, readRoute } from "./route";
import type { Route } from "./route";
import { marksOf } from "./marks";
import { readOpen } from "./scoperows";
import { Screen } from "./screen";

/** Everything that the views draw. Replaced as a whole on each change, never changed in place. */
export interface State {
  link: Link;
  route: Route;
  config: Config | null;
  problem: Problem | null;
  frameTime: number; // agent's clock at the last frame; 0: none yet
  lag: Lag;
  processes: ProcessRow[] | null;
  process: Process | null;
  moment: Moment | null;
  paused: boolean; // the moment that is shown was now when the user said pause
  scopes: Scopes | null;
  groups: Groups | null;
  stack: Stack | null;
  flame: Calls | null;
  callers: Calls | null;
  carriers: Carriers | null;
  schedulers: Schedulers | null;
  pinSites: PinSites | null;
  pollers: Pollers | null;
  slowIO: SlowIO | null;
  delays: Delays | null;
  warnings: Warnings | null;
  findings: Findings | null;
  events: Events | null;
  history: History;
  moved: { from: ProcessRow; to: ProcessRow } | null; // the page went over to another process by itself
}

const empty = {
  process: null,
  moment: null,
  paused: false,
  scopes: null,
  groups: null,
  stack: null,
  flame: null,
  callers: null,
  carriers: null,
  schedulers: null,
  pinSites: null,
  pollers: null,
  slowIO: null,
  delays: null,
  warnings: null,
  findings: null,
  events: null,
  history: noHistory,
};

/** The members of frames that are kept as they come. */
const members = ["processes", "process", "moment", "scopes", "groups", "stack", "flame", "callers", "carriers", "schedulers", "pinSites", "pollers", "slowIO", "delays", "warnings", "findings", "events"] as const;

/** Store holds the page's state, follows the URL, and tells one view tree when to draw again. */
export class Store implements Listener {
  state: State = {
    link: { how: "connecting" },
    route: readRoute(location.hash),
    config: null,
    problem: null,
    frameTime: 0,
    lag: noLag,
    processes: null,
    moved: null,
    ...empty,
  };
  private readonly address = new Address((route) => this.follow(route));
  private readonly connection: Connection;
  private readonly screen = new Screen(() => this.ask());
  private rejoined = false; // connected again, and no frame came yet

  constructor(private readonly changed: () => void) {
    const url = new URL("ws", location.href); // beside the page, wherever that is
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    url.hash = url.search = "";
    this.connection = new Connection(url.href, this);
    this.ask();
  }

  /** go shows something else and puts it in the URL. Members left out stay. own: the page goes there by itself, and not again when the user goes back. */
  go(to: Partial<Route>, own = false): void {
    const route = { ...this.state.route, ...to };
    if (to.process !== undefined && to.process !== this.state.route.process) {
      for (const name of ["scope", "group", "wait", "thread", "at", "from", "open", "fold", "zoom", "func", "durable", "durableFilter", "durableTop"] as const) route[name] = to[name] ?? "";
    } else if ((to.scope !== undefined && to.scope !== this.state.route.scope) || (to.filter !== undefined && to.filter !== this.state.route.filter)) {
      route.group = to.group ?? "";
    }
    const others = (["scope", "group", "filter"] as const).some((name) => to[name] !== undefined && to[name] !== this.state.route[name]);
    if (others) for (const name of ["wait", "thread"] as const) route[name] = to[name] ?? "";
    this.address.write(route, own);
    this.follow(route);
  }

  /** rewind shows a moment of the past, Unix milliseconds. */
  rewind(at: number): void {
    this.go({ at: String(Math.round(at)) });
  }

  /** pause stays at a moment that is shown. */
  pause(at: number): void {
    this.rewind(at);
    this.set({ paused: true });
  }

  /** now shows what is, and compares with nothing. */
  now(): void {
    this.go({ at: "", from: "" });
  }

  private follow(route: Route): void {
    const other = route.process !== this.state.route.process;
    this.set({ route, moved: null, problem: null, paused: this.state.paused && route.at === this.state.route.at, ...(other ? empty : {}) });
    this.ask();
  }

  private ask(): void {
    const { process, at, scope, group, filter, order, view, func, frames, groupOrder } = this.state.route;
    const panels = this.screen.wanted(view);
    this.connection.subscribe({ process, at: Number(at) || 0, scope, group, filter, order: areaOf(this.state.route) === "wait" ? "wait" : order, open: readOpen(this.state.route), func: view === "graph" ? func : "", runtime: frames === "all", groupOrder, marks: marksOf(this.state.process?.key ?? "").map((m) => m.at), panels });
  }

  /** drawn tells that the page may have new elements. */
  drawn(): void {
    this.screen.watch();
  }

  link(link: Link): void {
    this.set({ link });
  }

  config(config: Config): void {
    this.rejoined = this.state.frameTime > 0;
    this.set({ config, problem: null, lag: { ...noLag, arrived: this.state.lag.arrived } });
  }

  problem(problem: Problem): void {
    this.set({ problem });
  }

  frame(frame: Frame): void {
    const state: Partial<State> = { frameTime: frame.time, lag: told(this.state.lag, frame, Date.now()) };
    for (const name of members) {
      const delta = frame.deltas?.[name];
      const old = this.state[name];
      if (frame[name]) Object.assign(state, { [name]: frame[name] });
      else if (delta && old) Object.assign(state, { [name]: apply(old, delta) }); // without an old one the whole comes soon
    }
    if (frame.points) {
      state.history = extend(this.state.history, frame.points, this.state.config?.points ?? 600);
    }
    const before = this.state.process;
    const rejoined = this.rejoined;
    this.rejoined = false;
    this.set(state);
    if (before?.key !== this.state.process?.key && marksOf(this.state.process?.key ?? "").length > 0) this.ask(); // its marks are known now
    this.settle(before, rejoined);
  }

  /**
   * settle keeps the view when the process it showed went away together with vtserve, as after a restart of
   * vtserve --demo: if exactly one living process runs the same program, the page goes over to that one.
   * A process that ends while vtserve watches stays on the page.
   */
  private settle(before: Process | null, rejoined: boolean): void {
    const { process, route, processes } = this.state;
    if (!process || !before || before.missing || before.gone > 0) return;
    if (!(process.missing && route.process) && !(rejoined && process.gone > 0)) return;
    const same = (processes ?? []).filter((p) => p.program === before.program && p.gone === 0);
    const heir = same[0];
    if (same.length !== 1 || !heir) return;
    this.go({ process: heir.key, scope: route.scope, group: "" }, true);
    this.set({ moved: { from: before, to: heir } });
  }

  private set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    this.changed();
  }
}
