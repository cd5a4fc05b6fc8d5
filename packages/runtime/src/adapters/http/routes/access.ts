// The routes about who may ask: keys and grants.
import { jsonAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { keysQuery, newGrant, newGrantBody, newKey, newKeyBody } from "../schemas/access.ts";
import { grant, grantPage, key, keyPage, madeKey } from "../schemas/answers/access.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { idInPath, pageQuery } from "../schemas/fields.ts";
import { refuseIdempotencyKey } from "../schemas/headers.ts";
import { grantView, keyView } from "../views/access.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

const idIn = (params: Ask["params"]): string => params["id"] ?? "";

async function createKey({ service, asked, body, message }: Ask): Promise<Answer> {
  refuseIdempotencyKey(message.headers);
  const { key, secret } = await service.createKey(asked, newKey(body));
  return jsonAnswer(201, { ...keyView(key), secret });
}

async function listKeys({ service, asked, query }: Ask): Promise<Answer> {
  const { limit, cursor, ...narrow } = check(keysQuery, query, "query");
  const keys = await service.listKeys(asked, defined(narrow));
  return pageById(keys, (key) => key.keyId, keyView, { limit, cursor });
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

const keyParam = { id: idInPath.describe("`key_id` of the key") };
const grantParam = { id: idInPath.describe("`grant_id` of the grant") };

const operations = {
  listKeys: {
    id: "listKeys",
    tag: "access",
    summary: "List the tenant's keys",
    query: keysQuery,
    answers: { 200: json("One page of keys", keyPage) },
  },
  createKey: {
    id: "createKey",
    tag: "access",
    summary: "Make a key",
    description: "Its secret is in this answer and nowhere else.",
    bodySchema: newKeyBody,
    example: { label: "nightly reports", principal: "service:reports", scopes: ["tools:invoke", "calls:read"] },
    answers: { 201: json("The key with its secret", madeKey) },
    errors: ["project_not_found", "conflict", "policy_error"],
  },
  revokeKey: {
    id: "revokeKey",
    tag: "access",
    summary: "Revoke a key for good",
    params: keyParam,
    answers: { 200: json("The revoked key", key) },
    errors: ["key_not_found"],
  },
  listGrants: {
    id: "listGrants",
    tag: "access",
    summary: "List the tenant's grants",
    query: pageQuery,
    answers: { 200: json("One page of grants", grantPage) },
  },
  createGrant: {
    id: "createGrant",
    tag: "access",
    summary: "Give permissions or roles to a principal",
    bodySchema: newGrantBody,
    example: { subject: "service:reports", permissions: ["tool:invoke:report.*"] },
    answers: { 201: json("The grant", grant) },
    errors: ["project_not_found", "conflict", "policy_error"],
  },
  revokeGrant: {
    id: "revokeGrant",
    tag: "access",
    summary: "Revoke a grant for good",
    params: grantParam,
    answers: { 200: json("The revoked grant", grant) },
    errors: ["grant_not_found"],
  },
} as const satisfies Record<string, Operation>;

export const accessRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/keys", scope: "admin", body: "none", handle: listKeys, operation: operations.listKeys },
  {
    method: "POST",
    path: "/v1/keys",
    scope: "admin",
    body: "json",
    handle: createKey,
    operation: operations.createKey,
  },
  {
    method: "DELETE",
    path: "/v1/keys/:id",
    scope: "admin",
    body: "none",
    handle: revokeKey,
    operation: operations.revokeKey,
  },
  {
    method: "GET",
    path: "/v1/grants",
    scope: "admin",
    body: "none",
    handle: listGrants,
    operation: operations.listGrants,
  },
  {
    method: "POST",
    path: "/v1/grants",
    scope: "admin",
    body: "json",
    handle: createGrant,
    operation: operations.createGrant,
  },
  {
    method: "DELETE",
    path: "/v1/grants/:id",
    scope: "admin",
    body: "none",
    handle: revokeGrant,
    operation: operations.revokeGrant,
  },
];
