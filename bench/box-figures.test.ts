// Verdicts on times of boxes written by hand: what passes, what misses, and what stands beside it.
import { expect, test } from "vitest";
import {
  boxFigures,
  type BesideTimings,
  type BoxEvidence,
  type GuestTimings,
  type NativeTimings,
} from "./box-figures.ts";
import type { Figure } from "./figures.ts";

function judge(figure: string, boxes: BoxEvidence): Omit<Figure, "figure"> {
  const found = boxFigures.find((candidate) => candidate.figure === figure);
  if (found === undefined) throw new Error(`no figure ${figure}`);
  return found.judge(boxes, (lane) => `${lane} broke down`);
}

/** 100 times, from `step` on in steps of it, the last one first. */
const times = (step: number, errors = 0) => ({ ms: Array.from({ length: 100 }, (_, at) => (100 - at) * step), errors });
const alive = { asked: 200, together: 200, failed: 0, tookMs: 4_200 };

const native: NativeTimings = {
  cold: times(0.25),
  warm: { ...times(0.0625), missed: 2 },
  teardown: times(0.25),
  bwrap: times(0.125),
  alive,
};
const guests: GuestTimings = {
  fresh: times(0.0625),
  reused: times(0.015625),
  whole: times(1),
  cold: times(2),
  node: times(1),
  alive,
};
const beside: BesideTimings = { alone: times(0.125), beside: times(0.25), calls: 200, failures: {}, seconds: 6.04 };

test("a cold box stands beside bubblewrap by hand, from the same run", () => {
  expect(judge("box.native.cold", { native })).toEqual({
    value: 23.75,
    unit: "ms",
    target: "p95 < 25 ms",
    ok: true,
    n: 100,
    p50: 12.5,
    p95: 23.75,
    p99: 24.75,
    max: 25,
    errors: 0,
    floor: { value: 11.875, p50: 6.25, p95: 11.875, p99: 12.375, max: 12.5 },
    ratio: 2,
  });
  const slow = { native: { ...native, cold: times(0.5) } };
  expect(judge("box.native.cold", slow)).toMatchObject({ value: 47.5, ok: false, reason: "p95 is 47.5 ms" });
});

test("runs that found nothing ready count and are told; one wrong end is a miss", () => {
  expect(judge("box.native.warm", { native })).toMatchObject({
    value: 5.938,
    ok: true,
    reason: "2 of them found none ready",
  });
  const wrong = { native: { ...native, warm: times(0.01, 1) } };
  expect(judge("box.native.warm", wrong)).toMatchObject({ ok: false, errors: 1, reason: "1 of them ended wrongly" });
});

test("guests: fresh and reused have targets, the rest is told", () => {
  expect(judge("box.wasm.fresh", { guests })).toMatchObject({ value: 5.938, target: "p95 < 8 ms", ok: true });
  expect(judge("box.wasm.reused", { guests })).toMatchObject({ value: 1.484, target: "p95 < 2 ms", ok: true });
  expect(judge("box.wasm.cold", { guests })).toMatchObject({ value: 190, target: null, ok: null, ratio: 2 });
  const broken = { guests: { ...guests, cold: times(2, 3) } };
  expect(judge("box.wasm.cold", broken)).toMatchObject({ ok: false, errors: 3 });
});

test("all that were asked for must stand at once", () => {
  expect(judge("box.native.alive", { native })).toMatchObject({ value: 200, ok: true, n: 200, errors: 0 });
  const fewer = { native: { ...native, alive: { ...alive, together: 199, failed: 1 } } };
  expect(judge("box.native.alive", fewer)).toMatchObject({
    value: 199,
    ok: false,
    errors: 1,
    reason: "199 of 200 stood at once after 4.2 s, 1 failed",
  });
});

test("beside boxes: the same echoes alone are the floor, and no call may fail", () => {
  expect(judge("box.beside", { beside })).toMatchObject({
    value: 23.75,
    ok: true,
    n: 100,
    errors: 0,
    floor: { value: 11.875 },
    ratio: 2,
    reason: "200 boxes started by calls, ended in 6.0 s; floor: the same echoes alone",
  });
  const failed = { beside: { ...beside, failures: { sandbox_unavailable: 2, lost: 1 } } };
  expect(judge("box.beside", failed)).toMatchObject({
    ok: false,
    errors: 3,
    reason: expect.stringMatching(/^calls of the sandbox tool failed: sandbox_unavailable 2, lost 1; /) as string,
  });
  const silent = { beside: { ...beside, beside: { ms: [], errors: 0 } } };
  expect(judge("box.beside", silent)).toMatchObject({ value: null, ok: false });
});

test("what could not be measured is a miss where there is a target, with the reason of its own script", () => {
  expect(judge("box.teardown", {})).toMatchObject({ value: null, ok: false, reason: "boxes broke down" });
  expect(judge("box.wasm.whole", {})).toMatchObject({ value: null, ok: null, reason: "guests broke down" });
  expect(judge("box.beside", {})).toMatchObject({ value: null, ok: false, reason: "beside broke down" });
});
