// The routes about policies: publish, list, read, put in and out of force, defaults, explain, test.
import { jsonAnswer, listAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import {
  caseResults,
  explanation,
  policy,
  policyDefault,
  policyDefaultPage,
  policyDetail,
  policyPage,
  publishedPolicy,
} from "../schemas/answers/policies.ts";
import { manifest } from "../schemas/answers/tools.ts";
import { check } from "../schemas/check.ts";
import { defined } from "../schemas/defined.ts";
import { nameInPath, pageQuery } from "../schemas/fields.ts";
import {
  explainBody,
  onePolicyQuery,
  policiesQuery,
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
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
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

const policyParam = { name: nameInPath.describe("The policy's name") };

const operations = {
  list: {
    id: "listPolicies",
    tag: "policies",
    summary: "List versions of policies",
    query: policiesQuery,
    answers: { 200: json("One page of policies", policyPage) },
  },
  publish: {
    id: "publishPolicy",
    tag: "policies",
    summary: "Publish a version of a policy and put it in force",
    query: publishQuery,
    bodySchema: manifest,
    example: {
      apiVersion: "signalbox.dev/v1",
      kind: "Policy",
      metadata: { name: "payments-need-a-person", version: "1.0.0", level: "tenant" },
      spec: {
        match: { tools: ["payments.*"] },
        when: "args.amount > 1000.0",
        missing: "match",
        then: {
          decision: "require_approval",
          reason: "Payments above 1000 need a person",
          approval: { route: "finance" },
        },
      },
    },
    answers: {
      200: json("It was published before, or was only tried", publishedPolicy),
      201: json("It is in force", publishedPolicy),
    },
    errors: ["conflict", "project_not_found"],
  },
  get: {
    id: "getPolicy",
    tag: "policies",
    summary: "Read a policy with its document",
    params: policyParam,
    query: onePolicyQuery,
    answers: { 200: json("One version of it", policyDetail) },
    errors: ["policy_not_found"],
  },
  activate: {
    id: "activatePolicy",
    repeatable: true,
    tag: "policies",
    summary: "Put an older version in force again",
    params: policyParam,
    bodySchema: policyVersionBody,
    example: { version: "1.0.0" },
    answers: { 200: json("The version", policy) },
    errors: ["policy_not_found", "conflict"],
  },
  withdraw: {
    id: "withdrawPolicy",
    repeatable: true,
    tag: "policies",
    summary: "Take a version out of force",
    params: policyParam,
    bodySchema: policyVersionBody,
    example: { version: "1.0.0" },
    answers: { 200: json("The version", policy) },
    errors: ["policy_not_found", "conflict"],
  },
  listDefaults: {
    id: "listPolicyDefaults",
    tag: "policies",
    summary: "List what levels say where none of their rules matches",
    query: pageQuery,
    answers: { 200: json("One page of defaults", policyDefaultPage) },
  },
  setDefault: {
    id: "setPolicyDefault",
    tag: "policies",
    summary: "Say what a level decides where none of its rules matches",
    bodySchema: policyDefaultBody,
    example: { project: "default", decision: "deny" },
    answers: { 200: json("The default", policyDefault) },
    errors: ["project_not_found"],
  },
  explain: {
    id: "explainPolicy",
    repeatable: true,
    tag: "policies",
    summary: "Ask what would be decided about a call, and why",
    bodySchema: explainBody,
    example: { tool: "payments.charge", input: { amount: 1500, currency: "EUR", payee: "Studio Nine" } },
    answers: { 200: json("Every rule that concerns the call", explanation) },
    errors: ["tool_not_found", "project_not_found", "policy_error", "integrity_violation"],
  },
  test: {
    id: "testPolicies",
    repeatable: true,
    tag: "policies",
    summary: "Run cases against the rules in force, or as they would be",
    bodySchema: testBody,
    example: {
      cases: {
        cases: [
          {
            name: "a payment above 1000",
            call: { tool: "payments.charge", args: { amount: 1500 } },
            expect: { decision: "require_approval" },
          },
        ],
      },
    },
    answers: { 200: json("What came of each case", caseResults) },
  },
} as const satisfies Record<string, Operation>;

export const policyRoutes: readonly GuardedRoute[] = [
  {
    method: "GET",
    path: "/v1/policies",
    scope: "tools:read",
    body: "none",
    handle: list,
    operation: operations.list,
  },
  {
    method: "PUT",
    path: "/v1/policies",
    scope: "policies:write",
    body: "manifest",
    handle: publish,
    operation: operations.publish,
  },
  {
    method: "GET",
    path: "/v1/policies/:name",
    scope: "tools:read",
    body: "none",
    handle: read,
    operation: operations.get,
  },
  {
    method: "POST",
    path: "/v1/policies/:name/activate",
    scope: "policies:write",
    body: "json",
    handle: setStatus("active"),
    operation: operations.activate,
  },
  {
    method: "POST",
    path: "/v1/policies/:name/withdraw",
    scope: "policies:write",
    body: "json",
    handle: setStatus("withdrawn"),
    operation: operations.withdraw,
  },
  {
    method: "GET",
    path: "/v1/policies::defaults",
    scope: "tools:read",
    body: "none",
    handle: listDefaults,
    operation: operations.listDefaults,
  },
  {
    method: "PUT",
    path: "/v1/policies::defaults",
    scope: "policies:write",
    body: "json",
    handle: setDefault,
    operation: operations.setDefault,
  },
  {
    method: "POST",
    path: "/v1/policies::explain",
    scope: "tools:read",
    body: "json",
    handle: explain,
    operation: operations.explain,
  },
  {
    method: "POST",
    path: "/v1/policies::test",
    scope: "tools:read",
    body: "json",
    handle: test,
    operation: operations.test,
  },
];
