// The routes about agents: publish, list, read, choose which version runs, take versions out of use, look back.
import type { Scope } from "../../../tenancy/types.ts";
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import {
  agentDiffQuery,
  agentPageQuery,
  agentQuery,
  agentVersionBody,
  archiveAgentBody,
  deprecateAgentBody,
  publishAgentQuery,
  rollBackAgentBody,
} from "../schemas/agents.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { agentChangeView, agentDetailView, agentDiffView, agentLineView, agentVersionView, agentView, publishedAgentView } from "../views/agents.ts";
import { agentOperations as operations } from "./agents-operations.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

const nameIn = (params: Ask["params"]): string => params["name"] ?? "";

async function publish({ service, asked, query, body }: Ask): Promise<Answer> {
  const { dry_run: dryRun, comment } = check(publishAgentQuery, query, "query");
  const published = await service.publishAgent(asked, body, defined({ dryRun, comment }));
  const stored = dryRun !== true && !published.alreadyThere;
  return jsonAnswer(stored ? 201 : 200, publishedAgentView(published, dryRun === true));
}

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const { limit, cursor } = check(agentPageQuery, query, "query");
  const page = await service.listAgents(asked, limit, cursor);
  return listAnswer(
    page.items.map((record) => JSON.stringify(agentView(record))),
    page.next,
  );
}

async function read({ service, asked, params, query }: Ask): Promise<Answer> {
  const { version } = check(agentQuery, query, "query");
  return jsonAnswer(200, agentDetailView(await service.getAgent(asked, nameIn(params), version)));
}

/** Ids of a page count down, so that the newest stands first and what is published meanwhile shifts nothing; all are of one length. */
const placesMax = 999_999;

async function listVersions({ service, asked, params, query }: Ask): Promise<Answer> {
  const part = check(agentPageQuery, query, "query");
  const { record, versions } = await service.agentVersions(asked, nameIn(params));
  const placed = versions.map((version, place) => ({ version, id: String(placesMax - place) }));
  return pageById(placed, ({ id }) => id, ({ version }) => agentLineView(record, version), part);
}

async function deploy({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version, comment = "" } = check(agentVersionBody, body, "body");
  return jsonAnswer(200, agentView(await service.deployAgent(asked, nameIn(params), version, comment)));
}

async function rollBack({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version, comment = "" } = check(rollBackAgentBody, body ?? {}, "body");
  const { record, from } = await service.rollBackAgent(asked, nameIn(params), version, comment);
  return jsonAnswer(200, { ...agentView(record), from });
}

async function deprecate({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version, deprecated = true, comment = "" } = check(deprecateAgentBody, body, "body");
  return jsonAnswer(200, agentVersionView(await service.deprecateAgent(asked, nameIn(params), version, deprecated, comment)));
}

async function retire({ service, asked, params, body }: Ask): Promise<Answer> {
  const { version, comment = "" } = check(agentVersionBody, body, "body");
  return jsonAnswer(200, agentVersionView(await service.retireAgent(asked, nameIn(params), version, comment)));
}

const setArchived =
  (archived: boolean) =>
  async ({ service, asked, params, body }: Ask): Promise<Answer> => {
    const { comment = "" } = check(archiveAgentBody, body ?? {}, "body");
    return jsonAnswer(200, agentView(await service.archiveAgent(asked, nameIn(params), archived, comment)));
  };

async function diff({ service, asked, params, query }: Ask): Promise<Answer> {
  const { from, to } = check(agentDiffQuery, query, "query");
  return jsonAnswer(200, agentDiffView(await service.diffAgent(asked, nameIn(params), from, to)));
}

/** The newest ones, which are all that the runtime hands out; there is no second page. */
async function history({ service, asked, params }: Ask): Promise<Answer> {
  const changes = await service.agentHistory(asked, nameIn(params));
  return listAnswer(
    changes.map((one) => JSON.stringify(agentChangeView(one))),
    undefined,
  );
}

const readScope: readonly [Scope, ...Scope[]] = ["tools:read", "sessions:read"];

const reads = (path: string, operation: Operation, handle: GuardedRoute["handle"]): GuardedRoute => ({
  method: "GET",
  path,
  scope: readScope,
  body: "none",
  handle,
  operation,
});

const writes = (verb: string, body: "json" | "optional", operation: Operation, handle: GuardedRoute["handle"]): GuardedRoute => ({
  method: "POST",
  path: `/v1/agents/:name/${verb}`,
  scope: "tools:write",
  body,
  handle,
  operation,
});

export const agentRoutes: readonly GuardedRoute[] = [
  reads("/v1/agents", operations.list, list),
  { method: "PUT", path: "/v1/agents", scope: "tools:write", body: "manifest", handle: publish, operation: operations.publish },
  reads("/v1/agents/:name", operations.get, read),
  reads("/v1/agents/:name/versions", operations.versions, listVersions),
  writes("deploy", "json", operations.deploy, deploy),
  writes("rollback", "optional", operations.rollBack, rollBack),
  writes("deprecate", "json", operations.deprecate, deprecate),
  writes("retire", "json", operations.retire, retire),
  writes("archive", "optional", operations.archive, setArchived(true)),
  writes("unarchive", "optional", operations.unarchive, setArchived(false)),
  reads("/v1/agents/:name/diff", operations.diff, diff),
  reads("/v1/agents/:name/history", operations.history, history),
];
