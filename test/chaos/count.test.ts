// What counts as lost, repeated, stranded and indeterminate, on books that a test has made up.
import { expect, test } from "vitest";
import { count, type Counted } from "./count.ts";
import type { Held, Row } from "./types.ts";

const row = (executionId: string, more: Partial<Row> = {}): Row => ({
  executionId,
  tool: "pay",
  status: "succeeded",
  reason: "unnamed",
  approvalId: null,
  ...more,
});
const held = (executionId: string | undefined, more: Partial<Held> = {}): Held => ({
  key: `key of ${executionId}`,
  tool: "pay",
  executionId,
  toldStatus: undefined,
  ...more,
});
const entry = (callId: string, fence = 1, tool = "pay") => ({ callId, fence, tool });

function books(more: Partial<Counted>): Counted {
  const classOf = (tool: string) => (tool === "read" ? "read_only" : "non_idempotent_write");
  return { story: "s", kills: 3, held: [], rows: [], entries: [], classOf, ...more };
}

test("calls that ended once and were entered once are good", () => {
  const rows = [row("a"), row("b", { status: "failed" }), row("c", { status: "timed_out" })];
  const good = books({ rows, held: rows.map(({ executionId }) => held(executionId)), entries: [entry("a"), entry("b")] });
  expect(count(good)).toEqual({
    story: "s",
    calls: 3,
    kills: 3,
    lost: 0,
    unsafeRepeats: 0,
    stranded: 0,
    indeterminate: {},
    problems: [],
  });
});

test("lost: a key without an answer, an answer without a row, a row that has neither ended nor parked", () => {
  const rows = [row("open", { status: "running" })];
  expect(count(books({ rows, held: [held(undefined), held("nowhere"), held("open")] }))).toMatchObject({ lost: 3, stranded: 1 });
});

test("stranded: open, and nobody is asked about it", () => {
  const rows = [
    row("a", { status: "queued" }),
    row("b", { status: "awaiting_approval" }),
    row("c", { status: "awaiting_approval", approvalId: "apr_1" }),
  ];
  expect(count(books({ rows }))).toMatchObject({ stranded: 2 });
});

test("unsafe repeats: calls, not entries; what is safe to repeat may be", () => {
  const entries = [entry("a"), entry("a", 2), entry("a", 3), entry("b"), entry("r", 1, "read"), entry("r", 2, "read")];
  expect(count(books({ entries, held: [held("a"), held("b")] }))).toMatchObject({ unsafeRepeats: 1, problems: [] });
});

test("unsafe repeats: a call that ran and is no key's, for the key's own call has run too", () => {
  const entries = [entry("a"), entry("twin"), entry("read", 1, "read")];
  expect(count(books({ entries, held: [held("a")] }))).toMatchObject({ unsafeRepeats: 1 });
});

test("indeterminate: by reason", () => {
  const parked = (id: string, reason: string) => row(id, { status: "indeterminate", reason });
  const rows = [parked("a", "lease_expired"), parked("b", "indeterminate"), parked("c", "lease_expired")];
  expect(count(books({ rows, held: rows.map(({ executionId }) => held(executionId)) }))).toMatchObject({
    lost: 0,
    stranded: 0,
    indeterminate: { lease_expired: 2, indeterminate: 1 },
  });
});

test("an end that was told and is another, a call that no key asked for, one call of two keys, a lease that was used twice", () => {
  const rows = [row("a"), row("b")];
  const keys = [held("a", { toldStatus: "failed" }), held("a", { key: "second" })];
  expect(count(books({ rows, held: keys, entries: [entry("r", 1, "read"), entry("r", 1, "read")] })).problems).toEqual([
    "a was told as failed and is succeeded",
    "b is no key's call",
    "a is the call of two keys",
    "r entered its handler twice under the lease 1",
  ]);
});
