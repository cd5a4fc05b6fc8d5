// The routes about tools: search, read, register.
import { jsonAnswer, listAnswer } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { manifest, registeredTool, toolDetail, toolPage } from "../schemas/answers/tools.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { nameInPath } from "../schemas/fields.ts";
import { registerQuery, toolListing, toolQuery, toolsQuery } from "../schemas/tools.ts";
import { toolDetailView, toolView, versionView } from "../views/tools.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

const nameIn = (params: Ask["params"]): string => params["name"] ?? "";

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const { query: wanted, limit, cursor } = toolListing(query);
  const page = await service.listTools(asked, limit, cursor, wanted);
  return listAnswer(
    page.items.map((record) => JSON.stringify(toolView(record))),
    page.next,
  );
}

async function read({ service, asked, params, query }: Ask): Promise<Answer> {
  const { version } = check(toolQuery, query, "query");
  return jsonAnswer(200, toolDetailView(await service.getTool(asked, nameIn(params), version)));
}

async function register({ service, asked, query, body }: Ask): Promise<Answer> {
  const options = defined(check(registerQuery, query, "query"));
  const { version, alreadyThere, active, warnings } = await service.registerTool(asked, body, options);
  return jsonAnswer(alreadyThere ? 200 : 201, {
    ...versionView(version),
    active,
    already_there: alreadyThere,
    warnings,
  });
}

const listOperation: Operation = {
  id: "listTools",
  tag: "tools",
  summary: "List and search tools",
  query: toolsQuery,
  answers: { 200: json("One page of tools", toolPage) },
};

const registerOperation: Operation = {
  id: "registerTool",
  tag: "tools",
  summary: "Publish a version of a tool",
  query: registerQuery,
  bodySchema: manifest,
  example: {
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name: "report.build", version: "1.0.0", owner: "reports", description: "Builds the report of a month" },
    spec: { executor: { type: "worker" }, side_effect_class: "read_only", input: { type: "object" } },
  },
  answers: {
    200: json("The same manifest was registered before", registeredTool),
    201: json("The version is published", registeredTool),
  },
  errors: ["conflict", "tool_not_found", "policy_error"],
};

const getOperation: Operation = {
  id: "getTool",
  tag: "tools",
  summary: "Read a tool with one of its versions",
  params: { name: nameInPath.describe("The tool's name") },
  query: toolQuery,
  answers: { 200: json("The tool, the names of its versions, and one version whole", toolDetail) },
  errors: ["tool_not_found", "conflict"],
};

export const toolRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/tools", scope: "tools:read", body: "none", handle: list, operation: listOperation },
  {
    method: "PUT",
    path: "/v1/tools",
    scope: "tools:write",
    body: "manifest",
    handle: register,
    operation: registerOperation,
  },
  { method: "GET", path: "/v1/tools/:name", scope: "tools:read", body: "none", handle: read, operation: getOperation },
];
