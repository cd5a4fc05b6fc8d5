// The journal of a turn under inspection, and played to turns that ask for the same and for something else.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { JournalRow } from "../types.ts";
import { childOf, effectKey, sealed } from "./envelope.ts";
import { inspectJournal, placeOf } from "./inspect.ts";
import { replayTurn } from "./replay.ts";
import type { EffectEnvelope, EffectOutcome } from "./types.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

const kinds = ["complete_model", "run_tools", "checkpoint"];
const envelope = (id: number, payload: unknown = { n: id }): EffectEnvelope => ({
  scope: { tenant: "acme", sessionId: "sess_1", turn: 2, step: 1 },
  kind: kinds[id - 1] ?? "complete_model",
  subject: "demo",
  cause: null,
  key: effectKey(2, id),
  payload,
});

function completed(one: EffectEnvelope, value: unknown, more: Partial<JournalRow> = {}): JournalRow {
  const { kind, key } = one;
  const { tenant, sessionId } = one.scope;
  return { tenant, sessionId, key, kind, ...sealed(one, hash), state: "completed", fence: 1, claimedAt: 10, claimExpiresAt: 40, completedAt: 20, outcomeJson: JSON.stringify({ kind, value }), ...more };
}
const open = (one: EffectEnvelope): JournalRow => completed(one, null, { state: "claimed", completedAt: null, outcomeJson: null });
const child = childOf(envelope(2), 0, { kind: "tool", subject: "orders.find", payload: {} });

const good: readonly JournalRow[] = [completed(envelope(1), "one"), completed(envelope(2), "two"), completed(child, "row"), open(envelope(3))];

describe("names", () => {
  test("of effects, their children and theirs", () => {
    expect(effectKey(2, 5)).toBe("t2.e5");
    expect(child).toMatchObject({ key: "t2.e2.c0", cause: "t2.e2", scope: { turn: 2, step: 1 } });
    expect(placeOf("t2.e5")).toEqual({ turn: 2, id: 5, parent: null });
    expect(placeOf("t2.e5.c0")).toEqual({ turn: 2, id: 5, parent: "t2.e5" });
    expect(placeOf("t2.e5.c0.c11")).toEqual({ turn: 2, id: 5, parent: "t2.e5.c0" });
  });

  test.each(["", "t0.e1", "t1.e0", "t1", "e1", "t1.e1.", "t1.e1.c", "t01.e1", "t1.e1 ", "x.t1.e1"])("%j is none", (key) => {
    expect(placeOf(key)).toBeUndefined();
  });
});

describe("inspection", () => {
  test("finds nothing where nothing is wrong", () => {
    expect(inspectJournal(good, hash)).toEqual([]);
    expect(inspectJournal([], hash)).toEqual([]);
  });

  const [one, two] = [completed(envelope(1), "one"), completed(envelope(2), "two")];
  const moved = (row: JournalRow, text: string): JournalRow => ({ ...row, envelopeJson: text, hash: hash(text) });
  test.each<[string, readonly JournalRow[], readonly unknown[]]>([
    ["a gap", [one, open(envelope(3))], [{ key: "t2.e3", code: "gap", paths: [] }]],
    ["no first effect", [two], [{ key: "t2.e2", code: "gap", paths: [] }]],
    ["two at once", [open(envelope(1)), two], [{ key: "t2.e2", code: "overtaken", paths: [] }]],
    ["a child of nobody", [one, completed(child, 1)], [{ key: "t2.e2.c0", code: "orphan", paths: [] }]],
    ["a row twice", [one, { ...one }], [{ key: "t2.e1", code: "duplicate", paths: [] }]],
    ["a key that names nothing", [completed({ ...envelope(1), key: "first" }, 1)], [{ key: "first", code: "bad_key", paths: [] }]],
    ["an envelope that was changed", [{ ...one, envelopeJson: one.envelopeJson.replace('"n":1', '"n":2') }], [{ key: "t2.e1", code: "hash_differs", paths: [] }]],
    ["an envelope that cannot be read", [moved(one, "{")], [{ key: "t2.e1", code: "bad_envelope", paths: [] }]],
    ["an envelope in another form", [moved(one, ` ${one.envelopeJson}`)], [{ key: "t2.e1", code: "bad_envelope", paths: [] }]],
    ["an envelope that is none", [moved(one, "[]")], [{ key: "t2.e1", code: "row_differs", paths: ["/key", "/kind", "/scope/sessionId", "/scope/tenant", "/scope/turn"] }]],
    ["a row of another tenant and kind", [{ ...one, tenant: "globex", kind: "checkpoint", outcomeJson: '{"kind":"checkpoint","value":1}' }], [{ key: "t2.e1", code: "row_differs", paths: ["/kind", "/scope/tenant"] }]],
    ["a child with another cause", [one, two, completed({ ...child, cause: "t2.e1" }, 1)], [{ key: "t2.e2.c0", code: "row_differs", paths: ["/cause"] }]],
    ["a completion without an outcome", [{ ...one, outcomeJson: null }], [{ key: "t2.e1", code: "bad_outcome", paths: [] }]],
    ["a completion without a time", [{ ...one, completedAt: null }], [{ key: "t2.e1", code: "bad_outcome", paths: [] }]],
    ["an outcome of another kind", [{ ...one, outcomeJson: '{"kind":"checkpoint","value":1}' }], [{ key: "t2.e1", code: "bad_outcome", paths: [] }]],
    ["an outcome before the completion", [{ ...one, state: "claimed" }], [{ key: "t2.e1", code: "bad_outcome", paths: [] }]],
  ])("%s", (_, rows, found) => {
    expect(inspectJournal(rows, hash)).toEqual(found);
  });
});

describe("replay", () => {
  function asking(...envelopes: EffectEnvelope[]) {
    const heard: EffectOutcome[] = [];
    return { heard, next: () => envelopes[heard.length], answer: (outcome: EffectOutcome) => void heard.push(outcome) };
  }

  test("a turn that asks for what was recorded is answered as far as the record goes, in the order of the numbers", () => {
    const turn = asking(envelope(1), envelope(2), envelope(3));
    expect(replayTurn(good.toReversed(), turn, hash)).toEqual({ mismatches: [], answered: 2 });
    expect(turn.heard).toEqual([
      { kind: "complete_model", value: "one" },
      { kind: "run_tools", value: "two" },
    ]);
  });

  test("the first other question ends it, with the paths", () => {
    const turn = asking(envelope(1), envelope(2, { n: 2, more: "secret" }), envelope(3));
    expect(replayTurn(good, turn, hash)).toEqual({ mismatches: [{ key: "t2.e2", code: "asked_otherwise", paths: ["/payload/more"] }], answered: 1 });
    expect(turn.heard).toHaveLength(1);
  });

  test("a turn that ends before its record does, says so", () => {
    expect(replayTurn(good, asking(envelope(1)), hash)).toEqual({ mismatches: [{ key: "t2.e2", code: "not_asked", paths: [] }], answered: 1 });
  });

  test("what is open is compared too", () => {
    expect(replayTurn(good, asking(envelope(1), envelope(2), envelope(3, null)), hash)).toEqual({ mismatches: [{ key: "t2.e3", code: "asked_otherwise", paths: ["/payload"] }], answered: 2 });
  });

  test("rows that do not fit together are not played", () => {
    const turn = asking(envelope(1));
    expect(replayTurn([completed(envelope(1), "one", { hash: "0" })], turn, hash)).toEqual({ mismatches: [{ key: "t2.e1", code: "hash_differs", paths: [] }], answered: 0 });
    expect(turn.heard).toEqual([]);
  });
});
