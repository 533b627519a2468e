import assert from "node:assert/strict";
import test from "node:test";
import { oldOf } from "../src/age";
import { noLag } from "../src/lag";
import type { State } from "../src/store";

const begun = 1_700_000_000_000;

/** A page that has shown figures, the newest of which came when it begun. */
function page(of: { link: State["link"]; at?: string; gone?: number; shown?: boolean }): State {
  return {
    link: of.link,
    lag: { ...noLag, arrived: of.shown === false ? 0 : begun },
    frameTime: of.shown === false ? 0 : begun,
    route: { at: of.at ?? "" },
    process: { gone: of.gone ?? 0 },
    config: { intervalMs: 1_000 },
  } as unknown as State;
}

const live: State["link"] = { how: "live", since: begun - 60_000 };
const lost: State["link"] = { how: "lost", since: begun + 100, attempt: 1, retryAt: begun + 400 };

test("what is renewed is not old", () => {
  assert.equal(oldOf(page({ link: live }), begun + 2_000), null);
});

test("without a connection it is old at once, by the clock of the browser", () => {
  assert.equal(oldOf(page({ link: lost }), begun + 300)?.age, "1 s");
  assert.equal(oldOf(page({ link: lost }), begun + 125_000)?.age, "2m 05s");
  assert.equal(oldOf(page({ link: lost }), begun + 300)?.why, "not connected to vtserve");
});

test("a connection over which nothing comes makes it old too", () => {
  assert.equal(oldOf(page({ link: live }), begun + 9_000)?.why, "nothing comes from vtserve");
});

test("a new connection does not make old figures new", () => {
  assert.equal(oldOf(page({ link: { how: "live", since: begun + 30_000 } }), begun + 30_500)?.age, "30 s");
});

test("what is past, and what was never shown, does not grow old", () => {
  assert.equal(oldOf(page({ link: lost, at: String(begun) }), begun + 60_000), null);
  assert.equal(oldOf(page({ link: lost, gone: begun }), begun + 60_000), null);
  assert.equal(oldOf(page({ link: lost, shown: false }), begun + 60_000), null);
});
