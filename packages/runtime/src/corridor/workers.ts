// Connected workers as an operator sees them.
import { agentBackend } from "../dispatch/state.ts";
import type { Session } from "../dispatch/types.ts";
import type { WorkerView } from "../service.ts";
import { platformTenant, type Principal } from "../tenancy/types.ts";
import { limits } from "@signalbox/protocol";

/** The tenant's own workers and the platform's; to whoever asks for nobody, and to the platform itself, all of them. */
export function isSeen(workerTenant: string, tenant: string | undefined): boolean {
  return tenant === undefined || tenant === platformTenant || workerTenant === tenant || workerTenant === platformTenant;
}

/** The runtime's own part that runs agents as tools: it holds calls like a worker, and is nobody's process. */
export function isOwnPart({ identity, backends }: Pick<Session, "identity" | "backends">): boolean {
  return identity.inProcess === true && backends.includes(agentBackend);
}

/** The tenant's own workers and the platform's; of what the latter hold, its own calls alone are counted. */
export function workerViews(sessions: Iterable<Session>, principal: Principal, now: number): readonly WorkerView[] {
  const views: WorkerView[] = [];
  for (const session of sessions) {
    const { tenant } = session.identity;
    if (!session.registered || isOwnPart(session) || !isSeen(tenant, principal.tenant)) continue;
    const held = [...session.holding.values()].filter((one) => isSeen(one.tenant, principal.tenant));
    views.push({
      workerId: session.workerId,
      incarnation: session.incarnation,
      tenant,
      state: session.draining ? "draining" : now - session.lastHeardAt >= limits.workerSilentMs ? "silent" : "ready",
      capacity: session.capacity,
      holding: held.length,
      handlers: [...session.handlers.values()].map(({ tool, version, maxConcurrency }) => ({ tool, version, maxConcurrency })),
      connectedAt: session.connectedAt,
      lastHeardAt: session.lastHeardAt,
    });
  }
  return views.sort((a, b) => (a.workerId < b.workerId ? -1 : 1));
}
