// Looks before a start, after a wait: the tool, the principal, its grants and today's rules, with the arguments as they would run.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { admitted } from "../../../../test/support/calls.ts";
import { hubLimits } from "../../../../test/support/hand-hub.ts";
import { noon, PolicyOffice } from "../../../../test/support/policy-office.ts";
import type { Call } from "../call/types.ts";
import { Hub } from "../dispatch/hub.ts";
import { FairLine } from "../schedule/fair-line.ts";
import { lookAgain, type GovernorPorts, type Look } from "./governor.ts";

let office: PolicyOffice;
let ports: GovernorPorts;
let hub: Hub;

beforeEach(async () => {
  office = await PolicyOffice.open();
  hub = new Hub("r1", hubLimits, new FairLine(), noon);
  ports = { ...office.ports, hub };
  await office.tool("pay", { amount: { type: "number" }, id: { type: "integer" } });
  await office.key("user:ann");
  await office.grant("user:ann", ["*"]);
});
afterEach(() => office.close());

const call = (changes: Partial<Call> = {}): Call => ({ ...admitted().call, ...changes });
const look = (argsJson = '{"amount":5,"id":1}', changes: Partial<Call> = {}): Promise<Look> => lookAgain(ports, call(changes), argsJson);
const rule = (spec: Record<string, unknown>, name = "rule") => office.publish({ name, spec: { match: { tools: ["pay"] }, ...spec } });

describe("may start", () => {
  test("with a look that is good for a second, and for this state of rules and grants", async () => {
    hub.newEpoch();
    expect(await look()).toEqual({ ok: true, clearance: { epoch: 1, until: noon + 1_000 } });
  });

  test("what changes while it is being looked at makes the look void: its epoch is that of the beginning", async () => {
    const looking = look();
    hub.newEpoch();
    expect(await looking).toEqual({ ok: true, clearance: { epoch: 0, until: noon + 1_000 } });
  });

  test("under a rule that asks people: they were asked, or admission did not need them", async () => {
    await rule({ then: { decision: "require_approval", reason: "look", approval: { route: "ops" } } });
    expect((await look()).ok).toBe(true);
  });

  test("under a rule that counts: it was counted when the call was admitted", async () => {
    await rule({ when: 'calls.window("1h") >= 0', then: { decision: "deny", reason: "none at all" } });
    expect((await look()).ok).toBe(true);
  });

  test("for a principal that never had a key: its grants are what counts", async () => {
    await office.grant("service:token", ["tool:invoke:pay"]);
    expect((await look(undefined, { principal: "service:token" })).ok).toBe(true);
  });
});

describe("may not", () => {
  const errorOf = async (looking: Promise<Look>): Promise<unknown> => {
    const found = await looking;
    return found.ok ? undefined : found.error;
  };

  test("its tool is gone", async () => {
    expect(await errorOf(look(undefined, { version: "9.9.9" }))).toMatchObject({ code: "forbidden", details: { reason: "gone" } });
  });

  test("its tool was quarantined", async () => {
    await office.write({ op: "set_tool_status", tenant: "acme", tool: "pay", version: "1.0.0", from: "active", status: "quarantined" });
    expect(await errorOf(look())).toMatchObject({ code: "integrity_violation", message: "pay@1.0.0 was quarantined before the call could start" });
  });

  test("its tool was disabled in the project, and in that alone", async () => {
    const row = { tenant: "acme", project: "shop", tool: "pay", enabled: false, changedAt: noon, changedBy: "user:own" };
    await office.ledger.commit({ writes: [{ op: "put_project_tool", row }] });
    office.ports.catalog.forgetChoices("acme");
    expect(await errorOf(look())).toMatchObject({ code: "forbidden", details: { reason: "tool_disabled", project: "shop" } });
    expect((await look(undefined, { project: "office" })).ok).toBe(true);
  });

  test("its principal has no key any more", async () => {
    const [key] = await office.ledger.keys("acme");
    await office.write({ op: "revoke_key", tenant: "acme", keyId: key?.keyId ?? "", at: noon });
    office.ports.directory.changed("acme");
    expect(await errorOf(look())).toMatchObject({ code: "forbidden", message: "no key of user:ann is valid any more", details: { reason: "principal_gone", checked: "before_start" } });
  });

  test("its grant is not there, or no more", async () => {
    await office.key("user:ben");
    await office.grant("user:ben", ["tool:invoke:pay"], { expiresAt: noon + 500 });
    expect((await look(undefined, { principal: "user:ben" })).ok).toBe(true);
    await office.clock.pass(500);
    expect(await errorOf(look(undefined, { principal: "user:ben" }))).toMatchObject({
      code: "forbidden",
      message: "user:ben has no grant for tool:invoke:pay any more",
      details: { missing: ["tool:invoke:pay"], checked: "before_start" },
    });
  });

  test("a rule denies it today", async () => {
    await rule({ then: { decision: "deny", reason: "closed" } });
    expect(await errorOf(look())).toMatchObject({ code: "forbidden", message: "denied by policy: closed", details: { policy: "rule@1.0.0", level: "tenant", checked: "before_start" } });
  });

  test("a rule denies the arguments as they would run, to the last digit", async () => {
    await rule({ when: "args.id == 9007199254740993", then: { decision: "deny", reason: "blocked" } });
    expect(await errorOf(look('{"amount":1,"id":9007199254740993}'))).toMatchObject({ message: "denied by policy: blocked" });
    expect((await look('{"amount":1,"id":9007199254740992}')).ok).toBe(true);
  });

  test("a rule that cannot be heard denies, as policy_error", async () => {
    await rule({ when: "args.amount / 0.0 > 1.0 && args.id / 0 > 1", then: { decision: "allow", reason: "fine" } });
    expect(await errorOf(look())).toMatchObject({ code: "policy_error" });
  });

  test("policies that cannot be had deny everything", async () => {
    const none = { tenants: async () => [], projects: async () => [], policyDefaults: async () => [] };
    await office.ports.policies.load({ ...none, policies: async () => Promise.reject(new Error("no disk")) });
    expect(await errorOf(look())).toMatchObject({ code: "policy_error", details: { checked: "before_start" } });
  });

  test("a store that cannot be read is no answer", async () => {
    office.ports.ledger.toolVersion = async () => Promise.reject(new Error("away"));
    await expect(look()).rejects.toThrow("away");
  });
});
