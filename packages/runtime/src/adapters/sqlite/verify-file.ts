// Verifies the audit of a database file without owning it: while the runtime is running, or on a copy.
import { DatabaseSync } from "node:sqlite";
import type { AuditVerdict } from "../../ledger/audit.ts";
import { anchorPathOf } from "./anchor.ts";
import { hmacWith } from "./audit-key.ts";
import { auditVerifier } from "./audit-reads.ts";
import { asLedgerError } from "./store-errors.ts";

const busyTimeoutMs = 5_000;

/**
 * Reads the database at `path` and the anchor beside it; writes nothing.
 * @throws LedgerUnavailable when the file cannot be read
 */
export async function verifyAuditFile(path: string, auditKey: Buffer, tenant?: string): Promise<AuditVerdict> {
  const hmac = hmacWith(auditKey);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
    // One snapshot for the whole walk, begun by its first read, after the anchor has been read: the anchor is never newer.
    db.exec("BEGIN");
    return await auditVerifier(db, anchorPathOf(path), hmac)(tenant);
  } catch (error) {
    throw asLedgerError(error);
  } finally {
    db?.close();
  }
}
