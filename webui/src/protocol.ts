// Made from agent/protocol.go by: go test ./agent -run PagesTypes -update
// What the members mean: docs/protocol.md.

export const protocol = 1;
export const subprotocol = "vtscope.1";

export interface Config {
  type: string;
  protocol: number;
  agent: About;
  states: Term[];
  reasons: Term[];
  kinds: Term[];
  intervalMs: number;
  points: number;
  limits: Limits;
}

export interface About {
  pid: number;
  started: number;
}

export interface Term {
  name: string;
  about: string;
}

export interface Limits {
  scopes: number;
  groups: number;
  carriers: number;
}

export interface Subscription {
  type: string;
  process: string;
  scope: string;
  group: string;
}

export interface Problem {
  type: string;
  error: string;
  try: string;
}

export interface Frame {
  type: string;
  seq: number;
  time: number;
  lost: number;
  processes?: ProcessRow[];
  process?: Process;
  scopes?: Scopes;
  groups?: Groups;
  stack?: Stack;
  carriers?: Carriers;
  points?: Points;
}

export interface ProcessRow {
  key: string;
  pid: number;
  program: string;
  status: string;
  started: number;
  gone: number;
  threads: number;
}

export interface Process extends ProcessRow {
  missing: string;
  problem: string;
  exe: string;
  goVersion: string;
  counts: number[];
  scopeCount: number;
  rates: Rates;
  drops: Drops;
  snapshot: Taken;
  cost: Cost;
}

export interface Rates {
  starts: number;
  ends: number;
  switches: number;
  events: number;
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
}

export interface Scopes {
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
}

export interface Rest {
  rows: number;
  threads: number;
}

export interface Groups {
  scope: string;
  missing: string;
  total: number;
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
  where: string;
  switches: number;
  events: number;
}

export interface Points {
  reset: boolean;
  time: number[];
  counts: number[][];
  starts: number[];
  ends: number[];
  switches: number[];
  drops: number[];
}
