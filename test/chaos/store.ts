// Where a story's calls are kept: how its runtimes are started on it, whose keys they made, and what becomes of it when it is struck.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { PostgresServer } from "../support/postgres.ts";
import { brokenRules, readTrace, traceOf } from "../support/trace.ts";
import type { Entry, Story } from "./types.ts";

export interface Store {
  /** Arguments of the command line for one replica, and what stands in its environment. */
  argsOf(replica: number): readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Once a runtime has started on it. */
  adminKey(): string;
  /** Both stop the database and start it again. */
  strike(how: "stop" | "kill"): Promise<void>;
  /** When all runtimes have ended: sentences about its rows that do not hold. */
  brokenRules(entries: readonly Entry[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Longer than any story holds a call back: what is late shall be late because of us. */
const queueWait = "60s";
const common = ["--port", "0", "--grpc-port", "0", "--json", "--log", "json", "--boxes", "0", "--queue-wait", queueWait, "--drain", "10s"];
/** Between the end of the database and its next start: longer than a lost connection takes to be noticed. */
const storeAwayMs = 1_000;

export function openStore(ledger: Story["ledger"], folder: string): Promise<Store> {
  return ledger === "sqlite" ? Promise.resolve(sqliteStore(join(folder, "data"))) : postgresStore(folder);
}

function keyIn(dataDir: string): string {
  const file = join(dataDir, "client.json");
  if (!existsSync(file)) throw new Error("the runtime has not written its keys");
  return (JSON.parse(readFileSync(file, "utf8")) as { key: string }).key;
}

function sqliteStore(dataDir: string): Store {
  return {
    argsOf: () => ["dev", "--data", dataDir, ...common],
    env: {},
    adminKey: () => keyIn(dataDir),
    strike: () => Promise.reject(new Error("a ledger on SQLite has no server")),
    brokenRules: async (entries) => brokenRules(await readTrace(dataDir), { entries }),
    close: async () => undefined,
  };
}

async function postgresStore(folder: string): Promise<Store> {
  // Killed without its fsyncs it may come back torn, and nobody promises anything of that.
  const server = await PostgresServer.start({ fsync: true });
  const url = server.url("postgres");
  const auditKeyFile = join(folder, "audit.key");
  const auditKey = "5a".repeat(32);
  writeFileSync(auditKeyFile, `${auditKey}\n`, { mode: 0o600 });
  const dataOf = (replica: number): string => join(folder, `replica-${replica}`);
  /** One strike at a time: two of them would meet in the middle of a start. */
  let striking: Promise<void> = Promise.resolve();
  return {
    argsOf: (replica) => ["serve", "--data", dataOf(replica), "--replica", `replica-${replica}`, "--audit-key-file", auditKeyFile, ...common],
    env: { SIGNALBOX_LEDGER: url },
    adminKey: () => keyIn(dataOf(0)),
    strike(how) {
      striking = striking.then(async () => {
        await (how === "stop" ? server.stop() : server.kill());
        await new Promise((resolve) => setTimeout(resolve, storeAwayMs));
        await server.start();
      });
      return striking;
    },
    async brokenRules(entries) {
      // What the first replica has last seen of the chains: they may have grown since, and not shrunk.
      const anchorPath = join(dataOf(0), "audit.anchor");
      const ledger = await PostgresLedger.open({ url, auditKey: Buffer.from(auditKey, "hex"), lane: "trace", anchorPath, now: Date.now, keepTags: true });
      try {
        return brokenRules(await traceOf(ledger), { entries });
      } finally {
        await ledger.close();
      }
    },
    close: () => server.remove(),
  };
}
