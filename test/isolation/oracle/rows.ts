// Every place of the API at which something can be named, and how it is asked for there.
import { agentDocument } from "../../support/manifests.ts";
import type { Asked } from "./asking.ts";
import type { Ids } from "./world.ts";

export interface Row {
  /** As the route table has it: method and written path. */
  readonly route: string;
  /** Fields of path, query and body that this row puts the name into. */
  readonly fields: readonly string[];
  readonly status: number;
  readonly ask: (ids: Ids) => Asked;
}

type Place = (ids: Ids) => string;

const get = (route: string, field: string, status: number, path: Place): Row => ({
  route: `GET ${route}`,
  fields: [field],
  status,
  ask: (ids) => ({ method: "GET", path: path(ids) }),
});

function sends(
  method: "POST" | "PUT",
  route: string,
  fields: readonly string[],
  status: number,
  path: Place,
  body?: (ids: Ids) => unknown,
): Row {
  return {
    route: `${method} ${route}`,
    fields,
    status,
    ask: (ids) => ({ method, path: path(ids), ...(body === undefined ? {} : { body: body(ids) }) }),
  };
}

const removes = (route: string, field: string, status: number, path: Place): Row => ({
  route: `DELETE ${route}`,
  fields: [field],
  status,
  ask: (ids) => ({ method: "DELETE", path: path(ids) }),
});

const invokes = (
  fields: readonly string[],
  status: number,
  body: (ids: Ids) => object,
  route = "/v1/executions",
): Row =>
  sends(
    "POST",
    route,
    fields,
    status,
    () => route,
    (ids) => ({ tool: "mine", input: {}, mode: "async", ...body(ids) }),
  );

const states = ["settled", "queued", "parked"] as const;
const calls: readonly Row[] = states.flatMap((state) => [
  get("/v1/executions/:id", "id", 404, (ids) => `/v1/executions/${ids[state]}`),
  get("/v1/executions/:id/events", "id", 404, (ids) => `/v1/executions/${ids[state]}/events`),
  get("/v1/executions/:id/stream", "id", 404, (ids) => `/v1/executions/${ids[state]}/stream`),
  sends("POST", "/v1/executions/:id/cancel", ["id"], 404, (ids) => `/v1/executions/${ids[state]}/cancel`),
  sends(
    "POST",
    "/v1/executions/:id/resolve",
    ["id"],
    404,
    (ids) => `/v1/executions/${ids[state]}/resolve`,
    () => ({ verdict: "fail" }),
  ),
  sends(
    "POST",
    "/v1/executions/:id/replay",
    ["id", "idempotency_key"],
    404,
    (ids) => `/v1/executions/${ids[state]}/replay`,
    ({ idempotencyKey }) => ({ mode: "async", acknowledge_may_have_executed: true, idempotency_key: idempotencyKey }),
  ),
  get("/v1/approvals", "execution_id", 200, (ids) => `/v1/approvals?execution_id=${ids[state]}`),
  get("/v1/audit", "execution_id", 200, (ids) => `/v1/audit?execution_id=${ids[state]}`),
]);

const resolvingMany: readonly Row[] = (["tool", "project", "worker"] as const).map((part) =>
  sends("POST", "/v1/executions:resolve", ["filter"], 200, () => "/v1/executions:resolve", (ids) => ({
    filter: { [part]: part === "worker" ? "w-owner" : ids[part] },
    verdict: "fail",
  })),
);

const invoking: readonly Row[] = [
  invokes(["tool"], 404, ({ tool }) => ({ tool })),
  invokes(["tool", "version"], 404, ({ tool }) => ({ tool, version: "^1.0.0" })),
  invokes(["tenant"], 403, ({ tenant }) => ({ tenant })),
  invokes(["project"], 404, ({ project }) => ({ project })),
  invokes(["idempotency_key"], 202, ({ idempotencyKey }) => ({ idempotency_key: idempotencyKey })),
  invokes(["idempotency_key"], 202, ({ idempotencyKey }) => ({ idempotency_key: idempotencyKey })),
  invokes(["files"], 400, ({ file }) => ({ tool: "my-box", files: [{ path: "in.txt", ref: file }] })),
  invokes(["files"], 202, ({ content }) => ({ tool: "my-box", files: [{ path: "in.txt", content }] })),
  invokes(["context"], 202, ({ settled, tenant }) => ({ context: { workflow_id: settled, tenant } })),
  get("/v1/executions", "tool", 200, ({ tool }) => `/v1/executions?tool=${tool}`),
  get("/v1/executions", "project", 200, ({ project }) => `/v1/executions?project=${project}`),
  get("/v1/executions", "principal", 200, ({ principal }) => `/v1/executions?principal=${principal}`),
];

const files: readonly Row[] = [
  {
    route: "PUT /v1/files",
    fields: ["content"],
    status: 200,
    ask: ({ content }) => ({
      method: "PUT",
      path: "/v1/files",
      body: content,
      headers: { "content-type": "application/octet-stream" },
    }),
  },
  sends(
    "PUT",
    "/v1/packages",
    ["files"],
    400,
    () => "/v1/packages",
    ({ file }) => ({ files: [{ path: "main.js", ref: file, mode: "0755" }] }),
  ),
  sends(
    "PUT",
    "/v1/tools",
    ["package"],
    400,
    ({ packageRef }) => `/v1/tools?package=${packageRef}`,
    () => box,
  ),
];

const box = {
  apiVersion: "signalbox.dev/v1",
  kind: "Tool",
  metadata: { name: "borrowed", version: "1.0.0", owner: "tests", description: "Runs code of somebody else" },
  spec: {
    executor: { type: "sandbox", runtime: "node", entry: "main.js" },
    side_effect_class: "read_only",
    input: { type: "object" },
  },
};

const toolDocument = (name: string) => ({
  ...box,
  metadata: { ...box.metadata, name },
  spec: { ...box.spec, executor: { type: "worker" } },
});

const ofTool = (action: string): string => `/v1/tools/:name/${action}`;
const actsOnTool = (action: string, body?: object, fields: readonly string[] = ["name", "version"]): Row =>
  sends(
    "POST",
    ofTool(action),
    fields,
    404,
    ({ tool }) => `/v1/tools/${tool}/${action}`,
    body === undefined ? undefined : () => body,
  );

const tools: readonly Row[] = [
  get("/v1/tools", "search", 200, ({ tool }) => `/v1/tools?search=${tool}`),
  get("/v1/tools/:name", "name", 404, ({ tool }) => `/v1/tools/${tool}`),
  get("/v1/tools/:name", "version", 404, ({ tool }) => `/v1/tools/${tool}?version=1.0.0`),
  get(ofTool("activations"), "name", 404, ({ tool }) => `/v1/tools/${tool}/activations`),
  actsOnTool("activate", { version: "1.0.0" }),
  actsOnTool("rollback"),
  actsOnTool("pin", { version: "1.0.0" }),
  actsOnTool("deprecate", { version: "1.0.0" }),
  actsOnTool("quarantine", { version: "1.0.0", reason: "a look" }),
  actsOnTool("release", { version: "1.0.0" }),
  actsOnTool("enable", {}, ["name"]),
  actsOnTool("disable", {}, ["name"]),
  removes(ofTool("pin"), "name", 404, ({ tool }) => `/v1/tools/${tool}/pin`),
  sends(
    "POST",
    ofTool("enable"),
    ["project"],
    404,
    () => "/v1/tools/mine/enable",
    ({ project }) => ({ project }),
  ),
  sends(
    "POST",
    ofTool("disable"),
    ["project"],
    404,
    () => "/v1/tools/mine/disable",
    ({ project }) => ({ project }),
  ),
  sends(
    "PUT",
    "/v1/tools",
    ["document"],
    201,
    () => "/v1/tools",
    ({ ownName }) => toolDocument(ownName),
  ),
];

const ofAgent = (action: string): string => `/v1/agents/:name/${action}`;
const actsOnAgent = (action: string, body: object = {}, fields: readonly string[] = ["name"]): Row =>
  sends("POST", ofAgent(action), fields, 404, ({ agent }) => `/v1/agents/${agent}/${action}`, () => body);
const looksAtAgent = (path: string, fields: readonly string[] = ["name"]): Row => ({
  route: `GET /v1/agents/:name${path.replace(/\?.*/, "")}`,
  fields,
  status: 404,
  ask: ({ agent }) => ({ method: "GET", path: `/v1/agents/${agent}${path}` }),
});

const agents: readonly Row[] = [
  looksAtAgent(""),
  looksAtAgent("?version=1.0.0", ["name", "version"]),
  looksAtAgent("/versions"),
  looksAtAgent("/history"),
  looksAtAgent("/diff?from=1.0.0&to=1.1.0"),
  actsOnAgent("deploy", { version: "1.0.0" }, ["name", "version"]),
  actsOnAgent("rollback", { version: "1.0.0" }, ["name", "version"]),
  actsOnAgent("deprecate", { version: "1.0.0" }, ["name", "version"]),
  actsOnAgent("retire", { version: "1.0.0" }, ["name", "version"]),
  actsOnAgent("archive"),
  actsOnAgent("unarchive"),
  sends(
    "PUT",
    "/v1/agents",
    ["document"],
    201,
    () => "/v1/agents",
    ({ ownName }) => agentDocument(ownName),
  ),
  // A tool of somebody else's is one that there is not.
  sends(
    "PUT",
    "/v1/agents",
    ["document"],
    200,
    () => "/v1/agents?dry_run=true",
    ({ tool }) => agentDocument("mine", "1.0.0", { tools: [{ tool: `${tool}@1.0.0` }] }),
  ),
  sends(
    "PUT",
    "/v1/agents",
    ["document"],
    400,
    () => "/v1/agents",
    ({ policy }) => agentDocument("mine", "1.0.0", { default_policies: [policy] }),
  ),
];

const looksAtSession = (path: string): Row => get(`/v1/sessions/:id${path}`, "id", 404, ({ session }) => `/v1/sessions/${session}${path}`);
const actsOnSession = (action: string, fields: readonly string[], body: (ids: Ids) => object): Row =>
  sends("POST", `/v1/sessions/:id/${action}`, ["id", ...fields], 404, ({ session }) => `/v1/sessions/${session}/${action}`, body);
const starts = (fields: readonly string[], status: number, body: (ids: Ids) => object): Row =>
  sends("POST", "/v1/sessions", fields, status, () => "/v1/sessions", (ids) => ({ agent: "my-desk", ...body(ids) }));

const sessions: readonly Row[] = [
  ...["", "/events", "/stream", "/timeline"].map(looksAtSession),
  actsOnSession("messages", ["text", "idempotency_key"], ({ ownName, idempotencyKey }) => ({ text: ownName, idempotency_key: idempotencyKey })),
  actsOnSession("cancel", ["execution_id"], ({ settled }) => ({ scope: "call", execution_id: settled })),
  actsOnSession("cancel", [], () => ({ scope: "session" })),
  actsOnSession("complete", [], () => ({})),
  starts(["agent"], 404, ({ agent }) => ({ agent })),
  starts(["agent", "version"], 404, ({ agent }) => ({ agent, version: "1.0.0" })),
  starts(["project"], 404, ({ project }) => ({ project })),
  starts(["idempotency_key"], 201, ({ idempotencyKey }) => ({ idempotency_key: idempotencyKey })),
  starts(["context"], 201, ({ settled, tenant }) => ({ context: { workflow_id: settled, tenant } })),
  get("/v1/sessions", "project", 200, ({ project }) => `/v1/sessions?project=${project}`),
  get("/v1/sessions", "agent", 200, ({ agent }) => `/v1/sessions?agent=${agent}`),
  get("/v1/sessions", "principal", 200, ({ principal }) => `/v1/sessions?principal=${principal}`),
  get("/v1/sessions", "parent", 200, ({ session }) => `/v1/sessions?parent=${session}`),
];

const explains = (field: string, status: number, body: (ids: Ids) => object): Row =>
  sends(
    "POST",
    "/v1/policies:explain",
    [field],
    status,
    () => "/v1/policies:explain",
    (ids) => ({ tool: "mine", input: {}, ...body(ids) }),
  );

const policyDocument = (name: string) => ({
  apiVersion: "signalbox.dev/v1",
  kind: "Policy",
  metadata: { name, version: "1.0.0", level: "tenant" },
  spec: { match: { tools: ["nothing"] }, then: { decision: "deny", reason: "no" } },
});

const policies: readonly Row[] = [
  get("/v1/policies", "name", 200, ({ policy }) => `/v1/policies?name=${policy}`),
  get("/v1/policies", "project", 200, ({ project }) => `/v1/policies?project=${project}`),
  get("/v1/policies/:name", "name", 404, ({ policy }) => `/v1/policies/${policy}`),
  get("/v1/policies/:name", "version", 404, ({ policy }) => `/v1/policies/${policy}?version=1.0.0`),
  sends(
    "POST",
    "/v1/policies/:name/activate",
    ["name", "version"],
    404,
    ({ policy }) => `/v1/policies/${policy}/activate`,
    () => ({ version: "1.0.0" }),
  ),
  sends(
    "POST",
    "/v1/policies/:name/withdraw",
    ["name", "version"],
    404,
    ({ policy }) => `/v1/policies/${policy}/withdraw`,
    () => ({ version: "1.0.0" }),
  ),
  sends(
    "PUT",
    "/v1/policies:defaults",
    ["project"],
    404,
    () => "/v1/policies:defaults",
    ({ project }) => ({ project, decision: "deny" }),
  ),
  explains("tool", 404, ({ tool }) => ({ tool })),
  explains("version", 404, ({ tool }) => ({ tool, version: "1.0.0" })),
  explains("project", 200, ({ project }) => ({ project })),
  explains("principal", 200, ({ principal }) => ({ principal })),
  explains("context", 200, ({ settled, tenant }) => ({ context: { workflow_id: settled, tenant } })),
  explains("agent", 200, ({ principal }) => ({ agent: principal })),
  sends(
    "POST",
    "/v1/policies:test",
    ["cases", "policies"],
    200,
    () => "/v1/policies:test",
    ({ tool, principal }) => ({
      cases: { cases: [{ name: "theirs", call: { tool, principal }, expect: { decision: "deny" } }] },
      policies: [],
    }),
  ),
  sends(
    "PUT",
    "/v1/policies",
    ["document"],
    201,
    () => "/v1/policies",
    ({ ownName }) => policyDocument(ownName),
  ),
];

const approvals: readonly Row[] = [
  get("/v1/approvals", "project", 200, ({ project }) => `/v1/approvals?project=${project}`),
  get("/v1/approvals", "tool", 200, ({ tool }) => `/v1/approvals?tool=${tool}`),
  get("/v1/approvals", "requester", 200, ({ principal }) => `/v1/approvals?requester=${principal}`),
  get("/v1/approvals/:id", "id", 404, ({ approval }) => `/v1/approvals/${approval}`),
  sends(
    "POST",
    "/v1/approvals/:id/votes",
    ["id"],
    404,
    ({ approval }) => `/v1/approvals/${approval}/votes`,
    () => ({ decision: "approve", args_hash: "a".repeat(64) }),
  ),
];

const brakes: readonly Row[] = [
  sends(
    "POST",
    "/v1/freezes",
    ["tool"],
    404,
    () => "/v1/freezes",
    ({ tool }) => ({ tool }),
  ),
  sends(
    "POST",
    "/v1/freezes",
    ["tenant"],
    403,
    () => "/v1/freezes",
    ({ tenant }) => ({ tenant }),
  ),
  sends(
    "POST",
    "/v1/freezes:lift",
    ["tool"],
    200,
    () => "/v1/freezes:lift",
    ({ tool }) => ({ tool }),
  ),
  sends(
    "POST",
    "/v1/freezes:lift",
    ["tenant"],
    403,
    () => "/v1/freezes:lift",
    ({ tenant }) => ({ tenant }),
  ),
];

const newKey = { label: "k", principal: "user:me", scopes: ["tools:read"] };
const oneTenant = "/v1/tenants/:tenant";

const access: readonly Row[] = [
  get("/v1/keys", "principal", 200, ({ principal }) => `/v1/keys?principal=${principal}`),
  get("/v1/keys", "project", 200, ({ project }) => `/v1/keys?project=${project}`),
  removes("/v1/keys/:id", "id", 404, ({ key }) => `/v1/keys/${key}`),
  sends(
    "POST",
    "/v1/keys",
    ["principal", "project"],
    201,
    () => "/v1/keys",
    ({ ownName }) => ({ ...newKey, principal: `user:${ownName}`, project: ownName }),
  ),
  removes("/v1/grants/:id", "id", 404, ({ grant }) => `/v1/grants/${grant}`),
  sends(
    "POST",
    "/v1/grants",
    ["subject", "project"],
    201,
    () => "/v1/grants",
    ({ ownName }) => ({ subject: `user:${ownName}`, project: ownName, permissions: ["*"] }),
  ),
  sends(
    "PUT",
    "/v1/projects/:project",
    ["project"],
    200,
    ({ ownName }) => `/v1/projects/${ownName}`,
    () => ({ environment: "x" }),
  ),
  sends(
    "POST",
    "/v1/tenants",
    ["tenant"],
    403,
    () => "/v1/tenants",
    ({ tenant }) => ({ tenant }),
  ),
  get(oneTenant, "tenant", 404, ({ tenant }) => `/v1/tenants/${tenant}`),
  sends(
    "PUT",
    oneTenant,
    ["tenant"],
    403,
    ({ tenant }) => `/v1/tenants/${tenant}`,
    () => ({ suspended: true }),
  ),
  get(`${oneTenant}/keys`, "tenant", 403, ({ tenant }) => `/v1/tenants/${tenant}/keys`),
  get(
    `${oneTenant}/keys`,
    "principal",
    403,
    ({ tenant, principal }) => `/v1/tenants/${tenant}/keys?principal=${principal}`,
  ),
  get(`${oneTenant}/keys`, "project", 403, ({ tenant, project }) => `/v1/tenants/${tenant}/keys?project=${project}`),
  sends(
    "POST",
    `${oneTenant}/keys`,
    ["tenant", "principal", "project"],
    403,
    ({ tenant }) => `/v1/tenants/${tenant}/keys`,
    () => newKey,
  ),
  removes(`${oneTenant}/keys/:id`, "tenant", 403, ({ tenant }) => `/v1/tenants/${tenant}/keys/key_none`),
  removes(`${oneTenant}/keys/:id`, "id", 403, ({ key }) => `/v1/tenants/beta/keys/${key}`),
];

const telling: readonly Row[] = [
  removes("/v1/webhooks/:id", "id", 404, ({ webhook }) => `/v1/webhooks/${webhook}`),
  sends(
    "POST",
    "/v1/webhooks",
    ["url"],
    201,
    () => "/v1/webhooks",
    ({ ownName }) => ({ url: `http://127.0.0.1:9/${ownName}` }),
  ),
  get("/v1/webhooks:deliveries", "webhook_id", 200, ({ webhook }) => `/v1/webhooks:deliveries?webhook_id=${webhook}`),
  get("/v1/audit", "principal", 200, ({ principal }) => `/v1/audit?principal=${principal}`),
];

const setsLimit = (fields: readonly string[], status: number, subject: (ids: Ids) => object): Row =>
  sends(
    "PUT",
    "/v1/limits",
    fields,
    status,
    () => "/v1/limits",
    (ids) => ({ rate: { per_minute: 600, burst: 600 }, ...subject(ids) }),
  );
const liftsLimit = (fields: readonly string[], status: number, query: (ids: Ids) => string): Row => ({
  route: "DELETE /v1/limits",
  fields,
  status,
  ask: (ids) => ({ method: "DELETE", path: `/v1/limits?${query(ids)}` }),
});

const limiting: readonly Row[] = [
  get("/v1/limits", "tenant", 403, ({ tenant }) => `/v1/limits?tenant=${tenant}`),
  sends(
    "PUT",
    "/v1/limits",
    ["tenant"],
    403,
    ({ tenant }) => `/v1/limits?tenant=${tenant}`,
    () => ({ scope: "tenant", quotas: { queue_depth: 9 } }),
  ),
  setsLimit(["scope", "subject"], 404, ({ project }) => ({ scope: "project", subject: project })),
  setsLimit(["scope", "subject"], 404, ({ tool }) => ({ scope: "tool", subject: tool })),
  setsLimit(["scope", "subject"], 200, ({ ownName }) => ({ scope: "principal", subject: `user:${ownName}` })),
  liftsLimit(["tenant"], 403, ({ tenant }) => `scope=tenant&tenant=${tenant}`),
  liftsLimit(["scope", "subject"], 200, ({ principal }) => `scope=principal&subject=${principal}`),
  liftsLimit(["scope", "subject"], 200, ({ tool }) => `scope=tool&subject=${tool}`),
  get("/v1/usage", "tenant", 403, ({ tenant }) => `/v1/usage?tenant=${tenant}`),
  get("/v1/usage", "project", 200, ({ project }) => `/v1/usage?project=${project}`),
  get("/v1/usage", "tool", 200, ({ tool }) => `/v1/usage?tool=${tool}`),
];

export const rows: readonly Row[] = [
  ...calls,
  ...resolvingMany,
  ...invoking,
  ...files,
  ...tools,
  ...agents,
  ...sessions,
  ...policies,
  ...approvals,
  ...brakes,
  ...access,
  ...telling,
  ...limiting,
];

/** Fields by which nothing is named that somebody else could have: amounts, states, texts of one's own. */
export const harmless: ReadonlySet<string> = new Set([
  "acknowledge_may_have_executed",
  "limit",
  "status",
  "state",
  "from",
  "to",
  "now",
  "after_seq",
  "input",
  "limits",
  "mode",
  "stream",
  "wait_ms",
  "deadline_ms",
  "cancel_on_disconnect",
  "priority",
  "verdict",
  "output",
  "comment",
  "category",
  "owner",
  "label",
  "activate",
  "deprecated",
  "reason",
  "level",
  "platform",
  "dry_run",
  "decision",
  "roles",
  "environment",
  "trigger",
  "counts",
  "mine",
  "args_hash",
  "args",
  "comprehended",
  "scopes",
  "expires_at",
  "permissions",
  "message",
  "scope",
  "rate",
  "quotas",
  "time_zone",
  "group_by",
  "weight",
  "admin",
  "suspended",
  "types",
  "action",
]);
