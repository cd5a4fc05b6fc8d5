// What is left behind: every row of the ledger and every file of the store holds marks of its own tenant alone, and the audit none of payloads.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { MarkKind, Watch } from "./canary.ts";

/** Rows by table, so that a table nobody wrote is not taken for a good one. */
export type Counts = Readonly<Record<string, number>>;

/** These must tell of calls without telling what was in them. */
const withoutPayloads: ReadonlySet<string> = new Set(["audit", "audit_heads", "deliveries", "notices", "policies"]);

export function lookThroughLedger(dataDir: string, indexOf: (tenant: string) => number | null, watch: Watch): Counts {
  const db = new DatabaseSync(join(dataDir, "ledger.db"), { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
    return Object.fromEntries(tables.map(({ name }) => [String(name), lookThrough(db, String(name), indexOf, watch)]));
  } finally {
    db.close();
  }
}

function lookThrough(
  db: DatabaseSync,
  table: string,
  indexOf: (tenant: string) => number | null,
  watch: Watch,
): number {
  const kinds: readonly MarkKind[] = withoutPayloads.has(table) ? ["told"] : ["payload", "told"];
  let rows = 0;
  for (const row of db.prepare(`SELECT * FROM "${table}"`).iterate()) {
    rows += 1;
    const tenant = row["tenant"];
    const text = Object.values(row)
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value)))
      .join("\n");
    watch.look(typeof tenant === "string" ? indexOf(tenant) : null, `table ${table}`, text, kinds);
  }
  return rows;
}

/** A tenant's folder is named after it. @returns how many files were looked at */
export function lookThroughStore(dataDir: string, indexOf: (tenant: string) => number | null, watch: Watch): number {
  const root = join(dataDir, "store");
  let files = 0;
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    files += 1;
    const place = entry.parentPath.slice(root.length + 1).split("/")[0] ?? "";
    const tenant = place.startsWith("t-") ? indexOf(place.slice("t-".length)) : null;
    watch.look(tenant, "store", readFileSync(join(entry.parentPath, entry.name), "latin1"));
  }
  return files;
}
