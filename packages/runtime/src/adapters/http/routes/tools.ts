// The routes about tools: search, read, register.
import { jsonAnswer, listAnswer } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { registerQuery, toolListing, toolQuery } from "../schemas/tools.ts";
import { toolDetailView, toolView, versionView } from "../views/tools.ts";
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

export const toolRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/tools", scope: "tools:read", body: "none", takesQuery: true, handle: list },
  { method: "PUT", path: "/v1/tools", scope: "tools:write", body: "manifest", takesQuery: true, handle: register },
  { method: "GET", path: "/v1/tools/:name", scope: "tools:read", body: "none", takesQuery: true, handle: read },
];
