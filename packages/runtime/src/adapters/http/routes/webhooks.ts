// The routes about webhooks and what was delivered to them.
import { SignalboxError } from "@signalbox/protocol";
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { isMadeId, pageQuery } from "../schemas/fields.ts";
import { refuseIdempotencyKey } from "../schemas/headers.ts";
import { deliveriesQuery, webhookBody } from "../schemas/webhooks.ts";
import { deliveryView, webhookView } from "../views/webhooks.ts";
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

export const webhookRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/webhooks", scope: "admin", body: "none", takesQuery: true, handle: list },
  { method: "POST", path: "/v1/webhooks", scope: "admin", body: "json", handle: add },
  { method: "DELETE", path: "/v1/webhooks/:id", scope: "admin", body: "none", handle: remove },
  {
    method: "GET",
    path: "/v1/webhooks::deliveries",
    scope: "admin",
    body: "none",
    takesQuery: true,
    handle: listDeliveries,
  },
];
