// Conformance: policies are immutable versions of which one of a name is active, and defaults can be taken back.
import { expect } from "vitest";
import type { GuardedWrite, Ledger, PolicyFilter, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { PolicyVersion, StoredPolicy } from "../../packages/runtime/src/policy/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { samplePolicy } from "./ledger-governance-rows.ts";
import { dayStart, sampleCall } from "./ledger-rows.ts";

const applied = { applied: true };
const refused = { applied: false, write: 0 };

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const publish = (ledger: Ledger, row: StoredPolicy) => commit(ledger, { op: "insert_policy", row });

function withoutDocument({ documentJson: _left, ...version }: StoredPolicy): PolicyVersion {
  return version;
}

/** `name@version status` of every version, in the order of the list. */
async function stands(ledger: Ledger, filter: PolicyFilter = { tenant: "acme" }): Promise<string[]> {
  const { items } = await ledger.listPolicies(filter, 100);
  return items.map(({ name, version, status }) => `${name}@${version} ${status}`);
}

const demanding: StoredPolicy = samplePolicy({
  name: "payments-need-a-person",
  version: "1.2.0-rc.1",
  level: "project",
  project: "shop",
  mode: "observe",
  match: {
    tools: ["payments.*", "zahlung.größe"],
    agents: ["agent:clerk"],
    principals: ["user:*"],
    environments: ["production"],
    triggers: ["dispatch.no_handler", "limit.tokens"],
  },
  when: "args.amount > 1000.0 || args.note == \"☂ 'quoted'\"",
  missing: "match",
  decision: "require_approval",
  reason: "Payments above 1000 need a person — immer",
  approval: {
    route: "finance",
    approvals: 2,
    distinctFromRequester: true,
    timeoutMs: 86_400_000,
    onTimeout: "escalate",
    onReject: "fail",
    escalateTo: "finance-lead",
    comprehension: true,
  },
  obligations: {
    limits: { timeoutMs: 5_000, cpu: 0.5, memoryBytes: 9_007_199_254_740_991 },
    sandbox: "microvm",
    egress: [],
    paths: { read: ["/data"], write: [] },
  },
  status: "superseded",
  documentJson: '{"spec":{"when":"args.amount > 1000.0","n":1.10}}',
});

function versionCases(ledgerCase: LedgerCase): void {
  ledgerCase("a policy comes back as it was, with its document on its own page alone", async ({ ledger, reopen }) => {
    const bare = samplePolicy({ name: "reads" });
    const ofPlatform = samplePolicy({ name: "reads", tenant: "platform", level: "platform", status: "withdrawn" });
    for (const row of [demanding, bare, ofPlatform]) expect(await publish(ledger, row)).toEqual(applied);
    const again = await reopen();
    expect(await again.policy("acme", "payments-need-a-person", "1.2.0-rc.1")).toEqual(demanding);
    expect(await again.policy("acme", "reads", "1.0.0")).toEqual(bare);
    expect(await again.policy("platform", "reads", "1.0.0")).toEqual(ofPlatform);
    expect(await again.policy("acme", "reads", "2.0.0")).toBeUndefined();
    expect(await again.policy("globex", "reads", "1.0.0")).toBeUndefined();
    expect(await again.policies()).toEqual([demanding, bare, ofPlatform].map(withoutDocument));
    expect((await again.listPolicies({ tenant: "acme" }, 10)).items).toEqual([demanding, bare].map(withoutDocument));
  });

  ledgerCase("a version is published once in its tenant, and the refused unit leaves nothing", async ({ ledger }) => {
    const row = samplePolicy({ name: "reads" });
    await publish(ledger, row);
    const other = samplePolicy({ name: "other" });
    const outcome = await commit(
      ledger,
      { op: "insert_policy", row: other },
      { op: "insert_policy", row: { ...row, decision: "deny", digest: "00".repeat(32) } },
      {
        op: "put_policy_default",
        row: { tenant: "acme", project: "", decision: "deny", changedAt: 1, changedBy: "u" },
      },
    );
    expect(outcome).toEqual({ applied: false, write: 1 });
    expect(await ledger.policies()).toEqual([withoutDocument(row)]);
    expect(await ledger.policyDefaults()).toEqual([]);
    expect(await publish(ledger, { ...row, tenant: "globex" })).toEqual(applied);
  });

  ledgerCase("an active version supersedes the active one of its name, in its tenant", async ({ ledger }) => {
    const version = (name: string, of: string, fields: Partial<StoredPolicy> = {}) =>
      samplePolicy({ name, version: of, publishedAt: dayStart + Number(of[0]), ...fields });
    for (const row of [
      version("reads", "1.0.0"),
      version("writes", "1.0.0"),
      version("reads", "1.0.0", { tenant: "globex" }),
      version("reads", "2.0.0"),
      version("reads", "3.0.0", { status: "superseded" }),
    ]) {
      await publish(ledger, row);
    }
    expect(await stands(ledger)).toEqual([
      "reads@3.0.0 superseded",
      "reads@2.0.0 active",
      "reads@1.0.0 superseded",
      "writes@1.0.0 active",
    ]);
    expect(await stands(ledger, { tenant: "globex" })).toEqual(["reads@1.0.0 active"]);
    // What is published again is refused, and supersedes nothing.
    expect(await publish(ledger, version("reads", "1.0.0"))).toEqual(refused);
    expect((await stands(ledger))[1]).toBe("reads@2.0.0 active");
  });

  ledgerCase(
    "a status is set on a version that is known; active supersedes, withdrawn does not",
    async ({ ledger }) => {
      for (const of of ["1.0.0", "2.0.0", "3.0.0"]) {
        await publish(ledger, samplePolicy({ name: "reads", version: of, publishedAt: dayStart + Number(of[0]) }));
      }
      await publish(ledger, samplePolicy({ name: "writes" }));
      await publish(ledger, samplePolicy({ name: "reads", version: "3.0.0", tenant: "globex" }));
      const set = (of: string, status: PolicyVersion["status"], tenant = "acme", name = "reads") =>
        commit(ledger, { op: "set_policy_status", tenant, name, version: of, status } satisfies GuardedWrite);
      expect(await set("4.0.0", "active")).toEqual(refused);
      expect(await set("1.0.0", "active", "globex")).toEqual(refused);
      expect(await set("1.0.0", "active", "acme", "deletes")).toEqual(refused);
      expect((await stands(ledger))[0]).toBe("reads@3.0.0 active");
      expect(await set("1.0.0", "withdrawn")).toEqual(applied);
      expect((await stands(ledger)).slice(0, 3)).toEqual([
        "reads@3.0.0 active",
        "reads@2.0.0 superseded",
        "reads@1.0.0 withdrawn",
      ]);
      expect(await set("2.0.0", "active")).toEqual(applied);
      expect(await stands(ledger)).toEqual([
        "reads@3.0.0 superseded",
        "reads@2.0.0 active",
        "reads@1.0.0 withdrawn",
        "writes@1.0.0 active",
      ]);
      expect(await set("2.0.0", "active")).toEqual(applied);
      expect(await set("1.0.0", "active")).toEqual(applied);
      expect((await stands(ledger)).slice(1, 3)).toEqual(["reads@2.0.0 superseded", "reads@1.0.0 active"]);
      expect(await stands(ledger, { tenant: "globex" })).toEqual(["reads@3.0.0 active"]);
    },
  );
}

function listCases(ledgerCase: LedgerCase): void {
  ledgerCase("policies are listed by name, then newest first, and filtered by each part", async ({ ledger }) => {
    for (const row of [
      samplePolicy({ name: "b", version: "1.9.0", publishedAt: dayStart + 1 }),
      samplePolicy({ name: "b", version: "1.10.0", publishedAt: dayStart + 2 }),
      samplePolicy({ name: "a", version: "1.0.0", level: "project", project: "shop" }),
      samplePolicy({ name: "c", version: "1.0.0", level: "attached", status: "withdrawn" }),
    ]) {
      await publish(ledger, row);
    }
    const tenant = "acme";
    expect(await stands(ledger)).toEqual([
      "a@1.0.0 active",
      "b@1.10.0 active",
      "b@1.9.0 superseded",
      "c@1.0.0 withdrawn",
    ]);
    expect(await stands(ledger, { tenant, name: "b" })).toEqual(["b@1.10.0 active", "b@1.9.0 superseded"]);
    expect(await stands(ledger, { tenant, level: "attached" })).toEqual(["c@1.0.0 withdrawn"]);
    expect(await stands(ledger, { tenant, project: "shop" })).toEqual(["a@1.0.0 active"]);
    expect(await stands(ledger, { tenant, project: "" })).toHaveLength(3);
    expect(await stands(ledger, { tenant, status: "active" })).toEqual(["a@1.0.0 active", "b@1.10.0 active"]);
    expect(await stands(ledger, { tenant, status: "active", level: "tenant" })).toEqual(["b@1.10.0 active"]);
  });

  ledgerCase("a walk over policies meets each once while others are published", async ({ ledger }) => {
    const expected: string[] = [];
    for (const name of ["a", "b", "c"]) {
      for (const minor of [1, 2, 3]) {
        const row = samplePolicy({ name, version: `1.${minor}.0`, publishedAt: dayStart + minor });
        await publish(ledger, row);
      }
      expected.push(`${name}@1.3.0`, `${name}@1.2.0`, `${name}@1.1.0`);
    }
    const met: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ledger.listPolicies({ tenant: "acme" }, 2, cursor);
      met.push(...page.items.map(({ name, version }) => `${name}@${version}`));
      cursor = page.next;
      await publish(ledger, samplePolicy({ name: "0", version: `${met.length}.0.0` }));
    } while (cursor !== undefined);
    expect(met).toEqual(expected);
    for (const wrong of ["%%%", Buffer.from('["a",1]').toString("base64url")]) {
      await expect(ledger.listPolicies({ tenant: "acme" }, 2, wrong)).rejects.toMatchObject({ code: "invalid_input" });
    }
  });
}

export function policyCases(ledgerCase: LedgerCase): void {
  versionCases(ledgerCase);
  listCases(ledgerCase);

  ledgerCase("a default is one a level, changed by the next one and taken back by null", async ({ ledger }) => {
    const row = (tenant: string, project: string, decision: "allow" | "deny" | null, changedAt: number) => ({
      tenant,
      project,
      decision,
      changedAt,
      changedBy: `user:${changedAt}`,
    });
    const put = (...of: Parameters<typeof row>) => commit(ledger, { op: "put_policy_default", row: row(...of) });
    await put("platform", "", "deny", 1);
    await put("acme", "shop", "deny", 2);
    await put("acme", "", "allow", 3);
    expect(await ledger.policyDefaults()).toEqual([
      row("acme", "", "allow", 3),
      row("acme", "shop", "deny", 2),
      row("platform", "", "deny", 1),
    ]);
    await put("acme", "shop", "allow", 4);
    await put("acme", "", null, 5);
    await put("acme", "", null, 6);
    expect(await ledger.policyDefaults()).toEqual([row("acme", "shop", "allow", 4), row("platform", "", "deny", 1)]);
  });

  ledgerCase("what a call was decided by and who edited it stay with its row", async ({ ledger, reopen }) => {
    const decision = {
      ...sampleCall({ callId: "c1" }).decision,
      obligations: { limits: { timeoutMs: 5_000 }, egress: [], sandbox: "microvm" },
    };
    const row = sampleCall({ callId: "c1", state: "awaiting_approval", approvalId: "apr_1", decision });
    await commit(ledger, { op: "insert_call", row });
    const edited = { ...row, effectiveArgsJson: '{"amount":5.00}', argsEditedBy: "user:zoë", state: "queued" as const };
    const expected = { state: "awaiting_approval", fence: 1 } as const;
    expect(await commit(ledger, { op: "update_call", expect: expected, before: row, row: edited })).toEqual(applied);
    const again = await reopen();
    expect(await again.getCall("acme", "c1")).toEqual(edited);
    expect((await again.listCalls({ tenant: "acme" }, 1)).items[0]?.argsEditedBy).toBe("user:zoë");
  });
}
