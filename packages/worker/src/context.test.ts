// What a handler gets: waiting for room on the connection, and not for longer than its call goes on.
import { expect, test } from "vitest";
import { createRun } from "./context.ts";
import { safe } from "./core-driver.ts";

function runWith(room: () => Promise<void>) {
  if (safe.type !== "invoke") throw new Error("not an offer");
  return createRun({ invoke: safe, startedAtWallMs: 0, tell: () => undefined, room });
}

test("a handler that waits for room goes on when there is some", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { context } = runWith(() => promise);
  let over = false;
  const waiting = context.flushed().then(() => (over = true));
  await Promise.resolve();
  expect(over).toBe(false);
  resolve();
  await waiting;
});

test("a handler that is told to stop waits for no peer, nor does one whose connection fails", async () => {
  const { context, abort } = runWith(() => new Promise(() => {}));
  const waiting = context.flushed();
  abort.abort(new Error("stop"));
  await waiting;
  await context.flushed();
  await runWith(() => Promise.reject(new Error("gone"))).context.flushed();
});
