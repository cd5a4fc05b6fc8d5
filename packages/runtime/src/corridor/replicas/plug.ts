// Plugs a replica that shares its ledger into the rest of the corridor.
import type { GovernorPorts } from "../governor.ts";
import type { Approvals } from "../approvals.ts";
import type { Limits } from "../limits.ts";
import type { Streams } from "../streams.ts";
import type { Webhooks } from "../webhooks.ts";
import type { ReplicaPorts } from "./ports.ts";
import { Replicas } from "./replicas.ts";

type Given = Pick<ReplicaPorts, "replica" | "grpcAddress" | "storeTime" | "ledger" | "driver" | "log" | "meters">;

interface Plugged extends GovernorPorts, Given {
  readonly ledger: ReplicaPorts["ledger"];
  readonly hub: ReplicaPorts["hub"];
  readonly streams: Streams;
  readonly limits: Limits;
  readonly approvals: Approvals;
  readonly webhooks: Webhooks;
  sessionHeard(tenant: string, sessionId: string): void;
}

/** How long the one that delivers for all may be silent before another one does. */
const deliversMs = 5_000;

export function replicasOf(parts: Plugged): Replicas {
  const { replica, ledger, hub, driver, clock, log, meters, catalog, streams, limits, approvals, webhooks } = parts;
  const replicas = new Replicas({
    replica,
    ledger,
    hub,
    driver,
    clock,
    log,
    meters,
    grpcAddress: () => parts.grpcAddress(),
    storeTime: (storeNow, asked, heard) => parts.storeTime(storeNow, asked, heard),
    factsFor: (call) => catalog.factsFor(call),
    recoverStream: (call) => streams.recover(call),
    leaveStream: (tenant, callId) => streams.moved(tenant, callId),
    streamSaid: (tenant, callId) => streams.keptElsewhere(tenant, callId),
    caps: () => limits.book.quotasNamed("concurrentExecutions"),
    reloadGovernance: () => reload(parts),
    sweepApprovals: () => approvals.sweep(),
    sessionHeard: (tenant, sessionId) => parts.sessionHeard(tenant, sessionId),
    async deliver() {
      if (await ledger.hold("webhooks", replica, deliversMs)) webhooks.start();
      else webhooks.rest();
    },
  });
  driver.share(replicas);
  return replicas;
}

/** Brakes first: what is to stop must not start by what is read after them. */
async function reload({ ledger, hub, catalog, directory, policies, limits, clock, driver }: Plugged): Promise<void> {
  const pulled = hub.brakesPulled;
  const [freezes, tenants] = await Promise.all([ledger.freezes(), ledger.tenants()]);
  hub.brakesAre(pulled, freezes, new Set(tenants.flatMap(({ tenant, suspendedAt }) => (suspendedAt === null ? [] : [tenant]))), clock.now());
  catalog.forgetAll();
  directory.allChanged();
  await policies.load(ledger);
  await limits.load();
  driver.pump();
}
