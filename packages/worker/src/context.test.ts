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

test("eventPayloadBytesMax and nameCharsMax: an event of 256 KiB with a type of 128 characters goes out, and what is larger is dropped and told of", () => {
  const told: unknown[] = [];
  if (safe.type !== "invoke") throw new Error("not an offer");
  const { context } = createRun({
    invoke: safe,
    startedAtWallMs: 0,
    tell: (input) => void told.push(input.type === "output" ? new TextDecoder().decode(input.chunk) : input.type),
    room: () => Promise.resolve(),
  });
  const payload = (bytes: number): string => "x".repeat(bytes - 2);
  context.emit("t".repeat(128), payload(262_144));
  context.emitJson("t", JSON.stringify(payload(262_144)));
  expect(told).toEqual(["emit", "emit"]);
  context.emit("t", payload(262_145));
  context.emitJson("t", JSON.stringify(payload(262_145)));
  context.emit("u".repeat(129), null);
  const tooLarge = `an event of type "t" was dropped: an event's payload has at most 262144 bytes: emit a reference instead`;
  expect(told.slice(2)).toEqual([tooLarge, tooLarge, `an event of type "${"u".repeat(128)}" was dropped: an event type has 1 to 128 characters`]);
});

test("secretNamesPerCallMax: 64 secrets are asked for at once, one more is refused before it is asked", async () => {
  const wanted: unknown[] = [];
  if (safe.type !== "invoke") throw new Error("not an offer");
  const { context, abort } = createRun({
    invoke: safe,
    startedAtWallMs: 0,
    tell: (input) => void wanted.push(input.type),
    room: () => Promise.resolve(),
  });
  const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `S${at}`);
  const asked = context.secrets(names(64));
  await expect(context.secrets(names(65))).rejects.toThrow("a call asks for at most 64 secrets at once");
  await Promise.resolve();
  expect(wanted).toEqual(["secrets_wanted"]);
  abort.abort(new Error("stop"));
  await expect(asked).rejects.toThrow("stop");
});
