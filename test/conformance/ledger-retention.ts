// Conformance of retention: what is old and over goes with all that belongs to it, and nothing else does.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { approved, sampleApproval, sampleNotice, sampleVote, sampleWebhook } from "./ledger-governance-rows.ts";
import { admitUnit, dayStart, sampleCall, sampleLateResult, sampleToolVersion, settleUnit } from "./ledger-rows.ts";

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;

async function settled(
  ledger: Ledger,
  callId: string,
  at: number,
  fields: Parameters<typeof settleUnit>[1] & { tenant?: string; idempotencyKey?: string | null } = {},
): Promise<void> {
  const { tenant = "acme", idempotencyKey = null, ...end } = fields;
  const call = sampleCall({ callId, tenant, idempotencyKey, admittedAt: at - 10 });
  await ledger.commit(admitUnit(call));
  await ledger.commit(settleUnit(call, { settledAt: at, ...end }));
}

const left = async (ledger: Ledger, tenant = "acme"): Promise<string[]> =>
  (await ledger.listCalls({ tenant }, 100)).items.map(({ callId }) => callId).toSorted();

export function retentionCases(ledgerCase: LedgerCase): void {
  ledgerCase(
    "calls that settled before the instant go, oldest first and no more than asked for; others stay",
    async ({ ledger }) => {
      for (const [callId, at] of [
        ["c3", 3_000],
        ["c1", 1_000],
        ["c4", 4_000],
        ["c2", 2_000],
      ] as const)
        await settled(ledger, callId, dayStart + at);
      await settled(ledger, "theirs", dayStart + 1_000, { tenant: "globex" });
      expect(await ledger.trim("acme", dayStart + 4_000, 2)).toEqual({ calls: 2, sessions: 0, deliveries: 0, more: true });
      expect(await left(ledger)).toEqual(["c3", "c4"]);
      expect(await ledger.trim("acme", dayStart + 4_000, 2)).toEqual({ calls: 1, sessions: 0, deliveries: 0, more: false });
      expect([await left(ledger), await left(ledger, "globex")]).toEqual([["c4"], ["theirs"]]);
    },
  );

  ledgerCase(
    "an open call stays, however old, and so does one that was admitted long ago and has just ended",
    async ({ ledger }) => {
      await ledger.commit(admitUnit(sampleCall({ callId: "open", admittedAt: dayStart, idempotencyKey: null })));
      const late = sampleCall({ callId: "late", admittedAt: dayStart, idempotencyKey: null });
      await ledger.commit(admitUnit(late));
      await ledger.commit(settleUnit(late, { settledAt: dayStart + 9_000 }));
      expect((await ledger.trim("acme", dayStart + 5_000, 10)).calls).toBe(0);
      expect(await left(ledger)).toEqual(["late", "open"]);
    },
  );

  ledgerCase(
    "with a call go its key, events, attempts, late results, stream, approvals and votes; its audit stays",
    async (opened) => {
      const { ledger } = opened;
      await settled(ledger, "c1", dayStart + 1_000, { idempotencyKey: "k" });
      const asked = sampleApproval({ approvalId: "apr_1", subject: { kind: "call", callId: "c1", sessionId: null } });
      await commit(ledger, { op: "insert_approval", row: asked });
      await commit(
        ledger,
        { op: "update_approval", expect: { revision: asked.revision }, row: approved(asked) },
        { op: "store_vote", row: sampleVote({ approvalId: "apr_1", voter: "user:fay" }) },
      );
      await commit(ledger, { op: "keep_late_result", row: sampleLateResult(sampleCall({ callId: "c1" })) });
      const said = {
        tenant: "acme",
        callId: "c1",
        seqFrom: 1,
        seqTo: 1,
        events: [{ seq: 1, at: dayStart, type: "stdout" as const, dataJson: '{"text":"x"}' }],
      };
      await commit(ledger, { op: "append_stream", chunk: said, dropBefore: 0 });
      await settled(ledger, "c2", dayStart + 9_000);
      const audit = (await ledger.listAudit({ tenant: "acme" }, 100)).items.length;
      expect((await ledger.trim("acme", dayStart + 5_000, 10)).calls).toBe(1);
      const seen = async (now: Ledger) => [
        await now.getCall("acme", "c1"),
        await now.getCallByKey("acme", "shop", "k"),
        (await now.events("acme", "c1", 0, 10)).length,
        (await now.attempts("acme", "c1")).length,
        (await now.lateResults("acme", "c1")).length,
        (await now.streamChunks("acme", "c1", 0, 10)).length,
        await now.approval("acme", "apr_1"),
      ];
      expect(await seen(ledger)).toEqual([undefined, undefined, 0, 0, 0, 0, undefined]);
      expect((await ledger.events("acme", "c2", 0, 10)).length).toBe(5);
      expect((await ledger.listAudit({ tenant: "acme" }, 100)).items).toHaveLength(audit);
      const again = await opened.reopen();
      expect(await seen(again)).toEqual([undefined, undefined, 0, 0, 0, 0, undefined]);
      expect(await again.verifyAudit()).toMatchObject({ ok: true });
      // The key is free: the same one names a new call.
      expect(await again.commit(admitUnit(sampleCall({ callId: "c3", idempotencyKey: "k" })))).toEqual({
        applied: true,
      });
    },
  );

  ledgerCase(
    "events that are written after everything else has gone are numbered on, and are found",
    async (opened) => {
      const { ledger } = opened;
      await settled(ledger, "c1", dayStart + 1_000);
      const before = (await ledger.outbox(0, 10)).at(-1)?.id ?? 0;
      await ledger.trim("acme", dayStart + 5_000, 10);
      const again = await opened.reopen();
      await settled(again, "c2", dayStart + 6_000);
      expect((await again.outbox(before, 10)).map(({ callId }) => callId)).toEqual(["c2", "c2"]);
      expect((await again.events("acme", "c2", 0, 10)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    },
  );

  ledgerCase("a large result goes with the last call that has it", async ({ ledger }) => {
    const outputJson = JSON.stringify("x".repeat(300 * 1024));
    const large = { outputJson, outputBytes: outputJson.length, outputHash: "ab".repeat(32) };
    await settled(ledger, "c1", dayStart + 1_000, large);
    await settled(ledger, "c2", dayStart + 6_000, large);
    await ledger.trim("acme", dayStart + 5_000, 10);
    expect((await ledger.getCall("acme", "c2"))?.outputJson).toBe(outputJson);
    await ledger.trim("acme", dayStart + 9_000, 10);
    // Nobody can read it any more: a row that only names it comes back without it.
    const named = sampleCall({ callId: "c3", idempotencyKey: null });
    await ledger.commit(admitUnit(named));
    await ledger.commit(settleUnit(named, { ...large, outputJson: null }));
    expect((await ledger.getCall("acme", "c3"))?.outputJson).toBeNull();
  });

  ledgerCase("deliveries that are over go with their notice; one that is pending keeps both", async ({ ledger }) => {
    await commit(ledger, { op: "insert_webhook", row: sampleWebhook({ webhookId: "wh_1" }) });
    for (const at of [1_000, 2_000, 3_000])
      await commit(ledger, { op: "append_notice", notice: sampleNotice({ at: dayStart + at }) });
    const [newest, second, oldest] = (await ledger.listDeliveries("acme", {}, 10)).items;
    if (newest === undefined || second === undefined || oldest === undefined)
      throw new Error("three deliveries were made");
    await commit(ledger, {
      op: "put_delivery",
      row: { ...oldest, state: "delivered", attempts: 1, nextAt: null, endedAt: dayStart + 1_500, lastStatus: 200 },
    });
    await commit(ledger, {
      op: "put_delivery",
      row: { ...newest, state: "delivered", attempts: 1, nextAt: null, endedAt: dayStart + 3_500, lastStatus: 200 },
    });
    expect(await ledger.trim("acme", dayStart + 2_500, 10)).toEqual({ calls: 0, sessions: 0, deliveries: 1, more: false });
    expect((await ledger.listDeliveries("acme", {}, 10)).items.map(({ deliveryId }) => deliveryId)).toEqual([
      newest.deliveryId,
      second.deliveryId,
    ]);
  });

  ledgerCase(
    "content is wanted by workspaces, open calls and versions of the tenant, and by nothing that has ended",
    async ({ ledger }) => {
      const files = (letter: string): string => JSON.stringify([{ path: "a", digest: digest(letter), bytes: 1 }]);
      await ledger.commit(admitUnit(sampleCall({ callId: "open", filesJson: files("1"), idempotencyKey: null })));
      const over = sampleCall({ callId: "over", filesJson: files("2"), idempotencyKey: null });
      await ledger.commit(admitUnit(over));
      await ledger.commit(settleUnit(over));
      const row = {
        tenant: "acme",
        project: "shop",
        path: "x",
        digest: digest("3"),
        bytes: 1,
        updatedAt: dayStart,
        callId: "c",
      };
      await commit(
        ledger,
        { op: "put_workspace_file", row, filesMax: 10 },
        { op: "insert_tool_version", row: sampleToolVersion("1.0.0", { packageDigest: digest("4") }), activate: true },
      );
      expect(await ledger.wantedContent("acme")).toEqual({
        files: new Set([digest("1"), digest("3")]),
        packages: new Set([digest("4")]),
      });
      expect(await ledger.wantedContent("globex")).toEqual({ files: new Set(), packages: new Set() });
    },
  );
}
