// The routes for whoever runs the runtime: audit, workers, status, health, metrics.
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { auditQuery } from "../schemas/audit.ts";
import { nothing, pageQuery } from "../schemas/fields.ts";
import { auditView } from "../views/audit.ts";
import { statusView, workerView } from "../views/operations.ts";
import type { Ask, GuardedRoute, OpenRoute } from "./route.ts";

async function listAudit({ service, asked, query }: Ask): Promise<Answer> {
  const { principal, action, execution_id: executionId, from, to, limit, cursor } = check(auditQuery, query, "query");
  const page = await service.listAudit(asked, defined({ principal, action, executionId, from, to }), limit, cursor);
  return listAnswer(
    page.items.map((record) => JSON.stringify(auditView(record))),
    page.next,
  );
}

async function verifyAudit({ service, asked, body }: Ask): Promise<Answer> {
  if (body !== undefined) check(nothing, body, "body");
  const { ok, records, lanes, problems } = await service.verifyAudit(asked);
  return jsonAnswer(200, { ok, records, lanes, problems });
}

async function listWorkers({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  return pageById(await service.listWorkers(asked), (worker) => worker.workerId, workerView, part);
}

async function status({ service }: Ask): Promise<Answer> {
  return jsonAnswer(200, statusView(service.status()));
}

export const operationRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/audit", scope: "audit:read", body: "none", takesQuery: true, handle: listAudit },
  { method: "POST", path: "/v1/audit::verify", scope: "audit:read", body: "optional", handle: verifyAudit },
  { method: "GET", path: "/v1/workers", scope: "calls:read", body: "none", takesQuery: true, handle: listWorkers },
  { method: "GET", path: "/v1/status", scope: "calls:read", body: "none", handle: status },
];

export const openRoutes: readonly OpenRoute[] = [
  /** Says that the process answers, and nothing more: a restart must not follow from a full disk. */
  { method: "GET", path: "/healthz", scope: null, answer: async () => jsonAnswer(200, { status: "ok" }) },
  {
    method: "GET",
    path: "/readyz",
    scope: null,
    answer: async (service) => {
      const { ready, reasons } = service.status();
      return jsonAnswer(ready ? 200 : 503, { ready, reasons });
    },
  },
  /** Labels name tools and tenants, so beyond the machine itself a credential is asked for. */
  {
    method: "GET",
    path: "/metrics",
    scope: null,
    scopeOffLoopback: "usage:read",
    answer: async (service) => ({
      status: 200,
      text: await service.metrics(),
      contentType: "text/plain; version=0.0.4; charset=utf-8",
    }),
  },
];
