// The writer of a network stream: what it drops, and when it gives the peer up.
import { expect, test } from "vitest";
import { createOutbox } from "./outbox.ts";
import type { WorkerMessage } from "./work.ts";

const MiB = 1024 * 1024;
const lease = { callId: "c1", fence: 1 };
const output = (seq: number, size: number): WorkerMessage => ({
  type: "output",
  ...lease,
  seq,
  channel: "stdout",
  chunk: new Uint8Array(size),
});
const result = (size: number): WorkerMessage => ({
  type: "result",
  ...lease,
  status: "succeeded",
  outputJson: "x".repeat(size),
  usage: { durationMs: 1 },
});

/** A peer that takes a message only when told to. */
function slowPeer(): {
  sent: WorkerMessage[];
  takeOne: () => void;
  ends: string[];
  send: (message: WorkerMessage) => void;
  room: () => Promise<void>;
  end: () => void;
} {
  const sent: WorkerMessage[] = [];
  const waiting: (() => void)[] = [];
  const ends: string[] = [];
  const outbox = createOutbox<WorkerMessage>({
    write: (message, written) => {
      sent.push(message);
      waiting.push(written);
    },
    overflow: (reason) => ends.push(reason),
  });
  return { sent, ends, takeOne: () => waiting.shift()?.(), send: outbox.send, room: outbox.room, end: outbox.end };
}

test("a peer that keeps up gets everything", () => {
  const { sent, takeOne, ends, send } = slowPeer();
  for (let seq = 1; seq <= 100; seq++) {
    send(output(seq, MiB));
    takeOne();
  }
  expect([sent.length, ends]).toEqual([100, []]);
});

test("a peer that is 8 MiB behind gets results, but no output until it has caught up", () => {
  const { sent, takeOne, ends, send } = slowPeer();
  for (let seq = 1; seq <= 20; seq++) send(output(seq, MiB));
  expect(sent.length).toBe(7); // the eighth would pass 8 MiB, with what a message takes beside its payload
  send(result(1_000));
  expect(sent.at(-1)).toEqual(result(1_000));
  takeOne();
  send(output(21, 1_000));
  expect(sent.at(-1)).toEqual(output(21, 1_000));
  expect(ends).toEqual([]);
});

test("a peer that is 64 MiB behind is given up, once", () => {
  const { sent, ends, send } = slowPeer();
  for (let n = 0; n < 100; n++) send(result(MiB));
  expect(sent.length).toBe(63);
  expect(ends).toEqual([
    expect.stringMatching(/^the other side reads too slowly: 63 messages of about \d+ bytes wait$/),
  ]);
});

test("many small messages have a bound of their own", () => {
  const { sent, ends, send } = slowPeer();
  for (let n = 0; n < 70_000; n++) send({ type: "accepted", ...lease });
  expect([sent.length, ends.length]).toEqual([65_536, 1]);
});

test("who waits for room gets it once the peer has caught up, and at once where there is some", async () => {
  const { takeOne, send, room } = slowPeer();
  await room();
  for (let seq = 1; seq <= 3; seq++) send(output(seq, MiB));
  const heard: string[] = [];
  void room().then(() => heard.push("one"));
  void room().then(() => heard.push("two"));
  takeOne();
  takeOne();
  await Promise.resolve();
  expect(heard).toEqual([]);
  takeOne();
  await Promise.resolve();
  expect(heard).toEqual(["one", "two"]);
});

test("nobody waits for room in a stream that has ended", async () => {
  const { send, room, end } = slowPeer();
  for (let seq = 1; seq <= 3; seq++) send(output(seq, MiB));
  const waiting = room();
  end();
  await waiting;
  await room();
});
