// Both doors have the same rooms behind them: every route has one rpc, and their messages have the fields of the route's schemas.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { GuardedRoute } from "../../http/routes/route.ts";
import { routeTable, writtenPath } from "../../http/routes/table.ts";
import { toldAs } from "../../http/schemas/told-as.ts";
import type { FieldPlan, MessagePlan } from "./plan.ts";
import { rpcs } from "./rpcs.ts";
import type { Rpc } from "./rpcs.ts";

const guarded = routeTable.filter((route): route is GuardedRoute => route.scope !== null);
const own = rpcs.filter(({ variant }) => !variant);
const titleOf = ({ name, route }: Rpc): string => `${name} · ${route.method} ${writtenPath(route)}`;

test("there is something to compare", () => {
  expect(guarded.length).toBeGreaterThan(50);
  expect(own.map(({ name }) => name)).toContain("ToolRuntime.Invoke");
});

test.each(guarded.map((route) => [`${route.method} ${writtenPath(route)}`, route] as const))(
  "%s has exactly one rpc",
  (_, route) => {
    expect(own.filter((rpc) => rpc.route === route)).toHaveLength(1);
  },
);

test("another way into a route goes into one that has an rpc of its own", () => {
  const others = rpcs.filter(({ variant }) => variant);
  expect(others.map(({ name }) => name)).toEqual(["ToolRuntime.InvokeStream", "ToolRuntime.InvokeMany", "Sessions.Attach"]);
  for (const { route } of others) expect(own.some((rpc) => rpc.route === route)).toBe(true);
});

type Schema = Readonly<Record<string, unknown>>;

function jsonSchema(schema: z.ZodType, io: "input" | "output"): Schema {
  const { $defs = {}, ...made } = z.toJSONSchema(schema, {
    io,
    reused: "inline",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema: made }) => {
      const told = toldAs.get(zodSchema);
      if (told === undefined) return;
      for (const key of Object.keys(made)) delete (made as Record<string, unknown>)[key];
      Object.assign(made, told.schema);
    },
  }) as Schema & { readonly $defs?: Readonly<Record<string, Schema>> };
  return inlined(made, $defs) as Schema;
}

/** Schemas with a name stand beside those that have them as a part; here they stand in their place. */
function inlined(value: unknown, $defs: Readonly<Record<string, Schema>>): unknown {
  if (Array.isArray(value)) return value.map((one) => inlined(one, $defs));
  if (typeof value !== "object" || value === null) return value;
  const { $ref, ...rest } = value as { readonly $ref?: string };
  const here = $ref === undefined ? rest : { ...$defs[$ref.replace("#/$defs/", "")], ...rest };
  return Object.fromEntries(Object.entries(here).map(([key, one]) => [key, inlined(one, $defs)]));
}

const keysOf = (schema: z.ZodType | undefined): string[] =>
  schema === undefined ? [] : Object.keys((jsonSchema(schema, "input")["properties"] ?? {}) as object);

describe("requests have the fields that their routes take", () => {
  test.each(own.map((rpc) => [titleOf(rpc), rpc] as const))("%s", (_, rpc) => {
    const { route, input } = rpc;
    const params = [...rpc.params.keys()];
    const plain = input.fields.filter(({ nullOf, place }) => nullOf === undefined && place !== "header");
    const rest = plain.filter(({ name }) => !params.includes(name));
    expect(params).toHaveLength(writtenPath(route).split(/\/:(?=[a-z])/).length - 1);
    const inQuery = route.method === "GET" || route.method === "DELETE";
    const query = rest.filter(({ place }) => place === "query" || inQuery).map(({ name }) => name);
    expect(query.sort()).toEqual(keysOf(route.operation?.query).sort());
    const body = rest.filter(({ place }) => place === undefined && !inQuery).map(({ name }) => name);
    // What makes a stream of an answer is another rpc here.
    const taken = keysOf(route.operation?.bodySchema).filter((key) => key !== "stream");
    const document = rest.filter(({ place }) => place === "content");
    if (route.body === "manifest") expect([document.length, body]).toEqual([1, []]);
    else if (route.body !== "stream") expect(body.sort()).toEqual(taken.sort());
  });

  test.each(own.map((rpc) => [titleOf(rpc), rpc] as const))("%s, in their types", (_, rpc) => {
    const { bodySchema } = rpc.route.operation ?? {};
    if (bodySchema === undefined || rpc.route.body === "manifest") return;
    const { properties = {}, required = [] } = jsonSchema(bodySchema, "input") as {
      properties?: Record<string, Schema>;
      required?: string[];
    };
    for (const [name, schema] of Object.entries(properties)) {
      const field = rpc.input.byName.get(name);
      if (field === undefined || field.kind === "json") continue;
      // Lists, maps and messages can be absent whether they may or not.
      const plain = field.many === "one" && field.kind !== "message";
      if (plain) expect([name, !field.presence]).toEqual([name, required.includes(name) && !isNullable(schema)]);
      expect(differences(field, withoutNull(schema), name)).toEqual([]);
    }
  });
});

describe("answers have the fields that their routes give", () => {
  test.each(own.map((rpc) => [titleOf(rpc), rpc] as const))("%s", (_, rpc) => {
    const answers = Object.entries(rpc.route.operation?.answers ?? {}).flatMap(([, { content = {} }]) => {
      const schema = content["application/json"];
      return schema === undefined ? [] : [jsonSchema(schema, "output")];
    });
    const isStream = rpc.kind === "server_streaming";
    expect(answers.length > 0).toBe(!isStream);
    for (const answer of answers) expect(messageDifferences(rpc.output, answer, rpc.name, "")).toEqual([]);
  });
});

/** @param from empty for a request */
function messageDifferences(plan: MessagePlan, schema: Schema, from: string, path: string): string[] {
  if (plan.unwrapped !== undefined) return differences(plan.unwrapped, schema, path, from);
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, Schema>>;
  const required = (schema["required"] ?? []) as readonly string[];
  const missing = Object.keys(properties).filter((name) => !plan.byName.has(name));
  const here = plan.fields.filter(({ onlyFrom }) => onlyFrom.length === 0 || onlyFrom.includes(from));
  return [
    ...missing.map((name) => `${plan.name} lacks ${path}/${name}`),
    ...here.flatMap((field) => {
      const place = `${path}/${field.name}`;
      const one = properties[field.name];
      // An answer that is one form of several has fields that others lack.
      if (one === undefined) return field.required ? [`${place} is in ${plan.name} alone`] : [];
      const always = required.includes(field.name);
      if (field.kind !== "json" && field.onlyFrom.length === 0 && field.required !== always)
        return [`${place}: required in one of them alone`];
      if (field.kind !== "json" && field.nullable !== isNullable(one)) return [`${place}: null in one of them alone`];
      return differences(field, withoutNull(one), place, from);
    }),
  ];
}

const isNullable = (schema: Schema): boolean =>
  schema["type"] === "null" ||
  (Array.isArray(schema["type"]) && schema["type"].includes("null")) ||
  ((schema["anyOf"] ?? []) as readonly Schema[]).some((one) => one["type"] === "null");

function withoutNull(schema: Schema): Schema {
  const [one] = ((schema["anyOf"] ?? []) as readonly Schema[]).filter(({ type }) => type !== "null");
  const { type } = schema;
  if (!Array.isArray(type)) return one ?? schema;
  return { ...schema, type: type.find((name) => name !== "null") as unknown };
}

/** What may be one of several objects has the fields of all of them, and those always that all of them have. */
function united(schema: Schema): Schema {
  const forms = schema["oneOf"] as readonly Schema[] | undefined;
  if (forms === undefined) return schema;
  const [first, ...others] = forms.map((form) => (form["required"] ?? []) as readonly string[]);
  const properties = Object.assign({}, ...forms.map((form) => form["properties"])) as Schema;
  return {
    type: "object",
    properties,
    required: first?.filter((name) => others.every((names) => names.includes(name))),
  };
}

function differences(field: FieldPlan, schema: Schema, path: string, from = ""): string[] {
  const wrong = [
    `${path}: ${field.many === "one" ? field.kind : field.many} does not stand for ${JSON.stringify(schema)}`,
  ];
  const { type } = schema;
  if (field.kind === "message" && field.message?.unwrapped !== undefined && field.many === "one")
    return differences(field.message.unwrapped, schema, path, from);
  if (field.many === "list") {
    const items = schema["items"] as Schema | undefined;
    return type === "array" && items !== undefined
      ? differences({ ...field, many: "one" }, items, `${path}[]`, from)
      : wrong;
  }
  if (field.many === "map") {
    // A map may stand for an object whose names are known.
    const values = [
      schema["additionalProperties"],
      ...Object.values((schema["properties"] ?? {}) as Schema),
    ] as Schema[];
    const given = values.filter((one) => typeof one === "object");
    if (type !== "object" || given.length === 0) return wrong;
    return given.flatMap((one) => differences({ ...field, many: "one" }, one, `${path}{}`, from));
  }
  if (field.kind === "json") return [];
  if (schema["oneOf"] !== undefined) return differences(field, united(schema), path, from);
  if (field.kind === "message") {
    if (type !== "object" || field.message === undefined) return wrong;
    // Any object at all, as far as the schema goes.
    if (schema["properties"] === undefined) return [];
    return messageDifferences(field.message, schema, from, path);
  }
  const named = typeof type === "string" ? type : typeof schema["const"];
  return kinds[field.kind].includes(named) ? [] : wrong;
}

const kinds = {
  string: ["string"],
  bytes: ["string"],
  bool: ["boolean"],
  int: ["integer"],
  double: ["number", "integer"],
};
