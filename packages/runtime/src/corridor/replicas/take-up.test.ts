// Rows that a claim brings while memory still has the call: what memory knows stays, unless others have given the call a lease since.
import { beforeEach, expect, test } from "vitest";
import { HandDriver } from "../../../../../test/support/hand-driver.ts";
import { believed } from "../../../../../test/support/hand-hub.ts";
import type { Call } from "../../call/types.ts";
import { takeUp } from "./take-up.ts";

let world: HandDriver;
let dispatched: Call;

beforeEach(async () => {
  world = new HandDriver();
  world.hub.share();
  world.worker("w1");
  await world.given("c1");
  dispatched = world.hub.find("acme", "c1")!;
});

const claimed = (changes: Partial<Call>): Promise<boolean> =>
  takeUp({ hub: world.hub, clock: world.clock, factsFor: async () => believed, recoverStream: async () => undefined }, { ...dispatched, ...changes });
const inMemory = () => world.hub.find("acme", "c1");

test("the lease that memory has: it stays as it is", async () => {
  expect(await claimed({})).toBe(false);
  expect(inMemory()).toMatchObject({ state: "dispatched", fence: 1, mayHaveRun: false });
});

test("that lease, which was another replica's meanwhile: its handler may have run", async () => {
  expect(await claimed({ mayHaveRun: true })).toBe(false);
  expect(inMemory()).toMatchObject({ state: "dispatched", fence: 1, mayHaveRun: true });
});

test("a later lease, or this fence at another worker: memory gives way", async () => {
  expect(await claimed({ fence: 2, state: "running" })).toBe(true);
  expect(inMemory()).toMatchObject({ state: "running", fence: 2 });
  expect(await claimed({ fence: 2, state: "running", workerId: "w2" })).toBe(true);
  expect(inMemory()).toMatchObject({ workerId: "w2", fence: 2 });
});

test("an earlier one: memory is ahead of the ledger", async () => {
  await claimed({ fence: 3 });
  expect(await claimed({ fence: 2 })).toBe(false);
  expect(inMemory()).toMatchObject({ fence: 3 });
});
