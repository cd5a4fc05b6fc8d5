// The routes about who may ask: keys and grants.
import { jsonAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { newGrant, newKey } from "../schemas/access.ts";
import { check } from "../schemas/check.ts";
import { pageQuery } from "../schemas/fields.ts";
import { refuseIdempotencyKey } from "../schemas/headers.ts";
import { grantView, keyView } from "../views/access.ts";
import type { Ask, GuardedRoute } from "./route.ts";

const idIn = (params: Ask["params"]): string => params["id"] ?? "";

async function createKey({ service, asked, body, message }: Ask): Promise<Answer> {
  refuseIdempotencyKey(message.headers);
  const { key, secret } = await service.createKey(asked, newKey(body));
  return jsonAnswer(201, { ...keyView(key), secret });
}

async function listKeys({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  return pageById(await service.listKeys(asked), (key) => key.keyId, keyView, part);
}

async function revokeKey({ service, asked, params }: Ask): Promise<Answer> {
  return jsonAnswer(200, keyView(await service.revokeKey(asked, idIn(params))));
}

async function createGrant({ service, asked, body, message }: Ask): Promise<Answer> {
  refuseIdempotencyKey(message.headers);
  return jsonAnswer(201, grantView(await service.createGrant(asked, newGrant(body))));
}

async function listGrants({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  return pageById(await service.listGrants(asked), (grant) => grant.grantId, grantView, part);
}

async function revokeGrant({ service, asked, params }: Ask): Promise<Answer> {
  return jsonAnswer(200, grantView(await service.revokeGrant(asked, idIn(params))));
}

export const accessRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/keys", scope: "admin", body: "none", takesQuery: true, handle: listKeys },
  { method: "POST", path: "/v1/keys", scope: "admin", body: "json", handle: createKey },
  { method: "DELETE", path: "/v1/keys/:id", scope: "admin", body: "none", handle: revokeKey },
  { method: "GET", path: "/v1/grants", scope: "admin", body: "none", takesQuery: true, handle: listGrants },
  { method: "POST", path: "/v1/grants", scope: "admin", body: "json", handle: createGrant },
  { method: "DELETE", path: "/v1/grants/:id", scope: "admin", body: "none", handle: revokeGrant },
];
