// The client's part for people: policies, approvals, projects, freezes and webhooks.
import { documentRequest, segment, spliced, textOf, verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import type { Answer } from "./transport.ts";
import type {
  Approval,
  ApprovalDetail,
  ApprovalQuery,
  CreatedWebhook,
  Delivery,
  DeliveryQuery,
  Freeze,
  Policy,
  PolicyDefault,
  PolicyDetail,
  PolicyExplanation,
  PolicyQuery,
  PolicyQuestion,
  PolicyTestResult,
  Project,
  PublishedPolicy,
  VoteAnswer,
  Webhook,
} from "./governance-types.ts";
import { lister } from "./paged.ts";
import type { Lister } from "./paged.ts";
import type { Page } from "./types.ts";

/** A record, and its arguments as they were sent: the source text, with every digit; null when it has none. */
export type WithArgsText<Record> = Record & { readonly argsText: string | null };

export interface PoliciesClient {
  /** The same document again changes nothing. @param document a policy as data, or as YAML text */
  publish(
    document: object | string,
    how?: { readonly dryRun?: boolean },
    options?: AskOptions,
  ): Promise<PublishedPolicy>;
  readonly list: Lister<Policy, PolicyQuery>;
  /** Without a version: the active one, else the newest. */
  get(
    name: string,
    query?: { readonly version?: string; readonly platform?: boolean },
    options?: AskOptions,
  ): Promise<PolicyDetail>;
  activate(name: string, version: string, options?: AskOptions): Promise<Policy>;
  /** Takes a version out of force; what pins it is denied from then on. */
  withdraw(name: string, version: string, options?: AskOptions): Promise<Policy>;
  readonly defaults: Lister<PolicyDefault>;
  /** @param setting without `project`: the whole tenant's; `decision: null` takes the default back to allow */
  setDefault(
    setting: { readonly project?: string; readonly decision: "allow" | "deny" | null },
    options?: AskOptions,
  ): Promise<PolicyDefault>;
  /** What would happen, and why, without making the call. `inputText` is sent in place of `input` as it is. */
  explain(question: PolicyQuestion & { readonly inputText?: string }, options?: AskOptions): Promise<PolicyExplanation>;
  /** @param policies documents that are tried as if they were published */
  test(
    suite: { readonly cases: unknown; readonly policies?: readonly unknown[] },
    options?: AskOptions,
  ): Promise<PolicyTestResult>;
}

/** What goes with a vote. A vote is bound to the arguments that its voter saw; on others it is refused. */
export interface Voting {
  readonly argsHash: string;
  readonly comment?: string;
}

export interface Approving extends Voting {
  /** Arguments that run in place of those that were asked about; they meet schema and policies again. */
  readonly args?: unknown;
  /** The same as JSON text, sent as it is. */
  readonly argsText?: string;
  /** The voter says that it has understood what it allows. */
  readonly comprehended?: boolean;
}

/** The same vote again changes nothing, so that the client may repeat one whose answer was lost. */
export interface ApprovalsClient {
  readonly list: Lister<Approval, ApprovalQuery>;
  get(approvalId: string, options?: AskOptions): Promise<WithArgsText<ApprovalDetail>>;
  vote(
    approvalId: string,
    vote: Approving & { readonly decision: "approve" | "reject" },
    options?: AskOptions,
  ): Promise<WithArgsText<VoteAnswer>>;
  approve(approvalId: string, vote: Approving, options?: AskOptions): Promise<WithArgsText<VoteAnswer>>;
  reject(approvalId: string, vote: Voting, options?: AskOptions): Promise<WithArgsText<VoteAnswer>>;
}

export interface ProjectsClient {
  readonly list: Lister<Project>;
  /** Makes the project, or changes its label. */
  put(project: string, environment: string, options?: AskOptions): Promise<Project>;
}

export interface FreezesClient {
  readonly list: Lister<Freeze>;
  /** Stops dispatch at once; without `tool` that of all tools. */
  freeze(
    what?: { readonly tool?: string; readonly tenant?: string; readonly reason?: string },
    options?: AskOptions,
  ): Promise<Freeze>;
  lift(
    what?: { readonly tool?: string; readonly tenant?: string },
    options?: AskOptions,
  ): Promise<{ readonly lifted: boolean }>;
}

export interface WebhooksClient {
  /** The secret is in this answer and nowhere else, ever. Without `types`: every notice. */
  add(
    webhook: { readonly url: string; readonly types?: readonly string[] },
    options?: AskOptions,
  ): Promise<CreatedWebhook>;
  readonly list: Lister<Webhook>;
  remove(webhookId: string, options?: AskOptions): Promise<void>;
  readonly deliveries: Lister<Delivery, DeliveryQuery>;
}

export interface GovernanceClient {
  readonly policies: PoliciesClient;
  readonly approvals: ApprovalsClient;
  readonly projects: ProjectsClient;
  readonly freezes: FreezesClient;
  readonly webhooks: WebhooksClient;
}

export function governance(ask: Ask): GovernanceClient {
  return {
    policies: policies(ask),
    approvals: approvals(ask),
    projects: projects(ask),
    freezes: freezes(ask),
    webhooks: webhooks(ask),
  };
}

function policies(ask: Ask): PoliciesClient {
  const { get, post, put } = verbsOf(ask);
  const place = (name: string): string => `/v1/policies/${segment(name)}`;
  return {
    async publish(document, { dryRun } = {}, how) {
      return (await ask(documentRequest(ask, "/v1/policies", document, { dry_run: dryRun }), how))
        .body as PublishedPolicy;
    },
    list: lister(async (query, how) => (await get("/v1/policies", { ...query }, how)) as Page<Policy>),
    get: async (name, query = {}, how) => (await get(place(name), { ...query }, how)) as PolicyDetail,
    activate: async (name, version, how) => (await post(`${place(name)}/activate`, { version }, true, how)) as Policy,
    withdraw: async (name, version, how) => (await post(`${place(name)}/withdraw`, { version }, true, how)) as Policy,
    defaults: lister(
      async (query, how) => (await get("/v1/policies:defaults", { ...query }, how)) as Page<PolicyDefault>,
    ),
    setDefault: async (setting, how) => (await put("/v1/policies:defaults", setting, how)) as PolicyDefault,
    async explain({ inputText, ...question }, how) {
      const bodyText = spliced(ask, question, "input", inputText);
      const answer = await ask({ method: "POST", path: "/v1/policies:explain", bodyText, repeatable: true }, how);
      return answer.body as PolicyExplanation;
    },
    test: async (suite, how) => (await post("/v1/policies:test", suite, true, how)) as PolicyTestResult,
  };
}

function withArgsText<Record extends object>(answer: Answer): WithArgsText<Record> {
  return { ...(answer.body as Record), argsText: textOf(answer, "args") };
}

function approvals(ask: Ask): ApprovalsClient {
  const { get } = verbsOf(ask);
  const place = (id: string): string => `/v1/approvals/${segment(id)}`;
  const vote: ApprovalsClient["vote"] = async (id, { argsHash, argsText, ...rest }, how) => {
    const bodyText = spliced(ask, { ...rest, args_hash: argsHash }, "args", argsText);
    return withArgsText(await ask({ method: "POST", path: `${place(id)}/votes`, bodyText, repeatable: true }, how));
  };
  return {
    list: lister(async (query, how) => (await get("/v1/approvals", { ...query }, how)) as Page<Approval>),
    get: async (id, how) => withArgsText(await ask({ method: "GET", path: place(id), repeatable: true }, how)),
    vote,
    approve: (id, given, how) => vote(id, { decision: "approve", ...given }, how),
    reject: (id, given, how) => vote(id, { decision: "reject", ...given }, how),
  };
}

function projects(ask: Ask): ProjectsClient {
  const { get, put } = verbsOf(ask);
  return {
    list: lister(async (query, how) => (await get("/v1/projects", { ...query }, how)) as Page<Project>),
    put: async (project, environment, how) =>
      (await put(`/v1/projects/${segment(project)}`, { environment }, how)) as Project,
  };
}

function freezes(ask: Ask): FreezesClient {
  const { get, post } = verbsOf(ask);
  return {
    list: lister(async (query, how) => (await get("/v1/freezes", { ...query }, how)) as Page<Freeze>),
    freeze: async (what = {}, how) => (await post("/v1/freezes", what, true, how)) as Freeze,
    lift: async (what = {}, how) => (await post("/v1/freezes:lift", what, true, how)) as { readonly lifted: boolean },
  };
}

function webhooks(ask: Ask): WebhooksClient {
  const { get, post, remove } = verbsOf(ask);
  return {
    add: async (webhook, how) => (await post("/v1/webhooks", webhook, false, how)) as CreatedWebhook,
    list: lister(async (query, how) => (await get("/v1/webhooks", { ...query }, how)) as Page<Webhook>),
    async remove(id, how) {
      await remove(`/v1/webhooks/${segment(id)}`, how);
    },
    deliveries: lister(
      async (query, how) => (await get("/v1/webhooks:deliveries", { ...query }, how)) as Page<Delivery>,
    ),
  };
}
