// Made from Go's types by: go test ./agent -run PagesTypes -update
// What the members mean: docs/openapi.json.

export interface GroupReport {
  format: string;
  process: Process;
  taken: string;
  as_of: string;
  took_ns: number;
  complete: boolean;
  incomplete?: string[];
  filter?: string;
  key: string;
  scope?: string[];
  state: string;
  reason?: string;
  count: number;
  others: number;
  wait: Wait;
  seen_ns?: number;
  waits: number[];
  first: number;
  stack?: Stack;
  blockers: Share[];
  names: Share[];
  oldest: Example[];
  newest: Example[];
  random: Example[];
  labelled?: LabelledThread[];
}

export interface Process {
  pid: number;
  uid: number;
  program: string;
  exe?: string;
  go_version?: string;
  started: string;
  status: string;
  ending?: string;
  last_seen: string;
  file?: string;
  kind?: string;
  held?: string;
  unseen?: string;
}

export interface Wait {
  min_ns: number;
  median_ns: number;
  max_ns: number;
  unknown?: number;
  within_ns?: number;
}

export interface Stack {
  fingerprint: string;
  frames: Frame[];
  truncated?: boolean;
}

export interface Frame {
  func: string;
  file?: string;
  line?: number;
  inlined?: boolean;
  internal?: boolean;
}

export interface Share {
  value: string;
  count: number;
}

export interface Example {
  id: number;
  name?: string;
  wait_ns: number;
  unknown?: boolean;
  within_ns?: number;
  durable?: string;
  steps?: number;
}

export interface LabelledThread {
  thread: number;
  labels: Label[];
  labels_cut?: boolean;
  trace?: Trace;
}

export interface Label {
  key: string;
  value: string;
}

export interface Trace {
  id: string;
  span?: string;
  key: string;
}

export interface ThreadReport {
  format: string;
  process: Process;
  taken: string;
  as_of: string;
  took_ns: number;
  complete: boolean;
  incomplete?: string[];
  id: number;
  name?: string;
  scope?: string[];
  state: string;
  reason?: string;
  since?: string;
  wait_ns: number;
  seen_ns?: number;
  torn?: boolean;
  kind: string;
  scheduler?: string;
  carrier?: number;
  mounts: number;
  pins: number;
  durable?: ThreadDurable;
  labels?: Label[];
  labels_cut?: boolean;
  trace?: Trace;
  for?: WaitedFor;
  waker?: Party;
  creator?: Party;
  created?: string;
  run_ns?: number;
  ready_ns?: number;
  cpu_ns?: number;
  goroutine?: string;
  stack?: Stack;
  owns?: OwnedScope[];
  locks?: HeldLock[];
  waiters?: WaitersOfOne[];
}

export interface ThreadDurable {
  id: string;
  body: string;
  steps: number;
  errors?: number;
  replays?: boolean;
  wait?: ThreadDurableWait;
}

export interface ThreadDurableWait {
  kind: string;
  name?: string;
  child?: number;
  since?: string;
  until?: string;
}

export interface WaitedFor {
  thing: string;
  cases?: string[];
  limited?: boolean;
  made?: Place;
  held?: number;
  holders?: Keeper[];
  poller?: number;
}

export interface Place extends Frame {
  calls?: string;
  guessed?: boolean;
}

export interface Party {
  thread?: number;
  goroutine?: string;
  name?: string;
  scope?: string[];
}

export interface Keeper extends Party {
  state: string;
  held_ns?: number;
  for_ns?: number;
  stack: number;
}

export interface OwnedScope {
  id: number;
  scope: string[];
  threads: number;
}

export interface HeldLock {
  thing: string;
  made?: Place;
  held_ns?: number;
}

export interface WaitersOfOne {
  thing: string;
  count: number;
  longest_ns: number;
  example: Party;
}

export interface ThreadEvents {
  format: string;
  process: Process;
  taken: string;
  as_of: string;
  took_ns: number;
  complete: boolean;
  incomplete?: string[];
  id: number;
  name?: string;
  state?: string;
  thread?: ThreadReport;
  whole: string;
  earlier: number;
  events: ThreadEvent[];
  stacks: Stack[];
}

export interface ThreadEvent {
  time: string;
  kind: string;
  event?: string;
  carrier?: number;
  by?: Party;
  for_ns?: number;
  stack: number;
  fields?: EventField[];
}

export interface EventField {
  name: string;
  text: string;
}

export interface Waits {
  format: string;
  process: Process;
  taken: string;
  as_of: string;
  took_ns: number;
  complete: boolean;
  incomplete?: string[];
  filter?: string;
  group?: string;
  threads: number;
  waiting: number;
  goroutines: number;
  others: Record<string, number>;
  judged: number;
  unjudged: UnjudgedWait[];
  deadlocks: Deadlock[];
  groups: WaitGroup[];
  rest: Rest;
  orphans: Orphan[];
  stacks: Stack[];
}

export interface UnjudgedWait {
  for: string;
  count: number;
}

export interface Deadlock {
  threads: number;
  goroutines: number;
  members: Member[];
  for_ns: number;
  victims: number;
}

export interface Member extends Party {
  count: number;
  state: string;
  role: string;
  keeps: Thing;
  held_ns?: number;
  wants: Thing;
  for_ns: number;
  stack: number;
}

export interface Thing {
  kind: string;
  id?: string;
  name?: string;
  made?: Place;
  count?: number;
}

export interface WaitGroup {
  scope?: string[];
  for: Thing;
  count: number;
  goroutines?: number;
  timed?: number;
  shortest_ns: number;
  longest_ns: number;
  stack: number;
  example: Party;
  deadlock: number;
  capacity?: number;
  available?: number;
  held?: number;
  holders?: Keeper[];
  gone?: boolean;
}

export interface Rest {
  groups: number;
  threads: number;
}

export interface Orphan {
  id: number;
  scope: string[];
  owner: number;
  open_ns: number;
}

export interface Diff {
  format: string;
  old: DiffSide;
  new: DiffSide;
  over_ns: number;
  similar: string;
  templates?: boolean;
  least: number;
  complete: boolean;
  incomplete?: string[];
  scope_counts: Record<string, number>;
  group_counts: Record<string, number>;
  scopes: ScopeChange[];
  groups: GroupChange[];
  stacks: Stack[];
}

export interface DiffSide {
  process: Process;
  as_of: string;
  filter?: string;
  threads: number;
  scopes: number;
  complete: boolean;
  known_good?: Rest;
}

export interface ScopeChange {
  key: string;
  path: string[];
  change: string;
  before: number;
  after: number;
  scopes_before: number;
  scopes_after: number;
  scope: string;
}

export interface GroupChange {
  key: string;
  path: string[];
  change: string;
  before: number;
  after: number;
  states_before: Record<string, number>;
  states_after: Record<string, number>;
  group: string;
  stack: number;
  longest_before_ns: number;
  longest_after_ns: number;
  unknown_before?: number;
  unknown_after?: number;
  examples: Example[];
}

export interface Overview {
  rows: OverviewRow[];
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

export interface OverviewRow extends ProcessRow {
  problem: string;
  taken: number;
  complete: boolean;
  counts: number[];
  scopes: number;
  change: number;
  changeOver: number;
  oldest: number;
  rates: Rates;
  errors: number;
  warnings: number;
  infos: number;
  worst: string;
  judged: boolean;
  dropped: number;
}

export interface Rates {
  starts: number;
  ends: number;
  switches: number;
  events: number;
}

export interface RecorderSettings {
  format: string;
  pid: number;
  program: string;
  status: string;
  as_of: string;
  name: string;
  changed?: string;
  cpu_time: boolean;
  kinds: SettingRow[];
  incomplete?: string[];
}

export interface SettingRow {
  name: string;
  category: string;
  on: boolean;
  threshold_ns?: number;
  stack?: boolean;
  depth?: number;
  every: number;
  per_second?: number;
}

export interface Exports {
  rows: ExportRow[];
}

export interface ExportRow {
  name: string;
  title: string;
  about: string;
  method: string;
  path: string;
  narrows: boolean;
  lasts: boolean;
  file: string;
  role: string;
  why: string;
  risk: string;
  takes: number;
  size: number;
  costs: string;
  command: string;
}

export interface IncidentList {
  rows: IncidentRow[];
  rest: number;
  dir: string;
  opened: number;
  most: number;
}

export interface IncidentRow {
  id: string;
  at: number;
  size: number;
  pid: number;
  program: string;
  causes: string[];
  missing: number;
  key: string;
  problem: string;
}

export interface GoProgramList {
  rows: GoProgramRow[];
  missing: string;
}

export interface GoProgramRow {
  pid: number;
  program: string;
  goVersion: string;
  module: string;
  started: number;
  goroutines: number;
  problem: string;
  try: string;
}

export interface Durables {
  format: string;
  source: DurableSource;
  taken: string;
  threads: number;
  matched: number;
  states: Record<string, unknown>;
  groups: DurableGroup[];
  groups_left?: number;
  rows: DurableRow[];
  rows_left?: number;
  sort: string;
  incomplete?: string[];
}

export interface DurableSource {
  kind: string;
  path?: string;
  pid?: number;
  program?: string;
  status?: string;
  stores?: StoreTold[];
  files?: number;
  bytes?: number;
  tail?: number;
  why?: string;
  stream?: DurableStream;
}

export interface StoreTold {
  kind: string;
  path?: string;
}

export interface DurableStream {
  name: string;
  namespace: string;
  messages: number;
  trees: number;
  read: number;
  came?: number;
  took_ns: number;
  listened_ns?: number;
  keepers?: DurableKeeper[];
}

export interface DurableKeeper {
  name: string;
  trees: number;
  lease_ns?: number;
  silent?: boolean;
  unheard?: boolean;
}

export interface DurableGroup {
  body: string;
  state: string;
  wait?: Pending;
  error?: string;
  threads: number;
  longest_ns: number;
  shortest_ns: number;
  steps: number;
  bytes: number;
  failed?: number;
  example: string;
}

export interface Pending {
  kind: string;
  name?: string;
  until?: string;
}

export interface DurableRow {
  id: string;
  body: string;
  state: string;
  begun?: string;
  since?: string;
  wait?: Pending;
  steps: number;
  kept: number;
  bytes: number;
  checkpoint?: Saved;
  children?: number;
  attempts?: number;
  failed?: number;
  error?: string;
  lease?: Lease;
  inbox?: number;
  unread?: boolean;
}

export interface Saved {
  name: string;
  at: string;
  steps: number;
}

export interface Lease {
  holder?: string;
  since?: string;
  taken?: number;
  silent?: boolean;
}

export interface DurableThread extends History {
  format: string;
  source: DurableSource;
  taken: string;
  incomplete?: string[];
}

export interface History {
  row: DurableRow;
  args?: unknown;
  result?: unknown;
  steps: DurableStep[];
  steps_left?: number;
  signals?: Record<string, unknown>;
  permit?: boolean;
  children?: DurableRow[];
  thread?: number;
  leases?: LeaseMove[];
}

export interface DurableStep {
  number: number;
  kind: string;
  name?: string;
  value?: unknown;
  value_bytes?: number;
  error?: string;
  open?: boolean;
  attempts?: number;
  at: string;
  took_ns?: number;
}

export interface LeaseMove {
  holder: string;
  from?: string;
  to?: string;
  given?: boolean;
  error?: string;
}
