// The driver between the hub and those who know of rules and people: looks, ends of approvals, triggers and decisions, and what fails in each.
import { errorBody } from "@signalbox/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { approved as closedRow, sampleApproval } from "../../../../test/conformance/ledger-governance-rows.ts";
import { identityOf } from "../../../../test/support/calls.ts";
import { HandDriver } from "../../../../test/support/hand-driver.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { accepted, believed, result } from "../../../../test/support/hand-hub.ts";
import type { Happening } from "../call/machine.ts";
import type { CallIdentity } from "../call/types.ts";
import type { Beside } from "../dispatch/apply.ts";
import { LedgerUnavailable, type CommitOutcome } from "../ledger/port.ts";
import { waitKey } from "./driver.ts";

const full = new LedgerUnavailable("the disk is full");
const away = new Error("the store cannot be read");
const barred = errorBody("forbidden", "the grant is gone");
const yes: Happening = { type: "approved", by: ["user:fay"], args: null };
const cancel: Happening = { type: "cancel", by: "user:ann" };
const row = sampleApproval({ approvalId: "apr_1" });
const opening: Beside = { guards: [{ op: "insert_approval", row }], writes: [] };
const closing: Beside = { guards: [{ op: "update_approval", expect: { revision: row.revision }, row: closedRow(row) }], writes: [] };

let world: HandDriver;
beforeEach(() => {
  world = new HandDriver();
});

function park(callId = "c1", changes: Partial<CallIdentity> = {}): Promise<CommitOutcome> {
  const clearance = { epoch: world.hub.epoch, until: Number.POSITIVE_INFINITY };
  return world.driver.park({ identity: identityOf({ callId, ...changes }), edited: null, facts: believed, clearance, approvalId: "apr_1", asked: {}, beside: opening });
}

const decide = (happening: Happening, beside = closing) =>
  world.driver.decide("acme", "c1", happening, beside, { epoch: world.hub.epoch, until: Number.POSITIVE_INFINITY });
const approvalState = (): string | undefined => world.ledger.shelf.approval("acme", "apr_1")?.approval.state;

describe("parking", () => {
  test("row and approval are there when it resolves", async () => {
    expect(await park()).toEqual({ applied: true });
    expect(world.ledger.written).toEqual([["insert_call awaiting_approval", "insert_approval", "append_event requested", "append_event approval_requested"]]);
    expect([world.stateOf("c1"), approvalState()]).toEqual(["awaiting_approval", "pending"]);
  });

  test("a ledger that cannot write: neither is there, and the same call can be parked later", async () => {
    world.ledger.failing = full;
    await expect(park()).rejects.toBe(full);
    expect([world.hub.openCount(), world.ledger.calls.size, approvalState()]).toEqual([0, 0, undefined]);
    world.ledger.failing = undefined;
    expect(await park()).toEqual({ applied: true });
  });

  test("an approval's id that is taken refuses all of it", async () => {
    await world.ledger.commit({ writes: opening.guards });
    expect(await park()).toEqual({ applied: false, write: 1 });
    expect([world.hub.openCount(), world.ledger.calls.size]).toEqual([0, 0]);
  });
});

describe("deciding", () => {
  test("stored: call and approval have changed together, and only then a worker hears of it", async () => {
    const worker = world.worker("w1");
    await park();
    world.ledger.holding = true;
    const deciding = decide(yes);
    await settled();
    expect([worker.words(), approvalState()]).toEqual([["registered"], "pending"]);
    world.ledger.release();
    expect(await deciding).toBe("stored");
    await settled();
    expect([worker.words(), approvalState(), world.stateOf("c1")]).toEqual([["registered", "invoke c1#1"], "approved", "dispatched"]);
  });

  test("not open here, and not a step that the call knows: nothing is written", async () => {
    expect(await decide(yes)).toBe("not_open");
    await park();
    expect(await decide({ type: "barred", error: barred })).toBe("refused");
    expect([world.ledger.written.length, world.stateOf("c1"), approvalState()]).toEqual([1, "awaiting_approval", "pending"]);
  });

  test("an approval that is another by now: refused, and memory has the ledger's row again", async () => {
    const worker = world.worker("w1");
    await park();
    await world.ledger.commit({ writes: [{ op: "update_approval", expect: { revision: row.revision }, row: { ...row, revision: row.revision + 1 } }] });
    expect(await decide(yes)).toBe("refused");
    await settled();
    expect([world.hub.find("acme", "c1")?.state, world.stateOf("c1"), worker.words()]).toEqual(["awaiting_approval", "awaiting_approval", ["registered"]]);
    const next = { ...closedRow(row), revision: row.revision + 2 };
    expect(await decide(yes, { guards: [{ op: "update_approval", expect: { revision: row.revision + 1 }, row: next }], writes: [] })).toBe("stored");
    await settled();
    expect(worker.words()).toEqual(["registered", "invoke c1#1"]);
  });

  test("a full disk: told so, memory goes back to the ledger's row, and it can be decided when there is space", async () => {
    const worker = world.worker("w1");
    await park();
    world.ledger.failing = full;
    await expect(decide(yes)).rejects.toBe(full);
    await settled();
    expect([world.hub.find("acme", "c1")?.state, approvalState(), worker.words()]).toEqual(["awaiting_approval", "pending", ["registered"]]);
    expect([world.driver.failing, world.driver.behind]).toEqual([true, false]);
    world.ledger.failing = undefined;
    await world.clock.pass(500);
    expect(await decide(yes)).toBe("stored");
    await settled();
    expect(worker.words()).toEqual(["registered", "invoke c1#1"]);
  });

  test("what waits for the ledger goes first: till then nothing is tried, and memory stays as it is", async () => {
    const worker = world.worker("w1");
    await world.given("c2");
    await park();
    world.ledger.failing = full;
    worker.say(result("c2"));
    await settled();
    await expect(decide(yes)).rejects.toThrow("the ledger cannot write at the moment");
    expect(world.hub.find("acme", "c1")?.state).toBe("awaiting_approval");
    world.ledger.failing = undefined;
    await world.clock.pass(500);
    expect(await decide(yes)).toBe("stored");
  });

  test("while its row is being read again, nothing is decided on what may be wrong", async () => {
    await park();
    const stored = world.ledger.calls.get("acme/c1");
    const reading = Promise.withResolvers<void>();
    const read = world.ledger.getCall.bind(world.ledger);
    world.ledger.getCall = async (tenant, callId) => {
      await reading.promise;
      return read(tenant, callId);
    };
    const ask: Happening = { type: "asked", approvalId: "apr_1", outcome: null, args: null, data: {} };
    const wrong: Beside = { guards: [{ op: "update_approval", expect: { revision: 99 }, row }], writes: [] };
    expect(await decide(ask, wrong)).toBe("refused");
    expect(await decide(yes)).toBe("refused");
    reading.resolve();
    await settled();
    expect(world.hub.find("acme", "c1")).toEqual(stored);
    expect(await decide(yes)).toBe("stored");
  });

  test("a row that cannot be read again is read once more", async () => {
    await park();
    const read = world.ledger.getCall.bind(world.ledger);
    world.ledger.getCall = async () => Promise.reject(away);
    expect(await decide(yes, { guards: [{ op: "update_approval", expect: { revision: 99 }, row }], writes: [] })).toBe("refused");
    await settled();
    world.ledger.getCall = read;
    await world.clock.pass(500);
    expect(await decide(yes)).toBe("stored");
    await world.clock.pass(500);
    expect(world.logged).toContain("a call could not be read again; it is tried again");
  });
});

describe("looks", () => {
  test("one that fails is tried again, and the call waits for it", async () => {
    const found: (Error | undefined)[] = [away, away, undefined];
    let looks = 0;
    world.consult.recheck = async () => {
      const failure = found[looks++];
      if (failure !== undefined) throw failure;
      return { epoch: world.hub.epoch, until: Number.POSITIVE_INFINITY };
    };
    await world.given("c1");
    world.hub.newEpoch();
    const worker = world.worker("w1");
    await settled();
    expect([looks, worker.words()]).toEqual([1, ["registered"]]);
    await world.clock.pass(499);
    expect(looks).toBe(1);
    await world.clock.pass(501);
    expect([looks, worker.words()]).toEqual([3, ["registered", "invoke c1#1"]]);
    expect(world.logged).toEqual(Array.from({ length: 2 }, () => "whether a call may still run could not be found out; it waits"));
  });

  test("one that finds it barred ends it", async () => {
    world.consult.recheck = async () => ({ error: barred });
    await world.given("c1");
    world.hub.newEpoch();
    const { told } = world.driver.waiters.listen(waitKey("acme", "c1"));
    world.worker("w1");
    expect(await told).toMatchObject({ state: "denied", error: barred });
  });
});

describe("ends that go through an approval", () => {
  test("a close that fails is tried again every half second, until the call has ended with it", async () => {
    let tries = 0;
    world.consult.endApproval = async (_call, happening) => {
      if (++tries < 3) throw away;
      await decide(happening);
    };
    await park();
    world.driver.happen("acme", "c1", cancel);
    await settled();
    expect([tries, world.stateOf("c1")]).toEqual([1, "awaiting_approval"]);
    await world.clock.pass(1_000);
    expect([tries, world.stateOf("c1"), approvalState()]).toEqual([3, "cancelled", "approved"]);
    await world.clock.pass(5_000);
    expect(tries).toBe(3);
  });

  test("a deadline over which nothing can be written is tried once a second, however long it takes", async () => {
    let tries = 0;
    world.consult.endApproval = async () => {
      tries++;
      throw full;
    };
    await park("c1", { totalDeadlineAt: world.clock.now() + 1_000 });
    await world.clock.pass(61_000);
    expect(tries).toBe(61);
  });

  test("after a stop nothing is tried again", async () => {
    let tries = 0;
    world.consult.endApproval = async () => {
      tries++;
      throw away;
    };
    await park();
    world.driver.happen("acme", "c1", cancel);
    world.driver.stop();
    await world.clock.pass(10_000);
    expect([tries, world.clock.timers]).toEqual([1, 0]);
  });
});

describe("triggers", () => {
  test("one that fails lets the outcome stand", async () => {
    world.hub.triggersAre(new Set(["no_handler"]));
    world.consult.trigger = async () => Promise.reject(away);
    await world.given("c1");
    const { told } = world.driver.waiters.listen(waitKey("acme", "c1"));
    await world.clock.pass(30_000);
    expect(await told).toMatchObject({ state: "failed", routingOutcome: "no_handler" });
    expect(world.logged).toEqual(["nobody could be asked about a routing outcome; it stands"]);
  });

  test("an unknown end that nobody can be asked about stays parked", async () => {
    world.hub.triggersAre(new Set(["lease_expired"]));
    world.consult.trigger = async () => Promise.reject(away);
    const worker = world.worker("w1");
    await world.given("c1", { sideEffectClass: "irreversible_action" });
    worker.say(accepted("c1"));
    await world.clock.pass(10_000);
    expect([world.stateOf("c1"), world.hub.find("acme", "c1")?.state]).toEqual(["indeterminate", "indeterminate"]);
  });

  test("a question that cannot be stored is put once; the outcome stands, and is stored when there is space", async () => {
    let asked = 0;
    world.hub.triggersAre(new Set(["no_handler"]));
    world.consult.trigger = async () => {
      asked++;
      await world.driver.decide("acme", "c1", { type: "asked", approvalId: "apr_1", outcome: "no_handler", args: null, data: {} }, opening, undefined);
    };
    await world.given("c1");
    world.ledger.failing = full;
    await world.clock.pass(40_000);
    expect([asked, world.stateOf("c1")]).toEqual([1, "queued"]);
    world.ledger.failing = undefined;
    await world.clock.pass(500);
    expect([world.stateOf("c1"), approvalState()]).toEqual(["failed", undefined]);
  });
});

describe("vetting", () => {
  test("handlers that are refused are taken down; a failure leaves them to the choice of each call", async () => {
    world.consult.vet = async (offer) => {
      if (offer.identity.tenant === "other") throw away;
      return [{ tool: "pay", version: "1.0.0" }];
    };
    const refused = world.worker("w1");
    const unvetted = world.worker("w2", { tenant: "other" });
    await settled();
    await world.given("c1");
    await world.given("c2", { tenant: "other", toolTenant: "other" });
    expect([refused.words(), unvetted.words()]).toEqual([["registered"], ["registered", "invoke c2#1"]]);
    expect(world.logged).toEqual(["the handlers of a worker could not be checked when it registered; they are when a call comes"]);
  });
});

describe("adopting", () => {
  test("a parked call that only the ledger knows can be decided from then on; one that is here is left as it is", async () => {
    await park();
    const stored = world.ledger.calls.get("acme/c1");
    if (stored === undefined) throw new Error("not stored");
    const other = new HandDriver();
    await other.ledger.commit({ writes: [{ op: "insert_call", row: stored }, ...opening.guards] });
    world = other;
    expect(await decide(yes)).toBe("not_open");
    await world.driver.adopt(stored);
    expect(await decide(yes)).toBe("stored");
    await world.driver.adopt(stored);
    expect(world.hub.find("acme", "c1")?.state).toBe("queued");
    const worker = world.worker("w1");
    await settled();
    worker.say(result("c1"));
    await settled();
    expect(world.stateOf("c1")).toBe("succeeded");
  });
});
