// The API as an OpenAPI 3.1 document, made from the route table: what documents a request is what checks it.
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import { packageBounds } from "../../../registry/package/bounds.ts";
import { version } from "../../../version.ts";
import { tags } from "../routes/operation.ts";
import type { AnswerDoc, Operation } from "../routes/operation.ts";
import type { GuardedRoute, Route } from "../routes/route.ts";
import type { JsonSchema } from "../schemas/told-as.ts";
import { errorResponses, sharedErrorResponses } from "./errors.ts";
import { SharedSchemas } from "./schemas.ts";

export type OpenApiDocument = Readonly<Record<string, unknown>>;

/** A route that stands in the document. */
type Told = Route & { readonly operation: Operation };

const about = `Calls tools for programs and models where keys, grants and policies allow it, puts calls to people where a rule
says so, and records what happened.

* Every answer has \`X-Request-Id\`; a request may bring its own.
* Every error is an \`ErrorAnswer\`; its \`code\` is stable, its \`retryable\` says whether the same request may be sent again.
* Numbers in arguments and results are passed on with all of their digits: read them with a parser that keeps them.
* Ids of other tenants are answered like ids that do not exist.
* The API changes by addition only: answers may gain fields, and errors codes. Requests are strict: an unknown field is refused by name.`;

/** @throws Error where the routes contradict one another: an id twice, a path's parameter without a schema */
export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const told = routes.filter((route): route is Told => route.operation !== null);
  const shared = new SharedSchemas();
  const paths: Record<string, Record<string, JsonSchema>> = {};
  const ids = new Set<string>();
  for (const route of told) {
    const { id } = route.operation;
    if (ids.has(id)) throw new Error(`two operations are called ${id}`);
    ids.add(id);
    (paths[documentPath(route.path)] ??= {})[route.method.toLowerCase()] = operationObject(route, shared);
  }
  const responses = sharedErrorResponses((schema) => shared.tell(schema, "answer"));
  const used = new Set(told.map(({ operation }) => operation.tag));
  return {
    openapi: "3.1.1",
    info: {
      title: "Signalbox",
      summary: "The tool runtime for AI agents",
      description: about,
      version,
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The runtime that serves this document" }],
    tags: Object.entries(tags)
      .filter(([name]) => used.has(name as keyof typeof tags))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: shared.all(),
      responses,
      headers,
      parameters: { RequestId: requestId },
      securitySchemes: { key },
    },
  };
}

/** As it is served and as it is kept in the repository. */
export function openApiText(routes: readonly Route[]): string {
  return `${JSON.stringify(openApiDocument(routes), null, 2)}\n`;
}

/** `/v1/executions/{id}`, `/v1/audit:verify`. */
export function documentPath(path: string): string {
  return path
    .replaceAll("::", "\0")
    .replaceAll(/:([a-z][A-Za-z_]*)/g, "{$1}")
    .replaceAll("\0", ":");
}

const key = {
  type: "http",
  scheme: "bearer",
  description: "A key of Signalbox (`signalbox keys create`). What it may ask for stands in its scopes.",
};

const requestId = {
  name: "X-Request-Id",
  in: "header",
  description:
    "The caller's own name for the request: 1 to 64 letters, digits, dots, hyphens and underscores; another is passed over",
  schema: { type: "string" },
};

const headers = {
  "X-Request-Id": { description: "Names the request", schema: { type: "string" } },
  "Retry-After": {
    description: "Seconds after which it is worth trying again",
    schema: { type: "integer", minimum: 0 },
  },
  "RateLimit-Limit": {
    description: "Of the tightest limit that the call has met: how much of it there is at most",
    schema: { type: "integer", minimum: 1 },
  },
  "RateLimit-Remaining": {
    description: "How much of it is left",
    schema: { type: "integer", minimum: 0 },
  },
  "RateLimit-Reset": {
    description: "Seconds until the whole of it is there again",
    schema: { type: "integer", minimum: 0 },
  },
  "WWW-Authenticate": { description: "The kind of credential that is asked for", schema: { type: "string" } },
  Location: { description: "The call's path", schema: { type: "string" } },
  "Idempotency-Replayed": {
    description: "There when the key named a call that existed",
    schema: { type: "string", const: "true" },
  },
};

function operationObject(route: Told, shared: SharedSchemas): JsonSchema {
  const { operation } = route;
  const { id, tag, summary } = operation;
  const body = route.scope === null ? undefined : requestBody(route, shared);
  const scopes = scopesOf(route);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...descriptionOf(route, scopes),
    ...(scopes.length === 0 ? {} : { "x-required-scope": scopes }),
    ...(operation.repeatable === true ? { "x-repeatable": true } : {}),
    // `{}` stands for no credential.
    security: route.scope !== null ? [{ key: [] }] : scopes.length === 0 ? [] : [{}, { key: [] }],
    parameters: [...parameters(route, shared), { $ref: "#/components/parameters/RequestId" }],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [status, response(answer, shared)]),
      ),
      ...errorResponses(route, (schema) => shared.tell(schema, "answer")),
    },
  };
}

/** Any one of them will do. */
function scopesOf(route: Route): readonly string[] {
  if (route.scope === null) return route.scopeOffLoopback === undefined ? [] : [route.scopeOffLoopback];
  return typeof route.scope === "string" ? [route.scope] : route.scope;
}

function descriptionOf(route: Told, scopes: readonly string[]): { readonly description?: string } {
  const { description } = route.operation;
  const asked = scopes.map((scope) => `\`${scope}\``).join(" or ");
  const open = "Without a credential where the runtime listens on a loopback address only; elsewhere it takes";
  const scope =
    asked === "" ? [] : [route.scope === null ? `${open} the scope ${asked}.` : `Takes the scope ${asked}.`];
  const parts = [...(description === undefined ? [] : [description]), ...scope];
  return parts.length === 0 ? {} : { description: parts.join("\n\n") };
}

function parameters(route: Told, shared: SharedSchemas): readonly JsonSchema[] {
  const { params = {}, query, headers: read = {} } = route.operation;
  const path = documentPath(route.path);
  const named = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = ""]) => name);
  if (String(named) !== String(Object.keys(params)))
    throw new Error(
      `${path} has the parameters ${named.join(", ")}, and schemas for ${Object.keys(params).join(", ")}`,
    );
  const { properties = {}, required = [] } = (query === undefined ? {} : shared.tell(query, "request")) as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly required?: readonly string[];
  };
  return [
    ...named.map((name) => parameter(name, "path", true, shared.tell(params[name] ?? z.never(), "request"))),
    ...Object.entries(properties).map(([name, schema]) => parameter(name, "query", required.includes(name), schema)),
    ...Object.entries(read).map(([name, schema]) => parameter(name, "header", false, shared.tell(schema, "request"))),
  ];
}

function parameter(name: string, place: string, required: boolean, told: JsonSchema): JsonSchema {
  const { description, ...schema } = told;
  const said = description === undefined ? {} : { description };
  return { name, in: place, ...said, ...(required ? { required } : {}), schema };
}

function requestBody(route: Told & GuardedRoute, shared: SharedSchemas): JsonSchema | undefined {
  const { bodySchema, example } = route.operation;
  if (route.body === "none") return undefined;
  if (route.body === "stream")
    return {
      description: `The content itself, of whatever type; at most ${packageBounds.fileBytesMax} bytes`,
      required: true,
      content: { "application/octet-stream": {} },
    };
  if (bodySchema === undefined) throw new Error(`${route.operation.id} takes a body that no schema tells of`);
  const media = { schema: shared.tell(bodySchema, "request"), ...(example === undefined ? {} : { example }) };
  const types = route.body === "manifest" ? ["application/json", "application/yaml"] : ["application/json"];
  const bytesMax = route.body === "manifest" ? limits.manifestBytesMax : limits.bodyBytesMax;
  return {
    description: `At most ${bytesMax} bytes`,
    required: route.body !== "optional",
    content: Object.fromEntries(types.map((type) => [type, media])),
  };
}

function response({ description, content, events, headers: own = [] }: AnswerDoc, shared: SharedSchemas): JsonSchema {
  const names = ["X-Request-Id", ...own];
  const told = Object.entries(content ?? {}).map(([type, schema]) => {
    const media: JsonSchema = { schema: shared.tell(schema, "answer") };
    return [type, type === "text/event-stream" ? { ...media, "x-events": eventsTold(events, shared) } : media];
  });
  return {
    description,
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    ...(told.length === 0 ? {} : { content: Object.fromEntries(told) as JsonSchema }),
  };
}

function eventsTold(events: AnswerDoc["events"], shared: SharedSchemas): JsonSchema {
  return Object.fromEntries(
    Object.entries(events ?? {}).map(([name, schema]) => [name, shared.tell(schema, "answer")]),
  );
}
