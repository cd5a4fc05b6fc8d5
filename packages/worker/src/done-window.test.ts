// The memory of finished calls keeps its bounds.
import type { Result } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { DoneWindow } from "./done-window.ts";

const result = (callId: string, chars = 2): Result => ({
  type: "result",
  callId,
  fence: 1,
  status: "succeeded",
  outputJson: "x".repeat(chars),
  usage: { durationMs: 0 },
});

test("ten thousand results, the oldest goes first, and one that is kept again is young again", () => {
  const done = new DoneWindow();
  for (let n = 0; n < 10_000; n++) done.keep("acme", result(`c${n}`), 0);
  done.keep("acme", result("c0"), 1);
  done.keep("acme", result("new"), 1);
  expect(done.result("acme", "c1", 1)).toBeUndefined();
  expect(done.result("acme", "c0", 1)).toEqual(result("c0"));
  expect(done.result("acme", "c2", 1)).toEqual(result("c2"));
});

test("64 Mi characters", () => {
  const done = new DoneWindow();
  const MiB = 1024 * 1024;
  for (let n = 0; n < 65; n++) done.keep("acme", result(`c${n}`, MiB), 0);
  expect(done.result("acme", "c0", 0)).toBeUndefined();
  expect(done.result("acme", "c1", 0)?.callId).toBe("c1");
  for (let n = 0; n < 100; n++) done.keep("acme", result("c64", MiB), 0); // the same call takes its room once
  expect(done.result("acme", "c1", 0)?.callId).toBe("c1");
});

test("ten minutes", () => {
  const done = new DoneWindow();
  done.keep("acme", result("c1"), 1_000);
  done.ended("acme", "c1", 3, 1_000);
  expect([done.result("acme", "c1", 600_999)?.callId, done.lastFence("acme", "c1", 600_999)]).toEqual(["c1", 3]);
  expect([done.result("acme", "c1", 601_000), done.lastFence("acme", "c1", 601_000)]).toEqual([undefined, 0]);
});

test("calls that only ended push no result out", () => {
  const done = new DoneWindow();
  done.keep("acme", result("write"), 0);
  for (let n = 0; n < 20_000; n++) done.ended("acme", `read${n}`, 1, 0);
  expect(done.result("acme", "write", 0)).toEqual(result("write"));
  expect([done.lastFence("acme", "read9999", 0), done.lastFence("acme", "read10000", 0)]).toEqual([0, 1]);
});
