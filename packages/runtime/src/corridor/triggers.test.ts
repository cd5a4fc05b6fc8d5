// Rules about routing outcomes: which outcomes they name, and whom they ask.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { admitted } from "../../../../test/support/calls.ts";
import { hubLimits } from "../../../../test/support/hand-hub.ts";
import { policyVersion } from "../../../../test/support/policies.ts";
import { noon, PolicyOffice } from "../../../../test/support/policy-office.ts";
import type { Call } from "../call/types.ts";
import { Hub } from "../dispatch/hub.ts";
import { createPolicySet } from "../policy/set.ts";
import { FairLine } from "../schedule/fair-line.ts";
import { judgeTrigger, triggersOf } from "./triggers.ts";

describe("outcomes that some rule names", () => {
  const named = (...rules: Parameters<typeof policyVersion>[0][]): string[] => [...triggersOf(createPolicySet(rules.map((rule, n) => policyVersion({ name: `rule-${n}`, ...rule }))))];

  test("none where no rule names any", () => {
    expect(named({}, { match: { tools: ["pay"] } })).toEqual([]);
  });

  test("those of rules in force, whoever they are of; limits are another matter", () => {
    expect(named({ match: { triggers: ["dispatch.no_handler", "limit.steps"] } }, { tenant: "other", match: { triggers: ["dispatch.indeterminate", "dispatch.no_handler"] } })).toEqual(["no_handler", "indeterminate"]);
  });

  test("not those of versions that are superseded or withdrawn", () => {
    expect(named({ status: "superseded", match: { triggers: ["dispatch.no_handler"] } }, { status: "withdrawn", match: { triggers: ["dispatch.lease_expired"] } })).toEqual([]);
  });
});

describe("whom they ask", () => {
  let office: PolicyOffice;
  const logged: string[] = [];

  beforeEach(async () => {
    office = await PolicyOffice.open();
    logged.length = 0;
    await office.tool("pay");
    await office.key("user:ann", { roles: ["clerk"] });
  });
  afterEach(() => office.close());

  const ask = (route: string, more: Record<string, unknown> = {}) => ({ decision: "require_approval", reason: "nobody could", approval: { route, ...more } });
  const rule = (name: string, spec: Record<string, unknown>) => office.publish({ name, spec });
  function judged(outcome: "no_handler" | "indeterminate" = "no_handler", changes: Partial<Call> = {}) {
    const hub = new Hub("r1", hubLimits, new FairLine(), noon);
    const log = (_fields: object, message: string): void => void logged.push(message);
    const call: Call = { ...admitted({ inputJson: '{"amount":5}' }).call, ...changes };
    return judgeTrigger({ ...office.ports, hub, log: { info: log, warn: log, error: log } }, call, outcome);
  }

  test("nobody, where no rule names this outcome", async () => {
    await rule("other", { match: { triggers: ["dispatch.indeterminate"] }, then: ask("ops") });
    expect(await judged()).toBeNull();
  });

  test("those that the matching rules name, all of them together", async () => {
    await rule("one", { match: { tools: ["pay"], triggers: ["dispatch.no_handler"] }, then: ask("ops", { timeout: "1h" }) });
    await rule("two", { match: { triggers: ["dispatch.no_handler"] }, when: "args.amount > 2.0", then: ask("finance", { approvals: 2 }) });
    await rule("far", { match: { triggers: ["dispatch.no_handler"] }, when: "args.amount > 200.0", then: ask("board") });
    expect(await judged()).toMatchObject({ routes: expect.arrayContaining([{ route: "ops", quorum: 1 }, { route: "finance", quorum: 2 }]) as unknown, timeoutMs: 3_600_000 });
    expect((await judged())?.routes).toHaveLength(2);
  });

  test("by the arguments as they would run", async () => {
    await rule("large", { match: { triggers: ["dispatch.no_handler"] }, when: "args.amount > 10.0", then: ask("ops") });
    expect(await judged()).toBeNull();
    expect(await judged("no_handler", { effectiveArgsJson: '{"amount":50}' })).not.toBeNull();
  });

  test("by who made the call, with the roles of its keys", async () => {
    await rule("clerks", { match: { triggers: ["dispatch.no_handler"] }, when: '"clerk" in principal.roles', then: ask("ops") });
    expect(await judged()).not.toBeNull();
    expect(await judged("no_handler", { principal: "user:ben" })).toBeNull();
  });

  test("a rule that does not name the trigger has no say, not even a denial", async () => {
    await rule("closed", { match: { tools: ["pay"] }, then: { decision: "deny", reason: "closed" } });
    await rule("ask", { match: { triggers: ["dispatch.no_handler"] }, then: ask("ops") });
    expect(await judged()).toMatchObject({ routes: [{ route: "ops", quorum: 1 }] });
  });

  test("nobody, where the tool is gone, the policies cannot be had, or the store cannot be read: the outcome stands", async () => {
    await rule("ask", { match: { triggers: ["dispatch.no_handler"] }, then: ask("ops") });
    expect(await judged("no_handler", { version: "9.9.9" })).toBeNull();
    expect(logged).toEqual([]);
    expect(await judged("no_handler", { inputJson: "{" })).toBeNull();
    expect(logged).toEqual(["the rules on a routing outcome could not be heard"]);
    const none = { tenants: async () => [], projects: async () => [], policyDefaults: async () => [] };
    await office.ports.policies.load({ ...none, policies: async () => Promise.reject(new Error("no disk")) });
    expect(await judged()).toBeNull();
  });
});
