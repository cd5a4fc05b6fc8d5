// The API's document: it is what the routes say, it is valid OpenAPI 3.1, and what is not as it says is noticed.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { documentPath, openApiText } from "../packages/runtime/src/adapters/http/openapi/document.ts";
import { routeTable } from "../packages/runtime/src/adapters/http/routes/table.ts";
import {
  conformanceTo,
  documentFile,
  readDocument,
  type Exchange,
  type OperationObject,
  type ParameterObject,
  type Schema,
} from "./support/document.ts";
import { openApiShape } from "./support/openapi-shape.ts";

const document = readDocument();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const own = ({ parameters }: OperationObject): readonly ParameterObject[] =>
  parameters.filter((one): one is ParameterObject => !("$ref" in one));

type Placed = readonly [place: string, schema: Schema];

const wholeSchemas: readonly Placed[] = [
  ...Object.entries(document.components.schemas),
  ...operations.flatMap(({ operation }): Placed[] => [
    ...own(operation).map(({ name, schema }): Placed => [`${operation.operationId} ${name}`, schema]),
    ...Object.values(operation.requestBody?.content ?? {}).map(({ schema = {} }): Placed => [
      operation.operationId,
      schema,
    ]),
    ...Object.values(operation.responses).flatMap((response) =>
      "$ref" in response
        ? []
        : Object.values(response.content ?? {}).flatMap(({ schema = {}, "x-events": events = {} }) =>
            [schema, ...Object.values(events)].map((one): Placed => [operation.operationId, one]),
          ),
    ),
  ]),
];

/** The parts of schemas included. */
const schemas = wholeSchemas.flatMap(([place, schema]) => partsOf(place, schema));

function partsOf(place: string, schema: Schema): readonly Placed[] {
  const inside = Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === "properties")
      return Object.entries(value as Schema).map(([name, one]): [string, unknown] => [`${place}.${name}`, one]);
    if (["anyOf", "oneOf", "allOf"].includes(keyword))
      return (value as unknown[]).map((one): [string, unknown] => [`${place} ${keyword}`, one]);
    return ["items", "additionalProperties", "propertyNames"].includes(keyword)
      ? [[`${place} ${keyword}`, value] satisfies [string, unknown]]
      : [];
  });
  return [
    [place, schema],
    ...inside.flatMap(([at, one]) => (typeof one === "object" ? partsOf(at, one as Schema) : [])),
  ];
}

test("is what the routes say; else: npm run generate:openapi", () => {
  expect(readFileSync(documentFile, "utf8")).toBe(openApiText(routeTable));
});

test("has every route but the pages for people", () => {
  const told = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  const wanted = routeTable
    .filter(({ operation }) => operation !== null)
    .map(({ method, path }) => `${method} ${documentPath(path)}`);
  expect(told.toSorted()).toEqual(wanted.toSorted());
  expect(told).toContain("POST /v1/executions/{id}/cancel");
  expect(told).toContain("POST /v1/policies:explain");
  expect(routeTable.filter(({ operation }) => operation === null).every(({ path }) => path.startsWith("/docs"))).toBe(
    true,
  );
});

describe("is valid", () => {
  test("has the shape of OpenAPI 3.1", () => {
    const ajv = new Ajv2020({ strict: true, allErrors: true, strictRequired: false });
    const validate = ajv.compile(openApiShape);
    validate(document);
    expect(validate.errors).toBeNull();
  });

  test("every reference leads somewhere", () => {
    const text = readFileSync(documentFile, "utf8");
    const references = [...text.matchAll(/"\$ref": "([^"]+)"/g)].map(([, reference = ""]) => reference);
    expect(references.length).toBeGreaterThan(100);
    const lost = references.filter((reference) => {
      let here: unknown = document;
      for (const step of reference.replace(/^#\//, "").split("/")) here = (here as Schema | undefined)?.[step];
      return here === undefined;
    });
    expect(lost).toEqual([]);
  });

  test("every shared schema is used", () => {
    const text = readFileSync(documentFile, "utf8");
    const unused = Object.keys(document.components.schemas).filter(
      (name) => !text.includes(`"$ref": "#/components/schemas/${name}"`),
    );
    expect(unused).toEqual([]);
  });

  test("every schema compiles as JSON Schema 2020-12, and holds no word that is none", () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    addFormats.default(ajv);
    ajv.addKeyword("components");
    ajv.addSchema({ $id: "signalbox:document", components: document.components });
    for (const [, schema] of wholeSchemas) {
      const text = JSON.stringify(schema).replaceAll('"#/', '"signalbox:document#/');
      expect(() => ajv.compile(JSON.parse(text) as Schema)).not.toThrow();
    }
    const words = new Set(schemas.flatMap(([, schema]) => Object.keys(schema)));
    const known =
      "$ref additionalProperties anyOf const default description enum format items maxItems maxLength maximum minItems minLength minimum oneOf pattern properties propertyNames required type";
    expect([...words].toSorted().filter((word) => !known.split(" ").includes(word))).toEqual([]);
  });

  test("every operation has a name of its own, a chapter that is told, and its path's parameters", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = document.tags.map(({ name }) => name);
    for (const { path, operation } of operations) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
      expect(tags).toEqual(expect.arrayContaining([...operation.tags]));
      expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
      const inPath = own(operation).filter((one) => one.in === "path");
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual([...path.matchAll(/\{[^}]+\}/g)].map(([name]) => name));
      expect(Object.keys(operation.responses).some((status) => status.startsWith("2"))).toBe(true);
    }
  });

  test("every parameter, and every field of a request, is told in words", () => {
    const silent = [
      ...operations.flatMap(({ operation }) =>
        own(operation)
          .filter((one) => !("description" in one))
          .map(({ name }) => `${operation.operationId} ${name}`),
      ),
      ...schemas
        .filter(([, schema]) => schema["additionalProperties"] === false)
        .flatMap(([place, schema]) =>
          Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, Schema>>)
            .filter(([, field]) => !("description" in field) && !("$ref" in field))
            .map(([name]) => `${place}.${name}`),
        ),
    ];
    expect(silent).toEqual([]);
  });

  test("every shared schema is told in words", () => {
    const silent = Object.entries(document.components.schemas).filter(([, schema]) => !("description" in schema));
    expect(silent.map(([name]) => name)).toEqual([]);
  });

  test("every body of a request has an example that its schema takes", () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    addFormats.default(ajv);
    ajv.addKeyword("components");
    ajv.addSchema({ $id: "signalbox:document", components: document.components });
    const bodies = operations.flatMap(({ operation }) =>
      Object.entries(operation.requestBody?.content ?? {})
        .filter(([type]) => type !== "application/octet-stream")
        .map(([, media]) => ({ ...media, name: operation.operationId })),
    );
    expect(bodies.length).toBeGreaterThan(20);
    expect(bodies.filter(({ example }) => example === undefined).map(({ name }) => name)).toEqual([]);
    for (const { name, schema = {}, example } of bodies) {
      const text = JSON.stringify(schema).replaceAll('"#/', '"signalbox:document#/');
      const validate = ajv.compile(JSON.parse(text) as Schema);
      expect([name, validate(example), validate.errors]).toEqual([name, true, null]);
    }
  });

  test("requests are closed, answers may gain fields", () => {
    const closed = (name: string): unknown => document.components.schemas[name]?.["additionalProperties"];
    expect([closed("InvokeRequest"), closed("CallLimits"), closed("NewVote")]).toEqual([false, false, false]);
    expect([closed("Execution"), closed("Decision"), closed("ErrorAnswer")]).toEqual([undefined, undefined, undefined]);
  });
});

describe("what is not as it says is noticed", () => {
  const { check } = conformanceTo();
  const headers = { "x-request-id": "req_1", "content-type": "application/json; charset=utf-8" };
  const freeze = { tenant: "t", tool: "", reason: "", at: "2026-01-02T03:04:05.000Z", by: "user:a" };
  const frozen: Exchange = {
    method: "POST",
    path: "/v1/freezes",
    sent: '{"tool":"echo"}',
    status: 201,
    headers,
    text: JSON.stringify(freeze),
  };
  const refused = (code: string, more: object = {}): string =>
    JSON.stringify({
      error: { code, message: "no", type: "permission", retryable: false, details: {}, request_id: "r", ...more },
    });
  const listed: Exchange = {
    method: "GET",
    path: "/v1/freezes?limit=3",
    sent: undefined,
    status: 200,
    headers,
    text: JSON.stringify({ items: [freeze], next_cursor: null }),
  };
  const streamed: Exchange = {
    method: "GET",
    path: "/v1/executions/exec_1/stream?after_seq=2",
    sent: undefined,
    status: 200,
    headers: { "x-request-id": "req_1", "content-type": "text/event-stream; charset=utf-8" },
    text: 'retry: 1000\n\n: nothing new\n\nid: 3\nevent: stdout\ndata: {"seq":3,"ts":"2026-01-02T03:04:05.000Z","data":{"text":"a"}}\n\n',
  };

  test("what is as it says is passed", () => {
    check(frozen);
    check(listed);
    check(streamed);
    check({ ...frozen, sent: undefined });
    check({ ...frozen, status: 403, text: refused("forbidden") });
    check({ ...listed, path: "/v1/nothing", status: 404, text: refused("route_not_found") });
    check({ ...streamed, status: 204, text: "" });
  });

  test.each<[what: string, Partial<Exchange>]>([
    ["a field that is unknown", { text: JSON.stringify({ ...freeze, why: "" }) }],
    ["a field that is missing", { text: JSON.stringify({ ...freeze, by: undefined }) }],
    ["a field of another type", { text: JSON.stringify({ ...freeze, at: 5 }) }],
    ["an instant that is none", { text: JSON.stringify({ ...freeze, at: "yesterday" }) }],
    ["a body that is no JSON", { text: "{" }],
    ["another media type", { headers: { ...headers, "content-type": "text/plain" } }],
    ["a status that is unknown", { status: 200 }],
    ["an error of a code that the operation does not have", { status: 403, text: refused("policy_error") }],
    ["an error that says more", { status: 403, text: refused("forbidden", { stack: "at …" }) }],
    ["an answer without X-Request-Id", { headers: { "content-type": "application/json" } }],
    ["a request that was served and has an unknown field", { sent: '{"tool":"echo","force":true}' }],
    ["a query that was served and is unknown", { path: "/v1/freezes?force=true" }],
    ["a path that is served and unknown", { path: "/v1/thaw" }],
    ["a method that is served and unknown", { method: "DELETE" }],
  ])("%s", (_, change) => {
    expect(() => check({ ...frozen, ...change })).toThrow("is not as docs/openapi.json says");
  });

  test.each<[what: string, Partial<Exchange>]>([
    ["a list's item with an unknown field", { text: '{"items":[{"a":1}],"next_cursor":null}' }],
    ["a parameter of another type", { path: "/v1/freezes?limit=three" }],
    ["a page without its cursor", { text: '{"items":[]}' }],
  ])("%s", (_, change) => {
    expect(() => check({ ...listed, ...change })).toThrow("listFreezes 200");
  });

  test.each<[what: string, Partial<Exchange>]>([
    ["an event of an unknown name", { text: streamed.text.replace("stdout", "stdin") }],
    ["an event with other data", { text: streamed.text.replace('"text"', '"words"') }],
    ["a body where there is none", { status: 204 }],
  ])("%s", (_, change) => {
    expect(() => check({ ...streamed, ...change })).toThrow("streamExecution 20");
  });
});
