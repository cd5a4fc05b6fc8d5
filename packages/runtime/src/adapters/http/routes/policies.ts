// The routes about policies: publish, list, read, put in and out of force, defaults, explain, test.
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { pageQuery } from "../schemas/fields.ts";
import {
  onePolicyQuery,
  policyDefaultBody,
  policyQuery,
  policyQuestion,
  policyVersionBody,
  publishQuery,
  testBody,
} from "../schemas/policies.ts";
import {
  caseResultsView,
  explanationView,
  policyDefaultView,
  policyDetailJson,
  policyView,
  publishedView,
} from "../views/policies.ts";
import type { Ask, GuardedRoute } from "./route.ts";

const nameIn = (params: Ask["params"]): string => params["name"] ?? "";

async function publish({ service, asked, query, body }: Ask): Promise<Answer> {
  const { dry_run: dryRun } = check(publishQuery, query, "query");
  const published = await service.publishPolicy(asked, body, defined({ dryRun }));
  const stored = dryRun !== true && !published.alreadyThere;
  return jsonAnswer(stored ? 201 : 200, publishedView(published, dryRun === true));
}

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const page = await service.listPolicies(asked, policyQuery(query));
  return listAnswer(
    page.items.map((policy) => JSON.stringify(policyView(policy))),
    page.next,
  );
}

async function read({ service, asked, params, query }: Ask): Promise<Answer> {
  const { version, platform = false } = check(onePolicyQuery, query, "query");
  const { policy, versions } = await service.getPolicy(asked, nameIn(params), version, platform);
  return { status: 200, text: policyDetailJson(policy, versions) };
}

const setStatus =
  (status: "active" | "withdrawn") =>
  async ({ service, asked, params, body }: Ask): Promise<Answer> => {
    const { version } = check(policyVersionBody, body, "body");
    return jsonAnswer(200, policyView(await service.setPolicyStatus(asked, nameIn(params), version, status)));
  };

async function listDefaults({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  const levels = await service.policyDefaults(asked);
  return pageById(levels, ({ tenant, project }) => JSON.stringify([tenant, project]), policyDefaultView, part);
}

async function setDefault({ service, asked, body }: Ask): Promise<Answer> {
  const { project = "", decision } = check(policyDefaultBody, body, "body");
  return jsonAnswer(200, policyDefaultView(await service.setPolicyDefault(asked, project, decision)));
}

async function explain({ service, asked, body }: Ask): Promise<Answer> {
  return jsonAnswer(200, explanationView(await service.explainPolicy(asked, policyQuestion(body))));
}

async function test({ service, asked, body }: Ask): Promise<Answer> {
  const { cases, policies = [] } = check(testBody, body, "body");
  return jsonAnswer(200, caseResultsView(await service.testPolicies(asked, cases, policies)));
}

export const policyRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/policies", scope: "tools:read", body: "none", takesQuery: true, handle: list },
  { method: "PUT", path: "/v1/policies", scope: "policies:write", body: "manifest", takesQuery: true, handle: publish },
  { method: "GET", path: "/v1/policies/:name", scope: "tools:read", body: "none", takesQuery: true, handle: read },
  {
    method: "POST",
    path: "/v1/policies/:name/activate",
    scope: "policies:write",
    body: "json",
    handle: setStatus("active"),
  },
  {
    method: "POST",
    path: "/v1/policies/:name/withdraw",
    scope: "policies:write",
    body: "json",
    handle: setStatus("withdrawn"),
  },
  {
    method: "GET",
    path: "/v1/policies::defaults",
    scope: "tools:read",
    body: "none",
    takesQuery: true,
    handle: listDefaults,
  },
  { method: "PUT", path: "/v1/policies::defaults", scope: "policies:write", body: "json", handle: setDefault },
  { method: "POST", path: "/v1/policies::explain", scope: "tools:read", body: "json", handle: explain },
  { method: "POST", path: "/v1/policies::test", scope: "tools:read", body: "json", handle: test },
];
