// Conformance of the result cache: which stored call may answer a later one.
import { expect } from "vitest";
import type { LedgerCase } from "./ledger-case.ts";
import { admitUnit, sampleCall, settledCall, settleUnit } from "./ledger-rows.ts";

export function resultCases(ledgerCase: LedgerCase): void {
  ledgerCase(
    "the newest success under the key that ran itself, with its output, not before the instant asked for",
    async ({ ledger }) => {
      for (const [callId, settledAt] of [
        ["c1", 1_000],
        ["c2", 3_000],
        ["c3", 2_000],
      ] as const) {
        const call = sampleCall({ callId, cacheKey: "key", idempotencyKey: null });
        await ledger.commit(admitUnit(call));
        await ledger.commit(settleUnit(call, { settledAt, outputJson: `{"of":"${callId}"}` }));
      }
      expect(await ledger.cachedResult("acme", "key", 0)).toMatchObject({ callId: "c2", outputJson: '{"of":"c2"}' });
      expect((await ledger.cachedResult("acme", "key", 3_000))?.callId).toBe("c2");
      expect(await ledger.cachedResult("acme", "key", 3_001)).toBeUndefined();
    },
  );

  ledgerCase(
    "not another key's, another tenant's, a failure, an open call, or one that was answered by a cached result itself",
    async ({ ledger }) => {
      const add = async (callId: string, fields: object, end: object | null): Promise<void> => {
        const call = sampleCall({ callId, cacheKey: "key", idempotencyKey: null, ...fields });
        await ledger.commit(admitUnit(call));
        if (end !== null) await ledger.commit(settleUnit(call, end));
      };
      await add("other-key", { cacheKey: "key2" }, {});
      await add("no-key", { cacheKey: null }, {});
      await add("other-tenant", { tenant: "globex" }, {});
      await add("failed", {}, { state: "failed", outputJson: null, outputHash: null, outputBytes: 0 });
      await add("open", {}, null);
      await add("second-hand", {}, { cachedFrom: "c0" });
      expect(await ledger.cachedResult("acme", "key", 0)).toBeUndefined();
      expect(await ledger.cachedResult("globex", "key", 0)).toMatchObject({
        callId: "other-tenant",
        cacheKey: "key",
        cachedFrom: null,
      });
    },
  );

  ledgerCase("a large one is read back whole", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1", cacheKey: "key" });
    const outputJson = JSON.stringify("x".repeat(300 * 1024));
    await ledger.commit(admitUnit(call));
    await ledger.commit(settleUnit(call, { outputJson, outputBytes: outputJson.length }));
    expect((await ledger.cachedResult("acme", "key", 0))?.outputJson).toBe(outputJson);
    const shared = settledCall(sampleCall({ callId: "c2", cacheKey: "key" }), {
      outputJson,
      outputBytes: outputJson.length,
      cachedFrom: "c1",
      eventSeq: 0,
    });
    await ledger.commit({ writes: [{ op: "insert_call", row: shared }] });
    expect(await ledger.getCall("acme", "c2")).toEqual(shared);
  });
}
