// The policies in memory: nothing is allowed by a book that could not be read, and every change is told.
import { beforeEach, expect, test } from "vitest";
import { policySubject, policyVersion } from "../../../../test/support/policies.ts";
import type { PolicyDefault, PolicyVersion } from "../policy/types.ts";
import { PolicyBook, type PolicyReads } from "./policy-book.ts";
import { newTenant } from "../tenancy/tenant.ts";

const place = { changedAt: 0, changedBy: "user:own" };
const shop = { tenant: "acme", project: "shop", environment: "production", createdAt: 0 };

function reads(given: {
  readonly policies?: readonly PolicyVersion[];
  readonly defaults?: readonly PolicyDefault[];
}): PolicyReads {
  return {
    tenants: async () => [newTenant("acme", 1, 0)],
    projects: async () => [shop],
    policyDefaults: async () => given.defaults ?? [],
    policies: async () => given.policies ?? [],
  };
}

let changes = 0;
let book: PolicyBook;
beforeEach(() => {
  changes = 0;
  book = new PolicyBook(() => void changes++);
});

const rules = (): readonly string[] | string => {
  const current = book.current();
  if (!current.ok) return current.failure;
  return current.set.applicable(policySubject()).rules.map(({ policy }) => `${policy.name}@${policy.version}`);
};

test("until it is loaded there is nothing to go by", () => {
  expect(rules()).toBe("the policies have not been loaded yet");
  book.policyChanged(policyVersion());
  expect(rules()).toBe("the policies have not been loaded yet");
});

test("it holds what the ledger holds, and the changes since, each of them told", async () => {
  await book.load(
    reads({ policies: [policyVersion()], defaults: [{ tenant: "acme", project: "", decision: "deny", ...place }] }),
  );
  expect([rules(), book.environmentOf("acme", "shop"), book.defaultsFor("acme", "shop")]).toEqual([
    ["rule@1.0.0"],
    "production",
    { tenant: "deny" },
  ]);
  expect(changes).toBe(1);
  book.policyChanged(policyVersion({ version: "2.0.0" }));
  expect(rules()).toEqual(["rule@2.0.0"]);
  book.policyChanged(policyVersion({ version: "2.0.0", status: "withdrawn" }));
  expect(rules()).toEqual([]);
  book.projectChanged({ ...shop, environment: "staging" });
  expect([
    book.environmentOf("acme", "shop"),
    book.environmentOf("acme", "ship"),
    book.environmentOf("umbrella", "shop"),
  ]).toEqual(["staging", "", ""]);
  book.defaultChanged({ tenant: "acme", project: "", decision: null, ...place });
  expect(book.defaultsFor("acme", "shop")).toEqual({});
  expect(changes).toBe(5);
});

test("what is in hand stays as it was when it changes", async () => {
  await book.load(reads({ policies: [policyVersion()] }));
  const before = book.current();
  book.policyChanged(policyVersion({ status: "withdrawn" }));
  expect(before.ok && before.set.applicable(policySubject()).rules).toHaveLength(1);
});

test.each(["tenants", "projects", "policyDefaults", "policies"] as const)(
  "when %s cannot be read nothing is in force, whatever was before",
  async (which) => {
    await book.load(reads({ policies: [policyVersion({ decision: "allow" })] }));
    await book.load({ ...reads({}), [which]: () => Promise.reject(new Error("disk I/O error")) });
    expect(rules()).toBe("the policies cannot be read: disk I/O error");
    expect(changes).toBe(2);
    await book.load(reads({ policies: [policyVersion()] }));
    expect(rules()).toEqual(["rule@1.0.0"]);
  },
);

test("while it is read anew the old defaults hold, and what is gone since is gone", async () => {
  await book.load(reads({ defaults: [{ tenant: "acme", project: "", decision: "deny", ...place }] }));
  const { promise, resolve } = Promise.withResolvers<readonly PolicyVersion[]>();
  const loading = book.load({ ...reads({}), projects: async () => [], policies: () => promise });
  await new Promise((done) => void setImmediate(done));
  expect([book.defaultsFor("acme", "shop"), book.environmentOf("acme", "shop")]).toEqual([
    { tenant: "deny" },
    "production",
  ]);
  resolve([]);
  await loading;
  expect([book.defaultsFor("acme", "shop"), book.environmentOf("acme", "shop")]).toEqual([{}, ""]);
});

test("defaults bind the place that they are of, and the platform's bind all", async () => {
  const of = (tenant: string, project: string, decision: "allow" | "deny"): PolicyDefault => ({
    tenant,
    project,
    decision,
    ...place,
  });
  await book.load(
    reads({
      defaults: [
        of("platform", "", "allow"),
        of("acme", "", "deny"),
        of("acme", "shop", "allow"),
        of("umbrella", "shop", "deny"),
      ],
    }),
  );
  expect(book.defaultsFor("acme", "shop")).toEqual({ platform: "allow", tenant: "deny", project: "allow" });
  expect(book.defaultsFor("acme", "lab")).toEqual({ platform: "allow", tenant: "deny" });
  expect(book.defaultsFor("acme", "")).toEqual({ platform: "allow", tenant: "deny" });
  expect(book.defaultsFor("umbrella", "shop")).toEqual({ platform: "allow", project: "deny" });
  expect(book.defaultsFor("platform", "")).toEqual({ platform: "allow" });
});
