import assert from "node:assert/strict";
import test from "node:test";
import { few, fold, tally } from "../src/foldfindings";

const rows = ["deadlock", "pinned", "pinned", "pinned", "hog"].map((check, i) => ({ check, severity: i === 0 ? "error" : i < 4 ? "warning" : "info", group: `g${i}` }));
const said = ({ shown, rest }: { shown: typeof rows; rest: typeof rows }): string => `${shown.map((r) => r.group).join(" ")} | ${rest.map((r) => r.group).join(" ")}`;

test("the worst findings are listed, the others folded", () => {
  assert.equal(few, 3);
  assert.equal(said(fold(rows, false, "")), "g0 g1 g2 | g3 g4");
  assert.equal(said(fold(rows.slice(0, few), false, "")), "g0 g1 g2 | ");
  assert.equal(said(fold(rows, true, "")), "g0 g1 g2 g3 g4 | ");
});

test("what is chosen is never folded", () => {
  assert.equal(said(fold(rows, false, "g4")), "g0 g1 g2 g4 | g3");
  assert.equal(fold(rows.map((r) => ({ ...r, group: "" })), false, "").shown.length, few, "those of no group are not chosen when no group is");
});

test("the fold says which findings it has", () => {
  assert.deepEqual(tally(rows).map((s) => `${s.severity} ${s.check} ${s.n}`), ["error deadlock 1", "warning pinned 3", "info hog 1"]);
  assert.deepEqual(tally([]), []);
});
