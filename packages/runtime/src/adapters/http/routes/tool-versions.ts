// The routes about which version of a tool runs, and where: pin, roll back, deprecate, quarantine, enable.
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { pageQuery } from "../schemas/fields.ts";
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

const path = (action: string): string => `/v1/tools/:name/${action}`;

export const toolVersionRoutes: readonly GuardedRoute[] = [
  { method: "POST", path: path("activate"), scope: "tools:write", body: "json", handle: activate },
  { method: "GET", path: path("activations"), scope: "tools:read", body: "none", handle: listActivations },
  { method: "POST", path: path("rollback"), scope: "tools:write", body: "optional", handle: rollBack },
  { method: "POST", path: path("pin"), scope: "tools:write", body: "json", handle: pin },
  { method: "DELETE", path: path("pin"), scope: "tools:write", body: "none", handle: unpin },
  { method: "POST", path: path("deprecate"), scope: "tools:write", body: "json", handle: deprecate },
  { method: "POST", path: path("quarantine"), scope: "tools:write", body: "json", handle: quarantine },
  { method: "POST", path: path("release"), scope: "tools:write", body: "optional", handle: release },
  { method: "POST", path: path("enable"), scope: "tools:write", body: "optional", handle: setEnabled(true) },
  { method: "POST", path: path("disable"), scope: "tools:write", body: "optional", handle: setEnabled(false) },
  { method: "GET", path: "/v1/tools::pins", scope: "tools:read", body: "none", takesQuery: true, handle: listPins },
  {
    method: "GET",
    path: "/v1/tools::projects",
    scope: "tools:read",
    body: "none",
    takesQuery: true,
    handle: listProjectTools,
  },
];
