// The PostgreSQL ledger while its server goes and comes: what was answered stays, what was not is found out, and the process lives on.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { PostgresLedger, type PostgresLedgerOptions } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { LedgerUnavailable, type Unit } from "../../packages/runtime/src/ledger/port.ts";
import { startPgProxy, type Loss, type PgProxy } from "../support/pg-proxy.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { admitUnit, sampleCall, settleUnit } from "./ledger-rows.ts";
import { beatOf, claimOnce, Ear, idsOf, putInLine, queuedCall } from "./shared-ledger-case.ts";

const applied = { applied: true };
const unavailable = expect.any(LedgerUnavailable) as unknown;

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "while the server goes and comes", () => {
  let server: PostgresServer;
  let database = "";
  let folder = "";
  let proxy: PgProxy;
  let opened: PostgresLedger[] = [];
  const errors: string[] = [];

  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-outages-"))];
    proxy = await startPgProxy(server.address);
    errors.length = 0;
  });
  afterEach(async () => {
    for (const ledger of opened) await ledger.close();
    opened = [];
    await proxy.close();
    await server.dropDatabase(database);
    await rm(folder, { recursive: true });
  });

  async function open(options: Partial<PostgresLedgerOptions> & { readonly address?: string } = {}): Promise<PostgresLedger> {
    const ledger = await PostgresLedger.open({
      url: server.url(database, options.address),
      auditKey,
      lane: "r1",
      anchorPath: join(folder, `${options.lane ?? "r1"}.anchor`),
      now: Date.now,
      onError: (error) => errors.push(error.message),
      ...options,
    });
    opened.push(ledger);
    return ledger;
  }

  const through = (options: Partial<PostgresLedgerOptions> = {}) => open({ address: proxy.address, ...options });

  /** Once, whole, and with its audit. */
  async function isSettledOnce(ledger: PostgresLedger, callId: string): Promise<void> {
    expect((await ledger.getCall("acme", callId))?.state).toBe("succeeded");
    expect((await ledger.events("acme", callId, 0, 100)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect((await ledger.listAudit({ tenant: "acme", executionId: callId }, 10)).items).toHaveLength(1);
    expect((await ledger.usage({ tenant: "acme", groupBy: [] }, 10)).items).toMatchObject([{ executions: 1 }]);
    expect((await ledger.verifyAudit()).problems).toEqual([]);
  }

  test.each<Loss>(["answer", "commit"])("a commit that loses its %s is found out and answered, and is there once", async (loss) => {
    const ledger = await through();
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(admitUnit(call));
    const cut = proxy.loseNext(loss);
    const settling = ledger.commit(settleUnit(call));
    await cut;
    expect(await settling).toEqual(applied);
    await isSettledOnce(ledger, "c1");
    expect(await ledger.commit(settleUnit(call))).toEqual({ applied: false, write: 0 });
  });

  test.each<Loss>(["answer", "commit"])("a commit that lost its %s and was told as unavailable is known when it is handed over again", async (loss) => {
    const ledger = await through({ doubtMsMax: 50 });
    const calls = [sampleCall({ callId: "c1" }), sampleCall({ callId: "c2", tenant: "globex" })] as const;
    for (const call of calls) await ledger.commit(admitUnit(call));
    const cut = proxy.loseNext(loss).then(() => proxy.cut());
    const [unit, other]: [Unit, Unit] = [settleUnit(calls[0]), settleUnit(calls[1])];
    const settling = Promise.allSettled([ledger.commit(unit)]);
    await cut;
    expect(await settling).toEqual([{ status: "rejected", reason: unavailable }]);
    proxy.mend();
    // Others may come in between: what is counted then must not be taken for the one that was lost.
    expect(await ledger.commit(other)).toEqual(applied);
    expect(await ledger.commit(unit)).toEqual(applied);
    await isSettledOnce(ledger, "c1");
    // The same words by somebody else are not the same unit.
    expect(await ledger.commit(settleUnit(calls[0]))).toEqual({ applied: false, write: 0 });
  });

  test("connections that break between two uses are noticed by nobody who reads, claims or commits", async () => {
    const ledger = await through();
    await ledger.beat(beatOf("r1"));
    const calls = Array.from({ length: 12 }, (_, at) => sampleCall({ callId: `c${at}` }));
    for (const [at, call] of calls.entries()) {
      await Promise.all([1, 2, 3, 4, 5, 6].map(() => ledger.getCall("acme", "c0")));
      proxy.cut();
      proxy.mend();
      const [outcome, found, claimed] = await Promise.all([ledger.commit(admitUnit(call)), ledger.getCall("acme", "none"), claimOnce(ledger)]);
      expect([at, outcome, found, claimed.calls]).toEqual([at, applied, undefined, []]);
    }
    expect((await ledger.listCalls({ tenant: "acme" }, 100)).items).toHaveLength(12);
  });

  test("what waits behind a commit that is told as unavailable is told so as well, and nothing of it is there", async () => {
    const ledger = await through({ doubtMsMax: 50 });
    const cut = proxy.loseNext("commit").then(() => proxy.cut());
    const first = ledger.commit(admitUnit(sampleCall({ callId: "c1" })));
    const later = new Promise((resolve) => setImmediate(() => resolve(ledger.commit(admitUnit(sampleCall({ callId: "c2" }))))));
    const outcomes = Promise.allSettled([first, later]);
    await cut;
    expect((await outcomes).map((outcome) => (outcome.status === "rejected" ? (outcome.reason as unknown) : outcome.value))).toEqual([unavailable, unavailable]);
    proxy.mend();
    expect(await ledger.commit(admitUnit(sampleCall({ callId: "c3" })))).toEqual(applied);
    expect((await ledger.listCalls({ tenant: "acme" }, 10)).items.map(({ callId }) => callId)).toEqual(["c3"]);
  });

  test("report 184: a server that is killed leaves the process up and not ready, and comes back by itself", async () => {
    const ledger = await open();
    const calls = Array.from({ length: 40 }, (_, at) => sampleCall({ callId: `c${at}` }));
    for (const call of calls) await ledger.commit(admitUnit(call));
    const units = calls.map((call) => settleUnit(call));
    const outcomes = units.map((unit) => ledger.commit(unit).catch((error: unknown) => error));
    const killed = server.kill();
    const told = await Promise.all(outcomes);
    await killed;
    for (const outcome of told) expect([applied, unavailable]).toContainEqual(outcome);
    await expect(ledger.probe()).rejects.toThrow(LedgerUnavailable);
    await expect(ledger.getCall("acme", "c1")).rejects.toThrow(LedgerUnavailable);
    await expect(ledger.commit(admitUnit(sampleCall({ callId: "late" })))).rejects.toThrow(LedgerUnavailable);
    await server.start();
    await ledger.probe();
    for (const unit of units.filter((_, at) => told[at] !== undefined && told[at] instanceof Error)) expect(await ledger.commit(unit)).toEqual(applied);
    for (const { callId } of calls) expect((await ledger.events("acme", callId, 0, 100)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(await ledger.verifyAudit()).toMatchObject({ ok: true, records: 40 });
  });

  test("a server that is stopped and started is used again, for claims and wake-ups too", async () => {
    const [one, two] = [await open(), await open({ lane: "r2" })];
    await one.beat(beatOf("r1"));
    const ear = new Ear(two);
    await putInLine(one, queuedCall("c1"));
    await server.stop();
    await expect(claimOnce(one)).rejects.toThrow(LedgerUnavailable);
    await server.start();
    await ear.hears(({ type }) => type === "lost");
    await vi.waitFor(async () => expect(idsOf((await claimOnce(one)).calls)).toEqual(["c1"]), { timeout: 10_000 });
    one.wake([{ type: "notices" }]);
    await ear.hears(({ type }) => type === "notices");
  });

  const terminate = (name: string) =>
    server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name LIKE '${name}%'`);

  test("report 185: connections that are ended while they rest are replaced, and nothing is thrown at the process", async () => {
    const ledger = await open();
    const ear = new Ear(ledger);
    await ledger.commit(admitUnit(sampleCall({ callId: "c1" })));
    await Promise.all([1, 2, 3, 4].map(() => ledger.getCall("acme", "c1")));
    for (let round = 0; round < 3; round += 1) {
      expect((await terminate("signalbox")).rowCount).toBeGreaterThan(1);
      expect((await ledger.getCall("acme", "c1"))?.callId).toBe("c1");
      await ledger.probe();
    }
    await vi.waitFor(async () => expect(await ledger.commit(admitUnit(sampleCall({ callId: "c2" })))).toEqual(applied));
    await ear.hears(({ type }) => type === "lost");
    expect((await ledger.verifyAudit()).problems).toEqual([]);
  });

  test("report 183: who listens has a connection of its own, and listens again when that is lost", async () => {
    const [one, two] = [await open(), await open({ lane: "r2" })];
    const ear = new Ear(two);
    const heard = async (): Promise<void> => {
      ear.heard.length = 0;
      await vi.waitFor(() => {
        one.wake([{ type: "approvals" }]);
        expect(ear.heard.map(({ type }) => type)).toContain("approvals");
      }, { timeout: 10_000 });
    };
    await heard();
    const { rows } = await server.run("SELECT application_name FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND application_name LIKE 'signalbox wakes%'");
    expect(rows).toEqual([{ application_name: "signalbox wakes r2" }]);
    await terminate("signalbox wakes r2");
    await ear.hears(({ type }) => type === "lost");
    await heard();
  });

  test("report 181: a line that is silently dead is noticed by trying it, told once, and looked past", async () => {
    const ledger = await through({ probeWakesEveryMs: 60 });
    const ear = new Ear(ledger);
    await vi.waitFor(async () => {
      const { rows } = await server.run("SELECT count(*)::int AS probes FROM pg_stat_activity WHERE query LIKE '%pg_notify%' AND application_name = 'signalbox wakes r1'");
      expect(rows).toEqual([{ probes: 1 }]);
    });
    expect(errors).toEqual([]);
    proxy.deafen();
    await vi.waitFor(() => expect(errors).toHaveLength(1), { timeout: 10_000 });
    expect(errors[0]).toContain("Connect the ledger to PostgreSQL directly");
    // Who listens is told each time that something may have been missed, so that it looks for itself.
    await vi.waitFor(() => expect(ear.heard.filter(({ type }) => type === "lost").length).toBeGreaterThan(3), { timeout: 10_000 });
    expect(errors).toHaveLength(1);
  });

  test("reports 191 and 193: who lives is for the store's clock to say, whatever zone a session is in and whatever a process's clock says", async () => {
    await server.run(`ALTER DATABASE ${database} SET timezone = 'Pacific/Kiritimati'`);
    const ahead = () => Date.now() + 3_600_000;
    const [one, two] = [await open({ now: () => Date.now() - 3_600_000 }), await open({ lane: "r2", now: ahead })];
    const asked = Date.now();
    const { storeNow } = await one.beat(beatOf("r1", 30_000));
    expect(Math.abs(storeNow - asked)).toBeLessThan(10_000);
    expect((await two.beat(beatOf("r2", 30_000))).peers.map(({ replica }) => replica)).toEqual(["r1", "r2"]);
    expect(await one.hold("sweep", "r1", 30_000)).toBe(true);
    expect(await two.hold("sweep", "r2", 30_000)).toBe(false);
    await putInLine(one, queuedCall("c1"), queuedCall("c2"));
    expect(idsOf((await claimOnce(one)).calls)).toEqual(["c1"]);
    expect(idsOf((await claimOnce(two, { replica: "r2", limit: 9 })).calls)).toEqual(["c2"]);
    const call = sampleCall({ callId: "c3" });
    await one.commit(admitUnit(call));
    expect(await two.getCall("acme", "c3")).toEqual({ ...call, eventSeq: 3 });
  });
});
