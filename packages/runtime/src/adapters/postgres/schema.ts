// The tables of the shared ledger, as an ordered list of migrations.
//
// A migration only ever adds: replicas of the version before go on running beside it, till nobody writes for them any more. One that
// takes something away is a migration of its own, in a later version, and raises `compatibleFrom`.
import { auditTables } from "./schema/audit.ts";
import { callTables } from "./schema/calls.ts";
import { fleetTables } from "./schema/fleet.ts";
import { governanceTables } from "./schema/governance.ts";
import { guardedIndexes } from "./schema/guarded-indexes.ts";
import { registryTables } from "./schema/registry.ts";
import { sessionTables } from "./schema/sessions.ts";
import { tenancyTables } from "./schema/tenancy.ts";
import { usageTables } from "./schema/usage.ts";
import { workspaceTables } from "./schema/workspaces.ts";

export interface Migration {
  /** Counts from 1, without holes. */
  readonly version: number;
  /** The oldest schema that a runtime may know and still work with this one. */
  readonly compatibleFrom: number;
  readonly statements: readonly string[];
}

/** Applied in this order; a published entry never changes, a new version is a new entry. */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    compatibleFrom: 1,
    statements: [
      ...callTables,
      ...auditTables,
      ...usageTables,
      ...governanceTables,
      ...registryTables,
      ...tenancyTables,
      ...workspaceTables,
      ...fleetTables,
    ],
  },
  { version: 2, compatibleFrom: 1, statements: [...sessionTables] },
  { version: 3, compatibleFrom: 1, statements: guardedIndexes },
];

/** Holds the schema's own version, and so stands outside the list. */
export const metaTableSql = `CREATE TABLE IF NOT EXISTS meta (
    name TEXT COLLATE "C" NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name)
  )`;
