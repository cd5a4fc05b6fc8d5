// Looks whether the audit key is the one that a carried audit was made with, before any of it is kept.
import { headMac, type Hmac } from "../../ledger/audit-chain.ts";
import { UnfitLedger, type LedgerRestore, type Value } from "./tables.ts";

/** A head that does not fit while others do is tampering, which a verification tells; none that fits is another key. */
export function checkingKey(restore: LedgerRestore, hmac: Hmac): LedgerRestore {
  let heads = 0;
  let fitting = 0;
  const look = (columns: readonly string[], row: readonly Value[]): void => {
    const of = (name: string): string => String(row[columns.indexOf(name)]);
    heads += 1;
    if (headMac(hmac, { tenant: of("tenant"), lane: of("lane"), seq: Number(of("seq")), hash: of("hash") }) === of("mac")) fitting += 1;
  };
  return {
    ...restore,
    async write(table, columns, rows) {
      await restore.write(table, columns, rows);
      if (table === "audit_heads") for (const row of rows) look(columns, row);
    },
    async keep() {
      if (heads > 0 && fitting === 0)
        throw new UnfitLedger("The audit key is not the one that the exported audit was made with, so nothing was imported. Give the old ledger's key: its audit.key.");
      await restore.keep();
    },
  };
}
