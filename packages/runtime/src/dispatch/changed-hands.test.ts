// Leases that were another replica's for a while: memory that did not notice must not take them for leases whose handler has not run.
import { beforeEach, expect, test } from "vitest";
import { believed, HandHub } from "../../../../test/support/hand-hub.ts";
import type { Call } from "../call/types.ts";

const unsafe = { sideEffectClass: "non_idempotent_write" } as const;

let hub: HandHub;
let dispatched: Call;
let w1: number;

/** An unsafe call is with a worker that has not said a word about it. */
beforeEach(() => {
  hub = new HandHub();
  hub.hub.share();
  w1 = hub.connect("w1");
  hub.admit("c1", unsafe);
  hub.store();
  dispatched = hub.call("c1");
});

/** The worker never comes back, and its lease ends. */
function loseWorker(): void {
  hub.hub.disconnect(w1);
  hub.pass(20_000);
}

test("nobody but this replica had it: it is queued again", () => {
  hub.hub.claimedAgain(dispatched);
  loseWorker();
  expect(hub.call("c1")).toMatchObject({ state: "queued", fence: 2 });
});

test("it was away and came back while memory kept it: its handler may have run", () => {
  hub.hub.claimedAgain({ ...dispatched, mayHaveRun: true });
  loseWorker();
  expect(hub.call("c1")).toMatchObject({ state: "indeterminate" });
});

test("a row that was claimed under a later lease says nothing of the one in memory", () => {
  hub.hub.claimedAgain({ ...dispatched, fence: 2, mayHaveRun: true });
  loseWorker();
  expect(hub.call("c1")).toMatchObject({ state: "queued", fence: 2 });
});

test("memory had gone on to a fence of its own, and the row has that very fence from another replica", () => {
  hub.pass(30_000);
  expect(hub.call("c1")).toMatchObject({ state: "queued", fence: 2 });
  const [refused] = hub.commits.slice(-1);
  hub.hub.overtaken(refused?.ticket ?? 0);
  const row = { ...dispatched, fence: 2, state: "running", startedAt: hub.now, mayHaveRun: true, leaseExpiresAt: hub.now + 5_000 } as const;
  hub.hub.reloaded(row, "acme", "c1", believed, hub.now);
  loseWorker();
  expect(hub.call("c1")).toMatchObject({ state: "indeterminate" });
});
