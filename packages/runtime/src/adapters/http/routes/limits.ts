// The routes about limits and usage: set and remove rates and quotas, read what was used.
import { jsonAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { limit, limitPage, removedLimit, usagePage } from "../schemas/answers/limits.ts";
import { check } from "../schemas/check.ts";
import {
  limitBody,
  limitsQuery,
  limitTarget,
  newLimit,
  putLimitQuery,
  removeLimitQuery,
  usageAsked,
  usageQuery,
} from "../schemas/limits.ts";
import { limitView, usageView } from "../views/limits.ts";
import { json, type Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const { tenant, ...part } = check(limitsQuery, query, "query");
  const limits = await service.listLimits(asked, tenant);
  return pageById(limits, ({ tenant: of, setBy, scope, subject }) => JSON.stringify([of, setBy, scope, subject]), limitView, part);
}

async function put({ service, asked, query, body }: Ask): Promise<Answer> {
  return jsonAnswer(200, limitView(await service.putLimit(asked, newLimit(query, body))));
}

async function remove({ service, asked, query }: Ask): Promise<Answer> {
  return jsonAnswer(200, await service.removeLimit(asked, limitTarget(query)));
}

async function usage({ service, asked, query }: Ask): Promise<Answer> {
  const { question, limit: rows, cursor } = usageAsked(query);
  const { items, next, timeZone } = await service.usage(asked, question, rows, cursor);
  return jsonAnswer(200, {
    items: items.map(usageView),
    next_cursor: next ?? null,
    group_by: question.groupBy,
    time_zone: timeZone,
  });
}

const listOperation: Operation = {
  id: "listLimits",
  tag: "limits",
  summary: "List the limits that hold for a tenant's calls",
  description: "Its own, what the operator set for it, and the platform's.",
  query: limitsQuery,
  answers: { 200: json("One page of limits", limitPage) },
  errors: ["tenant_not_found"],
};

const putOperation: Operation = {
  id: "putLimit",
  tag: "limits",
  summary: "Set a limit",
  description:
    "It holds from the next request on, and takes the place of what the same side, the operator or the tenant, has said of the same subject. " +
    "A call must pass all limits that match it. A tenant may not say more than what the operator has set for it.",
  query: putLimitQuery,
  bodySchema: limitBody,
  example: { scope: "tool", subject: "payments.charge", rate: { per_minute: 300, burst: 50 } },
  answers: { 200: json("The limit", limit) },
  errors: ["tenant_not_found", "project_not_found", "tool_not_found", "conflict"],
};

const removeOperation: Operation = {
  id: "removeLimit",
  tag: "limits",
  summary: "Remove a limit",
  query: removeLimitQuery,
  answers: { 200: json("Whether there was one", removedLimit) },
  errors: ["tenant_not_found"],
};

const usageOperation: Operation = {
  id: "getUsage",
  tag: "limits",
  summary: "Read what calls used",
  description:
    "A call counts on the day of its tenant on which it was admitted, from the commit on that ends it; so a day is not whole while calls of it are open.",
  query: usageQuery,
  answers: { 200: json("One page of usage", usagePage) },
  errors: ["tenant_not_found"],
};

export const limitRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/limits", scope: "admin", body: "none", handle: list, operation: listOperation },
  { method: "PUT", path: "/v1/limits", scope: "admin", body: "json", handle: put, operation: putOperation },
  { method: "DELETE", path: "/v1/limits", scope: "admin", body: "none", handle: remove, operation: removeOperation },
  { method: "GET", path: "/v1/usage", scope: "usage:read", body: "none", handle: usage, operation: usageOperation },
];
