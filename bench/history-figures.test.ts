// Verdicts on a history written by hand: ratios to a runtime without one, and that a short one proves nothing.
import { expect, test } from "vitest";
import type { Evidence } from "./figures.ts";
import { historyFigures } from "./history-figures.ts";
import type { ReadName } from "./history.ts";
import type { Measured } from "./rounds.ts";
import type { Judged } from "./verdict.ts";

type History = NonNullable<Evidence["history"]>;

function judge(figure: string, evidence: Evidence): Judged {
  const found = historyFigures.find((candidate) => candidate.figure === figure);
  if (found === undefined) throw new Error(`no figure ${figure}`);
  return found.judge(evidence);
}

const read = { ms: [1, 2, 3, 49.5], errors: 0, besideMs: [1.5, 1.75, 8] };
const names: readonly ReadName[] = ["get", "list", "list.status", "list.tool", "list.principal", "audit", "audit.principal"];
const history: History = {
  filled: { filled: true, calls: 1_000_000, seconds: 200, bytesPerCall: 3_900.5, firstTenthUs: 100, lastTenthUs: 150, sample: [] },
  starts: { fresh: [800, 1_000, 1_100], history: [900, 1_500, 1_600] },
  reads: Object.fromEntries(names.map((name) => [name, read])) as Record<ReadName, typeof read>,
};
const nothing: Evidence = { measured: [], failures: new Map(), history };

function slice(subject: Measured["subject"], p50Us: number, more: Partial<Measured> = {}): Measured {
  return {
    subject,
    concurrency: 1,
    calls: 500,
    errors: 0,
    errorCodes: {},
    elapsedMs: 1_000,
    callsPerSecond: 500,
    p50Us,
    p95Us: 4_000,
    p99Us: 5_000,
    maxUs: 9_000,
    othersPercent: 0,
    ...more,
  };
}

test("an echo with a million finished calls is held against one without, from the same rounds", () => {
  const fresh = [1_800, 2_000, 2_500].map((p50Us) => slice("fresh", p50Us));
  const good = judge("history.1m", { ...nothing, measured: [...fresh, slice("history", 2_300)] });
  expect(good).toMatchObject({ value: 2.3, unit: "ms", ok: true, ratio: 1.15, n: 500, floor: { value: 2, p50: 2 }, floor_spread: 25 });
  expect(good.reason).toBeUndefined();
  const slow = judge("history.1m", { ...nothing, measured: [...fresh, slice("history", 2_400)] });
  expect(slow).toMatchObject({ ok: false, ratio: 1.2, reason: "p50 is 1.20 x that without a history" });
  const failing = { errors: 1, errorCodes: { timeout: 1 } };
  expect(judge("history.1m", { ...nothing, measured: [...fresh, slice("fresh", 2_000, failing), slice("history", 2_000)] })).toMatchObject({
    ok: false,
    reason: "1 errors: timeout 1",
  });
});

test("a short history can miss, and passes nothing", () => {
  const short: Evidence = { ...nothing, history: { ...history, filled: { ...history.filled, calls: 50_000 } } };
  const at = (p50Us: number) => judge("history.1m", { ...short, measured: [slice("fresh", 2_000), slice("history", p50Us)] });
  expect(at(2_000)).toMatchObject({ ok: null, ratio: 1, reason: "50000 finished calls, not 1000000" });
  expect(at(3_000)).toMatchObject({ ok: false, reason: "p50 is 1.50 x that without a history; 50000 finished calls, not 1000000" });
});

test("a read that an index answers is judged by its p95, and says what an echo beside it took", () => {
  expect(judge("history.get", nothing)).toMatchObject({
    value: 49.5,
    target: "p95 < 50 ms",
    ok: true,
    n: 4,
    reason: "an echo beside it took 1.75 ms, at most 8.00",
  });
  const at = (more: Partial<typeof read>): Evidence => ({ ...nothing, history: { ...history, reads: { ...history.reads, list: { ...read, ...more } } } });
  expect(judge("history.list", at({ ms: [50] }))).toMatchObject({ ok: false, reason: "p95 is 50.0 ms; an echo beside it took 1.75 ms, at most 8.00" });
  expect(judge("history.list", at({ errors: 2 }))).toMatchObject({ ok: false, errors: 2 });
});

test("a filter without an index has no target for itself", () => {
  expect(judge("history.list.tool", nothing)).toMatchObject({
    value: 49.5,
    target: null,
    ok: null,
    reason: "looks through the whole history in turns; an echo beside it took 1.75 ms, at most 8.00",
  });
});

test("a start, the write of a call, and its bytes", () => {
  expect(judge("history.start", nothing)).toMatchObject({ value: 1_500, unit: "ms", ok: true, ratio: 1.5, floor: { value: 1_000 }, n: 3 });
  const late: History = { ...history, starts: { ...history.starts, history: [1_501] } };
  expect(judge("history.start", { ...nothing, history: late })).toMatchObject({ ok: false });
  expect(judge("history.append", nothing)).toMatchObject({ value: 150, unit: "us", ok: true, ratio: 1.5, floor: { value: 100 }, n: 1_000_000 });
  const steep: History = { ...history, filled: { ...history.filled, lastTenthUs: 160 } };
  expect(judge("history.append", { ...nothing, history: steep })).toMatchObject({
    ok: false,
    reason: "writing a call takes 1.60 x as long at the end as at the beginning",
  });
  expect(judge("history.bytes", nothing)).toMatchObject({ value: 3_900.5, unit: "bytes", target: null, ok: null });
});

test("what broke down is told by each of them", () => {
  const broken: Evidence = { measured: [], failures: new Map([["history", "the disk is full"]]) };
  expect(historyFigures.map(({ figure }) => judge(figure, broken).reason)).toEqual(historyFigures.map(() => "the disk is full"));
});
