// Verdicts on the doors written by hand: each beside REST, in calls a second and in CPU.
import { expect, test } from "vitest";
import { doorFigures } from "./door-figures.ts";
import type { Evidence } from "./figures.ts";
import type { Measured } from "./rounds.ts";
import type { Judged } from "./verdict.ts";

const nothing: Evidence = { measured: [], failures: new Map() };

function judge(figure: string, measured: readonly Measured[], more: Partial<Evidence> = {}): Judged {
  const found = doorFigures.find((candidate) => candidate.figure === figure);
  if (found === undefined) throw new Error(`no figure ${figure}`);
  return found.judge({ ...nothing, measured, ...more });
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

const rest = slice("signalbox", 128, { callsPerSecond: 2_500, cpuUs: 300_000, p50Us: 40_000 });

test("REST says what it is", () => {
  expect(judge("door.rest.c128", [rest])).toEqual({
    value: 2_500,
    unit: "calls/s",
    target: null,
    ok: null,
    n: 1_000,
    p50: 40,
    p95: 2,
    p99: 3,
    max: 9,
    errors: 0,
    cpu_us: 300,
  });
});

test("gRPC stands beside REST at the same concurrency of the same rounds", () => {
  const grpc = slice("grpc", 128, { callsPerSecond: 1_000, cpuUs: 750_000, p50Us: 100_000 });
  const many = slice("many", 128, { callsPerSecond: 2_750, cpuUs: 240_000, p50Us: 36_000 });
  const measured = [rest, slice("signalbox", 1, { callsPerSecond: 9 }), grpc, many];
  expect(judge("door.grpc.c128", measured)).toMatchObject({
    value: 1_000,
    ok: null,
    target: null,
    cpu_us: 750,
    floor: { value: 2_500, p50: 40, cpu_us: 300 },
    ratio: 0.4,
    reason: "p50 is 2.50 x REST's; CPU a call 750 us, REST 300 us (2.50 x)",
  });
  expect(judge("door.grpc.many.c128", measured)).toMatchObject({ value: 2_750, ratio: 1.1, cpu_us: 240 });
});

test("errors and a door that is not there are told", () => {
  const failing = slice("grpc", 16, { errors: 3, errorCodes: { UNAVAILABLE: 3 } });
  expect(judge("door.grpc.c16", [slice("signalbox", 16, {}), failing])).toMatchObject({
    errors: 3,
    reason: "p50 is 1.00 x REST's; 3 errors: UNAVAILABLE 3",
  });
  const dead = slice("grpc", 1, { calls: 0, callsPerSecond: 0, errors: 9, errorCodes: { UNIMPLEMENTED: 9 } });
  const { p50Us: _50, p95Us: _95, p99Us: _99, maxUs: _max, ...answerless } = dead;
  expect(judge("door.grpc.c1", [slice("signalbox", 1, {}), answerless])).toMatchObject({
    value: null,
    ok: null,
    reason: "grpc: no call succeeded (UNIMPLEMENTED)",
  });
  expect(judge("door.grpc.c1", [], { failures: new Map([["signalbox", "exit code 1"], ["grpc", "exit code 1"]]) }).reason).toBe("grpc: exit code 1");
});
