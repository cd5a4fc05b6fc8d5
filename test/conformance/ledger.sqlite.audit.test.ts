// Tampering with the embedded ledger's audit by a second connection: every kind is found and named.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hmacWith } from "../../packages/runtime/src/adapters/sqlite/audit-key.ts";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { verifyAuditFile } from "../../packages/runtime/src/adapters/sqlite/verify-file.ts";
import { headMac, verifyLane } from "../../packages/runtime/src/ledger/audit-chain.ts";
import { dayStart, sampleAudit, sampleCall } from "./ledger-rows.ts";

const auditKey = Buffer.alloc(32, 1);
const call = sampleCall({ callId: "c1" });
let folder = "";
let path = "";
let anchorPath = "";
let errors: string[] = [];

function openLedger(): SqliteLedger {
  return new SqliteLedger({
    path,
    auditKey,
    lane: "r1",
    now: Date.now,
    onError: (error) => errors.push(error.message),
  });
}

async function append(ledger: SqliteLedger, tenant: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const details = { at, by: "user:ada" };
    const draft = sampleAudit(call, {
      tenant,
      ts: dayStart + at,
      errorCode: "tool_error",
      sandbox: "native",
      egress: ["api.example.com:443"],
      secretsUsed: ["db"],
      approval: { by: ["user:bob"], at: dayStart },
      cache: "miss",
      resources: { cpuMs: 3 },
      details,
    });
    await ledger.commit({ writes: [{ op: "append_audit", draft }] });
  }
}

/** Works on the file while no ledger has it open. */
function tamper(...statements: string[]): void {
  const db = new DatabaseSync(path);
  for (const statement of statements) db.exec(statement);
  db.close();
}

async function problems(): Promise<string[]> {
  const offline = await verifyAuditFile(path, auditKey);
  const ledger = openLedger();
  const online = await ledger.verifyAudit();
  expect(online).toEqual(offline);
  expect(online.ok).toBe(online.problems.length === 0);
  await ledger.close();
  return online.problems.map(({ tenant, lane, seq, kind }) => `${kind} ${tenant}/${lane} ${seq}`);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-audit-"));
  path = join(folder, "ledger.db");
  anchorPath = join(folder, "audit.anchor");
  errors = [];
  const ledger = openLedger();
  await append(ledger, "acme", 6);
  await append(ledger, "globex", 2);
  await ledger.close();
});
afterEach(() => rmSync(folder, { recursive: true }));

test("an untouched audit is good", async () => {
  expect(await problems()).toEqual([]);
  expect(errors).toEqual([]);
});

const columns = (
  "ts project principal on_behalf_of action tool version manifest_digest execution_id call_id attempt input_hash " +
  "output_hash status error_code sandbox worker egress_json secrets_used_json policy_json approval_json cache " +
  "duration_ms resources_json request_id trace_id details_json prev_hash hash"
).split(" ");

describe("an edited row", () => {
  test.each(columns)("%s", async (column) => {
    tamper(`UPDATE audit SET ${column} = CASE WHEN typeof(${column}) = 'text' THEN ${column} || ' ' ELSE ${column} + 1 END
      WHERE tenant = 'acme' AND seq = 3`);
    expect(await problems()).toEqual(["edited acme/r1 3"]);
  });

  test.each(
    columns.filter((column) => !["ts", "project", "principal", "action", "prev_hash", "hash"].includes(column)),
  )("%s taken away", async (column) => {
    tamper(`UPDATE audit SET ${column} = NULL WHERE tenant = 'globex' AND seq = 2`);
    expect(await problems()).toEqual(["edited globex/r1 2"]);
  });

  test("its place: tenant, lane and seq", async () => {
    tamper("UPDATE audit SET tenant = 'globex', seq = 3 WHERE tenant = 'acme' AND seq = 6");
    expect(await problems()).toEqual([
      "cut_tail acme/r1 6",
      "anchor_ahead acme/r1 6",
      "edited globex/r1 3",
      "head_edited globex/r1 2",
    ]);
  });

  test("a seq that no number can hold", async () => {
    tamper("UPDATE audit SET seq = 9007199254740995 WHERE tenant = 'acme' AND seq = 6");
    expect(await problems()).toEqual(["missing acme/r1 6", "head_edited acme/r1 6", "anchor_ahead acme/r1 6"]);
  });
});

describe("deleted rows", () => {
  test("inside a lane", async () => {
    tamper("DELETE FROM audit WHERE tenant = 'acme' AND seq IN (2, 3)");
    expect(await problems()).toEqual(["missing acme/r1 2"]);
  });

  test("at the start of a lane", async () => {
    tamper("DELETE FROM audit WHERE tenant = 'acme' AND seq = 1");
    expect(await problems()).toEqual(["missing acme/r1 1"]);
  });

  test("at the end of a lane", async () => {
    tamper("DELETE FROM audit WHERE tenant = 'acme' AND seq > 4");
    expect(await problems()).toEqual(["cut_tail acme/r1 5", "anchor_ahead acme/r1 5"]);
  });

  test("at the end of a lane, with the head of that time put back", async () => {
    const db = new DatabaseSync(path);
    const row = db.prepare("SELECT hash FROM audit WHERE tenant = 'acme' AND seq = 4").get();
    db.close();
    const head = { tenant: "acme", lane: "r1", seq: 4, hash: String(row?.["hash"]) };
    // Only somebody who kept the row from then has this mac; it is made with the key here to stand for that copy.
    tamper(
      "DELETE FROM audit WHERE tenant = 'acme' AND seq > 4",
      `UPDATE audit_heads SET seq = 4, hash = '${head.hash}', mac = '${headMac(hmacWith(auditKey), head)}' WHERE tenant = 'acme'`,
    );
    expect(await problems()).toEqual(["anchor_ahead acme/r1 5"]);
  });

  test("a whole lane, its head included", async () => {
    tamper("DELETE FROM audit WHERE tenant = 'globex'", "DELETE FROM audit_heads WHERE tenant = 'globex'");
    expect(await problems()).toEqual(["anchor_ahead globex/r1 1"]);
  });
});

describe("heads and anchor", () => {
  test("a head that is gone", async () => {
    tamper("DELETE FROM audit_heads WHERE tenant = 'acme'");
    expect(await problems()).toEqual(["head_missing acme/r1 6"]);
  });

  test.each(["seq = seq - 1", "hash = 'x'", "mac = 'x'", "lane = 'r2'"])("a head with %s", async (change) => {
    tamper(`UPDATE audit_heads SET ${change} WHERE tenant = 'globex'`);
    expect((await problems()).length).toBeGreaterThan(0);
  });

  test("a chain that was written anew with another key", async () => {
    const otherFolder = mkdtempSync(join(tmpdir(), "signalbox-forged-"));
    const forged = new SqliteLedger({
      path: join(otherFolder, "ledger.db"),
      auditKey: Buffer.alloc(32, 2),
      lane: "r1",
      now: Date.now,
    });
    await append(forged, "acme", 6);
    await append(forged, "globex", 2);
    await forged.close();
    for (const file of ["ledger.db", "audit.anchor"]) copyFileSync(join(otherFolder, file), join(folder, file));
    rmSync(otherFolder, { recursive: true });
    expect(openLedger).toThrow("is not the one that this ledger's audit was made with");
    const offline = await verifyAuditFile(path, auditKey);
    expect(offline.problems.map(({ tenant, lane, seq, kind }) => `${kind} ${tenant}/${lane} ${seq}`)).toEqual([
      "anchor_edited / 0",
      "edited acme/r1 1",
      "head_edited acme/r1 6",
      "edited globex/r1 1",
      "head_edited globex/r1 2",
    ]);
  });

  test("a missing or edited anchor is reported for as long as nobody renews it", async () => {
    for (const [kind, spoil] of [
      ["anchor_missing", () => rmSync(anchorPath)],
      [
        "anchor_edited",
        () => writeFileSync(anchorPath, readFileSync(anchorPath, "utf8").replace(/"seq":\d+/, '"seq":5')),
      ],
      ["anchor_edited", () => writeFileSync(anchorPath, "")],
    ] as const) {
      spoil();
      for (let opening = 0; opening < 2; opening += 1) {
        const ledger = openLedger();
        await append(ledger, "acme", 1);
        expect((await ledger.verifyAudit()).problems.map((problem) => problem.kind)).toEqual([kind]);
        await ledger.close();
      }
      const ledger = openLedger();
      ledger.renewAnchor();
      expect((await ledger.verifyAudit()).problems).toEqual([]);
      await ledger.close();
      expect(await verifyAuditFile(path, auditKey)).toMatchObject({ ok: true });
    }
    expect(errors).toHaveLength(9);
    expect(errors[0]).toContain("is missing. Verify the audit and find out who changed the file");
  });

  test("an older copy of the database is found, and going on from it leaves the hole for good", async () => {
    copyFileSync(path, `${path}.copy`);
    const ledger = openLedger();
    await append(ledger, "acme", 3);
    await ledger.close();
    copyFileSync(`${path}.copy`, path);
    expect((await verifyAuditFile(path, auditKey)).problems.map(({ kind, seq }) => `${kind} ${seq}`)).toEqual([
      "anchor_ahead 7",
    ]);
    for (let opening = 0; opening < 2; opening += 1) {
      const again = openLedger();
      await append(again, "acme", 1);
      await again.close();
    }
    expect((await verifyAuditFile(path, auditKey)).problems.map(({ kind, seq }) => `${kind} ${seq}`)).toEqual([
      "missing 7",
    ]);
    expect(errors[0]).toContain("The audit of tenant acme, lane r1, was changed outside of Signalbox");
  });

  test("the anchor follows while the ledger is open, and a crash loses no more than that", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const ledger = openLedger();
      await append(ledger, "acme", 2);
      const before = readFileSync(anchorPath, "utf8");
      expect(before).toContain('"seq":6');
      vi.advanceTimersByTime(999);
      expect(vi.getTimerCount()).toBe(1);
      vi.advanceTimersByTime(1);
      vi.useRealTimers();
      await vi.waitFor(() => expect(readFileSync(anchorPath, "utf8")).toContain('"seq":8'), { timeout: 10_000 });
      await ledger.close();
    } finally {
      vi.useRealTimers();
    }
  });
});

test("an exported lane verifies without the database", async () => {
  const ledger = openLedger();
  const { items } = await ledger.listAudit({ tenant: "acme" }, 100);
  await ledger.close();
  const records = JSON.parse(JSON.stringify(items.toReversed())) as typeof items;
  const lane = { tenant: "acme", lane: "r1" };
  const witnesses = { head: undefined, anchored: { ...lane, seq: 6, hash: items[0]?.hash ?? "" } };
  const kinds = (of: typeof items) =>
    verifyLane(of, lane, witnesses, hmacWith(auditKey)).problems.map((problem) => problem.kind);
  // An export brings no head row of its own; the anchor stands for it.
  expect(kinds(records)).toEqual(["head_missing"]);
  expect(kinds(records.map((record) => ({ ...record, action: "call.denied" })))).toContain("edited");
});

test("another audit key is refused at the start, before it can write a record", async () => {
  const ledger = openLedger();
  await append(ledger, "acme", 3);
  await ledger.close();
  const other = Buffer.alloc(32, 9);
  expect(() => new SqliteLedger({ path, auditKey: other, lane: "r1", now: Date.now })).toThrow(
    "is not the one that this ledger's audit was made with",
  );
  const again = openLedger();
  await append(again, "acme", 1);
  expect(await again.verifyAudit()).toMatchObject({ ok: true, records: 12 });
  await again.close();
});
