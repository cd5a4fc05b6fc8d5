// Holds real exchanges with the door against the API's document: every answer, and every request that was served.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

export type Schema = Readonly<Record<string, unknown>>;

export interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly "x-events"?: Readonly<Record<string, Schema>>;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, MediaType>>;
  readonly "x-error-codes"?: readonly string[];
}

export interface ParameterObject {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: true;
  readonly schema: Schema;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly parameters: readonly (ParameterObject | { readonly $ref: string })[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
}

export interface Document {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly parameters: Readonly<Record<string, ParameterObject>>;
  };
}

export const documentFile = fileURLToPath(new URL("../../docs/openapi.json", import.meta.url));

/** One request and its answer, as they went over the wire. */
export interface Exchange {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** What was sent as a JSON body; undefined: no body, or one that is no JSON. */
  readonly sent: string | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

interface Place {
  readonly method: string;
  readonly pattern: RegExp;
  readonly path: string;
  readonly operation: OperationObject;
}

export interface Conformance {
  /** @throws Error that names the operation and every place at which the exchange is not what the document says */
  check(exchange: Exchange): void;
  /** The answers that were checked, each as the operation's name and the status: `getTool 200`. */
  readonly met: ReadonlySet<string>;
}

/** @param document the API's own, unless a test makes another */
export function conformanceTo(document: Document = readDocument()): Conformance {
  const places = placesOf(document);
  const compile = compilerFor(document);
  const met = new Set<string>();
  return {
    met,
    check(exchange) {
      const problems = problemsOf(document, places, compile, exchange);
      const name = placeOf(places, exchange)?.operation.operationId;
      if (name !== undefined) met.add(`${name} ${exchange.status}`);
      if (problems.length === 0) return;
      const { method, path, status, text } = exchange;
      throw new Error(
        `${method} ${path} is not as docs/openapi.json says (npm run generate:openapi, if routes have changed):\n` +
          `${problems.map((problem) => `  ${problem}`).join("\n")}\n  answer ${status}: ${text.slice(0, 2_000)}`,
      );
    },
  };
}

export function readDocument(): Document {
  return JSON.parse(readFileSync(documentFile, "utf8")) as Document;
}

function placesOf(document: Document): readonly Place[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{[^}]+\}/g, "([^/]+)")}$`),
      operation,
    })),
  );
}

type Compile = (schema: Schema) => ValidateFunction;

/**
 * The document lets answers gain fields, for the sake of its readers. A field that it does not know is a mistake all the
 * same, so the schemas are closed here.
 */
function compilerFor(document: Document): Compile {
  const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true, coerceTypes: false });
  addFormats.default(ajv);
  for (const [name, schema] of Object.entries(document.components.schemas))
    ajv.addSchema({ ...here(closed(schema)), $id: uriOf(name) });
  const compiled = new Map<string, ValidateFunction>();
  return (schema) => {
    const text = JSON.stringify(schema);
    const known = compiled.get(text);
    if (known !== undefined) return known;
    const validate = ajv.compile(here(closed(schema)));
    compiled.set(text, validate);
    return validate;
  };
}

const uriOf = (name: string): string => `signalbox:${name}`;

/** References lead to where the compiler keeps the shared schemas. */
function here(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"signalbox:')) as Schema;
}

/** Every object of known fields takes no others. */
export function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T;
  if (typeof schema !== "object" || schema === null) return schema;
  const inside = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === "properties"
        ? Object.fromEntries(Object.entries(value as Schema).map(([name, one]) => [name, closed(one)]))
        : ["enum", "const", "default", "examples", "required"].includes(keyword)
          ? value
          : closed(value as unknown),
    ]),
  );
  const open = "properties" in inside && !("additionalProperties" in inside);
  return (open ? { ...inside, additionalProperties: false } : inside) as T;
}

function problemsOf(
  document: Document,
  places: readonly Place[],
  compile: Compile,
  exchange: Exchange,
): readonly string[] {
  const { status } = exchange;
  const place = placeOf(places, exchange);
  if (place === undefined) return strayProblems(compile, exchange);
  const name = place.operation.operationId;
  const response = resolved(document, place.operation.responses[status]);
  if (response === undefined) return [`${name} has no answer ${status}`];
  const problems = answerProblems(compile, response, exchange);
  const served = status >= 200 && status < 300;
  return [...problems, ...(served ? requestProblems(document, compile, place, exchange) : [])].map(
    (problem) => `${name} ${status}: ${problem}`,
  );
}

function placeOf(places: readonly Place[], { method, path }: Exchange): Place | undefined {
  const [bare = ""] = path.split("?", 1);
  return places.find((one) => one.method === method && one.pattern.test(bare));
}

/** What has no place in the document is not there. */
function strayProblems(compile: Compile, { status, text }: Exchange): readonly string[] {
  const validate = compile({ $ref: "#/components/schemas/ErrorAnswer" });
  const told = parsed(text);
  if (!validate(told)) return ["an answer beside the document is no ErrorAnswer"];
  const { code } = (told as { readonly error: { readonly code: string } }).error;
  const expected = (status === 404 && code === "route_not_found") || (status === 400 && code === "invalid_input");
  return expected
    ? []
    : [`no operation of the document has this method and path, and it is answered ${status} ${code}`];
}

function resolved(
  document: Document,
  response: ResponseObject | { readonly $ref: string } | undefined,
): ResponseObject | undefined {
  if (response === undefined || !("$ref" in response)) return response;
  return document.components.responses[response.$ref.replace("#/components/responses/", "")];
}

function answerProblems(compile: Compile, response: ResponseObject, exchange: Exchange): readonly string[] {
  const { headers, text } = exchange;
  const named = headers["x-request-id"] === undefined ? ["it has no X-Request-Id"] : [];
  const types = Object.keys(response.content ?? {});
  if (types.length === 0) return [...named, ...(text === "" ? [] : ["it has a body, and the document none"])];
  const [type = ""] = String(headers["content-type"]).split(";");
  const media = response.content?.[type];
  if (media === undefined) return [...named, `it is ${type}, and not ${types.join(" or ")}`];
  if (type === "text/event-stream") return [...named, ...streamProblems(compile, media, text)];
  if (type !== "application/json") return named;
  const told = parsed(text);
  const codes = response["x-error-codes"];
  const code = (told as { readonly error?: { readonly code?: string } } | undefined)?.error?.code;
  return [
    ...named,
    ...faultsOf(compile(media.schema ?? {}), told, "answer"),
    ...(codes === undefined || codes.includes(code ?? "") ? [] : [`the code ${code} is not among ${codes.join(", ")}`]),
  ];
}

/** Each event against the schema of its name; comments and `retry` are no events. */
function streamProblems(compile: Compile, media: MediaType, text: string): readonly string[] {
  return text.split("\n\n").flatMap((frame) => {
    const name = /^event: (.*)$/m.exec(frame)?.[1];
    const data = /^data: (.*)$/m.exec(frame)?.[1];
    if (name === undefined || data === undefined) return [];
    const schema = media["x-events"]?.[name];
    if (schema === undefined) return [`the event ${name} is not in the document`];
    return faultsOf(compile(schema), parsed(data), `event ${name}`);
  });
}

function requestProblems(
  document: Document,
  compile: Compile,
  { operation, path, pattern }: Place,
  exchange: Exchange,
): readonly string[] {
  const parameters = operation.parameters.map((one) =>
    "$ref" in one
      ? (document.components.parameters[one.$ref.replace("#/components/parameters/", "")] as ParameterObject)
      : one,
  );
  const [bare = "", query = ""] = exchange.path.split("?");
  const names = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = ""]) => name);
  const values = (pattern.exec(bare) ?? []).slice(1).map(decodeURIComponent);
  const sent = new Map<string, string>([
    ...names.map((name, index): [string, string] => [`path ${name}`, values[index] ?? ""]),
    ...[...new URLSearchParams(query)].map(([name, value]): [string, string] => [`query ${name}`, value]),
  ]);
  const known = new Map(parameters.map((one) => [`${one.in} ${one.name}`, one.schema]));
  const ofParameters = [...sent].flatMap(([name, value]) => {
    const schema = known.get(name);
    if (schema === undefined) return [`the parameter in ${name} is not in the document`];
    return faultsOf(compile(schema), typed(value, schema), `parameter in ${name}`);
  });
  const schema = operation.requestBody?.content["application/json"]?.schema;
  if (exchange.sent === undefined || schema === undefined) return ofParameters;
  return [...ofParameters, ...faultsOf(compile(schema), parsed(exchange.sent), "request")];
}

/** What a parameter's text stands for. */
function typed(text: string, { type }: Schema): unknown {
  if (type === "integer") return Number(text);
  return type === "boolean" && (text === "true" || text === "false") ? text === "true" : text;
}

function faultsOf(validate: ValidateFunction, value: unknown, what: string): readonly string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${what}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
