import assert from "node:assert/strict";
import test from "node:test";
import { coming, off, unread, whyEmpty } from "../src/empty";
import type { State } from "../src/store";

const kinds = [{ name: "mount" }, { name: "park" }];
const state = (of: object): State => ({ link: { how: "live", since: 0 }, process: null, moment: null, route: { at: "" }, config: { kinds }, events: null, ...of }) as unknown as State;
const process = (of: object = {}): object => ({ missing: "", cost: { unread: false }, ...of });

test("why there is nothing: no connection, no process, no such moment", () => {
  assert.equal(whyEmpty(state({ link: { how: "lost" } })), "Not connected to vtserve: nothing to show yet.");
  assert.equal(whyEmpty(state({ process: process({ missing: "gone" }) })), "gone");
  assert.equal(whyEmpty(state({ process: process() })), "");
  const moment = { at: 5, missing: "Nothing is kept of then." };
  assert.equal(whyEmpty(state({ process: process(), moment, route: { at: "5" } })), "Nothing is kept of then.");
  assert.equal(whyEmpty(state({ process: process(), moment, route: { at: "7" } })), "", "of another moment nothing is known yet");
  assert.equal(whyEmpty(state({ process: process(), moment, route: { at: "" } })), "");
});

test("nothing is on its way without a connection", () => {
  assert.equal(coming(state({}), "It is on its way."), "It is on its way.");
  assert(coming(state({ link: { how: "lost" } }), "It is on its way.").startsWith("Not connected to vtserve"));
});

test("what was not read is not none", () => {
  assert.equal(unread(state({ process: process() }), true), "");
  assert.equal(unread(state({ process: process() }), undefined), "", "an older agent does not tell");
  assert.equal(unread(state({ process: process() }), false), "Not read yet.");
  assert(unread(state({ process: process({ cost: { unread: true } }) }), false).startsWith("Off: "));
});

test("what the recorder leaves out is told", () => {
  const events = { known: true, rows: [{ kind: 0, on: false }, { kind: 1, on: true }] };
  assert.equal(off(state({ events }), ["mount", "park"]), "Off: the recorder's settings leave out mount.");
  assert.equal(off(state({ events: { ...events, known: false } }), ["mount"]), "");
});
