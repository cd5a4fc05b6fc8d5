// One of several replicas of the simulator: the real hub, driver, governor, approvals and replicas' part over the shared store.
import { argsOf } from "../../packages/runtime/src/corridor/args.ts";
import { AgentBook } from "../../packages/runtime/src/corridor/sessions/agent-book.ts";
import { Approvals } from "../../packages/runtime/src/corridor/approvals.ts";
import { Driver } from "../../packages/runtime/src/corridor/driver.ts";
import type { Consult } from "../../packages/runtime/src/corridor/driver-ports.ts";
import { lookAgain, type GovernorPorts } from "../../packages/runtime/src/corridor/governor.ts";
import type { PolicyBook } from "../../packages/runtime/src/corridor/policy-book.ts";
import { Refusals } from "../../packages/runtime/src/corridor/refusals.ts";
import { Replicas } from "../../packages/runtime/src/corridor/replicas/replicas.ts";
import { keptResult } from "../../packages/runtime/src/corridor/result-cache.ts";
import { triggersOf } from "../../packages/runtime/src/corridor/triggers.ts";
import { Hub } from "../../packages/runtime/src/dispatch/hub.ts";
import type { CapBook } from "../../packages/runtime/src/dispatch/types.ts";
import type { SharedLedger } from "../../packages/runtime/src/ledger/shared.ts";
import { FairLine } from "../../packages/runtime/src/schedule/fair-line.ts";
import type { Random } from "../walk/random.ts";
import type { Link } from "../walk/sim-link.ts";
import { facts, hubLimits } from "../walk/sim-replica.ts";
import { BarredCatalog, hash, openDirectory, tenant } from "../walk/sim-rules.ts";
import type { SimTime } from "../walk/sim-time.ts";
import type { Spans } from "../walk/spans.ts";
import { Connection, type SharedStore } from "./shared-store.ts";
import { sharedLedgerOf } from "./sim-shared-ledger.ts";
import { SimProcess } from "./sim-process.ts";
import { makeSessions, type SimSessions } from "./sim-sessions.ts";

export interface SimReplica {
  readonly name: string;
  /** Where it stands among the replicas: a restart takes the same place under another name. */
  readonly place: number;
  readonly process: SimProcess;
  readonly connection: Connection;
  readonly driver: Driver;
  readonly hub: Hub;
  readonly approvals: Approvals;
  readonly governing: GovernorPorts;
  readonly replicas: Replicas;
  readonly refusals: Refusals;
  readonly ledger: SharedLedger;
  /** Undefined: none are driven in this episode. */
  readonly sessions: SimSessions | undefined;
  readonly links: Set<Link>;
  readonly life: { readonly alive: boolean };
  /** Its doors are open. */
  open: boolean;
}

export interface SimReplicaParts {
  readonly name: string;
  readonly place: number;
  readonly skewMs: number;
  readonly time: SimTime;
  readonly random: Random;
  readonly store: SharedStore;
  readonly policies: PolicyBook;
  readonly barred: Spans;
  readonly withSessions: boolean;
  /** Calls at work at once. */
  readonly cap: () => number;
  /** Errors that the process logs. */
  heard(fields: object, message: string): void;
}

const meters = { count() {}, observe() {}, text: async () => "" };

export function makeReplica(parts: SimReplicaParts): SimReplica {
  const { name, place, store, random, policies } = parts;
  const process = new SimProcess(parts.time, parts.skewMs);
  const { clock } = process;
  const connection = new Connection(store, process, name);
  const ledger = sharedLedgerOf(store, process, connection);
  const hub = new Hub(name, hubLimits, new FairLine(), clock.now());
  const log = { info() {}, warn() {}, error: (fields: object, message: string) => process.alive && parts.heard(fields, message) };
  const catalog = new BarredCatalog((tool) => parts.barred.holds(tool));
  const governing: GovernorPorts = { hub, ledger, catalog, directory: openDirectory, policies, agents: new AgentBook(ledger), clock };
  const driver = new Driver({ hub, ledger, clock, meters, log, factsFor: async () => facts, consult: consultOf(governing, () => approvals, (call) => sessions?.driver.told(call)) });
  const chance = { bytes: (count: number) => Uint8Array.from({ length: count }, () => random.below(256)) };
  const approvals = new Approvals({ ...governing, driver, chance, hash, meters, log, noticed: () => undefined, closed: (approval) => sessions?.driver.closed(approval) });
  const replicas = new Replicas({
    replica: name,
    grpcAddress: () => String(place),
    ledger,
    hub,
    driver,
    clock,
    // Its clock stays as wrong as it is.
    storeTime: () => undefined,
    log,
    meters,
    factsFor: async () => facts,
    recoverStream: async () => void (await ledger.attempts(tenant, "")),
    leaveStream: () => undefined,
    streamSaid: () => undefined,
    caps: () => (parts.cap() === Number.POSITIVE_INFINITY ? [] : [{ tenant, project: null, max: parts.cap() }]),
    reloadGovernance: () => readBrakes(store, connection, { hub, driver, clock }, capsOf(parts)),
    sweepApprovals: () => approvals.sweep(),
    sessionHeard: (of, sessionId) => sessions?.driver.heard(of, sessionId),
    deliver: async () => void (await ledger.hold("webhooks", name, 5_000)),
  });
  driver.share(replicas);
  const refusals = new Refusals({ ledger, clock, meters, log });
  const admin = { ...governing, ledger, driver, approvals, refusals, chance, hash, meters };
  const sessions = parts.withSessions ? makeSessions({ ...admin, replica: name, log, process, shared: store, random }) : undefined;
  return { name, place, process, connection, driver, hub, approvals, governing, replicas, refusals, ledger, sessions, links: new Set(), life: process, open: false };
}

function consultOf(governing: GovernorPorts, approvals: () => Approvals, told: Consult["told"]): Consult {
  return {
    async recheck(call) {
      const look = await lookAgain(governing, call, argsOf(call));
      if (!look.ok) return { error: look.error };
      const answer = await keptResult(governing, call);
      return answer === null ? look.clearance : { ...look.clearance, answer };
    },
    endApproval: (call, happening) => approvals().endWithCall(call, happening),
    trigger: (call, outcome) => approvals().trigger(call, outcome),
    said: () => undefined,
    given: () => undefined,
    told,
    vet: async () => [],
  };
}

/** As the runtime starts: it says that it lives before it reads anything, and opens its doors last. */
export async function startReplica(parts: SimReplicaParts, replica: SimReplica): Promise<void> {
  const { hub, driver, replicas, process, connection, approvals } = replica;
  await replicas.start();
  const current = parts.policies.current();
  if (current.ok) hub.triggersAre(triggersOf(current.set));
  await readBrakes(parts.store, connection, { hub, driver, clock: process.clock }, capsOf(parts));
  await approvals.sweep();
  replica.sessions?.driver.start(false);
  replica.open = true;
}

function capsOf({ cap }: SimReplicaParts): CapBook {
  return {
    get any() {
      return cap() < Number.POSITIVE_INFINITY;
    },
    concurrentMax: () => cap(),
    concurrentMaxOfProject: () => Number.POSITIVE_INFINITY,
  };
}

async function readBrakes(store: SharedStore, connection: Connection, to: Pick<SimReplica, "hub" | "driver"> & Pick<SimProcess, "clock">, caps: CapBook): Promise<void> {
  const pulled = to.hub.brakesPulled;
  const found = await connection.ask(() => [...store.freezes]);
  const freezes = found.map((key) => ({ tenant: key.slice(0, key.indexOf(" ")), tool: key.slice(key.indexOf(" ") + 1) }));
  to.hub.brakesAre(pulled, freezes, new Set(), to.clock.now());
  to.hub.newEpoch();
  to.hub.capsAre(caps, to.clock.now());
  to.driver.pump();
}

/** A worker's stream as the process has it: through its gate both ways. */
export function attach({ driver, process, links }: SimReplica, link: Link): void {
  links.add(link);
  const { runtimeEnd } = link;
  const stream: typeof runtimeEnd = {
    send: (message) => process.effect(() => runtimeEnd.send(message)),
    close: (reason) => process.effect(() => runtimeEnd.close(reason)),
    listen: (on) =>
      runtimeEnd.listen({
        message: (message) => process.pass(() => on.message(message)),
        closed: (reason) => {
          links.delete(link);
          process.pass(() => on.closed(reason));
        },
      }),
  };
  process.pass(() => driver.attach(stream, { tenant, principal: "service:worker" }));
}
