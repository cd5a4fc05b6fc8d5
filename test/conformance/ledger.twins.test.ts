// SQLite and PostgreSQL told the same, in batches of any size, have the same: outcomes, rows, events, attempts, usage and audit.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { Ledger, Unit, Write } from "../../packages/runtime/src/ledger/port.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { admitUnit, appendEvents, dayStart, sampleAttempt, sampleAudit, sampleCall, sampleLateResult, sampleUsage, settleUnit } from "./ledger-rows.ts";

const ids = ["c0", "c1", "c2", "c3"] as const;
const large: Partial<Call> = { outputJson: JSON.stringify("é".repeat(140_000)), outputHash: "b1".repeat(32), outputBytes: 280_002 };

/** What a call may be told; each fits some states of it, and is refused or an error in the others. */
const tellings = {
  admit: (call) => admitUnit(call),
  admitByKey: (call) => admitUnit({ ...call, idempotencyKey: "k" }),
  queue: (call) => ({ writes: [{ op: "insert_call", row: { ...call, state: "queued", replica: null, fence: 0 } }] }),
  start: (call) => update(call, 3, { state: "running", startedAt: dayStart + 1, eventSeq: 4 }, appendEvents(call, 4, "started")),
  settle: (call) => settleUnit(call),
  settleLarge: (call) => settleUnit(call, large),
  settleAsAnother: (call) => withReplica(settleUnit(call), "replica-2"),
  settleAsItself: (call) => withReplica(settleUnit(call), "replica-1"),
  end: (call) => ({ writes: [{ op: "end_attempt", row: sampleAttempt(call, { endedAt: dayStart + 5, endReason: "nack" }) }] }),
  endTwice: (call) => {
    const end: Write = { op: "end_attempt", row: sampleAttempt(call, { fence: 7, endReason: "nack" }) };
    return { writes: [{ op: "append_audit", draft: sampleAudit(call) }, end, end] };
  },
  requeue: (call) =>
    update(call, 3, { state: "queued", fence: 2, eventSeq: 4 }, [
      { op: "end_attempt", row: sampleAttempt(call, { endedAt: dayStart + 5, endReason: "lease_expired" }) },
      ...appendEvents(call, 4, "retried"),
      { op: "append_audit", draft: sampleAudit(call, { status: "lease_expired" }) },
    ]),
  progress: (call) => ({ writes: appendEvents(call, 4, "progress") }),
  late: (call) => ({ writes: [{ op: "keep_late_result", row: sampleLateResult(call) }] }),
  renew: (call) => ({ writes: [{ op: "renew_leases", leases: [{ tenant: "acme", callId: call.callId, fence: 1, leaseExpiresAt: dayStart + 99_000 }] }] }),
  say: (call) => ({ writes: [{ op: "append_stream", chunk: { tenant: "acme", callId: call.callId, seqFrom: 1, seqTo: 1, events: [] }, dropBefore: 0 }] }),
  use: () => ({ writes: [{ op: "add_usage", row: sampleUsage() }] }),
  two: (call) => ({ writes: [...admitUnit(call).writes.slice(0, 1), { op: "insert_call", row: sampleCall({ callId: "c3" }) }, ...appendEvents(call, 1, "requested", "queued", "dispatched")] }),
} satisfies Readonly<Record<string, (call: Call) => Unit>>;

function update(call: Call, before: number, fields: Partial<Call>, more: readonly Write[]): Unit {
  const row = { ...call, ...fields };
  return { writes: [{ op: "update_call", expect: { state: "dispatched", fence: 1 }, before: { ...call, eventSeq: before }, row }, ...more] };
}

function withReplica({ writes }: Unit, replica: string): Unit {
  return { writes: writes.map((write) => (write.op === "update_call" ? { ...write, expect: { ...write.expect, replica } } : write)) };
}

type Telling = { readonly name: keyof typeof tellings; readonly callId: string };

const telling: fc.Arbitrary<Telling> = fc.record({
  name: fc.constantFrom(...(Object.keys(tellings) as (keyof typeof tellings)[])),
  callId: fc.constantFrom(...ids),
});

async function told(ledger: Ledger, batches: readonly (readonly Telling[])[]) {
  const outcomes: unknown[] = [];
  for (const batch of batches) {
    const settled = await Promise.allSettled(batch.map(({ name, callId }) => ledger.commit(tellings[name](sampleCall({ callId })))));
    outcomes.push(...settled.map((one) => (one.status === "fulfilled" ? one.value : "an error")));
  }
  const calls = await Promise.all(
    ids.map(async (callId) => ({
      call: await ledger.getCall("acme", callId),
      events: await ledger.events("acme", callId, 0, 100),
      attempts: await ledger.attempts("acme", callId),
      late: await ledger.lateResults("acme", callId),
      stream: await ledger.streamChunks("acme", callId, 0, 10),
    })),
  );
  const audit = (await ledger.listAudit({ tenant: "acme" }, 100)).items.map(({ lane: _lane, hash, prevHash, ...record }) => ({ ...record, hash, prevHash }));
  const outbox = (await ledger.outbox(0, 100)).map(({ id: _id, ...row }) => row);
  return { outcomes, calls, audit, outbox, usage: await ledger.usage({ tenant: "acme", groupBy: [] }, 10), intact: (await ledger.verifyAudit()).ok };
}

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "two ledgers that are told the same", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  test(
    "have the same",
    () =>
      fc.assert(
        fc.asyncProperty(fc.array(fc.array(telling, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }), async (batches) => {
          const [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-twins-"))];
          const lane = "r1";
          const sqlite = new SqliteLedger({ path: join(folder, "ledger.db"), auditKey, lane, now: Date.now });
          const anchorPath = join(folder, "pg.anchor");
          const postgres = await PostgresLedger.open({ url: server.url(database), auditKey, lane, anchorPath, now: Date.now, keepTags: true });
          try {
            expect(await told(postgres, batches)).toEqual(await told(sqlite, batches));
          } finally {
            await Promise.all([sqlite.close(), postgres.close()]);
            await server.dropDatabase(database);
            await rm(folder, { recursive: true });
          }
        }),
        { numRuns: 60 },
      ),
    120_000,
  );
});
