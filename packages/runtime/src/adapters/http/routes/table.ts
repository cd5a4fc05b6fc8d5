// Every route of this door in one list, and what a path that matches none of them could have meant.
import { accessRoutes } from "./access.ts";
import { agentRoutes } from "./agents.ts";
import { approvalRoutes } from "./approvals.ts";
import { documentRoutes } from "./documents.ts";
import { executionRoutes } from "./executions.ts";
import { fileRoutes } from "./files.ts";
import { freezeRoutes } from "./freezes.ts";
import { limitRoutes } from "./limits.ts";
import { openRoutes, operationRoutes } from "./operations.ts";
import { policyRoutes } from "./policies.ts";
import { projectRoutes } from "./projects.ts";
import type { Route } from "./route.ts";
import { sessionRoutes } from "./sessions.ts";
import { settlingRoutes } from "./settling.ts";
import { streamRoutes } from "./stream.ts";
import { tenantRoutes } from "./tenants.ts";
import { toolRoutes } from "./tools.ts";
import { toolVersionRoutes } from "./tool-versions.ts";
import { webhookRoutes } from "./webhooks.ts";

const apiRoutes: readonly Route[] = [
  ...executionRoutes,
  ...streamRoutes,
  ...fileRoutes,
  ...toolRoutes,
  ...toolVersionRoutes,
  ...agentRoutes,
  ...sessionRoutes,
  ...policyRoutes,
  ...approvalRoutes,
  ...freezeRoutes,
  ...accessRoutes,
  ...projectRoutes,
  ...settlingRoutes,
  ...tenantRoutes,
  ...limitRoutes,
  ...webhookRoutes,
  ...operationRoutes,
  ...openRoutes,
];

export const routeTable: readonly Route[] = [...apiRoutes, ...documentRoutes(apiRoutes)];

/** The path as people write it: `/v1/audit:verify`. */
export function writtenPath({ path }: Pick<Route, "path">): string {
  return path.replaceAll("::", ":");
}

const patterns = routeTable.map((route) => ({ route, pattern: patternOf(route.path) }));

function patternOf(path: string): RegExp {
  const parts = path
    .split("/")
    .map((part) => (/^:[a-z]/.test(part) ? "[^/]+" : part.replaceAll("::", ":").replaceAll(".", "\\.")));
  return new RegExp(`^${parts.join("/")}$`);
}

/** The methods that this path has; empty when it is no path of ours. */
export function methodsAt(path: string): readonly string[] {
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route.method);
}
