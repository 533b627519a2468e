// Made from Go's types by: go test ./agent -run PagesTypes -update
// What the members mean: docs/protocol.md.

export const protocol = 1;
export const subprotocol = "vtscope.1";

export interface Config {
  type: string;
  protocol: number;
  agent: About;
  states: Term[];
  reasons: Term[];
  kinds: KindTerm[];
  figures: FigureTerm[];
  buckets: number[];
  intervalMs: number;
  points: number;
  limits: Limits;
  orders: Term[];
  panels: string[];
  filter: FilterTerm[];
  checks: CheckTerm[];
  caller: CallerTerm;
  incidents: boolean;
  programs: boolean;
  traceUrl: string;
  marks: boolean;
}

export interface About {
  pid: number;
  started: number;
}

export interface Term {
  name: string;
  about: string;
}

export interface KindTerm {
  name: string;
  about: string;
  category: string;
  cost: string;
  fields: FieldTerm[];
}

export interface FieldTerm {
  name: string;
  use: string;
  type: string;
  unit: string;
}

export interface FigureTerm {
  name: string;
  about: string;
  total: boolean;
  unit: string;
}

export interface Limits {
  scopes: number;
  opened: number;
  groups: number;
  calls: number;
  carriers: number;
  schedulers: number;
  pinSites: number;
  pollers: number;
  delays: number;
  slowIO: number;
  warnings: number;
  findings: number;
  events: number;
  filters: number;
}

export interface FilterTerm {
  name: string;
  about: string;
  operators: string[];
  values: string[];
  example: string;
}

export interface CheckTerm {
  name: string;
  about: string;
  remedy: string;
}

export interface CallerTerm {
  name: string;
  role: string;
}

export interface Subscription {
  type: string;
  process: string;
  scope: string;
  group: string;
  order?: string;
  open?: OpenScope[];
  groupOrder?: string;
  func?: string;
  runtime?: boolean;
  filter?: string;
  panels?: string[];
  deltas?: boolean;
  at?: number;
  marks?: number[];
}

export interface OpenScope {
  scope: string;
  rows: number;
}

export interface Seen {
  type: string;
  seq: number;
}

export interface Problem {
  type: string;
  error: string;
  try: string;
  filter?: string;
  at?: number;
  length?: number;
}

export interface Frame {
  type: string;
  seq: number;
  time: number;
  lost: number;
  processes?: ProcessRow[];
  process?: Process;
  moment?: Moment;
  scopes?: Scopes;
  groups?: Groups;
  stack?: Stack;
  flame?: Calls;
  callers?: Calls;
  carriers?: Carriers;
  schedulers?: Schedulers;
  pinSites?: PinSites;
  pollers?: Pollers;
  delays?: Delays;
  slowIO?: SlowIO;
  warnings?: Warnings;
  findings?: Findings;
  events?: Events;
  points?: Points;
  deltas?: Record<string, unknown>;
}

export interface ProcessRow {
  key: string;
  kind: string;
  pid: number;
  program: string;
  address: string;
  status: string;
  ending: string;
  started: number;
  gone: number;
  threads: number;
  host: string;
  heard: number;
}

export interface Process extends ProcessRow {
  missing: string;
  problem: string;
  exe: string;
  goVersion: string;
  counts: number[];
  scopeCount: number;
  durable: number;
  rates: Rates;
  carrying: Carrying;
  delay: Delay;
  drops: Drops;
  snapshot: Taken;
  cost: Cost;
  observed: Observed;
}

export interface Rates {
  starts: number;
  ends: number;
  switches: number;
  events: number;
}

export interface Carrying {
  total: number;
  busy: number;
  held: number;
}

export interface Delay extends Times {
  over: number;
}

export interface Times {
  count: number;
  p50: number;
  p90: number;
  p99: number;
  longest: number;
}

export interface Drops {
  events: number;
  threads: number;
  stacks: number;
  strings: number;
  torn: number;
}

export interface Taken {
  time: number;
  took: number;
  changeOver: number;
  every: number;
  complete: boolean;
  incomplete: string[];
  note: string;
}

export interface Cost {
  cpu: number;
  memory: number;
  bytes: number;
  past: number;
  maxCpu: number;
  maxMemory: number;
  step: number;
  note: string;
  unread: boolean;
  clients: number;
  lostFrames: number;
  lostEvents: number;
}

export interface Observed {
  observers: number;
  events: number;
  lost: number;
}

export interface Moment {
  at: number;
  shown: number;
  missing: string;
  busy: boolean;
  oldest: number;
  newest: number;
  kept: number;
  back: number[];
  forth: number[];
  note: string;
}

export interface Scopes {
  order: string;
  rows: ScopeRow[];
  rest: Rest;
}

export interface ScopeRow {
  key: string;
  path: string;
  name: string;
  depth: number;
  fold: number;
  own: number;
  total: number;
  change: number;
  owner: string;
  counts: number[];
  oldest: number;
  wait: number;
  pins: number;
  children: number;
  hidden: number;
  hiddenThreads: number;
}

export interface Rest {
  rows: number;
  threads: number;
}

export interface Groups {
  scope: string;
  missing: string;
  total: number;
  filter: string;
  left: number;
  order: string;
  rows: GroupRow[];
  rest: Rest;
}

export interface GroupRow {
  key: string;
  scope: string;
  count: number;
  change: number;
  state: string;
  reason: string;
  blocker: string;
  top: string;
  caller: string;
  min: number;
  median: number;
  max: number;
  unknown: number;
  within: number;
  seen: number;
  mark: string;
  note: string;
}

export interface Stack {
  group: string;
  missing: string;
  row: GroupRow | null;
  frames: FrameRow[];
  truncated: boolean;
  examples: ThreadRow[];
}

export interface FrameRow {
  func: string;
  file: string;
  line: number;
  inlined: boolean;
  internal: boolean;
}

export interface ThreadRow {
  id: string;
  name: string;
  wait: number;
}

export interface Calls {
  scope: string;
  missing: string;
  filter: string;
  func: string;
  outward: boolean;
  runtime: boolean;
  total: number;
  waitedMs: number;
  compared: boolean;
  funcs: CallFunc[];
  parents: number[];
  calls: number[];
  lines: number[];
  threads: number[];
  own: number[];
  waitsMs: number[];
  changes: number[];
  states: number[];
  inState: number[];
  rest: Rest;
}

export interface CallFunc {
  name: string;
  file: string;
  internal: boolean;
}

export interface Carriers {
  rows: CarrierRow[];
  total: number;
  busy: number;
  rest: number;
}

export interface CarrierRow {
  id: number;
  state: string;
  thread: string;
  name: string;
  doing: string;
  since: number;
  reason: string;
  where: string;
  switches: number;
  events: number;
  scheduler: string;
  past: string;
}

export interface Schedulers {
  missing: string;
  rows: SchedulerRow[];
  rest: number;
}

export interface SchedulerRow {
  id: number;
  name: string;
  told: number;
  figures: number[];
  rates: number[];
  parked: number[];
  ready: Spread;
  slice: Spread;
}

export interface Spread {
  over: number;
  recent: Histogram;
  total: Histogram;
}

export interface Histogram extends Times {
  first: number;
  bars: number[];
}

export interface PinSites {
  known: boolean;
  rows: PinSiteRow[];
  rest: PinRest;
}

export interface Place {
  func: string;
  file: string;
  line: number;
  calls: string;
  guessed: boolean;
}

export interface PinSiteRow extends Place {
  reason: string;
  count: number;
  total: number;
  longest: number;
  victims: number;
  last: number;
}

export interface PinRest {
  rows: number;
  count: number;
  total: number;
}

export interface Pollers {
  known: boolean;
  over: number;
  rows: PollerRow[];
  rest: number;
}

export interface PollerRow {
  number: number;
  kind: string;
  about: string;
  unit: string;
  watched: number;
  wakeups: number;
  ready: number;
  failed: number;
  last: number;
  batches: number[];
  wakeupRate: number;
  readyRate: number;
}

export interface Delays {
  window: number;
  rows: DelayRow[];
  rest: number;
  dropped: number;
}

export interface DelayRow {
  scope: string;
  ready: Times;
  slice: Times;
  runnable: number;
  waited: number;
}

export interface SlowIO {
  rows: SlowIORow[];
  rest: number;
}

export interface SlowIORow extends Place {
  reason: string;
  blocker: string;
  with: string;
  bytes: number;
  took: number;
  time: number;
  thread: string;
  name: string;
}

export interface Warnings {
  rows: Warning[];
  rest: number;
  overwritten: number;
}

export interface Warning extends Place {
  kind: string;
  reason: string;
  time: number;
  count: number;
  thread: string;
  name: string;
  held: number;
  victims: number;
}

export interface Findings {
  missing: string;
  over: number;
  rows: FindingRow[];
  rest: number;
  unjudged: UnjudgedRow[];
}

export interface FindingRow {
  key: string;
  check: string;
  severity: string;
  what: string;
  count: number;
  value: number;
  threshold: number;
  unit: string;
  measured: string;
  from: string;
  since: number;
  scope: string;
  scopeKey: string;
  group: string;
  at: Place;
  threads: ThreadRow[];
  evidence: string[];
  page: string;
}

export interface UnjudgedRow {
  check: string;
  why: string;
  partly: boolean;
}

export interface Events {
  known: boolean;
  settings: string;
  changed: number;
  rows: EventRow[];
  program: ProgramRow[];
  rest: number;
}

export interface EventRow {
  kind: number;
  count: number;
  rate: number;
  on: boolean;
  setting: string;
}

export interface ProgramRow {
  name: string;
  on: boolean;
  setting: string;
}

export interface Points {
  reset: boolean;
  time: number[];
  counts: number[][];
  starts: number[];
  ends: number[];
  switches: number[];
  drops: number[];
  pinned: number[];
  monopolized: number[];
  starved: number[];
  gc: number[];
  stopped: number[];
  ready: number[][];
  flags: Flag[];
}

export interface Flag {
  time: number;
  kind: string;
  severity: string;
  what: string;
  rest: number;
}
