// Where a story's calls are kept: how its runtimes are started on it, whose keys they made, and what becomes of it when it is struck.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brokenRules, readTrace } from "../support/trace.ts";
import type { Entry, Story } from "./types.ts";

export interface Store {
  /** Arguments of the command line for one replica. */
  argsOf(replica: number): readonly string[];
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

export async function openStore(ledger: Story["ledger"], folder: string): Promise<Store> {
  if (ledger === "postgres") throw new Error("this build has no ledger on PostgreSQL");
  return sqliteStore(join(folder, "data"));
}

function sqliteStore(dataDir: string): Store {
  return {
    argsOf: () => ["dev", "--data", dataDir, ...common],
    adminKey() {
      const file = join(dataDir, "client.json");
      if (!existsSync(file)) throw new Error("the runtime has not written its keys");
      return (JSON.parse(readFileSync(file, "utf8")) as { key: string }).key;
    },
    strike: () => Promise.reject(new Error("a ledger on SQLite has no server")),
    brokenRules: async (entries) => brokenRules(await readTrace(dataDir), { entries }),
    close: async () => undefined,
  };
}
