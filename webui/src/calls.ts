import { quotedValue, withCondition } from "./filters";
import type { CallFunc, Calls } from "./protocol";

/** A call of a tree, with what is below it. */
export interface Call {
  func: CallFunc;
  parent: Call | null;
  children: Call[]; // in the agent's order: by name
  depth: number; // 0: the scope, or the function that the tree begins with
  line: number; // 0: several, or not known
  threads: number;
  own: number; // threads whose stack ends here
  left: number; // threads in calls below that the agent left out
  wait: number; // nanoseconds in sum
  change: number;
  state: number; // that most of its threads are in
  inState: number;
  weight: number; // threads or wait, as was asked for
  key: string; // the same for the same path of calls
}

/** What calls are as wide as. */
export type Weight = "" | "wait";

/** treeOf makes of an agent's columns what views draw. It returns null if there are no calls. */
export function treeOf(columns: Calls | null, weight: Weight): Call | null {
  if (!columns || columns.parents.length === 0) return null;
  const all: Call[] = [];
  columns.parents.forEach((above, i) => {
    const parent = all[above] ?? null;
    const func = columns.funcs[columns.calls[i] ?? -1] ?? { name: "", file: "", internal: false };
    const threads = columns.threads[i] ?? 0;
    const own = columns.own[i] ?? 0;
    const wait = (columns.waitsMs[i] ?? 0) * 1e6;
    const call: Call = {
      func,
      parent,
      children: [],
      depth: parent ? parent.depth + 1 : 0,
      line: columns.lines[i] ?? 0,
      threads,
      own,
      left: threads - own,
      wait,
      change: columns.changes[i] ?? 0,
      state: columns.states[i] ?? 0,
      inState: columns.inState[i] ?? 0,
      weight: weight === "wait" ? wait : threads,
      key: parent ? mix(parent.key, func.name) : mix("", columns.outward ? "callers" : ""),
    };
    if (parent) {
      parent.children.push(call);
      parent.left -= threads;
    }
    all.push(call);
  });
  return all[0] ?? null;
}

/** mix is a hash of a path and one more name, as 16 hexadecimal digits. */
function mix(path: string, name: string): string {
  let a = 0x811c9dc5;
  let b = 0xdeadbeef;
  for (const c of `${path}/${name}`) {
    const code = c.codePointAt(0) ?? 0;
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995) ^ (b >>> 13);
  }
  return [a, b].map((n) => (n >>> 0).toString(16).padStart(8, "0")).join("");
}

/** visit calls f with a call and all that are below it, outer ones first. Where f returns false, what is below is left out. */
export function visit(call: Call, f: (call: Call) => boolean | void): void {
  if (f(call) === false) return;
  for (const child of call.children) visit(child, f);
}

/** callOf is the call with a key, or null. */
export function callOf(root: Call | null, key: string): Call | null {
  let found: Call | null = null;
  if (root && key) visit(root, (call) => (call.key === key ? ((found = call), false) : !found));
  return found;
}

/** matcher reports which calls have a text in their name, whatever the case of letters; null: nothing is looked for. */
export function matcher(find: string): ((call: Call) => boolean) | null {
  const text = find.trim().toLowerCase();
  return text ? (call) => call.depth > 0 && call.func.name.toLowerCase().includes(text) : null;
}

/** found sums the weight of the calls that match, each thread once. */
export function found(root: Call, matches: (call: Call) => boolean): { calls: number; weight: number; threads: number } {
  const sum = { calls: 0, weight: 0, threads: 0 };
  const look = (call: Call, inside: boolean): void => {
    const hit = matches(call);
    if (hit) sum.calls++;
    if (hit && !inside) {
      sum.weight += call.weight;
      sum.threads += call.threads;
    }
    for (const child of call.children) look(child, inside || hit);
  };
  look(root, false);
  return sum;
}

/** A function with all its calls. */
export interface FuncSum {
  func: CallFunc;
  threads: number; // each once, however often it calls itself
  own: number;
  wait: number;
  weight: number;
}

/** largestFuncs are the functions with most weight. */
export function largestFuncs(root: Call, n: number): { rows: FuncSum[]; rest: number } {
  const sums = new Map<string, FuncSum>();
  const look = (call: Call, above: Set<string>): void => {
    const name = call.func.name;
    const again = above.has(name);
    if (call.depth > 0) {
      const sum = sums.get(name) ?? { func: call.func, threads: 0, own: 0, wait: 0, weight: 0 };
      sums.set(name, sum);
      sum.own += call.own;
      if (!again) {
        sum.threads += call.threads;
        sum.wait += call.wait;
        sum.weight += call.weight;
      }
    }
    const inside = again || call.depth === 0 ? above : new Set(above).add(name);
    for (const child of call.children) look(child, inside);
  };
  look(root, new Set());
  const all = [...sums.values()].sort((a, b) => b.weight - a.weight || b.own - a.own);
  return { rows: all.slice(0, n), rest: Math.max(0, all.length - n) };
}

/** packageOf is the import path of a function: example.com/shop.(*Store).query → example.com/shop. */
export function packageOf(func: string): string {
  if (func.startsWith("[") || func === "") return "";
  const head = (func.split("[")[0] ?? func).replace(/^created by /, "");
  const slash = head.lastIndexOf("/") + 1;
  const dot = head.indexOf(".", slash);
  return dot < 0 ? head : head.slice(0, dot);
}

/** isPlace reports that a name stands in the place of calls, such as [mounted]. */
export function isPlace(func: CallFunc): boolean {
  return func.name.startsWith("[");
}

/** withCall is a filter for the threads that filter matches and that are in a call; "" if there is none. */
export function withCall(filter: string, func: CallFunc, states: string[]): string {
  let condition = `stack=${quotedValue(func.name)}`;
  if (isPlace(func)) {
    const state = func.name.slice(1, -1);
    if (!states.includes(state)) return "";
    condition = `state=${state}`;
  }
  return withCondition(filter, condition);
}
