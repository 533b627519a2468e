import assert from "node:assert/strict";
import test from "node:test";
import { quote } from "../src/command";
import { allowed, cheap, pathOf } from "../src/exports";
import { best, fuzzy } from "../src/fuzzy";
import { suggest } from "../src/suggest";
import type { ExportRow } from "../src/documents";
import type { State } from "../src/store";

const state = {
  config: {
    caller: { name: "token", role: "read" },
    states: [{ name: "parked", about: "waits" }],
    reasons: [],
    filter: [
      { name: "scope", about: "", operators: ["=", "~"], values: [], example: "" },
      { name: "state", about: "", operators: ["=", "~", "!=", "!~"], values: ["parked", "pinned", "runnable"], example: "" },
      { name: "wait", about: "", operators: [">", "<"], values: [], example: "30s" },
    ],
  },
  scopes: { rows: [{ key: "a", path: "root", total: 3 }, { key: "b", path: "root/GET /cart (1)", total: 2 }] },
  route: { scope: "b", filter: "state=parked wait>1s", at: "" },
} as unknown as State;

const texts = (filter: string, caret = filter.length, recent: string[] = []): string[] => suggest(filter, caret, state, recent).map((s) => s.text);

test("a filter goes on with fields, operators and values", () => {
  assert.deepEqual(texts("", 0, ["wait>1m"]), ["wait>1m", "scope=", "state=", "wait>"]);
  assert.deepEqual(texts("sta"), ["state="]);
  assert.deepEqual(texts("state"), ["state=", "state~", "state!=", "state!~"]);
  assert.deepEqual(texts("wait>1s -state=p"), ["-state=parked ", "-state=pinned "]);
  assert.deepEqual(texts("(wait>1s or sc"), ["scope="]);
  assert.deepEqual(texts("scope=cart"), ['scope="root/GET /cart (1)" ']);
  assert.deepEqual(texts("scope~cart"), ['scope~"root/GET /cart \\(1\\)" ']);
  assert.deepEqual(texts('scope="root/GET /ca'), ['scope="root/GET /cart (1)" ']);
  assert.deepEqual(texts("nothing=x"), []);
});

test("what is taken stands in place of what was begun", () => {
  const [s] = suggest("wait>1s state=pa wait<1h", 16, state, []);
  assert.equal(s?.from, 8);
  assert.equal(s?.text, "state=parked ");
});

test("letters in their order fit, words before scattered ones", () => {
  assert.equal(fuzzy("xyz", "a text"), null);
  assert.deepEqual(best("exp", ["for each place", "export: dump", "no"], (s) => s), ["export: dump"]);
  assert.deepEqual(best("gsg", ["go to Stack groups", "grow"], (s) => s), ["go to Stack groups"]);
  assert.deepEqual(best("sessions", ["(*Sessions).run", "root/shop/sessions"], (s) => s)[0], "root/shop/sessions");
  assert.deepEqual(best("", ["b", "a"], (s) => s), ["b", "a"]);
});

test("words for a shell are quoted where it would take them apart", () => {
  assert.equal(quote("root/shop"), "root/shop");
  assert.equal(quote("state=parked wait>1s"), "'state=parked wait>1s'");
  assert.equal(quote("it's"), "'it'\\''s'");
  assert.equal(quote("$(reboot)"), "'$(reboot)'");
  assert.equal(quote("~root"), "'~root'");
  assert.equal(quote(""), "''");
});

const row = { title: "", why: "", role: "read", risk: "low", narrows: true, path: "api/v1/processes/7/dump?format=text" } as ExportRow;

test("an export is of the threads that the page shows", () => {
  assert.equal(pathOf(row, state), "api/v1/processes/7/dump?format=text&scope=root%2FGET%20%2Fcart%20(1)&filter=state%3Dparked%20wait%3E1s");
  assert.equal(pathOf({ ...row, narrows: false }, state), row.path);
});

test("who may only read is told so, and what costs is asked about", () => {
  assert.equal(allowed(row, state), "");
  assert.equal(allowed({ ...row, role: "operate" }, state), "this needs the role operate; you have read");
  assert.equal(allowed({ ...row, why: "the process is gone" }, state), "the process is gone");
  assert.equal(cheap(row), true);
  assert.equal(cheap({ ...row, risk: "medium" }), false);
  assert.equal(cheap({ ...row, role: "operate" }), false);
});
