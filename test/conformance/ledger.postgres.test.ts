// Runs the ledger's conformance suite on PostgreSQL.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { ledgerConformance } from "./ledger.ts";

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "on a real server", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  ledgerConformance("PostgreSQL", async () => {
    const [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-ledger-"))];
    const open = (): Promise<PostgresLedger> =>
      PostgresLedger.open({
        url: server.url(database),
        auditKey,
        lane: "replica-1",
        anchorPath: join(folder, "audit.anchor"),
        now: Date.now,
        keepTags: true,
      });
    let ledger = await open();
    return {
      ledger,
      async reopen() {
        await ledger.close();
        ledger = await open();
        return ledger;
      },
      async dispose() {
        await ledger.close();
        await server.dropDatabase(database);
        await rm(folder, { recursive: true });
      },
    };
  });
});
