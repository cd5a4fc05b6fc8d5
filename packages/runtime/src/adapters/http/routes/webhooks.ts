// The routes about webhooks and what was delivered to them.
import { SignalboxError } from "@signalbox/protocol";
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { deliveryPage, madeWebhook, removedWebhook, webhookPage } from "../schemas/answers/webhooks.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { isMadeId, idInPath, pageQuery } from "../schemas/fields.ts";
import { refuseIdempotencyKey } from "../schemas/headers.ts";
import { deliveriesQuery, webhookBody } from "../schemas/webhooks.ts";
import { deliveryView, webhookView } from "../views/webhooks.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

async function add({ service, asked, body, message }: Ask): Promise<Answer> {
  refuseIdempotencyKey(message.headers);
  const { url, types = [] } = check(webhookBody, body, "body");
  const { webhook, secret } = await service.addWebhook(asked, url, types);
  return jsonAnswer(201, { ...webhookView(webhook), secret });
}

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  return pageById(await service.listWebhooks(asked), ({ webhookId }) => webhookId, webhookView, part);
}

async function remove({ service, asked, params }: Ask): Promise<Answer> {
  const id = params["id"] ?? "";
  if (!isMadeId(id)) throw new SignalboxError("webhook_not_found", "not a webhook id");
  await service.removeWebhook(asked, id);
  return jsonAnswer(200, { webhook_id: id, removed: true });
}

async function listDeliveries({ service, asked, query }: Ask): Promise<Answer> {
  const { webhook_id: webhookId, state, limit, cursor } = check(deliveriesQuery, query, "query");
  const page = await service.listDeliveries(asked, defined({ webhookId, state }), limit, cursor);
  return listAnswer(
    page.items.map((delivery) => JSON.stringify(deliveryView(delivery))),
    page.next,
  );
}

const addOperation: Operation = {
  id: "addWebhook",
  tag: "webhooks",
  summary: "Have somebody told of approvals",
  description: "The secret that signs what is posted is in this answer and nowhere else.",
  bodySchema: webhookBody,
  example: { url: "https://example.com/hooks", types: ["approval.requested"] },
  answers: { 201: json("The webhook with its secret", madeWebhook) },
  errors: ["conflict"],
};

const listOperation: Operation = {
  id: "listWebhooks",
  tag: "webhooks",
  summary: "List the tenant's webhooks",
  query: pageQuery,
  answers: { 200: json("One page of webhooks", webhookPage) },
};

const removeOperation: Operation = {
  id: "removeWebhook",
  tag: "webhooks",
  summary: "Have somebody told no more",
  params: { id: idInPath.describe("`webhook_id` of the webhook") },
  answers: { 200: json("It is gone", removedWebhook) },
  errors: ["webhook_not_found"],
};

const deliveriesOperation: Operation = {
  id: "listWebhookDeliveries",
  tag: "webhooks",
  summary: "List what was posted, and how far it has come",
  query: deliveriesQuery,
  answers: { 200: json("One page of deliveries", deliveryPage) },
};

export const webhookRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/webhooks", scope: "admin", body: "none", handle: list, operation: listOperation },
  { method: "POST", path: "/v1/webhooks", scope: "admin", body: "json", handle: add, operation: addOperation },
  {
    method: "DELETE",
    path: "/v1/webhooks/:id",
    scope: "admin",
    body: "none",
    handle: remove,
    operation: removeOperation,
  },
  {
    method: "GET",
    path: "/v1/webhooks::deliveries",
    scope: "admin",
    body: "none",
    handle: listDeliveries,
    operation: deliveriesOperation,
  },
];
