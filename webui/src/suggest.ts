import { leaf } from "./format";
import { best } from "./fuzzy";
import type { FilterTerm } from "./protocol";
import type { State } from "./store";

/** A text that can stand where the caret is. */
export interface Suggestion {
  text: string; // in place of what begins at from
  from: number; // character of the filter
  about: string;
  whole?: boolean; // it is all of a filter
}

const most = 12;
const condition = /^(-?)([a-z]*)(?:(!=|!~|>=|<=|=|~|>|<)(.*))?$/;

/** suggest tells how a filter may go on at the caret: with fields, operators or values of the language, or, if nothing is written, with a filter of before. */
export function suggest(text: string, caret: number, state: State, recent: readonly string[]): Suggestion[] {
  const fields = state.config?.filter ?? [];
  const from = beginning(text, caret);
  const parts = condition.exec(text.slice(from, caret));
  if (!parts) return [];
  const [, minus = "", name = "", operator, value = ""] = parts;
  const before = recent.map((r) => ({ text: r, from: 0, about: "used before", whole: true }));
  if (text.trim() === "") return [...before, ...fieldsOf(fields, "", from, "")].slice(0, most);
  if (from === caret && text.slice(0, caret).trim() !== "") return [...fieldsOf(fields, "", from, ""), { text: "or ", from, about: "one of both" }].slice(0, most);
  if (operator === undefined) {
    const term = fields.find((f) => f.name === name);
    if (term) return term.operators.map((o) => ({ text: minus + name + o, from, about: operatorWords[o] ?? "" }));
    return fieldsOf(fields, name, from, minus).slice(0, most);
  }
  const term = fields.find((f) => f.name === name);
  if (!term) return [];
  const wanted = value.replace(/^"/, "");
  return best(wanted, valuesOf(term, operator, state), (v) => v.text)
    .filter((v) => v.text !== wanted)
    .slice(0, most)
    .map((v) => ({ text: `${minus}${name}${operator}${quoted(v.text)} `, from, about: v.about }));
}

const operatorWords: Record<string, string> = { "=": "is", "!=": "is not", "~": "has the pattern", "!~": "has it not", ">": "more than", "<": "less than", ">=": "at least", "<=": "at most" };

/** beginning is where the condition begins that the caret is in: after the last space or parenthesis that is not in quotes. */
function beginning(text: string, caret: number): number {
  let quotes = false;
  let from = 0;
  for (let i = 0; i < caret; i++) {
    const c = text[i] ?? "";
    if (c === '"' && text[i - 1] !== "\\") quotes = !quotes;
    else if (!quotes && /[\s(]/.test(c)) from = i + 1;
  }
  return from;
}

function fieldsOf(fields: readonly FilterTerm[], name: string, from: number, minus: string): Suggestion[] {
  return best(name, fields, (f) => f.name).map((f) => ({ text: minus + f.name + (f.operators[0] ?? "="), from, about: f.about }));
}

function valuesOf(term: FilterTerm, operator: string, state: State): { text: string; about: string }[] {
  const plain = (texts: string[], about = ""): { text: string; about: string }[] => [...new Set(texts)].filter((t) => t !== "").map((text) => ({ text, about }));
  const { config } = state;
  switch (term.name) {
    case "state":
      return term.values.map((text) => ({ text, about: config?.states.find((s) => s.name === text)?.about ?? "" }));
    case "reason":
      return term.values.map((text) => ({ text, about: config?.reasons.find((r) => r.name === text)?.about ?? "" }));
    case "scope":
      return (state.scopes?.rows ?? []).map((r) => ({ text: operator.includes("~") ? escaped(r.path) : r.path, about: `${r.total} threads` }));
    case "stack":
      return plain((state.groups?.rows ?? []).flatMap((r) => [r.top, r.caller]).map((f) => (operator.includes("~") ? escaped(leaf(f)) : `*${leaf(f)}`)));
    case "blocker":
      return plain((state.groups?.rows ?? []).map((r) => r.blocker));
    case "scheduler":
      return plain((state.schedulers?.rows ?? []).map((r) => r.name));
    case "wait":
      return plain(["1s", "10s", "30s", "1m", "5m", "1h"]);
    default:
      return plain(term.values.length > 0 ? term.values : [term.example]);
  }
}

function escaped(text: string): string {
  return text.replace(/[()*[\]{}.?+|^$\\]/g, "\\$&");
}

function quoted(value: string): string {
  return /[\s()"]/.test(value) ? `"${value.replaceAll('"', '\\"')}"` : value;
}
