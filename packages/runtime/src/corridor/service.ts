// Binds everything a front door can ask to the functions that do it.
import type { Page } from "../ledger/port.ts";
import type { Asked, RuntimeStatus, Service } from "../service.ts";
import type { GovernanceService, WebhookService } from "../service-governance.ts";
import type { LimitService } from "../service-limits.ts";
import { agentService } from "./agents/service.ts";
import { createGrant, listAudit, listGrants, revokeGrant, verifyAudit } from "./admin.ts";
import { authenticate } from "./authenticate.ts";
import type { Paging } from "./cursors.ts";
import { filesService } from "./files-service.ts";
import type { ContentStore } from "./files-ports.ts";
import { getApproval, listApprovals, vote } from "./approval-service.ts";
import { freeze, listFreezes, unfreeze } from "./brakes.ts";
import { cancel, follow, getExecution, listEvents, listExecutions, resolve } from "./executions.ts";
import { invoke } from "./invoke.ts";
import { createKey, listKeys, revokeKey } from "./keys.ts";
import { listLimits, putLimit, removeLimit, type LimitAdminPorts } from "./limits-admin.ts";
import { listPolicies, getPolicy, policyDefaults, setPolicyDefault, setPolicyStatus } from "./policy-admin.ts";
import { publishPolicy } from "./policy-admin-publish.ts";
import { explainPolicy } from "./policy-questions.ts";
import { testPolicies } from "./policy-questions-cases.ts";
import { enableTool, listProjects, projectTools, putProject } from "./projects.ts";
import { activations, deprecateTool, pinTool, quarantineTool, rollBackTool, toolPins } from "./registry-admin.ts";
import { sessionService, type SessionServicePorts } from "./sessions/service.ts";
import { replay } from "./replay.ts";
import { resolveMany } from "./resolve-many.ts";
import type { Streams } from "./streams.ts";
import { activateTool, getTool, listTools, registerTool } from "./tools.ts";
import { tenantService } from "./tenants.ts";
import { usage } from "./usage.ts";
import { workerViews } from "./workers.ts";

export interface ServicePorts extends LimitAdminPorts, SessionServicePorts {
  readonly webhooks: WebhookService;
  readonly streams: Streams;
  readonly store: ContentStore;
  /** Looks again at the calls that wait; says how many it denied. */
  readonly reconsider: () => Promise<number>;
  readonly status: (asked?: Asked) => RuntimeStatus;
  readonly paging: Paging;
}

export function serviceOf(ports: ServicePorts): Service {
  return {
    ...governanceOf(ports),
    ...filesService(ports),
    ...tenantService(ports),
    ...limitService(ports),
    ...agentService(ports),
    ...sessionService(ports),
    authenticate: (token, requestId) => authenticate(ports, token, requestId),
    invoke: (asked, request) => invoke(ports, asked, request),
    getExecution: (asked, id) => getExecution(ports, asked, id),
    listEvents: (asked, id, afterSeq, limit) => listEvents(ports, asked, id, afterSeq, limit),
    listExecutions: (asked, query) => pagedBy(ports, asked, "calls", query, (one) => listExecutions(ports, asked, one)),
    follow: (asked, id, afterSeq, how) => follow(ports, asked, id, afterSeq, how?.answering === true),
    cancel: (asked, id) => cancel(ports, asked, id),
    resolve: (asked, id, answer) => resolve(ports, asked, id, answer),
    resolveMany: (asked, request) => resolveMany(ports, asked, request),
    replay: (asked, id, how) => replay(ports, asked, id, how),
    registerTool: (asked, document, options) => registerTool(ports, asked, document, options),
    listTools: (asked, limit, cursor, query) =>
      ports.paging(asked, "tools", cursor, (opened) => listTools(ports, asked, limit, opened, query)),
    getTool: (asked, tool, version) => getTool(ports, asked, tool, version),
    activateTool: (asked, tool, version) => activateTool(ports, asked, tool, version),
    createKey: (asked, key) => createKey(ports, asked, key),
    listKeys: (asked, query) => listKeys(ports, asked, query),
    revokeKey: (asked, keyId) => revokeKey(ports, asked, keyId),
    createGrant: (asked, grant) => createGrant(ports, asked, grant),
    listGrants: (asked) => listGrants(ports, asked),
    revokeGrant: (asked, grantId) => revokeGrant(ports, asked, grantId),
    listAudit: (asked, filter, limit, cursor) =>
      ports.paging(asked, "audit", cursor, (opened) => listAudit(ports, asked, filter, limit, opened)),
    verifyAudit: (asked) => verifyAudit(ports, asked),
    async listWorkers(asked) {
      await ports.refusals.requireScope(asked.principal, "calls:read", asked.requestId);
      return workerViews(ports.hub.sessions(), asked.principal, ports.clock.now());
    },
    status: ports.status,
    metrics: () => ports.meters.text(),
  };
}

function limitService(ports: ServicePorts): LimitService {
  return {
    listLimits: (asked, tenant) => listLimits(ports, asked, tenant),
    putLimit: (asked, wanted) => putLimit(ports, asked, wanted),
    removeLimit: (asked, target) => removeLimit(ports, asked, target),
    async usage(asked, question, limit, cursor) {
      let timeZone: string | null = null;
      // A page of one grouping says nothing of where another one goes on.
      const page = await ports.paging(asked, `usage ${question.groupBy.join()}`, cursor, async (opened) => {
        const answer = await usage(ports, asked, question, limit, opened);
        ({ timeZone } = answer);
        return answer;
      });
      return { ...page, timeZone };
    },
  };
}

/** For lists whose query holds the cursor. */
function pagedBy<Query extends { readonly cursor?: string }, T>(
  { paging }: ServicePorts,
  asked: Asked,
  list: string,
  { cursor, ...query }: Query,
  read: (query: Query) => Promise<Page<T>>,
): Promise<Page<T>> {
  return paging(asked, list, cursor, (opened) =>
    read({ ...query, ...(opened === undefined ? {} : { cursor: opened }) } as Query),
  );
}

function governanceOf(ports: ServicePorts): GovernanceService {
  return {
    ...ports.webhooks,
    listDeliveries: (asked, filter, limit, cursor) =>
      ports.paging(asked, "deliveries", cursor, (opened) => ports.webhooks.listDeliveries(asked, filter, limit, opened)),
    publishPolicy: (asked, document, options) => publishPolicy(ports, asked, document, options),
    listPolicies: (asked, query) => pagedBy(ports, asked, "policies", query, (one) => listPolicies(ports, asked, one)),
    getPolicy: (asked, name, version, platform) => getPolicy(ports, asked, name, version, platform),
    setPolicyStatus: (asked, name, version, status) => setPolicyStatus(ports, asked, name, version, status),
    policyDefaults: (asked) => policyDefaults(ports, asked),
    setPolicyDefault: (asked, project, decision) => setPolicyDefault(ports, asked, project, decision),
    explainPolicy: (asked, question) => explainPolicy(ports, asked, question),
    testPolicies: (asked, cases, candidates) => testPolicies(ports, asked, cases, candidates),
    listApprovals: (asked, query) => pagedBy(ports, asked, "approvals", query, (one) => listApprovals(ports, asked, one)),
    getApproval: (asked, id) => getApproval(ports, asked, id),
    vote: (asked, id, cast) => vote(ports, asked, id, cast),
    pinTool: (asked, tool, requested) => pinTool(ports, asked, tool, requested),
    toolPins: (asked) => toolPins(ports, asked),
    rollBackTool: (asked, tool, to) => rollBackTool(ports, asked, tool, to),
    activations: (asked, tool) => activations(ports, asked, tool),
    deprecateTool: (asked, tool, version, deprecated) => deprecateTool(ports, asked, tool, version, deprecated),
    quarantineTool: (asked, tool, version, options) => quarantineTool(ports, asked, tool, version, options),
    enableTool: (asked, project, tool, enabled) => enableTool(ports, asked, project, tool, enabled),
    projectTools: (asked) => projectTools(ports, asked),
    listProjects: (asked) => listProjects(ports, asked),
    putProject: (asked, project, environment) => putProject(ports, asked, project, environment),
    freeze: (asked, tool, reason, tenant) => freeze(ports, asked, tool, reason, tenant),
    unfreeze: (asked, tool, tenant) => unfreeze(ports, asked, tool, tenant),
    listFreezes: (asked) => listFreezes(ports, asked),
  };
}
