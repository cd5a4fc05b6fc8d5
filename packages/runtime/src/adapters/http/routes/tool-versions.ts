// The routes about which version of a tool runs, and where: pin, roll back, deprecate, quarantine, enable.
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import {
  activationPage,
  projectTool,
  projectToolPage,
  quarantine as quarantineAnswer,
  rolledBackTool,
  tool as toolAnswer,
  toolPin,
  toolPinPage,
  toolVersion,
} from "../schemas/answers/tools.ts";
import { check } from "../schemas/check.ts";
import { nameInPath, pageQuery } from "../schemas/fields.ts";
import {
  activateBody,
  deprecateBody,
  enableBody,
  pinBody,
  quarantineBody,
  releaseBody,
  rollbackBody,
} from "../schemas/tools.ts";
import { activationView, pinView, projectToolView, toolView, versionView } from "../views/tools.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

const nameIn = (params: Ask["params"]): string => params["name"] ?? "";

async function activate({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version } = check(activateBody, body, "body");
  return jsonAnswer(200, toolView(await service.activateTool(asked, nameIn(params), version)));
}

async function pin({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version } = check(pinBody, body, "body");
  return jsonAnswer(200, pinView(await service.pinTool(asked, nameIn(params), version)));
}

async function unpin({ service, asked, params }: Ask): Promise<Answer> {
  return jsonAnswer(200, pinView(await service.pinTool(asked, nameIn(params), null)));
}

async function listPins({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  return pageById(await service.toolPins(asked), ({ tool }) => tool, pinView, part);
}

async function rollBack({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version } = check(rollbackBody, body ?? {}, "body");
  const { record, from } = await service.rollBackTool(asked, nameIn(params), version);
  return jsonAnswer(200, { ...toolView(record), from });
}

/** The newest ones, which are all that the runtime hands out; there is no second page. */
async function listActivations({ service, asked, params }: Ask): Promise<Answer> {
  const activations = await service.activations(asked, nameIn(params));
  return listAnswer(
    activations.map((one) => JSON.stringify(activationView(one))),
    undefined,
  );
}

async function deprecate({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version, deprecated = true } = check(deprecateBody, body, "body");
  return jsonAnswer(200, versionView(await service.deprecateTool(asked, nameIn(params), version, deprecated)));
}

async function quarantine({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version, reason } = check(quarantineBody, body, "body");
  const tool = nameIn(params);
  const { versions, denied } = await service.quarantineTool(asked, tool, version, { released: false, reason });
  return jsonAnswer(200, { tool, versions, denied });
}

async function release({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version, reason = "" } = check(releaseBody, body ?? {}, "body");
  const tool = nameIn(params);
  const { versions, denied } = await service.quarantineTool(asked, tool, version, { released: true, reason });
  return jsonAnswer(200, { tool, versions, denied });
}

const setEnabled =
  (enabled: boolean) =>
  async ({ service, asked, params, body }: Ask): Promise<Answer> => {
    const { project = asked.principal.project } = check(enableBody, body ?? {}, "body");
    return jsonAnswer(200, projectToolView(await service.enableTool(asked, project, nameIn(params), enabled)));
  };

async function listProjectTools({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  const rows = await service.projectTools(asked);
  return pageById(rows, ({ project, tool }) => JSON.stringify([project, tool]), projectToolView, part);
}

const toolParam = { name: nameInPath.describe("The tool's name") };

const operations = {
  activate: {
    id: "activateTool",
    repeatable: true,
    tag: "tools",
    summary: "Choose the version that runs where none is named",
    params: toolParam,
    bodySchema: activateBody,
    example: { version: "1.1.0" },
    answers: { 200: json("The tool", toolAnswer) },
    errors: ["tool_not_found", "conflict"],
  },
  listActivations: {
    id: "listToolActivations",
    tag: "tools",
    summary: "List which versions were chosen, newest first",
    params: toolParam,
    answers: { 200: json("The newest choices; there is no second page", activationPage) },
    errors: ["tool_not_found"],
  },
  rollBack: {
    id: "rollBackTool",
    tag: "tools",
    summary: "Go back to the version that ran before",
    params: toolParam,
    bodySchema: rollbackBody,
    example: { version: "1.0.0" },
    answers: { 200: json("The tool, and where it was before", rolledBackTool) },
    errors: ["tool_not_found", "conflict"],
  },
  pin: {
    id: "pinTool",
    repeatable: true,
    tag: "tools",
    summary: "Say which version the tenant's callers get that name none",
    params: toolParam,
    bodySchema: pinBody,
    example: { version: "^1.0.0" },
    answers: { 200: json("The pin", toolPin) },
    errors: ["tool_not_found", "conflict"],
  },
  unpin: {
    id: "unpinTool",
    tag: "tools",
    summary: "Take the pin away",
    params: toolParam,
    answers: { 200: json("The pin that is gone", toolPin) },
    errors: ["tool_not_found", "conflict"],
  },
  deprecate: {
    id: "deprecateTool",
    repeatable: true,
    tag: "tools",
    summary: "Let ranges pass over a version, or take that back",
    params: toolParam,
    bodySchema: deprecateBody,
    example: { version: "1.0.0" },
    answers: { 200: json("The version", toolVersion) },
    errors: ["tool_not_found", "conflict"],
  },
  quarantine: {
    id: "quarantineTool",
    repeatable: true,
    tag: "tools",
    summary: "Let a version run no more, whoever names it",
    params: toolParam,
    description: "What is queued or waits for people is denied; what runs goes on.",
    bodySchema: quarantineBody,
    example: { version: "1.1.0", reason: "it charges twice" },
    answers: { 200: json("What changed", quarantineAnswer) },
    errors: ["tool_not_found", "conflict"],
  },
  release: {
    id: "releaseTool",
    repeatable: true,
    tag: "tools",
    summary: "End a quarantine",
    params: toolParam,
    bodySchema: releaseBody,
    example: { version: "1.1.0", reason: "mended" },
    answers: { 200: json("What changed", quarantineAnswer) },
    errors: ["tool_not_found", "conflict"],
  },
  enable: {
    id: "enableTool",
    repeatable: true,
    tag: "tools",
    summary: "Let a project use a tool",
    params: toolParam,
    bodySchema: enableBody,
    example: { project: "default" },
    answers: { 200: json("What holds for the project", projectTool) },
    errors: ["tool_not_found", "project_not_found"],
  },
  disable: {
    id: "disableTool",
    repeatable: true,
    tag: "tools",
    summary: "Let a project not use a tool",
    params: toolParam,
    bodySchema: enableBody,
    example: { project: "default" },
    answers: { 200: json("What holds for the project", projectTool) },
    errors: ["tool_not_found", "project_not_found"],
  },
  listPins: {
    id: "listToolPins",
    tag: "tools",
    summary: "List the tenant's pins",
    query: pageQuery,
    answers: { 200: json("One page of pins", toolPinPage) },
  },
  listProjectTools: {
    id: "listProjectTools",
    tag: "tools",
    summary: "List which projects may, or may not, use which tools",
    query: pageQuery,
    answers: { 200: json("One page; what is not listed may be used", projectToolPage) },
  },
} as const satisfies Record<string, Operation>;

const path = (action: string): string => `/v1/tools/:name/${action}`;

export const toolVersionRoutes: readonly GuardedRoute[] = [
  {
    method: "POST",
    path: path("activate"),
    scope: "tools:write",
    body: "json",
    handle: activate,
    operation: operations.activate,
  },
  {
    method: "GET",
    path: path("activations"),
    scope: "tools:read",
    body: "none",
    handle: listActivations,
    operation: operations.listActivations,
  },
  {
    method: "POST",
    path: path("rollback"),
    scope: "tools:write",
    body: "optional",
    handle: rollBack,
    operation: operations.rollBack,
  },
  { method: "POST", path: path("pin"), scope: "tools:write", body: "json", handle: pin, operation: operations.pin },
  {
    method: "DELETE",
    path: path("pin"),
    scope: "tools:write",
    body: "none",
    handle: unpin,
    operation: operations.unpin,
  },
  {
    method: "POST",
    path: path("deprecate"),
    scope: "tools:write",
    body: "json",
    handle: deprecate,
    operation: operations.deprecate,
  },
  {
    method: "POST",
    path: path("quarantine"),
    scope: "tools:write",
    body: "json",
    handle: quarantine,
    operation: operations.quarantine,
  },
  {
    method: "POST",
    path: path("release"),
    scope: "tools:write",
    body: "optional",
    handle: release,
    operation: operations.release,
  },
  {
    method: "POST",
    path: path("enable"),
    scope: "tools:write",
    body: "optional",
    handle: setEnabled(true),
    operation: operations.enable,
  },
  {
    method: "POST",
    path: path("disable"),
    scope: "tools:write",
    body: "optional",
    handle: setEnabled(false),
    operation: operations.disable,
  },
  {
    method: "GET",
    path: "/v1/tools::pins",
    scope: "tools:read",
    body: "none",
    handle: listPins,
    operation: operations.listPins,
  },
  {
    method: "GET",
    path: "/v1/tools::projects",
    scope: "tools:read",
    body: "none",
    handle: listProjectTools,
    operation: operations.listProjectTools,
  },
];
