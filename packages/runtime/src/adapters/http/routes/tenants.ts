// The routes about tenants: for the platform's operator, and for a tenant's administrators to read their own.
import { jsonAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { keysQuery, newKey, newKeyBody } from "../schemas/access.ts";
import { key, keyPage, madeKey } from "../schemas/answers/access.ts";
import { madeTenant, tenant, tenantPage } from "../schemas/answers/tenants.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { idInPath, nameInPath, pageQuery } from "../schemas/fields.ts";
import { refuseIdempotencyKey } from "../schemas/headers.ts";
import { newTenantOf, tenantBody, tenantChangeBody, tenantChangeOf } from "../schemas/tenants.ts";
import { keyView } from "../views/access.ts";
import { madeTenantView, tenantView } from "../views/tenants.ts";
import { json, type Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

const tenantIn = (params: Ask["params"]): string => params["tenant"] ?? "";

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  return pageById(await service.listTenants(asked), (it) => it.tenant, tenantView, part);
}

async function create({ service, asked, body, message }: Ask): Promise<Answer> {
  refuseIdempotencyKey(message.headers);
  return jsonAnswer(201, madeTenantView(await service.createTenant(asked, newTenantOf(body))));
}

async function read({ service, asked, params }: Ask): Promise<Answer> {
  return jsonAnswer(200, tenantView(await service.getTenant(asked, tenantIn(params))));
}

async function change({ service, asked, params, body }: Ask): Promise<Answer> {
  return jsonAnswer(200, tenantView(await service.changeTenant(asked, tenantIn(params), tenantChangeOf(body))));
}

async function listKeys({ service, asked, params, query }: Ask): Promise<Answer> {
  const { limit, cursor, ...narrow } = check(keysQuery, query, "query");
  const keys = await service.listTenantKeys(asked, tenantIn(params), defined(narrow));
  return pageById(keys, ({ keyId }) => keyId, keyView, { limit, cursor });
}

async function createKey({ service, asked, params, body, message }: Ask): Promise<Answer> {
  refuseIdempotencyKey(message.headers);
  const made = await service.createTenantKey(asked, tenantIn(params), newKey(body));
  return jsonAnswer(201, { ...keyView(made.key), secret: made.secret });
}

async function revokeKey({ service, asked, params }: Ask): Promise<Answer> {
  return jsonAnswer(200, keyView(await service.revokeTenantKey(asked, tenantIn(params), params["id"] ?? "")));
}

const one = "/v1/tenants/:tenant";
const tenantParam = { tenant: nameInPath.describe("Its name") };
const ofTenant = { tag: "tenants", params: tenantParam, errors: ["tenant_not_found"] } as const;

const listOperation: Operation = {
  id: "listTenants",
  tag: "tenants",
  summary: "List tenants by name: the operator's key sees all, others their own",
  query: pageQuery,
  answers: { 200: json("One page of tenants", tenantPage) },
};

const createOperation: Operation = {
  id: "createTenant",
  tag: "tenants",
  summary: "Make a tenant with the project `default` and a first key",
  bodySchema: tenantBody,
  example: { tenant: "acme", admin: { principal: "user:ann" } },
  answers: { 201: json("The tenant, and the secret of its first key, shown this once", madeTenant) },
  errors: ["conflict"],
};

const readOperation: Operation = {
  ...ofTenant,
  id: "getTenant",
  summary: "Read a tenant",
  answers: { 200: json("The tenant", tenant) },
};

const changeOperation: Operation = {
  ...ofTenant,
  id: "changeTenant",
  summary: "Weigh, suspend or resume a tenant",
  description:
    "A suspended tenant's keys are refused with `forbidden` and the reason `tenant_suspended`; what runs goes on to its end, what waits goes on when it is resumed.",
  bodySchema: tenantChangeBody,
  example: { suspended: true, reason: "the contract has ended" },
  answers: { 200: json("The tenant as it is now", tenant) },
};

const listKeysOperation: Operation = {
  ...ofTenant,
  id: "listTenantKeys",
  summary: "List the keys of a tenant",
  query: keysQuery,
  answers: { 200: json("One page of keys", keyPage) },
};

const createKeyOperation: Operation = {
  ...ofTenant,
  id: "createTenantKey",
  summary: "Make a key of a tenant",
  bodySchema: newKeyBody,
  example: { label: "Ann, who lost hers", principal: "user:ann", scopes: ["*"] },
  answers: { 201: json("The key with its secret, shown this once", madeKey) },
  errors: ["tenant_not_found", "conflict"],
};

const revokeKeyOperation: Operation = {
  ...ofTenant,
  id: "revokeTenantKey",
  summary: "End a key of a tenant for good",
  params: { ...tenantParam, id: idInPath.describe("`key_id` of the key") },
  answers: { 200: json("The key as it is now", key) },
  errors: ["tenant_not_found", "key_not_found"],
};

type Told = Pick<GuardedRoute, "method" | "path" | "body" | "handle" | "operation">;
const route = (told: Told): GuardedRoute => ({ scope: "admin", ...told });

// Keys of a named tenant stand below it, and `/v1/keys` stays the caller's own tenant always: there no field, forgotten or
// smuggled in, can reach into another one.
export const tenantRoutes: readonly GuardedRoute[] = [
  route({ method: "GET", path: "/v1/tenants", body: "none", handle: list, operation: listOperation }),
  route({ method: "POST", path: "/v1/tenants", body: "json", handle: create, operation: createOperation }),
  route({ method: "GET", path: one, body: "none", handle: read, operation: readOperation }),
  route({ method: "PUT", path: one, body: "json", handle: change, operation: changeOperation }),
  route({ method: "GET", path: `${one}/keys`, body: "none", handle: listKeys, operation: listKeysOperation }),
  route({ method: "POST", path: `${one}/keys`, body: "json", handle: createKey, operation: createKeyOperation }),
  route({
    method: "DELETE",
    path: `${one}/keys/:id`,
    body: "none",
    handle: revokeKey,
    operation: revokeKeyOperation,
  }),
];
