// Runs the ledger's conformance suite on SQLite.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { ledgerConformance } from "./ledger.ts";

ledgerConformance("SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-ledger-"));
  const open = (): SqliteLedger =>
    new SqliteLedger({
      path: join(folder, "ledger.db"),
      auditKey: Buffer.alloc(32, 1),
      lane: "replica-1",
      now: Date.now,
    });
  let ledger = open();
  return {
    ledger,
    async reopen() {
      await ledger.close();
      ledger = open();
      return ledger;
    },
    async dispose() {
      await ledger.close();
      await rm(folder, { recursive: true });
    },
  };
});
