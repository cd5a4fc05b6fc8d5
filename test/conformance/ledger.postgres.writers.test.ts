// On PostgreSQL several replicas write at once: guards that look at other rows hold for all of them together.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import type { CommitOutcome, Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { sampleNotice, samplePolicy, sampleWebhook } from "./ledger-governance-rows.ts";
import { admitUnit, dayStart, sampleAudit, sampleCall, sampleToolVersion, settleUnit } from "./ledger-rows.ts";

const rounds = 12;

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "two writers of one ledger", () => {
  let server: PostgresServer;
  let database = "";
  let folder = "";
  let ledgers: readonly [Ledger, Ledger];

  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-writers-"))];
    const open = (lane: string): Promise<PostgresLedger> =>
      PostgresLedger.open({ url: server.url(database), auditKey, lane, anchorPath: join(folder, `${lane}.anchor`), now: Date.now });
    ledgers = [await open("replica-1"), await open("replica-2")];
  });
  afterEach(async () => {
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    await server.dropDatabase(database);
    await rm(folder, { recursive: true });
  });

  /** The same from both at once. */
  async function both(units: (of: string) => readonly Write[]): Promise<number> {
    const [one, two] = ledgers;
    const outcomes = await Promise.all([one.commit({ writes: units("1") }), two.commit({ writes: units("2") })]);
    return outcomes.filter(({ applied }: CommitOutcome) => applied).length;
  }

  test("of two calls that one count lets in, one comes in", async () => {
    const of = { tenant: "acme", tool: "orders.find", principal: "service:storefront", within: { kind: "window", from: 0 } } as const;
    for (let calls = 0; calls < rounds; calls += 1) {
      const admitted = await both((writer) => [
        { op: "insert_call", row: sampleCall({ callId: `c${calls}-${writer}` }) },
        { op: "expect_count", of, calls },
      ]);
      expect(admitted).toBe(1);
    }
    expect(await ledgers[0].countCalls(of)).toBe(rounds);
  });

  test("of two files on the same ground one is put, and no path becomes a file and a folder", async () => {
    const place = (path: string) => ({ tenant: "acme", project: "shop", path });
    const put = (path: string, callId: string): Write => {
      const row = { ...place(path), digest: `sha256:${"1".repeat(64)}`, bytes: 1, updatedAt: dayStart, callId };
      return { op: "put_workspace_file", row, filesMax: 2 * rounds };
    };
    for (let round = 0; round < rounds; round += 1) {
      const same = await both((writer) => [
        { op: "expect_workspace_file", place: place(`same-${round}`), digest: null, callId: writer },
        put(`same-${round}`, writer),
      ]);
      const nested = await both((writer) => {
        const path = writer === "1" ? `nested-${round}` : `nested-${round}/in`;
        return [{ op: "expect_workspace_room", place: place(path) }, put(path, writer)];
      });
      expect([same, nested]).toEqual([1, 1]);
    }
    // Two in each round: the project is full now, whoever asks.
    expect(await both((writer) => [put(`more-${writer}`, writer)])).toBe(0);
    const { items } = await ledgers[1].workspaceFiles({ tenant: "acme", project: "shop", prefix: "", after: "" }, 100);
    expect(items).toHaveLength(2 * rounds);
  });

  test("of versions that are made active at once, one is active in the end", async () => {
    for (let round = 0; round < rounds; round += 1) {
      const name = `reads-${round}`;
      expect(await both((writer) => [{ op: "insert_policy", row: samplePolicy({ name, version: `1.0.${writer}` }) }])).toBe(2);
      const statuses = (await ledgers[0].listPolicies({ tenant: "acme", name }, 10)).items.map(({ status }) => status);
      expect(statuses.toSorted()).toEqual(["active", "superseded"]);
    }
  });

  test("a tool that both make active with one version gains one activation", async () => {
    const [one] = ledgers;
    await one.commit({ writes: [{ op: "insert_tool_version", row: sampleToolVersion("1.0.0"), activate: false }] });
    const activate: Write = { op: "activate_tool", tenant: "acme", tool: "orders.find", version: "1.0.0", at: dayStart, by: "user:bo" };
    expect(await both(() => [activate])).toBe(2);
    expect(await one.activations("acme", "orders.find", 10)).toHaveLength(1);
  });

  test("a first policy that counts makes its indexes while both write calls", async () => {
    const [one, two] = ledgers;
    const calls = Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? one : two).commit(admitUnit(sampleCall({ callId: `c${at}` }))));
    const policies = ledgers.map((ledger, at) =>
      ledger.commit({ writes: [{ op: "insert_policy", row: samplePolicy({ name: `often-${at}`, when: 'calls.window("10m") > 3' }) }] }),
    );
    const outcomes = await Promise.all([...calls, ...policies]);
    expect(outcomes.every(({ applied }) => applied)).toBe(true);
    const { rows } = await server.run("SELECT indexname FROM pg_indexes WHERE indexname IN ('calls_by_window', 'calls_by_session')", database);
    expect(rows).toHaveLength(2);
  });

  test("no delivery is left to a webhook that goes while it is told", async () => {
    const [one, two] = ledgers;
    for (let round = 0; round < rounds; round += 1) {
      const webhookId = `whk_${round}`;
      await one.commit({ writes: [{ op: "insert_webhook", row: sampleWebhook({ webhookId }) }] });
      await Promise.all([
        one.commit({ writes: [{ op: "append_notice", notice: sampleNotice() }] }),
        two.commit({ writes: [{ op: "remove_webhook", tenant: "acme", webhookId, at: dayStart }] }),
      ]);
      expect(await one.nextDeliveryAt()).toBeUndefined();
    }
  });

  test("a large result that one lets go while the other settles with it is kept", async () => {
    const [one, two] = ledgers;
    const outputJson = JSON.stringify("x".repeat(300 * 1024));
    const large = { outputJson, outputBytes: outputJson.length, outputHash: "ab".repeat(32) };
    for (let round = 0; round < rounds; round += 1) {
      const old = sampleCall({ callId: `old-${round}`, admittedAt: dayStart });
      await one.commit(admitUnit(old));
      await one.commit(settleUnit(old, { ...large, settledAt: dayStart + 1 }));
      const young = sampleCall({ callId: `young-${round}`, admittedAt: dayStart + 1_000 });
      await two.commit(admitUnit(young));
      await Promise.all([two.commit(settleUnit(young, { ...large, settledAt: dayStart + 1_001 })), one.trim("acme", dayStart + 500, 10)]);
      expect((await one.getCall("acme", `young-${round}`))?.outputJson).toBe(outputJson);
      await one.trim("acme", dayStart + 2_000, 10);
    }
  });

  test("two that let go of what is old let each call go once", async () => {
    const [one, two] = ledgers;
    for (let at = 0; at < 30; at += 1) {
      const call = sampleCall({ callId: `c${at}`, admittedAt: dayStart + at });
      await one.commit(admitUnit(call));
      await one.commit(settleUnit(call));
    }
    const trimmed = await Promise.all([one, two, one, two].map((ledger) => ledger.trim("acme", dayStart + 9_000, 10)));
    const gone = trimmed.reduce((sum, { calls }) => sum + calls, 0);
    const left = (await one.listCalls({ tenant: "acme" }, 100)).items.length;
    expect(gone + left).toBe(30);
    expect(gone).toBeGreaterThanOrEqual(20);
  });

  test("a replica that comes to others' audit guards it from there on, and one that has lost its anchor says so", async () => {
    const [one] = ledgers;
    const record = async (ledger: Ledger): Promise<unknown> => ledger.commit({ writes: [{ op: "append_audit", draft: sampleAudit(sampleCall({ callId: "c1" })) }] });
    await record(one);
    const anchorPath = join(folder, "third.anchor");
    const third = { url: server.url(database), auditKey, lane: "replica-3", anchorPath, now: Date.now };
    const errors: string[] = [];
    const newcomer = await PostgresLedger.open({ ...third, onError: ({ message }) => errors.push(message) });
    await record(newcomer);
    expect(await newcomer.verifyAudit()).toMatchObject({ ok: true, lanes: 2 });
    await newcomer.close();
    expect(errors).toEqual([]);
    await server.run("DELETE FROM audit WHERE lane = 'replica-1'; DELETE FROM audit_heads WHERE lane = 'replica-1'", database);
    const again = await PostgresLedger.open(third);
    expect(await again.verifyAudit()).toMatchObject({ ok: false, problems: [{ lane: "replica-1", kind: "anchor_ahead" }] });
    await again.close();
    await rm(anchorPath);
    const robbed = await PostgresLedger.open({ ...third, onError: ({ message }) => errors.push(message) });
    expect(await robbed.verifyAudit()).toMatchObject({ ok: false, problems: [{ kind: "anchor_missing" }] });
    await robbed.close();
    expect(errors).toEqual([expect.stringContaining("The audit anchor")]);
  });

  test("U+0000 in what people write neither stops a commit nor the ones after it", async () => {
    const [one] = ledgers;
    const freeze: Write = { op: "put_freeze", row: { tenant: "acme", tool: "", reason: "a\0b", at: dayStart, by: "user:ada" } };
    const call = sampleCall({ callId: "c1", workerId: "x\0" });
    expect(await one.commit({ writes: [{ op: "insert_call", row: call }, freeze] })).toEqual({ applied: true });
    expect((await one.freezes())[0]?.reason).toBe("a\ufffdb");
    expect((await one.getCall("acme", "c1"))?.workerId).toBe("x\ufffd");
    expect((await one.listTools("acme", 10, undefined, { category: "\0" })).items).toEqual([]);
  });

  test("a cursor of another list is refused as invalid input, whatever it holds", async () => {
    const [one] = ledgers;
    const cursor = (...key: unknown[]): string => Buffer.from(JSON.stringify(key)).toString("base64url");
    await expect(one.listApprovals({ tenant: "acme" }, 10, cursor("a", "b"))).rejects.toMatchObject({ code: "invalid_input" });
    await expect(one.listDeliveries("acme", {}, 10, cursor(1.5, "b"))).rejects.toMatchObject({ code: "invalid_input" });
    await expect(one.listPolicies({ tenant: "acme" }, 10, cursor(1, 1, "b"))).rejects.toMatchObject({ code: "invalid_input" });
    await expect(one.listTools("acme", 10, cursor(1))).rejects.toMatchObject({ code: "invalid_input" });
    await expect(one.listCalls({ tenant: "acme" }, 10, cursor("a", "b"))).rejects.toMatchObject({ code: "invalid_input" });
  });
});
