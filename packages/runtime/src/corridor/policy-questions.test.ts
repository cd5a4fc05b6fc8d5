// Questions about calls that nobody makes: what would happen, to whom, and what nobody is told who may not know it.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { by, guard, noon, operator, owner, PolicyOffice } from "../../../../test/support/policy-office.ts";
import { sampleCall } from "../../../../test/conformance/ledger-rows.ts";
import type { PolicyAnswer, PolicyQuestion } from "../service-governance.ts";
import { setPolicyDefault, setPolicyStatus } from "./policy-admin.ts";
import { explainPolicy } from "./policy-questions.ts";

let office: PolicyOffice;
beforeEach(async () => {
  office = await PolicyOffice.open();
  await office.tool("pay", { amount: { type: "number" }, payee: { type: "string" } });
  await office.grant("user:ann", ["tool:invoke:pay"]);
  await office.key("user:ann");
});
afterEach(() => office.close());

const input = { amount: 1_500, payee: "ACME" };
const ask = (question: Partial<PolicyQuestion> = {}, asked = by()): Promise<PolicyAnswer> =>
  explainPolicy(office.ports, asked, { tool: "pay", input, ...question });
const outcome = ({ explanation }: PolicyAnswer): string => {
  const decision = explanation.judgement?.decision;
  return decision === undefined ? "none" : `${decision.outcome}: ${decision.reason}`;
};

describe("explaining", () => {
  test("POL-03: a rule that asks people is told with its routes, and what decided it", async () => {
    await office.publish(guard);
    const answer = await ask();
    expect(outcome(answer)).toBe("require_approval: Payments above 1000 need a person");
    expect(answer.explanation.judgement).toMatchObject({
      code: null,
      deciding: { policy: "payments-need-a-person", version: "1.0.0", level: "tenant" },
      approval: {
        routes: [{ route: "finance", quorum: 2 }],
        timeoutMs: 3_600_000,
        onTimeout: "deny",
        distinctFromRequester: true,
      },
    });
    expect(answer).toMatchObject({ missingPermissions: [], inputErrors: null });
    expect(answer.lines).toEqual([
      "The call would be asked about: Payments above 1000 need a person",
      "  2 people with role finance",
      "  none of them the requester",
      "  within 1h, then deny",
      'matched  payments-need-a-person@1.0.0 (tenant): require_approval, "Payments above 1000 need a person"',
      "    when args.amount > 1000.0",
      "    args.amount > 1000.0 is true: args.amount is 1500",
    ]);
    expect(outcome(await ask({ input: { amount: 1_000, payee: "ACME" } }))).toBe("allow: granted");
    expect((await office.ledger.listCalls({ tenant: "acme" }, 10)).items).toEqual([]);
  });

  test("POL-01: the platform's denial in production stands over a project's allow, and is cited", async () => {
    await office.tool("shell", { command: { type: "string" } });
    const shell = { match: { tools: ["shell"] } };
    await office.publish(
      {
        name: "no-shell",
        level: "platform",
        spec: {
          match: { tools: ["shell"], environments: ["production"] },
          then: { decision: "deny", reason: "No shell in production" },
        },
      },
      operator,
    );
    await office.publish({
      name: "shell-is-fine",
      level: "project",
      project: "shop",
      spec: { ...shell, then: { decision: "allow" } },
    });
    await office.grant("user:ann", ["tool:invoke:shell"]);
    const question = { tool: "shell", input: { command: "ls" } };
    const answer = await ask(question);
    expect(outcome(answer)).toBe("deny: No shell in production");
    expect(answer.explanation.judgement).toMatchObject({
      code: "forbidden",
      deciding: { policy: "no-shell", level: "platform" },
    });
    expect(
      answer.explanation.rules.map(({ policy, tenant, verdict, outcome: said }) => [policy, tenant, verdict, said]),
    ).toEqual([
      ["no-shell", "platform", "matched", "deny"],
      ["shell-is-fine", "acme", "matched", "allow"],
    ]);
    expect(outcome(await ask({ ...question, environment: "staging" }, owner))).toBe("allow: granted");
  });

  test("POL-09: a rule on time goes by the runtime's clock, or by the instant that is asked about", async () => {
    await office.publish({
      name: "nights",
      spec: {
        match: { tools: ["pay"] },
        when: "now.getHours() < 6",
        then: { decision: "deny", reason: "Not at night" },
      },
    });
    expect(outcome(await ask())).toBe("allow: granted");
    expect(outcome(await ask({ now: Date.UTC(2026, 2, 3, 5, 59) }))).toBe("deny: Not at night");
    await office.clock.pass(12 * 3_600_000);
    expect(outcome(await ask())).toBe("deny: Not at night");
    await office.clock.pass(6 * 3_600_000);
    expect(outcome(await ask())).toBe("allow: granted");
  });

  test("what the grants lack is told, at the instant that is asked about", async () => {
    const noGrant = await ask({}, by({ name: "user:eve" }));
    expect(noGrant.missingPermissions).toEqual(["tool:invoke:pay"]);
    expect(noGrant.lines[0]).toBe(
      "user:eve has no grant for tool:invoke:pay: the call would be denied before any rule is heard.",
    );
    await office.tool("mail", {}, { spec: { permissions: ["net:egress:mail.example.com"] } });
    await office.grant("user:ann", ["tool:invoke:mail"], { expiresAt: noon + 1_000 });
    expect((await ask({ tool: "mail", input: {} })).missingPermissions).toEqual(["net:egress:mail.example.com"]);
    expect((await ask({ tool: "mail", input: {}, now: noon + 1_000 })).missingPermissions).toEqual([
      "tool:invoke:mail",
      "net:egress:mail.example.com",
    ]);
  });

  test("rules that read the input are not heard on one that does not fit, nor without one: then they deny", async () => {
    await office.publish(guard);
    const misfit = await ask({ input: { amount: "a lot" } });
    expect(misfit.inputErrors).toEqual([
      expect.objectContaining({ pointer: "/payee", keyword: "required" }),
      expect.objectContaining({ pointer: "/amount", keyword: "type" }),
    ]);
    expect(misfit.explanation.rules).toMatchObject([{ verdict: "waiting" }]);
    expect(misfit.explanation.judgement).toMatchObject({ code: "policy_error", decision: { outcome: "deny" } });
    expect(misfit.lines[0]).toBe(
      "The input does not match the tool's schema: the call would be refused before rules that read it are heard.",
    );
    const none = await explainPolicy(office.ports, by(), { tool: "pay" });
    expect(none).toMatchObject({
      inputErrors: null,
      explanation: { rules: [{ verdict: "waiting" }], judgement: { code: "policy_error" } },
    });
    expect(none.lines[0]).toMatch(/^No input was given/);
    await setPolicyStatus(office.ports, owner, guard.name, "1.0.0", "withdrawn");
    const quiet = await explainPolicy(office.ports, by(), { tool: "pay" });
    expect([outcome(quiet), quiet.lines]).toEqual([
      "allow: granted",
      ["The call would be allowed: granted", "No rule concerns this call."],
    ]);
  });

  test("a null for an optional field is absent, as it is to a call", async () => {
    await office.tool("note", {}, { spec: { input: { type: "object", properties: { text: { type: "string" } } } } });
    await office.publish({ spec: { match: { tools: ["note"] }, when: "has(args.text)" } });
    expect(outcome(await ask({ tool: "note", input: { text: null } }))).toBe("allow: granted");
    expect(outcome(await ask({ tool: "note", input: { text: "x" } }))).toBe("deny: because of rule");
  });

  test("a guard that reads a field which a new version made optional denies", async () => {
    await office.publish(guard);
    await office.tool(
      "pay",
      {},
      { version: "2.0.0", spec: { input: { type: "object", properties: { amount: { type: "number" } } } } },
    );
    const answer = await ask({ input: {} });
    expect(answer.explanation.judgement).toMatchObject({ code: "policy_error", decision: { outcome: "deny" } });
    expect(answer.explanation.rules).toMatchObject([{ verdict: "failed" }]);
  });

  test("policies that a tool names, also those that are not in force", async () => {
    await office.publish({
      name: "ask-first",
      level: undefined as never,
      spec: { match: {}, then: { decision: "require_approval", reason: "Ask", approval: { route: "ops" } } },
    });
    await office.tool("wipe", {}, { spec: { default_policies: ["ask-first@1.0.0"] } });
    await office.grant("user:ann", ["tool:invoke:wipe"]);
    expect(outcome(await ask({ tool: "wipe", input: {} }))).toBe("require_approval: Ask");
    await setPolicyStatus(office.ports, owner, "ask-first", "1.0.0", "withdrawn");
    expect(outcome(await ask({ tool: "wipe", input: {} }))).toBe(
      "deny: policy_error: the attached policy ask-first@1.0.0 is not in force",
    );
  });

  test("a closed default", async () => {
    await setPolicyDefault(office.ports, owner, "", "deny");
    expect(outcome(await ask())).toBe("deny: no policy of the tenant allows this");
    await office.publish({ name: "pay-is-fine", spec: { match: { tools: ["pay"] }, then: { decision: "allow" } } });
    expect(outcome(await ask())).toBe("allow: granted");
  });

  test("while the policies cannot be read everything is denied, and so it is told", async () => {
    await office.ports.policies.load({ tenants: () => Promise.reject(new Error("disk I/O error")) } as never);
    const answer = await ask();
    expect(answer.explanation).toMatchObject({
      rules: [],
      judgement: {
        code: "policy_error",
        decision: { outcome: "deny", reason: "policy_error: the policies cannot be read: disk I/O error" },
      },
    });
  });
});

describe("counts and triggers", () => {
  const bursts = {
    name: "no-bursts",
    spec: {
      match: { tools: ["pay"] },
      when: "calls.window('10m') >= 2",
      then: { decision: "deny", reason: "Too many" },
    },
  };

  test("calls in a window are those that the ledger counts up to that instant, unless they are given", async () => {
    await office.publish(bursts);
    for (const [index, minutes] of [1, 9, 11].entries()) {
      const row = sampleCall({
        callId: `exec_01KDVC3W80000000000000000${index}`,
        tool: "pay",
        principal: "user:ann",
        admittedAt: noon - minutes * 60_000,
      });
      await office.write({ op: "insert_call", row });
    }
    expect(outcome(await ask())).toBe("deny: Too many");
    expect(outcome(await ask({ now: noon + 2 * 60_000 }))).toBe("allow: granted");
    expect(outcome(await ask({ counts: { windows: { "10m": 1 } } }))).toBe("allow: granted");
    expect(outcome(await ask({ counts: { windows: { "600s": 2 } } }))).toBe("deny: Too many");
    expect(outcome(await ask({}, by({ name: "user:eve" })))).toBe("allow: granted");
  });

  test("turn and session count nothing unless given", async () => {
    await office.publish({ spec: { match: { tools: ["pay"] }, when: "calls.turn >= 3 || calls.session >= 5" } });
    expect(outcome(await ask())).toBe("allow: granted");
    expect(outcome(await ask({ counts: { turn: 3 } }))).toBe("deny: because of rule");
    expect(outcome(await ask({ counts: { session: 5 } }))).toBe("deny: because of rule");
  });

  test.each([
    [{ "10": 1 }, 'counts.windows["10"]'],
    [{ "10m": -1 }, 'counts.windows["10m"]'],
    [{ "10m": 1.5 }, 'counts.windows["10m"]'],
  ])("windows %j are refused", async (windows, path) => {
    await expect(ask({ counts: { windows } })).rejects.toMatchObject({
      code: "invalid_input",
      details: { problems: [expect.objectContaining({ path })] },
    });
  });

  test("a trigger meets only rules that name it", async () => {
    await office.publish();
    await office.publish({
      name: "nobody-there",
      spec: {
        match: { tools: ["pay"], triggers: ["dispatch.no_handler"] },
        then: { decision: "require_approval", reason: "Nobody serves it", approval: { route: "ops" } },
      },
    });
    expect(outcome(await ask())).toBe("deny: because of rule");
    expect(outcome(await ask({ trigger: "dispatch.no_handler" }))).toBe("require_approval: Nobody serves it");
    const other = await ask({ trigger: "dispatch.capacity_exhausted" });
    expect([outcome(other), other.lines[0]]).toEqual(["none", "No rule has a say: what usually happens happens."]);
  });

  test("a limit of a session is no tool's", async () => {
    await office.publish({
      name: "more-steps",
      spec: {
        match: { triggers: ["limit.steps"] },
        when: "agent == 'buyer'",
        then: { decision: "require_approval", reason: "More steps", approval: { route: "ops" } },
      },
    });
    expect(outcome(await ask({ tool: "", trigger: "limit.steps", agent: "buyer" }))).toBe(
      "require_approval: More steps",
    );
    expect(outcome(await ask({ tool: "", trigger: "limit.steps", context: { agent: "buyer" } }))).toBe(
      "require_approval: More steps",
    );
    expect(outcome(await ask({ tool: "", trigger: "limit.steps" }))).toBe("none");
  });
});

describe("whom one may ask about", () => {
  beforeEach(async () => {
    await office.publish({
      name: "clerks",
      spec: {
        match: { tools: ["pay"] },
        when: "!('finance' in principal.roles)",
        then: { decision: "deny", reason: "Finance only" },
      },
    });
    await office.key("user:bob", { roles: ["finance"] });
    await office.grant("user:bob", ["tool:invoke:pay"]);
  });

  test.each<[string, Partial<PolicyQuestion>]>([
    ["another principal", { principal: "user:bob" }],
    ["roles that it lacks", { roles: ["finance"] }],
    ["another environment", { environment: "staging" }],
    ["another project", { project: "lab" }],
  ])("%s takes the scope policies:write", async (_, question) => {
    await expect(ask(question)).rejects.toMatchObject({
      code: "forbidden",
      details: { missing_scope: "policies:write" },
    });
    expect((await office.audit())[0]).toMatchObject({ errorCode: "forbidden", principal: "user:ann" });
    await ask(question, owner);
  });

  test("what is one's own may be named", async () => {
    const own = { principal: "user:ann", roles: [], environment: "production", project: "shop", agent: "buyer" };
    expect(outcome(await ask(own))).toBe("deny: Finance only");
  });

  test("somebody else comes with grants and the roles of living keys; other roles can be tried", async () => {
    const bob = await ask({ principal: "user:bob" }, owner);
    expect([outcome(bob), bob.missingPermissions]).toEqual(["allow: granted", []]);
    expect(outcome(await ask({ principal: "user:bob", roles: ["clerk"] }, owner))).toBe("deny: Finance only");
    const own = await ask({}, owner);
    expect([outcome(own), own.missingPermissions]).toEqual(["deny: Finance only", ["tool:invoke:pay"]]);
    const ghost = await ask({ principal: "user:ghost" }, owner);
    expect([outcome(ghost), ghost.missingPermissions]).toEqual(["deny: Finance only", ["tool:invoke:pay"]]);
  });

  test("a role that a grant gives is one's own", async () => {
    await office.grant("user:ann", [], { roles: ["finance"] });
    expect(outcome(await ask())).toBe("allow: granted");
    expect(outcome(await ask({ roles: ["finance"] }))).toBe("allow: granted");
  });
});

describe("tools that are not there", () => {
  test("come with near names of those that the caller may see", async () => {
    await office.tool("pax");
    const missing = {
      code: "tool_not_found",
      message: "there is no tool pai; 'signalbox tools list' shows those you may see",
    };
    await expect(ask({ tool: "pai" })).rejects.toMatchObject({
      ...missing,
      details: { tool: "pai", did_you_mean: ["pay"] },
    });
    await expect(ask({ tool: "pai" }, by({ name: "user:eve" }))).rejects.toMatchObject({
      ...missing,
      details: { tool: "pai" },
    });
    await expect(ask({ version: "7.0.0" })).rejects.toMatchObject({
      code: "tool_not_found",
      details: { versions: ["1.0.0"] },
    });
    await expect(ask({ version: "new" })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(ask({}, by({ tenant: "umbrella" }))).rejects.toMatchObject({ code: "tool_not_found" });
  });

  test("an input over the limit is refused", async () => {
    await expect(ask({ input: { amount: 1, payee: "x".repeat(1_048_576) } })).rejects.toMatchObject({
      code: "payload_too_large",
    });
  });
});

test("tools:read is needed before anything is looked at", async () => {
  const details = { missing_scope: "tools:read" };
  await expect(ask({}, by({ scopes: new Set(["tools:invoke"]) }))).rejects.toMatchObject({
    code: "forbidden",
    details,
  });
  expect(await office.audit()).toMatchObject([{ status: "refused", details }]);
});
