// Runs the conformance suite of shared ledgers on PostgreSQL.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { sharedConformance } from "./shared-ledger.ts";

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "on a real server", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  sharedConformance("PostgreSQL", async () => {
    const [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-ledger-"))];
    const opened: PostgresLedger[] = [];
    return {
      async open(replica) {
        const ledger = await PostgresLedger.open({
          url: server.url(database),
          auditKey,
          lane: replica,
          anchorPath: join(folder, `${replica}.anchor`),
          now: Date.now,
        });
        opened.push(ledger);
        return ledger;
      },
      async dispose() {
        for (const ledger of opened) await ledger.close();
        await server.dropDatabase(database);
        await rm(folder, { recursive: true });
      },
    };
  });
});
