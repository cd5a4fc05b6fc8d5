// Connected workers as an operator sees them.
import type { Session } from "../dispatch/types.ts";
import type { WorkerView } from "../service.ts";
import { platformTenant, type Principal } from "../tenancy/types.ts";
import { limits } from "@signalbox/protocol";

/** The tenant's own workers and the platform's. */
export function workerViews(sessions: Iterable<Session>, principal: Principal, now: number): readonly WorkerView[] {
  const views: WorkerView[] = [];
  for (const session of sessions) {
    const { tenant } = session.identity;
    if (!session.registered || (tenant !== principal.tenant && tenant !== platformTenant)) continue;
    views.push({
      workerId: session.workerId,
      incarnation: session.incarnation,
      tenant,
      state: session.draining ? "draining" : now - session.lastHeardAt >= limits.workerSilentMs ? "silent" : "ready",
      capacity: session.capacity,
      holding: session.holding.size,
      handlers: [...session.handlers.values()].map(({ tool, version, maxConcurrency }) => ({ tool, version, maxConcurrency })),
      connectedAt: session.connectedAt,
      lastHeardAt: session.lastHeardAt,
    });
  }
  return views.sort((a, b) => (a.workerId < b.workerId ? -1 : 1));
}
