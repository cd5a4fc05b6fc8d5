// The verdict on steps of sessions, at its bound.
import { expect, test } from "vitest";
import { judgeSessionStep } from "./session-figures.ts";

const steps = (slow: number) => ({ stepMs: [...Array.from({ length: 90 }, () => 3), ...Array.from({ length: 10 }, () => slow)] });

test("a step takes less than 8 ms at p95", () => {
  expect(judgeSessionStep(steps(7), "not measured")).toMatchObject({ value: 7, unit: "ms", target: "p95 < 8 ms", ok: true, n: 100, p50: 3 });
  expect(judgeSessionStep(steps(8), "not measured")).toMatchObject({ value: 8, ok: false, reason: "p95 is 8.00 ms" });
  expect(judgeSessionStep(undefined, "sessions broke")).toMatchObject({ value: null, ok: false, reason: "sessions broke" });
});
