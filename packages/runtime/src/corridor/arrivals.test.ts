// Workers that connect where replicas share the ledger: nothing is heard before what they hold is here, and nothing at all when it cannot be.
import { beforeEach, expect, test } from "vitest";
import type { WorkerMessage } from "@signalbox/protocol";
import { settled } from "../../../../test/support/hand-clock.ts";
import { register } from "../../../../test/support/hand-hub.ts";
import { afterArrival } from "./arrivals.ts";
import type { Companions } from "./driver-ports.ts";

const silent = { queued() {}, release() {}, told() {}, reach: async () => undefined, touched() {}, gone() {}, room() {} };
const beat: WorkerMessage = { type: "heartbeat", load: 0, inFlight: [] };

let arrived: PromiseWithResolvers<boolean>;
let heard: string[];
let closed: string[];
let say: (message: WorkerMessage) => void;

beforeEach(() => {
  arrived = Promise.withResolvers();
  heard = [];
  closed = [];
  const companions: Companions = { ...silent, arriving: () => arrived.promise };
  const stream = { close: (reason: string) => void closed.push(reason) };
  say = afterArrival(companions, { tenant: "acme", principal: "service:worker" }, { hear: ({ type }) => void heard.push(type), stream });
  say(register("w1", {}));
  say(beat);
});

test("what it says waits, in order, till what it holds is here", async () => {
  await settled();
  expect(heard).toEqual([]);
  arrived.resolve(true);
  await settled();
  expect(heard).toEqual(["register", "heartbeat"]);
  say(beat);
  expect([heard, closed]).toEqual([["register", "heartbeat", "heartbeat"], []]);
});

test("where that cannot be had it is sent away unheard: it would be told to drop what it holds", async () => {
  arrived.resolve(false);
  await settled();
  say(beat);
  await settled();
  expect([heard, closed]).toEqual([[], ["what this worker holds could not be taken over; it is to connect again"]]);
});
