// Approvals and their calls when two things happen at once: cancels, deadlines, escalations, edits and expiries that overtake one another.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { at0, identityOf } from "../../../../test/support/calls.ts";
import { asked } from "../../../../test/support/corridor.ts";
import { ask, Governed, voter } from "../../../../test/support/governed.ts";
import { HandDriver } from "../../../../test/support/hand-driver.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { accepted, believed, started } from "../../../../test/support/hand-hub.ts";
import type { Companions } from "./driver-ports.ts";
import { stepApproval } from "../policy/approval/step.ts";
import { openApproval } from "../policy/approval/open.ts";
import type { ApprovalRequirements } from "../policy/approval/types.ts";
import { unitOf } from "./approval-unit.ts";
import { Approvals, type ApprovalPorts } from "./approvals.ts";

const requirements: ApprovalRequirements = {
  routes: [{ route: "ops", quorum: 1 }],
  distinctFromRequester: false,
  comprehension: false,
  timeoutMs: 60_000,
  onTimeout: "escalate",
  onReject: "return_to_agent",
  escalateTo: "lead",
  reason: "somebody must look",
};

describe("over a ledger that keeps one waiting", () => {
  let world: HandDriver;
  let approvals: Approvals;

  beforeEach(() => {
    world = new HandDriver();
    const { hub, clock, driver } = world;
    const log = (_fields: object, message: string): void => void world.logged.push(message);
    let ids = 0;
    const ports = {
      hub,
      clock,
      driver,
      ledger: world.ledger.asLedger,
      chance: { bytes: (count: number) => new Uint8Array(count).fill(++ids) },
      hash: (text: string) => `hash of ${text}`,
      meters: { count: () => undefined, observe: () => undefined, text: async () => "" },
      log: { info: log, warn: log, error: log },
      noticed: () => undefined,
    };
    // Nobody approves here, so neither rules nor tools are asked.
    approvals = new Approvals(ports as unknown as ApprovalPorts);
    world.consult.endApproval = (call, happening) => approvals.endWithCall(call, happening);
  });
  afterEach(() => approvals.stop());

  /** Parked under apr_1, as an admission does it; not waited for. */
  function park(totalDeadlineAt: number | null = null): Promise<unknown> {
    const { hub, clock, driver } = world;
    const identity = identityOf({ callId: "c1", totalDeadlineAt });
    const { tenant, project, tool, version, principal: requester, onBehalfOf } = identity;
    const subject = { kind: "call", callId: "c1", sessionId: null } as const;
    const args = { argsJson: '{"amount":5}', argsHash: "h0" };
    const opened = openApproval({ tenant, project, tool, version, requester, onBehalfOf, approvalId: "apr_1", subject, args, requirements }, clock.now());
    const { guards, writes } = unitOf(undefined, opened, null);
    const clearance = { epoch: hub.epoch, until: Number.POSITIVE_INFINITY };
    const parking = driver.park({ identity, edited: null, facts: believed, clearance, approvalId: "apr_1", asked: {}, beside: { guards, writes } });
    return parking.then(() => approvals.opened(clock.now() + 60_000));
  }

  const states = () => [...world.ledger.shelf.approvals.values()].map(({ state }) => state);

  test("a deadline that passes before the question is stored ends both", async () => {
    world.ledger.holding = true;
    const parking = park(at0 + 10);
    await world.clock.pass(10);
    expect(states()).toEqual([]);
    world.ledger.release();
    await parking;
    await settled();
    expect([world.stateOf("c1"), states()]).toEqual(["timed_out", ["cancelled"]]);
  });

  test("an admission that does not come to be leaves nothing behind", async () => {
    world.ledger.holding = true;
    world.ledger.failing = new Error("no");
    const parking = park(at0 + 10);
    await world.clock.pass(10);
    world.ledger.release();
    await expect(parking).rejects.toThrow("no");
    await settled();
    expect([world.ledger.calls.size, states(), world.hub.openCount()]).toEqual([0, [], 0]);
  });

  test("a cancel while another role is being asked ends that question, not only the old one", async () => {
    await park();
    world.ledger.holding = true;
    await world.clock.pass(60_000);
    expect(world.ledger.waiting).toHaveLength(1);
    world.driver.happen("acme", "c1", { type: "cancel", by: "user:ann" });
    await settled();
    world.ledger.release();
    await settled();
    expect([world.stateOf("c1"), states()]).toEqual(["cancelled", ["escalated", "cancelled"]]);
    expect(world.ledger.shelf.pending()).toEqual([]);
  });

  test("so does one that came just before it", async () => {
    await park();
    const reading = Promise.withResolvers<void>();
    const read = world.ledger.approval.bind(world.ledger);
    world.ledger.approval = async (tenant, approvalId) => {
      await reading.promise;
      return read(tenant, approvalId);
    };
    // The sweep has the approval first, and the cancel waits for it.
    await world.clock.pass(60_000);
    world.driver.happen("acme", "c1", { type: "cancel", by: "user:ann" });
    await settled();
    reading.resolve();
    await settled();
    expect([world.stateOf("c1"), states()]).toEqual(["cancelled", ["escalated", "cancelled"]]);
  });

  test("and one that waits for the call while another replica asks another role", async () => {
    const { driver, ledger, clock } = world;
    const silent = { queued() {}, release() {}, told() {}, arriving: async () => true, touched() {}, gone() {}, room() {} };
    let escalate = async (): Promise<void> => undefined;
    const companions: Companions = { ...silent, reach: async () => (await escalate(), ledger.calls.get("acme/c1")) };
    driver.share(companions);
    await park();
    const adopt = async (): Promise<void> => driver.adopt(ledger.calls.get("acme/c1")!);
    await adopt();
    escalate = async () => {
      escalate = async () => undefined;
      const all = ledger.shelf.approval("acme", "apr_1")!;
      const { call, ...unit } = unitOf(all.approval, stepApproval(all, { type: "due" }, clock.now() + 60_000, "apr_2"), null);
      await driver.decide("acme", "c1", call!.happening, unit, undefined);
      await adopt();
    };
    driver.happen("acme", "c1", { type: "cancel", by: "user:ann" });
    await settled();
    expect([world.stateOf("c1"), states()]).toEqual(["cancelled", ["escalated", "cancelled"]]);
  });

  test("a question that its call is no longer under is closed, and the call stays under the other", async () => {
    await park();
    const other = { type: "asked", approvalId: "apr_2", outcome: null, args: null, data: {} } as const;
    await world.driver.decide("acme", "c1", other, { guards: [], writes: [] }, undefined);
    await world.clock.pass(60_000);
    expect([world.stateOf("c1"), states()]).toEqual(["awaiting_approval", ["cancelled"]]);
    expect(world.logged).toEqual(["the call of an open approval had ended or was under another; the approval was cancelled"]);
  });

  test("a deadline that finds the call gone on leaves it alone", async () => {
    await park(at0 + 30_000);
    const reading = Promise.withResolvers<void>();
    const read = world.ledger.approval.bind(world.ledger);
    world.ledger.approval = async (tenant, approvalId) => {
      await reading.promise;
      return read(tenant, approvalId);
    };
    await world.clock.pass(30_000);
    const yes = { type: "approved", by: ["user:olga"], args: null } as const;
    await world.driver.decide("acme", "c1", yes, { guards: [], writes: [] }, undefined);
    reading.resolve();
    await settled();
    expect([world.stateOf("c1"), world.logged]).toEqual(["queued", []]);
  });
});

describe("through the service", () => {
  let house: Governed;
  const olga = voter("olga", "ops");

  beforeEach(async () => {
    house = await Governed.open();
  });
  afterEach(() => house.close());

  /** Everything that must be known of a tool waits until the test lets it go on. */
  function slowly(): () => void {
    const gate = Promise.withResolvers<void>();
    const read = house.ledger.toolVersion.bind(house.ledger);
    house.ledger.toolVersion = async (...of) => {
      await gate.promise;
      return read(...of);
    };
    return () => gate.resolve();
  }

  test("an edit whose check is overtaken by the expiry is late: what runs is what everybody saw", async () => {
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("ops", 1, { timeout: "1h", on_timeout: "allow" }) });
    const { callId, approvalId } = await house.parked(1_500);
    const { argsHash } = (await house.approval(approvalId)).approval;
    const goOn = slowly();
    const editing = house.service.vote(olga, approvalId, { decision: "approve", argsHash, args: { amount: 2_000 } });
    await house.settle();
    await house.clock.pass(3_600_000);
    goOn();
    await expect(editing).rejects.toMatchObject({ code: "approval_closed", details: { outcome: "timeout_allowed" } });
    const w1 = house.worker("w1");
    await house.settle();
    expect(w1.last("invoke")).toMatchObject({ callId, argsJson: '{"amount":1500}' });
    expect(await house.ledger.getCall("acme", callId)).toMatchObject({ effectiveArgsJson: null, argsEditedBy: null });
    expect((await house.approval(approvalId)).votes).toMatchObject([{ voter: "user:olga", late: true }]);
    expect((await house.audit()).map(({ action }) => action)).not.toContain("call.decided_again");
  });

  test("an edit that comes to the same arguments, without nulls, is a plain vote: nobody has changed them", async () => {
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("ops") });
    const { callId, approvalId } = await house.parked(1_500);
    await house.vote(olga, approvalId, { args: { amount: 1_500, note: null } });
    expect(await house.ledger.getCall("acme", callId)).toMatchObject({ state: "queued", effectiveArgsJson: null, argsEditedBy: null });
  });

  test("a question that a routing outcome raised ends at its instant, without any other being asked", async () => {
    await house.policy({ name: "ask-ops", match: { triggers: ["dispatch.no_handler"] }, then: ask("ops", 1, { timeout: "10m" }) });
    const { call } = await house.invoke();
    await house.pass(30_000);
    expect(await house.state(call.callId)).toBe("awaiting_approval");
    await house.pass(599_999);
    expect(await house.state(call.callId)).toBe("awaiting_approval");
    await house.pass(1);
    expect(await house.ledger.getCall("acme", call.callId)).toMatchObject({ state: "denied", error: { code: "approval_expired" } });
  });

  test("a person's word on an unknown end closes the question about it, whoever is asked", async () => {
    await house.policy({ name: "unknown", match: { triggers: ["dispatch.indeterminate"] }, then: ask("ops") });
    const w1 = house.worker("w1");
    const { call } = await house.invoke();
    w1.say(accepted(call.callId));
    w1.say(started(call.callId));
    w1.close("the network is gone");
    await house.pass(16_000);
    const { approvalId } = (await house.ledger.getCall("acme", call.callId)) ?? {};
    const op = asked({ name: "user:op", scopes: new Set(["approvals:decide", "calls:read"]) });
    await house.service.resolve(op, call.callId, { verdict: "fail", comment: "asked the bank" });
    await house.settle();
    expect(await house.state(call.callId)).toBe("failed");
    expect((await house.approval(approvalId ?? "")).approval).toMatchObject({ state: "cancelled", closedBy: "user:op" });
  });
});
