import { Socket, address, go, pause } from "./browser";
import assert from "node:assert/strict";
import test from "node:test";
import { protocol } from "../src/protocol";
import { Store } from "../src/store";

const config = { type: "config", protocol, points: 600 };
const frame = (seq: number, more: object): object => ({ type: "frame", seq, time: seq * 1000, lost: 0, ...more });

function start(hash: string): { store: Store; socket: Socket; changes: () => number } {
  address.hash = hash;
  let changes = 0;
  const store = new Store(() => changes++);
  return { store, socket: Socket.last, changes: () => changes };
}

test("it asks for what the address names, beside the page", () => {
  const { socket } = start("#process=4711&scope=root/shop&filter=state%3Dparked");
  assert.equal(socket.url, "ws://127.0.0.1:7070/debug/vt/ws");
  socket.hear(config);
  const said = socket.said.at(-1);
  assert.equal(said?.["process"], "4711");
  assert.equal(said?.["scope"], "root/shop");
  assert.equal(said?.["filter"], "state=parked");
  assert.equal(said?.["deltas"], true);
});

test("members stay until they change, and deltas are applied", () => {
  const { store, socket } = start("");
  socket.hear(config);
  socket.hear(frame(1, { scopes: { rows: [{ key: "a", n: 1 }] }, groups: { rows: [] } }));
  const groups = store.state.groups;
  socket.hear(frame(2, { deltas: { scopes: { rows: [[0, { n: 2 }]] } } }));
  assert.deepEqual(store.state.scopes?.rows, [{ key: "a", n: 2 }]);
  assert.equal(store.state.groups, groups);
  assert.equal(store.state.frameTime, 2000);
});

test("another scope forgets the group, another process all that was of the last", () => {
  const { store, socket } = start("#process=1&scope=root/a&group=g&thread=7");
  socket.hear(config);
  socket.hear(frame(1, { scopes: { rows: [] } }));
  store.go({ scope: "root/b" });
  assert.equal(store.state.route.group, "");
  assert.equal(address.hash.includes("scope=root/b"), true);
  store.go({ process: "2" });
  assert.equal(store.state.route.scope, "");
  assert.equal(store.state.route.thread, "");
  assert.equal(store.state.scopes, null);
  assert.equal(socket.said.at(-1)?.["process"], "2");
});

test("the address decides when the user changes it", () => {
  const { store, socket, changes } = start("");
  socket.hear(config);
  const before = changes();
  go("#scope=root/x&view=flame");
  assert.equal(store.state.route.view, "flame");
  assert.equal(socket.said.at(-1)?.["scope"], "root/x");
  assert(changes() > before);
});

test("after a loss it says so, connects again, and asks for the same", async () => {
  const { store, socket } = start("#scope=root/shop");
  socket.hear(config);
  socket.hear(frame(1, { scopes: { rows: [{ key: "a" }] } }));
  socket.close();
  assert.equal(store.state.link.how, "lost");
  assert.equal(store.state.scopes?.rows.length, 1); // what was known stays
  for (let i = 0; Socket.last === socket && i < 200; i++) await pause(10);
  assert(Socket.last !== socket, "it never connected again");
  Socket.last.hear(config);
  assert.equal(store.state.link.how, "live");
  assert.equal(Socket.last.said.at(-1)?.["scope"], "root/shop");
});

test("an agent of another protocol is not misread", () => {
  const { store, socket } = start("");
  socket.hear({ ...config, protocol: protocol + 1 });
  assert.deepEqual(store.state.link, { how: "outdated", theirs: protocol + 1 });
});

test("what was wrong about a filter is kept until something else is asked for", () => {
  const { store, socket } = start("#filter=stat%3D7");
  socket.hear(config);
  socket.hear({ type: "error", error: "no such field", try: "state", filter: "stat=7", at: 0, length: 4 });
  assert.equal(store.state.problem?.error, "no such field");
  store.go({ filter: "" });
  assert.equal(store.state.problem, null);
});
