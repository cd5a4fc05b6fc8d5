// What a deployment mode opens before there is a runtime: its data folder, its clock, its ledger and its keys.
import { randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { limits } from "@signalbox/protocol";
import { auditKey, dataFolder, makeFolder, readAuditKey, type DataFolder } from "./adapters/files/data-folder.ts";
import { otelMeters } from "./adapters/otel/meters.ts";
import { whenServerAnswers } from "./adapters/postgres/await-server.ts";
import { PostgresLedger, type PostgresLedgerOptions } from "./adapters/postgres/ledger.ts";
import { SqliteLedger } from "./adapters/sqlite/ledger.ts";
import { takeFolder } from "./adapters/sqlite/open.ts";
import { systemClock } from "./adapters/system/clock.ts";
import { storeClock, type StoreTime } from "./adapters/system/store-clock.ts";
import type { Clock, Log, Meters } from "./corridor/ports.ts";
import type { Ledger } from "./ledger/port.ts";
import { ensureTenants, ensureTenantsOnce, type LocalKeys, type Setting } from "./setup.ts";

export interface Opened {
  readonly folder: DataFolder;
  readonly firstStart: boolean;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly ledger: Ledger;
  readonly auditKey: Buffer;
  /** Stays the same over restarts. */
  readonly name: string;
  /** Of this incarnation, where several live. */
  readonly replica: string;
  /** Where others find the Work door, when that is not where it listens. */
  readonly advertised?: string;
  /** Told what the store's clock says. */
  readonly storeTime?: StoreTime;
  keys(setting: Setting): Promise<LocalKeys>;
  /** Closes the ledger, and gives the folder free. */
  close(): Promise<void>;
}

/** Where a replica finds what it shares with the others. */
export interface SharedPlace {
  readonly dataDir: string;
  /** `postgres://user:password@host:port/database`. */
  readonly ledgerUrl: string;
  /** Its name among the replicas; the host's unless said otherwise. One process at a time has it. */
  readonly replica?: string;
  /** The same 32 bytes (hex) for all replicas; beside the data unless said otherwise. */
  readonly auditKeyFile?: string;
  /** `host:port` at which workers reach this replica's gRPC door. */
  readonly advertise?: string;
  /** Boxes at once; 0 needs no key for a sandbox worker. */
  readonly boxes?: number;
  /** How long a start waits for a database that does not answer; 60 s unless said otherwise. */
  readonly ledgerWaitMs?: number;
  /** Ends that wait. */
  readonly signal?: AbortSignal;
}

export async function openEmbedded(dataDir: string, log: Log): Promise<Opened> {
  const folder = dataFolder(dataDir);
  makeFolder(folder);
  const firstStart = !existsSync(folder.ledgerFile);
  const clock = systemClock();
  const meters = otelMeters();
  const name = `${hostname()}-embedded`.slice(0, limits.nameCharsMax);
  const ledger = openLedger(folder, clock, log, meteredBy(meters));
  return { folder, firstStart, clock, meters, ledger, auditKey: auditKey(folder), name, replica: name, keys: ensureTenants, close: () => ledger.close() };
}

const ledgerWaitMsDefault = 60_000;

/** @throws LedgerUnavailable when another process has the folder, the audit key is not there, or the database cannot be used */
export async function openShared(place: SharedPlace, log: Log): Promise<Opened> {
  const folder = dataFolder(place.dataDir);
  makeFolder(folder);
  const lock = takeFolder(folder.ledgerFile);
  try {
    return await openIn(folder, place, log, () => lock.close());
  } catch (error) {
    lock.close();
    throw error;
  }
}

async function openIn(folder: DataFolder, place: SharedPlace, log: Log, giveFree: () => void): Promise<Opened> {
  const key = readAuditKey(place.auditKeyFile ?? folder.auditKeyFile);
  const { clock, storeTime } = storeClock(systemClock());
  const meters = otelMeters();
  const name = (place.replica ?? hostname()).slice(0, limits.nameCharsMax);
  const options: PostgresLedgerOptions = {
    url: place.ledgerUrl,
    auditKey: key,
    lane: name,
    anchorPath: join(folder.path, "audit.anchor"),
    now: () => clock.now(),
    onError: (error) => log.error({ reason: String(error) }, "the ledger has trouble"),
    onCommit: meteredBy(meters),
  };
  const patience = { waitMs: place.ledgerWaitMs ?? ledgerWaitMsDefault, clock, log, signal: place.signal };
  const ledger = await whenServerAnswers(place.ledgerUrl, patience, () => PostgresLedger.open(options));
  const firstStart = (await ledger.tenants()).length === 0;
  const replica = `${name}#${randomBytes(4).toString("hex")}`;
  return {
    folder,
    firstStart,
    clock,
    meters,
    ledger,
    auditKey: key,
    name,
    replica,
    ...(place.advertise === undefined ? {} : { advertised: place.advertise }),
    storeTime,
    keys: (setting) => ensureTenantsOnce(setting, { boxes: place.boxes !== 0, forgetFile: () => rmSync(folder.clientFile, { force: true }) }),
    close: async () => {
      await ledger.close();
      giveFree();
    },
  };
}

type OnCommit = (commit: { readonly units: number; readonly ms: number }) => void;

function meteredBy(meters: Meters): OnCommit {
  return (commit) => {
    meters.count("ledger_commits_total");
    meters.observe("ledger_commit_seconds", commit.ms / 1000);
    meters.observe("ledger_batch_size", commit.units);
  };
}

export function openLedger(folder: DataFolder, clock: Clock, log: Log, onCommit: OnCommit): SqliteLedger {
  return new SqliteLedger({
    path: folder.ledgerFile,
    auditKey: auditKey(folder),
    lane: "embedded",
    now: () => clock.now(),
    onError: (error) => log.error({ reason: String(error) }, "the ledger has trouble"),
    onCommit,
  });
}
