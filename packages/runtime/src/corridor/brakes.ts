// The brakes: stops dispatch of a tenant or of one tool at once, and lets it go on; both are stored, so a restart stays stopped.
import { SignalboxError } from "@signalbox/protocol";
import type { PlainWrite } from "../ledger/port.ts";
import type { Freeze } from "../registry/types.ts";
import { platformTenant, type Asked } from "../tenancy/types.ts";
import { storable, type InvokePorts } from "./invoke.ts";

/** Whose dispatch: one's own, or for the platform's operator that of the tenant that is named. */
async function whose(ports: InvokePorts, { principal, requestId }: Asked, named: string | undefined): Promise<string> {
  await ports.refusals.requireScope(principal, "policies:write", requestId);
  if (named === undefined || named === principal.tenant || principal.tenant === platformTenant) return named ?? principal.tenant;
  const error = new SignalboxError("forbidden", "only the platform's operator stops another tenant", { details: { field: "tenant" } });
  return ports.refusals.refuse(principal, requestId, error, { details: { field: "tenant" } });
}

async function act(ports: InvokePorts, { principal, requestId }: Asked, action: string, write: PlainWrite, details: Readonly<Record<string, unknown>>): Promise<void> {
  const { tenant, project, name } = principal;
  const draft = { ts: ports.clock.now(), tenant, project, principal: name, action, status: "done", requestId, details };
  await storable(ports.ledger.commit({ writes: [write, { op: "append_audit", draft }] }));
}

/** Memory first: from here on nothing goes out, whether or not the ledger can write it down. */
export async function freeze(ports: InvokePorts, asked: Asked, tool: string, reason: string, named?: string): Promise<Freeze> {
  const tenant = await whose(ports, asked, named);
  const { name } = asked.principal;
  if (tool !== "" && (await storable(ports.ledger.tool(tenant, tool))) === undefined && (await storable(ports.ledger.tool(platformTenant, tool))) === undefined) {
    throw new SignalboxError("tool_not_found", `there is no tool ${tool}; 'signalbox tools list' shows those there are`, { details: { tool } });
  }
  const row: Freeze = { tenant, tool, reason, at: ports.clock.now(), by: name };
  ports.hub.freeze(tenant, tool);
  await act(ports, asked, "dispatch.frozen", { op: "put_freeze", row }, { tenant, tool: tool === "" ? "*" : tool, reason });
  return row;
}

export async function unfreeze(ports: InvokePorts, asked: Asked, tool: string, named?: string): Promise<{ readonly lifted: boolean }> {
  const tenant = await whose(ports, asked, named);
  const there = (await storable(ports.ledger.freezes())).some((one) => one.tenant === tenant && one.tool === tool);
  if (!there) return { lifted: false };
  // Stored first: what goes on must not stop again by itself after a restart, nor go on while the record says it stands.
  await act(ports, asked, "dispatch.unfrozen", { op: "lift_freeze", tenant, tool }, { tenant, tool: tool === "" ? "*" : tool });
  ports.hub.unfreeze(tenant, tool, ports.clock.now());
  ports.driver.pump();
  return { lifted: true };
}

/** The caller's own, and those of the platform, which stop its calls too; the operator sees all. */
export async function listFreezes(ports: InvokePorts, asked: Asked): Promise<readonly Freeze[]> {
  await ports.refusals.requireScope(asked.principal, "calls:read", asked.requestId);
  const { tenant } = asked.principal;
  return (await storable(ports.ledger.freezes())).filter((one) => tenant === platformTenant || one.tenant === tenant || one.tenant === platformTenant);
}
