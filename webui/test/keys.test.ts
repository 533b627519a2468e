import { go } from "./browser";
import assert from "node:assert/strict";
import test from "node:test";
import { addKeys, everywhere, keyFor } from "../src/keys";
import type { Context, Key } from "../src/keys";
import { nowhere } from "../src/route";

go("");
const context = (panel: "scopes" | "groups", over = ""): Context => ({ panel, state: { route: { ...nowhere, panel: over } } }) as unknown as Context;
const press = (key: string, more: Partial<KeyboardEvent> = {}): KeyboardEvent => ({ key, ctrlKey: false, metaKey: false, altKey: false, isComposing: false, target: null, ...more }) as KeyboardEvent;
const act = (): void => {};
const wide: Key = { keys: ["x"], words: "wide", place: everywhere, act };
const narrow: Key = { keys: ["x"], words: "narrow", place: "scopes", act };
const over: Key = { keys: ["o", "Ctrl+k"], words: "over", place: everywhere, over: true, act };
const never: Key = { keys: ["n"], words: "never", place: everywhere, when: () => false, act };
addKeys(narrow, wide, over, never);

test("of two keys that of the narrower place acts", () => {
  assert.equal(keyFor(press("x"), context("scopes"), "groups"), narrow);
  assert.equal(keyFor(press("x"), context("groups"), "groups"), wide);
});

test("behind an overlay only what is meant for it acts", () => {
  assert.equal(keyFor(press("x"), context("scopes", "help"), "groups"), undefined);
  assert.equal(keyFor(press("o"), context("scopes", "help"), "groups"), over);
});

test("with control, and with the command key", () => {
  assert.equal(keyFor(press("K", { ctrlKey: true }), context("scopes"), "groups"), over);
  assert.equal(keyFor(press("k", { metaKey: true }), context("scopes"), "groups"), over);
  assert.equal(keyFor(press("o", { altKey: true }), context("scopes"), "groups"), undefined);
});

test("a key that does not hold does nothing", () => {
  assert.equal(keyFor(press("n"), context("scopes"), "groups"), undefined);
});
