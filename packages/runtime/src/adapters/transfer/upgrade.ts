// Says what an upgrade does to a ledger's tables, and does it.
import { existsSync } from "node:fs";
import { dataFolder } from "../files/data-folder.ts";
import { migratePostgres, postgresSchema } from "../postgres/upgrade.ts";
import { migrateSqlite, sqliteSchema } from "../sqlite/upgrade.ts";
import type { LedgerPlace } from "./move.ts";
import type { SchemaPlan } from "./schema-plan.ts";
import type { LedgerKind } from "./tables.ts";

export interface Upgrade extends SchemaPlan {
  readonly ledger: LedgerKind;
  /** Whether it was done, or only told. */
  readonly done: boolean;
}

/**
 * In one transaction, or, with `dryRun`, told and left.
 * @throws LedgerUnavailable when the ledger has a newer schema, cannot be reached, or, not with `dryRun`, a runtime has its data folder
 */
export async function upgradeLedger({ dataDir, ledgerUrl }: LedgerPlace, options: { readonly dryRun: boolean; readonly now: number }): Promise<Upgrade> {
  const { dryRun, now } = options;
  if (ledgerUrl !== undefined) {
    const plan = await postgresSchema(ledgerUrl);
    if (!dryRun) await migratePostgres(ledgerUrl, now);
    return { ledger: "postgres", ...plan, done: !dryRun };
  }
  const { ledgerFile, path } = dataFolder(dataDir);
  if (!existsSync(ledgerFile)) throw new Error(`${path} holds no ledger; name the data folder with --data`);
  const plan = sqliteSchema(ledgerFile);
  if (!dryRun) migrateSqlite(ledgerFile, now);
  return { ledger: "sqlite", ...plan, done: !dryRun };
}
