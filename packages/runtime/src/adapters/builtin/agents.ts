// The in-process worker that runs agents as tools: every replica has one, and it serves all of them, of every tenant.
import { createPipe, stringifyWithBigInts, type FromRuntime, type WorkerMessage } from "@signalbox/protocol";
import { CallStopped, Worker, type BoxRunEnd, type ToolContext, type World } from "@signalbox/worker";
import type { Driver } from "../../corridor/driver.ts";
import { ChildFailed } from "../../corridor/sessions/child-failed.ts";
import type { ChildAnswer, ChildOrder } from "../../corridor/sessions/child.ts";
import { agentBackend } from "../../dispatch/state.ts";
import { platformTenant } from "../../tenancy/types.ts";

export interface AgentsServed {
  readonly driver: Driver;
  /** Of this replica; stands in the worker's id. */
  readonly name: string;
  runChild(order: ChildOrder): Promise<ChildAnswer>;
  /** Clocks, chance and timers, for tests. */
  readonly world?: World;
}

/** Each waits and does no work; where agents run agents, those above hold their slots while those below look for one. */
const capacity = 10_000;

export function serveAgents({ driver, name, runChild, world }: AgentsServed): Worker {
  return new Worker({
    workerId: `${name}-agents`,
    capacity,
    signals: false,
    log: () => undefined,
    ...(world === undefined ? {} : { world }),
    connect: () => {
      const [workerEnd, runtimeEnd] = createPipe<WorkerMessage, FromRuntime>();
      driver.attach(runtimeEnd, { tenant: platformTenant, principal: "service:signalbox", inProcess: true });
      return workerEnd;
    },
    boxes: { backends: [agentBackend], run: (ctx, started) => run(runChild, ctx, started) },
  });
}

/** What is thrown on loses the lease, and whoever takes the call up next finds the session again. */
async function run(runChild: AgentsServed["runChild"], ctx: ToolContext, started: () => void): Promise<BoxRunEnd> {
  const { callId, tenant } = ctx.invoke;
  started();
  try {
    const answer = await runChild({ tenant, callId, deadlineAt: ctx.deadline.getTime(), signal: ctx.signal, endsSession: () => isStopped(ctx.signal) });
    return { status: "succeeded", outputJson: stringifyWithBigInts(answer) };
  } catch (error) {
    if (!(error instanceof ChildFailed)) throw error;
    const { code, message, details } = error;
    return { status: "failed", error: { code, message, retryable: false, detailsJson: JSON.stringify(details) } };
  }
}

/** Somebody wants the call to end, or its time is over; a lost lease, or a process that leaves, says nothing about the call. */
function isStopped({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof CallStopped && (reason.reason === "cancel" || reason.reason === "timeout");
}
