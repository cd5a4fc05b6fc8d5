// The embedded ledger on its disk: commits share an fsync, large results stand apart, and a full disk harms nothing.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SqliteLedger, type SqliteLedgerOptions } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { LedgerUnavailable } from "../../packages/runtime/src/ledger/port.ts";
import { admitUnit, sampleCall, settledCall, settleUnit } from "./ledger-rows.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-disk-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function openLedger(at: string, options: Partial<SqliteLedgerOptions> = {}): SqliteLedger {
  return new SqliteLedger({
    path: join(at, "ledger.db"),
    auditKey: Buffer.alloc(32, 1),
    lane: "r1",
    now: Date.now,
    ...options,
  });
}

function raw(at: string, work: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(join(at, "ledger.db"), { timeout: 1_000 });
  work(db);
  db.close();
}

test("units that wait together share a commit", async () => {
  const seen: number[] = [];
  const ledger = openLedger(folder, { onCommit: ({ units }) => seen.push(units) });
  await Promise.all(Array.from({ length: 300 }, (_, at) => ledger.commit(admitUnit(sampleCall({ callId: `c${at}` })))));
  expect(ledger.stats()).toEqual({ commits: 2, units: 300, refused: 0, failed: 0, batchMax: 256, waiting: 0 });
  expect(seen).toEqual([256, 44]);
  await ledger.close();
});

test("a result over the bound stands in blobs once, and a refused unit puts none there", async () => {
  const ledger = openLedger(folder, { inlineResultBytesMax: 10 });
  const output = { outputJson: '"0123456789"', outputBytes: 12, outputHash: "aa" };
  for (const callId of ["c1", "c2"]) {
    const call = sampleCall({ callId });
    await ledger.commit(admitUnit(call));
    await ledger.commit(settleUnit(call, output));
    await ledger.commit({
      writes: [
        {
          op: "update_call",
          expect: { state: "queued", fence: 1 },
          row: settledCall(call, { ...output, outputHash: "bb" }),
        },
      ],
    });
  }
  await ledger.commit({
    writes: [{ op: "insert_call", row: sampleCall({ callId: "c1", ...output, outputHash: "cc" }) }],
  });
  raw(folder, (db) => {
    expect(
      db
        .prepare("SELECT tenant, hash, CAST(bytes AS TEXT) AS text FROM blobs")
        .all()
        .map((row) => ({ ...row })),
    ).toEqual([{ tenant: "acme", hash: "aa", text: '"0123456789"' }]);
    expect(db.prepare("SELECT count(*) AS n FROM calls WHERE output_json IS NOT NULL").get()).toMatchObject({ n: 0 });
  });
  await ledger.close();
});

/** A place with little room, and how to make more. */
interface SmallRoom {
  readonly folder: string;
  readonly options: Partial<SqliteLedgerOptions>;
  makeRoom(): void;
  leave(): void;
}

const MiB = 1024 * 1024;

/** The database may not grow over 2 MiB, half of it taken: room comes from rows that are deleted. */
async function boundedDatabase(): Promise<SmallRoom> {
  const at = join(folder, "bounded");
  await openLedger(at).close();
  raw(at, (db) =>
    db.prepare("INSERT INTO blobs (tenant, hash, bytes) VALUES ('ballast', '', ?)").run(Buffer.alloc(MiB)),
  );
  return {
    folder: at,
    options: { databaseBytesMax: 2 * MiB },
    makeRoom: () => raw(at, (db) => db.exec("DELETE FROM blobs WHERE tenant = 'ballast'")),
    leave: () => undefined,
  };
}

/** A file system of 3 MiB, a third of it taken. */
async function tinyFileSystem(): Promise<SmallRoom> {
  const at = mkdtempSync(join(tmpdir(), "signalbox-full-"));
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", at]);
  writeFileSync(join(at, "ballast"), Buffer.alloc(MiB));
  return {
    folder: at,
    options: {},
    makeRoom: () => rmSync(join(at, "ballast")),
    leave() {
      spawnSync("umount", ["--lazy", at]);
      rmSync(at, { recursive: true });
    },
  };
}

function canMount(): boolean {
  const at = mkdtempSync(join(tmpdir(), "signalbox-mount-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", at]).status === 0;
  if (mounted) spawnSync("umount", [at]);
  rmSync(at, { recursive: true });
  return mounted;
}

const smallRooms: [string, () => Promise<SmallRoom>][] = [["a database that may not grow", boundedDatabase]];
// Mounting takes root; elsewhere the bounded database alone stands for the full disk.
if (canMount()) smallRooms.push(["a file system that is full", tinyFileSystem]);

describe.each(smallRooms)("on %s", (_name, makeSmallRoom) => {
  let room: SmallRoom;
  beforeEach(async () => {
    room = await makeSmallRoom();
  });
  afterEach(() => room.leave());

  test("commits are refused whole, and go on when there is room again", async () => {
    const errors: Error[] = [];
    const ledger = openLedger(room.folder, { ...room.options, onError: (error) => errors.push(error) });
    const wide = (at: number) =>
      sampleCall({ callId: `c${String(at).padStart(5, "0")}`, inputJson: JSON.stringify("x".repeat(16_000)) });
    const stored: string[] = [];
    let failure: unknown;
    for (let at = 0; failure === undefined && at < 1_000; at += 1) {
      const call = wide(at);
      try {
        await ledger.commit(admitUnit(call));
        await ledger.commit(settleUnit(call));
        stored.push(call.callId);
      } catch (error) {
        failure = error;
      }
    }
    expect(failure).toBeInstanceOf(LedgerUnavailable);
    expect(String(failure)).toContain("the disk is full; free space there, writing goes on by itself");
    expect(stored.length).toBeGreaterThan(5);

    const group = [2_000, 2_001, 2_002].map((at) => ledger.commit(admitUnit(wide(at))));
    for (const result of await Promise.allSettled(group)) {
      expect(result).toMatchObject({ status: "rejected", reason: expect.any(LedgerUnavailable) as Error });
    }
    expect(await ledger.getCall("acme", "c02000")).toBeUndefined();
    expect(await ledger.events("acme", "c02000", 0, 10)).toEqual([]);
    for (const callId of stored) expect((await ledger.getCall("acme", callId))?.state).toBe("succeeded");

    room.makeRoom();
    const late = wide(3_000);
    expect(await ledger.commit(admitUnit(late))).toEqual({ applied: true });
    expect(await ledger.commit(settleUnit(late))).toEqual({ applied: true });
    const again = sampleCall({ callId: "c02000" });
    expect(await ledger.commit(admitUnit(again))).toEqual({ applied: true });
    await ledger.probe();
    await ledger.close();

    const reopened = openLedger(room.folder);
    for (const callId of [...stored, late.callId]) {
      expect((await reopened.getCall("acme", callId))?.state).toBe("succeeded");
      expect(await reopened.events("acme", callId, 0, 10)).toHaveLength(5);
    }
    expect(await reopened.verifyAudit()).toEqual({ ok: true, records: stored.length + 1, lanes: 1, problems: [] });
    await reopened.close();
  });
});
