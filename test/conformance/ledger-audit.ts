// Conformance: every tenant's audit is a chain without holes, listed newest first, and it verifies.
import { expect } from "vitest";
import type { AuditDraft } from "../../packages/runtime/src/ledger/audit.ts";
import type { Ledger } from "../../packages/runtime/src/ledger/port.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { admitUnit, dayStart, sampleAttempt, sampleAudit, sampleCall, settleUnit } from "./ledger-rows.ts";

const call = sampleCall({ callId: "c1" });
const good = (records: number, lanes: number) => ({ ok: true, records, lanes, problems: [] });

async function append(ledger: Ledger, ...drafts: Partial<AuditDraft>[]): Promise<void> {
  await ledger.commit({ writes: drafts.map((draft) => ({ op: "append_audit", draft: sampleAudit(call, draft) })) });
}

async function oldestFirst(ledger: Ledger, tenant: string) {
  const { items } = await ledger.listAudit({ tenant }, 100);
  return items.toReversed();
}

export function auditCases(ledgerCase: LedgerCase): void {
  ledgerCase("a record comes back with everything its draft said", async ({ ledger }) => {
    const draft: Required<AuditDraft> = {
      ts: dayStart,
      tenant: "acme",
      project: "shop",
      principal: "agent:helper",
      onBehalfOf: "user:ada",
      action: "call.settled",
      tool: "orders.find",
      version: "1.2.0",
      manifestDigest: "3f".repeat(32),
      executionId: "c1",
      callId: "c1",
      attempt: 2,
      inputHash: "1b".repeat(32),
      outputHash: "2b".repeat(32),
      status: "failed",
      errorCode: "tool_error",
      sandbox: "native",
      worker: "worker-a",
      egress: ["api.example.com:443"],
      secretsUsed: [],
      policy: { decision: "allow", ids: ["reads", "house"] },
      approval: { by: ["user:bob"], at: dayStart + 1 },
      cache: "miss",
      durationMs: 12.75,
      resources: { cpuMs: 3, peakMemoryBytes: 1_048_576 },
      requestId: "req_1",
      traceId: "0af7651916cd43dd8448eb211c80319c",
      details: { reason: "é \u{1f600}", nested: { b: [1, null, true], a: "x" } },
    };
    await ledger.commit({ writes: [{ op: "append_audit", draft }] });
    const [record] = await oldestFirst(ledger, "acme");
    expect(record).toMatchObject(draft);
    expect(record).toMatchObject({
      seq: 1,
      prevHash: "0".repeat(64),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(await ledger.verifyAudit()).toEqual(good(1, 1));
  });

  ledgerCase("facts that a draft does not have are absent, not null", async ({ ledger }) => {
    const draft = { ts: dayStart, tenant: "acme", project: "", principal: "user:ada", action: "key.created" };
    await ledger.commit({ writes: [{ op: "append_audit", draft }] });
    const [record] = await oldestFirst(ledger, "acme");
    expect(Object.keys(record ?? {}).sort()).toEqual([
      "action",
      "hash",
      "lane",
      "prevHash",
      "principal",
      "project",
      "seq",
      "tenant",
      "ts",
    ]);
  });

  ledgerCase(
    "each tenant has its own chain, gap-free, also when units were refused or faulty between",
    async ({ ledger }) => {
      const commits = ["c1", "c2", "c3", "c4"].flatMap((callId, at) => {
        const each = sampleCall({ callId, tenant: at % 2 === 0 ? "acme" : "globex", admittedAt: dayStart + at });
        const faulty = {
          writes: [
            { op: "append_audit", draft: sampleAudit(each) } as const,
            { op: "end_attempt", row: sampleAttempt(each, { fence: 9, endReason: "nack" }) } as const,
            { op: "end_attempt", row: sampleAttempt(each, { fence: 9, endReason: "nack" }) } as const,
          ],
        };
        return [
          ledger.commit(admitUnit(each)),
          ledger.commit(settleUnit(each)),
          ledger.commit(settleUnit(each)),
          ledger.commit(faulty),
        ];
      });
      const settled = await Promise.allSettled(commits);
      expect(settled.filter((result) => result.status === "rejected")).toHaveLength(4);
      for (const tenant of ["acme", "globex"]) {
        const records = await oldestFirst(ledger, tenant);
        expect(records.map((record) => record.seq)).toEqual([1, 2]);
        expect(records[0]?.prevHash).toBe("0".repeat(64));
        expect(records[1]?.prevHash).toBe(records[0]?.hash);
        expect(new Set(records.map((record) => record.lane)).size).toBe(1);
      }
      expect(await ledger.verifyAudit()).toEqual(good(4, 2));
      expect(await ledger.verifyAudit("globex")).toEqual(good(2, 1));
      expect(await ledger.verifyAudit("nobody")).toEqual(good(0, 0));
    },
  );

  ledgerCase("the chain goes on after reopening", async ({ ledger, reopen }) => {
    await append(ledger, {}, { ts: dayStart + 10 });
    const again = await reopen();
    await append(again, { ts: dayStart + 20 });
    const records = await oldestFirst(again, "acme");
    expect(records.map((record) => record.seq)).toEqual([1, 2, 3]);
    expect(records[2]?.prevHash).toBe(records[1]?.hash);
    expect(await again.verifyAudit()).toEqual(good(3, 1));
  });

  ledgerCase("records are filtered and listed newest first, page by page", async ({ ledger }) => {
    await append(
      ledger,
      { ts: dayStart + 1 },
      { ts: dayStart + 3, principal: "user:ada" },
      { ts: dayStart + 2, action: "call.denied" },
      { ts: dayStart + 4, executionId: "c9" },
      { ts: dayStart + 4, executionId: "c9", action: "call.denied" },
    );
    const tenant = "acme";
    const seqs = async (filter: object) =>
      (await ledger.listAudit({ tenant, ...filter }, 10)).items.map((record) => record.seq);
    // In the order of the chain, not of a clock that may have been set back.
    expect(await seqs({})).toEqual([5, 4, 3, 2, 1]);
    expect(await seqs({ principal: "user:ada" })).toEqual([2]);
    expect(await seqs({ action: "call.denied" })).toEqual([5, 3]);
    expect(await seqs({ executionId: "c9" })).toEqual([5, 4]);
    expect(await seqs({ from: dayStart + 2, to: dayStart + 4 })).toEqual([3, 2]);
    const walked: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await ledger.listAudit({ tenant }, 2, cursor);
      walked.push(...page.items.map((record) => record.seq));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(walked).toEqual([5, 4, 3, 2, 1]);
  });

  ledgerCase(
    "text and numbers that no database can hold neither stop a commit nor break the chain",
    async ({ ledger }) => {
      await append(ledger, {
        principal: "user:\ud800ada\u0000",
        durationMs: Number.NaN,
        resources: { cpuMs: Number.POSITIVE_INFINITY },
        details: { text: "\udfff\u0000" },
      });
      const [record] = await oldestFirst(ledger, "acme");
      expect(record?.principal).toBe("user:\ufffdada\ufffd");
      expect(record?.durationMs).toBeUndefined();
      expect(await ledger.verifyAudit()).toEqual(good(1, 1));
    },
  );

  ledgerCase("a long chain verifies", async ({ ledger }) => {
    await append(ledger, ...Array.from({ length: 1_203 }, (_, at) => ({ ts: dayStart + at })));
    expect(await ledger.verifyAudit()).toEqual(good(1_203, 1));
  });
}
