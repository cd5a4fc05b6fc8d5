// The set of policies: who is found for a call, what replaces what, and that nobody else is looked at.
import fc from "fast-check";
import { expect, test } from "vitest";
import { policySubject, policyVersion } from "../../../../test/support/policies.ts";
import { readPatterns, patternMatches } from "./pattern.ts";
import { createPolicySet, type PolicySet } from "./set.ts";
import type { PolicyVersion, Subject } from "./types.ts";

const names = (set: PolicySet, subject: Subject): string[] =>
  set.applicable(subject).rules.map(({ policy }) => `${policy.name}@${policy.version}`);

test("levels apply to whom they are for, from the platform down", () => {
  const set = createPolicySet([
    policyVersion({ name: "p3", level: "project", project: "shop" }),
    policyVersion({ name: "other-project", level: "project", project: "bank" }),
    policyVersion({ name: "t2" }),
    policyVersion({ name: "other-tenant", tenant: "umbrella" }),
    policyVersion({ name: "p1", tenant: "platform", level: "platform" }),
    policyVersion({ name: "loose", level: "attached" }),
    // A row that claims a level that is not its tenant's binds its own tenant alone.
    policyVersion({ name: "usurper", tenant: "umbrella", level: "platform" }),
  ]);
  expect(names(set, policySubject())).toEqual(["p1@1.0.0", "t2@1.0.0", "p3@1.0.0"]);
  expect(names(set, policySubject({ tenant: "umbrella" }))).toEqual([
    "p1@1.0.0",
    "usurper@1.0.0",
    "other-tenant@1.0.0",
  ]);
});

test("match: every list that is not empty must take the subject", () => {
  const set = createPolicySet([
    policyVersion({ name: "exact", match: { tools: ["payments.charge"] } }),
    policyVersion({ name: "open", match: { tools: ["payments.*", "payments.charge", "*"] } }),
    policyVersion({ name: "elsewhere", match: { tools: ["mail.*"] } }),
    policyVersion({ name: "staging", match: { environments: ["staging"] } }),
    policyVersion({ name: "users", match: { principals: ["user:*"], environments: ["production"] } }),
    policyVersion({ name: "agents", match: { agents: ["*"] } }),
    policyVersion({ name: "trigger", match: { triggers: ["dispatch.no_handler"] } }),
  ]);
  expect(names(set, policySubject())).toEqual(["exact@1.0.0", "open@1.0.0", "users@1.0.0"]);
  expect(names(set, policySubject({ agent: "biller" }))).toEqual([
    "agents@1.0.0",
    "exact@1.0.0",
    "open@1.0.0",
    "users@1.0.0",
  ]);
  expect(names(set, policySubject({ trigger: "dispatch.no_handler" }))).toEqual(["trigger@1.0.0"]);
  expect(names(set, policySubject({ trigger: "limit.steps" }))).toEqual([]);
});

test("a list that cannot be read takes nobody, rather than everybody", () => {
  const set = createPolicySet([policyVersion({ match: { tools: ["pay*"] } })]);
  expect(names(set, policySubject())).toEqual([]);
});

test("attached rules apply where they are named, by the version that is named; a reference to nothing is told", () => {
  const set = createPolicySet([
    policyVersion({ name: "two", version: "1.0.0", level: "attached", status: "superseded" }),
    policyVersion({ name: "two", version: "2.0.0", level: "attached" }),
    policyVersion({ name: "gone", level: "attached", status: "withdrawn" }),
    policyVersion({ name: "mail-only", level: "attached", match: { tools: ["mail.*"] } }),
    policyVersion({ name: "shared", tenant: "platform", level: "attached" }),
  ]);
  const attached = (...references: string[]) => references.map((reference) => ({ tenant: "acme", reference }));
  expect(names(set, policySubject({ attached: attached("two") }))).toEqual(["two@2.0.0"]);
  expect(names(set, policySubject({ attached: attached("two@1.0.0", "two@1.0.0") }))).toEqual(["two@1.0.0"]);
  expect(names(set, policySubject({ attached: attached("mail-only") }))).toEqual([]);
  expect(names(set, policySubject({ attached: [{ tenant: "platform", reference: "shared" }] }))).toEqual([
    "shared@1.0.0",
  ]);
  const lost = attached("gone", "gone@1.0.0", "two@3.0.0", "shared", "nothing");
  expect(set.applicable(policySubject({ attached: lost }))).toEqual({ rules: [], unresolved: lost });
});

test("a new version takes the place of the old one; the old set does not change", () => {
  const first = createPolicySet([policyVersion({ version: "1.0.0" })]);
  const second = first.with(policyVersion({ version: "1.1.0" }));
  expect(names(first, policySubject())).toEqual(["rule@1.0.0"]);
  expect(names(second, policySubject())).toEqual(["rule@1.1.0"]);
  expect([...second.versions()].map(({ version, status }) => [version, status])).toEqual([
    ["1.0.0", "superseded"],
    ["1.1.0", "active"],
  ]);
  expect(second.find({ tenant: "acme", reference: "rule" })?.version).toBe("1.1.0");
  expect(second.find({ tenant: "acme", reference: "rule@1.0.0" })?.version).toBe("1.0.0");
  const withdrawn = second.with(policyVersion({ version: "1.1.0", status: "withdrawn" }));
  // The version before it does not come back into force by itself.
  expect(names(withdrawn, policySubject())).toEqual([]);
  expect(names(second.without("acme", "rule", "1.1.0"), policySubject())).toEqual([]);
  expect(second.without("acme", "rule").size).toBe(0);
  expect(second.without("acme", "another").size).toBe(2);
});

test("of rows that contradict each other the last one holds", () => {
  const twice = createPolicySet([policyVersion({ version: "1.0.0" }), policyVersion({ version: "2.0.0" })]);
  expect(names(twice, policySubject())).toEqual(["rule@2.0.0"]);
  const undone = createPolicySet([policyVersion(), policyVersion({ status: "withdrawn" })]);
  expect(names(undone, policySubject())).toEqual([]);
  const again = createPolicySet([policyVersion({ reason: "old" }), policyVersion({ reason: "new" })]);
  expect(again.applicable(policySubject()).rules.map(({ policy }) => policy.reason)).toEqual(["new"]);
});

// A model without an index: every policy is looked at.
function expected(policies: readonly PolicyVersion[], subject: Subject): string[] {
  const takes = (list: readonly string[], name: string) =>
    list.length === 0 || readPatterns(list).some((one) => patternMatches(one, name));
  return policies
    .filter(({ tenant, level, project, match, status }) => {
      const mine =
        level === "platform"
          ? tenant === "platform"
          : tenant === subject.tenant && (level === "tenant" || project === subject.project);
      return (
        status === "active" &&
        mine &&
        match.triggers.length === 0 &&
        takes(match.tools, subject.tool.name) &&
        takes(match.principals, subject.principal.name) &&
        takes(match.agents, subject.agent) &&
        (match.environments.length === 0 || match.environments.includes(subject.environment))
      );
    })
    .map(({ name }) => name)
    .sort();
}

const tools = fc.constantFrom("a", "a.b", "a.b.c", "a.c", "b", "b.c");
const some = (...texts: string[]) => fc.uniqueArray(fc.constantFrom(...texts), { maxLength: 3 });
const anyPolicy = fc.record({
  level: fc.constantFrom("platform", "tenant", "project"),
  tools: some("a", "a.b", "a.*", "a.b.*", "b.*", "*"),
  principals: some("user:x", "user:y", "user:*", "*"),
  agents: some("one", "two", "*"),
  environments: some("production", "staging"),
});

test("the index finds what a look at every policy finds, built at once or one by one, and after removals", () => {
  fc.assert(
    fc.property(
      fc.array(anyPolicy, { maxLength: 60 }),
      fc.record({
        tool: tools,
        principal: fc.constantFrom("user:x", "user:z", "svc"),
        agent: fc.constantFrom("", "one"),
        environment: fc.constantFrom("", "staging"),
      }),
      fc.array(fc.nat(59), { maxLength: 30 }),
      (given, at, gone) => {
        const policies = given.map(({ level, ...match }, index) =>
          policyVersion({
            name: `n${index}`,
            tenant: level === "platform" ? "platform" : "acme",
            level: level as PolicyVersion["level"],
            project: level === "project" ? "shop" : "",
            match,
          }),
        );
        const subject = policySubject({
          tool: { name: at.tool, version: "1.0.0", class: "read_only", labels: {} },
          principal: { name: at.principal, roles: [] },
          agent: at.agent,
          environment: at.environment,
        });
        const found = (set: PolicySet) =>
          set
            .applicable(subject)
            .rules.map(({ policy }) => policy.name)
            .sort();
        const built = createPolicySet(policies);
        const grown = policies.reduce((set, policy) => set.with(policy), createPolicySet([]));
        expect(found(built)).toEqual(expected(policies, subject));
        expect(found(grown)).toEqual(expected(policies, subject));
        const left = policies.filter((_, index) => !gone.includes(index));
        const shrunk = (from: PolicySet) =>
          gone.reduce(
            (set, index) => set.without(index % 2 === 0 ? "acme" : "platform", `n${index}`),
            gone.reduce((set, index) => set.without(index % 2 === 0 ? "platform" : "acme", `n${index}`), from),
          );
        expect(found(shrunk(built))).toEqual(expected(left, subject));
        expect(found(shrunk(grown))).toEqual(expected(left, subject));
      },
    ),
    { numRuns: 300 },
  );
});

test("a beginning is found at every length, among many", () => {
  const others = Array.from({ length: 20 }, (_, n) => policyVersion({ name: `n${n}`, match: { tools: [`t${n}.x`] } }));
  const set = createPolicySet([
    ...others,
    policyVersion({ name: "wide", match: { tools: ["a.*"] } }),
    policyVersion({ name: "narrow", match: { tools: ["a.b-*"] } }),
    policyVersion({ name: "all", match: { tools: ["*"] } }),
  ]);
  const on = (name: string) =>
    names(set, policySubject({ tool: { name, version: "1.0.0", class: "read_only", labels: {} } }));
  expect(on("a.b")).toEqual(["all@1.0.0", "wide@1.0.0"]);
  expect(on("a.b-c")).toEqual(["all@1.0.0", "narrow@1.0.0", "wide@1.0.0"]);
  expect(on("a")).toEqual(["all@1.0.0"]);
  expect(on("a.")).toEqual(["all@1.0.0"]);
});

test("rules with long lists in every dimension stay findable", () => {
  const many = (start: string) => Array.from({ length: 250 }, (_, n) => `${start}${n}`);
  const policies = Array.from({ length: 40 }, (_, n) =>
    policyVersion({ name: `n${n}`, match: { tools: many("tool."), principals: many("user:"), agents: many("agent") } }),
  );
  const subject = policySubject({
    tool: { name: "tool.249", version: "1.0.0", class: "read_only", labels: {} },
    principal: { name: "user:7", roles: [] },
    agent: "agent12",
  });
  expect(createPolicySet(policies).applicable(subject).rules).toHaveLength(40);
});
