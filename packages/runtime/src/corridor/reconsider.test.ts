// After something was taken away: every call that waits is looked at, what may not run any more ends, and the rest is left alone.
import { errorBody } from "@signalbox/protocol";
import { beforeEach, expect, test } from "vitest";
import { identityOf } from "../../../../test/support/calls.ts";
import { HandDriver } from "../../../../test/support/hand-driver.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { believed } from "../../../../test/support/hand-hub.ts";
import type { Happening } from "../call/machine.ts";
import { reconsider, type ReconsiderPorts } from "./reconsider.ts";

let world: HandDriver;
let ended: (readonly [callId: string, happening: Happening])[];
let ports: ReconsiderPorts;

/** `pay` may not run any more; of `odd` nothing can be found out. */
const catalog = {
  async standing({ tool }: { readonly tool: string }) {
    if (tool === "odd") throw new Error("away");
    return tool === "pay" ? { ok: false, reason: "quarantined" } : { ok: true };
  },
};

beforeEach(() => {
  world = new HandDriver();
  ended = [];
  const log = (_fields: object, message: string): void => void world.logged.push(message);
  const { hub, driver, clock } = world;
  ports = {
    hub,
    driver,
    clock,
    catalog,
    log: { info: log, warn: log, error: log },
    approvals: { endWithCall: async (call: { callId: string }, happening: Happening) => void ended.push([call.callId, happening]) },
    // The tool is looked at first; whose call it is does not matter to the ones that end here.
    directory: { holdingsByName: async () => ({ permissions: ["*"], roles: [] }) },
    ledger: { toolVersion: async () => Promise.reject(new Error("away")) },
  } as unknown as ReconsiderPorts;
});

const quarantined = { ...errorBody("integrity_violation", "pay@1.0.0 was quarantined before the call could start", { reason: "quarantined" }) };

test("a queued call is denied, a parked one ends through its approval, and one that runs goes on", async () => {
  const worker = world.worker("w1", { capacity: 1 });
  for (const callId of ["runs", "waits"]) await world.given(callId);
  const clearance = { epoch: world.hub.epoch, until: Number.POSITIVE_INFINITY };
  await world.driver.park({ identity: identityOf({ callId: "parked" }), edited: null, facts: believed, clearance, approvalId: "apr_1", asked: {} });
  expect(await reconsider(ports)).toBe(2);
  await settled();
  expect(["runs", "waits", "parked"].map((callId) => world.stateOf(callId))).toEqual(["dispatched", "denied", "awaiting_approval"]);
  expect(world.ledger.calls.get("acme/waits")?.error).toEqual(quarantined);
  expect(ended).toEqual([["parked", { type: "rejected", error: quarantined, by: null }]]);
  expect(worker.words()).toEqual(["registered", "invoke runs#1"]);
});

test("a call that cannot be looked at waits on, and keeps nobody else from being looked at", async () => {
  await world.given("c1", { tool: "odd" });
  await world.given("c2");
  expect(await reconsider(ports)).toBe(1);
  await settled();
  expect([world.stateOf("c1"), world.stateOf("c2"), world.logged]).toEqual(["queued", "denied", ["a waiting call could not be looked at again"]]);
});

test("with nothing that waits there is nothing to do", async () => {
  world.worker("w1");
  await world.given("c1");
  expect([await reconsider(ports), ended]).toEqual([0, []]);
});
