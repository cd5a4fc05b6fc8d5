// A worker that has left leaves nothing behind that keeps its process alive.
import { expect, test } from "vitest";
import { ConnectRefused } from "./ports.ts";
import type { World } from "./ports.ts";
import { Worker } from "./worker.ts";

test("close() after the end arms no timer", async () => {
  const armed = new Set<() => void>();
  const arm = (): (() => void) => {
    const stop = (): void => {
      armed.delete(stop);
    };
    armed.add(stop);
    return stop;
  };
  const world: World = {
    monotonicMs: () => 0,
    wallMs: () => 0,
    chance: () => 0,
    randomBytes: (count) => new Uint8Array(count),
    after: arm,
    every: arm,
    soon: (call) => call(),
    log: () => {},
  };
  const connect = (): never => {
    throw new ConnectRefused("no");
  };
  const worker = new Worker({ connect, world, signals: false });
  worker.tool("a.b", { version: "1.0.0" }, () => null);
  await expect(worker.run()).rejects.toThrow("no");
  await worker.close();
  expect(armed.size).toBe(0);
});
