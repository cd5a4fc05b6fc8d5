// Verifies the audit of a database without being one of its replicas.
import { existsSync } from "node:fs";
import type { AuditVerdict } from "../../ledger/audit.ts";
import type { AuditHead, Hmac } from "../../ledger/audit-chain.ts";
import { writeCarriedAnchor, type CarriedAnchor } from "../sqlite/anchor.ts";
import { auditVerifier } from "./audit-verify.ts";
import { ReadPool } from "./pool.ts";

const connections = 1;

/**
 * Writes nothing to the database; the anchor only where it is not there.
 * @throws LedgerUnavailable when the server cannot be reached
 */
export async function verifyAuditDatabase(url: string, hmac: Hmac, anchorPath: string, carried: CarriedAnchor | undefined): Promise<AuditVerdict> {
  const pool = new ReadPool(url, "signalbox verify", connections);
  try {
    const heads = await pool.rows<AuditHead>("SELECT tenant, lane, seq, hash FROM audit_heads");
    if (!existsSync(anchorPath)) writeCarriedAnchor(anchorPath, carried, heads);
    return await auditVerifier((work) => pool.snapshot(work), anchorPath, hmac)();
  } finally {
    await pool.close();
  }
}
