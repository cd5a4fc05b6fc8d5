// Verdicts on PostgreSQL written by hand: beside its own floor, two replicas beside one, and where there is no server.
import { expect, test } from "vitest";
import type { Evidence, Figure } from "./figures.ts";
import { postgresFigures } from "./postgres-figures.ts";
import type { Measured } from "./rounds.ts";

const nothing: Evidence = { measured: [], failures: new Map() };

function judge(figure: string, evidence: Evidence): Omit<Figure, "figure"> {
  const found = postgresFigures.find((candidate) => candidate.figure === figure);
  if (found === undefined) throw new Error(`no figure ${figure}`);
  return found.judge(evidence);
}

function slice(subject: Measured["subject"], concurrency: number, more: Partial<Measured>): Measured {
  return {
    subject,
    concurrency,
    calls: 1_000,
    errors: 0,
    errorCodes: {},
    elapsedMs: 1_000,
    callsPerSecond: 1_000,
    p50Us: 1_000,
    p95Us: 2_000,
    p99Us: 3_000,
    maxUs: 9_000,
    othersPercent: 0,
    ...more,
  };
}

test("the echo on PostgreSQL is held against the floor on PostgreSQL, and never against the one on SQLite", () => {
  const measured = [
    slice("floor", 1, { p50Us: 9_000 }),
    slice("signalbox", 1, { p50Us: 9_000 }),
    slice("pgFloor", 1, { p50Us: 2_000 }),
    slice("pg", 1, { p50Us: 2_800, p95Us: 4_000 }),
    slice("pgFloor", 128, { callsPerSecond: 4_000, cpuUs: 100_000 }),
    slice("pg", 128, { callsPerSecond: 2_000, cpuUs: 250_000, commits: 150 }),
  ];
  expect(judge("echo.pg.c1", { ...nothing, measured })).toMatchObject({ value: 2.8, ok: true, ratio: 1.4, floor: { value: 2 } });
  expect(judge("echo.pg.c128", { ...nothing, measured })).toMatchObject({ value: 2_000, ok: false, ratio: 0.5 });
  expect(judge("cpu.pg.per_call", { ...nothing, measured })).toMatchObject({ value: 250, ok: null, ratio: 2.5, floor: { value: 100 } });
  expect(judge("writes.pg.per_call.c128", { ...nothing, measured })).toMatchObject({ value: 0.15, ok: true });
});

test("two replicas are told beside one, and nothing is asked of them", () => {
  const measured = [slice("pg", 128, { callsPerSecond: 2_000, p50Us: 60_000 }), slice("pg2", 128, { callsPerSecond: 1_500 })];
  expect(judge("echo.pg2.c128", { ...nothing, measured })).toMatchObject({
    value: 1_500,
    target: null,
    ok: null,
    ratio: 0.75,
    floor: { value: 2_000 },
    reason: "one replica p50 60.0 ms",
  });
});

test("without a server nothing passes and nothing is missed; a server that broke down is a miss", () => {
  const failed = (reason: string): Evidence => ({ ...nothing, failures: new Map([["pg", reason]]) });
  expect(judge("echo.pg.c16", failed("no PostgreSQL server here: install it"))).toMatchObject({ value: null, ok: null });
  expect(judge("echo.pg.c16", failed("exit code 1"))).toMatchObject({ value: null, ok: false, reason: "pg: exit code 1" });
});
