import assert from "node:assert/strict";
import test from "node:test";
import { labelCondition, traceLink } from "../src/labels";

test("a label as a condition of a filter", () => {
  assert.equal(labelCondition({ key: "tenant", value: "acme" }), "label:tenant=acme");
  assert.equal(labelCondition({ key: "user", value: 'Ada "A" L' }), 'label:user="Ada \\"A\\" L"');
  assert.equal(labelCondition({ key: "a key", value: "x" }), "");
  assert.equal(labelCondition({ key: "k", value: "cut…" }), "");
});

test("where a trace is shown", () => {
  const trace = { id: "7b", span: "1", key: "trace_id" };
  assert.equal(traceLink("https://jaeger/trace/{trace}?s={span}", trace), "https://jaeger/trace/7b?s=1");
  assert.equal(traceLink("https://jaeger/trace/{trace}?s={span}", { id: "7b", key: "k" }), "");
  assert.equal(traceLink("https://jaeger/{trace}", { id: "a/b", key: "k" }), "https://jaeger/a%2Fb");
  assert.equal(traceLink("javascript:{trace}", trace), "");
  assert.equal(traceLink("", trace), "");
  assert.equal(traceLink(undefined, trace), "");
});
