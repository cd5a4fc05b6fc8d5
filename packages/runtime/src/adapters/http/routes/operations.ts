// The routes for whoever runs the runtime: audit, workers, status, health, metrics.
import { z } from "zod";
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import {
  auditPage,
  auditVerdict,
  health,
  readiness,
  status as statusAnswer,
  workerPage,
} from "../schemas/answers/operations.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { auditQuery } from "../schemas/audit.ts";
import { nothing, pageQuery } from "../schemas/fields.ts";
import { auditView } from "../views/audit.ts";
import { statusView, workerView } from "../views/operations.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
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

async function status({ service, asked }: Ask): Promise<Answer> {
  return jsonAnswer(200, statusView(service.status(asked)));
}

const auditOperation: Operation = {
  id: "listAudit",
  tag: "operations",
  summary: "List the tenant's audit records, newest first",
  query: auditQuery,
  answers: { 200: json("One page of records", auditPage) },
};

const verifyOperation: Operation = {
  id: "verifyAudit",
  repeatable: true,
  tag: "operations",
  summary: "Check that nobody changed the audit",
  bodySchema: nothing,
  example: {},
  answers: { 200: json("Whether the chain holds, and where it does not", auditVerdict) },
};

const workersOperation: Operation = {
  id: "listWorkers",
  tag: "operations",
  summary: "List connected workers",
  query: pageQuery,
  answers: { 200: json("One page of workers", workerPage) },
};

const statusOperation: Operation = {
  id: "getStatus",
  tag: "operations",
  summary: "Read the runtime's own state",
  answers: { 200: json("Its version, its calls and its workers", statusAnswer) },
};

export const operationRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/audit", scope: "audit:read", body: "none", handle: listAudit, operation: auditOperation },
  {
    method: "POST",
    path: "/v1/audit::verify",
    scope: "audit:read",
    body: "optional",
    handle: verifyAudit,
    operation: verifyOperation,
  },
  {
    method: "GET",
    path: "/v1/workers",
    scope: "calls:read",
    body: "none",
    handle: listWorkers,
    operation: workersOperation,
  },
  { method: "GET", path: "/v1/status", scope: "calls:read", body: "none", handle: status, operation: statusOperation },
];

const metricsType = "text/plain; version=0.0.4; charset=utf-8";

export const openRoutes: readonly OpenRoute[] = [
  /** Says that the process answers, and nothing more: a restart must not follow from a full disk. */
  {
    method: "GET",
    path: "/healthz",
    scope: null,
    operation: {
      id: "getHealth",
      tag: "operations",
      summary: "Ask whether the process answers",
      answers: { 200: json("It does", health) },
    },
    answer: async () => jsonAnswer(200, { status: "ok" }),
  },
  {
    method: "GET",
    path: "/readyz",
    scope: null,
    operation: {
      id: "getReadiness",
      tag: "operations",
      summary: "Ask whether calls are taken",
      answers: { 200: json("They are", readiness), 503: json("They are not, and why", readiness) },
    },
    answer: async (service) => {
      const { ready, reasons } = service.status();
      return jsonAnswer(ready ? 200 : 503, { ready, reasons });
    },
  },
  /** They count for all tenants and name their tools, so beyond the machine itself they are the operator's. */
  {
    method: "GET",
    path: "/metrics",
    scope: null,
    scopeOffLoopback: "usage:read",
    operatorOffLoopback: true,
    operation: {
      id: "getMetrics",
      tag: "operations",
      summary: "Read the runtime's measures",
      answers: { 200: { description: "In Prometheus' text format", content: { "text/plain": z.string() } } },
    },
    answer: async (service) => ({ status: 200, text: await service.metrics(), contentType: metricsType }),
  },
];
