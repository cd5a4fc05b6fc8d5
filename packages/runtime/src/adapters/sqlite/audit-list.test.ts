// The audit's list across lanes and over many rows that do not match: in order, each record once, and no turn without end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sampleAudit, sampleCall } from "../../../../../test/conformance/ledger-rows.ts";
import type { AuditDraft, AuditFilter } from "../../ledger/audit.ts";
import { SqliteLedger } from "./ledger.ts";

const call = sampleCall({ callId: "c1" });
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-audit-list-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (lane: string): SqliteLedger =>
  new SqliteLedger({ path: join(folder, "ledger.db"), auditKey: Buffer.alloc(32, 1), lane, now: Date.now });

async function append(lane: string, ...drafts: Partial<AuditDraft>[]): Promise<void> {
  const ledger = open(lane);
  await ledger.commit({ writes: drafts.map((draft) => ({ op: "append_audit", draft: sampleAudit(call, draft) })) });
  await ledger.close();
}

async function walked(ledger: SqliteLedger, filter: Omit<AuditFilter, "tenant">, limit: number): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await ledger.listAudit({ tenant: "acme", ...filter }, limit, cursor);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    seen.push(...page.items.map(({ lane, seq }) => `${lane}#${seq}`));
    cursor = page.next;
  } while (cursor !== undefined);
  return seen;
}

test("lanes are merged by time, each in its own order, whatever the size of a page", async () => {
  await append("r1", { ts: 10 }, { ts: 40, principal: "user:ada" }, { ts: 30 }, { ts: 70, executionId: "c2" });
  await append(
    "r2",
    { ts: 20, principal: "user:ada" },
    { ts: 50, executionId: "c2" },
    { ts: 60, principal: "user:ada" },
  );
  const ledger = open("r2");
  for (const limit of [1, 2, 3, 7, 50]) {
    expect(await walked(ledger, {}, limit)).toEqual(["r1#4", "r2#3", "r2#2", "r1#3", "r1#2", "r2#1", "r1#1"]);
    expect(await walked(ledger, { principal: "user:ada" }, limit)).toEqual(["r2#3", "r1#2", "r2#1"]);
    expect(await walked(ledger, { from: 20, to: 60 }, limit)).toEqual(["r2#2", "r1#3", "r1#2", "r2#1"]);
    expect(await walked(ledger, { executionId: "c2" }, limit)).toEqual(["r1#4", "r2#2"]);
    expect(await walked(ledger, { executionId: "c2", to: 60 }, limit)).toEqual(["r2#2"]);
  }
  await ledger.close();
});

test("a lane that begins behind a cursor, and records that come in the meantime, are not part of the list", async () => {
  await append("r1", { ts: 10 }, { ts: 20 }, { ts: 30 });
  const first = open("r1");
  const { items, next } = await first.listAudit({ tenant: "acme" }, 1);
  expect(items.map(({ seq }) => seq)).toEqual([3]);
  await first.close();
  await append("r1", { ts: 40 });
  await append("r0", { ts: 5 });
  const ledger = open("r1");
  const rest = await ledger.listAudit({ tenant: "acme" }, 10, next);
  expect(rest.items.map(({ lane, seq }) => `${lane}#${seq}`)).toEqual(["r1#2", "r1#1"]);
  await ledger.close();
});

test("a filter that nearly nothing matches finds it, and lets others have their turn meanwhile", async () => {
  const many = Array.from({ length: 3_500 }, (_, at) => ({ ts: 1_000 + at }));
  await append("r1", { ts: 1, principal: "user:ada" }, ...many, { ts: 9_000, principal: "user:ada" }, ...many);
  const ledger = open("r1");
  let turns = 0;
  const others = setInterval(() => (turns += 1), 0);
  expect(await walked(ledger, { principal: "user:ada" }, 10)).toEqual(["r1#3502", "r1#1"]);
  clearInterval(others);
  expect(turns).toBeGreaterThan(2);
  expect(await walked(ledger, { principal: "user:ada" }, 1)).toEqual(["r1#3502", "r1#1"]);
  expect(await walked(ledger, { principal: "user:nobody" }, 1)).toEqual([]);
  await ledger.close();
});

test("a text that is no cursor is refused as invalid input", async () => {
  await append("r1", { ts: 1 });
  const ledger = open("r1");
  for (const cursor of [
    "%%%",
    Buffer.from('{"a":1}').toString("base64url"),
    Buffer.from('["r1"]').toString("base64url"),
  ]) {
    await expect(ledger.listAudit({ tenant: "acme" }, 10, cursor)).rejects.toMatchObject({ code: "invalid_input" });
  }
  await ledger.close();
});
