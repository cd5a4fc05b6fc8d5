// Files of cases: run against what is in force and against candidates, within bounds, and without telling of others' rules.
import { afterEach, beforeEach, expect, test } from "vitest";
import { by, guard, noon, operator, paper, PolicyOffice } from "../../../../test/support/policy-office.ts";
import { setPolicyDefault } from "./policy-admin.ts";
import { testPolicies } from "./policy-questions-cases.ts";

let office: PolicyOffice;
beforeEach(async () => {
  office = await PolicyOffice.open();
  await office.tool("pay", { amount: { type: "number" }, payee: { type: "string" } });
  await office.grant("user:ann", ["tool:invoke:pay"]);
  await office.key("user:ann");
});
afterEach(() => office.close());

const input = { amount: 1_500, payee: "ACME" };
const cases = (...all: object[]) => ({ cases: all });
const large = {
  name: "large",
  call: { tool: "pay", args: input },
  expect: { decision: "require_approval", rules: ["payments-need-a-person"] },
};
const run = (document: unknown, candidates: readonly unknown[] = [], asked = by()) =>
  testPolicies(office.ports, asked, document, candidates);

test("run against what is in force, each by the default of its project", async () => {
  await office.publish(guard);
  const small = {
    name: "small",
    call: { tool: "pay", args: { amount: 1, payee: "A" } },
    expect: { decision: "allow" },
  };
  const lab = {
    name: "lab",
    call: { tool: "pay", project: "lab", args: { amount: 1, payee: "A" } },
    expect: { decision: "allow" },
  };
  await setPolicyDefault(office.ports, by({ scopes: new Set(["*"]), project: "lab" }), "lab", "deny");
  const results = await run(cases(large, small, lab));
  expect(results.map(({ name, passed, failures }) => [name, passed, failures])).toEqual([
    ["large", true, []],
    ["small", true, []],
    ["lab", false, ["decision is deny, not allow"]],
  ]);
  expect(results[2]?.explanation[0]).toBe("The call would be denied: no policy of the project allows this");
});

test("candidates stand over what is in force, and are gone afterwards", async () => {
  expect((await run(cases(large)))[0]).toMatchObject({
    passed: false,
    failures: ["decision is allow, not require_approval", "payments-need-a-person does not match"],
  });
  expect((await run(cases(large), [paper(guard)]))[0]?.passed).toBe(true);
  await office.publish(guard);
  const laxer = paper({ ...guard, version: "0.9.0", spec: { ...guard.spec, when: "args.amount > 9000.0" } });
  expect((await run(cases(large), [laxer]))[0]?.failures).toEqual([
    "decision is allow, not require_approval",
    "payments-need-a-person does not match",
  ]);
  expect((await run(cases(large)))[0]?.passed).toBe(true);
  expect((await office.ledger.policies()).map(({ version }) => version)).toEqual(["1.0.0"]);
});

test("arguments have the types of the tool's schema", async () => {
  await office.tool("ship", { parcels: { type: "integer" } });
  const odd = paper({ spec: { match: { tools: ["ship"] }, when: "args.parcels % 2 == 1" } });
  const one = {
    name: "odd",
    call: { tool: "ship", args: { parcels: 3 } },
    expect: { decision: "deny", rules: ["rule"] },
  };
  expect(await run(cases(one), [odd])).toEqual([{ name: "odd", passed: true, failures: [], explanation: [] }]);
});

test("time is the runtime's where a case does not say", async () => {
  const nights = paper({ spec: { match: { tools: ["pay"] }, when: "now.getHours() < 6" } });
  const at = (name: string, now: string | undefined, decision: string) => ({
    name,
    call: { tool: "pay", ...(now === undefined ? {} : { now }) },
    expect: { decision },
  });
  const all = [at("now", undefined, "allow"), at("night", "2026-03-02T05:00:00Z", "deny")];
  expect((await run(cases(...all), [nights])).map(({ passed }) => passed)).toEqual([true, true]);
});

test.each<[string, unknown, unknown[], string]>([
  ["a file that is none", { case: [] }, [], "case"],
  [
    "an unknown decision",
    cases({ name: "a", call: { tool: "pay" }, expect: { decision: "denied" } }),
    [],
    "cases[0].expect.decision",
  ],
  [
    "another tenant",
    cases({ name: "a", call: { tool: "pay", tenant: "umbrella" }, expect: { decision: "deny" } }),
    [],
    "cases[0].call.tenant",
  ],
  ["a candidate with a mistake", cases(), [paper(), paper({ spec: { mode: "observed" } })], "policies[1].spec.mode"],
  ["a candidate that is none", cases(), ["rule"], "policies[0]"],
  ["a candidate of the platform", cases(), [paper({ level: "platform" })], "policies[0].metadata.level"],
  ["more candidates than one may try", cases(), Array.from({ length: 101 }, () => paper()), "policies"],
])("%s is refused by its path", async (_, document, candidates, path) => {
  await expect(run(document, candidates)).rejects.toMatchObject({
    code: "invalid_input",
    details: { problems: expect.arrayContaining([expect.objectContaining({ path })]) as unknown },
  });
});

test("nobody learns of another tenant's rules; the platform tries calls of tenants against its own alone", async () => {
  await office.publish(
    { name: "secret-rule", spec: { match: { tools: ["pay"] } } },
    by({ tenant: "umbrella", scopes: new Set(["*"]) }),
  );
  await office.publish(
    { name: "no-shell", level: "platform", spec: { match: { tools: ["shell"] }, when: "tenant == 'umbrella'" } },
    operator,
  );
  const call = (tool: string, decision: string) => ({
    name: tool,
    call: { tool, tenant: "umbrella" },
    expect: { decision },
  });
  const results = await run(cases(call("pay", "allow"), call("shell", "deny")), [], operator);
  expect(results.map(({ passed }) => passed)).toEqual([true, true]);
});

test("while the policies cannot be read nothing is tried", async () => {
  await office.ports.policies.load({ tenants: () => Promise.reject(new Error("disk I/O error")) } as never);
  await expect(run(cases(large))).rejects.toMatchObject({ code: "ledger_unavailable" });
});

test("others get their turn between cases, and a file that takes too long is not gone on with", async () => {
  let time = 0;
  const yields: number[] = [];
  const slow = {
    now: () => noon,
    // Every look at the clock takes 3 ms.
    monotonic: () => (time += 3),
    after: (ms: number, ring: () => void) => {
      yields.push(ms);
      queueMicrotask(ring);
      return () => undefined;
    },
  };
  const many = Array.from({ length: 1_000 }, (_, index) => ({ ...large, name: `case ${index}` }));
  const ports = { ...office.ports, clock: slow };
  await expect(testPolicies(ports, by(), cases(...many), [])).rejects.toMatchObject({
    code: "invalid_input",
    details: { limit_ms: 10_000 },
  });
  expect(yields.length).toBeGreaterThan(100);
  expect(new Set(yields)).toEqual(new Set([0]));
});

test("tools:read is needed before anything is looked at", async () => {
  const details = { missing_scope: "tools:read" };
  await expect(run({}, [], by({ scopes: new Set(["tools:invoke"]) }))).rejects.toMatchObject({
    code: "forbidden",
    details,
  });
  expect(await office.audit()).toMatchObject([{ status: "refused", details }]);
});
