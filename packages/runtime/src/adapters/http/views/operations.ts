// Workers and the runtime's own state as callers see them.
import { iso } from "../../../call/view.ts";
import type { RuntimeStatus, WorkerView } from "../../../service.ts";

export function workerView(worker: WorkerView): Record<string, unknown> {
  // What serves a kind of box stands in the hub as a handler without a tool.
  const [handlers, boxes] = [
    worker.handlers.filter(({ tool }) => tool !== ""),
    worker.handlers.filter(({ tool }) => tool === ""),
  ];
  return {
    worker_id: worker.workerId,
    incarnation: worker.incarnation,
    state: worker.state,
    capacity: worker.capacity,
    holding: worker.holding,
    handlers: handlers.map(({ tool, version, maxConcurrency }) => ({
      tool,
      version,
      max_concurrency: maxConcurrency,
    })),
    boxes: boxes.map(({ version }) => version),
    connected_at: iso(worker.connectedAt),
    last_heard_at: iso(worker.lastHeardAt),
  };
}

export function statusView(status: RuntimeStatus): Record<string, unknown> {
  return {
    version: status.version,
    replica: status.replica,
    started_at: iso(status.startedAt),
    ready: status.ready,
    draining: status.draining,
    reasons: status.reasons,
    calls: status.calls,
    workers: status.workers,
  };
}
