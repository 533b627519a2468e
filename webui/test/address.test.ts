import { address, back, entries, pause } from "./browser";
import assert from "node:assert/strict";
import test from "node:test";
import { Address } from "../src/address";
import { nowhere } from "../src/route";
import type { Route } from "../src/route";

function start(): { go: (to: Partial<Route>, own?: boolean) => void; shown: () => Route } {
  history.pushState(null, "", "/");
  let route = nowhere;
  const it = new Address((r) => (route = r));
  return { go: (to, own) => it.write((route = { ...route, ...to }), own), shown: () => route };
}

test("Back undoes a step, and not how things look", async () => {
  const { go, shown } = start();
  go({ scope: "root/a" });
  go({ order: "oldest" });
  go({ group: "g" });
  assert.equal(address.hash, "#scope=root/a&group=g&order=oldest");
  await back();
  assert.equal(shown().group, "");
  assert.equal(shown().scope, "root/a");
  assert.equal(shown().order, "oldest");
  await back();
  assert.equal(shown().scope, "");
});

test("to list more findings is no step", async () => {
  const { go, shown } = start();
  go({ scope: "root/a" });
  go({ findings: "all" });
  go({ group: "g" });
  assert.equal(address.hash, "#scope=root/a&group=g&findings=all");
  await back();
  assert.equal(shown().group, "");
  assert.equal(shown().findings, "all");
  await back();
  assert.equal(shown().scope, "");
});

test("changes of one kind at once are one step", async () => {
  const { go, shown } = start();
  go({ scope: "root/a" });
  for (const group of ["a", "b", "c"]) go({ group });
  await back();
  assert.equal(shown().group, "");
  assert.equal(shown().scope, "root/a");
});

test("what is closed again is no step, and what comes meanwhile has its place", async () => {
  const { go, shown } = start();
  go({ scope: "root/a" });
  const before = entries.length;
  go({ panel: "help" });
  assert.equal(entries.length, before + 1);
  go({ panel: "" });
  assert.equal(shown().panel, "");
  go({ thread: "7" }); // the browser is on its way back
  assert.equal(shown().thread, "7");
  await pause(20);
  assert.equal(address.hash, "#scope=root/a&thread=7");
  await back();
  assert.equal(shown().thread, "");
  assert.equal(shown().scope, "root/a");
  go({ panel: "help" });
  go({ panel: "" });
  go({ panel: "export" });
  await pause(20);
  assert.equal(address.hash, "#scope=root/a&panel=export");
  await back();
  assert.equal(address.hash, "#scope=root/a");
  await back();
  assert.equal(shown().scope, "");
});

test("where the page goes by itself is no step", async () => {
  const { go, shown } = start();
  go({ process: "1" });
  go({ process: "2" }, true);
  assert.equal(address.hash, "#process=2");
  await back();
  assert.equal(shown().process, "");
});
