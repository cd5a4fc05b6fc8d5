// AUD-09: what an audit record costs to append does not depend on how many there are: no statement of it walks the table.
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SqliteLedger } from "./ledger.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-append-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = (): string => join(folder, "ledger.db");
const open = (): SqliteLedger =>
  new SqliteLedger({ path: path(), auditKey: Buffer.alloc(32, 1), lane: "r1", now: () => 1_000 });
const draft = (n: number) => ({
  op: "append_audit" as const,
  draft: { ts: n, tenant: "acme", project: "shop", principal: "user:ann", action: "test" },
});

/** Every statement that is made while `work` runs, by its text. */
async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const texts = new Set<string>();
  const original = Object.getOwnPropertyDescriptor(DatabaseSync.prototype, "prepare");
  if (original === undefined) throw new Error("there is no prepare to listen to");
  const { value } = original as { value: (this: DatabaseSync, sql: string) => unknown };
  const listening = function (this: DatabaseSync, sql: string): unknown {
    texts.add(sql);
    return value.call(this, sql);
  };
  Object.defineProperty(DatabaseSync.prototype, "prepare", { ...original, value: listening });
  try {
    await work();
  } finally {
    Object.defineProperty(DatabaseSync.prototype, "prepare", original);
  }
  return [...texts];
}

/** How SQLite would go about it, a line for each table that it touches. */
function plansOf(texts: readonly string[]): readonly string[] {
  const db = new DatabaseSync(path());
  try {
    return texts
      .filter((sql) => /\baudit\b/.test(sql) && /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(sql))
      .flatMap((sql) =>
        db
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .map((row) => `${String(row["detail"])} ← ${sql.replace(/\s+/g, " ").slice(0, 120)}`),
      );
  } finally {
    db.close();
  }
}

test("AUD-09: neither appending a record nor opening a ledger with twenty thousand walks through them", async () => {
  const texts = await statementsOf(async () => {
    const ledger = open();
    await ledger.commit({ writes: [draft(1), draft(2)] });
    await ledger.close();
  });
  expect(texts.some((sql) => /^\s*INSERT INTO audit\b/i.test(sql))).toBe(true);

  const many = open();
  for (let n = 0; n < 20_000; n += 1_000)
    await many.commit({ writes: Array.from({ length: 1_000 }, (_, at) => draft(n + at)) });
  await many.close();
  const later = await statementsOf(async () => {
    const ledger = open();
    await ledger.commit({ writes: [draft(3)] });
    expect((await ledger.listAudit({ tenant: "acme" }, 1)).items).toMatchObject([{ seq: 20_003 }]);
    await ledger.close();
  });
  const walks = plansOf([...texts, ...later]).filter((plan) => /\bSCAN audit\b/.test(plan));
  expect(walks).toEqual([]);
}, 60_000);
