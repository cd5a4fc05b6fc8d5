// Where a call belongs: the tenant of its credential, and a project that the credential reaches.
import { SignalboxError } from "@signalbox/protocol";
import type { Asked, InvokeRequest } from "../service.ts";
import type { PolicyBook } from "./policy-book.ts";
import type { Refusals } from "./refusals.ts";

export interface PlacePorts {
  readonly refusals: Refusals;
  readonly policies: PolicyBook;
}

/**
 * The credential says which tenant; the request may only agree. Of projects, a key with every scope may name another one, but
 * only one that was made: a rule that names its project or its label must not be left behind by a misspelt name.
 */
export async function placeOf(ports: PlacePorts, asked: Asked, request: Pick<InvokeRequest, "tool" | "tenant" | "project">): Promise<string> {
  const { principal, requestId } = asked;
  if (request.tenant !== undefined && request.tenant !== principal.tenant) {
    const error = new SignalboxError("forbidden", "the key belongs to another tenant", { details: { field: "tenant" } });
    await ports.refusals.refuse(principal, requestId, error, { tool: request.tool, details: { field: "tenant" } });
  }
  if (request.project !== undefined && request.project !== principal.project && !principal.scopes.has("*")) {
    const error = new SignalboxError("forbidden", "the key belongs to another project", { details: { field: "project" } });
    await ports.refusals.refuse(principal, requestId, error, { tool: request.tool, details: { field: "project" } });
  }
  if (request.project !== undefined && request.project !== principal.project && !ports.policies.knowsProject(principal.tenant, request.project)) {
    const message = `there is no project ${request.project}; make it first: signalbox projects set ${request.project} --environment <label>`;
    const error = new SignalboxError("project_not_found", message, { details: { project: request.project } });
    await ports.refusals.refuse(principal, requestId, error, { tool: request.tool, details: { field: "project" } });
  }
  return request.project ?? principal.project;
}
