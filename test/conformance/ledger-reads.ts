// Conformance: lists, recovery and counts, and that no read of one tenant shows another tenant's rows.
import { expect } from "vitest";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { CallFilter, Ledger, Unit } from "../../packages/runtime/src/ledger/port.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { sampleApproval, sampleNotice, samplePolicy, sampleWebhook } from "./ledger-governance-rows.ts";
import {
  admitUnit,
  dayStart,
  sampleCall,
  sampleGrant,
  sampleKey,
  sampleLateResult,
  sampleToolVersion,
  settleUnit,
} from "./ledger-rows.ts";

const insert = (row: Call): Unit => ({ writes: [{ op: "insert_call", row }] });

async function insertAll(ledger: Ledger, calls: readonly Call[]): Promise<void> {
  await Promise.all(calls.map((call) => ledger.commit(insert(call))));
}

async function listedIds(ledger: Ledger, filter: CallFilter): Promise<string[]> {
  return (await ledger.listCalls(filter, 100)).items.map((call) => call.callId);
}

async function everyOpenId(ledger: Ledger): Promise<string[]> {
  const ids: string[] = [];
  for await (const call of ledger.openCalls()) ids.push(`${call.tenant}/${call.callId}`);
  return ids;
}

function listCases(ledgerCase: LedgerCase): void {
  ledgerCase("a list is newest first and leaves inputs and outputs out", async ({ ledger }) => {
    const calls = [1, 3, 2].map((at) =>
      sampleCall({ callId: `c${at}`, admittedAt: dayStart + at, outputJson: "7", outputBytes: 1 }),
    );
    await insertAll(ledger, calls);
    const { items, next } = await ledger.listCalls({ tenant: "acme" }, 10);
    expect(items.map((call) => call.callId)).toEqual(["c3", "c2", "c1"]);
    expect(items[0]).toEqual({ ...calls[1], inputJson: null, outputJson: null });
    expect(next).toBeUndefined();
  });

  ledgerCase("a walk over 260 calls meets each once while others are inserted", async ({ ledger }) => {
    const name = (at: number): string => `c${String(at).padStart(4, "0")}`;
    // Three calls share each instant, so pages end inside such a group.
    const old = Array.from({ length: 260 }, (_, at) =>
      sampleCall({ callId: name(at), admittedAt: dayStart + Math.floor(at / 3) }),
    );
    await insertAll(ledger, old);
    const met: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await ledger.listCalls({ tenant: "acme" }, 25, cursor);
      met.push(...page.items.map((call) => call.callId));
      cursor = page.next;
      pages += 1;
      if (pages <= 5)
        await ledger.commit(insert(sampleCall({ callId: `new${pages}`, admittedAt: dayStart + 1_000 + pages })));
    } while (cursor !== undefined);
    expect(pages).toBe(11);
    expect(met).toEqual(old.map((call) => call.callId).reverse());
    expect(await listedIds(ledger, { tenant: "acme", admittedFrom: dayStart + 1_000 })).toEqual([
      "new5",
      "new4",
      "new3",
      "new2",
      "new1",
    ]);
  });

  ledgerCase("a page that ends with the list has no cursor", async ({ ledger }) => {
    await insertAll(ledger, [sampleCall({ callId: "c1" }), sampleCall({ callId: "c2" })]);
    expect((await ledger.listCalls({ tenant: "acme" }, 2)).next).toBeUndefined();
    expect((await ledger.listCalls({ tenant: "acme" }, 1)).next).toBeTypeOf("string");
  });

  ledgerCase("a list is filtered by project, tool, state, principal and time, also together", async ({ ledger }) => {
    await insertAll(ledger, [
      sampleCall({ callId: "c1", admittedAt: dayStart + 1 }),
      sampleCall({ callId: "c2", admittedAt: dayStart + 2, project: "support" }),
      sampleCall({ callId: "c3", admittedAt: dayStart + 3, tool: "orders.cancel" }),
      sampleCall({ callId: "c4", admittedAt: dayStart + 4, state: "failed" }),
      sampleCall({ callId: "c5", admittedAt: dayStart + 5, principal: "user:ada", state: "failed" }),
    ]);
    const tenant = "acme";
    expect(await listedIds(ledger, { tenant, project: "support" })).toEqual(["c2"]);
    expect(await listedIds(ledger, { tenant, tool: "orders.cancel" })).toEqual(["c3"]);
    expect(await listedIds(ledger, { tenant, state: "failed" })).toEqual(["c5", "c4"]);
    expect(await listedIds(ledger, { tenant, principal: "user:ada" })).toEqual(["c5"]);
    expect(await listedIds(ledger, { tenant, admittedFrom: dayStart + 2, admittedTo: dayStart + 4 })).toEqual([
      "c3",
      "c2",
    ]);
    expect(await listedIds(ledger, { tenant, state: "failed", principal: "service:storefront" })).toEqual(["c4"]);
    expect(await listedIds(ledger, { tenant, state: "failed", project: "support" })).toEqual([]);
  });

  ledgerCase("a text that is no cursor is refused as invalid input", async ({ ledger }) => {
    await insertAll(ledger, [sampleCall({ callId: "c1" })]);
    for (const cursor of ["", "%%%", "W10", Buffer.from('{"a":1}').toString("base64url")]) {
      await expect(ledger.listCalls({ tenant: "acme" }, 10, cursor)).rejects.toMatchObject({ code: "invalid_input" });
    }
  });
}

function isolationCases(ledgerCase: LedgerCase): void {
  ledgerCase("no read of a tenant shows anything of another one", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1", idempotencyKey: "k" });
    await ledger.commit(admitUnit(call));
    await ledger.commit(settleUnit(call));
    await ledger.commit(admitUnit(sampleCall({ callId: "c2" })));
    const changed = { tenant: "acme", changedAt: dayStart, changedBy: "user:ada" };
    await ledger.commit({
      writes: [
        {
          op: "insert_project",
          row: { tenant: "acme", project: "shop", environment: "production", createdAt: dayStart },
        },
        { op: "insert_key", row: sampleKey({ keyId: "key_1", hash: "h1" }) },
        { op: "insert_grant", row: sampleGrant({ grantId: "grant_1" }) },
        { op: "insert_tool_version", row: sampleToolVersion("1.0.0"), activate: true },
        { op: "insert_policy", row: samplePolicy({ name: "reads" }) },
        { op: "insert_approval", row: sampleApproval({ approvalId: "apr_1" }) },
        { op: "insert_webhook", row: sampleWebhook({ webhookId: "whk_1" }) },
        { op: "keep_late_result", row: sampleLateResult(call) },
        { op: "append_notice", notice: sampleNotice() },
        { op: "put_tool_pin", row: { ...changed, tool: "orders.find", requested: "1.0.0" } },
        { op: "put_project_tool", row: { ...changed, project: "shop", tool: "orders.find", enabled: false } },
      ],
    });
    const seenBy = async (tenant: string) => ({
      call: (await ledger.getCall(tenant, "c1")) !== undefined,
      callByKey: (await ledger.getCallByKey(tenant, "shop", "k")) !== undefined,
      listed: (await ledger.listCalls({ tenant }, 10)).items.length,
      attempts: (await ledger.attempts(tenant, "c1")).length,
      lateResults: (await ledger.lateResults(tenant, "c1")).length,
      events: (await ledger.events(tenant, "c1", 0, 10)).length,
      open: await ledger.countOpen(tenant),
      projects: (await ledger.projects(tenant)).length,
      keys: (await ledger.keys(tenant)).length,
      grants: (await ledger.grants(tenant)).length,
      tool: (await ledger.tool(tenant, "orders.find")) !== undefined,
      version: (await ledger.toolVersion(tenant, "orders.find", "1.0.0")) !== undefined,
      versions: (await ledger.toolVersions(tenant, "orders.find")).length,
      tools: (await ledger.listTools(tenant, 10)).items.length,
      activations: (await ledger.activations(tenant, "orders.find", 10)).length,
      pins: (await ledger.toolPins(tenant)).length,
      projectTools: (await ledger.projectTools(tenant)).length,
      policy: (await ledger.policy(tenant, "reads", "1.0.0")) !== undefined,
      policies: (await ledger.listPolicies({ tenant }, 10)).items.length,
      counted: await ledger.countCalls({
        tenant,
        tool: "orders.find",
        principal: "service:storefront",
        within: { kind: "window", from: 0 },
      }),
      approval: (await ledger.approval(tenant, "apr_1")) !== undefined,
      approvals: (await ledger.listApprovals({ tenant }, 10)).items.length,
      webhooks: (await ledger.webhooks(tenant)).length,
      deliveries: (await ledger.listDeliveries(tenant, {}, 10)).items.length,
      audit: (await ledger.listAudit({ tenant }, 10)).items.length,
      verified: (await ledger.verifyAudit(tenant)).records,
    });
    expect(await seenBy("globex")).toEqual({
      call: false,
      callByKey: false,
      listed: 0,
      attempts: 0,
      lateResults: 0,
      events: 0,
      open: {},
      projects: 0,
      keys: 0,
      grants: 0,
      tool: false,
      version: false,
      versions: 0,
      tools: 0,
      activations: 0,
      pins: 0,
      projectTools: 0,
      policy: false,
      policies: 0,
      counted: 0,
      approval: false,
      approvals: 0,
      webhooks: 0,
      deliveries: 0,
      audit: 0,
      verified: 0,
    });
    expect(await seenBy("acme")).toEqual({
      call: true,
      callByKey: true,
      listed: 2,
      attempts: 1,
      lateResults: 1,
      events: 5,
      open: { dispatched: 1 },
      projects: 1,
      keys: 1,
      grants: 1,
      tool: true,
      version: true,
      versions: 1,
      tools: 1,
      activations: 1,
      pins: 1,
      projectTools: 1,
      policy: true,
      policies: 1,
      counted: 2,
      approval: true,
      approvals: 1,
      webhooks: 1,
      deliveries: 1,
      audit: 1,
      verified: 1,
    });
  });
}

export function readCases(ledgerCase: LedgerCase): void {
  listCases(ledgerCase);
  isolationCases(ledgerCase);

  ledgerCase(
    "open calls come whole, in queue order, of all tenants, and without the settled ones",
    async ({ ledger }) => {
      const calls = [
        sampleCall({ callId: "late", state: "queued", startTag: 2.5 }),
        sampleCall({ callId: "tie-b", state: "running", startTag: 1, admittedAt: dayStart + 2 }),
        sampleCall({ callId: "tie-a", state: "dispatched", startTag: 1, admittedAt: dayStart + 1, tenant: "globex" }),
        sampleCall({ callId: "first", state: "awaiting_approval", startTag: 0.25 }),
        sampleCall({ callId: "parked", state: "indeterminate", startTag: 9 }),
        ...(["denied", "succeeded", "failed", "timed_out", "cancelled"] as const).map((state) =>
          sampleCall({ callId: state, state, startTag: 0 }),
        ),
      ];
      await insertAll(ledger, calls);
      expect(await everyOpenId(ledger)).toEqual([
        "acme/first",
        "globex/tie-a",
        "acme/tie-b",
        "acme/late",
        "acme/parked",
      ]);
      for await (const call of ledger.openCalls()) {
        expect(call).toEqual(calls[3]);
        break;
      }
    },
  );

  ledgerCase("more than a thousand open calls, many of one tag, are all met once", async ({ ledger }) => {
    const calls = Array.from({ length: 1_050 }, (_, at) =>
      sampleCall({ callId: `c${String(at).padStart(4, "0")}`, state: "queued", startTag: Math.floor(at / 700) }),
    );
    await insertAll(ledger, calls);
    expect(await everyOpenId(ledger)).toEqual(calls.map((call) => `acme/${call.callId}`));
  });

  ledgerCase("a call leaves the open ones with the commit that settles it", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(admitUnit(call));
    expect(await everyOpenId(ledger)).toEqual(["acme/c1"]);
    await ledger.commit(settleUnit(call));
    expect(await everyOpenId(ledger)).toEqual([]);
  });

  ledgerCase("open calls are counted by state", async ({ ledger }) => {
    await insertAll(ledger, [
      sampleCall({ callId: "c1", state: "queued" }),
      sampleCall({ callId: "c2", state: "queued" }),
      sampleCall({ callId: "c3", state: "running" }),
      sampleCall({ callId: "c4", state: "succeeded" }),
      sampleCall({ callId: "c5", state: "queued", tenant: "globex" }),
    ]);
    expect(await ledger.countOpen("acme")).toEqual({ queued: 2, running: 1 });
  });
}
