import assert from "node:assert/strict";
import test from "node:test";
import { nowhere, readRoute, writeRoute, linkTo } from "../src/route";
import type { Route } from "../src/route";

test("a link names the process by its key, whatever the address has", () => {
  assert.equal(linkTo("http://x/#process=4711&at=5", { ...nowhere, process: "4711", at: "5" }, "4711-99"), "http://x/#process=4711-99&at=5");
  assert.equal(linkTo("http://x/", nowhere, "4711-99"), "http://x/#process=4711-99");
  assert.equal(linkTo("http://x/", { ...nowhere, process: "4711" }, ""), "http://x/#process=4711");
});

test("what is written is read again, whatever it contains", () => {
  const words = ["root/shop", "a&b=c", "100 %", "#1 ½", "state=parked wait>30s", "scope~\"req/\"", "+", "äöü 漢"];
  for (const name of Object.keys(nowhere) as (keyof Route)[]) {
    for (const word of words) {
      const route = { ...nowhere, [name]: word };
      assert.deepEqual(readRoute(writeRoute(route)), route, `${name}=${word}`);
    }
  }
});

test("nothing is written of what is not there", () => {
  assert.equal(writeRoute(nowhere), "");
  assert.deepEqual(readRoute(""), nowhere);
  assert.deepEqual(readRoute("#"), nowhere);
});

test("paths stay readable", () => {
  assert.equal(writeRoute({ ...nowhere, process: "4711", scope: "root/shop" }), "#process=4711&scope=root/shop");
});

test("words that nobody knows are not kept", () => {
  assert.deepEqual(readRoute("#scope=root&nonsense=1"), { ...nowhere, scope: "root" });
});
