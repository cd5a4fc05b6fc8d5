// Unsafe tools that nobody can be asked about: told where a tool or a policy is published, and at a start.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, manifest } from "../../../../test/support/corridor.ts";
import { paper } from "../../../../test/support/policy-office.ts";
import { newTenant } from "../tenancy/tenant.ts";
import { warnOfUnaskable } from "./askable.ts";

let corridor: Corridor;
beforeEach(async () => {
  corridor = new Corridor();
  published = 0;
  await corridor.ledger.commit({ writes: [{ op: "insert_tenant", row: newTenant("acme", 1, corridor.clock.now()) }] });
  await corridor.runtime.recover();
});
afterEach(() => corridor.close());

const admin = asked({ name: "user:own", scopes: new Set(["*"]) });
const decider = (name: string, roles: readonly string[] = [], more: object = {}) =>
  corridor.service.createKey(admin, { label: name, principal: name, scopes: ["approvals:decide"], roles, ...more });
const register = async (spec: object, name = "pay") => (await corridor.service.registerTool(admin, manifest({ name, spec: { side_effect_class: "non_idempotent_write", ...spec } }), {})).warnings;
const asks = (approval: object, spec: object = {}) => ({ match: { tools: ["pay"] }, then: { decision: "require_approval", reason: "money", approval: { route: "finance", ...approval } }, ...spec });
let published = 0;
const publish = async (approval: object, more: object = {}) =>
  (await corridor.service.publishPolicy(admin, paper({ name: "ask", version: `1.0.${published++}`, spec: asks(approval, more) }), {})).warnings.filter(({ path }) => path === "spec.then.approval.route").map(({ message }) => message);
const atStart = async (): Promise<string[]> => {
  const said: string[] = [];
  const { ledger, clock, runtime } = corridor;
  const log = { info() {}, error() {}, warn: (_fields: object, message: string) => void said.push(message) };
  await warnOfUnaskable({ ledger, clock, policies: runtime.policies }, log);
  return said;
};

const nobodySettles = "is unsafe, and nobody may decide how its calls of unknown end really ended: no live key has the scope approvals:decide";

describe("an end that nobody may settle", () => {
  test("is told of unsafe tools that ask, at publish and at start", async () => {
    expect(await register({})).toEqual([nobodySettles]);
    expect(await register({ on_indeterminate: "fail" }, "fails")).toEqual([]);
    expect(await register({ side_effect_class: "read_only" }, "reads")).toEqual([]);
    expect(await atStart()).toEqual([`pay ${nobodySettles}`]);
    await decider("user:judge");
    expect(await atStart()).toEqual([]);
  });

  test("agents have no vote, and keys that are revoked or over none either", async () => {
    await register({});
    await decider("agent:planner");
    await decider("user:short", [], { expiresAt: corridor.clock.now() + 1_000 });
    const { key } = await decider("user:gone");
    await corridor.service.revokeKey(admin, key.keyId);
    expect(await atStart()).toEqual([]);
    await corridor.clock.pass(1_000);
    expect(await atStart()).toEqual([`pay ${nobodySettles}`]);
  });
});

describe("a role that too few people hold", () => {
  test("is told when the rule is published, when the tool is, and at every start, until enough hold it", async () => {
    await decider("user:judge", ["clerks"]);
    expect(await publish({ approvals: 2 })).toEqual(["asks 2 of the role finance, and nobody who may decide approvals holds it"]);
    await decider("user:fay", ["finance"]);
    expect(await register({})).toEqual(["is unsafe, and the policy ask@1.0.0 asks 2 of the role finance, and 1 who may decide approvals holds it"]);
    expect(await register({}, "mail")).toEqual([]);
    expect(await atStart()).toEqual(["pay is unsafe, and the policy ask@1.0.0 asks 2 of the role finance, and 1 who may decide approvals holds it"]);
    // A second key of the same person is no second person; a grant brings a role too.
    await decider("user:fay", ["finance"]);
    expect(await atStart()).toHaveLength(1);
    await corridor.service.createGrant(admin, { subject: "user:judge", permissions: [], roles: ["finance"] });
    expect(await atStart()).toEqual([]);
  });

  test("whose question time answers, or another role does, is no lack", async () => {
    await decider("user:boss", ["board"]);
    expect(await publish({ on_timeout: "allow", timeout: "1h" })).toEqual([]);
    expect(await publish({ on_timeout: "escalate", escalate_to: "board", timeout: "1h" })).toEqual([]);
    expect(await publish({ on_timeout: "escalate", escalate_to: "owners", timeout: "1h" })).toHaveLength(1);
  });

  test("of rules about unknown ends as well; not of rules that only observe", async () => {
    await decider("user:judge");
    expect(await publish({}, { mode: "observe" })).toEqual([]);
    await corridor.service.publishPolicy(admin, paper({ name: "ends", spec: asks({}, { match: { tools: ["pay"], triggers: ["dispatch.indeterminate"] } }) }), {});
    expect(await register({})).toEqual(["is unsafe, and the policy ends@1.0.0 asks 1 of the role finance, and nobody who may decide approvals holds it"]);
  });
});

test("twenty lines, and how many there are beyond", async () => {
  for (let n = 10; n < 33; n++) await register({}, `pay${n}`);
  const said = await atStart();
  expect([said.length, said[19], said[20]]).toEqual([21, `pay29 ${nobodySettles}`, "there are more unsafe tools that nobody can be asked about"]);
});
