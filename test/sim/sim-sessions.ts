// The sessions of one replica of the simulator: the real driver and service over the replica's parts, and a model that takes its time.
import type { AdminPorts } from "../../packages/runtime/src/corridor/admin.ts";
import { Locks } from "../../packages/runtime/src/corridor/locks.ts";
import type { Log } from "../../packages/runtime/src/corridor/ports.ts";
import type { SessionDriver } from "../../packages/runtime/src/corridor/sessions/driver.ts";
import { sessionsOf } from "../../packages/runtime/src/corridor/sessions/plug.ts";
import { sessionService } from "../../packages/runtime/src/corridor/sessions/service.ts";
import type { SharedLedger } from "../../packages/runtime/src/ledger/shared.ts";
import type { SessionService } from "../../packages/runtime/src/service-sessions.ts";
import type { Random } from "../walk/random.ts";
import type { SharedStore } from "./shared-store.ts";
import { simModel } from "./sim-agents.ts";
import type { SimProcess } from "./sim-process.ts";

export interface SimSessions {
  readonly driver: SessionDriver;
  readonly service: SessionService;
  readonly leaving: AbortController;
}

type Given = Omit<AdminPorts, "limits" | "counting" | "store" | "draining" | "base64url" | "ledger"> & {
  readonly ledger: SharedLedger;
  readonly replica: string;
  readonly log: Log;
  readonly process: SimProcess;
  readonly shared: SharedStore;
  readonly random: Random;
};

/** Nobody's calls are limited here, and none has files. */
const unlimited = { charge: () => ({ rate: null, keep: () => undefined, settle: () => undefined }), requireRoom: () => undefined } as unknown as AdminPorts["limits"];
const noFiles = {} as AdminPorts["store"];

export function makeSessions({ replica, log, process, shared, random, ...given }: Given): SimSessions {
  const leaving = new AbortController();
  const asked = ({ key }: { readonly key: string }): void => shared.trail.asked(replica, key);
  const model = simModel({ time: shared.time, random, process, asked });
  const admin: AdminPorts = { ...given, limits: unlimited, store: noFiles, counting: new Locks(), draining: leaving.signal, base64url: () => "" };
  const { driver, parts } = sessionsOf({ admin, log, replica, models: () => model, shared: given.ledger });
  const service = sessionService({ ...parts, paging: () => Promise.reject(new Error("nobody turns pages here")) });
  return { driver, service, leaving };
}
