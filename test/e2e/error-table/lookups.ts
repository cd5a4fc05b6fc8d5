// The rows about what is not there: every kind of thing that can be asked for by its name or id.
import type { ErrorCase } from "./case.ts";

const notFound = { http: 404, grpc: 5, type: "not_found", retryable: false, details: {} } as const;
/** The form of an id that the runtime makes, and no id of anything. */
const nobodys = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

export const lookupCases: readonly ErrorCase[] = [
  {
    code: "tool_not_found",
    when: "a tool of another name is meant",
    ...notFound,
    details: { tool: "ecko", did_you_mean: ["echo"] },
    reach: ({ admin }) => admin.invoke({ tool: "ecko", input: {} }),
  },
  {
    code: "tool_not_found",
    when: "the tool has no such version",
    ...notFound,
    details: { tool: "echo", version: "9.9.9" },
    reach: ({ admin }) => admin.invoke({ tool: "echo", version: "9.9.9", input: {} }),
  },
  {
    code: "execution_not_found",
    when: "no call has this id",
    ...notFound,
    reach: ({ admin }) => admin.get(`/v1/executions/exec_${nobodys}`),
  },
  {
    code: "key_not_found",
    when: "no key has this id",
    ...notFound,
    reach: ({ admin }) => admin.delete(`/v1/keys/key_${nobodys}`),
  },
  {
    code: "grant_not_found",
    when: "no grant has this id",
    ...notFound,
    reach: ({ admin }) => admin.delete(`/v1/grants/grant_${nobodys}`),
  },
  {
    code: "session_not_found",
    when: "no session has this id",
    ...notFound,
    reach: ({ admin }) => admin.get(`/v1/sessions/sess_${nobodys}`),
  },
  {
    code: "approval_not_found",
    when: "no approval has this id",
    ...notFound,
    reach: ({ admin }) => admin.get(`/v1/approvals/apr_${nobodys}`),
  },
  {
    code: "policy_not_found",
    when: "no policy has this name",
    ...notFound,
    details: { policy: "no-such-rule" },
    reach: ({ admin }) => admin.get("/v1/policies/no-such-rule"),
  },
  {
    code: "agent_not_found",
    when: "no agent has this name",
    ...notFound,
    details: { agent: "no-such-agent" },
    reach: ({ admin }) => admin.get("/v1/agents/no-such-agent"),
  },
  {
    code: "tenant_not_found",
    when: "no tenant has this name, or it is another's",
    ...notFound,
    reach: ({ admin }) => admin.get("/v1/tenants/no-such-tenant"),
  },
  {
    code: "project_not_found",
    when: "a call names a project that was not made",
    ...notFound,
    details: { project: "no-such-project" },
    reach: ({ admin }) => admin.invoke({ tool: "echo", project: "no-such-project", input: {} }),
  },
  {
    code: "webhook_not_found",
    when: "no webhook has this id",
    ...notFound,
    reach: ({ admin }) => admin.delete(`/v1/webhooks/hook_${nobodys}`),
  },
  {
    code: "route_not_found",
    when: "nothing is at this path",
    at: "REST",
    ...notFound,
    reach: ({ admin }) => admin.get("/v1/nothing"),
  },
  {
    code: "route_not_found",
    when: "the path takes other methods",
    at: "REST",
    ...notFound,
    details: { allowed_methods: ["GET", "PUT"] },
    reach: ({ admin }) => admin.delete("/v1/tools"),
  },
];
